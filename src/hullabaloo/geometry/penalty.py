"""Penalties ψ(θ) added to a loss: none, l1, squared l2 and their sum as scikit-learn writes it, the group lasso, the trace norm."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from hullabaloo.codec import Written, settle
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.checks import Vector, keep_number, nonnegative_number
from hullabaloo.geometry.numerics import absolute_sum
from hullabaloo.geometry.sizes import Blocks, SingularValues


class Penalty(ABC):
    """A closed convex function ψ of θ, finite everywhere, in the unit domain.

    Source: 002, Section 2.2, strong convexity.
    """

    __slots__ = ()

    @property
    def strong_convexity(self) -> float:
        """The largest known c ≥ 0 such that ψ − (c/2)‖θ‖² is convex; 0 holds of every penalty."""
        return 0.0

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


class _Elastic(Written, Penalty, HasElasticForm):
    """ψ(θ) = a‖θ‖₁ + (b/2)‖θ‖₂²."""

    __slots__ = ()

    @property
    @abstractmethod
    def weights(self) -> tuple[float, float]:
        """a and b, at or above 0."""

    @property
    @final
    def strong_convexity(self) -> float:
        """The b of the squared part."""
        return self.weights[1]

    @final
    def value(self, theta: Vector) -> float:
        """a‖θ‖₁ + (b/2)‖θ‖₂²; a part of weight 0 is not worked out."""
        flat, round_ = self.weights
        squared = 0.5 * round_ * float(theta @ theta) if round_ else 0.0
        return (flat * absolute_sum(theta) if flat else 0.0) + squared

    @final
    def prox(self, v: Vector, step: float) -> Vector:
        """Soft threshold, v_j moved towards 0 by step·a, at most to 0; then shrunk by 1 + step·b."""
        flat, round_ = self.weights
        return soft_threshold(v, step * flat) / (1.0 + step * round_)

    @final
    def elastic_weights(self, p: int) -> tuple[Vector, Vector]:
        """a and b for every coordinate."""
        flat, round_ = self.weights
        return np.full(p, flat), np.full(p, round_)


@dataclass(frozen=True, slots=True)
class NoPenalty(_Elastic):
    """ψ = 0."""

    kind = "none"
    weights = 0.0, 0.0


@dataclass(frozen=True, slots=True)
class L1Penalty(_Elastic):
    """ψ(θ) = strength·‖θ‖₁; strength ≥ 0 and finite, else `InvalidParameter`."""

    strength: float
    kind = "l1"

    def __post_init__(self) -> None:
        keep_number(self, "strength", nonnegative_number)

    @property
    def weights(self) -> tuple[float, float]:
        """(strength, 0)."""
        return self.strength, 0.0


@dataclass(frozen=True, slots=True)
class SquaredL2Penalty(_Elastic):
    """ψ(θ) = (strength/2)·‖θ‖₂²; strength ≥ 0 and finite, else `InvalidParameter`."""

    strength: float
    kind = "squared-l2"

    def __post_init__(self) -> None:
        keep_number(self, "strength", nonnegative_number)

    @property
    def weights(self) -> tuple[float, float]:
        """(0, strength)."""
        return 0.0, self.strength


@dataclass(frozen=True, slots=True)
class ElasticNetPenalty(_Elastic):
    """ψ(θ) = strength·l1_ratio·‖θ‖₁ + (strength·(1 − l1_ratio)/2)·‖θ‖₂², scikit-learn's parametrisation.

    strength ≥ 0 and 0 ≤ l1_ratio ≤ 1, finite, else `InvalidParameter`.
    """

    strength: float
    l1_ratio: float
    kind = "elastic-net"

    def __post_init__(self) -> None:
        keep_number(self, "strength", nonnegative_number)
        keep_number(self, "l1_ratio", nonnegative_number)
        if self.l1_ratio > 1.0:
            raise InvalidParameter(
                f"The l1_ratio of an ElasticNetPenalty is the share of the l1 part and must be at most 1, "
                f"but it is {self.l1_ratio}; put the size of the penalty into strength."
            )

    @property
    def weights(self) -> tuple[float, float]:
        """(strength·l1_ratio, strength·(1 − l1_ratio))."""
        return self.strength * self.l1_ratio, self.strength * (1.0 - self.l1_ratio)


def soft_threshold(v: Vector, threshold: float) -> Vector:
    """sign(v_j) max(|v_j| − threshold, 0), a new array."""
    return np.maximum(v - threshold, 0.0) + np.minimum(v + threshold, 0.0)


# Penalties of sizes: the group lasso (norms of groups) and the trace norm (singular values of a matrix).


@dataclass(frozen=True, slots=True)
class GroupPenalty(Written, Penalty):
    """ψ(θ) = strength·Σ_G √|G|·‖θ_G‖₂: the group lasso of Yuan and Lin (2006), large groups weighted by √|G|.

    `groups` is a partition of the columns 0..p−1, a list of lists of column indices: no group empty, no column in two
    groups or in none; strength ≥ 0 and finite; else `InvalidParameter`.

    >>> GroupPenalty([[0, 1, 2, 3], [4]], 0.5).value(np.array([3.0, 0.0, 4.0, 0.0, -2.0]))
    6.0
    """

    groups: tuple[tuple[int, ...], ...]
    strength: float
    blocks: Blocks = field(init=False, repr=False, compare=False)
    kind = "group"

    def __post_init__(self) -> None:
        keep_number(self, "strength", nonnegative_number)
        blocks = Blocks(self.groups)
        settle(self, blocks=blocks, groups=blocks.groups)

    def value(self, theta: Vector) -> float:
        """strength·Σ √|G|·‖θ_G‖₂."""
        return self.strength * float(np.sqrt(self.blocks.lengths) @ self.blocks.norms(theta))

    def prox(self, v: Vector, step: float) -> Vector:
        """Each block shortened by step·strength·√|G|, at most to 0."""
        split = self.blocks.split(v)
        return split.joined(np.maximum(0.0, split.sizes - step * self.strength * np.sqrt(self.blocks.lengths)))


@dataclass(frozen=True, slots=True)
class NuclearPenalty(Written, Penalty):
    """ψ(Θ) = strength·Σ σ_i(Θ) (trace or nuclear norm) of the matrix whose rows, of `columns` numbers each, θ lists.

    strength ≥ 0 and finite, columns a whole number of at least 1, else `InvalidParameter`; so is a θ whose length is no
    multiple of columns.

    >>> NuclearPenalty(0.5, columns=2).value(np.array([3.0, 0.0, 0.0, -4.0]))
    3.5
    """

    strength: float
    columns: int
    values: SingularValues = field(init=False, repr=False, compare=False)
    kind = "nuclear"

    def __post_init__(self) -> None:
        keep_number(self, "strength", nonnegative_number)
        values = SingularValues(self.columns)
        settle(self, values=values, columns=values.columns)

    def value(self, theta: Vector) -> float:
        """strength·Σ σ_i."""
        return self.strength * absolute_sum(self.values.norms(theta))

    def prox(self, v: Vector, step: float) -> Vector:
        """Singular values lowered by step·strength, at most to 0."""
        if self.strength == 0.0:
            return np.array(v, dtype=np.float64)
        split = self.values.split(v)
        return split.joined(np.maximum(0.0, split.sizes - step * self.strength))
