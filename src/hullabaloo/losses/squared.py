"""The squared loss ½(z − y)²."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from hullabaloo.losses.base import Array, KernelCode, Loss, LossConstants
from hullabaloo.losses.checks import bound


@final
@dataclass(frozen=True, slots=True)
class Squared(Loss):
    """φ(z, y) = ½(z − y)²: |φ'| ≤ Z + Y, φ'' = 1, Γ = 4Z².

    >>> float(Squared().value(3.0, 1.0))
    2.0
    """

    @property
    def name(self) -> str:
        """Squared."""
        return "squared"

    @property
    def kernel_code(self) -> KernelCode:
        """SQUARED."""
        return KernelCode.SQUARED

    @property
    def kernel_parameter(self) -> float:
        """None is needed."""
        return 0.0

    @property
    def intercept_bounds(self) -> tuple[float, float]:
        """The target's range, [−1, 1]."""
        return -1.0, 1.0

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

    def constants(self, prediction_bound: float, target_bound: float) -> LossConstants:
        """Lipschitz Z + Y, smooth and strongly convex with constant 1."""
        lipschitz = bound(prediction_bound, "The bound on predictions") + bound(target_bound, "The bound on targets")
        return LossConstants(lipschitz=lipschitz, smoothness=1.0, strong_convexity=1.0)

    def curvature(self, prediction_bound: float) -> float:
        """4Z²."""
        return 4.0 * bound(prediction_bound, "The bound on predictions") ** 2

    def to_dict(self) -> dict[str, Any]:
        """{"kind": "squared"}."""
        return {"kind": "squared"}
