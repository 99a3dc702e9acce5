"""From a Rényi curve to (ε, δ), and back to what one order allows.

``δ(ε) ≤ exp((α − 1)(D_α − ε)) (1/α) (1 − 1/α)^{α−1}`` for every α > 1 (Canonne, Kamath & Steinke 2020, Prop. 12).
"""

import math
from collections.abc import Callable
from functools import lru_cache

from hullabaloo.errors import CalibrationError, InvalidParameter
from hullabaloo.privacy._rounding import golden, padded

Curve = Callable[[float], float]
"""A Rényi curve: order α > 1 to divergence."""


def checked_order(alpha: float) -> float:
    """Give an order as a float, or refuse one that is not above 1."""
    order = float(alpha)
    if not order > 1.0:
        raise InvalidParameter(f"A Rényi divergence was asked for at alpha={alpha!r}; its order must be above 1.")
    return order


def delta_at_order(alpha: float, divergence: float, epsilon: float) -> float:
    """Give the δ that one order of a Rényi curve certifies at ε, rounded up.

    **Guarantee.** Precondition: D_α bounds the Rényi divergence both ways. Claim: (ε, δ)-DP. Source: Canonne, Kamath & Steinke
    2020, Prop. 12. A NaN or a negative divergence is an error, never a number.
    """
    if not divergence >= 0.0:
        raise CalibrationError(f"The Rényi divergence of order {alpha!r} came out as {divergence!r}; it is at least 0.")
    if math.isinf(divergence):
        return 1.0
    gain, shift, entropy = (alpha - 1.0) * divergence, (alpha - 1.0) * epsilon, math.log(alpha)
    boost = (alpha - 1.0) * math.log1p(-1.0 / alpha)
    exponent = gain - shift + boost - entropy
    exponent += 2.0**-50 * (gain + shift - boost + entropy + 1.0)
    return 1.0 if exponent >= 0.0 else math.exp(exponent) * (1.0 + 2.0**-50) + math.ulp(0.0)


def renyi_delta(curve: Curve, epsilon: float) -> float:
    """Give the smallest δ that a search over orders certifies at ε.

    **Guarantee.** Claim: (ε, δ)-DP. Proof: every order evaluated is valid by Prop. 12, so a search that stops early is
    only loose. The exponent is convex in α for an exact curve, so a golden-section search over log(α − 1) finds it.
    """
    if math.isinf(epsilon):
        return 0.0

    def at(x: float) -> float:
        alpha = 1.0 + math.exp(x)
        return delta_at_order(alpha, curve(alpha), epsilon)

    return golden(at, -6.0, 21.0)


def order_capacity(alpha: float, epsilon: float, delta: float) -> float:
    """Give the largest divergence of one order that (ε, δ) allows, rounded down; 0 when it allows none.

    **Guarantee.** Claim: ``delta_at_order(alpha, result, epsilon) ≤ delta`` when the result is positive. Proof: it is
    evaluated, and lowered until it holds.
    """
    if not 0.0 < delta < 1.0:
        raise CalibrationError(f"A Rényi order was asked for delta={delta!r}, which must lie between 0 and 1.")
    capacity = epsilon - math.log1p(-1.0 / alpha) + (math.log(delta) + math.log(alpha)) / (alpha - 1.0)
    slack = 2.0**-50
    while capacity > 0.0 and delta_at_order(alpha, capacity, epsilon) > delta:
        capacity -= slack * (abs(capacity) + epsilon)
        slack *= 2.0
    return max(0.0, capacity)


@lru_cache(maxsize=1024)
def best_order(epsilon: float, delta: float) -> float:
    """Give the order, to four digits, at which (ε, δ) allows the most Gaussian noise: it maximises capacity/α."""

    def loss(x: float) -> float:
        alpha = 1.0 + math.exp(x)
        return -(epsilon - math.log1p(-1.0 / alpha) + (math.log(delta) + math.log(alpha)) / (alpha - 1.0)) / alpha

    low, high = -6.0, 21.0
    for _ in range(120):
        third = (high - low) / 3.0
        if loss(low + third) < loss(high - third):
            high -= third
        else:
            low += third
    return max(float(f"{1.0 + math.exp((low + high) / 2.0):.4g}"), 1.001)


@lru_cache(maxsize=1024)
def zcdp_rho(epsilon: float, delta: float) -> float:
    """Give the largest ρ (to the order's four digits) for which ρ-zCDP implies (ε, δ)-DP; ``zcdp_rho(1, 1e-6)`` is 0.02436.

    **Guarantee.** Claim: ``D_α ≤ αρ`` for all α implies (ε, δ)-DP. Proof: at the order used, αρ is at most its capacity.
    Source: Bun & Steinke 2016 for zCDP; Canonne, Kamath & Steinke 2020, Prop. 12.
    """
    alpha = best_order(epsilon, delta)
    return order_capacity(alpha, epsilon, delta) / padded(alpha, 4.0)
