"""The gradient query: its answer, its sensitivity on real neighbours, and its refusal to follow a record too far."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from hullabaloo.curator import GradientQuery
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import Squared
from hullabaloo.privacy import Neighbours
from tests.curator.neighbours import facts, pairs, random_rows

RELATIONS = [Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE]


def query(
    about: RowFacts, relation: Neighbours, *, mu: float = 0.5, clip: float = 0.5, records: int = 20
) -> GradientQuery:
    return GradientQuery(about, relation, records, 3, mu, Squared(), clip)


@pytest.mark.few(5)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    "about",
    [
        facts(1),
        facts(7),
        facts(40, norm_l2=1.0),
        facts(5, max_weight=3.0),
        facts(5, unit=4),
        facts(3, max_weight=0.2, unit=2),
    ],
    ids=["p1", "p7", "ball", "weights", "units", "weighted-units"],
)
def test_no_neighbour_moves_the_sum_by_more_than_the_sensitivity(relation: Neighbours, about: RowFacts) -> None:
    """Tests: 001, Section 3, global sensitivity."""
    rng = np.random.default_rng(3)
    asked = query(about, relation)
    largest = 0.0
    for left, right in pairs(rng, relation, about, rounds=120):
        theta = rng.normal(0.0, 10.0 ** rng.integers(-3, 200), about.width)
        moved = np.linalg.norm(asked.exact(left, theta) - asked.exact(right, theta))
        largest = max(largest, moved)
    assert largest <= asked.sensitivity
    assert asked.sensitivity <= (1.0 + 1e-6) * about.records_per_unit * about.max_weight * 0.5 * about.norm_l2 * (
        2.0 if relation is Neighbours.REPLACE_ONE else 1.0
    )


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_sensitivity_is_attained(relation: Neighbours) -> None:
    about = facts(6)
    asked = query(about, relation)
    ones = Rows(np.ones((1, 6)), np.array([[-1.0]]))
    other = (
        Rows(-np.ones((1, 6)), np.array([[-1.0]]))
        if relation is Neighbours.REPLACE_ONE
        else Rows(np.ones((0, 6)), np.ones((0, 1)))
    )
    moved = np.linalg.norm(asked.exact(ones, np.zeros(6)) - asked.exact(other, np.zeros(6)))
    assert moved >= 0.999999 * asked.sensitivity


def test_the_answer_is_the_clipped_gradient() -> None:
    rng = np.random.default_rng(4)
    about = facts(9)
    rows = random_rows(rng, 500, about)
    theta = rng.normal(size=9)
    asked = query(about, Neighbours.REPLACE_ONE, records=500)
    plain = rows.X.T @ np.clip(rows.X @ theta - rows.Y[:, 0], -0.5, 0.5)
    assert asked.exact(rows, theta) == pytest.approx(plain, abs=1e-7)
    exact = GradientQuery(about, Neighbours.REPLACE_ONE, 500, 1, math.inf, Squared(), 1e9)
    assert exact.exact(rows, theta) == pytest.approx(rows.X.T @ (rows.X @ theta - rows.Y[:, 0]), rel=1e-12)


def test_bits_do_not_depend_on_the_order_of_records_or_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    about = facts(11, max_weight=2.0)
    rows = random_rows(rng, 3000, about)
    assert rows.weight is not None
    asked = query(about, Neighbours.ADD_OR_REMOVE, records=3000)
    theta = rng.normal(size=11)
    order = rng.permutation(3000)
    moved = Rows(rows.X[order], rows.Y[order], rows.weight[order])
    first = asked.exact(rows, theta)
    monkeypatch.setattr("hullabaloo.curator.gradient._BLOCK", 77)
    assert asked.exact(moved, theta).tobytes() == first.tobytes()


def test_sparse_rows_give_the_answer_of_dense_rows() -> None:
    rng = np.random.default_rng(6)
    about = facts(30, norm_l2=1.0)
    rows = random_rows(rng, 400, about)
    X = rows.X * (rng.random(rows.X.shape) < 0.1)
    theta = rng.normal(size=30)
    asked = query(about, Neighbours.REPLACE_ONE, records=400)
    dense = asked.exact(Rows(X, rows.Y), theta)
    sparse = asked.exact(Rows(sp.csr_array(X), rows.Y), theta)
    assert sparse == pytest.approx(dense, abs=1e-9)


@pytest.mark.parametrize("theta", [1e308, -1e308, np.inf, -np.inf, np.nan, 5e-324])
def test_overflowing_predictions_stay_bounded(theta: float) -> None:
    about = facts(3)
    rows = random_rows(np.random.default_rng(7), 10, about, extreme=True)
    for relation in RELATIONS:
        answer = query(about, relation).exact(rows, np.array([theta, -theta, theta]))
        assert np.isfinite(answer).all()
        assert np.linalg.norm(answer) <= 10 * 0.5 * about.norm_l2


def test_the_event_prices_rounding_and_stays_within_the_price() -> None:
    for mu in (1e-6, 1e-3, 0.2367, 5.0):
        for records in (1, 10**4, 10**8):
            asked = query(facts(100), Neighbours.REPLACE_ONE, mu=mu, records=records)
            spent = asked.event.gdp_mu()
            assert spent is not None
            assert mu * (1.0 - 1e-3) <= spent <= mu * (1.0 + 1e-15)


def test_arguments_without_a_guarantee_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="positive finite clip"):
        query(facts(2), Neighbours.REPLACE_ONE, clip=math.inf)
    with pytest.raises(InvalidParameter, match="positive privacy price"):
        query(facts(2), Neighbours.REPLACE_ONE, mu=0.0)
    with pytest.raises(InvalidParameter, match="at least one answer"):
        query(facts(2), Neighbours.REPLACE_ONE, records=0)
