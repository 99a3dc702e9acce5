"""Records of a stream that count less in earlier places: what they pay in each query and in all fits together, and where every record counts once."""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import hullabaloo as hb
from hullabaloo.audit.streams import TracedRefits
from hullabaloo.curation.prefixes import PrefixProcess
from hullabaloo.curator.query import NoisySum
from hullabaloo.data.source import Rows
from hullabaloo.losses import SquaredTargets
from hullabaloo.privacy import Neighbours
from hullabaloo.privacy.schedule import Schedule
from hullabaloo.queries import QUERIES, PricedQueries
from hullabaloo.streaming import PeriodicERM
from hullabaloo.streaming.refits import divided, planned, rising
from tests.curator.test_dropped import KEY, MADE, places, told
from tests.sampling import sampled
from tests.streaming.test_periodic_erm import NUMBERS, N, linear, records

SHARES = (0.0, 1e-6, 0.25, 0.7, 1.0)
SUMS = [name for name, kind in QUERIES.items() if issubclass(kind, NoisySum)]
CASES = [(name, relation) for name in (*SUMS, "gradients") for relation in Neighbours]
SOLVERS = ("gradient", "moments", "adaptive_gradient", "preconditioned_gradient", "coordinate_descent")


def query(name: str, relation: Neighbours, **more: Any) -> tuple[Any, Any]:
    """About two columns of rows that count alike, or as is declared; "gradients" is of two targets together."""
    target = dict.fromkeys(("y", "z")[: 1 + (name == "gradients")], (-1, 1))
    domain = hb.Domain(features={"a": (-1, 1), "b": (-1, 1)}, target=target, indicators=False, **more)
    encoding = domain.encoding(fit_intercept=False)
    if name == "gradients":
        prices = PricedQueries(encoding.facts, relation, 12)
        return prices.price("gradient", mu=1.0, loss=SquaredTargets(), clip=1.0), encoding
    values = {"values": (0,), "missing": (1,)} if name == "quantiles" else {}
    return PricedQueries(encoding.facts, relation, 12).price(name, **{**MADE[name], **values}), encoding


def asked_at(rng: np.random.Generator, asked: Any) -> list[Any]:
    """Some places to ask it; of curvature, too, which others leave out."""
    if asked.name != "gradient_moments":
        return places(rng, asked)
    about = {"of": "curvature", "intercept_weight": 1.0, "clip_norm": 1e-6}
    return [*places(rng, asked), lambda curator: curator.answer("gradient_moments", np.zeros(2), **about)]


def differing(
    rng: np.random.Generator, relation: Neighbours, share: float, targets: int
) -> Iterator[tuple[Rows, Rows]]:
    """Tables, dense and sparse, whose last record counts `share` times, and is another one or is not there."""
    for _ in range(8):
        made = rng.choice([-1.0, 0.0, 1.0], (12, 4)) if rng.random() < 0.5 else rng.uniform(-1.0, 1.0, (12, 4))
        weight = np.append(rng.choice([*SHARES], 11), share)
        other = np.vstack([made[:-1], -made[-1:] if rng.random() < 0.5 else rng.uniform(-1.0, 1.0, (1, 4))])
        if relation is Neighbours.ADD_OR_REMOVE:
            other = made[:-1]
        for kind in (np.ascontiguousarray, csr_array):
            first, second = (
                Rows(kind(one[:, :2]), one[:, 2 : 2 + targets], weight[: len(one)]) for one in (made, other)
            )
            yield first, second


@sampled("name, relation", CASES, lambda case: case[0], ids=str)
def test_a_record_that_counts_less_pays_so_much_less(name: str, relation: Neighbours) -> None:
    """Every query that is a sum, of dense and sparse rows: v times its price, and what rounding adds, which is next to nothing."""
    (asked, _), rng, most = query(name, relation), np.random.default_rng(9), 0.0
    rounding = asked.rounding / asked.sigma / asked.mu
    assert rounding < 1e-4
    for share in SHARES:
        for tables in differing(rng, relation, share, len(asked.facts.targets)):
            moved = max(told(asked, tables, ask) for ask in asked_at(rng, asked))
            assert moved <= share + rounding
            most = max(most, moved)
    assert most > 0.2


@pytest.mark.parametrize("name", MADE)
def test_nothing_is_known_of_other_queries_nor_of_records_with_weights_of_their_own(name: str) -> None:
    assert math.isfinite(query(name, Neighbours.REPLACE_ONE)[0].rounding) == (name in SUMS)
    assert query(name, Neighbours.REPLACE_ONE, weight=("w", 1.0))[0].rounding == math.inf


def process(relation: Neighbours = Neighbours.REPLACE_ONE, **about: Any) -> PrefixProcess:
    encoding = NUMBERS.encoding()
    task = replace(linear(neighbours=str(relation), **about)._task(encoding), inference=False)
    return PrefixProcess(task, planned(task, encoding, Schedule(N, (150, 200, 420, N))))


