"""Costs are rounded up, what is left is rounded down, certainty is never claimed by rounding."""

import math

import pytest

from hullabaloo.report.words import down, one_in, percent, shown, up


@pytest.mark.parametrize(
    ("value", "nearest", "above", "below"),
    [(1.0, "1", "1", "1"), (0.23671, "0.2367", "0.2368", "0.2367"), (0.9999999, "1", "1", "0.9999"),
     (0.3 + 3e-13, "0.3", "0.3", "0.3"), (1e-6, "1e-6", "1e-6", "1e-6"), (0.0, "0", "0", "0"),
     (6366, "6,366", "6,366", "6,366"), (123456.7, "123,500", "123,500", "123,400"), (-0.5, "-0.5", "-0.5", "-0.5"),
     (2.7182818e-9, "2.718e-9", "2.719e-9", "2.718e-9"), (math.inf, "unlimited", "unlimited", "unlimited")],
)  # fmt: skip
def test_rounding(value: float, nearest: str, above: str, below: str) -> None:
    assert (shown(value), up(value), down(value)) == (nearest, above, below)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "50 %"), (0.5471, "54.8 %"), (0.001, "0.1 %"), (0.9991, "99.91 %"), (0.9999994, "99.99994 %"), (1.0, "100 %"),
     (0.99900001, "99.91 %"), (0.0, "0 %"), (1e-9, "0.1 %")],
)  # fmt: skip
def test_percent(value: float, text: str) -> None:
    assert percent(value) == text


def test_percent_never_understates() -> None:
    for j in range(1, 4000):
        value = 1.0 - 0.5 * 0.994**j
        assert float(percent(value)[:-2]) >= 100.0 * value - 1e-7


def test_one_in() -> None:
    assert one_in(1e-6) == "1 in 1,000,000"
    assert one_in(2.4674e-8) == "1 in 40,500,000"
