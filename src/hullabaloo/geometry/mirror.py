"""Potentials for mirror descent: Euclidean, negative entropy, and what potentials share."""

import math
from dataclasses import dataclass, field
from typing import final

import numpy as np

from hullabaloo.errors import CapabilityError
from hullabaloo.geometry.base import ConvexSet, HasComposite, Projectable
from hullabaloo.geometry.checks import Vector, dimension_number
from hullabaloo.geometry.numerics import euclidean_norm
from hullabaloo.geometry.width import Width, by_quadrature, closed_form, expected_largest_magnitude, expected_norm


class OfCoordinates(HasComposite):
    """A map whose state is θ itself; where a map says nothing else, it starts at zero and ∇Ψ is homogeneous of degree 1."""

    __slots__ = ()
    p: int

    @final
    def point(self, state: Vector) -> Vector:
        """The state itself."""
        return state

    def start(self) -> Vector:
        """Zero."""
        return np.zeros(self.p)

    def eased(self, state: Vector, factor: float) -> Vector:
        """state/factor."""
        return state / factor


def euclidean_map(body: ConvexSet, p: int) -> "EuclideanMap":
    """½‖θ‖² on `body` in R^p, which must have a projection, else `CapabilityError`."""
    if not isinstance(body, Projectable):
        raise CapabilityError(
            f"The Euclidean mirror map was asked for on {body!r}, which cannot be projected onto, and each of its steps is a projection; use a set with a projection."
        )
    nearest, farthest = euclidean_norm(body.start(p)), body.max_norm(2, p)
    return EuclideanMap(body, dimension_number(p), 0.5 * (farthest - nearest) * (farthest + nearest))


@dataclass(frozen=True, slots=True)
class EuclideanMap(OfCoordinates):
    """Ψ(θ) = ½‖θ‖² on any set that can be projected onto: mirror descent is then projected gradient descent.

    `range` is half the difference of the largest and the smallest ‖θ‖² over the set.

    Source: 002, Equation (13).
    """

    body: Projectable
    p: int
    range: float = field()
    unit_radius = 1.0

    @property
    def unit_width(self) -> Width:
        """E‖g‖₂."""
        return closed_form(expected_norm(self.p))

    def dual_bound(self, norm_l1: float, norm_l2: float, norm_linf: float) -> float:
        """The bound of ‖x‖₂."""
        return power_bound(2.0, self.p, norm_l1, norm_l2, norm_linf)

    def start(self) -> Vector:
        """The point of the set nearest to zero."""
        return self.body.project(np.zeros(self.p))

    def value(self, state: Vector) -> float:
        """½‖θ‖²."""
        return 0.5 * float(state @ state)

    def step(self, state: Vector, g: Vector) -> Vector:
        """The projection of state − g."""
        return self.body.project(state - g)


class OfWeights(HasComposite):
    """A potential radius·Σ w_i ln(w_i/radius) of weights w ≥ 0 whose sum is `radius` for good: the state."""

    __slots__ = ()
    radius: float

    @final
    def value(self, state: Vector) -> float:
        """radius·Σ w_i ln(w_i/radius), with 0 ln 0 = 0."""
        inside = state[state > 0.0]
        return self.radius * float(inside @ np.log(inside / self.radius))

    @final
    def eased(self, state: Vector, factor: float) -> Vector:
        """The weights' roots, which no longer sum to the radius."""
        return np.asarray(state ** (1.0 / factor), dtype=np.float64)


def moved_weights(weights: Vector, push: Vector) -> Vector:
    """Multiplicative weights: proportional to w_i exp(−push_i), the largest 1."""
    with np.errstate(divide="ignore"):
        exponent = np.log(weights) - push
    return np.exp(exponent - exponent.max())  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class EntropyMap(OfWeights, OfCoordinates):
    """Ψ(θ) = r Σ θ_j ln(θ_j/r) on the simplex of radius r: 1-strongly convex in l1 (Pinsker's inequality).

    Source: 002, Equation (14).
    """

    radius: float
    p: int
    unit_radius = 1.0

    @property
    def range(self) -> float:
        """radius² ln p."""
        return self.radius**2 * math.log(self.p)

    @property
    def unit_width(self) -> Width:
        """E max|g_j|.

        Source: 002, Remark 3.
        """
        return by_quadrature(expected_largest_magnitude(self.p))

    def dual_bound(self, norm_l1: float, norm_l2: float, norm_linf: float) -> float:
        """The bound of max|x_j|."""
        return min(norm_l1, norm_l2, norm_linf)

    def start(self) -> Vector:
        """The centre of the simplex."""
        return np.full(self.p, self.radius / self.p)

    def step(self, state: Vector, g: Vector) -> Vector:
        """Multiplicative weights: proportional to state_j exp(−g_j/r)."""
        weight = moved_weights(state, g / self.radius)
        return weight * (self.radius / float(weight.sum()))


def power_bound(k: float, p: int, norm_l1: float, norm_l2: float, norm_linf: float) -> float:
    """The least of the bounds of ‖x‖_k, k ≥ 2, that three norms of x in R^p imply.

    ‖x‖_k ≤ ‖x‖_1^{1/k} ‖x‖_∞^{1−1/k}, ‖x‖_k ≤ ‖x‖_2^{2/k} ‖x‖_∞^{1−2/k} (as |x_j|^k ≤ |x_j|^a ‖x‖_∞^{k−a}), and
    ‖x‖_k ≤ p^{1/k} ‖x‖_∞. For a matrix x ⊗ v with ‖v‖₂ ≤ 1, ‖x ⊗ v‖_k = ‖x‖_k ‖v‖_k ≤ ‖x‖_k.
    """
    largest = min(norm_l1, norm_l2, norm_linf)
    if largest == 0.0:
        return 0.0
    counts = (norm_l1 / largest, (norm_l2 / largest) ** 2, float(p))  # bounds of Σ(|x_j|/largest)^k
    return largest * math.pow(max(1.0, min(counts)), 1.0 / k)
