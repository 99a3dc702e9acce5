"""The symmetric submodular polyhedron {s : ‖s_A‖₁ ≤ radius·F(A)}, whose support function is radius·Ω."""

from dataclasses import dataclass
from typing import final

import numpy as np

from hullabaloo.codec import Written
from hullabaloo.geometry.base import ConvexSet, HasGauge, Projectable
from hullabaloo.geometry.checks import Vector, dimension_number, norm_exponent, positive_number
from hullabaloo.geometry.submodular.base import SetFunction
from hullabaloo.geometry.submodular.checks import set_function
from hullabaloo.geometry.submodular.extremes import longest_of_polyhedron
from hullabaloo.geometry.submodular.norm import dual_omega, greedy_vertex, omega, project_polyhedron
from hullabaloo.geometry.submodular.singletons import singletons
from hullabaloo.geometry.width import Width


@final
@dataclass(frozen=True, slots=True)
class SubmodularPolyhedron(Written, ConvexSet, Projectable, HasGauge):
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "function", set_function(self.function, "A SubmodularPolyhedron"))
        object.__setattr__(self, "radius", positive_number(self.radius, "The radius of a SubmodularPolyhedron"))

    @property
    def dimension(self) -> int | None:
        """That of the function."""
        return self.function.dimension

    def support(self, g: Vector) -> float:
        """radius·Ω(g)."""
        return self.radius * omega(self.function, g)

    def vertex(self, g: Vector) -> Vector:
        """−radius times the greedy vertex of g."""
        return -self.radius * greedy_vertex(self.function, g) + 0.0

    def contains(self, theta: Vector, tolerance: float = 1e-9) -> bool:
        """Ω*(θ) ≤ radius (1 + tolerance)."""
        return dual_omega(self.function, theta).value <= self.radius * (1.0 + tolerance)

    def gauge(self, theta: Vector) -> float:
        """Ω*(θ)/radius."""
        return dual_omega(self.function, theta).value / self.radius

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

    def start(self, p: int) -> Vector:
        """Zero."""
        return np.zeros(dimension_number(p, self.dimension))
