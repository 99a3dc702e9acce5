"""Rows seen through a public matrix, and the covariance that such matrices are made of: answers, and real neighbours."""

import math
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from hullabaloo.curator import Curator, views
from hullabaloo.curator.centred_gradient import CentredGradientQuery
from hullabaloo.curator.kernels import dense_turned
from hullabaloo.curator.norm_histogram import NormHistogramQuery
from hullabaloo.curator.shortened_moments import CovarianceQuery
from hullabaloo.curator.views import AffineView, public_numbers, turned_rows
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.errors import InvalidParameter, NotPaidFor
from hullabaloo.losses import Logistic, Squared
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries
from tests.curator.neighbours import facts, pairs, random_rows, reordered

RELATIONS = list(Neighbours)
TABLES = {
    "p1": facts(1),
    "p6": facts(6),
    "ball": facts(20, norm_l2=1.0),
    "weights": facts(4, max_weight=3.0),
    "weighted-units": facts(3, max_weight=0.2, unit=2),
    "offsets": facts(4, offset=50.0),
}


def matrices(rng: np.random.Generator, p: int) -> Iterator[np.ndarray]:
    """Plain, ill-conditioned, singular, underflowing and overflowing ones, over and over."""
    while True:
        plain = rng.normal(size=(p, p))
        yield plain
        yield plain * 10.0 ** rng.uniform(-12.0, 12.0, p)
        yield np.outer(plain[0], plain[-1])
        yield plain * 1e-200
        yield plain * 1e200
        yield np.sign(plain) * 1.7e308


@pytest.mark.few(5)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("about", TABLES.values(), ids=TABLES)
def test_no_neighbour_moves_an_answer_by_more_than_the_sensitivity_whatever_the_matrix(
    relation: Neighbours, about: RowFacts
) -> None:
    rng = np.random.default_rng(61)
    steps = CentredGradientQuery(about, relation, 20, 3, 0.5, Logistic())
    scales = NormHistogramQuery(about, relation, 20, 2, 0.5, Squared(), 6)
    view, moved, counted = AffineView(np.zeros(about.width)), 0.0, 0.0
    for (left, right), matrix in zip(pairs(rng, relation, about, rounds=120), matrices(rng, about.width), strict=False):
        theta, clip_norm = rng.normal(0.0, 10.0 ** rng.integers(-3, 200), about.width), 10.0 ** rng.uniform(-9.0, 3.0)
        edges = np.sort(10.0 ** rng.uniform(-3.0, 3.0, 5))
        through = public_numbers(matrix, about.width, "through a matrix", 2)
        seen = [turned_rows(rows, through) for rows in (left, right)]
        one, other = (steps.exact(rows, theta, view, float(clip_norm)) for rows in seen)
        moved = max(moved, float(np.linalg.norm(one - other)))
        point = None if rng.random() < 0.5 else theta
        one, other = (scales.exact(rows, point, view, edges) for rows in seen)
        counted = max(counted, float(np.linalg.norm(one - other)))
    assert 0.0 < moved <= steps.sensitivity
    assert 0.0 < counted <= scales.sensitivity


