"""The hinge loss of support vector machines with its corner rounded."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from hullabaloo.losses.base import Array, KernelCode, Loss, LossConstants
from hullabaloo.losses.checks import SHARPEST, bounds, curvature_bound, positive
from hullabaloo.losses.margins import margin, range_above


@final
@dataclass(frozen=True, slots=True)
class SmoothedHinge(Loss):
    """A hinge of the margin m = yz, y = ±1: 0 for m ≥ 1 + h, 1 − m for m ≤ 1 − h, `(1 + h − m)²/(4h)` between.

    |φ'| ≤ 1, φ'' ≤ 1/(2h), Γ = 2Z²/h. Source: Chaudhuri, Monteleoni and Sarwate (2011), section 3.4.2.

    Attributes:
        h: half the width of the rounded corner.

    >>> float(SmoothedHinge(0.5).value(1.0, 1.0))
    0.125
    """

    h: float = 0.5
    name = kind = "smoothed_hinge"
    kernel_code = KernelCode.SMOOTHED_HINGE

    def __post_init__(self) -> None:
        positive(self.h, "The hinge's h", SHARPEST)

    @property
    def kernel_parameter(self) -> float:
        """Half-width h."""
        return float(self.h)

    @property
    def intercept_bounds(self) -> tuple[float, float]:
        """±(1 + h): a constant beyond it loses nothing on its own class and more on the other, so it is never best."""
        return -1.0 - self.h, 1.0 + self.h

    def value(self, z: Array, y: Array) -> Array:
        """`s²h + (1 − h − m)₊` with s = clip((1 + h − m)/(2h), 0, 1), so that a huge margin is never squared."""
        m = margin(z, y)
        rounded = self._steepness(m)
        value: Array = self.h * rounded * rounded + np.maximum(1.0 - self.h - m, 0.0)
        return value

    def derivative(self, z: Array, y: Array) -> Array:
        """`−y clip((1 + h − m)/(2h), 0, 1)`."""
        slope: Array = -np.asarray(y) * self._steepness(margin(z, y))
        return slope

    def second_derivative(self, z: Array, y: Array) -> Array:
        """y²/(2h) where |1 − m| ≤ h, else 0."""
        bend: Array = np.where(np.abs(1.0 - margin(z, y)) <= self.h, np.square(y) / (2.0 * self.h), 0.0)
        return bend

    def constants(self, prediction_bound: float, target_bound: float, clip: float = math.inf) -> LossConstants:
        """Lipschitz Y (less where −YZ does not leave the corner), smooth with constant Y²/(2h)."""
        size, targets, clip = bounds(prediction_bound, target_bound, clip)
        steepest = 0.0 if targets == 0.0 else min((1.0 + self.h + targets * size) / (2.0 * self.h), 1.0)
        smoothness = targets**2 / (2.0 * self.h)
        return LossConstants(targets * steepest, smoothness, strong_convexity=0.0).clipped(clip)

    def unclipped_range(self, clip: float, y: Array) -> tuple[Array, Array]:
        """`yz ≥ 1 + h − 2hc/|y|`; every z where |y| ≤ c."""
        steep = np.abs(y) > clip
        least = 1.0 + self.h - 2.0 * self.h * clip / np.where(steep, np.abs(y), 1.0)
        return range_above(least, steep, np.asarray(y))

    def curvature(self, prediction_bound: float) -> float:
        """2Z²/h."""
        return curvature_bound(self, prediction_bound)

    def _steepness(self, m: Array) -> Array:
        steepness: Array = np.clip((1.0 + self.h - m) / (2.0 * self.h), 0.0, 1.0)
        return steepness
