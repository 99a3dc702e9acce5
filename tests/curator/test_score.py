"""The score query: its answer, its sensitivity on real neighbours, and its refusal to follow a record or coefficients too far."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from hullabaloo.curator import Curator, ScoreQuery
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.errors import InvalidParameter, NotPaidFor
from hullabaloo.losses.ranks import LEVELS, Ranks, waves
from hullabaloo.losses.readings import Reading, Reads, Scored
from hullabaloo.losses.scores import (
    AbsoluteError,
    BinnedResiduals,
    Bins,
    Brier,
    ClassTotals,
    Correct,
    LogLoss,
    Mixed,
    Moments,
    Outcome,
    PinballError,
    PoissonDeviance,
    SquaredError,
    Statistic,
)
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries
from tests.curator.neighbours import facts, pairs, random_rows

RELATIONS = [Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE]

NUMBERS = Reading(Reads.NUMBERS, (-1.0,), (1.0,), ("y",), (4.0,))
ONE_SIDED = Reading(Reads.NUMBERS, (0.25,), (1.0,), ("y",), (3.0,))
COUNTS = Reading(Reads.COUNTS, (0.0,), (1.0,), ("y",), (9.0,), (0.0,))
TWO = Reading(Reads.OVR, names=("y",), classes=2)
DECISIONS = Reading(Reads.DECISIONS, names=("y",), classes=2)
OVR = Reading(Reads.OVR, names=("y",), classes=3)
MULTINOMIAL = Reading(Reads.MULTINOMIAL, names=("y",), classes=3)
ERROR, OUTCOME = SquaredError(0, 4.0), Outcome(0)

ASKED: dict[str, tuple[Reading, tuple[Statistic, ...]]] = {
    "squared": (NUMBERS, (Moments(ERROR),)),
    "outcome": (NUMBERS, (Moments(OUTCOME),)),
    "r2": (NUMBERS, (Moments(ERROR), Moments(OUTCOME), Mixed(ERROR, OUTCOME))),
    "mixed": (NUMBERS, (Mixed(ERROR, OUTCOME),)),
    "one-sided": (ONE_SIDED, (Moments(SquaredError(0, 3.0)), Moments(AbsoluteError(0, 3.0)))),
    "pinball": (NUMBERS, (Moments(PinballError(0, 4.0, 0.9)),)),
    "counts": (COUNTS, (Moments(PoissonDeviance(0, 9.0, 0.0, 0.01)), Bins(COUNTS, 4))),
    "log loss": (TWO, (Moments(LogLoss(0.01)),)),
    "two": (TWO, (Moments(LogLoss(0.01)), Moments(Correct()), Moments(Brier(2)), Bins(TWO, 10))),
    "calibration": (TWO, (Bins(TWO, 10),)),
    "one bin": (TWO, (Bins(TWO, 1),)),
    "residuals": (NUMBERS, (BinnedResiduals(NUMBERS, 6, reach=0.3),)),
    "residuals of classes": (OVR, (BinnedResiduals(OVR, 1), Bins(OVR, 2))),
    "accuracy": (DECISIONS, (Moments(Correct()),)),
    "apart": (OVR, (Moments(LogLoss(0.01)), Moments(Correct()), Moments(Brier(3)), Bins(OVR, 5))),
    "ranks": (TWO, (Ranks(0.0, 4.0),)),
    "ranks and more": (TWO, (Ranks(), Moments(LogLoss(0.01)), Bins(TWO, 4))),
    "class totals": (OVR, (ClassTotals(3),)),
    "together": (MULTINOMIAL, (Moments(LogLoss(0.01)), Moments(Brier(3)))),
}


def about(name: str, **changed: object) -> RowFacts:
    reading = ASKED[name][0]
    return facts(3, 1 if reading.classes in (0, 2) else reading.classes, **changed)  # type: ignore[arg-type]


def query(name: str, relation: Neighbours, *, mu: float = 0.5, records: int = 20, **changed: object) -> ScoreQuery:
    reading, tallies = ASKED[name]
    return ScoreQuery(about(name, **changed), relation, records, 1, mu, reading, tallies)


def coefficients(rng: np.random.Generator, asked: ScoreQuery) -> np.ndarray:
    """Ordinary, huge and impossible coefficients."""
    theta = rng.normal(0.0, 10.0 ** rng.choice([-2.0, 0.0, 0.0, 1.0, 3.0, 300.0]), (3, len(asked.facts.targets)))
    if rng.random() < 0.2:
        theta[rng.integers(3), 0] = rng.choice([np.nan, np.inf, -np.inf])
    return theta


def tables(rng: np.random.Generator, relation: Neighbours, asked: ScoreQuery) -> Iterator[tuple[Rows, Rows]]:
    """Neighbours of all kinds, and those made to be far apart: the two ends of every range of a target and of a prediction."""
    yield from pairs(rng, relation, asked.facts, rounds=60, n=5)
    x, k = asked.facts.norm_linf, len(asked.facts.targets)
    weight = None if asked.facts.max_weight == 1.0 else asked.facts.max_weight
    for signs in np.ndindex(2, 2, 2):
        one, other = (
            Rows(
                np.full((1, 3), x * (1.0 - 2.0 * signs[at])),
                np.full((1, k), 1.0 - 2.0 * signs[2]) * (1.0 if at == 0 else -1.0),
                None if weight is None else np.array([weight]),
            )
            for at in (0, 1)
        )
        yield one, other if relation is Neighbours.REPLACE_ONE else random_rows(rng, 0, asked.facts)


@pytest.mark.few(12)
@pytest.mark.parametrize("changed", [{}, {"max_weight": 3.0}, {"unit": 2}, {"offset": 2.0}], ids=str)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ASKED)
def test_no_neighbour_moves_the_sums_by_more_than_the_sensitivity(
    name: str, relation: Neighbours, changed: dict[str, object]
) -> None:
    rng = np.random.default_rng(3)
    asked = query(name, relation, **changed)
    largest = 0.0
    for left, right in tables(rng, relation, asked):
        theta = coefficients(rng, asked)
        one, other = asked.exact(left, theta), asked.exact(right, theta)
        assert np.isfinite(one).all()
        largest = max(largest, float(np.linalg.norm(one - other)))
    assert largest <= asked.sensitivity


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "name", ["squared", "outcome", "log loss", "accuracy", "calibration", "one bin", "residuals", "two", "r2", "ranks"]
)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("weight", [1.0, 2.5])
def test_the_sensitivity_is_nearly_attained(name: str, relation: Neighbours, weight: float) -> None:
    asked = query(name, relation, max_weight=weight)
    rng = np.random.default_rng(4)
    theta, largest = np.full((3, 1), 30.0), 0.0
    for left, right in tables(rng, relation, asked):
        for direction in (theta, 0.0 * theta):
            moved = asked.exact(left, direction) - asked.exact(right, direction)
            largest = max(largest, float(np.linalg.norm(moved)))
    # A record alone: the numbers of bins do not all have both neighbours at their corners, and mixed moments are bounded by a box.
    assert largest >= 0.93 * asked.sensitivity


def test_a_mean_square_comes_at_no_price() -> None:
    """The bounds of `Moments` on a fine grid of pairs, and that they are attained."""
    v = np.linspace(-1.0, 1.0, 801)
    tallied = 0.5 * np.column_stack([v, v**2 - 1.0])
    assert np.linalg.norm(tallied, axis=1).max() == pytest.approx(0.5, abs=1e-15)
    apart = np.linalg.norm(tallied[:, None, :] - tallied[None, :, :], axis=2)
    assert apart.max() == pytest.approx(1.0, abs=1e-15)


def test_how_far_shifts_move_totals_comes_at_no_price() -> None:
    """The bound of `ClassTotals` on chances of all kinds, and that two records of two classes, each taken for the other, attain it in both relations."""
    rng = np.random.default_rng(11)
    q = rng.dirichlet(np.full(5, 0.3), 20_000)
    q[:5], q[5:10] = np.eye(5), np.roll(np.eye(5), 1, axis=0)
    truth = np.eye(5)[np.append(np.tile(np.arange(5), 2), rng.integers(5, size=len(q) - 10))]
    nobody = np.zeros(0, dtype=np.intp)
    asked = ClassTotals(5)
    tallied = asked.of(Scored(q, truth, nobody, nobody))
    assert tallied.shape == (20_000, asked.length)
    assert np.linalg.norm(tallied, axis=1).max() == pytest.approx(asked.radius, rel=1e-8)
    swapped = asked.of(Scored(np.eye(5)[[0, 1]], np.eye(5)[[1, 0]], nobody, nobody))
    assert np.linalg.norm(swapped[0] - swapped[1]) == pytest.approx(asked.diameter, rel=1e-8)
    wrong = query("class totals", Neighbours.REPLACE_ONE)
    theta = np.zeros((3, 3))
    theta[0] = [40.0, 0.0, -40.0]
    one, other = (Rows(np.array([[s, 0.0, 0.0]]), np.eye(3)[[at]] * 2.0 - 1.0) for s, at in ((1.0, 2), (-1.0, 0)))
    assert np.linalg.norm(wrong.exact(one, theta) - wrong.exact(other, theta)) >= 0.99 * wrong.sensitivity


def test_ranks_are_as_near_to_one_another_as_two_classes() -> None:
    """The bounds of `Ranks` on all pairs of bins and classes, that both are attained, and that coordinates of different places are orthogonal."""
    places = waves(np.arange(1 << LEVELS))
    both = np.vstack([np.hstack([places, 0.0 * places]), np.hstack([0.0 * places, places])])
    assert np.linalg.norm(both, axis=1) == pytest.approx(Ranks.radius, abs=1e-14)
    apart = np.sqrt(np.maximum(2.0 * Ranks.radius**2 - 2.0 * both @ both.T, 0.0))
    assert apart.max() == pytest.approx(Ranks.diameter, abs=1e-14)
    inner = places.T @ places
    assert inner == pytest.approx(np.diag(np.diag(inner)), abs=1e-12)


@pytest.mark.few(2)
@pytest.mark.parametrize("weight", [1.0, 1.0 / 3.0, 2.5])
@pytest.mark.parametrize("relation", RELATIONS)
def test_no_two_records_ranks_are_further_apart_than_is_stated(relation: Neighbours, weight: float) -> None:
    """Each pair of bins and classes, as rounded to the lattice: records in the middles of bins, at their edges and beyond the window; the bound is attained."""
    asked = query("ranks", relation, max_weight=weight)
    ends = np.linspace(-4.2, 4.2, 2 * (1 << LEVELS) + 27)
    X = np.zeros((2 * ends.size, 3))
    X[:, 0] = np.tile(ends / 4.2, 2) * asked.facts.norm_linf
    Y = np.repeat([[-1.0], [1.0]], ends.size, axis=0)
    theta = np.array([[4.2 / asked.facts.norm_linf], [0.0], [0.0]])
    w = None if weight == 1.0 else np.array([weight])
    told = np.array([asked.exact(Rows(X[i : i + 1], Y[i : i + 1], w), theta) for i in range(len(X))])
    assert len(np.unique(told, axis=0)) == 2 << LEVELS
    squares = np.einsum("ij,ij->i", told, told)
    moved = np.sqrt(squares.max())
    if relation is Neighbours.REPLACE_ONE:
        moved = max(moved, np.sqrt((squares[:, None] + squares - 2.0 * told @ told.T).max()))
    assert 1.0 - 1e-9 <= moved / asked.record_sensitivity <= 1.0


def test_ranks_hold_each_record_in_its_bin_of_log_odds() -> None:
    """Counts by class and bin, from the exact sums by the inverse of the wavelets, are those of a histogram; what lies beyond the window is in its ends."""
    rng = np.random.default_rng(12)
    asked = replace(query("ranks", Neighbours.REPLACE_ONE), mu=math.inf)
    rows = random_rows(rng, 400, asked.facts)
    theta = rng.normal(0.0, 3.0, size=(3, 1))
    sums = asked.exact(rows, theta).reshape(2, -1)
    counts = np.linalg.solve(waves(np.arange(1 << LEVELS)).T, sums.T).T
    z, second = (rows.X @ theta)[:, 0], rows.Y[:, 0] > 0.0
    ends = np.linspace(-4.0, 4.0, (1 << LEVELS) + 1)
    ends[[0, -1]] = -np.inf, np.inf
    for number, inside in enumerate((~second, second)):
        assert counts[number] == pytest.approx(np.histogram(z[inside], ends)[0], abs=1e-9)


@pytest.mark.parametrize("relation", RELATIONS)
def test_sums_are_those_of_the_formulas(relation: Neighbours) -> None:
    rng = np.random.default_rng(5)
    asked = query("r2", relation, max_weight=2.0, offset=1.0, records=500)
    rows = random_rows(rng, 500, asked.facts)
    theta = rng.normal(size=(3, 1))
    assert rows.offset is not None
    assert rows.weight is not None
    z = np.clip((rows.X @ theta)[:, 0] + rows.offset, -1.0, 1.0)
    y, w = rows.Y[:, 0], rows.weight
    v = 2.0 * ((z - y) / 2.0) ** 2 - 1.0
    columns = [0.5 * v, 0.5 * (v**2 - 1.0), 0.5 * y, 0.5 * (y**2 - 1.0)]
    columns += [v * y / 8.0, v * y**2 / 8.0, y**3 / 8.0, (y**4 - 0.5) / 8.0, np.full(500, asked.count_weight)]
    assert asked.exact(rows, theta) == pytest.approx(w @ np.column_stack(columns), abs=1e-7)
    free = replace(asked, mu=math.inf)
    assert free.exact(rows, theta) == pytest.approx(w @ np.column_stack(columns), abs=1e-10)


@pytest.mark.parametrize("name", ["two", "apart", "together", "class totals", "r2", "counts", "ranks"])
def test_bits_do_not_depend_on_the_order_of_records_or_on_blocks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    asked = query(name, Neighbours.ADD_OR_REMOVE, max_weight=2.0, records=3000)
    rows = random_rows(rng, 3000, asked.facts)
    assert rows.weight is not None
    theta = rng.normal(size=(3, len(asked.facts.targets)))
    order = rng.permutation(3000)
    moved = Rows(rows.X[order], rows.Y[order], rows.weight[order])
    first = asked.exact(rows, theta)
    monkeypatch.setattr("hullabaloo.curator.score._BLOCK", 77)
    assert asked.exact(moved, theta).tobytes() == first.tobytes()


def test_sparse_rows_give_the_answer_of_dense_rows() -> None:
    rng = np.random.default_rng(7)
    asked = query("two", Neighbours.REPLACE_ONE, records=300)
    rows = random_rows(rng, 300, asked.facts)
    X = rows.X * (rng.random(rows.X.shape) < 0.4)
    theta = rng.normal(size=(3, 1))
    dense = asked.exact(Rows(X, rows.Y), theta)
    assert asked.exact(Rows(sp.csr_array(X), rows.Y), theta) == pytest.approx(dense, abs=1e-9)


def test_records_that_are_no_numbers_count_as_the_domain_says() -> None:
    """NaN and infinity in cells and targets: encoded, bounded, and no different from what they are filled with."""
    import hullabaloo as hb

    domain = hb.Domain(features={"a": (0, 1), "b": (0, 1)}, target=(0, 2))
    odd = np.array([[np.nan, np.inf], [-np.inf, np.nan], [0.5, 0.5]])
    encoding = domain.encoding()
    rows = encoding.encode(odd, np.array([np.nan, np.inf, -np.inf]))
    reading = Reading(Reads.NUMBERS, (-1.0,), (1.0,), ("y",), (2.0,))
    asked = ScoreQuery(encoding.facts, Neighbours.REPLACE_ONE, 3, 1, 1.0, reading, (Moments(SquaredError(0, 2.0)),))
    for scale in (0.0, 1.0, 1e308, np.inf):
        sums = asked.exact(rows, np.full((encoding.facts.width, 1), scale))
        assert np.isfinite(sums).all()
        assert np.abs(sums).max() <= 1.5


def test_the_menu_and_the_curator_agree_on_one_payment() -> None:
    about_two = facts(3)
    prices = PricedQueries(about_two, Neighbours.REPLACE_ONE, 50)
    query = prices.price("score", reading=ASKED["two"][0], tallies=ASKED["two"][1], mu=0.7)
    assert prices.own(query) is not None
    spent = query.event.gdp_mu()
    assert spent is not None
    assert 0.7 * (1.0 - 1e-3) <= spent <= 0.7 * (1.0 + 1e-15)
    assert query.to_dict()["tallies"] == ["LogLoss", "Correct", "Brier", "Calibration"]
    rows = random_rows(np.random.default_rng(8), 50, about_two)
    curator = Curator(rows, [query], key=TestKey(b"k" * 32))
    theta = np.zeros(3)
    assert curator.answer("score", theta).shape == (query.length,)
    with pytest.raises(NotPaidFor, match="have been given"):
        curator.answer("score", theta)


def test_noise_has_the_stated_size() -> None:
    """The mean square of 30 × 400 draws within 6 standard errors: a false alarm has probability below 1e-8."""
    prices = PricedQueries(facts(3), Neighbours.REPLACE_ONE, 10)
    query = prices.price("score", reading=ASKED["calibration"][0], tallies=ASKED["calibration"][1], mu=0.3, count=400)
    rows = random_rows(np.random.default_rng(9), 10, facts(3))
    curator = Curator(rows, [query], key=TestKey(b"n" * 32))
    exact = query.exact(rows, np.ones((3, 1)))
    draws = np.array([curator.answer("score", np.ones(3)) - exact for _ in range(400)])
    square = np.mean(draws**2) / query.sigma**2
    assert abs(square - 1.0) <= 6.0 * math.sqrt(2.0 / draws.size)


def test_the_number_of_records_is_bought_only_where_it_is_private_and_needed() -> None:
    assert not query("squared", Neighbours.REPLACE_ONE).counted
    assert query("squared", Neighbours.ADD_OR_REMOVE).counted
    assert query("squared", Neighbours.REPLACE_ONE, max_weight=2.0).counted
    assert query("squared", Neighbours.REPLACE_ONE, unit=2).counted
    assert not query("calibration", Neighbours.ADD_OR_REMOVE).counted
    assert not query("class totals", Neighbours.ADD_OR_REMOVE).counted


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="at least one metric"):
        ScoreQuery(facts(3), Neighbours.REPLACE_ONE, 9, 1, 1.0, NUMBERS, ())
    with pytest.raises(InvalidParameter, match="reading of 3"):
        ScoreQuery(facts(3), Neighbours.REPLACE_ONE, 9, 1, 1.0, OVR, ASKED["apart"][1])
    for reading, width in ((NUMBERS, 1), (OVR, 3)):
        with pytest.raises(InvalidParameter, match="ranks: of two classes"):
            ScoreQuery(facts(3, width), Neighbours.REPLACE_ONE, 9, 1, 1.0, reading, (Ranks(),))
    curator = Curator(random_rows(np.random.default_rng(1), 9, facts(3)), [query("squared", Neighbours.REPLACE_ONE)])
    with pytest.raises(InvalidParameter, match="Coefficients of shape"):
        curator.answer("score", np.zeros(5))
