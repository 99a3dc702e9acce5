"""Records that are left out for want of a target: real neighbours of every query, as a domain with `missing_target="drop"` encodes them.

A record counts by its own target alone. So against one that counts it is a neighbour like any other, and what else it holds, or whether it is there
at all, no answer tells.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import hullabaloo as hb
from hullabaloo.audit.transcript import TracedTables
from hullabaloo.data import Rows
from hullabaloo.data.grid import Grid, GridKind
from hullabaloo.erm.objective_perturbation import ObjectivePerturbationQuery
from hullabaloo.erm.output_perturbation import LaplaceMinimiserQuery, OutputPerturbationQuery
from hullabaloo.geometry import L1Ball, NoPenalty, separable_form
from hullabaloo.losses import Squared
from hullabaloo.losses.readings import Reading, Reads
from hullabaloo.losses.scores import Moments, SquaredError
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import QUERIES, PricedQueries
from tests.audit.probes import asks
from tests.sampling import sampled

N, P, KEY = 12, 2, TestKey(bytes(range(32)))
READ = Reading(Reads.NUMBERS, (-1.0,), (1.0,), ("y",), (2.0,))
SHAPE: dict[str, Any] = {"loss": Squared(), "clip": 1.0, "feasible": None, "penalty": NoPenalty()}
MADE: dict[str, dict[str, Any]] = {
    "gradient": {"mu": 1.0, "loss": Squared(), "clip": 1.0},
    "second_moments_laplace": {"epsilon": 1.0},
    "means": {"mu": 1.0},
    "output_perturbation": {"mu": 1.0, "ridge": 5.0, **SHAPE},
    "moments": {"mu": 1.0, "target_scale": 1.0},
    "coordinate_gradient": {"mu": 1.0, "loss": Squared(), "count": 5},
    "objective_perturbation": {
        "ridge": 4.0, "noise_multiplier": 2.0, "curvature": 2.0, "output_multiplier": 10.0, **SHAPE,
    },
    "quantiles": {
        "values": (0,), "missing": (1,), "grids": (Grid(-1.0, 1.0, GridKind.LINEAR),), "shares": (0.25, 0.0), "epsilon": 1.0,
    },
    "norm_histogram": {"mu": 1.0, "loss": Squared(), "bins": 4},
    "score": {"mu": 1.0, "reading": READ, "tallies": (Moments(SquaredError(0, 2.0)),)},
    "second_moments": {"mu": 1.0},
    "select": {"epsilon": 1.0, "loss": Squared(), "clip": 1.0},
    "covariance": {"mu": 1.0},
    "centred_gradient": {"mu": 1.0, "loss": Squared()},
    "gradient_moments": {"mu": 1.0, "loss": Squared()},
    "laplace_minimiser": {"epsilon": 1.0, "ridge": 5.0, **SHAPE},
    "vertex": {"epsilon": 1.0, "loss": Squared(), "clip": 1.0, "constraint": L1Ball(1.0)},
}  # fmt: skip
"""One line for each query that there is."""


def test_every_query_is_here() -> None:
    assert set(MADE) == set(QUERIES)


Pair = tuple[Rows, Rows]
CASES = [
    (name, kind, relation)
    for name in MADE
    for kind in ("plain", "weights", "units")
    for relation in Neighbours
    if (name, kind) != ("objective_perturbation", "units")  # which it refuses
]


@cache
def encoded(one: bool, kind: str) -> tuple[Any, Callable[[pd.DataFrame], Rows]]:
    """An encoding to two columns, of one feature and its indicator or of two features, and what encodes a table so."""
    more: dict[str, Any] = {"weight": ("w", 3.0)} if kind == "weights" else {}
    if kind == "units":
        more = {"unit": "who", "records_per_unit": 2}
    features = {"a": (-1, 1)} if one else {"a": (-1, 1), "b": (-1, 1)}
    domain = hb.Domain(features, target={"y": (-1, 1)}, indicators=one, missing_target="drop", records=N, **more)
    encoding = domain.encoding_for(frame(np.random.default_rng(0), 1), fit_intercept=False)
    assert encoding.facts.width == P
    return encoding, lambda table: encoding.encode(domain.open(table))


def priced(name: str, kind: str, relation: Neighbours) -> Any:
    """The query about both columns; quantiles are of one feature."""
    encoding, _ = encoded(name == "quantiles", kind)
    return PricedQueries(encoding.facts, relation, N).price(name, **MADE[name])


def frame(rng: np.random.Generator, n: int, *, who: int = 0, gone: float = 0.3) -> pd.DataFrame:
    """Records at the ends of the domain and within it, of which a share lacks a target; two a person."""
    ends, within = rng.choice([-1.0, 0.0, 1.0], (n, 3)), rng.uniform(-1.0, 1.0, (n, 3))
    found = pd.DataFrame(np.where(rng.random((n, 1)) < 0.5, ends, within), columns=["a", "b", "y"])
    found["y"] = found["y"].mask(rng.random(n) < gone)
    return found.assign(w=rng.choice([0.5, 3.0], n), who=[f"p{who + i // 2}" for i in range(n)])


def neighbours(case: tuple[str, str, Neighbours], gone: float) -> list[Pair]:
    """Tables that differ in the records of one unit: in the first such a share of these lacks a target, in the second all, or they are not there."""
    name, *about = case
    return differing(name == "quantiles", *about, gone)


@cache
def differing(one_feature: bool, kind: str, relation: Neighbours, gone: float) -> list[Pair]:
    """Made once for all queries."""
    (_, rows), rng, found = encoded(one_feature, kind), np.random.default_rng(7), list[Pair]()
    size = 2 if kind == "units" else 1
    for number in range(12):
        others, one = frame(rng, N - size, gone=0.3), frame(rng, size, who=99, gone=gone)
        other = frame(rng, size, who=99, gone=1.0) if relation is Neighbours.REPLACE_ONE else one.iloc[:0]
        if number % 3 == 0 and len(other):
            other = other.assign(a=-one["a"], b=-one["b"], w=one["w"])  # the opposite record, without a target
        tables = (pd.concat(both).sample(frac=1.0, random_state=number) for both in ([others, one], [others, other]))
        first, second = map(rows, tables)
        found.append((first, second))
    return found


def places(rng: np.random.Generator, query: Any) -> list[Any]:
    """Some places to ask it: where derivatives are at their clip, and in its middle."""
    if query.name == "coordinate_gradient":
        about = {"clips": 10.0 ** rng.uniform(-6.0, 1.0, P), "steps": rng.uniform(0.0, 1.0, P) + 1e-3}
        about |= {"order": rng.integers(0, P, 5), "form": separable_form(NoPenalty(), None, P)}
        theta = rng.normal(0.0, 1.0, P)
        return [lambda curator: curator.answer("coordinate_gradient", theta, **about)]
    found = asks(query)
    return [found[i] for i in rng.choice(len(found), min(2, len(found)), replace=False)]


def told(query: Any, tables: Pair, ask: Any) -> float:
    """How far apart the laws of an answer are, over what is stated."""
    traced = TracedTables((query,), tables).traced(0, KEY)
    ask(traced)
    return max(one.realised / one.allowed for one in traced.log)


def pull(query: ObjectivePerturbationQuery, rows: Rows, theta: np.ndarray) -> np.ndarray:
    """The sum of clipped gradients, by which the perturbation that leads to θ differs from table to table."""
    assert rows.weight is not None
    slopes = np.clip(query.loss.derivative(rows.X @ theta, rows.Y[:, 0]), -query.clip, query.clip)
    return np.asarray(rows.X.T @ (rows.weight * slopes))


@sampled("case", CASES, lambda case: case[0], ids=str)
def test_a_record_that_is_left_out_is_a_neighbour_like_any_other(case: tuple[str, str, Neighbours]) -> None:
    """Of one that counts; where a person has two records, two that count."""
    query, rng, most = priced(*case), np.random.default_rng(7), 0.0
    for tables in neighbours(case, 0.0):
        if isinstance(query, ObjectivePerturbationQuery):
            theta = rng.normal(0.0, 3.0, P)
            moved = float(np.linalg.norm(pull(query, tables[0], theta) - pull(query, tables[1], theta)))
            share = moved / query.family.lipschitz  # twice that is paid for where a record is replaced
        else:
            share = max(told(query, tables, ask) for ask in places(rng, query))
        most = max(most, share)
    assert 0.0 < most <= 1.0 + 1e-9


@sampled("case", CASES, lambda case: case[0], ids=str)
def test_what_a_record_without_a_target_holds_and_whether_it_is_there_is_not_told(
    case: tuple[str, str, Neighbours],
) -> None:
    """To the last bit of what noise is added to; minimisers are within their stated distance of one point."""
    query, rng = priced(*case), np.random.default_rng(8)
    for tables in neighbours(case, 1.0):
        if isinstance(query, ObjectivePerturbationQuery):
            linear = rng.normal(0.0, query.sigma, P)
            one, other = (query.near(table, linear) for table in tables)
            assert np.linalg.norm(one - other) <= 2.0 * query.distance
        elif isinstance(query, OutputPerturbationQuery | LaplaceMinimiserQuery):
            one, other = (query.kept_work(table).minimiser(np.zeros(P)) for table in tables)
            assert np.linalg.norm(one - other) <= 2.0 * getattr(query, "minimiser", query).distance
        else:
            assert max(told(query, tables, ask) for ask in places(rng, query)) == 0.0
