"""Huber's loss: squared near the target, linear beyond h."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from hullabaloo.losses.base import Array, KernelCode, Loss, LossConstants
from hullabaloo.losses.checks import SHARPEST, bounds, curvature_bound, positive


@final
@dataclass(frozen=True, slots=True)
class Huber(Loss):
    """φ(z, y) = ½r² for |r| ≤ h, else h|r| − ½h², with r = z − y: |φ'| ≤ h, φ'' ≤ 1, Γ = 4Z².

    Attributes:
        h: the residual beyond which the loss is linear, in units of half the target's declared range.

    >>> float(Huber(0.5).value(3.0, 1.0))
    0.875
    """

    h: float
    name = kind = "huber"
    kernel_code = KernelCode.HUBER
    # The target's range, [−1, 1]: beyond it every residual has one sign
    intercept_bounds = -1.0, 1.0

    def __post_init__(self) -> None:
        positive(self.h, "Huber's h", SHARPEST)

    @property
    def kernel_parameter(self) -> float:
        """Threshold h."""
        return float(self.h)

    def value(self, z: Array, y: Array) -> Array:
        """½s² + h(|r| − s) with s = min(|r|, h), so that a huge residual is never squared."""
        distance = np.abs(np.subtract(z, y))
        near = np.minimum(distance, self.h)
        value: Array = 0.5 * near * near + self.h * (distance - near)
        return value

    def derivative(self, z: Array, y: Array) -> Array:
        """The residual clipped to [−h, h]."""
        slope: Array = np.clip(np.subtract(z, y), -self.h, self.h)
        return slope

    def second_derivative(self, z: Array, y: Array) -> Array:
        """1 within h of the target, 0 beyond."""
        bend: Array = np.where(np.abs(np.subtract(z, y)) <= self.h, 1.0, 0.0)
        return bend

    def constants(self, prediction_bound: float, target_bound: float, clip: float = math.inf) -> LossConstants:
        """Lipschitz min(h, Z + Y), smooth with constant 1; strongly convex with 1 where Z + Y ≤ h."""
        size, targets, clip = bounds(prediction_bound, target_bound, clip)
        whole = LossConstants(lipschitz=size + targets, smoothness=1.0, strong_convexity=1.0)
        return whole.clipped(min(float(self.h), clip))

    def unclipped_range(self, clip: float, y: Array) -> tuple[Array, Array]:
        """[y − c, y + c], every z when c ≥ h."""
        reach = clip if clip < self.h else np.inf
        return np.subtract(y, reach), np.add(y, reach)

    def curvature(self, prediction_bound: float) -> float:
        """4Z²."""
        return curvature_bound(self, prediction_bound)