@pytest.mark.few(5)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("about", TABLES.values(), ids=TABLES)
def test_no_neighbour_moves_the_spread_by_more_than_the_sensitivity(relation: Neighbours, about: RowFacts) -> None:
    rng = np.random.default_rng(62)
    asked, largest = CovarianceQuery(about, relation, 20, 1, 0.5), 0.0
    for left, right in pairs(rng, relation, about, rounds=120):
        centre = about.norm_linf * rng.uniform(-1.0, 1.0, about.width) * float(rng.integers(0, 2))
        clip_norm = float(10.0 ** rng.uniform(-150.0, 1.0)) if rng.random() < 0.3 else float(rng.uniform(0.1, 2.0))
        one, other = (asked.exact(rows, centre, clip_norm) for rows in (left, right))
        largest = max(largest, float(np.linalg.norm(one - other)))
    copies = math.sqrt(2.0) if relation is Neighbours.REPLACE_ONE else 1.0
    assert 0.0 < largest <= asked.sensitivity
    assert asked.sensitivity <= (1.0 + 1e-4) * about.records_per_unit * about.max_weight * copies


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_sensitivity_of_the_spread_is_attained(relation: Neighbours) -> None:
    about = facts(3)
    asked = CovarianceQuery(about, relation, 20, 1, 0.5)
    one = Rows(np.array([[1.0, 0.0, 0.0]]), np.zeros((1, 1)))
    other = Rows(np.array([[0.0, 1.0, 0.0]]), np.zeros((1, 1)))
    if relation is Neighbours.ADD_OR_REMOVE:
        other = Rows(np.zeros((0, 3)), np.zeros((0, 1)))
    sums = [asked.exact(rows, np.zeros(3), 0.5) for rows in (one, other)]
    assert np.linalg.norm(sums[0] - sums[1]) >= (1.0 - 1e-4) * asked.sensitivity


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_answers_are_their_formulas(sparse: bool) -> None:
    rng = np.random.default_rng(63)
    about = RowFacts(tuple("abcdi"), True, 5.0, math.sqrt(5.0), 1.0, ("y",))
    X = np.append(rng.uniform(-1.0, 1.0, (3000, 4)) * (rng.random((3000, 4)) < 0.6), np.ones((3000, 1)), axis=1)
    y, matrix, theta = rng.choice([-1.0, 1.0], 3000), rng.normal(size=(5, 5)), rng.normal(size=5)
    rows = Rows(sp.csr_array(X) if sparse else X, y[:, None])
    prices = PricedQueries(about, Neighbours.REPLACE_ONE, 3000)
    queries = [
        prices.price("centred_gradient", loss=Logistic(), mu=1e4, count=1),
        prices.price("norm_histogram", loss=Logistic(), bins=4, mu=1e4, count=1),
        prices.price("covariance", mu=1e4),
    ]
    curator = Curator(rows, queries)
    projected, u = curator.projected(matrix), X @ matrix
    slope, length = Logistic().derivative(u @ theta, y), np.linalg.norm(u, axis=1)
    plain = u.T @ np.clip(slope, -0.4 / length, 0.4 / length) / 3000
    assert projected.answer(
        "centred_gradient", theta, centre=np.zeros(5), intercept_weight=1.0, clip_norm=0.4
    ) == pytest.approx(plain, abs=1e-5)
    edges = np.array([0.1, 0.3, 0.9])
    shares = np.bincount(np.searchsorted(edges, np.abs(slope) * length), minlength=4) / 3000
    assert projected.answer(
        "norm_histogram", theta, centre=np.zeros(5), intercept_weight=1.0, edges=edges
    ) == pytest.approx(shares, abs=1e-5)
    centre = rng.uniform(-0.5, 0.5, 4)
    near = X[:, :-1] - centre
    near *= np.minimum(1.0, 0.8 / np.linalg.norm(near, axis=1))[:, None]
    assert curator.answer("covariance", centre=centre, clip_norm=0.8) == pytest.approx(near.T @ near / 3000, abs=1e-5)


def test_weights_beside_a_matrix_are_the_matrix_times_them() -> None:
    """Gradients of the weighted columns, divided by their weights again, histograms and second moments."""
    rng = np.random.default_rng(66)
    about, matrix, weights = facts(5), rng.normal(size=(5, 5)), 10.0 ** rng.uniform(-1.0, 1.0, 5)
    rows, theta = random_rows(rng, 2_000, about), rng.normal(size=5)
    prices = PricedQueries(about, Neighbours.REPLACE_ONE, 2_000)
    queries = [
        prices.price("centred_gradient", loss=Squared(), mu=1e4, count=2),
        prices.price("norm_histogram", loss=Squared(), bins=4, mu=1e4, count=2),
        *[prices.price("gradient_moments", loss=Squared(), mu=1e4)] * 2,
    ]
    curator = Curator(rows, queries)
    found = []
    for W, point, D in ((matrix, theta, weights), (matrix * weights, theta / weights, 1.0)):
        seen, about_them = curator.projected(W), {"centre": np.zeros(5), "intercept_weight": D}
        gradient = seen.answer("centred_gradient", point, clip_norm=0.4, **about_them) * (
            weights if D is weights else 1.0
        )
        counts = seen.answer("norm_histogram", point, edges=np.array([0.3, 1.0, 3.0]), **about_them)
        squares = seen.answer("gradient_moments", point, of="gradients", intercept_weight=D, clip_norm=1.0)
        found.append(np.concatenate([gradient, counts, squares.ravel()]))
    assert found[0] == pytest.approx(found[1], abs=1e-5)


