"""The squared loss of several targets at once."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from hullabaloo.losses.base import Array, KernelCode, LossConstants, VectorLoss
from hullabaloo.losses.checks import bounds, curvature_bound


@final
@dataclass(frozen=True, slots=True)
class SquaredTargets(VectorLoss):
    """φ(z, y) = ½‖z − y‖₂²: ‖∇φ‖₂ ≤ Z + Y for ‖z‖₂ ≤ Z, ‖y‖₂ ≤ Y, ∇²φ = I, Γ = 4Z².

    >>> import numpy as np
    >>> SquaredTargets().value(np.array([[3.0, 0.0]]), np.array([[1.0, 1.0]])).tolist()
    [2.5]
    """

    kind = "squared_targets"

    name = "squared_targets"
    kernel_code = KernelCode.SQUARED_TARGETS
    kernel_parameter = 0.0
    intercept_bounds = -1.0, 1.0

    def value(self, z: Array, y: Array) -> Array:
        """½‖z − y‖₂²."""
        value: Array = 0.5 * np.sum(np.square(np.subtract(z, y)), axis=-1)
        return value

    def derivative(self, z: Array, y: Array) -> Array:
        """Predictions minus targets."""
        residual: Array = np.subtract(z, y)
        return residual

    def second_derivative(self, z: Array, y: Array) -> Array:
        """The identity."""
        shape = np.broadcast_shapes(np.shape(z), np.shape(y))
        return np.broadcast_to(np.eye(shape[-1]), (*shape, shape[-1])).copy()

    def constants(self, prediction_bound: float, target_bound: float, clip: float = math.inf) -> LossConstants:
        """Lipschitz Z + Y, smooth and strongly convex with constant 1."""
        size, targets, clip = bounds(prediction_bound, target_bound, clip)
        return LossConstants(lipschitz=size + targets, smoothness=1.0, strong_convexity=1.0).clipped(clip)

    def curvature(self, prediction_bound: float) -> float:
        """4Z²."""
        return curvature_bound(self, prediction_bound)
