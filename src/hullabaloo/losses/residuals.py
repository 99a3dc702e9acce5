"""Losses of the residual r = z − y: squared, Huber, pinball."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from hullabaloo.losses.base import Array, KernelCode, Loss, LossConstants
from hullabaloo.losses.checks import SHARPEST, bounds, curvature_bound, positive, share


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
        return 0.5 * residual * residual

    def derivative(self, z: Array, y: Array) -> Array:
        """Prediction minus target, z − y."""
        return np.subtract(z, y)

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


# Huber's loss: squared near the target, linear beyond h.


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
        return 0.5 * near * near + self.h * (distance - near)

    def derivative(self, z: Array, y: Array) -> Array:
        """The residual clipped to [−h, h]."""
        return np.clip(np.subtract(z, y), -self.h, self.h)

    def second_derivative(self, z: Array, y: Array) -> Array:
        """1 within h of the target, 0 beyond."""
        return np.where(np.abs(np.subtract(z, y)) <= self.h, 1.0, 0.0)

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


# The pinball loss, whose minimiser is a quantile.


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
        return np.where(above > 0.0, (1.0 - self.tau) * above, -self.tau * above)

    def derivative(self, z: Array, y: Array) -> Array:
        """1 − τ above the target, −τ below; 0, a subgradient, on it."""
        above = np.subtract(z, y)
        return np.where(above > 0.0, 1.0 - self.tau, np.where(above < 0.0, -self.tau, 0.0))

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
