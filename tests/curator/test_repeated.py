"""Minimisers that differ in the linear term alone: what is kept changes no answer beyond the stated distance, nor its sensitivity."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import hullabaloo as hb
from hullabaloo.curator import Curator
from hullabaloo.data.source import Rows
from hullabaloo.erm import repeated
from hullabaloo.erm.output_perturbation import OutputPerturbationQuery
from hullabaloo.erm.repeated import PiecewiseQuadratic
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import L1Penalty, L2Ball, NoPenalty, SquaredL2Penalty
from hullabaloo.losses import Huber, Logistic, Poisson, SmoothedHinge, Squared
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours
from tests.curator.neighbours import facts, join, pairs, random_rows
from tests.curator.test_minimisers import precise_minimiser, squeezed

N, P, BOUND = 150, 3, 0.3
STRAIGHT = {
    "squared, wide": (Squared(), 20.0, facts(P, norm_l2=1.0)),
    "squared, clipped": (Squared(), 0.3, facts(P, norm_l2=1.0)),
    "squared, weighted": (Squared(), 0.3, facts(P, norm_l2=1.0, max_weight=2.0, offset=0.5)),
    "huber": (Huber(0.25), 1.0, facts(P, norm_l2=1.0)),
}
CURVED = {
    "logistic": (Logistic(), 1.0, facts(P, norm_l2=1.0)),
    "hinge": (SmoothedHinge(0.5), 0.7, facts(P, norm_l2=1.0)),
    "poisson": (Poisson(), 1.0, facts(P, norm_l2=1.0)),
}
CASES = {**STRAIGHT, **CURVED}


def query(name: str, n: int = N, **changes: Any) -> OutputPerturbationQuery:
    loss, clip, about = CASES[name]
    made = OutputPerturbationQuery(
        about, Neighbours.REPLACE_ONE, n, 40, loss, clip, 0.05, None, NoPenalty(), 0.5, linear_bound=BOUND
    )
    return replace(made, **changes)


def table(name: str, n: int = N, *, seed: int = 0) -> Rows:
    loss, _, about = CASES[name]
    return squeezed(random_rows(np.random.default_rng(seed), n, about), loss)


def walk(steps: int, n: int, *, seed: int = 1) -> list[np.ndarray]:
    """Linear terms of the sum form as Frank–Wolfe asks them: 0, a corner, then mixtures with corners, jumps now and then."""
    rng, s, found = np.random.default_rng(seed), np.zeros(P), []
    for t in range(steps):
        found.append(n * s)
        corner = BOUND / math.sqrt(P) * rng.choice([-1.0, 1.0], P)
        s = corner if t % 7 == 6 else (1.0 - 2.0 / (t + 2)) * s + 2.0 / (t + 2) * corner
    return found


@pytest.mark.few(1)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_answers_are_those_of_a_search_of_its_own(name: str, sparse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, rows = query(name), table(name)
    if sparse:
        rows = Rows(sp.csr_array(rows.X), rows.Y, rows.weight, rows.offset)
    terms = walk(20, N)
    alone = [asked.kept_work(rows).minimiser(term) for term in terms]
    searches: list[int] = []
    plain, warm = repeated.minimise, repeated.newton
    monkeypatch.setattr(repeated, "minimise", lambda *a, **k: searches.append(1) or plain(*a, **k))
    monkeypatch.setattr(repeated, "newton", lambda *a, **k: searches.append(0) or warm(*a, **k))
    kept = asked.kept_work(rows)
    together = [kept.minimiser(term) for term in terms]
    assert sum(searches) == 1  # the first
    assert len(searches) <= 8 if name in STRAIGHT else len(searches) == len(terms)
    for one, other in zip(alone, together, strict=True):
        assert float(np.linalg.norm(one - other)) <= 2.0 * asked.distance * (1.0 + 1e-9)
    assert not np.array_equal(alone[3], alone[4])


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["squared, wide", "squared, clipped"])
@pytest.mark.parametrize("condition", [1.0, 1e4])
def test_the_distance_holds_against_sixty_digits(name: str, condition: float) -> None:
    _, clip, _ = CASES[name]
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, P))
    X[:, 2] = X[:, 0] + (X[:, 1] + X[:, 2]) / condition
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    rows = Rows(X, np.clip(rng.normal(size=(N, 1)), -1.0, 1.0))
    asked = query(name, ridge=1e-3)
    kept = asked.kept_work(rows)
    for t, term in enumerate(walk(6, N)):
        found = kept.minimiser(term)
        if t >= 3:
            exact = precise_minimiser(rows, clip, N * asked.ridge, term, False)
            assert float(np.linalg.norm(found - np.array([float(v) for v in exact]))) <= asked.distance * (1.0 + 1e-9)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", STRAIGHT)
def test_pieces_give_the_gradient_in_all_of_their_ball_and_state_its_error(name: str) -> None:
    n = 3000
    asked, rows = query(name, n), table(name, n)
    rng = np.random.default_rng(2)
    centre = rng.normal(size=P) * 0.3
    for wanted in (0.0, 0.02, math.inf):
        pieces = PiecewiseQuadratic.around(centre, wanted, rows, asked.family)
        assert pieces.y.size <= n / 8 + 2
        worst = 0.0
        for length in (0.0, 0.5, 1.0 - 1e-12):
            radius = min(pieces.radius, 10.0)
            for _ in range(20):
                move = rng.normal(size=P)
                theta = centre + length * radius * move / np.linalg.norm(move)
                term = n * BOUND * rng.normal(size=P) / 3.0
                objective = asked.family.objective(rows, term)
                exact, low = objective.careful_gradient(theta, np.zeros(P))
                error = float(np.linalg.norm(pieces.gradient(theta, term) - exact - low))
                worst = max(worst, error / pieces.error(float(np.linalg.norm(theta)), float(np.linalg.norm(term))))
        assert 0.0 < worst <= 1.0
    if asked.clip < 1.0:  # beyond the ball records do change pieces
        far = centre + 2.0 * np.array([1.0, 0.0, 0.0])
        exact, _ = asked.family.objective(rows, np.zeros(P)).careful_gradient(far, np.zeros(P))
        assert float(np.linalg.norm(pieces.gradient(far, np.zeros(P)) - exact)) > 1.0


@pytest.mark.few(6)
@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("name", CASES)
def test_neighbours_answers_are_within_the_sensitivity_for_every_linear_term(relation: Neighbours, name: str) -> None:
    """Records at the domain's ends, opposite ones; each table with what it kept from other questions before."""
    loss, _, about = CASES[name]
    asked = query(name, 60, neighbours=relation)
    rng, moved = np.random.default_rng(4), 0.0
    for one, other in pairs(rng, relation, about, rounds=6, n=59):
        kept = [asked.kept_work(squeezed(rows, loss)) for rows in (one, other)]
        for t in range(8):
            s = rng.normal(size=P)
            s *= 60 * BOUND / np.linalg.norm(s)
            if t % 3 == 2:  # along the record that differs
                s = 60 * BOUND * one.X[-1] / max(float(np.linalg.norm(one.X[-1])), 1e-300)
            points = [of.minimiser(s) for of in kept]
            moved = max(moved, float(np.linalg.norm(points[0] - points[1])))
    assert (0.005 if asked.clip > 1.0 else 0.02) * asked.sensitivity < moved <= asked.sensitivity


