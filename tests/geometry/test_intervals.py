"""Intervals: as a cover by prefixes and suffixes, and their prox against it and against all subsets."""

import math
from fractions import Fraction

import numpy as np
import pytest

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import GroupCover, Intervals, greedy_vertex, omega, set_function_from_dict
from tests.geometry.cover_oracles import (
    PRECISION,
    assert_optimal,
    assert_structured,
    distance,
    lovasz,
    rational_prox,
    subsets,
    vectors,
    weights_for,
)


def prefixes_and_suffixes(p: int) -> list[list[int]]:
    prefixes = [list(range(i + 1)) for i in range(p - 1)]
    return [*prefixes, *(list(range(i, p)) for i in range(1, p)), list(range(p))]


@pytest.mark.parametrize("p", [1, 2, 3, 6, 9])
def test_intervals_are_the_cover_by_prefixes_suffixes_and_the_whole(p: int) -> None:
    intervals, cover = Intervals(), GroupCover(prefixes_and_suffixes(p))
    for members in subsets(p):
        where = np.flatnonzero(members)
        length = where[-1] - where[0] + 1 if where.size else 0
        assert intervals.value(members) == cover.value(members) == (p - 1 + length if where.size else 0.0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        order = rng.permutation(p)
        assert list(intervals.gains(order)) == list(cover.gains(order))


@pytest.mark.parametrize("p", [1, 2, 5, 8])
def test_intervals_are_submodular(p: int) -> None:
    assert_structured(Intervals(p), p, np.random.default_rng(1))


def test_the_length_alone_is_not_submodular() -> None:
    def length(members: set[int]) -> int:
        return max(members) - min(members) + 1

    assert length({0}) + length({2}) < length({0, 2})  # the intersection is empty
    for p in range(3, 8):  # a constant must be added of p − 2 at least, because of {0} and {p − 1}
        assert 2 * (p - 2 + 1) >= p - 2 + length({0, p - 1})
        assert 2 * (p - 3 + 1) < p - 3 + length({0, p - 1})


def test_the_norm_is_the_sum_of_largest_so_far_from_both_ends() -> None:
    rng = np.random.default_rng(2)
    for p in (1, 2, 7, 50):
        w = rng.normal(size=p)
        function = Intervals()
        closed = sum(np.abs(w[group]).max() for group in prefixes_and_suffixes(p))
        assert omega(function, w) == pytest.approx(closed, rel=1e-13)
        assert lovasz(function, w) == pytest.approx(closed, rel=1e-13)
        assert float(greedy_vertex(function, w) @ w) == pytest.approx(closed, rel=1e-13)
    block = np.where((np.arange(20) >= 3) & (np.arange(20) < 8), -2.0, 0.0)
    assert omega(Intervals(20), block) == (20 - 1 + 5) * 2.0


@pytest.mark.parametrize("p", [1, 2, 6, 10])
def test_the_prox_satisfies_the_optimality_conditions_on_all_subsets(p: int) -> None:
    rng = np.random.default_rng(3)
    sets = subsets(p)
    for _ in range(8):
        assert_optimal(Intervals(), rng.normal(size=p), float(10.0 ** rng.uniform(-2.0, 0.5)) / p, sets)


def worst_distance(cases: int, rng: np.random.Generator) -> float:
    worst = 0.0
    for _ in range(cases):
        p = int(rng.integers(1, 8))
        v = vectors(p, rng)
        weight = weights_for(v, rng) / p
        exact = rational_prox(prefixes_and_suffixes(p), [Fraction(weight)] * (2 * p - 1), v)
        worst = max(worst, distance(Intervals().prox(v, weight), exact, v))
    return worst


def test_the_prox_is_exact_to_the_last_digits() -> None:
    assert worst_distance(200, np.random.default_rng(4)) <= PRECISION


@pytest.mark.slow
def test_the_prox_is_exact_in_thousands_of_cases() -> None:
    assert worst_distance(8000, np.random.default_rng(5)) <= PRECISION


@pytest.mark.parametrize("p", [30, 200])
def test_the_prox_agrees_with_minimum_cuts_on_the_cover(p: int) -> None:
    rng = np.random.default_rng(6)
    cover = GroupCover(prefixes_and_suffixes(p))
    assert cover.forest is None
    for _ in range(30):
        v = vectors(p, rng)
        v[p // 3 : p // 2] += np.abs(v).max() * rng.choice([0.0, 1.0])
        weight = weights_for(v, rng) / p
        size = float(np.abs(v).max()) or 1.0
        assert np.linalg.norm((Intervals().prox(v, weight) - cover.prox(v, weight)) / size) <= (
            PRECISION * np.linalg.norm(v / size)
        )


def test_supports_are_blocks_and_what_is_inside_costs_nothing_more() -> None:
    v = np.array([0.0, 0.15, 4.0, -1.0, 4.0, 0.0, 0.0, 0.1])
    u = Intervals().prox(v, 0.2)
    assert list(np.flatnonzero(u)) == [2, 3, 4]
    assert u[3] == -1.0  # within the stretch of larger ones: left alone
    assert u[2] == u[4] == pytest.approx(4.0 - 0.2 * (8 - 1 + 3) / 2)


def test_scales_and_extremes() -> None:
    v = np.array([1.0, -2.0, 0.5])
    for power in (-1000, 1000):
        big = Intervals().prox(v * 2.0**power, 0.125 * 2.0**power)
        assert list(big) == [x * 2.0**power for x in Intervals().prox(v, 0.125)]
    gone = Intervals().prox(v, 1e300)
    assert not gone.any()
    assert not np.signbit(gone).any()
    assert list(Intervals().prox(v, 0.0)) == list(v)
    assert not Intervals().prox(np.zeros(3), 0.5).any()
    assert Intervals().prox(np.array([-3.0]), 1.0) == pytest.approx([-2.0])


def test_the_width_is_that_of_the_cover() -> None:
    for p in (1, 2, 40):
        cover = GroupCover(prefixes_and_suffixes(p)).gaussian_width(p)
        assert Intervals().gaussian_width(p).value == pytest.approx(cover.value, rel=1e-12)
    p = 100
    draws = np.abs(np.random.default_rng(7).standard_normal((3000, p)))
    norms = np.array([omega(Intervals(), g) for g in draws])
    slack = 5.8 * norms.std() / math.sqrt(norms.size)  # false alarm ≤ 1e-8
    assert Intervals().gaussian_width(p).value == pytest.approx(norms.mean(), abs=slack)


def test_faults_are_explained_and_intervals_are_plain_data() -> None:
    for wrong in (0, 2.5, True, "3"):
        with pytest.raises(InvalidParameter, match="number of columns of Intervals"):
            Intervals(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="the set has 3"):
        Intervals(3).prox(np.ones(4), 1.0)
    with pytest.raises(InvalidParameter, match="must be 3"):
        Intervals(3).gaussian_width(4)
    for function in (Intervals(), Intervals(7)):
        assert set_function_from_dict(function.to_dict()) == function
    assert Intervals().dimension is None
    assert Intervals(7).dimension == 7
