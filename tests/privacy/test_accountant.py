"""Mixed compositions against the privacy loss distributions of `dp_accounting`.

Traps kept out: its `count` is never used on events that are not Gaussian, and its relation is always add-or-remove, with
our own multiplier for whatever relation is in force.
"""

import math

import dp_accounting
import mpmath
import pytest
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as pld

from hullabaloo.errors import InvalidParameter
from hullabaloo.privacy import (
    GaussianEvent,
    LaplaceEvent,
    PermuteAndFlipEvent,
    SelectionEvent,
    compose,
    delta_of,
    epsilon_of,
    gdp_epsilon,
)
from hullabaloo.privacy.renyi import delta_at_order, renyi_delta

STEP = 2e-3


def oracle(*parts: tuple[str, float, int]) -> pld.PrivacyLossDistribution:
    """A pessimistic privacy loss distribution, one release at a time."""
    found = pld.identity(value_discretization_interval=STEP)
    for kind, parameter, count in parts:
        if kind == "gaussian":
            one = pld.from_gaussian_mechanism(parameter, value_discretization_interval=STEP)
        elif kind == "laplace":
            one = pld.from_laplace_mechanism(parameter, value_discretization_interval=STEP)
        else:
            one = pld.from_privacy_parameters(
                common.DifferentialPrivacyParameters(parameter, 0.0), value_discretization_interval=STEP
            )
        for _ in range(count):
            found = found.compose(one)
    return found


@pytest.mark.parametrize(
    ("event", "parts", "looseness"),
    [
        (compose(GaussianEvent(8.0), GaussianEvent(11.0), count=2), [("gaussian", 8.0, 2), ("gaussian", 11.0, 2)], 1.0),
        (
            compose(compose(GaussianEvent(5.0), count=3), LaplaceEvent(6.0)),
            [("gaussian", 5.0, 3), ("laplace", 6.0, 1)],
            1.15,
        ),
        (compose(GaussianEvent(4.0), PermuteAndFlipEvent(0.3)), [("gaussian", 4.0, 1), ("pure", 0.3, 1)], 1.2),
        (compose(LaplaceEvent(10.0), count=12), [("laplace", 10.0, 12)], 1.15),
    ],
    ids=["gaussian", "gaussian+laplace", "gaussian+permute-and-flip", "laplace"],
)
def test_mixtures_against_loss_distributions(event, parts, looseness) -> None:  # type: ignore[no-untyped-def]
    truth = oracle(*parts)
    for delta in (1e-4, 1e-6, 1e-8):
        ours, theirs = epsilon_of(event, delta), truth.get_epsilon_for_delta(delta)
        assert theirs - 20 * STEP <= ours <= theirs * looseness + 0.01


def test_selections_are_cheaper_than_as_pure_releases() -> None:
    event = compose(SelectionEvent(0.1), count=40)
    assert epsilon_of(event, 1e-6) < 0.6 * oracle(("pure", 0.1, 40)).get_epsilon_for_delta(1e-6)


def test_gaussian_releases_of_every_count_against_rdp_and_pld() -> None:
    """Tests: 003, Theorem A.4."""
    for count in (1, 10, 1000):
        event = compose(GaussianEvent(30.0), count=count)
        accountant = dp_accounting.pld.PLDAccountant(
            neighboring_relation=dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE, value_discretization_interval=1e-4
        )
        accountant.compose(dp_accounting.GaussianDpEvent(30.0), count)
        assert epsilon_of(event, 1e-6) == pytest.approx(accountant.get_epsilon(1e-6), rel=2e-3)
        assert epsilon_of(event, 1e-6) == pytest.approx(gdp_epsilon(math.sqrt(count) / 30.0, 1e-6), rel=1e-9)
        assert renyi_delta(event.renyi, 1.0) >= delta_of(event, 1.0)


def test_renyi_conversion_at_one_order_and_over_orders() -> None:
    """Prop. 12 in high precision, and that no order of a fine scan beats the search."""
    rho = 0.02
    for epsilon in (0.3, 2.0):
        scan = mpmath.mpf(1)
        for j in range(1, 4000):
            alpha = 1 + mpmath.exp(mpmath.mpf(j) / 400 - 1)
            scan = min(scan, mpmath.exp((alpha - 1) * (alpha * rho - epsilon)) / alpha * (1 - 1 / alpha) ** (alpha - 1))
        found = renyi_delta(lambda alpha: alpha * rho, epsilon)
        assert scan * (1 - mpmath.mpf(1e-4)) <= found <= scan * (1 + mpmath.mpf(1e-9))
    truth = mpmath.exp(9 * (mpmath.mpf(0.2) - 1)) / 10 * (1 - mpmath.mpf(1) / 10) ** 9
    assert truth <= delta_at_order(10.0, 0.2, 1.0) <= truth * (1 + mpmath.mpf(1e-12))


def test_broken_curves_fail_closed() -> None:
    from hullabaloo.errors import CalibrationError

    for bad in (math.nan, -1e-9):
        with pytest.raises(CalibrationError):
            renyi_delta(lambda _, bad=bad: bad, 1.0)
    assert renyi_delta(lambda _: math.inf, 1.0) == 1.0


def test_pure_epsilon_at_delta_zero() -> None:
    assert epsilon_of(compose(SelectionEvent(0.25), count=4), 0.0) == 1.0
    assert epsilon_of(GaussianEvent(1.0), 0.0) == math.inf
    assert epsilon_of(LaplaceEvent(1.0, samples=1), 0.0) == math.inf
    for delta in (-0.1, 1.0, math.nan):
        with pytest.raises(InvalidParameter):
            epsilon_of(GaussianEvent(1.0), delta)
