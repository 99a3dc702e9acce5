"""What a set function makes: the ball {Ω(θ) ≤ radius}, the polyhedron |P|, whose support function is Ω, and the penalty strength·Ω(θ)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from hullabaloo.codec import Written
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.base import HasMirrorMap, NormBall
from hullabaloo.geometry.checks import (
    Vector,
    dimension_number,
    keep_number,
    nonnegative_number,
    norm_exponent,
    positive_number,
    vector,
)
from hullabaloo.geometry.mirror import EuclideanMap
from hullabaloo.geometry.penalty import Penalty
from hullabaloo.geometry.submodular.base import SetFunction
from hullabaloo.geometry.submodular.extremes import ball_width, longest_of_ball, longest_of_polyhedron
from hullabaloo.geometry.submodular.norm import (
    closure,
    dual_omega,
    greedy_vertex,
    omega,
    project_ball,
    project_polyhedron,
    prox,
    singletons,
)
from hullabaloo.geometry.width import Width


class _OfSetFunction(NormBall):
    """A ball in a norm that a set function makes."""

    __slots__ = ()
    function: SetFunction

    def __post_init__(self) -> None:
        _checked(self, "radius", positive_number)

    @property
    @final
    def dimension(self) -> int | None:
        """That of the function."""
        return self.function.dimension


def _checked(shape: "_OfSetFunction | SubmodularPenalty", size: str, check: Callable[[object, str], float]) -> None:
    """Refuse a shape that is not made of a set function, and keep its size as a float."""
    if not isinstance(shape.function, SetFunction):
        raise InvalidParameter(
            f"A {type(shape).__name__} is made of a set function, but it was given {shape.function!r}; give for example "
            "Intervals(), a GroupCover, or a CustomSetFunction around a callable."
        )
    keep_number(shape, size, check)


# The ball {Ω(θ) ≤ radius} of the norm of a set function: structured sparsity as a constraint.


@final
@dataclass(frozen=True, slots=True)
class SubmodularBall(_OfSetFunction, HasMirrorMap):
    """C = {θ ∈ R^p : Ω(θ) ≤ radius}, Ω the norm of a set function F, in the unit domain.

    radius > 0 and finite, `function` a `SetFunction`, else `InvalidParameter`. The extreme points are
    ±radius·1_A/F(A), any signs, A closed (every further column costs) and not split by F (Bach 2010): a linear function
    has its minimum at a cheap support. Support radius·Ω*(g); projection the prox of τΩ at the root τ; potential ½‖θ‖².

    >>> from hullabaloo.geometry import BoundedCardinality
    >>> SubmodularBall(BoundedCardinality(2), 2.0).gauge(np.array([3.0, -1.0, 2.0]))
    2.5
    """

    function: SetFunction
    radius: float
    kind = "submodular-ball"

    def support(self, g: Vector) -> float:
        """radius·Ω*(g)."""
        return self.radius * dual_omega(self.function, g).value

    def vertex(self, g: Vector) -> Vector:
        """−radius·sign(g_j)/F(A) on the closure of a set A where ‖g_A‖₁/F(A) is largest, 0 outside; sign + for 0."""
        g = vector(g, dimension=self.dimension)
        members = closure(self.function, dual_omega(self.function, g).members)
        height = self.radius / self.function.value(members)
        return np.where(members, np.where(g < 0.0, height, -height), 0.0)

    def project(self, theta: Vector) -> Vector:
        """The prox of τΩ at θ, τ such that its norm is the radius; a copy inside the ball."""
        return project_ball(self.function, theta, self.radius)

    def norm(self, theta: Vector) -> float:
        """Ω(θ)."""
        return omega(self.function, theta)

    def max_norm(self, q: float, p: int) -> float:
        """radius·Ω*(1) for q = 1, radius/min F({j}) for infinity, both attained.

        For q = 2 radius·max_A √|A|/F(A), or a bound of it (`longest_of_ball`).
        """
        p = dimension_number(p, self.dimension)
        if norm_exponent(q) == 2.0:
            return self.radius * longest_of_ball(self.function, p)
        if q == 1.0:
            return self.radius * dual_omega(self.function, np.ones(p)).value
        return self.radius / float(singletons(self.function, p).min())

    def gaussian_width(self, p: int) -> Width:
        """radius·E Ω*(g): exact for the cardinality and for min(|A|, 1), else between proved bounds."""
        return ball_width(self.function, dimension_number(p, self.dimension)).scaled(self.radius)

    def mirror_map(self, p: int) -> EuclideanMap:
        """½‖θ‖²."""
        return EuclideanMap(self, dimension_number(p, self.dimension), 0.5 * self.max_norm(2, p) ** 2)


# The symmetric submodular polyhedron {s : ‖s_A‖₁ ≤ radius·F(A)}, whose support function is radius·Ω.


@final
@dataclass(frozen=True, slots=True)
class SubmodularPolyhedron(_OfSetFunction):
    """C = radius·|P|(F) = {s ∈ R^p : ‖s_A‖₁ ≤ radius·F(A) for all A}, the ball of the dual norm Ω*.

    radius > 0 and finite, `function` a `SetFunction`, else `InvalidParameter`. Support radius·Ω(g); vertices by the
    greedy algorithm; projection by Moreau from the prox of Ω; Gaussian width radius·E Ω(g).

    >>> from hullabaloo.geometry import Cardinality
    >>> SubmodularPolyhedron(Cardinality(), 2.0).vertex(np.array([1.0, -3.0]))
    array([-2.,  2.])
    """

    function: SetFunction
    radius: float
    kind = "submodular-polyhedron"

    def support(self, g: Vector) -> float:
        """radius·Ω(g)."""
        return self.radius * omega(self.function, g)

    def vertex(self, g: Vector) -> Vector:
        """−radius times the greedy vertex of g."""
        return -self.radius * greedy_vertex(self.function, g) + 0.0

    def norm(self, theta: Vector) -> float:
        """Ω*(θ)."""
        return dual_omega(self.function, theta).value

    def project(self, theta: Vector) -> Vector:
        """θ less the prox of radius·Ω at θ."""
        return project_polyhedron(self.function, theta, self.radius)

    def max_norm(self, q: float, p: int) -> float:
        """radius·F(V) for q = 1 and radius·max F({j}) for infinity, both attained.

        For q = 2 the longest greedy vertex, or a bound of it (`longest_of_polyhedron`).
        """
        p = dimension_number(p, self.dimension)
        if norm_exponent(q) == 2.0:
            return self.radius * longest_of_polyhedron(self.function, p)
        if q == 1.0:
            return self.radius * self.function.value(np.ones(p, dtype=bool))
        return self.radius * float(singletons(self.function, p).max())

    def gaussian_width(self, p: int) -> Width:
        """radius·E Ω(g)."""
        return self.function.gaussian_width(dimension_number(p, self.dimension)).scaled(self.radius)


# The penalty strength·Ω(θ): structured sparsity.


@final
@dataclass(frozen=True, slots=True)
class SubmodularPenalty(Written, Penalty):
    """ψ(θ) = strength·Ω(θ), Ω the norm of a set function: supports that the function makes cheap are favoured.

    strength ≥ 0 and finite, `function` a `SetFunction`, else `InvalidParameter`.

    >>> from hullabaloo.geometry import BoundedCardinality
    >>> SubmodularPenalty(BoundedCardinality(2), 0.5).value([3.0, -1.0, 2.0])
    2.5
    """

    function: SetFunction
    strength: float
    kind = "submodular"
    strong_convexity = 0.0

    def __post_init__(self) -> None:
        _checked(self, "strength", nonnegative_number)

    def value(self, theta: Vector) -> float:
        """strength·Ω(θ)."""
        return self.strength * omega(self.function, theta)

    def prox(self, v: Vector, step: float) -> Vector:
        """The prox of step·strength·Ω."""
        if self.strength == 0.0:
            return vector(v, dimension=self.function.dimension).copy()
        return prox(self.function, v, step * self.strength)
