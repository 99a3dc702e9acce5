"""What a per-record loss is: φ(z, y) of a linear prediction z = ⟨x, θ⟩, its derivatives, and their bounds.

A loss of several predictions at once (multinomial) is no function of one z: `VectorLoss`, beside this.
"""

import math
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from hullabaloo.codec import Written
from hullabaloo.errors import InvalidParameter

Array = NDArray[np.float64]


class KernelCode(IntEnum):
    """The numbers by which compiled kernels know the losses; a number once given is never given again."""

    SQUARED = 0
    LOGISTIC = 1
    HUBER = 2
    SMOOTHED_HINGE = 3
    POISSON = 4
    PINBALL = 5
    MULTINOMIAL = 6
    SQUARED_TARGETS = 7
    RESIDUAL_TABLE = 8
    MARGIN_TABLE = 9


@dataclass(frozen=True, slots=True)
class LossConstants:
    """Bounds on |z| ≤ Z, |y| ≤ Y: `lipschitz` ≥ |φ'|, `smoothness` ≥ φ'' ≥ `strong_convexity` ≥ 0.

    `smoothness` is infinite for a loss without a Lipschitz derivative.

    Source: 000, Section 1.2, Lipschitz continuity; 002, Section 2.2, Lipschitz continuity; 003, Definition 8.
    Source: 003, Definition 9.
    """

    lipschitz: float
    smoothness: float
    strong_convexity: float

    def clipped(self, clip: float) -> "LossConstants":
        """The constants after `|φ'|` is clipped at `clip`: projections onto a ball lengthen no difference.

        So `smoothness` stays; a strongly convex loss stays so only where nothing is clipped.
        """
        if clip >= self.lipschitz:
            return self
        return LossConstants(lipschitz=clip, smoothness=self.smoothness, strong_convexity=0.0)


class PerRecordLoss(Written, ABC):
    """What losses of one and of several predictions have in common.

    Shapes are those of `Loss` (elementwise, broadcast) or of `VectorLoss` (a row for each record).
    """

    __slots__ = ()
    kernel_code: ClassVar[KernelCode]
    """The number by which compiled kernels know the loss."""
    kernel_parameter: ClassVar[Any] = 0.0
    """The loss's one parameter for the compiled kernels (Huber's h, pinball's τ); 0 when it has none; or its table. No code: it is asked for beside records."""

    @property
    def name(self) -> str:
        """The word by which users name the loss."""
        return self.kind

    @property
    @abstractmethod
    def intercept_bounds(self) -> tuple[float, float]:
        """The public range of each fitted intercept on the unit domain: where a constant prediction can be of use."""

    @abstractmethod
    def value(self, z: Array, y: Array) -> Array:
        """φ(z, y) of every record."""

    @abstractmethod
    def derivative(self, z: Array, y: Array) -> Array:
        """φ'(z, y), or ∇φ by z; a subgradient where there is no derivative."""

    @abstractmethod
    def second_derivative(self, z: Array, y: Array) -> Array:
        """φ''(z, y), or ∇²φ by z, almost everywhere."""

    @final
    def constants(self, prediction_bound: float, target_bound: float, clip: float = math.inf) -> LossConstants:
        """The bounds on |z| ≤ prediction_bound, |y| ≤ target_bound, of φ with its derivative clipped to ±clip.

        For several predictions: of ‖∇φ‖₂ and of the eigenvalues of ∇²φ, z and y by their l2 norms; with a clip `smoothness` bounds
        the factor by which the shortened ∇φ lengthens differences.
        """
        size = bound(prediction_bound, "The bound on predictions")
        targets = bound(target_bound, "The bound on targets")
        clip = bound(clip, "The clip of derivatives")
        return self._constants(size, targets, clip).clipped(clip)

    @abstractmethod
    def _constants(self, size: float, targets: float, clip: float) -> LossConstants:
        """The same for arguments that are bounds; a Lipschitz constant above `clip` is brought down to it afterwards."""

    def curvature(self, prediction_bound: float) -> float:
        """Γ ≤ 4 Z² sup φ'', the curvature of the mean loss over a set on which |⟨x, θ⟩| (‖θᵀx‖₂) ≤ Z, for |y| ≤ 1.

        Source: 000, Definition 2.1; 002, Definition 5.1.
        """
        size = bound(prediction_bound, "The bound on predictions")
        return 0.0 if size == 0.0 else 4.0 * size**2 * self.constants(size, 1.0).smoothness


class Loss(PerRecordLoss):
    """A loss φ(z, y), convex in z; the methods act elementwise and broadcast. Derivatives are by z.

    Clipping the derivative to [−c, c] gives the derivative of a convex loss again: φ in the middle, continued by straight
    lines. `constants(…, clip=c)` are its bounds.

    Source: 003, Definition 7.
    """

    __slots__ = ()


class VectorLoss(PerRecordLoss):
    """A loss φ(z, y) of k predictions and k encoded targets, convex in z ∈ R^k; arrays are (n, k), values (n,), ∇²φ (n, k, k).

    The gradient of one record by θ (p × k) is `x ⊗ ∇φ`, of Frobenius norm `‖x‖₂ ‖∇φ‖₂`: clipping `‖∇φ‖₂`, that is,
    multiplying by `min(1, c/‖∇φ‖₂)`, bounds it.
    """

    __slots__ = ()


AnyLoss = Loss | VectorLoss


# What several losses check or compute alike.


class OfSquares(PerRecordLoss):
    """What half the square of a residual has, be it a number or a vector."""

    __slots__ = ()
    intercept_bounds = -1.0, 1.0

    def derivative(self, z: Array, y: Array) -> Array:
        """Predictions minus targets, z − y."""
        return np.subtract(z, y)

    def _constants(self, size: float, targets: float, clip: float) -> LossConstants:
        """Lipschitz Z + Y, smooth and strongly convex with constant 1."""
        return LossConstants(lipschitz=size + targets, smoothness=1.0, strong_convexity=1.0)


def bound(value: float, what: str) -> float:
    """Give `value` when it is a bound: a number at or above 0 (infinity is allowed, NaN is not)."""
    if not value >= 0.0:
        raise InvalidParameter(f"{what} must be at or above 0, but it is {value!r}; give the largest size allowed.")
    return float(value)


SHARPEST = 1e-9
"""Corners are rounded over more than this: a sharper one cannot be told from a corner, and takes for ever to minimise."""


def positive(value: float, what: str, lowest: float = 0.0) -> float:
    """Give `value` when it is a finite number above `lowest`."""
    if not (isinstance(value, int | float) and lowest < value <= sys.float_info.max):
        least = f" above {lowest:g}" if lowest else ""
        raise InvalidParameter(f"{what} must be a positive finite number{least}, but it is {value!r}.")
    return float(value)


def exponential(value: float) -> float:
    """`e^value`, infinite where a double cannot hold it."""
    return math.exp(value) if value < math.log(math.ldexp(1.0, 1023)) else math.inf