def test_a_record_is_turned_by_itself() -> None:
    """Its bits are the same alone, in any order and in any company."""
    rng = np.random.default_rng(64)
    rows, matrix = random_rows(rng, 257, facts(13)), rng.normal(size=(13, 7))
    whole, order = turned_rows(rows, matrix).X, rng.permutation(257)
    assert np.array_equal(turned_rows(reordered(rows, order), matrix).X, whole[order])
    alone = np.concatenate([turned_rows(reordered(rows, np.array([i])), matrix).X for i in range(257)])
    assert np.array_equal(alone, whole)
    scattered = turned_rows(Rows(sp.csr_array(rows.X), rows.Y), matrix).X
    assert np.array_equal(scattered, whole)


def exact_sums(rows: Rows, about: RowFacts, theta: np.ndarray, view: AffineView) -> list[np.ndarray]:
    """What the three queries of rows of any length, and of any kind, add up to."""
    prices = PricedQueries(about, Neighbours.ADD_OR_REMOVE, 20)
    steps, counts, squares = (
        prices.price(name, loss=Logistic(), mu=1.0, **more)
        for name, more in (("centred_gradient", {"count": 1}), ("norm_histogram", {"bins": 4, "count": 1}), ("gradient_moments", {}))
    )  # fmt: skip
    edges, of = np.array([0.1, 0.7, 2.0]), ["records", "curvature", "gradients", *["units"] * (rows.unit is not None)]
    found = [steps.exact(rows, theta, view, 0.4), counts.exact(rows, theta, view, edges), counts.exact(rows, None, view, edges)]  # fmt: skip
    return [*found, *(squares.exact(rows, theta, kind, replace(view, centre=np.zeros(about.width)), 1.0) for kind in of)]  # fmt: skip


@pytest.mark.few(3)
@pytest.mark.parametrize("about", TABLES.values(), ids=TABLES)
def test_what_questions_have_made_of_rows_changes_no_bit_of_later_answers(about: RowFacts) -> None:
    """Whatever was asked before, at whichever centres and weights: answers are those of rows that nothing was asked of. Hence neighbours stay as near as these."""
    rng, p = np.random.default_rng(71), about.width
    rows, matrix = (
        random_rows(rng, 70, about, extreme=True),
        rng.normal(size=(p, p)) * 10.0 ** rng.uniform(-120, 120, p),
    )
    rows = replace(rows, X=np.where(rng.random(rows.X.shape) < 0.3, 0.0, rows.X))
    scattered = replace(rows, X=sp.csr_array(rows.X))
    centres = [np.zeros(p), rng.uniform(-1.0, 1.0, p), np.append(np.full(p - 1, 0.5), -0.2)]
    for _ in range(30):
        weights = rng.choice([1.0, 1e-9, 3.0]) if rng.random() < 0.7 else rng.uniform(0.1, 2.0, p)
        view, theta = AffineView(centres[rng.integers(0, 3)], weights), rng.normal(size=p)
        turn = matrix * rng.choice([1.0, -1.0], p) if rng.random() < 0.5 else None
        for own in (rows, scattered):
            kept, fresh = (one if turn is None else turned_rows(one, turn) for one in (own, replace(own)))
            for one, other in zip(
                exact_sums(kept, about, theta, view), exact_sums(fresh, about, theta, view), strict=True
            ):
                np.testing.assert_array_equal(one.view(np.int64), other.view(np.int64))


