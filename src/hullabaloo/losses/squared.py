"""The squared loss ½(z − y)²."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from hullabaloo.losses.base import Array, KernelCode, Loss, LossConstants
from hullabaloo.losses.checks import bounds, curvature_bound


@final
@dataclass(frozen=True, slots=True)
class Squared(Loss):
    """φ(z, y) = ½(z − y)²: |φ'| ≤ Z + Y, φ'' = 1, Γ = 4Z².

    >>> float(Squared().value(3.0, 1.0))
    2.0
    """

    kind = "squared"

    name = "squared"
    kernel_code = KernelCode.SQUARED
    kernel_parameter = 0.0
    intercept_bounds = -1.0, 1.0

    def value(self, z: Array, y: Array) -> Array:
        """½(z − y)²."""
        residual = np.subtract(z, y)
        halved: Array = 0.5 * residual * residual
        return halved

    def derivative(self, z: Array, y: Array) -> Array:
        """Prediction minus target, z − y."""
        residual: Array = np.subtract(z, y)
        return residual

    def second_derivative(self, z: Array, y: Array) -> Array:
        """1."""
        return np.ones(np.broadcast_shapes(np.shape(z), np.shape(y)))

    def constants(self, prediction_bound: float, target_bound: float, clip: float = math.inf) -> LossConstants:
        """Lipschitz Z + Y, smooth and strongly convex with constant 1."""
        size, targets, clip = bounds(prediction_bound, target_bound, clip)
        return LossConstants(lipschitz=size + targets, smoothness=1.0, strong_convexity=1.0).clipped(clip)

    def unclipped_range(self, clip: float, y: Array) -> tuple[Array, Array]:
        """[y − c, y + c]."""
        return np.subtract(y, clip), np.add(y, clip)

    def curvature(self, prediction_bound: float) -> float:
        """4Z²."""
        return curvature_bound(self, prediction_bound)
