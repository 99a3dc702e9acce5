"""Gaussian widths against closed forms and high-precision quadrature."""

import math

import mpmath
import numpy as np
import pytest

from hullabaloo.geometry import L1Ball, L2Ball, Simplex
from hullabaloo.geometry.width import (
    expected_largest,
    expected_largest_magnitude,
    expected_norm,
    expected_power_norm,
    simulated_width,
)


def test_closed_forms_of_few_coordinates():
    assert expected_largest_magnitude(1) == pytest.approx(math.sqrt(2 / math.pi), rel=1e-13)
    assert expected_largest_magnitude(2) == pytest.approx(2 / math.sqrt(math.pi), rel=1e-13)
    assert expected_largest(1) == 0.0
    assert expected_largest(2) == pytest.approx(1 / math.sqrt(math.pi), rel=1e-13)
    assert expected_largest(3) == pytest.approx(1.5 / math.sqrt(math.pi), rel=1e-13)


@pytest.mark.parametrize("p", [5, 100, 10**6])
def test_quadrature_agrees_with_forty_digits(p):
    with mpmath.workdps(40):
        pieces = [0, 1, 2, 3, 4, 5, 6, 8, 12, 20]

        def both(t):
            return -mpmath.expm1(p * mpmath.log1p(-mpmath.erfc(t / mpmath.sqrt(2)))) if t else mpmath.mpf(1)

        def upper(t):
            return 1 - mpmath.ncdf(t) ** p - mpmath.ncdf(-t) ** p

        assert expected_largest_magnitude(p) == pytest.approx(float(mpmath.quad(both, pieces)), rel=1e-12)
        assert expected_largest(p) == pytest.approx(float(mpmath.quad(upper, pieces)), rel=1e-12)


@pytest.mark.parametrize("p", [1, 2, 3, 17, 299, 300, 301, 1000, 10**6, 10**8])
def test_expected_norm_agrees_with_gamma_functions(p):
    with mpmath.workdps(40):
        exact = mpmath.sqrt(2) * mpmath.gammaprod([mpmath.mpf(p + 1) / 2], [mpmath.mpf(p) / 2])
        assert expected_norm(p) == pytest.approx(float(exact), rel=5e-15)


def test_widths_at_a_million_coordinates():
    assert L1Ball(2.0).gaussian_width(10**6).value <= 2.0 * math.sqrt(2.0 * math.log(2e6))
    assert Simplex().gaussian_width(10**6).value == pytest.approx(4.86, abs=0.01)
    assert L2Ball(1.0).gaussian_width(10**6).value == pytest.approx(1e3, rel=1e-6)
    assert L1Ball(1.0).gaussian_width(1).method == "quadrature"
    assert L2Ball(1.0).gaussian_width(1).method == "closed form"


@pytest.mark.parametrize(("p", "k"), [(2, 2.0), (10, 4.6), (1000, 13.8)])
def test_the_moment_bound_encloses_the_expected_norm(p, k):
    # false alarm ≤ 1e-8 each, by concentration
    width = expected_power_norm(p, k)
    seen = simulated_width(
        lambda g: float(np.linalg.norm(g, k)), p, 1.0, generator=np.random.default_rng(0), draws=2000, failure=1e-8
    )
    assert seen.low <= width.high
    assert width.low <= seen.high
    assert width.value <= 1.1 * seen.high
