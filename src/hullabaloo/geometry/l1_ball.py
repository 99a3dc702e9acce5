"""The ball {‖θ‖₁ ≤ radius}: sparse models."""

from dataclasses import dataclass
from typing import final

import numpy as np

from hullabaloo.codec import Written
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.base import ConvexSet, Face, HasFaces, HasGauge, HasMirrorMap, HasVertices, Projectable
from hullabaloo.geometry.checks import Vector, absolute_sum, dimension_number, norm_exponent, positive_number, vector
from hullabaloo.geometry.mirror import PowerMap
from hullabaloo.geometry.width import Width, by_quadrature, expected_largest_magnitude


@final
@dataclass(frozen=True, slots=True)
class L1Ball(Written, ConvexSet, HasVertices, Projectable, HasFaces, HasGauge, HasMirrorMap):
    """C = {θ ∈ R^p : ‖θ‖₁ ≤ radius}, in the unit domain; radius > 0 and finite, else `InvalidParameter`.

    Support radius·max|g_j|; 2p vertices ±radius·e_j; projection by threshold in expected O(p); Gaussian width
    radius·E max|g_j| by quadrature; potential ‖θ‖_q²/(2(q−1)), q = k/(k−1), k = max(2, 2 ln p).

    >>> L1Ball(2.0).support(np.array([1.0, -3.0]))
    6.0
    """

    radius: float
    kind = "l1-ball"
    dimension = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive_number(self.radius, "The radius of an L1Ball"))

    def support(self, g: Vector) -> float:
        """radius · max|g_j|."""
        return self.radius * float(np.abs(vector(g)).max(initial=0.0))

    def vertex(self, g: Vector) -> Vector:
        """−radius·sign(g_j) e_j at the first largest |g_j|; −radius·e_0 for g = 0."""
        g = vector(g)
        j = int(np.abs(g).argmax())
        s = np.zeros(g.size)
        s[j] = self.radius if g[j] < 0.0 else -self.radius
        return s

    def vertex_count(self, p: int) -> int:
        """2p."""
        return 2 * dimension_number(p)

    def vertex_at(self, index: int, p: int) -> Vector:
        """+radius·e_j for index j < p, −radius·e_j for index p + j."""
        if not 0 <= index < self.vertex_count(p):
            raise InvalidParameter(f"{self} has {2 * p} vertices in {p} coordinates, so there is no number {index}.")
        s = np.zeros(p)
        s[index % p] = self.radius if index < p else -self.radius
        return s

    def vertex_scores(self, g: Vector) -> Vector:
        """radius·(g, −g), of length 2p."""
        scaled = self.radius * vector(g)
        return np.concatenate([scaled, -scaled])

    def project(self, theta: Vector) -> Vector:
        """Soft threshold sign(θ_j) max(|θ_j| − τ, 0), τ such that the l1 norm is the radius; a copy inside the ball."""
        theta = vector(theta)
        if absolute_sum(theta) <= self.radius:
            return theta.copy()
        from hullabaloo.geometry.kernels import project_l1

        projected: Vector = project_l1(np.ascontiguousarray(theta), self.radius)
        return projected

    def face(self, theta: Vector) -> Face:
        """On the sphere: the nonzero coordinates, their signed sum fixed; inside: everything may move."""
        if absolute_sum(theta) < self.radius * (1.0 - 1e-12):
            return Face(np.ones(theta.size, dtype=bool), None)
        return Face(theta != 0.0, np.sign(theta))

    def contains(self, theta: Vector, tolerance: float = 1e-9) -> bool:
        """‖θ‖₁ ≤ radius (1 + tolerance)."""
        return absolute_sum(vector(theta)) <= self.radius * (1.0 + tolerance)

    def gauge(self, theta: Vector) -> float:
        """‖θ‖₁/radius."""
        return absolute_sum(vector(theta)) / self.radius

    def max_norm(self, q: float, p: int) -> float:
        """The radius, for every q, attained at a vertex."""
        norm_exponent(q)
        dimension_number(p)
        return self.radius

    def gaussian_width(self, p: int) -> Width:
        """radius · E max|g_j|, about radius·√(2 ln 2p)."""
        return by_quadrature(self.radius * expected_largest_magnitude(dimension_number(p)))

    def start(self, p: int) -> Vector:
        """Zero."""
        return np.zeros(dimension_number(p))

    def mirror_map(self, p: int) -> PowerMap:
        """‖θ‖_q²/(2(q−1)), 1-strongly convex in l_q, of range radius²(k−1)/2 with k = max(2, 2 ln p)."""
        return PowerMap(self.radius, dimension_number(p))
