"""Penalties ψ(θ) added to a loss: none, l1, squared l2, and their sum as scikit-learn writes it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from hullabaloo.codec import Written
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.checks import Vector, absolute_sum, nonnegative_number


class Penalty(ABC):
    """A closed convex function ψ of θ, finite everywhere, in the unit domain."""

    __slots__ = ()

    @property
    @abstractmethod
    def strong_convexity(self) -> float:
        """The largest known c ≥ 0 such that ψ − (c/2)‖θ‖² is convex."""

    @abstractmethod
    def value(self, theta: Vector) -> float:
        """ψ(θ)."""

    @abstractmethod
    def prox(self, v: Vector, step: float) -> Vector:
        """argmin over u of ψ(u) + ‖u − v‖²/(2 step): a new array."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain data from which `penalty_from_dict` makes an equal penalty; under "kind" its name."""


class HasElasticForm(ABC):
    """A penalty of the form Σ a_j|θ_j| + (b_j/2)θ_j², for which coordinates can be solved one by one."""

    __slots__ = ()

    @abstractmethod
    def elastic_weights(self, p: int) -> tuple[Vector, Vector]:
        """The weights a and b, of length p each, at or above 0."""


@final
@dataclass(frozen=True, slots=True)
class NoPenalty(Written, Penalty, HasElasticForm):
    """ψ = 0."""

    kind = "none"

    strong_convexity = 0.0

    def value(self, theta: Vector) -> float:
        """0."""
        return 0.0

    def prox(self, v: Vector, step: float) -> Vector:
        """A copy of v."""
        return np.array(v, dtype=np.float64)

    def elastic_weights(self, p: int) -> tuple[Vector, Vector]:
        """Zeros."""
        return np.zeros(p), np.zeros(p)


@final
@dataclass(frozen=True, slots=True)
class L1Penalty(Written, Penalty, HasElasticForm):
    """ψ(θ) = strength·‖θ‖₁; strength ≥ 0 and finite, else `InvalidParameter`."""

    strength: float
    kind = "l1"
    strong_convexity = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "strength", nonnegative_number(self.strength, "The strength of an L1Penalty"))

    def value(self, theta: Vector) -> float:
        """strength·‖θ‖₁."""
        return self.strength * absolute_sum(theta)

    def prox(self, v: Vector, step: float) -> Vector:
        """Soft threshold: v_j moved towards 0 by step·strength, at most to 0."""
        return soft_threshold(v, step * self.strength)

    def elastic_weights(self, p: int) -> tuple[Vector, Vector]:
        """(strength, 0)."""
        return np.full(p, self.strength), np.zeros(p)


@final
@dataclass(frozen=True, slots=True)
class SquaredL2Penalty(Written, Penalty, HasElasticForm):
    """ψ(θ) = (strength/2)·‖θ‖₂²; strength ≥ 0 and finite, else `InvalidParameter`."""

    strength: float
    kind = "squared-l2"

    def __post_init__(self) -> None:
        object.__setattr__(self, "strength", nonnegative_number(self.strength, "The strength of a SquaredL2Penalty"))

    @property
    def strong_convexity(self) -> float:
        """The strength."""
        return self.strength

    def value(self, theta: Vector) -> float:
        """(strength/2)·‖θ‖₂²."""
        return 0.5 * self.strength * float(theta @ theta)

    def prox(self, v: Vector, step: float) -> Vector:
        """v/(1 + step·strength)."""
        return np.asarray(v, dtype=np.float64) / (1.0 + step * self.strength)

    def elastic_weights(self, p: int) -> tuple[Vector, Vector]:
        """(0, strength)."""
        return np.zeros(p), np.full(p, self.strength)


@final
@dataclass(frozen=True, slots=True)
class ElasticNetPenalty(Written, Penalty, HasElasticForm):
    """ψ(θ) = strength·l1_ratio·‖θ‖₁ + (strength·(1 − l1_ratio)/2)·‖θ‖₂², scikit-learn's parametrisation.

    strength ≥ 0 and 0 ≤ l1_ratio ≤ 1, finite, else `InvalidParameter`.
    """

    strength: float
    l1_ratio: float
    kind = "elastic-net"

    def __post_init__(self) -> None:
        object.__setattr__(self, "strength", nonnegative_number(self.strength, "The strength of an ElasticNetPenalty"))
        ratio = nonnegative_number(self.l1_ratio, "The l1_ratio of an ElasticNetPenalty")
        if ratio > 1.0:
            raise InvalidParameter(
                f"The l1_ratio of an ElasticNetPenalty is the share of the l1 part and must be at most 1, "
                f"but it is {ratio}; put the size of the penalty into strength."
            )
        object.__setattr__(self, "l1_ratio", ratio)

    @property
    def strong_convexity(self) -> float:
        """strength·(1 − l1_ratio)."""
        return self.strength * (1.0 - self.l1_ratio)

    def value(self, theta: Vector) -> float:
        """The l1 part plus the squared part."""
        squared = 0.5 * self.strong_convexity * float(theta @ theta)
        return self.strength * self.l1_ratio * absolute_sum(theta) + squared

    def prox(self, v: Vector, step: float) -> Vector:
        """Soft threshold, then shrink."""
        return soft_threshold(v, step * self.strength * self.l1_ratio) / (1.0 + step * self.strong_convexity)

    def elastic_weights(self, p: int) -> tuple[Vector, Vector]:
        """(strength·l1_ratio, strength·(1 − l1_ratio))."""
        return np.full(p, self.strength * self.l1_ratio), np.full(p, self.strong_convexity)


def soft_threshold(v: Vector, threshold: float) -> Vector:
    """sign(v_j) max(|v_j| − threshold, 0)."""
    softened: Vector = np.maximum(v - threshold, 0.0) + np.minimum(v + threshold, 0.0)
    return softened