@pytest.mark.parametrize("relation", list(Neighbours))
def test_the_sensitivity_is_nearly_attained_by_records_at_the_residual_bound(relation: Neighbours) -> None:
    """A record whose residual reaches the clip at w(s), s as long as allowed, among records that say nothing."""
    about = facts(2, norm_l2=1.0)
    n, ridge = 40, 100.0
    asked = OutputPerturbationQuery(
        about, relation, n, 9, Squared(), 1.0, ridge, None, NoPenalty(), 0.5, linear_bound=BOUND
    )
    common = Rows(np.zeros((n - 1, 2)), np.zeros((n - 1, 1)))
    x = np.array([[1.0, 0.0]])
    one = join(common, Rows(x, np.ones((1, 1))))
    other = common if relation is Neighbours.ADD_OR_REMOVE else join(common, Rows(x, -np.ones((1, 1))))
    kept = [asked.kept_work(rows) for rows in (one, other)]
    for s in (np.zeros(2), np.array([BOUND, 0.0]), np.array([0.0, -BOUND]), np.array([-BOUND, 0.0])):
        points = [of.minimiser(n * s) for of in kept]
        assert float(np.linalg.norm(points[0] - points[1])) == pytest.approx(asked.sensitivity, rel=5e-3)
        assert float(np.linalg.norm(points[0] - points[1])) <= asked.sensitivity


