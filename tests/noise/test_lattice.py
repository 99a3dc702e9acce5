import math
from fractions import Fraction

import pytest

from hullabaloo.errors import CalibrationError, InvalidParameter
from hullabaloo.noise import cells, gaussian_scale, inflated, inflated_l1, lattice


def ceil_log2(ratio: Fraction) -> int:
    octaves = 0
    while ratio > Fraction(2) ** octaves:
        octaves += 1
    while ratio <= Fraction(2) ** (octaves - 1):
        octaves -= 1
    return octaves


@pytest.mark.parametrize("scale", [1.0, 1.5, math.nextafter(2, 0), math.pi * 2.0**-300, 0.7 * 2.0**300, 3.0])
def test_the_rule_for_k_is_exact(scale):
    for octave in range(-3, 36):
        exact = math.ldexp(scale, octave)
        for bound in (math.nextafter(exact, 0), exact, math.nextafter(exact, math.inf)):
            k = min(40, 60 - ceil_log2(Fraction(bound) / Fraction(scale)))
            if k < 25:
                with pytest.raises(CalibrationError, match="smaller bound"):
                    lattice(scale, bound)
                continue
            grid = lattice(scale, bound)
            assert grid.k == k
            assert grid.pitch == 2.0**grid.exponent
            assert Fraction(grid.ratio) * Fraction(grid.pitch) == Fraction(scale)
            assert 2**k <= grid.ratio < 2 ** (k + 1)
            assert Fraction(bound) / Fraction(grid.pitch) < 2**61


def test_too_large_values_for_the_noise_are_refused_before_any_data():
    with pytest.raises(CalibrationError, match="more noise"):
        lattice(1e-6, 1e6)


@pytest.mark.few(4)
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, -math.inf, 1e-320, 1e300, None, "wide"])
def test_public_arguments_are_positive_finite_numbers(value):
    for arguments in ((value, 1.0), (1.0, value)):
        with pytest.raises(InvalidParameter, match="Pass a positive finite"):
            lattice(*arguments)


@pytest.mark.few(5)
@pytest.mark.parametrize("p", [1, 2, 100, 10**6])
@pytest.mark.parametrize("bound", [1.0, 1e3, 1e10])
def test_inflated_sensitivities_are_rounded_upwards(p, bound):
    for delta, scale in ((1e-3, 0.7), (1.0, 1.0), (0.0, 3.0)):
        g = Fraction(lattice(scale, bound).pitch)
        excess = Fraction(inflated(delta, scale, p, bound)) - Fraction(delta)
        assert excess >= 0
        assert excess**2 >= g**2 * p
        assert Fraction(inflated_l1(delta, scale, p, bound)) >= Fraction(delta) + g * p
        assert inflated(delta, scale, p, bound) <= (delta + float(g) * math.sqrt(p)) * (1 + 1e-15)


def test_rounding_is_nearly_free_at_the_finest_lattice():
    assert inflated(1.0, 100.0, 10**6, 1e4) < 1 + 1e-6  # σ/Δ = 100, a million coordinates: g√p ≤ 100·2^-40·10^3


@pytest.mark.parametrize("p", [0, -1, 1.5, True])
def test_the_number_of_values_is_a_positive_integer(p):
    with pytest.raises(InvalidParameter, match="positive integer"):
        inflated(1.0, 1.0, p, 1.0)


@pytest.mark.parametrize(
    ("delta", "mu", "p", "bound"), [(1.0, 0.2367, 1, 1.0), (1e-7, 5.0, 10**4, 1.0), (3.0, 1.0, 7, 1e9)]
)
def test_gaussian_scale_pays_for_rounding(delta, mu, p, bound):
    sigma = gaussian_scale(delta, mu, p, bound)
    assert Fraction(inflated(delta, sigma, p, bound)) <= Fraction(mu) * Fraction(sigma)
    assert sigma <= delta / mu * 1.01


def test_gaussian_scale_refuses_what_no_noise_can_pay_for():
    with pytest.raises(CalibrationError, match="costs more than the budget"):
        gaussian_scale(1.0, 1e-10, 10**6, 1.0)


def test_cells_of_a_score():
    assert cells(1.0, 1.0) == 2**40 + 1
    assert cells(1.5, 2.0**30) == Fraction(3, 2) * 2**30 + 1
