"""Sums of squares with Laplace and Gaussian noise: their l1 and l2 sensitivities on real neighbours, and the release."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from hullabaloo.curator import Curator, LaplaceSecondMomentsQuery
from hullabaloo.curator.second_moments import SecondMomentsQuery
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.errors import InvalidParameter, NotPaidFor
from hullabaloo.noise import TestKey, inflated_l1, laplace
from hullabaloo.privacy import Neighbours, NotPrivateEvent
from hullabaloo.queries import PricedQueries
from tests.curator.neighbours import facts, pairs, random_rows, reordered

RELATIONS = [Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE]
TABLES = {
    "p1": facts(1),
    "p6": facts(6),
    "ball": facts(20, norm_l2=1.0),
    "wide-ball": facts(4, norm_l2=10.0),
    "weights": facts(4, max_weight=3.0),
    "small-weights": facts(4, max_weight=0.1),
    "units": facts(4, unit=3),
    "weighted-ball": facts(9, norm_l2=0.5, max_weight=2.5, unit=2),
}


def query(about: RowFacts, relation: Neighbours, epsilon: float = 0.5) -> LaplaceSecondMomentsQuery:
    return LaplaceSecondMomentsQuery(about, relation, 20, 1, epsilon)


def gaussian(about: RowFacts, relation: Neighbours, mu: float = 0.5) -> SecondMomentsQuery:
    return SecondMomentsQuery(about, relation, 20, 1, mu)


ASKED = {"laplace": (query, 1), "gaussian": (gaussian, 2)}  # a query, and the norm that its sensitivity is in


@pytest.mark.few(16)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("about", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("kind", ASKED)
def test_no_neighbour_moves_the_sums_by_more_than_the_sensitivity(
    kind: str, relation: Neighbours, about: RowFacts
) -> None:
    """Tests: 004, Estimating constants privately."""
    (made, norm), rng = ASKED[kind], np.random.default_rng(51)
    asked = made(about, relation)
    for number, pair in enumerate(pairs(rng, relation, about, rounds=40)):
        tables = [Rows(sp.csr_array(rows.X), rows.Y, rows.weight) for rows in pair] if number % 2 else pair
        left, right = (asked.exact(rows) for rows in tables)
        assert np.linalg.norm(left - right, norm) <= asked.sensitivity


@pytest.mark.few(4)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("about", [facts(6, max_weight=2.0), facts(6, norm_l2=0.7)], ids=["cube", "ball"])
@pytest.mark.parametrize("kind", ASKED)
def test_the_sensitivity_is_attained(kind: str, relation: Neighbours, about: RowFacts) -> None:
    cube = about.norm_l2 > 1.0
    one = np.ones((1, 6)) if cube else np.array([[0.7, 0.0, 0.0, 0.0, 0.0, 0.0]])
    other = np.zeros((1, 6)) if cube else np.roll(one, 1, axis=1)
    heavy = np.full(1, about.max_weight)
    rows = [Rows(X, np.zeros((1, 1)), heavy) for X in (one, other)]
    if relation is Neighbours.ADD_OR_REMOVE:
        rows[1] = Rows(np.zeros((0, 6)), np.zeros((0, 1)), np.zeros(0))
    made, norm = ASKED[kind]
    asked = made(about, relation)
    left, right = (asked.exact(part) for part in rows)
    assert np.linalg.norm(left - right, norm) >= (1.0 - 1e-5) * asked.sensitivity


def test_bits_do_not_depend_on_the_order_of_records_nor_on_zeros_being_stored() -> None:
    rng, about = np.random.default_rng(52), facts(5, max_weight=1.3)
    rows = random_rows(rng, 5000, about)
    rows.X[rng.random(rows.X.shape) < 0.5] = 0.0
    asked = query(about, Neighbours.REPLACE_ONE)
    sums = asked.exact(rows)
    assert np.array_equal(sums, asked.exact(reordered(rows, rng.permutation(5000))))
    assert np.array_equal(sums, asked.exact(Rows(sp.csr_array(rows.X), rows.Y, rows.weight)))
    assert rows.weight is not None
    assert sums == pytest.approx((rows.weight[:, None] * rows.X**2).sum(axis=0), rel=1e-5)


@pytest.mark.parametrize("relation", RELATIONS)
def test_one_release_costs_the_epsilon_that_was_asked(relation: Neighbours) -> None:
    rng, about = np.random.default_rng(53), TABLES["weighted-ball"]
    rows, key = random_rows(rng, 300, about), TestKey(bytes(32))
    asked = PricedQueries(about, relation, 300).price("second_moments_laplace", epsilon=0.25)
    assert asked.event.pure_epsilon() == pytest.approx(0.25, rel=1e-9)
    assert asked.event.pure_epsilon() <= 0.25
    assert asked.event.delta0 < 1e-35
    moved = inflated_l1(asked.sensitivity, asked.scale, 9, asked.bound)
    assert moved <= 0.25 * asked.scale
    assert asked.sigma == pytest.approx(math.sqrt(2.0) * asked.scale)
    room = Curator(rows, [asked], key=key)
    sums = asked.exact(rows)
    noisy = laplace(sums, asked.scale, bound=asked.bound, key=key.derive("second_moments_laplace/1"))
    assert np.array_equal(room.answer("second_moments_laplace"), noisy / 300.0)
    with pytest.raises(NotPaidFor):
        room.answer("second_moments_laplace")
    with pytest.raises(NotPaidFor):
        Curator(rows, [asked]).answer("second_moments")
    smaller = asked.resized(30)
    assert smaller.scale / 30.0 == pytest.approx(asked.scale / 300.0, rel=1e-6)
    assert asked.to_dict()["sensitivity_l1_of_sum"] == asked.sensitivity


def test_without_a_price_there_is_no_noise_and_without_a_positive_one_no_query() -> None:
    about = facts(3)
    rows = random_rows(np.random.default_rng(54), 40, about)
    prices = PricedQueries(about, Neighbours.REPLACE_ONE, 40)
    free = prices.price("second_moments_laplace", epsilon=math.inf)
    assert isinstance(free.event, NotPrivateEvent)
    assert Curator(rows, [free]).answer("second_moments_laplace") == pytest.approx((rows.X**2).mean(axis=0), rel=1e-12)
    for wrong in (0.0, -1.0, math.nan):
        with pytest.raises(InvalidParameter, match="positive privacy price"):
            prices.price("second_moments_laplace", epsilon=wrong)
