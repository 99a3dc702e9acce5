"""Scores that are kept from one choice to the next have the bits of those made anew; so have choices, solvers and models."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from hullabaloo.curator import Curator
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.geometry import L1Ball, Simplex
from hullabaloo.losses import Huber, Logistic, Poisson, Squared
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.selection import vertex
from hullabaloo.selection.sparse_scores import SparseScores
from hullabaloo.selection.vertex import VertexQuery

RELATIONS = [Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE]
N, P = 300, 60
LOSSES = {"squared": Squared(), "logistic": Logistic(), "huber": Huber(0.1), "poisson": Poisson()}
BODIES = {"l1": L1Ball(0.7), "simplex": Simplex(2.0)}


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vertex, "MANY", 1)


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


@pytest.mark.usefixtures("many")
def test_choices_are_the_same_however_the_table_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, about = np.random.default_rng(6), facts()
    rows, asked, points = table(rng, about), query(about), walk(rng, 20)
    whole = Rows(np.ascontiguousarray(rows.X.toarray()), rows.Y)

    def chosen(held: Rows) -> list[int]:
        curator = Curator(held, [asked], key=TestKey(bytes(32)))
        return [curator.answer("vertex", theta) for theta in points if np.isfinite(theta).all()]

    kept = chosen(rows)
    monkeypatch.setattr(vertex, "_MOST", 0)
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
