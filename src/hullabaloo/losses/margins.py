"""Losses of the margin m = yz, which fall in m: logistic, smoothed hinge."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from hullabaloo.losses.base import Array, KernelCode, Loss, LossConstants
from hullabaloo.losses.checks import SHARPEST, bounds, curvature_bound, exponential, positive


def margin(z: Array, y: Array) -> Array:
    """`yz`, infinite rather than a warning where a double cannot hold it."""
    with np.errstate(over="ignore"):
        return np.multiply(y, z)


def range_above(least: Array, clipped: NDArray[np.bool_], y: Array) -> tuple[Array, Array]:
    """The z with `yz ≥ least` where `clipped`, and all z elsewhere."""
    ones = np.where(clipped, y, 1.0)
    end = least / ones
    lower: Array = np.where(clipped & (ones > 0.0), end, -np.inf)
    upper: Array = np.where(clipped & (ones < 0.0), end, np.inf)
    return lower, upper


# The logistic loss log(1 + e^{−yz}).


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
        return np.logaddexp(0.0, -margin(z, y))

    def derivative(self, z: Array, y: Array) -> Array:
        """−y/(1 + e^{yz})."""
        m = margin(z, y)
        small = np.exp(-np.abs(m))
        return -np.asarray(y) * (np.where(m >= 0.0, small, 1.0) / (1.0 + small))

    def second_derivative(self, z: Array, y: Array) -> Array:
        """y² e^{yz}/(1 + e^{yz})²."""
        small = np.exp(-np.abs(margin(z, y)))
        return np.square(y) * small / (1.0 + small) ** 2

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


# The hinge loss of support vector machines with its corner rounded.


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
        return self.h * rounded * rounded + np.maximum(1.0 - self.h - m, 0.0)

    def derivative(self, z: Array, y: Array) -> Array:
        """`−y clip((1 + h − m)/(2h), 0, 1)`."""
        return -np.asarray(y) * self._steepness(margin(z, y))

    def second_derivative(self, z: Array, y: Array) -> Array:
        """y²/(2h) where |1 − m| ≤ h, else 0."""
        return np.where(np.abs(1.0 - margin(z, y)) <= self.h, np.square(y) / (2.0 * self.h), 0.0)

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
        return np.clip((1.0 + self.h - m) / (2.0 * self.h), 0.0, 1.0)
