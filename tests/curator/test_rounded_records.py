"""Rounding to lattices, and sums beyond what 62 bits hold: neither may move an answer further than is charged."""

import math

import numpy as np
import pytest

from hullabaloo.curator import MomentsQuery
from hullabaloo.curator.exact import ExactSum
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.losses import Squared
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries
from tests.curator.neighbours import facts


def test_sums_of_millions_of_the_largest_records_are_not_cut() -> None:
    """2^20 rows of ones reach 2^62 cells of the moments' lattice; 2^24 rows must still be counted, all of them."""
    total = ExactSum((1,), -42)
    for _ in range(2**13):
        total.add(np.array([2048.0]))
    assert total.value(math.inf).tolist() == [2.0**24]
    total.add(np.array([-(2.0**-42)]))
    assert total.value(math.inf)[0] == 2.0**24  # rounded once, to the nearest double
    assert total.value(1e6).tolist() == [1e6]


@pytest.mark.slow
def test_the_moments_of_three_million_records_are_their_mean() -> None:
    rows, n = Rows(np.ones((3_000_000, 1)), np.ones((3_000_000, 1))), 3_000_000
    query = PricedQueries(facts(1), Neighbours.REPLACE_ONE, n).price("moments", mu=1.0, target_scale=1.0)
    assert query.exact(rows) == pytest.approx([n, n, math.sqrt(2) * n], rel=1e-12)


@pytest.mark.few(6)
@pytest.mark.parametrize("kappa", [0.5, 1.0, 1.8, 2.0, 2.2, 3.0, 10.0])
@pytest.mark.parametrize("relation", list(Neighbours))
def test_records_whose_every_entry_is_rounded_away_from_zero(kappa: float, relation: Neighbours) -> None:
    """Half a cell in each of 100 entries lengthens x by 2e-6: the bound for κ > 1 holds x and y apart and must grow with x."""
    p = 100
    about = RowFacts(tuple(f"x{j}" for j in range(p)), False, math.sqrt(p), 1.0, 1.0, ("y",))
    query = MomentsQuery(about, relation, 1, 1, 0.3, kappa)
    cell = 2.0**query.exponent
    x = np.full((1, p), (math.floor(0.1 / cell) - 0.5 + 1e-6) * cell)
    x[0, -1] = (math.floor(math.sqrt(1.0 - float((x[0, :-1] ** 2).sum())) / cell) - 0.5 + 1e-6) * cell
    assert 1.0 - 0.2 * cell <= np.linalg.norm(x) <= 1.0
    worst = 0.0
    small = min(1.0, 1.0 / kappa**2)
    roots = [1.0, -1.0, small, -small]
    for y in roots:
        for z in roots:
            left, right = Rows(x, np.array([[y]])), Rows(-x, np.array([[z]]))
            moved = np.linalg.norm(query.exact(left) - query.exact(right))
            gone = np.linalg.norm(query.exact(left))
            worst = max(worst, float(moved if relation is Neighbours.REPLACE_ONE else gone))
    assert worst <= query.sensitivity
    assert worst >= 0.7 * query.sensitivity


def test_counts_of_light_records_are_not_cut_to_their_weight() -> None:
    light = facts(2, max_weight=0.001)
    prices = PricedQueries(light, Neighbours.ADD_OR_REMOVE, 100)
    counts = prices.price("norm_histogram", loss=Squared(), bins=4, mu=1.0)
    assert counts.bound >= 6400.0
    assert counts.sensitivity == pytest.approx(1.0, rel=1e-9)
