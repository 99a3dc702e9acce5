"""The logistic loss log(1 + e^{−yz})."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from hullabaloo.losses.base import Array, KernelCode, Loss, LossConstants
from hullabaloo.losses.checks import bounds, curvature_bound, exponential
from hullabaloo.losses.margins import margin, range_above


@final
@dataclass(frozen=True, slots=True)
class Logistic(Loss):
    """φ(z, y) = log(1 + e^{−yz}) with y = ±1: |φ'| ≤ 1, φ'' ≤ ¼, Γ = Z². The probability of y = 1 is 1/(1 + e^{−z}).

    >>> round(float(Logistic().value(0.0, 1.0)), 6)
    0.693147
    >>> float(Logistic().derivative(0.0, -1.0))
    0.5
    """

    kind = "logistic"

    name = "logistic"
    kernel_code = KernelCode.LOGISTIC
    kernel_parameter = 0.0
    # [−8, 8]: the best constant is the log-odds of the shares, and e^{−8} is one record in 2 982
    intercept_bounds = -8.0, 8.0

    def value(self, z: Array, y: Array) -> Array:
        """log(1 + e^{−yz}), with no overflow."""
        value: Array = np.logaddexp(0.0, -margin(z, y))
        return value

    def derivative(self, z: Array, y: Array) -> Array:
        """−y/(1 + e^{yz})."""
        m = margin(z, y)
        small = np.exp(-np.abs(m))
        slope: Array = -np.asarray(y) * (np.where(m >= 0.0, small, 1.0) / (1.0 + small))
        return slope

    def second_derivative(self, z: Array, y: Array) -> Array:
        """y² e^{yz}/(1 + e^{yz})²."""
        small = np.exp(-np.abs(margin(z, y)))
        bend: Array = np.square(y) * small / (1.0 + small) ** 2
        return bend

    def constants(self, prediction_bound: float, target_bound: float, clip: float = math.inf) -> LossConstants:
        """Lipschitz Y/(1 + e^{−YZ}) ≤ 1, smooth with constant Y²/4; not strongly convex (y = 0 is in the range).

        With a clip c < Y/2 smooth with c(Y − c): `φ'' = |φ'|(|y| − |φ'|)`, which grows with |φ'| up to |y|/2.
        """
        size, targets, clip = bounds(prediction_bound, target_bound, clip)
        lipschitz = 0.0 if targets == 0.0 else targets / (1.0 + exponential(-targets * size))
        smoothness = clip * (targets - clip) if 2.0 * clip < targets else targets**2 / 4.0
        return LossConstants(lipschitz, smoothness, strong_convexity=0.0).clipped(clip)

    def unclipped_range(self, clip: float, y: Array) -> tuple[Array, Array]:
        """`yz ≥ log(|y|/c − 1)`; every z where |y| ≤ c."""
        steep = np.abs(y) > clip
        least = np.log(np.where(steep, np.abs(y) / clip - 1.0, 1.0))
        return range_above(least, steep, np.asarray(y))

    def curvature(self, prediction_bound: float) -> float:
        """Z²."""
        return curvature_bound(self, prediction_bound)