@pytest.mark.parametrize("cell", [math.nan, math.inf, -math.inf, 1e308, 1e-320, None])
def test_a_record_of_any_cells_moves_answers_by_no_more(cell: float | None) -> None:
    rng = np.random.default_rng(5)
    domain = hb.Domain(features={"a": (-1, 1), "b": (-1, 1)}, target={"y": (-1, 1)})
    plain = pd.DataFrame({"a": rng.uniform(-1, 1, 50), "b": rng.uniform(-1, 1, 50), "y": rng.uniform(-1, 1, 50)})
    worst = plain.copy()
    worst.loc[0] = [cell, cell, cell]
    kept = []
    for frame in (plain, worst):
        encoding = domain.encoding_for(frame)
        rows = encoding.encode(frame)
        about = (encoding.facts, Neighbours.REPLACE_ONE, 50, 9, Squared(), 20.0, 0.05, None, NoPenalty(), 0.5)
        asked = OutputPerturbationQuery(*about, linear_bound=BOUND)
        kept.append(asked.kept_work(rows))
    for _ in range(6):
        s = rng.normal(size=encoding.facts.width)
        s *= 50 * BOUND / np.linalg.norm(s)
        points = [of.minimiser(s) for of in kept]
        assert np.isfinite(points).all()
        assert 0.0 < float(np.linalg.norm(points[0] - points[1])) <= asked.sensitivity


TABLES = {
    "no row": Rows(np.zeros((0, P)), np.zeros((0, 1))),
    "one row": Rows(np.full((1, P), 0.5), np.ones((1, 1))),
    "empty columns": Rows(np.zeros((40, P)), np.ones((40, 1))),
    "all at the bend": Rows(np.tile([[0.6, 0.8, 0.0]], (40, 1)), np.full((40, 1), 0.3)),
    "tiny": Rows(np.full((40, P), 1e-160), np.ones((40, 1))),
    "fifty times too many": random_rows(np.random.default_rng(6), 2000, facts(P, norm_l2=1.0), extreme=True),
}


