"""Polyhedra whose projection is a clip or a threshold: the box, sign constraints and known bounds; the simplex, mixtures and weights."""

import math
from dataclasses import dataclass

import numpy as np

from hullabaloo.codec import Written, settle
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.base import ConvexSet, Face, HasFaces, HasGauge, HasMirrorMap, HasVertices, Projectable
from hullabaloo.geometry.checks import Vector, dimension_number, keep_number, number_or_tuple, vector
from hullabaloo.geometry.mirror import EntropyMap, EuclideanMap
from hullabaloo.geometry.numerics import euclidean_norm, norm_exponent
from hullabaloo.geometry.width import Width, by_quadrature, closed_form, expected_largest


@dataclass(frozen=True, slots=True)
class Box(Written, ConvexSet, Projectable, HasFaces, HasGauge, HasMirrorMap):
    """C = {θ ∈ R^p : lower_j ≤ θ_j ≤ upper_j}, in the unit domain.

    `lower` and `upper` are one number for all coordinates or one for each (kept as tuples); finite, and lower ≤ upper,
    else `InvalidParameter`. Equal bounds fix a coordinate. Gaussian width Σ(upper − lower)/√(2π); potential ½‖θ‖².

    >>> Box(0.0, 1.0).support(np.array([3.0, -4.0]))
    3.0
    """

    lower: float | tuple[float, ...]
    upper: float | tuple[float, ...]
    kind = "box"

    def __post_init__(self) -> None:
        lower = number_or_tuple(self.lower, "The lower bound of a Box")
        upper = number_or_tuple(self.upper, "The upper bound of a Box")
        if isinstance(lower, tuple) and isinstance(upper, float):
            upper = (upper,) * len(lower)
        if isinstance(upper, tuple) and isinstance(lower, float):
            lower = (lower,) * len(upper)
        if np.shape(lower) != np.shape(upper):
            raise InvalidParameter(
                f"The lower bound of a Box has {np.size(lower)} coordinates and the upper bound {np.size(upper)}; give one number for both, or as many for each."
            )
        wrong = np.flatnonzero(np.atleast_1d(np.asarray(lower) > np.asarray(upper)))
        if wrong.size:
            j = int(wrong[0])
            low, high = np.atleast_1d(lower)[j], np.atleast_1d(upper)[j]
            raise InvalidParameter(f"A Box needs lower ≤ upper, but coordinate {j} has {low} > {high}; swap them.")
        settle(self, lower=lower, upper=upper)

    @property
    def dimension(self) -> int | None:
        """The number of bounds, or None when one pair serves every coordinate."""
        return len(self.lower) if isinstance(self.lower, tuple) else None

    def support(self, g: Vector) -> float:
        """Σ max(lower_j g_j, upper_j g_j)."""
        g = vector(g, dimension=self.dimension)
        return float(np.maximum(np.asarray(self.lower) * g, np.asarray(self.upper) * g).sum())

    def vertex(self, g: Vector) -> Vector:
        """lower_j where g_j ≥ 0, upper_j where g_j < 0; the lower corner for g = 0."""
        g = vector(g, dimension=self.dimension)
        return np.where(g < 0.0, np.asarray(self.upper), np.asarray(self.lower))

    def project(self, theta: Vector) -> Vector:
        """θ clipped to the bounds."""
        return np.clip(vector(theta, dimension=self.dimension), self.lower, self.upper)

    def face(self, theta: Vector) -> Face:
        """Coordinates strictly inside their bounds may move."""
        return Face((theta > np.asarray(self.lower)) & (theta < np.asarray(self.upper)), None)

    def contains(self, theta: Vector, tolerance: float = 1e-9) -> bool:
        """Within the bounds, up to tolerance times the largest bound."""
        theta = vector(theta, dimension=self.dimension)
        slack = tolerance * float(self._largest(1).max())
        return bool(np.all(theta >= np.asarray(self.lower) - slack) and np.all(theta <= np.asarray(self.upper) + slack))

    def gauge(self, theta: Vector) -> float:
        """The smallest r ≥ 0 with r·lower ≤ θ ≤ r·upper; infinity when there is none, up to 1e-12 relative."""
        theta = vector(theta, dimension=self.dimension)
        lower, upper = np.broadcast_to(self.lower, theta.shape), np.broadcast_to(self.upper, theta.shape)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            needed = np.where(theta > 0.0, theta / upper, np.where(theta < 0.0, theta / lower, 0.0))
            needed = np.where(needed < 0.0, math.inf, needed)
            needed = np.where((theta > 0.0) & (upper <= 0.0) | (theta < 0.0) & (lower >= 0.0), math.inf, needed)
            allowed = np.where(lower > 0.0, theta / lower, np.where(upper < 0.0, theta / upper, math.inf))
        smallest = float(needed.max(initial=0.0))
        return smallest if smallest <= float(allowed.min(initial=math.inf)) * (1.0 + 1e-12) else math.inf

    def max_norm(self, q: float, p: int) -> float:
        """The l_q norm of the coordinates' largest magnitudes, attained at a corner."""
        largest = self._largest(dimension_number(p, self.dimension))
        q = norm_exponent(q)
        if q == 1.0:
            return float(largest.sum())
        return euclidean_norm(largest) if q == 2.0 else float(largest.max())

    def gaussian_width(self, p: int) -> Width:
        """Σ(upper_j − lower_j)/√(2π)."""
        side = np.broadcast_to(np.asarray(self.upper) - np.asarray(self.lower), (dimension_number(p, self.dimension),))
        return closed_form(float(side.sum()) / math.sqrt(2.0 * math.pi))

    def start(self, p: int) -> Vector:
        """Zero clipped to the bounds."""
        return self.project(np.zeros(dimension_number(p, self.dimension)))

    def mirror_map(self, p: int) -> EuclideanMap:
        """½‖θ‖², of range half the difference of the largest and the smallest ‖θ‖² in the box."""
        start = self.start(p)
        largest = self._largest(p)
        return EuclideanMap(self, p, 0.5 * float((largest - np.abs(start)) @ (largest + np.abs(start))))

    def _largest(self, p: int) -> Vector:
        largest = np.maximum(np.abs(self.lower), np.abs(self.upper))
        return np.broadcast_to(largest, (p if self.dimension is None else self.dimension,))


# The simplex {θ ≥ 0, Σθ = radius}.


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
        keep_number(self, "radius")

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

        return project_simplex(np.ascontiguousarray(theta), self.radius)  # type: ignore[no-any-return]

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
