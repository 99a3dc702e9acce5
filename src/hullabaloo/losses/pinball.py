"""The pinball loss, whose minimiser is a quantile."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from hullabaloo.losses.base import Array, KernelCode, Loss, LossConstants
from hullabaloo.losses.checks import bounds, curvature_bound, share


@final
@dataclass(frozen=True, slots=True)
class Pinball(Loss):
    """φ(z, y) = τ(y − z)₊ + (1 − τ)(z − y)₊: |φ'| ≤ max(τ, 1 − τ), not smooth. Its best constant is the τ-quantile.

    Attributes:
        tau: the quantile's level, strictly between 0 and 1; ½ is the median (half the absolute error).

    >>> float(Pinball(0.9).value(0.0, 1.0))
    0.9
    """

    tau: float = 0.5
    name = kind = "pinball"
    kernel_code = KernelCode.PINBALL
    # The target's range, [−1, 1], in which its quantiles lie
    intercept_bounds = -1.0, 1.0

    def __post_init__(self) -> None:
        share(self.tau, "The level tau of a quantile")

    @property
    def kernel_parameter(self) -> float:
        """Level τ."""
        return float(self.tau)

    def value(self, z: Array, y: Array) -> Array:
        """τ(y − z)₊ + (1 − τ)(z − y)₊."""
        above = np.subtract(z, y)
        value: Array = np.where(above > 0.0, (1.0 - self.tau) * above, -self.tau * above)
        return value

    def derivative(self, z: Array, y: Array) -> Array:
        """1 − τ above the target, −τ below; 0, a subgradient, on it."""
        above = np.subtract(z, y)
        slope: Array = np.where(above > 0.0, 1.0 - self.tau, np.where(above < 0.0, -self.tau, 0.0))
        return slope

    def second_derivative(self, z: Array, y: Array) -> Array:
        """0."""
        return np.zeros(np.broadcast_shapes(np.shape(z), np.shape(y)))

    def constants(self, prediction_bound: float, target_bound: float, clip: float = math.inf) -> LossConstants:
        """Lipschitz max(τ, 1 − τ); no smoothness."""
        clip = bounds(prediction_bound, target_bound, clip)[2]
        return LossConstants(max(self.tau, 1.0 - self.tau), math.inf, 0.0).clipped(clip)

    def unclipped_range(self, clip: float, y: Array) -> tuple[Array, Array]:
        """From y (or −∞ when c ≥ τ) to y (or ∞ when c ≥ 1 − τ)."""
        below = np.inf if clip >= self.tau else 0.0
        above = np.inf if clip >= 1.0 - self.tau else 0.0
        return np.subtract(y, below), np.add(y, above)

    def curvature(self, prediction_bound: float) -> float:
        """∞."""
        return curvature_bound(self, prediction_bound)