@pytest.mark.few(8)
@pytest.mark.parametrize("rows", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("name", ["squared, wide", "squared, clipped", "huber"])
def test_every_table_is_answered_to_the_distance(name: str, rows: Rows) -> None:
    asked = query(name, 40, neighbours=Neighbours.ADD_OR_REMOVE)
    kept = asked.kept_work(rows)
    for term in walk(9, 40):
        apart = float(np.linalg.norm(kept.minimiser(term) - asked.kept_work(rows).minimiser(term)))
        assert apart <= 2.0 * asked.distance * (1.0 + 1e-9)


@pytest.mark.few(7)
@pytest.mark.parametrize("part", ["gradient", "minimiser", "around", "error"])
@pytest.mark.parametrize("error", [np.linalg.LinAlgError, ValueError, FloatingPointError, InvalidParameter])
def test_where_the_quick_way_fails_the_slow_one_answers(
    error: type[Exception], part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, rows, terms = query("squared, clipped"), table("squared, clipped"), walk(5, N)
    alone = [asked.kept_work(rows).minimiser(term) for term in terms]

    def broken(*arguments: Any) -> Any:
        raise error("broken")

    monkeypatch.setattr(PiecewiseQuadratic, part, broken)
    kept = asked.kept_work(rows)
    for one, term in zip(alone, terms, strict=True):
        assert float(np.linalg.norm(kept.minimiser(term) - one)) <= 2.0 * asked.distance


def test_a_table_too_large_for_plain_doubles_is_not_answered_from_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, rows, terms = query("squared, wide"), table("squared, wide"), walk(5, N)
    alone = [asked.kept_work(rows).minimiser(term) for term in terms]
    monkeypatch.setattr(PiecewiseQuadratic, "error", lambda *given: math.inf)
    monkeypatch.setattr(PiecewiseQuadratic, "minimiser", lambda *given: pytest.fail("sums were asked"))
    kept = asked.kept_work(rows)
    for one, term in zip(alone, terms, strict=True):
        assert float(np.linalg.norm(kept.minimiser(term) - one)) <= 2.0 * asked.distance


@pytest.mark.parametrize("name", ["squared, wide", "logistic"])
def test_without_noise_answers_are_exact(name: str) -> None:
    asked = query(name, mu=math.inf, clip=math.inf)
    rows = table(name)
    curator = Curator(rows, [asked])
    loss, worst = asked.loss, 0.0
    for term in walk(9, N):
        w = curator.answer("output_perturbation", term / N)
        slope = rows.X.T @ loss.derivative(rows.X @ w, rows.Y[:, 0]) / N + asked.ridge * w + term / N  # type: ignore[arg-type]
        worst = max(worst, float(np.linalg.norm(slope)))
    assert worst < 1e-8


def test_the_bound_of_the_linear_term_is_enforced_at_every_answer() -> None:
    asked = query("squared, wide")
    curator = Curator(table("squared, wide"), [asked], key=TestKey(bytes(32)))
    for _ in range(3):
        curator.answer("output_perturbation", np.array([BOUND, 0.0, 0.0]))
        for wrong in (np.full(P, BOUND), np.array([math.nan, 0.0, 0.0]), np.array([math.inf, 0.0, 0.0])):
            with pytest.raises(InvalidParameter, match="bounds it by"):
                curator.answer("output_perturbation", wrong)


@pytest.mark.parametrize("name", ["squared, wide", "squared, clipped"])
def test_noisy_answers_differ_by_the_route_no_more_than_the_distance(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, rows, terms = query(name), table(name), [term / N for term in walk(8, N)]
    kept = Curator(rows, [asked], key=TestKey(bytes(32)))
    found = [kept.answer("output_perturbation", s) for s in terms]
    monkeypatch.setattr(repeated.WarmStarted, "_again", lambda *given: None)
    alone = Curator(rows, [asked], key=TestKey(bytes(32)))
    for one, s in zip(found, terms, strict=True):
        apart = float(np.linalg.norm(one - alone.answer("output_perturbation", s)))
        assert apart <= 2.0 * asked.distance * (1.0 + 1e-9) <= 1e-4 * asked.sensitivity
        assert apart < 1e-3 * asked.sigma


def test_each_query_keeps_work_of_its_own() -> None:
    """Two quotes of one kind: the second is about another ridge."""
    rows = table("squared, wide")
    first, second = query("squared, wide", count=3), query("squared, wide", count=3, ridge=0.5)
    curator, s = Curator(rows, [first, second], key=TestKey(bytes(32))), np.array([0.1, -0.1, 0.0])
    found = [curator.answer("output_perturbation", s) for _ in range(6)]
    for asked, answers in ((first, found[:3]), (second, found[3:])):
        exact = asked.kept_work(rows).minimiser(N * s)
        assert float(np.linalg.norm(np.mean(answers, axis=0) - exact)) < 5.0 * asked.sigma
    assert first.sigma > 5.0 * second.sigma


@pytest.mark.parametrize("changes", [{"feasible": L2Ball(0.2)}, {"penalty": L1Penalty(0.02)}], ids=["set", "kinks"])
def test_sets_and_kinks_are_searched_afresh(changes: dict[str, Any]) -> None:
    asked, rows = query("squared, clipped", **changes), table("squared, clipped")
    kept = asked.kept_work(rows)
    for term in walk(4, N):
        assert np.array_equal(kept.minimiser(term), asked.kept_work(rows).minimiser(term))


def test_a_squared_penalty_counts_among_the_squares() -> None:
    asked, rows = query("squared, clipped", penalty=SquaredL2Penalty(0.4)), table("squared, clipped")
    kept = asked.kept_work(rows)
    for term in walk(6, N):
        apart = float(np.linalg.norm(kept.minimiser(term) - asked.kept_work(rows).minimiser(term)))
        assert apart <= 2.0 * asked.distance
