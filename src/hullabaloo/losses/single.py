"""Losses of one prediction: of the residual r = z − y (squared, Huber, pinball), of the margin m = yz (logistic, smoothed hinge), of counts."""

import math
from dataclasses import dataclass

import numpy as np

from hullabaloo.errors import InvalidParameter
from hullabaloo.losses.base import SHARPEST, Array, KernelCode, Loss, LossConstants, OfSquares, exponential, positive


@dataclass(frozen=True, slots=True)
class Squared(OfSquares, Loss):
    """φ(z, y) = ½(z − y)²: |φ'| ≤ Z + Y, φ'' = 1, Γ = 4Z².

    >>> float(Squared().value(3.0, 1.0))
    2.0
    """

    kind = "squared"
    kernel_code = KernelCode.SQUARED

    def value(self, z: Array, y: Array) -> Array:
        """½(z − y)²."""
        residual = np.subtract(z, y)
        return 0.5 * residual * residual

    def second_derivative(self, z: Array, y: Array) -> Array:
        """1."""
        return np.ones(np.broadcast_shapes(np.shape(z), np.shape(y)))


# Huber's loss: squared near the target, linear beyond h.


@dataclass(frozen=True, slots=True)
class Huber(Loss):
    """φ(z, y) = ½r² for |r| ≤ h, else h|r| − ½h², with r = z − y: |φ'| ≤ h, φ'' ≤ 1, Γ = 4Z².

    Attributes:
        h: the residual beyond which the loss is linear, in units of half the target's declared range.

    >>> float(Huber(0.5).value(3.0, 1.0))
    0.875
    """

    h: float
    kind = "huber"
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

    def _constants(self, size: float, targets: float, clip: float) -> LossConstants:
        """Lipschitz min(h, Z + Y), smooth with constant 1; strongly convex with 1 where Z + Y ≤ h."""
        return LossConstants(lipschitz=size + targets, smoothness=1.0, strong_convexity=1.0).clipped(float(self.h))


# The pinball loss, whose minimiser is a quantile.


@dataclass(frozen=True, slots=True)
class Pinball(Loss):
    """φ(z, y) = τ(y − z)₊ + (1 − τ)(z − y)₊: |φ'| ≤ max(τ, 1 − τ), not smooth. Its best constant is the τ-quantile.

    Attributes:
        tau: the quantile's level, strictly between 0 and 1; ½ is the median (half the absolute error).

    >>> float(Pinball(0.9).value(0.0, 1.0))
    0.9
    """

    tau: float = 0.5
    kind = "pinball"
    kernel_code = KernelCode.PINBALL
    # The target's range, [−1, 1], in which its quantiles lie
    intercept_bounds = -1.0, 1.0

    def __post_init__(self) -> None:
        if not (isinstance(self.tau, int | float) and 0.0 < self.tau < 1.0):
            raise InvalidParameter(f"A quantile's level tau must lie strictly between 0 and 1, but it is {self.tau!r}.")

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

    def _constants(self, size: float, targets: float, clip: float) -> LossConstants:
        """Lipschitz max(τ, 1 − τ); no smoothness."""
        return LossConstants(max(self.tau, 1.0 - self.tau), math.inf, 0.0)


# Losses of the margin m = yz, which fall in m.


def margin(z: Array, y: Array) -> Array:
    """`yz`, infinite rather than a warning where a double cannot hold it."""
    with np.errstate(over="ignore"):
        return np.multiply(y, z)


@dataclass(frozen=True, slots=True)
class Logistic(Loss):
    """φ(z, y) = log(1 + e^{−yz}) with y = ±1: |φ'| ≤ 1, φ'' ≤ ¼, Γ = Z². The probability of y = 1 is 1/(1 + e^{−z}).

    >>> round(float(Logistic().value(0.0, 1.0)), 6)
    0.693147
    >>> float(Logistic().derivative(0.0, -1.0))
    0.5
    """

    kind = "logistic"
    kernel_code = KernelCode.LOGISTIC
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

    def _constants(self, size: float, targets: float, clip: float) -> LossConstants:
        """Lipschitz Y/(1 + e^{−YZ}) ≤ 1, smooth with constant Y²/4; not strongly convex (y = 0 is in the range).

        With a clip c < Y/2 smooth with c(Y − c): `φ'' = |φ'|(|y| − |φ'|)`, which grows with |φ'| up to |y|/2.
        """
        lipschitz = 0.0 if targets == 0.0 else targets / (1.0 + exponential(-targets * size))
        smoothness = clip * (targets - clip) if 2.0 * clip < targets else targets**2 / 4.0
        return LossConstants(lipschitz, smoothness, strong_convexity=0.0)


# The hinge loss of support vector machines with its corner rounded.


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
    kind = "smoothed_hinge"
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

    def _constants(self, size: float, targets: float, clip: float) -> LossConstants:
        """Lipschitz Y (less where −YZ does not leave the corner), smooth with constant Y²/(2h)."""
        steepest = 0.0 if targets == 0.0 else min((1.0 + self.h + targets * size) / (2.0 * self.h), 1.0)
        return LossConstants(targets * steepest, targets**2 / (2.0 * self.h), strong_convexity=0.0)

    def _steepness(self, m: Array) -> Array:
        return np.clip((1.0 + self.h - m) / (2.0 * self.h), 0.0, 1.0)


# The Poisson loss e^z − yz of counts.


@dataclass(frozen=True, slots=True)
class Poisson(Loss):
    """φ(z, y) = e^z − yz for y ≥ 0, the negative log-likelihood of a count with mean e^z, but for a term without z.

    On the unit domain y is a count divided by its declared upper bound, in [0, 1], and e^z its mean in that unit. On |z| ≤ Z:
    |φ'| ≤ max(e^Z, Y), φ'' ≤ e^Z. With the derivative clipped to [−c, c], φ'' = e^z only where e^z ≤ c + y: the
    clipped loss is smooth with constant c + Y for every z.

    >>> float(Poisson().value(0.0, 1.0))
    1.0
    """

    kind = "poisson"
    kernel_code = KernelCode.POISSON
    # [−16, 8]: the best constant is `log(mean y / mean e^offset)`
    intercept_bounds = -16.0, 8.0

    def value(self, z: Array, y: Array) -> Array:
        """`e^z − yz`; infinite where a double cannot hold it."""
        with np.errstate(over="ignore"):
            return np.exp(z) - np.multiply(y, z)

    def derivative(self, z: Array, y: Array) -> Array:
        """`e^z − y`."""
        with np.errstate(over="ignore"):
            return np.exp(z) - y

    def second_derivative(self, z: Array, y: Array) -> Array:
        """`e^z`."""
        with np.errstate(over="ignore"):
            bend: Array = np.exp(z)
        return np.broadcast_to(bend, np.broadcast_shapes(np.shape(z), np.shape(y))).copy()

    def _constants(self, size: float, targets: float, clip: float) -> LossConstants:
        """Lipschitz max(e^Z, Y − e^{−Z}), smooth with e^Z (at most c + Y with a clip c), strongly convex with e^{−Z}."""
        highest, lowest = exponential(size), exponential(-size)
        return LossConstants(max(highest, targets - lowest), min(highest, clip + targets), lowest)
