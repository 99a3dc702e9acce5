"""The quantiles query: its definition, its sensitivity on real neighbours, the law of its choices, and an audit."""

import math

import numpy as np
import pytest
from scipy import stats

from hullabaloo.curator import Curator
from hullabaloo.data import Domain, RowFacts, Rows
from hullabaloo.data import grid as grid_module
from hullabaloo.data.grid import Grid, GridKind
from hullabaloo.errors import InvalidParameter, NotPaidFor
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Budget, Neighbours, SelectionEvent, compose, selection_epsilon
from hullabaloo.queries import PricedQueries
from hullabaloo.selection.quantiles import QuantilesQuery, pair_at

ALARM = 1e-7
KEY = TestKey(bytes(range(32)))
RELATIONS = list(Neighbours)
SHARES = [(0.005, 0.005), (0.25, 0.25), (0.49, 0.02), (0.1, 0.0), (0.0, 0.3)]


@pytest.fixture
def few(monkeypatch):
    """Few candidates, so that all pairs can be looked at."""
    monkeypatch.setattr(grid_module, "STEPS", 60)
    grid_module._points.cache_clear()
    yield
    grid_module._points.cache_clear()


def facts(unit: int = 1) -> RowFacts:
    return RowFacts(("v", "v:missing"), False, 1.0, 1.0, 1.0, (), records_per_unit=unit)


def query(
    relation=Neighbours.REPLACE_ONE, *, shares=(0.1, 0.1), epsilon=1.0, unit=1, kind="linear", n=50
) -> QuantilesQuery:
    grid = Grid(-2.0, 10.0, GridKind(kind))
    return QuantilesQuery(facts(unit), relation, n, 1, shares, epsilon, (grid,), (0,), (1,))


def rows(values, weight=None) -> Rows:
    """Encoded as `private_bounds` encodes: clipped to the outer range, missing values told apart."""
    encoding = Domain(features={"v": (-2.0, 10.0)}, indicators=True).encoding(fit_intercept=False)
    encoded = encoding.encode(np.asarray(values, dtype=float).reshape(-1, 1))
    return Rows(encoded.X, encoded.Y, None if weight is None else np.asarray(weight, dtype=float))


def by_definition(values, asked: QuantilesQuery) -> np.ndarray:
    """The scores of all pairs, written out from the docstring's formula."""
    x = np.clip(np.asarray([v for v in values if not math.isnan(v)]), -2.0, 10.0)
    t, (q, r), n = asked.grids[0].points, asked.shares, len(x)

    def nearest(low, high):
        return low if low > 0 else high if high < 0 else 0.0

    a = [nearest((x < t[i]).sum() - q * n, (x < t[i + 1]).sum() - q * n) for i in range(len(t) - 1)]
    b = [nearest((x < t[j - 1]).sum() - (1 - r) * n, (x <= t[j]).sum() - (1 - r) * n) for j in range(1, len(t))]
    last = len(t) - 1

    def narrow(i, j):
        """The base measure as a summand: what multiplies the odds by the square of 1/width."""
        width = max((t[j] - t[i]) / (t[-1] - t[0]), 1e-4)
        return 2 * asked.sensitivity / asked.epsilon * math.log(1 / width**2)

    if r == 0.0:
        return np.array([narrow(i, last) - abs(a[i]) for i in range(last)])
    if q == 0.0:
        return np.array([narrow(0, j) - abs(b[j - 1]) for j in range(1, last + 1)])
    pairs = [(i, j, a[i], b[j - 1]) for i in range(last) for j in range(i + 1, last + 1)]
    return np.array([narrow(i, j) - (abs(u) + abs(v) + abs(u - v)) / 2 for i, j, u, v in pairs])


VALUES = [
    [],
    [math.nan, math.nan],
    [3.0] * 7,
    [-2.0, 10.0, math.inf, -math.inf, 1e300, math.nan],
    [0.0, 0.01, 0.02, 0.02, 5.5, -1.25, 9.98],
    list(np.random.default_rng(0).normal(4, 2, 40)),
]


@pytest.mark.few(12)
@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("shares", SHARES, ids=str)
@pytest.mark.parametrize("number", range(len(VALUES)))
def test_scores_are_those_of_the_definition(number, shares):
    """Ties with candidates, values outside of the range, infinite and missing ones, a constant column, no records."""
    asked = query(shares=shares)
    found = asked.exact_scores(rows(VALUES[number]), 0)
    np.testing.assert_allclose(found, by_definition(VALUES[number], asked), rtol=1e-12, atol=1e-9)


