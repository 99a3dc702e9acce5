"""What a per-record loss is: φ(z, y) of a linear prediction z = ⟨x, θ⟩, its derivatives, and their bounds.

A loss of several predictions at once (multinomial) is no function of one z and will be a class of its own beside this.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class KernelCode(IntEnum):
    """The numbers by which compiled kernels know the losses; a number once given is never given again."""

    SQUARED = 0
    LOGISTIC = 1
    HUBER = 2
    SMOOTHED_HINGE = 3
    POISSON = 4
    PINBALL = 5


@dataclass(frozen=True, slots=True)
class LossConstants:
    """Bounds on |z| ≤ Z, |y| ≤ Y: `lipschitz` ≥ |φ'|, `smoothness` ≥ φ'' ≥ `strong_convexity` ≥ 0.

    `smoothness` is infinite for a loss without a Lipschitz derivative.
    """

    lipschitz: float
    smoothness: float
    strong_convexity: float


class Loss(ABC):
    """A loss φ(z, y), convex in z; the methods act elementwise and broadcast. Derivatives are by z."""

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """The word by which users name the loss."""

    @property
    @abstractmethod
    def kernel_code(self) -> KernelCode:
        """The number by which compiled kernels know the loss."""

    @property
    @abstractmethod
    def kernel_parameter(self) -> float:
        """The loss's one parameter for the compiled kernels (Huber's h, pinball's τ); 0 when it has none."""

    @abstractmethod
    def value(self, z: Array, y: Array) -> Array:
        """φ(z, y)."""

    @abstractmethod
    def derivative(self, z: Array, y: Array) -> Array:
        """φ'(z, y); a subgradient where there is no derivative."""

    @abstractmethod
    def second_derivative(self, z: Array, y: Array) -> Array:
        """φ''(z, y), almost everywhere."""

    @abstractmethod
    def constants(self, prediction_bound: float, target_bound: float) -> LossConstants:
        """The bounds on |z| ≤ prediction_bound, |y| ≤ target_bound."""

    @abstractmethod
    def curvature(self, prediction_bound: float) -> float:
        """Γ ≤ 4 Z² sup φ'', the curvature of the mean loss over a set on which |⟨x, θ⟩| ≤ Z."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain data from which `loss_from_dict` makes an equal loss; under "kind" its name."""
