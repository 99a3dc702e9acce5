"""Choices of a vertex or a coordinate: sensitivity on real neighbours, the law of the choice, and what is refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from hullabaloo.curator import Curator
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.errors import CapabilityError, InvalidParameter, NotPaidFor
from hullabaloo.geometry import ConvexSet, L1Ball, L2Ball, Polytope, Simplex, with_intercept
from hullabaloo.losses import Squared
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours, NotPrivateEvent, PermuteAndFlipEvent, SelectionEvent
from hullabaloo.queries import PricedQueries
from hullabaloo.selection.choice import Choice
from hullabaloo.selection.select import SelectQuery
from hullabaloo.selection.vertex import VertexQuery
from tests.curator import neighbours
from tests.curator.neighbours import RELATIONS, facts, pairs, random_rows

KEY = TestKey(bytes(range(32)))
TABLES = {name: about for name, about in neighbours.TABLES.items() if not about.offset_bound}
ALARM = 1e-7


def vertex(
    about: RowFacts,
    relation: Neighbours,
    body: ConvexSet | None = None,
    *,
    epsilon: float = 0.5,
    records: int = 20,
    clip: float = 0.5,
) -> VertexQuery:
    prices = PricedQueries(about, relation, records)
    return prices.price("vertex", constraint=body or L1Ball(0.7), loss=Squared(), clip=clip, epsilon=epsilon, count=3)


def select(about: RowFacts, relation: Neighbours, *, epsilon: float = 0.5, records: int = 20) -> SelectQuery:
    prices = PricedQueries(about, relation, records)
    return prices.price("select", loss=Squared(), clip=0.5, epsilon=epsilon, count=3)


def exact_scores(rows: Rows, query: Choice, theta: np.ndarray) -> np.ndarray:
    return query.scores(query.gradient.exact(rows, theta))


def copies(relation: Neighbours) -> float:
    return 2.0 if relation is Neighbours.REPLACE_ONE else 1.0


@pytest.mark.few(15)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("about", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("kind", ["l1", "simplex", "select"])
def test_no_neighbour_moves_a_score_by_more_than_the_sensitivity(
    relation: Neighbours, about: RowFacts, kind: str
) -> None:
    rng = np.random.default_rng(3)
    asked: Choice = select(about, relation) if kind == "select" else vertex(about, relation)
    if kind == "simplex":
        asked = vertex(about, relation, Simplex(0.7))
    for left, right in pairs(rng, relation, about, rounds=60):
        theta = rng.normal(0.0, 10.0 ** rng.integers(-3, 200), about.width)
        moved = np.abs(asked.exact_scores(left, theta) - asked.exact_scores(right, theta)).max()
        assert moved <= asked.sensitivity
    share = 1.0 if kind == "select" else 0.7
    expected = about.records_per_unit * about.max_weight * 0.5 * share * about.norm_linf * copies(relation)
    assert asked.sensitivity == pytest.approx(expected, rel=1e-6)


@pytest.mark.few(7)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ["p7", "weights", "units", "weighted-units"])
@pytest.mark.parametrize("records", [1, 20])
def test_a_polytope_is_bounded_vertex_by_vertex(relation: Neighbours, name: str, records: int) -> None:
    """Every vertex has its own best norm; clipped coordinates (the bound of one declared record is exceeded) move no further."""
    about = TABLES[name]
    rng = np.random.default_rng(21)
    corners = rng.normal(size=(9, about.width)) * rng.choice([0.0, 1.0, 30.0], size=(9, about.width), p=[0.5, 0.4, 0.1])
    asked = vertex(about, relation, Polytope(corners), records=records)
    bounds = [
        min(np.abs(s).sum() * about.norm_linf, np.linalg.norm(s) * about.norm_l2, np.abs(s).max() * about.norm_l1)
        for s in corners
    ]
    unit = 0.5 * about.max_weight * about.records_per_unit * copies(relation)
    assert asked.sensitivity == pytest.approx(max(bounds) * unit, rel=1e-6)
    for left, right in pairs(rng, relation, about, rounds=40, n=300 if records == 1 else 20):
        theta = rng.normal(0.0, 5.0, about.width)
        moved = np.abs(asked.exact_scores(left, theta) - asked.exact_scores(right, theta)).max()
        assert moved <= asked.sensitivity


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kind", ["l1", "select"])
def test_the_sensitivity_is_attained(relation: Neighbours, kind: str) -> None:
    about = facts(6)
    asked: Choice = vertex(about, relation) if kind == "l1" else select(about, relation)
    ones = Rows(np.ones((1, 6)), np.array([[-1.0]]))
    none = Rows(np.ones((0, 6)), np.ones((0, 1)))
    other = none
    if relation is Neighbours.REPLACE_ONE and kind == "l1":
        other = Rows(-np.ones((1, 6)), np.array([[-1.0]]))
    moved = np.abs(asked.exact_scores(ones, np.zeros(6)) - asked.exact_scores(other, np.zeros(6))).max()
    # |g_j| is never negative: replacing moves it twice as far only where other records already point one way
    share = 1.0 if kind == "l1" or relation is Neighbours.ADD_OR_REMOVE else 0.5
    assert moved >= 0.999999 * share * asked.sensitivity


def test_a_magnitude_moves_by_twice_a_contribution_when_a_record_is_replaced() -> None:
    about = facts(2)
    asked = select(about, Neighbours.REPLACE_ONE)
    X, y = np.ones((4, 2)), -np.ones((4, 1))
    projected = X.copy()
    projected[0] = -1.0
    moved = np.abs(
        asked.exact_scores(Rows(X, y), np.zeros(2)) - asked.exact_scores(Rows(projected, y), np.zeros(2))
    ).max()
    assert moved >= 0.999999 * asked.sensitivity


def test_the_range_of_a_score_difference_on_the_l1_ball_is_twice_the_sensitivity() -> None:
    """No monotonicity saving: +r e_j and −r e_j move apart by 2Δ."""
    about = facts(3)
    asked = vertex(about, Neighbours.ADD_OR_REMOVE)
    one, none = Rows(np.ones((1, 3)), np.array([[-1.0]])), Rows(np.ones((0, 3)), np.ones((0, 1)))
    moved = asked.exact_scores(one, np.zeros(3)) - asked.exact_scores(none, np.zeros(3))
    assert moved.max() - moved.min() >= 0.999999 * 2.0 * asked.sensitivity


@pytest.mark.few(1)
@pytest.mark.parametrize("runs", [2000, pytest.param(8000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["vertex", "select"])
def test_the_law_of_the_choice_is_the_exponential_mechanism(kind: str, runs: int) -> None:
    """Draws against exact probabilities, χ² with false alarm 1e-7."""
    about = facts(4)
    rows = random_rows(np.random.default_rng(7), 30, about)
    prices = PricedQueries(about, Neighbours.ADD_OR_REMOVE, 30)
    theta = np.full(4, 0.1)
    if kind == "vertex":
        query: Choice = prices.price(
            "vertex", constraint=L1Ball(0.5), loss=Squared(), clip=0.5, epsilon=0.9, count=runs
        )
    else:
        query = prices.price("select", loss=Squared(), clip=0.5, epsilon=0.9, count=runs)
    curator = Curator(rows, [query], key=KEY)
    drawn = np.bincount([curator.answer(kind, theta) for _ in range(runs)], minlength=8 if kind == "vertex" else 4)
    g = rows.X.T @ np.clip(rows.X @ theta - rows.Y[:, 0], -0.5, 0.5)
    scores = np.concatenate([-0.5 * g, 0.5 * g]) if kind == "vertex" else np.abs(g)
    weight = np.exp(0.9 * (scores - scores.max()) / (2.0 * query.sensitivity))
    assert stats.chisquare(drawn, runs * weight / weight.sum()).pvalue > ALARM


def test_neighbouring_laws_differ_by_at_most_the_range() -> None:
    """Exact probabilities on neighbours: the log-ratios span at most ε₀, and nearly all of it where a record can."""
    about = facts(3)
    asked = vertex(about, Neighbours.REPLACE_ONE, epsilon=0.8)

    def log_law(rows: Rows) -> np.ndarray:
        scaled = 0.8 * asked.exact_scores(rows, np.zeros(3)) / (2.0 * asked.sensitivity)
        return scaled - np.logaddexp.reduce(scaled)

    widest = 0.0
    for left, right in pairs(np.random.default_rng(5), Neighbours.REPLACE_ONE, about, rounds=200):
        ratio = log_law(left) - log_law(right)
        widest = max(widest, float(ratio.max() - ratio.min()))
    assert 0.7 * 0.8 < widest <= 0.8 * (1.0 + 1e-12)


def test_a_lone_selection_may_be_by_permute_and_flip() -> None:
    prices = PricedQueries(facts(3), Neighbours.REPLACE_ONE, 20)
    one = prices.price("vertex", constraint=L1Ball(1.0), loss=Squared(), clip=0.5, epsilon=0.5, count=1, once=True)
    assert one.event == PermuteAndFlipEvent(0.5)
    assert prices.price(
        "vertex", constraint=L1Ball(1.0), loss=Squared(), clip=0.5, epsilon=0.5, count=2
    ).event == SelectionEvent(0.5)
    assert Curator(random_rows(np.random.default_rng(0), 20, facts(3)), [one], key=KEY).answer(
        "vertex", np.zeros(3)
    ) in range(6)


def test_without_noise_the_best_is_chosen_and_marked_not_private() -> None:
    about = facts(5)
    rows = random_rows(np.random.default_rng(1), 50, about)
    query = vertex(about, Neighbours.REPLACE_ONE, epsilon=math.inf, clip=10.0)
    assert query.event == NotPrivateEvent()
    theta = np.full(5, 0.2)
    g = rows.X.T @ (rows.X @ theta - rows.Y[:, 0])
    best = Curator(rows, [query]).answer("vertex", theta)
    assert np.array_equal(L1Ball(0.7).vertex_at(best, 5), L1Ball(0.7).vertex(g))
    prices = PricedQueries(about, Neighbours.REPLACE_ONE, 50)
    curator = Curator(rows, [prices.price("select", loss=Squared(), clip=10.0, epsilon=math.inf, count=2)])
    order = np.argsort(-np.abs(g))
    mask = np.arange(5) == order[0]
    assert [curator.answer("select", theta), curator.answer("select", theta, mask)] == list(order[:2])


def test_excluded_columns_are_never_chosen() -> None:
    about = facts(4)
    rows = random_rows(np.random.default_rng(2), 20, about)
    prices = PricedQueries(about, Neighbours.REPLACE_ONE, 20)
    curator = Curator(rows, [prices.price("select", loss=Squared(), clip=0.5, epsilon=0.01, count=60)], key=KEY)
    mask = np.array([True, False, True, False])
    assert {curator.answer("select", np.zeros(4), mask) for _ in range(60)} == {1, 3}
    for wrong in (np.ones(4, dtype=bool), np.zeros(3, dtype=bool), np.zeros(4)):
        with pytest.raises(InvalidParameter, match="not all true"):
            curator.answer("select", np.zeros(4), wrong)


def test_sparse_rows_give_the_same_scores_and_weights_count() -> None:
    rng = np.random.default_rng(6)
    about = facts(8, max_weight=2.0)
    dense = random_rows(rng, 40, about)
    X = np.where(rng.random((40, 8)) < 0.4, dense.X, 0.0)
    rows, sparse = Rows(X, dense.Y, dense.weight), Rows(sp.csr_array(X), dense.Y, dense.weight)
    for asked in (vertex(about, Neighbours.REPLACE_ONE), select(about, Neighbours.REPLACE_ONE)):
        theta = rng.normal(size=8)
        plain = X.T @ (dense.weight * np.clip(X @ theta - dense.Y[:, 0], -0.5, 0.5))  # type: ignore[operator]
        assert asked.exact_scores(rows, theta) == pytest.approx(asked.scores(plain), abs=1e-8)
        assert asked.exact_scores(sparse, theta) == pytest.approx(asked.exact_scores(rows, theta), abs=1e-8)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308])
def test_predictions_that_overflow_or_are_undefined_move_a_score_no_further(value: float) -> None:
    about = facts(4)
    rows = random_rows(np.random.default_rng(8), 20, about, extreme=True)
    fewer = Rows(rows.X[1:], rows.Y[1:])
    theta = np.array([value, -value, 1.0, 0.0])
    with np.errstate(invalid="ignore"):
        for asked in (vertex(about, Neighbours.ADD_OR_REMOVE), select(about, Neighbours.ADD_OR_REMOVE)):
            moved = np.abs(asked.exact_scores(rows, theta) - asked.exact_scores(fewer, theta))
            assert moved.max() <= asked.sensitivity
        curator = Curator(rows, [vertex(about, Neighbours.ADD_OR_REMOVE)], key=KEY)
        assert curator.answer("vertex", theta) in range(8)


def test_every_selection_is_paid_for() -> None:
    about = facts(3)
    rows = random_rows(np.random.default_rng(9), 20, about)
    curator = Curator(rows, [vertex(about, Neighbours.REPLACE_ONE)], key=KEY)
    for _ in range(3):
        curator.answer("vertex", np.zeros(3))
    with pytest.raises(NotPaidFor, match="all have been given"):
        curator.answer("vertex", np.zeros(3))
    with pytest.raises(NotPaidFor, match="paid for 'vertex'"):
        curator.answer("select", np.zeros(3))


def test_what_cannot_be_chosen_from_is_refused_before_anything_is_spent() -> None:
    about = facts(3)
    with pytest.raises(CapabilityError, match="list of finitely many vertices"):
        vertex(about, Neighbours.REPLACE_ONE, L2Ball(1.0))
    with pytest.raises(InvalidParameter, match="positive privacy price"):
        vertex(about, Neighbours.REPLACE_ONE, epsilon=0.0)
    with pytest.raises(InvalidParameter, match="positive finite clip"):
        vertex(about, Neighbours.REPLACE_ONE, clip=math.inf)


def test_a_smaller_table_gets_the_same_temperature_of_mean_scores() -> None:
    about = facts(5)
    asked = vertex(about, Neighbours.REPLACE_ONE, records=1000)
    small = asked.resized(100)
    assert small.sensitivity / small.epsilon / 100 == pytest.approx(asked.sensitivity / asked.epsilon / 1000, rel=1e-9)


def test_descriptions_are_plain_data() -> None:
    import json

    for asked in (vertex(facts(3), Neighbours.REPLACE_ONE), select(facts(3), Neighbours.REPLACE_ONE)):
        told = json.loads(json.dumps(asked.to_dict()))
        assert told["mechanism"] == "exponential mechanism"
        assert told["event"] == asked.event.to_dict()


def with_constant(rows: Rows) -> Rows:
    return Rows(np.column_stack([rows.X, np.ones(len(rows.Y))]), rows.Y, rows.weight)


def beside_intercept(about: RowFacts) -> RowFacts:
    """The same facts with a constant column behind."""
    names = (*about.columns, "1")
    norms = {
        "norm_l1": about.norm_l1 + 1.0,
        "norm_l2": math.hypot(about.norm_l2, 1.0),
        "norm_linf": max(about.norm_linf, 1.0),
    }
    return replace(about, columns=names, intercept=True, **norms)


@pytest.mark.few(10)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("ends", [(-1.0, 1.0), (-16.0, 8.0)])
@pytest.mark.parametrize("about", TABLES.values(), ids=TABLES)
def test_beside_an_intercept_the_sensitivity_holds_is_attained_and_its_end_takes_no_more_than_its_share(
    relation: Neighbours, ends: tuple[float, float], about: RowFacts
) -> None:
    wide = beside_intercept(about)
    asked = vertex(wide, relation, with_intercept(L1Ball(0.7), *ends))
    for left, right in pairs(np.random.default_rng(11), relation, about, rounds=40):
        theta = np.random.default_rng(12).normal(0.0, 2.0, wide.width)
        scores = [asked.exact_scores(with_constant(rows), theta) for rows in (left, right)]
        moved = np.abs(scores[0] - scores[1]).max()
        assert moved <= asked.sensitivity
    unit = 0.5 * about.max_weight * about.records_per_unit * copies(relation)
    head = 0.7 * about.norm_linf * unit
    assert asked.sensitivity <= head * (1.0 / 0.6) * (1.0 + 1e-6)
    m, p = about.records_per_unit, about.width
    corner = np.zeros(p)
    corner[0] = about.norm_linf
    heavy = None if about.max_weight == 1.0 else np.full(m, about.max_weight)
    one = with_constant(Rows(np.tile(corner, (m, 1)), -np.ones((m, 1)), heavy))
    other = Rows(one.X, -one.Y, heavy)  # φ' changes sign, and with it every coordinate of the contribution
    if relation is Neighbours.ADD_OR_REMOVE:
        other = Rows(one.X[:0], one.Y[:0], None if heavy is None else heavy[:0])
    moved = np.abs(asked.exact_scores(one, np.zeros(p + 1)) - asked.exact_scores(other, np.zeros(p + 1))).max()
    assert moved >= 0.999999 * asked.sensitivity


def test_beside_an_intercept_the_best_candidate_is_the_products() -> None:
    about = beside_intercept(facts(3))
    rows = with_constant(random_rows(np.random.default_rng(13), 50, facts(3)))
    for ends in ((-1.0, 1.0), (-16.0, 8.0), (0.5, 0.5)):
        asked = vertex(about, Neighbours.REPLACE_ONE, with_intercept(L1Ball(0.7), *ends), epsilon=math.inf, clip=9.0)
        for theta in (np.zeros(4), np.array([0.1, 0.0, 0.2, 5.0])):
            g = rows.X.T @ np.clip(rows.X @ theta - rows.Y[:, 0], -9.0, 9.0)
            end, corner = divmod(Curator(rows, [asked]).answer("vertex", theta), 6)
            assert np.array_equal(L1Ball(0.7).vertex_at(corner, 3), L1Ball(0.7).vertex(g[:-1]))
            if ends[0] < ends[1]:  # the number is the one of the product's own list
                listed = with_intercept(L1Ball(0.7), *ends).vertex_at(6 * end + corner, 4)  # type: ignore[attr-defined]
                assert np.array_equal(listed, np.append(L1Ball(0.7).vertex_at(corner, 3), ends[end]))
            assert ends[0] == ends[1] or end == (g[-1] < 0.0)


def test_an_intercept_alone_and_one_without_bounds() -> None:
    about = beside_intercept(facts(1))
    alone = RowFacts(("1",), True, 1.0, 1.0, 1.0, ("y",))
    asked = vertex(alone, Neighbours.REPLACE_ONE, with_intercept(L1Ball(1.0), -1.0, 1.0), epsilon=math.inf)
    assert Curator(Rows(np.ones((5, 1)), np.ones((5, 1))), [asked]).answer("vertex", np.zeros(1)) == 1
    with pytest.raises(InvalidParameter, match="Bound the intercept"):
        vertex(about, Neighbours.REPLACE_ONE, with_intercept(L1Ball(1.0)))
