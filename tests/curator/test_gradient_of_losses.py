"""The gradient query of every loss: its value, its sensitivity on real neighbours, and bits that no neighbour moves."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from hullabaloo.curator import Curator, GradientQuery
from hullabaloo.curator import gradient as room
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import AnyLoss, Logistic, MultinomialLogistic, Squared, SquaredTargets, VectorLoss
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries
from tests.curator.neighbours import facts, pairs, random_rows, reordered
from tests.laws import loss_zoo, zoo

RELATIONS = [Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE]
LOSSES: list[AnyLoss] = [*loss_zoo.scalar_losses(), *loss_zoo.vector_losses()]
every = pytest.mark.parametrize("loss", LOSSES, ids=zoo.short)
sparse = pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
CLIP = 0.4


def width(loss: AnyLoss) -> int:
    return 3 if isinstance(loss, VectorLoss) else 1


def query(about: RowFacts, loss: AnyLoss, relation: Neighbours = RELATIONS[0], *, mu: float = 0.5) -> GradientQuery:
    return GradientQuery(about, relation, 20, 3, mu, loss, CLIP)


def as_sparse(rows: Rows, wanted: bool) -> Rows:
    return replace(rows, X=sp.csr_array(rows.X)) if wanted else rows


def by_hand(rows: Rows, loss: AnyLoss, theta: np.ndarray) -> np.ndarray:
    """The sum from the loss objects, without lattice or kernels."""
    offset = np.zeros(len(rows.Y)) if rows.offset is None else rows.offset
    weight = np.ones(len(rows.Y)) if rows.weight is None else rows.weight
    if isinstance(loss, VectorLoss):
        slope = loss.derivative(rows.X @ theta + offset[:, None], rows.Y)
        slope *= np.minimum(1.0, CLIP / np.linalg.norm(slope, axis=1, keepdims=True))
        return rows.X.T @ (slope * weight[:, None])
    return rows.X.T @ (np.clip(loss.derivative(rows.X @ theta + offset, rows.Y[:, 0]), -CLIP, CLIP) * weight)


@pytest.mark.few(10)
@every
@sparse
def test_the_answer_is_the_clipped_gradient(loss: AnyLoss, sparse: bool) -> None:
    rng = np.random.default_rng(1)
    for about in (facts(9, width(loss)), facts(17, width(loss), max_weight=2.0, offset=1.5)):
        rows = random_rows(rng, 300, about)
        asked = query(about, loss)
        theta = rng.normal(size=asked.shape)
        expected = by_hand(rows, loss, theta)
        assert expected.shape == asked.shape
        assert asked.exact(as_sparse(rows, sparse), theta) == pytest.approx(expected, abs=1e-7)
        plain = query(about, loss, mu=math.inf).exact(as_sparse(rows, sparse), theta)
        assert plain == pytest.approx(expected, rel=1e-10, abs=1e-12)


@every
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.few(18)
def test_no_neighbour_moves_the_sum_by_more_than_the_sensitivity(loss: AnyLoss, relation: Neighbours) -> None:
    rng = np.random.default_rng(3)
    for about in (
        facts(1, width(loss)),
        facts(6, width(loss), norm_l2=1.0, offset=700.0),
        facts(3, width(loss), max_weight=3.0, unit=2, offset=1.0),
    ):
        asked = query(about, loss, relation)
        exact = about.records_per_unit * about.max_weight * asked.clip * about.norm_l2
        assert asked.sensitivity <= (1.0 + 1e-6) * exact * (2.0 if relation is Neighbours.REPLACE_ONE else 1.0)
        for left, right in pairs(rng, relation, about, rounds=24):
            theta = rng.normal(0.0, 10.0 ** rng.integers(-3, rng.choice([2, 300])), asked.shape)
            for kind in (False, True):
                sums = [asked.exact(as_sparse(rows, kind), theta) for rows in (left, right)]
                assert np.linalg.norm(sums[0] - sums[1]) <= asked.sensitivity


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("loss", [SquaredTargets(), MultinomialLogistic()], ids=zoo.short)
def test_the_sensitivity_of_a_matrix_is_attained(loss: VectorLoss, relation: Neighbours) -> None:
    about = facts(6, 3)
    asked = query(about, loss, relation)
    Y = np.array([[1.0, -1.0, -1.0]])
    one, gone = Rows(np.ones((1, 6)), Y), Rows(np.ones((0, 6)), np.ones((0, 3)))
    other = Rows(-np.ones((1, 6)), Y) if relation is Neighbours.REPLACE_ONE else gone
    theta = np.zeros(asked.shape)
    moved = np.linalg.norm(asked.exact(one, theta) - asked.exact(other, theta))
    assert moved >= 0.999999 * asked.sensitivity


@pytest.mark.few(8)
@every
@sparse
@pytest.mark.parametrize("size", [1e308, np.inf, np.nan, 5e-324])
def test_overflowing_predictions_stay_bounded(loss: AnyLoss, sparse: bool, size: float) -> None:
    about = facts(3, width(loss), offset=2.0)
    rows = as_sparse(random_rows(np.random.default_rng(7), 10, about, extreme=True), sparse)
    for signs in (np.array([1.0, -1.0, 1.0]), np.ones(3)):
        asked = query(about, loss)
        theta = size * (signs[:, None] * np.array([1.0, -1.0, 0.5]) if isinstance(loss, VectorLoss) else signs)
        for mu in (0.5, math.inf):
            answer = replace(asked, mu=mu).exact(rows, theta)
            assert np.isfinite(answer).all()
            assert np.linalg.norm(answer) <= 10 * CLIP * about.norm_l2 * (1.0 + 1e-9)


@pytest.mark.few(14)
@pytest.mark.parametrize("loss", [Squared(), Logistic(), SquaredTargets()], ids=zoo.short)
@pytest.mark.parametrize("p", [1, 2, 5, 8, 13, 31, 32, 33, 64, 100, 131])
def test_a_record_contributes_the_same_bits_wherever_it_stands(loss: AnyLoss, p: int) -> None:
    """Alone, in pairs, shifted by one row or one cell of memory: sums of lattice points, so the parts must add up exactly."""
    rng = np.random.default_rng(p)
    about = facts(p, width(loss), max_weight=2.0, offset=0.5)
    rows = random_rows(rng, 9, about)
    asked = query(about, loss)
    theta = rng.normal(0.0, 3.0, asked.shape)
    alone = [asked.exact(reordered(rows, np.array([i])), theta) for i in range(9)]
    memory = np.empty(9 * p + 1)
    for start in (0, 1):
        X = memory[start : start + 9 * p].reshape(9, p)
        X[:] = rows.X
        for first in range(9):
            part = reordered(rows, np.arange(first, 9))
            whole = asked.exact(replace(part, X=X[first:]), theta)
            assert whole.tobytes() == (np.sum(alone[first:], axis=0) + 0.0).tobytes()


@pytest.mark.few(9)
@every
@sparse
def test_bits_do_not_depend_on_order_blocks_or_threads(
    loss: AnyLoss, sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    about = facts(11, width(loss), max_weight=2.0, offset=1.0)
    rows = random_rows(rng, 3000, about)
    asked = query(about, loss, Neighbours.ADD_OR_REMOVE)
    theta = rng.normal(size=asked.shape)
    first = asked.exact(as_sparse(rows, sparse), theta)
    moved = as_sparse(reordered(rows, rng.permutation(3000)), sparse)
    assert asked.exact(moved, theta).tobytes() == first.tobytes()
    monkeypatch.setattr(room, "_BLOCK", 77)
    monkeypatch.setattr("hullabaloo.curator.exact._ROWS", 154)
    assert asked.exact(moved, theta).tobytes() == first.tobytes()
    monkeypatch.setattr("hullabaloo.curator.exact._MANY", 0)
    monkeypatch.setattr("hullabaloo.curator.exact.cores", lambda: 5)
    assert asked.exact(moved, theta).tobytes() == first.tobytes()


def test_a_table_of_more_rows_than_a_block_of_exact_doubles_holds() -> None:
    n = (1 << 14) * 3 + 5
    rows = Rows(np.ones((n, 1)), np.full((n, 1), -1.0))
    asked = GradientQuery(facts(1), Neighbours.REPLACE_ONE, n, 1, 0.5, Squared(), 0.5)
    for kind in (False, True):
        assert asked.exact(as_sparse(rows, kind), np.zeros(1)).tolist() == [0.5 * n]


def test_a_point_of_another_shape_is_refused() -> None:
    about = facts(4, 3)
    for loss, wrong in ((Squared(), (3,)), (Squared(), (4, 3)), (SquaredTargets(), (4,)), (SquaredTargets(), (3, 4))):
        with pytest.raises(InvalidParameter, match="shape"):
            query(about, loss).question(np.zeros(wrong))


def test_the_curator_answers_with_a_matrix() -> None:
    about = facts(4, 3)
    rows = random_rows(np.random.default_rng(0), 50, about)
    prices = PricedQueries(about, Neighbours.REPLACE_ONE, 50)
    query = prices.price("gradient", loss=MultinomialLogistic(), clip=1.0, mu=100.0, count=1)
    assert query.length == 12
    theta = np.zeros((4, 3))
    answer = Curator(rows, [query], key=TestKey(bytes(32))).answer("gradient", theta)
    assert answer.shape == (4, 3)
    assert answer == pytest.approx(query.exact(rows, theta) / 50, abs=8.0 * query.sigma / 50)
