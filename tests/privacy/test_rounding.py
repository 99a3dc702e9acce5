"""What is spent rounds up, what is allowed rounds down, by as little as a float can."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hullabaloo.privacy._rounding import (
    crossing,
    float_at_least,
    float_at_most,
    golden,
    reciprocal_at_least,
    root_at_least,
    root_at_most,
    sum_at_least,
)

rationals = st.fractions(Fraction(1, 10**12), 10**12)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(rationals, st.lists(st.tuples(st.floats(0.0, 1e6), st.integers(0, 9)), max_size=6))
def test_sides(value: Fraction, terms: list[tuple[float, int]]) -> None:
    above, below = float_at_least(value), float_at_most(value)
    assert Fraction(below) <= value <= Fraction(above)
    assert above <= math.nextafter(below, math.inf)
    assert Fraction(root_at_most(value)) ** 2 <= value <= Fraction(root_at_least(value)) ** 2
    assert root_at_least(value) <= root_at_most(value) * (1 + 2.0**-50)
    assert Fraction(reciprocal_at_least(above)) * Fraction(above) >= 1
    assert Fraction(sum_at_least(terms)) >= sum(count * Fraction(term) for term, count in terms)


def test_edges() -> None:
    assert float_at_most(Fraction(-1)) == root_at_most(Fraction(-1)) == sum_at_least([]) == 0.0
    assert sum_at_least([(math.inf, 1), (1.0, 2)]) == math.inf
    assert float_at_least(Fraction(10) ** 400) == math.inf
    assert reciprocal_at_least(4.0) == 0.25
    assert reciprocal_at_least(5e-324) == math.inf


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.floats(-3.0, 3.0), st.floats(-1.0, 8.0))
def test_a_search_that_may_stop_tells_what_a_whole_one_tells(lowest: float, asked: float) -> None:
    met: list[float] = []

    def bowl(x: float) -> float:
        met.append((x - lowest) ** 2)
        return met[-1]

    whole, steps = golden(bowl, -3.0, 3.0), len(met)
    met.clear()
    found = golden(bowl, -3.0, 3.0, stop=asked)
    assert (found <= asked) == (whole <= asked)
    assert found in met
    assert len(met) <= steps
    assert all(one > asked for one in met[:-2])


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.floats(1e-3, 1.0), st.floats(0.1, 40.0), st.integers(0, 2))
def test_a_crossing_is_where_the_function_was_seen_to_be_no_longer_positive(
    root: float, steep: float, kind: int
) -> None:
    """Straight, bent and broken functions: nearly straight ones, as logarithms of profiles are, in a third of what halving takes to 1e-11."""
    met: dict[float, float] = {}

    def falling(x: float) -> float:
        shapes = steep * (root - x), math.exp(-steep * x) - math.exp(-steep * root), 1.0 if x < root else -1e-3
        met[x] = shapes[kind]
        return met[x]

    found = crossing(falling, 0.0, 2.0, 1e-11)
    assert met[found] <= 0.0
    assert any(value > 0.0 and found * (1.0 - 1.1e-11) <= x < found for x, value in met.items())
    assert len(met) <= (16, 60, 60)[kind]


@pytest.mark.parametrize("below", [-1.0, -1e-300])
def test_a_crossing_at_zero_ends(below: float) -> None:
    """A function that is positive there alone was searched for without an end."""
    found = crossing(lambda x: 1.0 if x == 0.0 else below, 0.0, 2.0, 1e-11)
    assert 0.0 < found < 1e-300
