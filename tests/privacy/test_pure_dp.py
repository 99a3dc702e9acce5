"""Randomised response and Laplace: closed forms against quadrature, and the worst case over shifts of the same l1 norm."""

import math

import mpmath
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from hullabaloo.privacy import GaussianEvent, LaplaceEvent, PermuteAndFlipEvent, gdp_delta
from hullabaloo.privacy.pure_dp import (
    laplace_profile,
    laplace_renyi,
    pure_mu,
    response_profile,
    response_renyi,
)

STRENGTHS = (1e-6, 1e-3, 0.1, 1.0, 5.0, 20.0)
ORDERS = (1.0001, 1.5, 2.0, 8.0, 100.0)


def tight(value: float, truth: mpmath.mpf, relative: float = 1e-9) -> None:
    assert truth * (1 - mpmath.mpf(1e-15)) <= value <= truth * (1 + mpmath.mpf(relative)) + mpmath.mpf(1e-300)


@pytest.mark.parametrize("strength", STRENGTHS)
def test_response_against_its_two_outcomes(strength: float) -> None:
    with mpmath.workdps(60):
        s = mpmath.mpf(strength)
        p = 1 / (1 + mpmath.exp(-s))
        for share in (0.0, 0.3, 0.9):
            truth = p - mpmath.exp(s * mpmath.mpf(share)) * (1 - p)
            if share == 0.0:
                tight(response_profile(strength, 0.0), truth)
            assert response_profile(strength, strength * share) == pytest.approx(float(truth), rel=1e-9)
        for alpha in ORDERS:
            a = mpmath.mpf(alpha)
            truth = mpmath.log(p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)) / (a - 1)
            if alpha * strength <= 300:
                tight(response_renyi(strength, alpha), truth)
            assert response_renyi(strength, alpha) >= truth * (1 - mpmath.mpf(1e-14))
    assert response_profile(strength, strength) == 0.0


@pytest.mark.few(1)
@pytest.mark.parametrize("strength", [0.05, 1.0, 6.0])
def test_laplace_against_quadrature(strength: float) -> None:
    with mpmath.workdps(30):
        s = mpmath.mpf(strength)

        def p(x: mpmath.mpf) -> mpmath.mpf:
            return mpmath.exp(-abs(x)) / 2

        for epsilon in (0.0, 0.4 * strength, 0.99 * strength):
            cut = (s - epsilon) / 2
            truth = mpmath.quad(
                lambda x, e=epsilon: p(x) - mpmath.exp(e) * p(x - s), sorted([-60, -5, min(0, cut), cut])
            )
            tight(laplace_profile(strength, epsilon), truth)
        for alpha in (1.01, 2.0, 7.0):
            moment = mpmath.quad(lambda x, a=alpha: p(x) ** a * p(x - s) ** (1 - a), [-60, -5, 0, s, s + 5, s + 60])
            tight(laplace_renyi(strength, alpha), mpmath.log(moment) / (alpha - 1), 1e-8)


@pytest.mark.few(8)
@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("alpha", ORDERS)
def test_laplace_curve_is_below_randomised_response(strength: float, alpha: float) -> None:
    with mpmath.workdps(60):
        s, a = mpmath.mpf(strength), mpmath.mpf(alpha)
        truth = mpmath.log(a / (2 * a - 1) * mpmath.exp((a - 1) * s) + (a - 1) / (2 * a - 1) * mpmath.exp(-a * s)) / (
            a - 1
        )
    assert (
        truth * (1 - mpmath.mpf(1e-14))
        <= laplace_renyi(strength, alpha)
        <= response_renyi(strength, alpha) * (1 + 1e-12)
    )


def test_a_split_shift_never_costs_more_than_one_coordinate() -> None:
    """The claim of `laplace_profile` for vectors: shifts u + v = ε₀ of two coordinates, integrated over the first one's loss."""

    def shifted(v: float, e: mpmath.mpf) -> mpmath.mpf:
        """The profile of a shift v at any real ε; below 0 by symmetry of the pair."""
        if e < 0:
            return 1 - mpmath.exp(e) * (1 - shifted(v, -e))
        return 1 - mpmath.exp((e - v) / 2) if e < v else mpmath.mpf(0)

    with mpmath.workdps(20):
        for strength in (0.3, 2.0):
            for share in (0.05, 0.3, 0.5):
                u, v = strength * share, strength * (1 - share)
                for epsilon in (0.0, 0.3 * strength, 0.8 * strength):

                    def part(x: mpmath.mpf, u: float = u, v: float = v, epsilon: float = epsilon) -> mpmath.mpf:
                        return mpmath.exp(-x) / 2 * shifted(v, epsilon - (u - 2 * x))

                    inner = sorted({0.0, u, *(k for k in ((u - epsilon + w) / 2 for w in (-v, 0.0, v)) if 0 < k < u)})
                    split = shifted(v, mpmath.mpf(epsilon - u)) / 2 + mpmath.quad(part, inner)
                    split += mpmath.exp(-u) / 2 * shifted(v, mpmath.mpf(epsilon + u))
                    assert split <= laplace_profile(strength, epsilon) * (1 + 1e-12)
                    assert split > 0.3 * laplace_profile(strength, epsilon)


@pytest.mark.few(2)
@pytest.mark.parametrize("strength", [1e-8, 1e-3, 0.5, 3.0, 19.9, 20.1, 60.0, 700.0, 2e3])
def test_pure_mu_is_certified(strength: float) -> None:
    mu = pure_mu(strength)
    with mpmath.workdps(700 if strength < 1e3 else 2300):
        assert mpmath.ncdf(-mpmath.mpf(mu) / 2) <= 1 / (1 + mpmath.exp(mpmath.mpf(strength)))
        if strength <= 600:
            assert mpmath.ncdf(-mpmath.mpf(mu) * (1 - mpmath.mpf(1e-9)) / 2) > 1 / (
                1 + mpmath.exp(mpmath.mpf(strength))
            )
    for share in (0.0, 0.2, 0.7, 0.99):
        assert response_profile(strength, share * strength) <= gdp_delta(mu, share * strength) * (1 + 1e-9)
    assert pure_mu(1e-6) == pytest.approx(1.2533141e-6, rel=1e-6)


def test_laplace_event_against_dp_accounting() -> None:
    event = LaplaceEvent(2.0)
    oracle = pld.from_laplace_mechanism(2.0, value_discretization_interval=1e-4)
    for epsilon in (0.0, 0.1, 0.4):
        assert event.profile(epsilon) == pytest.approx(oracle.get_delta_for_epsilon(epsilon), rel=2e-3)
    assert event.profile(0.5) == 0.0
    assert event.pure_epsilon() == 0.5
    assert event.zcdp_rho() == pytest.approx(0.125)


def test_pure_events_carry_their_tails_only_with_draws() -> None:
    assert LaplaceEvent(2.0).delta0 == 0.0
    with_draws = LaplaceEvent(2.0, samples=8)
    assert with_draws.delta0 == 2.0**-127
    assert with_draws.profile(1.0) == pytest.approx((1 + math.e) * 2.0**-127)
    assert PermuteAndFlipEvent(0.5).profile(0.5) == 0.0
    assert GaussianEvent(2.0).pure_epsilon() == math.inf
