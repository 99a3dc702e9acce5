"""Scores that are kept from one choice to the next have the bits of those made anew; so have choices, solvers and models."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from hullabaloo.curator import Curator
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.geometry import L1Ball, Simplex
from hullabaloo.losses import Huber, Logistic, Poisson, Squared
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.selection import choice
from hullabaloo.selection.select import SelectQuery
from hullabaloo.selection.sparse_scores import SparseScores
from hullabaloo.selection.vertex import VertexQuery

RELATIONS = [Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE]
N, P, KEY = 300, 60, TestKey(bytes(32))
LOSSES = {"squared": Squared(), "logistic": Logistic(), "huber": Huber(0.1), "poisson": Poisson()}
BODIES = {"l1": L1Ball(0.7), "simplex": Simplex(2.0)}


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "MANY", 1)


def facts(*, weight: float = 1.0, unit: int = 1, offset: float = 0.0, intercept: bool = False) -> RowFacts:
    names = tuple(f"x{i}" for i in range(P - intercept)) + ("(intercept)",) * intercept
    weighted = weight != 1.0 or unit > 1
    return RowFacts(names, intercept, float(P), P**0.5, 1.0, ("y",), weight, unit, weighted, offset)


def table(rng: np.random.Generator, about: RowFacts, n: int = N) -> Rows:
    """Columns of every popularity, from all records to none; empty records; a record twice."""
    X = rng.uniform(-1.0, 1.0, (n, P)) * (rng.random((n, P)) < 1.0 / np.arange(1, P + 1))
    X[:, -3], X[: n // 10] = 0.0, 0.0
    X[-1] = X[-2]
    weight = rng.uniform(0.0, about.max_weight, n) * (rng.random(n) > 0.1) if about.weighted else None
    offset = rng.uniform(-1.0, 1.0, n) * about.offset_bound if about.offset_bound else None
    return Rows(sp.csr_array(X), rng.uniform(-1.0, 1.0, (n, 1)), weight, offset)


def query(about: RowFacts, relation: Neighbours = Neighbours.REPLACE_ONE, **changed: Any) -> VertexQuery:
    asked = {"constraint": L1Ball(0.7), "loss": Squared(), "clip": 0.3, "epsilon": 0.5, "count": 100} | changed
    return PricedQueries(about, relation, N).price("vertex", **asked)


def selected(about: RowFacts, **changed: Any) -> SelectQuery:
    asked = {"loss": Squared(), "clip": 0.3, "epsilon": 5.0, "count": 100} | changed
    return PricedQueries(about, Neighbours.REPLACE_ONE, N).price("select", **asked)


def scores(kept: SparseScores) -> np.ndarray:
    """Within the public bound, as a contest rounds them."""
    return np.clip(kept._scores(slice(None)), -kept.of[0].bound, kept.of[0].bound)


def walk(rng: np.random.Generator, steps: int) -> list[np.ndarray]:
    """Points of Frank–Wolfe's kind, of one coordinate more, of all at once, back at 0, far away, twice the same, and not finite."""
    points, theta = [np.zeros(P)], np.zeros(P)
    for step in range(steps):
        theta = (1.0 - 2.0 / (step + 3)) * theta
        theta[rng.integers(P)] += rng.normal()
        points.append(theta.copy())
    jump = points[-1].copy()
    jump[7] = -0.0
    wild = np.where(np.arange(P) % 7 == 0, 1e308, theta)
    return [
        *points,
        jump,
        jump,
        rng.normal(size=P),
        np.zeros(P),
        wild,
        np.where(np.arange(P) == 3, np.inf, theta),
        theta,
    ]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "about", [facts(), facts(weight=3.0, offset=0.5), facts(unit=2)], ids=["plain", "weighted", "units"]
)
@pytest.mark.few(12)
def test_kept_scores_are_those_made_anew(about: RowFacts, loss: str, body: str) -> None:
    rng = np.random.default_rng(4)
    rows, asked = table(rng, about), query(about, loss=LOSSES[loss], constraint=BODIES[body])
    kept = SparseScores(asked, rows)
    for theta in walk(rng, 12):
        kept.at(theta)
        np.testing.assert_array_equal(scores(kept), asked.exact_scores(rows, theta))
        anew = asked.contest(asked.exact_scores(rows, theta))
        np.testing.assert_array_equal(kept._contest._gaps, anew._gaps)


