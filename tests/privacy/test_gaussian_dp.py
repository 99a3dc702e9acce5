"""The Gaussian profile against high precision, and its inverses against it."""

import math
import random

import dp_accounting
import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hullabaloo.errors import CalibrationError, InvalidParameter
from hullabaloo.privacy import gdp_delta, gdp_epsilon, gdp_mu


def exact(mu: float, epsilon: float) -> mpmath.mpf:
    """Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2) with as many digits as cancellation needs."""
    with mpmath.workdps(420):
        m, e, root = mpmath.mpf(mu), mpmath.mpf(epsilon), mpmath.sqrt(2)
        return mpmath.erfc((e / m - m / 2) / root) / 2 - mpmath.exp(e) * mpmath.erfc((e / m + m / 2) / root) / 2


def test_profile_is_above_the_exact_one_and_close() -> None:
    generator = random.Random(1)
    checked = 0
    while checked < 30:
        a, mu = generator.uniform(-8.0, 37.5), 10.0 ** generator.uniform(-8.0, 1.5)
        epsilon = (a + mu / 2.0) * mu
        if not 0.0 <= epsilon <= 1e3:
            continue
        value, truth = gdp_delta(mu, epsilon), exact(mu, epsilon)
        if truth < 1e-300:
            continue
        assert truth <= value <= truth * (1 + mpmath.mpf(1e-9)), (mu, epsilon)
        checked += 1


def test_profile_against_quadrature() -> None:
    """∫(φ(x − μ) − e^ε φ(x))₊ dx, which uses neither the formula nor its derivation.

    Tests: 003, Theorem A.2.
    """
    for mu, epsilon in [(0.2367, 1.0), (1.666, 8.0), (3.0, 0.5), (0.5, 0.0)]:
        with mpmath.workdps(30):
            cut = mpmath.mpf(epsilon) / mu + mpmath.mpf(mu) / 2

            def gap(x: mpmath.mpf, mu: float = mu, epsilon: float = epsilon) -> mpmath.mpf:
                return mpmath.npdf(x, mu) - mpmath.exp(epsilon) * mpmath.npdf(x)

            truth = mpmath.quad(gap, [cut, cut + 1, cut + 3, cut + 9, cut + 30])
        assert truth * (1 - mpmath.mpf(1e-14)) <= gdp_delta(mu, epsilon) <= truth * (1 + mpmath.mpf(1e-10))


@pytest.mark.parametrize(("epsilon", "delta", "mu"), [(1, 1e-6, 0.2367), (0.1, 1e-6, 0.0275), (8, 1e-5, 1.666)])
def test_reference_values(epsilon: float, delta: float, mu: float) -> None:
    assert gdp_mu(epsilon, delta) == pytest.approx(mu, abs=6e-5)
    assert 1.0 / gdp_mu(epsilon, delta) == pytest.approx(dp_accounting.get_sigma_gaussian(epsilon, delta), rel=1e-8)


def test_epsilon_against_dp_accounting() -> None:
    for mu, delta in [(0.2, 1e-6), (0.5, 1e-6), (1.0, 1e-6), (4.0, 1e-10)]:
        assert gdp_epsilon(mu, delta) == pytest.approx(dp_accounting.get_epsilon_gaussian(1.0 / mu, delta), rel=1e-7)


EXTREME = [
    (epsilon, delta) for epsilon in (1e-6, 1e-3, 1.0, 30.0, 1e3) for delta in (1e-300, 1e-100, 1e-18, 1e-6, 0.01, 0.9)
]


@pytest.mark.few(8)
@pytest.mark.parametrize(("epsilon", "delta"), EXTREME)
def test_mu_is_certified_and_the_largest(epsilon: float, delta: float) -> None:
    mu = gdp_mu(epsilon, delta)
    assert mu > 0.0
    assert gdp_delta(mu, epsilon) <= delta
    assert exact(mu, epsilon) <= delta
    assert exact(mu * (1.0 + 1e-10), epsilon) > delta


@pytest.mark.few(8)
@pytest.mark.parametrize("mu", [1e-8, 1e-3, 0.3, 1.0, 30.0, 1e3])
@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-5, 0.3])
def test_epsilon_is_certified(mu: float, delta: float) -> None:
    epsilon = gdp_epsilon(mu, delta)
    assert math.isfinite(epsilon)
    assert gdp_delta(mu, epsilon) <= delta
    if 0.0 < epsilon < 1e3:
        assert exact(mu, epsilon) <= delta < exact(mu, epsilon * (1.0 - 1e-9))


@settings(max_examples=60, derandomize=True, deadline=None)
@given(mu=st.floats(1e-8, 1e3), epsilon=st.floats(0.0, 1e3), more=st.floats(1.001, 5.0))
def test_monotone(mu: float, epsilon: float, more: float) -> None:
    assert gdp_delta(mu, epsilon) <= gdp_delta(mu * more, epsilon)
    assert gdp_delta(mu, epsilon * more) <= gdp_delta(mu, epsilon)


def test_edges_fail_closed() -> None:
    assert gdp_delta(0.0, 0.0) == 0.0
    assert gdp_delta(math.inf, 1.0) == 1.0
    assert gdp_delta(1e308, 1.0) == 1.0
    assert gdp_delta(math.inf, math.inf) == 1.0
    assert 0.0 < gdp_delta(1e-300, 1.0) <= 5e-324
    assert gdp_epsilon(1.0, 0.0) == math.inf
    assert gdp_epsilon(0.0, 0.0) == 0.0
    assert gdp_epsilon(math.inf, 0.1) == math.inf
    assert gdp_mu(1.0, 1.0) == math.inf
    with pytest.raises(CalibrationError, match="1/n²"):
        gdp_mu(1.0, 0.0)
    for bad in (math.nan, -1.0, -math.inf):
        for call in (
            lambda b: gdp_delta(b, 1.0),
            lambda b: gdp_delta(1.0, b),
            lambda b: gdp_epsilon(1.0, b),
            lambda b: gdp_mu(b, 0.1),
        ):
            with pytest.raises(InvalidParameter):
                call(bad)