def test_pairs_are_numbered_in_the_order_of_the_scores():
    size = 7
    expected = [(i, j) for i in range(size - 1) for j in range(i + 1, size)]
    assert [pair_at((0.1, 0.1), size, k) for k in range(len(expected))] == expected
    assert [pair_at((0.1, 0.0), size, k) for k in range(size - 1)] == [(i, size - 1) for i in range(size - 1)]
    assert [pair_at((0.0, 0.1), size, k) for k in range(size - 1)] == [(0, j) for j in range(1, size)]


def record(rng) -> float:
    """One value: anywhere, on a candidate, beside one, at an end, outside of the range, missing."""
    grid = query().grids[0].points
    at = float(rng.choice(grid))
    return float(rng.choice([rng.uniform(-3, 11), at, np.nextafter(at, 99), -2.0, 10.0, math.nan, math.inf, -math.inf]))


def unit_of(rng, m: int) -> list[float]:
    return [record(rng) for _ in range(rng.integers(0, m + 1))]


@pytest.mark.few(5)
@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize("shares", SHARES, ids=str)
@pytest.mark.parametrize("unit", [1, 3])
def test_no_neighbour_moves_a_score_further_than_stated(relation, shares, unit):
    """Tables that differ in one unit: crowded ones, in which most values share a cell, and spread ones."""
    rng, worst = np.random.default_rng(7), 0.0
    asked = query(relation, shares=shares, unit=unit)
    for _ in range(60):
        common = [record(rng) for _ in range(rng.integers(0, 12))] + [float(rng.choice([4.0, 4.01]))] * int(
            rng.integers(0, 12)
        )
        one, other = unit_of(rng, unit), unit_of(rng, unit)
        if unit == 1:
            one, other = [record(rng)], [record(rng)]
        if relation is Neighbours.ADD_OR_REMOVE:
            other = []
        shuffled = [*other, *rng.permutation(common)]
        moved = asked.exact_scores(rows(common + one), 0) - asked.exact_scores(rows(shuffled), 0)
        worst = max(worst, float(np.abs(moved).max()))
    assert worst <= asked.sensitivity + 1e-9
    assert worst > 0.6 * asked.sensitivity / unit, "neighbours that are too tame test nothing"


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(("relation", "expected"), [(Neighbours.REPLACE_ONE, 1.0), (Neighbours.ADD_OR_REMOVE, 0.75)])
def test_the_sensitivity_is_reached(relation, expected):
    asked = query(relation, shares=(0.25, 0.25), unit=2)
    assert asked.sensitivity == pytest.approx(2 * expected, rel=1e-9)
    assert asked.sensitivity >= 2 * expected
    base = [0.5, 1.5, 2.5, 3.5, 5.5, 6.5, 7.5, 8.5]
    other = [9.9, *base[1:]] if relation is Neighbours.REPLACE_ONE else base[1:]
    alone = query(relation, shares=(0.25, 0.25))
    moved = np.abs(alone.exact_scores(rows(base), 0) - alone.exact_scores(rows(other), 0))
    assert moved.max() == pytest.approx(expected)