@pytest.mark.few(2)
@pytest.mark.parametrize("cells", [0, 59_999, 10**6])
@pytest.mark.parametrize("about", [facts(3), facts(3, max_weight=0.2, unit=4), facts(3, offset=2.0)], ids=str)
def test_rows_that_are_turned_for_each_question_have_the_bits_of_kept_ones(
    cells: int, about: RowFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many are kept: none, as many as end within a block, or all; dense and sparse ones; by one question after another, and through two matrices."""
    rng, made = np.random.default_rng(72), []
    rows, matrix, again = random_rows(rng, 40_001, about), rng.normal(size=(3, 3)), rng.normal(size=(3, 2))
    view, theta = AffineView(np.zeros(3), 0.7), rng.normal(size=3)
    known, twice = (
        exact_sums(turned_rows(rows, matrix), about, theta, view),
        turned_rows(turned_rows(rows, matrix), again),
    )
    monkeypatch.setattr(views, "KEPT", cells)
    for own in (replace(rows), replace(rows, X=sp.csr_array(rows.X))):
        seen = turned_rows(own, matrix)
        assert isinstance(seen.X, np.ndarray) == (cells > 0.5 * 10**6)
        made.append(len(getattr(seen.X, "kept", seen.X)))
        for _ in range(2):
            for one, other in zip(known, exact_sums(seen, about, theta, view), strict=True):
                np.testing.assert_array_equal(one.view(np.int64), other.view(np.int64))
        np.testing.assert_array_equal(turned_rows(seen, again).X[slice(0, 40_001)], twice.X)
    assert made == [min(cells // 3, 40_001)] * 2


def test_nothing_else_may_be_asked_of_turned_rows() -> None:
    about = facts(4)
    prices = PricedQueries(about, Neighbours.REPLACE_ONE, 50)
    rows = random_rows(np.random.default_rng(65), 50, about)
    every = [
        prices.price("centred_gradient", loss=Squared(), mu=1.0, count=1),
        prices.price("gradient", loss=Squared(), clip=1.0, mu=1.0, count=1),
        prices.price("moments", mu=1.0, target_scale=1.0),
        prices.price("means", mu=1.0),
        prices.price("covariance", mu=1.0),
    ]
    projected = Curator(rows, every).projected(np.eye(4))
    for asked in (("gradient", np.zeros(4)), ("moments",), ("means",)):
        with pytest.raises(NotPaidFor, match="the plan paid for 'centred_gradient'"):
            projected.answer(*asked)
    with pytest.raises(NotPaidFor, match="paid for 'centred_gradient'"):
        projected.answer("covariance", centre=np.zeros(4), clip_norm=1.0)
    with pytest.raises(NotPaidFor, match="lengths are undeclared"):
        Curator(rows, every[1:]).projected(np.eye(4))
    with pytest.raises(NotPaidFor, match="so many columns"):
        Curator(rows, every).projected(np.ones((4, 3)))


def test_answers_of_a_view_come_out_of_the_same_payment() -> None:
    about = facts(4)
    prices = PricedQueries(about, Neighbours.REPLACE_ONE, 50)
    curator = Curator(
        random_rows(np.random.default_rng(66), 50, about),
        [prices.price("centred_gradient", loss=Squared(), mu=1.0, count=2)],
    )
    for view in (curator, curator.projected(np.eye(4))):
        view.answer("centred_gradient", np.zeros(4), centre=np.zeros(4), intercept_weight=1.0, clip_norm=1.0)
    with pytest.raises(NotPaidFor, match="all have been given"):
        curator.projected(2.0 * np.eye(4)).answer(
            "centred_gradient", np.zeros(4), centre=np.zeros(4), intercept_weight=1.0, clip_norm=1.0
        )


@pytest.mark.parametrize(
    "matrix", [np.eye(3), np.zeros(4), np.full((4, 4), np.nan), np.full((4, 4), np.inf), np.zeros((4, 0))], ids=str
)
def test_a_matrix_must_fit(matrix: np.ndarray) -> None:
    with pytest.raises(InvalidParameter, match="one row of finite numbers"):
        public_numbers(matrix, 4, "through a matrix", 2)


@pytest.mark.parametrize(("centre", "clip_norm"), [(np.zeros(3), 1.0), (np.full(4, np.nan), 1.0), (np.zeros(4), 0.0)])
def test_a_spread_needs_a_centre_and_a_length(centre: np.ndarray, clip_norm: float) -> None:
    about = facts(4)
    asked = CovarianceQuery(about, Neighbours.REPLACE_ONE, 50, 1, 1.0)
    with pytest.raises(InvalidParameter, match="positive finite length"):
        asked.question(centre=centre, clip_norm=clip_norm)


def test_rows_seen_through_a_matrix_again_are_those_that_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not those of another matrix, nor of another target, who share what is kept."""
    rng, about, made = np.random.default_rng(5), replace(facts(4), targets=("a", "b")), []
    rows = Rows(rng.uniform(-0.4, 0.4, (50, 4)), rng.uniform(-1.0, 1.0, (50, 2)))
    query = PricedQueries(about, Neighbours.REPLACE_ONE, 50).price("centred_gradient", loss=Squared(), mu=1e6, count=9)
    curator, plain = Curator(rows, [query]), views.dense_turned
    monkeypatch.setattr(views, "dense_turned", lambda *given: (made.append(1), plain(*given)))

    def asked(target: int, matrix: np.ndarray) -> np.ndarray:
        named = {"centre": np.zeros(4), "intercept_weight": 1.0, "clip_norm": 100.0}
        seen = curator.of_target(target).projected(matrix)
        return np.asarray(seen.answer("centred_gradient", np.zeros(4), **named))

    for target, matrix in ((0, np.eye(4)), (1, np.eye(4)), (0, 2.0 * np.eye(4)), (0, np.eye(4))):
        assert asked(target, matrix) == pytest.approx(-matrix @ rows.X.T @ rows.Y[:, target] / 50, abs=1e-3)
    curator.projected(np.eye(4)), made.clear(), curator.projected(np.eye(4))
    assert not made
    assert not rows.held  # what a curator has made of its rows ends with it


@pytest.mark.parametrize("chain", ["w", "ww", "wt", "tw", "wr", "rw", "wrt", "wrw"])
@pytest.mark.parametrize("make", [np.array, sp.csr_array])
def test_a_view_of_a_view_answers_alike_whether_rows_are_kept_or_not(
    chain: str, make: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether they are depends on how many there are, which may be private: a view was refused where they were not."""
    rng, about, told = np.random.default_rng(9), RowFacts(tuple("abcd"), True, 4.0, 2.0, 1.0, ("y", "z")), set()
    X, Y, W = rng.uniform(-1.0, 1.0, (50, 4)), rng.choice([-1.0, 1.0], (50, 2)), rng.normal(size=(4, 4))
    price = partial(PricedQueries(about, Neighbours.ADD_OR_REMOVE, 50).price, loss=Logistic(), mu=1.0, count=2)
    asked = {"centre": np.zeros(4), "intercept_weight": 1.0, "clip_norm": 0.5}
    for kept in (10**9, 40, 1):
        monkeypatch.setattr(views, "KEPT", kept)
        curator = Curator(Rows(make(X), Y), [price("centred_gradient")], key=TestKey(bytes(32)))
        for step in chain:
            curator = {"w": partial(curator.projected, W), "t": partial(curator.of_target, 1)}.get(
                step, partial(curator.restricted, [2, 0, 1])
            )()
        told.add(np.asarray(curator.answer("centred_gradient", np.ones(4), **asked)).tobytes())
    assert len(told) == 1


def test_what_is_made_at_a_place_is_given_whoever_asks_for_another_meanwhile() -> None:
    """Lengths of another view, or rows of another matrix, would leave a record longer than the noise is for: by a question while one is answered, and by threads."""
    rows = random_rows(np.random.default_rng(73), 3, facts(2))
    assert rows.kept("lengths", b"a", lambda: (rows.kept("lengths", b"b", lambda: "of b"), "of a")[1]) == "of a"
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def asked(place: int) -> bool:
        return all(rows.kept("turned", place, lambda: place) == place for _ in range(20_000))

    try:
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(asked, range(4)))
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("density", [1.0, 0.95, 0.3, 0.05, "mixed"])
def test_a_row_seen_through_a_matrix_has_the_same_bits_beside_any_other(density: float | str) -> None:
    """Those of its own cells, added up in the order of columns; full rows are read in fours, others alone, and all remainders of n and p over 4 are tried, and sums that overflow."""
    rng = np.random.default_rng(68)
    for p, k in ((1, 1), (7, 5), (8, 9), (13, 4), (38, 35)):
        filled = rng.choice([1.0, 0.3], (11, 1)) if density == "mixed" else density
        cells, matrix = rng.normal(size=(11, p)) * (rng.random((11, p)) < filled), rng.normal(size=(p, k))
        orders = [rng.permutation(11)[:size] for size in range(1, 12)]
        for X, W in ((cells, matrix), (np.abs(cells), np.abs(matrix) * 4e307)):
            known = np.zeros((11, k))
            with np.errstate(over="ignore"):
                for j in range(p):
                    known += X[:, [j]] * W[j]
            for order in (np.arange(11), *orders, np.array([5, 5, 2, 5, 5])):
                out = np.full((len(order), k), np.nan)
                dense_turned(np.ascontiguousarray(X[order]), W, out)
                np.testing.assert_array_equal(out.view(np.int64), (known[order] + 0.0).view(np.int64))
