"""The simplex {θ ≥ 0, Σθ = radius}: mixtures and weights."""

from dataclasses import dataclass
from typing import final

import numpy as np

from hullabaloo.codec import Written
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.base import ConvexSet, Face, HasFaces, HasGauge, HasMirrorMap, HasVertices, Projectable
from hullabaloo.geometry.checks import Vector, dimension_number, norm_exponent, positive_number, vector
from hullabaloo.geometry.mirror import EntropyMap
from hullabaloo.geometry.width import Width, by_quadrature, expected_largest


@final
@dataclass(frozen=True, slots=True)
class Simplex(Written, ConvexSet, HasVertices, Projectable, HasFaces, HasGauge, HasMirrorMap):
    """C = {θ ∈ R^p : θ ≥ 0, Σθ_j = radius}, in the unit domain; radius > 0 and finite, else `InvalidParameter`.

    Support radius·max g_j; p vertices radius·e_j; projection by threshold in expected O(p); Gaussian width
    radius·E max g_j by quadrature; potential radius·Σθ_j ln(θ_j/radius) (negative entropy).

    >>> Simplex().support(np.array([1.0, -3.0]))
    1.0
    """

    radius: float = 1.0
    kind = "simplex"
    dimension = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive_number(self.radius, "The radius of a Simplex"))

    def support(self, g: Vector) -> float:
        """radius · max g_j."""
        return self.radius * float(vector(g).max())

    def vertex(self, g: Vector) -> Vector:
        """radius·e_j at the first smallest g_j; radius·e_0 for g = 0."""
        g = vector(g)
        s = np.zeros(g.size)
        s[int(g.argmin())] = self.radius
        return s

    def vertex_count(self, p: int) -> int:
        """The number of coordinates p."""
        return dimension_number(p)

    def vertex_at(self, index: int, p: int) -> Vector:
        """radius·e_index."""
        if not 0 <= index < dimension_number(p):
            raise InvalidParameter(f"{self} has {p} vertices in {p} coordinates, so there is no number {index}.")
        s = np.zeros(p)
        s[index] = self.radius
        return s

    def vertex_scores(self, g: Vector) -> Vector:
        """radius·g."""
        return self.radius * vector(g)

    def project(self, theta: Vector) -> Vector:
        """max(θ_j − τ, 0), τ such that the sum is the radius."""
        theta = vector(theta)
        dimension_number(theta.size)
        from hullabaloo.geometry.kernels import project_simplex

        projected: Vector = project_simplex(np.ascontiguousarray(theta), self.radius)
        return projected

    def face(self, theta: Vector) -> Face:
        """The positive coordinates may move, their sum is fixed."""
        return Face(theta > 0.0, np.ones(theta.size))

    def contains(self, theta: Vector, tolerance: float = 1e-9) -> bool:
        """θ ≥ 0 and Σθ = radius, up to tolerance times the radius."""
        theta = vector(theta)
        with np.errstate(over="ignore"):
            total = float(theta.sum())
        return float(theta.min()) >= -tolerance * self.radius and abs(total - self.radius) <= tolerance * self.radius

    def gauge(self, theta: Vector) -> float:
        """Σθ_j/radius for θ ≥ 0, else infinity."""
        theta = vector(theta)
        return float(theta.sum()) / self.radius if float(theta.min()) >= 0.0 else float("inf")

    def max_norm(self, q: float, p: int) -> float:
        """The radius, for every q, attained at a vertex."""
        norm_exponent(q)
        dimension_number(p)
        return self.radius

    def gaussian_width(self, p: int) -> Width:
        """radius · E max g_j."""
        return by_quadrature(self.radius * expected_largest(dimension_number(p)))

    def start(self, p: int) -> Vector:
        """The centre, radius/p in every coordinate."""
        return np.full(dimension_number(p), self.radius / p)

    def mirror_map(self, p: int) -> EntropyMap:
        """radius·Σθ_j ln(θ_j/radius), 1-strongly convex in l1, of range radius² ln p."""
        return EntropyMap(self.radius, dimension_number(p))