@pytest.mark.usefixtures("few")
def test_records_of_weight_zero_and_missing_values_count_alike():
    values, weight = [1.0, 2.0, math.nan, 9.0, 3.0], [1.0, 0.0, 1.0, 0.5, 0.0]
    asked = query()
    for found, expected in zip(
        asked.exact_ranks(rows(values, weight), 0), asked.exact_ranks(rows([1.0, 9.0]), 0), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.few(1)
@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("shares", [(0.1, 0.2), (0.3, 0.0)], ids=str)
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_the_law_of_the_choices(relation, shares):
    """χ² of the drawn candidates against exp(ε₀ score/(2Δ)), written out; false alarm 1e-7."""
    grid = Grid(0.0, 4.0, GridKind.LINEAR)
    coarse = QuantilesQuery(facts(), relation, 12, 1, shares, 1.3, (grid,), (0,), (1,))
    values = np.array([0.3, 0.5, 0.5, 1.1, 1.2, 2.0, 2.9, 3.0, 3.3, 3.8, 0.9, 2.2])
    held = Rows(np.c_[values / 4.0, np.zeros(12)], np.zeros((12, 0)))
    weight = np.exp(1.3 / (2.0 * coarse.sensitivity) * coarse.exact_scores(held, 0))
    law = weight / weight.sum()
    runs, size = 1500, grid.size
    drawn = [coarse.chosen(held, 0, KEY.derive(i)) for i in range(runs)]
    place = {float(t): i for i, t in enumerate(grid.points)}
    number = {pair_at(shares, size, k): k for k in range(law.size)}
    counts = np.bincount([number[place[low], place[high]] for low, high in drawn], minlength=law.size)
    order = np.argsort(law)  # candidates into 40 groups of similar expected counts
    groups = np.minimum((np.cumsum(law[order]) * 40).astype(int), 39)
    observed = np.bincount(groups, weights=counts[order], minlength=40)
    expected = np.bincount(groups, weights=law[order], minlength=40) * runs
    kept = expected > 0
    assert stats.chisquare(observed[kept], expected[kept]).pvalue > ALARM
    assert all(low < high for low, high in drawn)


@pytest.mark.slow
@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_an_audit_finds_no_more_than_is_stated(relation):
    """The best test between two neighbours, by its exact law: bounded range is ε₀, and what frequencies prove is below it.

    Clopper–Pearson at 1 − 5e-7 for either error: a false alarm has probability 1e-6 at most.
    """
    epsilon, shares = 2.0, (0.25, 0.25)
    grid = Grid(0.0, 1.0, GridKind.LINEAR)
    asked = QuantilesQuery(facts(), relation, 8, 1, shares, epsilon, (grid,), (0,), (1,))
    base = [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]
    other = [0.95, *base[1:]] if relation is Neighbours.REPLACE_ONE else base[1:]
    tables = [Rows(np.c_[np.array(v), np.zeros(len(v))], np.zeros((len(v), 0))) for v in (base, other)]
    weights = [np.exp(epsilon / (2.0 * asked.sensitivity) * asked.exact_scores(table, 0)) for table in tables]
    laws = [weight / weight.sum() for weight in weights]
    loss = np.log(laws[0] / laws[1])
    assert loss.max() - loss.min() <= epsilon + 1e-9
    assert loss.max() - loss.min() > 0.9 * epsilon
    event = loss > 0.0
    runs, (points, size) = 1500, (grid.points, grid.size)
    place = {float(t): i for i, t in enumerate(points)}
    number = {pair_at(shares, size, k): k for k in range(loss.size)}
    hits = []
    for which, table in enumerate(tables):
        drawn = [asked.chosen(table, 0, KEY.derive(f"audit/{which}/{i}")) for i in range(runs)]
        hits.append(int(sum(event[number[place[low], place[high]]] for low, high in drawn)))
    surely = stats.beta.ppf(5e-7, hits[0], runs - hits[0] + 1)
    at_most = stats.beta.ppf(1 - 5e-7, hits[1] + 1, runs - hits[1])
    assert 0.0 < math.log(surely / at_most) <= epsilon


@pytest.mark.slow
@pytest.mark.parametrize("budget", [Budget(1.0, 1e-6), Budget.zcdp(0.1), Budget(0.5, 0.0)], ids=str)
@pytest.mark.parametrize("columns", [1, 10])
def test_together_is_quieter_than_apart(budget, columns):
    """Mean error in rank by the two laws on a line of dense candidates, at the ε₀ that the same budget allows."""
    ranks = np.arange(-400, 401) / 4.0
    together, apart = selection_epsilon(budget, columns), selection_epsilon(budget, 2 * columns)
    scale = 0.5 / together  # errors are measured in units of 1/ε₀, so that the line is long enough for every budget
    a, b = np.meshgrid(ranks * scale, ranks * scale)
    weight = np.exp(-0.5 * together * (np.maximum(0.0, np.maximum(a, b)) - np.minimum(0.0, np.minimum(a, b))))
    joint = float((weight * np.abs(a)).sum() / weight.sum())
    assert joint == pytest.approx(8.0 / (3.0 * together), rel=0.01)
    assert joint < 2.0 / apart
    usual = query(epsilon=together).usual_error(0.05)
    assert float(weight[np.abs(a) > usual].sum() / weight.sum()) == pytest.approx(0.05, abs=0.005)


@pytest.mark.usefixtures("few")
def test_the_error_bound_holds():
    """Drawn 400 times at a bound that may fail with a chance of 1e-3 each: 10 failures have probability below 1e-9."""
    values = list(np.random.default_rng(3).normal(4, 1, 300))
    asked, held = query(shares=(0.05, 0.05), epsilon=0.5, n=300, kind="auto"), rows(values)
    scores = asked.exact_scores(held, 0)
    points = asked.grids[0].points
    widths = [(points[i + 1 :] - points[i]) / (points[-1] - points[0]) for i in range(points.size - 1)]
    errors = -scores - asked.tilt * np.log(np.maximum(np.concatenate(widths), 1e-4))
    assert errors.min() == pytest.approx(0.0, abs=1e-9)
    most, failures = asked.error_bound(1e-3), 0
    for i in range(400):
        low, high = (int(np.searchsorted(points, end)) for end in asked.chosen(held, 0, KEY.derive(i)))
        at = low * (points.size - 1) - low * (low - 1) // 2 + high - low - 1
        failures += errors[at] > most
    assert failures < 10


@pytest.mark.few(10)
@pytest.mark.parametrize("kind", list(GridKind), ids=str)
@pytest.mark.parametrize(
    "ends",
    [(0, 1), (-1e9, 1e9), (1e-9, 1e9), (-5, -2), (0, 1e-90), (1990, 2020), (-1e100, 1e100), (3, 3 + 1e-13)],
    ids=str,
)
def test_candidates_rise_between_the_ends(ends, kind):
    grid = Grid(*map(float, ends), kind)
    points, scaled = grid.points, grid.scaled
    assert (points[0], points[-1]) == ends
    assert np.all(np.diff(points) > 0)
    assert np.all(np.diff(scaled) >= 0)
    assert np.abs(scaled).max() == 1.0
    if kind is not GridKind.LINEAR and ends[0] == 0:
        assert points[1] < 1e-6 * ends[1]


def test_the_curator_answers_once_and_in_order():
    about = RowFacts(("a", "a:missing", "b", "b:missing"), False, 2.0, 2.0, 1.0, ())
    prices = PricedQueries(about, Neighbours.REPLACE_ONE, 200)
    grids = [Grid(0.0, 10.0), Grid(-1.0, 1.0)]
    columns = {"values": (0, 2), "missing": (1, 3), "grids": tuple(grids), "count": 2}
    query = prices.price("quantiles", **columns, shares=(0.1, 0.1), epsilon=math.inf)
    assert prices.own(query) is not None
    assert query.count == 2
    x = np.linspace(0.0, 1.0, 200)
    held = Rows(np.c_[x, np.zeros(200), 2 * x - 1, np.zeros(200)], np.zeros((200, 0)))
    curator = Curator(held, [query], key=KEY)
    (low, high), (below, above) = curator.answer("quantiles")
    assert (low, high) == pytest.approx((1.0, 9.0), abs=0.1)
    assert (below, above) == pytest.approx((-0.8, 0.8), abs=0.02)
    with pytest.raises(NotPaidFor, match="all have been given"):
        curator.answer("quantiles")
    with pytest.raises(NotPaidFor, match="quantiles"):
        Curator(held, [], key=KEY).answer("quantiles")


def test_the_price_is_that_of_a_selection_for_each_column():
    asked = query(epsilon=0.3)
    assert asked.event == SelectionEvent(0.3)
    assert compose(asked.event, count=4).pure_epsilon() == pytest.approx(1.2)
    assert asked.resized(25).epsilon == 0.6
    assert asked.to_dict()["shares"] == pytest.approx([0.1, 0.1], abs=2e-6)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": 0.0}, "positive privacy price"),
        ({"shares": (0.0, 0.0)}, "Shares of values"),
        ({"shares": (0.5, 0.1)}, "Shares of values"),
        ({"shares": (math.nan, 0.1)}, "Shares of values"),
    ],
)
def test_wrong_arguments_are_refused(change, words):
    with pytest.raises(InvalidParameter, match=words):
        query(**change)
    with pytest.raises(InvalidParameter, match="need a grid and places"):
        QuantilesQuery(facts(), Neighbours.REPLACE_ONE, 5, 1, (0.1, 0.1), 1.0, (Grid(0.0, 1.0),), (7,), (1,))


def test_counts_of_parts_add_up_to_those_of_the_table() -> None:
    asked = query(kind="auto")
    values, weight = np.random.default_rng(0).uniform(-5.0, 12.0, 90), np.arange(90) % 4
    parts = [asked.partial(rows(values[part], weight[part])) for part in (slice(60, 90), slice(0, 0), slice(0, 60))]
    assert np.array_equal(asked.merge(parts), asked.partial(rows(values, weight)))
