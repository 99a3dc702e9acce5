"""Gaussian widths against closed forms and high-precision quadrature."""

import math

import mpmath
import numpy as np
import pytest

from hullabaloo.geometry import L1Ball, L2Ball, Simplex
from hullabaloo.geometry.width import (
    expected_largest,
    expected_largest_block,
    expected_largest_magnitude,
    expected_norm,
    expected_power_norm,
)


def test_closed_forms_of_few_coordinates():
    assert expected_largest_magnitude(1) == pytest.approx(math.sqrt(2 / math.pi), rel=1e-13)
    assert expected_largest_magnitude(2) == pytest.approx(2 / math.sqrt(math.pi), rel=1e-13)
    assert expected_largest(1) == 0.0
    assert expected_largest(2) == pytest.approx(1 / math.sqrt(math.pi), rel=1e-13)
    assert expected_largest(3) == pytest.approx(1.5 / math.sqrt(math.pi), rel=1e-13)


@pytest.mark.slow
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


def test_power_norms_of_few_coordinates():
    for k in (2.0, 2.05, 3.0, 13.8, 50.0, 1e4):
        assert expected_power_norm(1, k).value == pytest.approx(math.sqrt(2 / math.pi), rel=1e-11)
    assert expected_power_norm(1000, 2.0 + 1e-9).value == pytest.approx(expected_norm(1000), rel=1e-8)
    assert expected_power_norm(1000, 1e6).value == pytest.approx(expected_largest_magnitude(1000), rel=1e-5)
    with mpmath.workdps(30):
        for k in (2.1, 3.0, 10.0, 50.0):  # the length and the direction of a normal vector of the plane are independent

            def along(angle, k=k):
                return (mpmath.cos(angle) ** k + mpmath.sin(angle) ** k) ** (1 / mpmath.mpf(k))

            mean = mpmath.quad(along, mpmath.linspace(0, mpmath.pi / 4, 5)) * 4 / mpmath.pi
            assert expected_power_norm(2, k).value == pytest.approx(float(mpmath.sqrt(mpmath.pi / 2) * mean), rel=1e-10)


@pytest.mark.few(1)
@pytest.mark.parametrize(("p", "k"), [(10, 4.6), (1000, 13.8), (300, 2.5)])
def test_power_norms_agree_with_simulation(p, k):
    norms = np.linalg.norm(np.random.default_rng(0).standard_normal((4000, p)), k, axis=1)
    slack = 5.8 * norms.std() / math.sqrt(norms.size)  # false alarm ≤ 1e-8 each
    assert expected_power_norm(p, k).value == pytest.approx(norms.mean(), abs=slack)


def test_largest_blocks():
    for p in (1, 7, 10**4, 10**7):
        assert expected_largest_block(((1, p),)) == pytest.approx(expected_largest_magnitude(p), rel=1e-12)
        assert expected_largest_block(((p, 1),)) == pytest.approx(expected_norm(p), rel=1e-12 if p < 1e6 else 5e-11)
    with mpmath.workdps(30):

        def missing(t):
            below = mpmath.erf(t / mpmath.sqrt(2)) ** 2 * mpmath.gammainc(1.5, 0, t * t / 2, regularized=True) ** 3
            return 1 - below

        exact = float(mpmath.quad(missing, [0, 1, 2, 3, 4, 6, 9, 15]))
    assert expected_largest_block(((1, 2), (3, 3))) == pytest.approx(exact, rel=1e-12)
