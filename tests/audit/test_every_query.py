"""Every query that can be bought has a worst-case canary: it realises nearly all that one answer may tell, and no more.

A query without a line here fails the first test. Where a record cannot be as bad as its bound (a loss that is never steep on both sides, say), the
line holds what it can. False alarm of the audits: 1e-8 each, 4e-7 in all.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hullabaloo.audit import audit
from hullabaloo.audit.subject import Subject
from hullabaloo.curator import query as room
from hullabaloo.curator.query import Query
from hullabaloo.data.grid import Grid, GridKind
from hullabaloo.data.source import RowFacts
from hullabaloo.geometry import L1Ball, NoPenalty
from hullabaloo.losses import Logistic, Squared
from hullabaloo.losses.ranks import Ranks
from hullabaloo.losses.readings import Reading, Reads
from hullabaloo.losses.scores import Moments, SquaredError
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import QUERIES, PricedQueries
from hullabaloo.selection import choice as choices
from tests import sampling
from tests.audit.probes import worst
from tests.sampling import sampled

KEY = TestKey(bytes(range(32)))
MU, EPSILON = 1.5, 1.0
PLAIN = RowFacts(("a", "b"), False, np.sqrt(2.0), 1.0, 1.0, ("y",))
UNITS = replace(PLAIN, max_weight=2.0, records_per_unit=3, weighted=True)
VALUES = RowFacts(("v", "v:missing"), False, 2.0, np.sqrt(2.0), 1.0, ("y",))
SINGLE = RowFacts(("a",), False, 1.0, 1.0, 1.0, ("y",))
READ = Reading(Reads.NUMBERS, (-1.0,), (1.0,), ("y",), (2.0,))
TWO = Reading(Reads.OVR, names=("y",), classes=2)
SQUARED = Squared()

Make = Callable[[PricedQueries], Query]
MENU: dict[str, tuple[Make, RowFacts, float]] = {
    "gradient": (lambda prices: prices.price("gradient", loss=SQUARED, clip=1.0, mu=MU, count=1), PLAIN, 0.99),
    "gradient of units": (lambda prices: prices.price("gradient", loss=SQUARED, clip=1.0, mu=MU, count=1), UNITS, 0.99),
    "gradient of chances": (lambda prices: prices.price("gradient", loss=Logistic(), clip=1.0, mu=MU, count=1), PLAIN, 0.49),
    "means": (lambda prices: prices.price("means", mu=MU), PLAIN, 0.99),
    "output_perturbation": (
        lambda prices: prices.price("output_perturbation", loss=SQUARED, clip=1.0, ridge=5.0, feasible=None, penalty=NoPenalty(), mu=MU),
        PLAIN,
        0.8,
    ),
    "laplace_minimiser": (
        lambda prices: prices.price("laplace_minimiser", loss=SQUARED, clip=1.0, ridge=5.0, feasible=None, penalty=NoPenalty(), epsilon=EPSILON),
        PLAIN,
        0.6,
    ),
    "moments": (lambda prices: prices.price("moments", mu=MU, target_scale=1.0), PLAIN, 0.99),
    "moments of units": (lambda prices: prices.price("moments", mu=MU, target_scale=2.0), UNITS, 0.7),
    "coordinate_gradient": (lambda prices: prices.price("coordinate_gradient", loss=SQUARED, mu=MU, count=1), PLAIN, 0.99),
    "quantiles": (
        lambda prices: prices.price("quantiles", values=(0,), missing=(1,), grids=(Grid(0.0, 1.0, GridKind.LINEAR),), shares=(0.25, 0.0), epsilon=EPSILON),
        VALUES,
        0.49,
    ),
    "norm_histogram": (lambda prices: prices.price("norm_histogram", loss=SQUARED, bins=4, mu=MU, count=1), PLAIN, 0.99),
    "score": (lambda prices: prices.price("score", reading=READ, tallies=(Moments(SquaredError(0, 2.0)),), mu=MU), PLAIN, 0.9),
    "score of ranks": (lambda prices: prices.price("score", reading=TWO, tallies=(Ranks(),), mu=MU), PLAIN, 0.99),
    "score of ranks of units": (lambda prices: prices.price("score", reading=TWO, tallies=(Ranks(),), mu=MU), UNITS, 0.99),
    "second_moments": (lambda prices: prices.price("second_moments", mu=MU), PLAIN, 0.99),
    "second_moments_laplace": (lambda prices: prices.price("second_moments_laplace", epsilon=EPSILON), PLAIN, 0.99),
    "select": (lambda prices: prices.price("select", loss=SQUARED, clip=1.0, epsilon=EPSILON, count=1), PLAIN, 0.49),
    "covariance": (lambda prices: prices.price("covariance", mu=MU), PLAIN, 0.7),
    "gradient_moments": (lambda prices: prices.price("gradient_moments", loss=SQUARED, mu=MU), PLAIN, 0.7),
    "centred_gradient": (lambda prices: prices.price("centred_gradient", loss=SQUARED, mu=MU, count=1), PLAIN, 0.99),
    "vertex": (lambda prices: prices.price("vertex", constraint=L1Ball(1.0), loss=SQUARED, clip=1.0, epsilon=EPSILON, count=1), PLAIN, 0.99),
    "vertex once": (
        lambda prices: prices.price("vertex", constraint=L1Ball(1.0), loss=SQUARED, clip=1.0, epsilon=EPSILON, count=1, once=True), PLAIN, 0.4,
    ),
    "objective_perturbation": (
        lambda prices: prices.price("objective_perturbation",
            loss=SQUARED, clip=1.0, ridge=4.0, feasible=None, penalty=NoPenalty(), noise_multiplier=2.0, curvature=0.25,
            output_multiplier=10.0,
        ), SINGLE, 0.0,
    ),
}  # fmt: skip


def question(name: str, relation: Neighbours) -> Subject:
    make, facts, _ = MENU[name]
    return worst(make(PricedQueries(facts, relation, 4)))


CASES = [(name, relation) for name in MENU for relation in Neighbours]


def test_every_query_is_here() -> None:
    sold = {make(PricedQueries(facts, Neighbours.ADD_OR_REMOVE, 4)).name for make, facts, _ in MENU.values()}
    assert sold == set(QUERIES)


@sampled("name, relation", CASES, lambda case: case[0], ids=str)
def test_an_answer_tells_what_its_event_allows_and_no_more(name: str, relation: Neighbours) -> None:
    asked, share = question(name, relation), MENU[name][2]
    found = audit(asked, runs=12 if sampling.FAST else 20, test_key=KEY)
    assert not found.caught, found.faults
    assert share == 0.0 or share <= realised(asked) <= 1.0 + 1e-6


@pytest.mark.few(3)
@sampled(
    "name, relation",
    [(name, relation) for name, relation in CASES if MENU[name][2] > 0.5],
    lambda case: case[0],
    ids=str,
)
def test_half_the_sensitivity_is_caught(name: str, relation: Neighbours, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = question(name, relation)
    kind: Any = type(asked.queries[0])
    plain = kind.sensitivity.func
    monkeypatch.setattr(kind, "sensitivity", property(lambda query: 0.5 * plain(query)))
    asked = question(name, relation)  # what the first one has worked out was right
    assert realised(asked) > 1.0
    assert audit(asked, runs=4, test_key=KEY).caught


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["means", "second_moments", "score", "norm_histogram", "moments", "covariance"])
def test_less_noise_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = question(name, Neighbours.ADD_OR_REMOVE)
    plain = room.gaussian
    monkeypatch.setattr(room, "gaussian", lambda x, sigma, **rest: plain(x, 0.6 * sigma, **rest))
    assert audit(asked, runs=160, test_key=KEY).caught


@pytest.mark.slow
def test_a_temperature_that_is_too_low_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = question("vertex", Neighbours.REPLACE_ONE)
    plain = choices.exponential_mechanism
    hotter = lambda scores, sensitivity, *rest, **more: plain(scores, 0.25 * sensitivity, *rest, **more)  # noqa: E731
    monkeypatch.setattr(choices, "exponential_mechanism", hotter)
    assert audit(asked, runs=600, test_key=KEY).caught


def realised(asked: Subject) -> float:
    """The share of what the event allows one answer."""
    told = max(asked.log(0, KEY), key=lambda answer: answer.realised)
    return told.realised / told.allowed