@pytest.mark.few(3)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("place", [0, 170, 300, N - 1])
def test_all_fits_together_tell_of_a_record_what_is_charged_at_most(solver: str, place: int) -> None:
    """Wherever it stands: streams that differ in one record, as far apart as records can be, fitted by the code that fits streams."""
    stream, rng = process(solver=solver), np.random.default_rng(3)
    assert stream.refits.heights
    X = np.column_stack([np.where(rng.random((N, 2)) < 0.5, -0.1, 0.1), np.ones(N)])
    y = rng.uniform(-0.1, 0.1, (N, 1))
    X[place, :2], y[place] = 1.0, 1.0
    other = y.copy()
    other[place] = -1.0
    pair = TracedRefits(stream, (Rows(X, y), Rows(X, other)))
    paid = math.sqrt(2.0 * math.fsum(one.rho for one in pair.log(0, KEY)))
    most = stream.event.gdp_mu()
    assert most is not None
    assert 0.3 * most < paid <= most


def test_so_many_records_count_as_are_there() -> None:
    """An absent record is left out in front, as in audits, to none of them at all; the others count as often as ever."""
    refits = process().refits
    for step, position in enumerate((150, 200, 420, N), start=1):
        every = refits.counted(Rows(np.zeros((position, 1)), np.zeros((position, 1))), step).weight
        assert every is not None
        for there in (0, 1, position - 1, position):
            rows = Rows(np.zeros((there, 1)), np.zeros((there, 1)))
            found = refits.counted(rows, step).weight
            assert found is not None
            assert np.array_equal(found, every[position - there :])


def test_every_record_pays_all_of_it_and_no_fit_has_more_noise_than_before() -> None:
    """Over all fits from its own on; noise over records is that of equal counts at most, and at the last of four releases 1.5 times less."""
    for positions in ((100, 200, 300, 400), (10, 500, 510, 2_000), tuple(range(100, 20_001, 100)), (7,)):
        sizes, budgets, heights = rising(1.0, positions)
        mu = np.array([budget.mu for budget in budgets])
        for j, height in enumerate(heights):
            assert np.sum((height / np.array(heights[j:]) * mu[j:]) ** 2) == pytest.approx(1.0, abs=3e-4)
        gain = np.array(sizes) * mu / (np.array(positions) * np.sqrt(divided(positions)))
        assert (gain > 0.99).all()  # a size is a whole number
        if len(positions) == 4 and positions[0] == 100:
            assert gain[-1] == pytest.approx(1.55, abs=0.01)


def test_every_record_counts_once_where_it_is_not_known_to_pay_less() -> None:
    weighted = hb.Domain({"a": (-1, 1), "b": (-1, 1)}, target={"y": (-1, 1)}, indicators=False, weight=("w", 1.0))
    encoding = NUMBERS.encoding()
    for about in (
        {"inference": True, "solver": "moments"},
        {"calibration": "paper", "solver": "gradient", "penalty": hb.SquaredL2Penalty(0.1)},
        {"domain": weighted},
        {"budget": hb.Budget(math.inf), "test_key": None},
    ):
        model = linear(**about) if "penalty" not in about else hb.Ridge(budget=hb.Budget(1.0, 1e-6), domain=NUMBERS)
        own = model.domain.encoding() if "domain" in about else encoding
        task = replace(model._task(own), inference=about.get("inference", False))
        if "penalty" in about:
            task = replace(task, solver="output_perturbation")
        assert not planned(task, own, Schedule(N, 200)).heights
    assert process().refits.heights


def test_a_stream_that_was_begun_with_equal_counts_goes_on_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its state says by its fingerprint which plan it was; the sums that were paid for go on as they were."""
    frame, found = records(), []

    def before(task: Any, *about: Any) -> Any:
        return planned(replace(task, earlier=4), *about, even=True)

    for begun, again in ((250, True), (N, False)):
        path = tmp_path / f"state {begun}"
        with monkeypatch.context() as patched:
            patched.setattr("hullabaloo.streaming.periodic_erm.planned", before)
            with PeriodicERM(linear(inference=False), N, every=200, state=path) as stream:
                found.append(stream.partial_fit(frame.iloc[:begun]).coef_)
        if again:
            with PeriodicERM(linear(inference=False), N, every=200, state=path) as stream:
                found.append(stream.partial_fit(frame.iloc[begun:]).coef_)
    assert not np.array_equal(found[0], found[1])
    assert np.array_equal(found[1], found[2])
    with PeriodicERM(linear(inference=False), N, every=200) as stream:
        assert not np.array_equal(stream.partial_fit(frame).coef_, found[2])


def test_together_they_cost_the_budget() -> None:
    for relation in Neighbours:
        stream = process(relation, solver="adaptive_gradient")
        assert stream.event.gdp_mu() == pytest.approx(stream.task.allowance().mu, rel=2e-4)
        assert stream.task.budget.admits(stream.event)
