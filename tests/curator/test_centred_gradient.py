"""Centred, shortened gradients, means and histograms of lengths: their answers, and their sensitivity on real neighbours."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from hullabaloo.curator import Curator
from hullabaloo.curator.centred_gradient import CentredGradientQuery, MeansQuery
from hullabaloo.curator.centred_gradient_kernels import add_counts
from hullabaloo.curator.norm_histogram import NormHistogramQuery
from hullabaloo.curator.views import AffineView
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.errors import InvalidParameter, NotPaidFor
from hullabaloo.losses import Logistic, Loss, Poisson, Squared
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries
from tests.curator.neighbours import RELATIONS, TABLES, facts, pairs, random_rows

LOSSES = [Squared(), Logistic(), Poisson()]


def copies(relation: Neighbours) -> float:
    return 2.0 if relation is Neighbours.REPLACE_ONE else 1.0


def random_lens(rng: np.random.Generator, about: RowFacts) -> AffineView:
    centre = rng.uniform(-1.0, 1.0, about.width) if rng.random() < 0.7 else np.zeros(about.width)
    return AffineView(about.norm_linf * centre, random_weights(rng, about.width))


def random_weights(rng: np.random.Generator, width: int) -> np.ndarray:
    """Of the last column, or of each of them."""
    found: np.ndarray = 10.0 ** rng.uniform(-3.0, 2.0, width if rng.random() < 0.5 else ())
    return found


@pytest.mark.few(6)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("about", TABLES.values(), ids=TABLES)
def test_no_neighbour_moves_the_sum_of_steps_by_more_than_the_sensitivity(
    relation: Neighbours, about: RowFacts
) -> None:
    rng = np.random.default_rng(31)
    largest = 0.0
    for number, (left, right) in enumerate(pairs(rng, relation, about, rounds=120)):
        asked = CentredGradientQuery(about, relation, 20, 3, 0.5, LOSSES[number % 3])
        theta = rng.normal(0.0, 10.0 ** rng.integers(-3, 200), about.width)
        lens, clip_norm = random_lens(rng, about), float(10.0 ** rng.uniform(-9.0, 3.0))
        one, other = (asked.exact(rows, theta, lens, clip_norm) for rows in (left, right))
        largest = max(largest, float(np.linalg.norm(one - other)))
    assert largest <= asked.sensitivity
    assert asked.sensitivity <= (1.0 + 1e-6) * about.records_per_unit * about.max_weight * copies(relation)


@pytest.mark.few(6)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("about", TABLES.values(), ids=TABLES)
def test_no_neighbour_moves_a_sum_along_one_column_by_more_than_the_sensitivity(
    relation: Neighbours, about: RowFacts
) -> None:
    """All other columns weigh next to nothing, as where the mean of residuals is asked for alone: a view like any other; a record may move that column by the whole length."""
    rng = np.random.default_rng(32)
    largest = along = 0.0
    for number, (left, right) in enumerate(pairs(rng, relation, about, rounds=120)):
        asked = CentredGradientQuery(about, relation, 20, 3, 0.5, LOSSES[number % 3])
        weights = np.append(np.full(about.width - 1, 1e-9), 10.0 ** rng.uniform(-2.0, 2.0))
        lens, clip_norm = AffineView(np.zeros(about.width), weights), float(10.0 ** rng.uniform(-9.0, 0.0))
        theta = rng.normal(0.0, 10.0 ** rng.integers(-3, 3), about.width)
        apart = np.subtract(*(asked.exact(rows, theta, lens, clip_norm) for rows in (left, right)))
        largest, along = max(largest, float(np.linalg.norm(apart))), max(along, abs(float(apart[-1])))
    assert 0.4 * asked.sensitivity < along <= largest <= asked.sensitivity


@pytest.mark.few(6)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("about", TABLES.values(), ids=TABLES)
def test_no_neighbour_moves_means_or_histograms_by_more_than_the_sensitivity(
    relation: Neighbours, about: RowFacts
) -> None:
    rng = np.random.default_rng(32)
    means = MeansQuery(about, relation, 20, 1, 0.5)
    scales = NormHistogramQuery(about, relation, 20, 2, 0.5, Logistic(), 6)
    moved, counted = 0.0, 0.0
    for left, right in pairs(rng, relation, about, rounds=120):
        moved = max(moved, float(np.linalg.norm(means.exact(left) - means.exact(right))))
        theta = None if rng.random() < 0.5 else rng.normal(size=about.width)
        lens, edges = random_lens(rng, about), np.sort(rng.uniform(0.0, 2.0, 5))
        one, other = (scales.exact(rows, theta, lens, edges) for rows in (left, right))
        counted = max(counted, float(np.linalg.norm(one - other)))
    assert moved <= means.sensitivity
    assert counted <= scales.sensitivity
    root = math.sqrt(2.0) if relation is Neighbours.REPLACE_ONE else 1.0
    assert scales.sensitivity <= (1.0 + 1e-6) * about.records_per_unit * root


@pytest.mark.parametrize("bins", [1, 2, 25])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_length_is_counted_once_where_it_lies(bins: int, weighted: bool) -> None:
    """At an edge it lies above it; without end in the last bin; no number in the first; of no weight nowhere."""
    rng = np.random.default_rng(35)
    edges = np.sort(rng.uniform(0.0, 2.0, bins - 1))
    lengths = np.concatenate([rng.uniform(0.0, 3.0, 500), edges, [0.0, math.inf]])
    weight = rng.integers(0, 2, lengths.size) * 0.5 if weighted else np.ones(lengths.size)
    counts = np.bincount(np.searchsorted(edges, lengths[weight > 0.0], side="right"), minlength=bins)
    counts[0] += 3
    found = np.zeros(bins, dtype=np.int64)
    add_counts(lengths, edges, weight if weighted else np.zeros(0), False, 1.0, found)
    add_counts(np.full(3, math.nan), edges, np.zeros(0), False, 1.0, found)
    assert np.array_equal(found, counts)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_sensitivity_is_attained(relation: Neighbours) -> None:
    about = facts(6)
    asked = CentredGradientQuery(about, relation, 20, 3, 0.5, Squared())
    ones = Rows(np.ones((1, 6)), np.array([[-1.0]]))
    opposite = Rows(-np.ones((1, 6)), np.array([[-1.0]]))
    nobody = Rows(np.ones((0, 6)), np.ones((0, 1)))
    other = opposite if relation is Neighbours.REPLACE_ONE else nobody
    view = AffineView(np.zeros(6))
    one, two = (asked.exact(rows, np.zeros(6), view, 1e-3) for rows in (ones, other))
    assert np.linalg.norm(one - two) >= 0.999999 * asked.sensitivity
    scales = NormHistogramQuery(about, relation, 20, 1, 0.5, Squared(), 2)
    near = Rows(np.zeros((1, 6)), np.array([[0.0]]))
    counts = [
        scales.exact(rows, np.zeros(6), view, np.array([0.1]))
        for rows in (ones, near if relation is Neighbours.REPLACE_ONE else nobody)
    ]
    assert np.linalg.norm(counts[0] - counts[1]) >= 0.999999 * scales.sensitivity


@pytest.mark.few(4)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=["squared", "logistic"])
@pytest.mark.parametrize("centred", [False, True], ids=["raw", "centred"])
def test_answers_are_their_formulas(sparse: bool, loss: Loss, centred: bool) -> None:
    rng = np.random.default_rng(33)
    about = RowFacts(tuple("abcdi"), True, 5.0, math.sqrt(5.0), 1.0, ("y",))
    X = np.append(rng.uniform(-1.0, 1.0, (399, 4)) * (rng.random((399, 4)) < 0.6), np.ones((399, 1)), axis=1)
    y = rng.choice([-1.0, 1.0], 399)
    rows = Rows(sp.csr_array(X) if sparse else X, y[:, None])
    theta = rng.normal(size=5)
    centre = np.append(rng.uniform(-1.0, 1.0, 4), 0.0) if centred else np.zeros(5)
    view, clip_norm = AffineView(centre, 0.7), 0.4
    u = (X - centre) * np.array([1.0, 1.0, 1.0, 1.0, 0.7])
    length = np.linalg.norm(u, axis=1)
    slope = loss.derivative(X @ theta, y)
    asked = CentredGradientQuery(about, Neighbours.REPLACE_ONE, 399, 1, 0.5, loss)
    plain = u.T @ np.clip(slope / clip_norm, -1.0 / length, 1.0 / length)
    assert asked.exact(rows, theta, view, clip_norm) == pytest.approx(plain, abs=1e-8)
    edges = np.array([0.1, 0.3, 0.9])
    scales = NormHistogramQuery(about, Neighbours.REPLACE_ONE, 399, 1, 0.5, loss, 4)
    for point, lengths in ((theta, np.abs(slope) * length), (None, length)):
        expected = np.bincount(np.searchsorted(edges, lengths), minlength=4)
        assert scales.exact(rows, point, view, edges) == pytest.approx(expected)
    means = MeansQuery(about, Neighbours.REPLACE_ONE, 399, 1, 0.5)
    assert means.exact(rows) * means.clip_norm == pytest.approx(X.sum(axis=0), abs=1e-7)


def test_a_sum_of_steps_is_that_of_its_records() -> None:
    """Two records are added at once, and columns that a view leaves as they are have a loop of their own; alone a record has neither."""
    rng = np.random.default_rng(34)
    for p in (1, 2, 5, 18):
        about = facts(p)
        X = rng.normal(size=(41, p)) * rng.choice([0.0, 1.0, 1e3, 1e200], (41, 1), p=[0.1, 0.7, 0.1, 0.1])
        X[rng.random(X.shape) < 0.1] = -0.0
        rows = Rows(X, rng.uniform(-1.0, 1.0, (41, 1)))
        asked = CentredGradientQuery(about, Neighbours.REPLACE_ONE, 41, 1, 0.5, Logistic())
        for centre in (np.zeros(p), rng.normal(size=p)):
            for weights in (1.0, 0.3, 10.0 ** rng.uniform(-2.0, 2.0, p)):
                question = rng.normal(size=p), AffineView(centre, weights), 0.2
                alone = [asked.partial(Rows(X[[i]], rows.Y[[i]]), *question) for i in range(41)]
                np.testing.assert_array_equal(asked.exact(rows, *question), asked.total(asked.merge(alone)))


def test_bits_do_not_depend_on_the_order_of_records() -> None:
    rng = np.random.default_rng(34)
    about = facts(6)
    rows = random_rows(rng, 40_000, about)
    order = rng.permutation(40_000)
    shuffled = Rows(rows.X[order], rows.Y[order])
    asked = CentredGradientQuery(about, Neighbours.REPLACE_ONE, 40_000, 1, 0.5, Logistic())
    theta, view = rng.normal(size=6), AffineView(rng.uniform(-1.0, 1.0, 6))
    assert np.array_equal(asked.exact(rows, theta, view, 0.3), asked.exact(shuffled, theta, view, 0.3))


def test_the_curator_answers_in_means_and_only_what_was_paid_for() -> None:
    rng = np.random.default_rng(35)
    about = RowFacts(tuple("abi"), True, 3.0, math.sqrt(3.0), 1.0, ("y",))
    X = np.append(rng.uniform(-1.0, 1.0, (300, 2)), np.ones((300, 1)), axis=1)
    rows = Rows(X, rng.uniform(-1.0, 1.0, (300, 1)))
    prices = PricedQueries(about, Neighbours.ADD_OR_REMOVE, 300)
    queries = (
        prices.price("means", mu=1e6),
        prices.price("norm_histogram", loss=Squared(), bins=3, mu=1e6, count=1),
        prices.price("centred_gradient", loss=Squared(), mu=1e6, count=1),
    )
    room = Curator(rows, queries)
    assert room.answer("means") == pytest.approx(X.mean(axis=0), abs=1e-4)
    view = {"centre": np.array([0.5, -0.5, 0.0]), "intercept_weight": 0.3}
    assert room.answer("norm_histogram", np.zeros(3), edges=np.array([0.2, 0.8]), **view).sum() == pytest.approx(
        1.0, abs=1e-3
    )
    free = room.answer("centred_gradient", np.zeros(3), clip_norm=100.0, **view)
    assert free == pytest.approx(-(X - view["centre"]).T @ rows.Y[:, 0] / 300.0, abs=1e-2)
    for again in (
        lambda: room.answer("means"),
        lambda: room.answer("centred_gradient", np.zeros(3), clip_norm=1.0, **view),
    ):
        with pytest.raises(NotPaidFor):
            again()


def test_counts_carry_the_noise_of_their_query() -> None:
    """400 answers of 3 bins: standard deviation and mean of each within 6 deviations (false alarm below 1e-7 in all)."""
    about, rows = facts(3), random_rows(np.random.default_rng(20), 57, facts(3))
    asked = NormHistogramQuery(about, Neighbours.ADD_OR_REMOVE, 20, 400, 0.5, Squared(), 3)
    curator = Curator(rows, [asked], key=TestKey(bytes(range(32))))
    view = {"centre": np.zeros(3), "intercept_weight": 1.0, "edges": np.array([0.3, 0.8])}
    exact = asked.exact(rows, *asked.question(None, **view))
    drawn = [20.0 * curator.answer("norm_histogram", None, **view) - exact for _ in range(400)]
    assert np.all(np.abs(np.std(drawn, axis=0) / asked.sigma - 1.0) < 6.0 / math.sqrt(2 * 400))
    assert np.all(np.abs(np.mean(drawn, axis=0)) < 6.0 * asked.sigma / math.sqrt(400))


def test_a_point_of_view_that_is_none_is_refused() -> None:
    about = facts(3)
    asked = CentredGradientQuery(about, Neighbours.REPLACE_ONE, 5, 1, 0.5, Squared())
    few, none, one = np.ones(2), np.array([1.0, 0.0, 1.0]), 1.0
    for centre, intercept_weight in (
        (np.zeros(2), one),
        (np.array([0.0, math.nan, 0.0]), one),
        *((np.zeros(3), weight) for weight in (0.0, few, none, np.ones((1, 3)))),
    ):
        with pytest.raises(InvalidParameter):
            asked.question(np.zeros(3), centre=centre, intercept_weight=intercept_weight, clip_norm=1.0)
    with pytest.raises(InvalidParameter, match="positive finite length"):
        asked.question(np.zeros(3), centre=np.zeros(3), intercept_weight=1.0, clip_norm=0.0)
    with pytest.raises(InvalidParameter, match="encoded columns"):
        asked.question(np.zeros(2), centre=np.zeros(3), intercept_weight=1.0, clip_norm=1.0)
    scales = NormHistogramQuery(about, Neighbours.REPLACE_ONE, 5, 1, 0.5, Squared(), 3)
    with pytest.raises(InvalidParameter, match="rising edges"):
        scales.question(None, centre=np.zeros(3), intercept_weight=1.0, edges=np.array([0.5, 0.5]))