@pytest.mark.parametrize("relation", RELATIONS)
def test_no_neighbour_moves_a_kept_score_by_more_than_the_sensitivity(relation: Neighbours) -> None:
    """The record that differs was touched in some steps and not in others."""
    rng, about = np.random.default_rng(5), facts()
    rows, asked = table(rng, about), query(about, relation)
    X, Y = rows.X.toarray(), rows.Y.copy()
    if relation is Neighbours.REPLACE_ONE:
        X[N // 2], Y[N // 2] = rng.choice([-1.0, 0.0, 1.0], P), 1.0
    else:
        X, Y = np.delete(X, N // 2, axis=0), np.delete(Y, N // 2, axis=0)
    left, right = SparseScores(asked, rows), SparseScores(asked, Rows(sp.csr_array(X), Y))
    for theta in walk(rng, 12):
        left.at(theta), right.at(theta)
        assert np.abs(scores(left) - scores(right)).max() <= asked.sensitivity


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.few(2)
def test_kept_scores_of_columns_are_those_made_anew(loss: str) -> None:
    """Of a selection beside intervals and excluded columns, of which some are others at each choice, or none are given."""
    rng, about = np.random.default_rng(9), facts(weight=3.0)
    rows, asked = table(rng, about), selected(about, loss=LOSSES[loss])
    kept, lower = SparseScores(asked, rows), rng.normal(size=P) / 20
    for step, theta in enumerate(walk(rng, 12)):
        lower[rng.integers(P)] = rng.choice([-np.inf, -0.1, 0.05])
        within = None if step % 4 == 1 else (lower.copy(), np.where(lower > 0.0, np.inf, lower + 0.1))
        excluded = None if step % 5 == 2 else rng.random(P) < 0.2
        found = kept.at(theta, within, excluded)
        anew = asked.exact_scores(rows, theta, within)
        left = np.where(False if excluded is None else excluded, -asked.bound, anew)
        np.testing.assert_array_equal(found._gaps, asked.contest(left)._gaps)


@pytest.mark.slow
def test_selections_are_the_same_however_the_table_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """At clips that change, each among the columns that are left; they have the law of the plain mechanism, up to a false alarm of 1e-7."""
    monkeypatch.setattr(choice, "MANY", 1)
    rng, about = np.random.default_rng(6), facts()
    rows, points = table(rng, about), walk(rng, 12)[:12]
    whole, asked = Rows(np.ascontiguousarray(rows.X.toarray()), rows.Y), selected(about, count=100)

    def chosen(held: Rows) -> list[int]:
        curator, found = Curator(held, [asked], key=KEY), list[int]()
        for step, theta in enumerate(points):
            taken, within = np.isin(np.arange(P), found), (-np.ones(P) / 9, np.ones(P) / 9)
            found.append(curator.answer("select", theta, taken, clip=0.2 if step < 6 else 0.3, within=within))
        return found

    kept = chosen(rows)
    assert len(set(kept)) == len(points)
    monkeypatch.setattr(choice, "_MOST", 0)
    assert kept == chosen(rows) == chosen(whole)
    monkeypatch.setattr(choice, "_MOST", N)
    taken, drawn, held = np.arange(P) % 3 == 0, np.zeros(P), dict[Any, Any]()
    for number in range(2_000):
        question = asked.question(points[5], taken)
        drawn[asked.answered(rows, question, KEY.derive(str(number)), held)] += 1
    assert not drawn[taken].any()
    law = np.exp(0.5 * asked.epsilon / asked.sensitivity * asked.exact_scores(rows, points[5]))[~taken]
    assert stats.chisquare(drawn[~taken], 2_000 * law / law.sum()).pvalue > 1e-7


@pytest.mark.usefixtures("many")
def test_choices_are_the_same_however_the_table_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, about = np.random.default_rng(6), facts()
    rows, asked, points = table(rng, about), query(about), walk(rng, 20)
    whole = Rows(np.ascontiguousarray(rows.X.toarray()), rows.Y)

    def chosen(held: Rows) -> list[int]:
        curator = Curator(held, [asked], key=TestKey(bytes(32)))
        return [curator.answer("vertex", theta) for theta in points if np.isfinite(theta).all()]

    kept = chosen(rows)
    monkeypatch.setattr(choice, "_MOST", 0)
    assert kept == chosen(rows) == chosen(whole)
    assert len(set(kept)) > 10


@pytest.mark.usefixtures("many")
def test_targets_and_queries_do_not_share_what_is_kept() -> None:
    rng, about = np.random.default_rng(7), facts()
    rows, theta = table(rng, about), np.full(P, 0.01)
    both = Rows(rows.X, np.hstack([rows.Y, -rows.Y]))
    queries = [query(about, count=2, epsilon=50.0), query(about, count=2, epsilon=90.0)]
    whole = Curator(both, queries, key=TestKey(bytes(32)))
    chosen = [(target, whole.of_target(target).answer("vertex", theta)) for target in (0, 1, 0, 1)]
    for place, (target, found) in enumerate(chosen):
        asked = queries[place // 2]
        alone = Rows(rows.X, np.ascontiguousarray(both.Y[:, [target]]))
        key = TestKey(bytes(32)).derive(f"vertex/{place + 1}")
        assert found == asked.answered(alone, (theta, None, None), key, {})


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("changed", [{"once": True, "count": 1}, {"epsilon": np.inf}], ids=str)
def test_one_choice_alone_and_one_without_noise_are_as_they_were(changed: dict[str, Any]) -> None:
    rows, asked, kept = table(np.random.default_rng(8), facts()), query(facts(), **changed), {}
    assert asked.answered(rows, (np.zeros(P), None, None), TestKey(bytes(32)), kept) in range(2 * P)
    assert not kept


def test_an_intercept_moves_every_score() -> None:
    """Its end is chosen along with the vertex, so that no candidate is of one column."""
    from hullabaloo.geometry.intercept import with_intercept

    assert query(facts(intercept=True), constraint=with_intercept(L1Ball(1.0), -1.0, 1.0)).candidates == 0
    assert query(facts()).candidates == 2 * P
