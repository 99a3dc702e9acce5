"""The convex hull of given points: mixtures of known models, expert weights, any bounded polyhedron by its vertices."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from hullabaloo.codec import Written
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.base import ConvexSet, HasGauge, HasMirrorMap, HasVertices, Projectable
from hullabaloo.geometry.checks import Vector, dimension_number, euclidean_norm, norm_exponent, vector
from hullabaloo.geometry.hull import least_weight, nearest_in_hull
from hullabaloo.geometry.mirror_vertices import VertexMap
from hullabaloo.geometry.width import Width, expected_largest, expected_norm

_PAIRS = 2000  # up to so many vertices every distance between two is looked at


_LARGEST = 1e100


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Polytope(Written, ConvexSet, HasVertices, Projectable, HasGauge, HasMirrorMap):
    """C = conv(v_1, …, v_k), in the unit domain.

    `vertices` is an array (k, p) with k, p ≥ 1 of finite numbers, else `InvalidParameter`; a copy is kept. Points inside
    the hull of the others, and points given twice, are harmless, though they count in k.

    Support max⟨v_i, g⟩; projection by a quadratic program on the weights (`nearest_in_hull`), gauge by a linear one;
    Gaussian width between proved bounds (`measured_width` simulates it); potential: negative entropy of the weights.

    >>> Polytope([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]).support(np.array([1.0, 1.0]))
    2.0
    """

    vertices: Vector
    kind = "polytope"

    def __post_init__(self) -> None:
        try:
            array = np.array(self.vertices, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidParameter(
                "The vertices of a Polytope must be k points of p numbers each, but they are not a table of numbers; "
                "give for example [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]."
            ) from error
        if array.ndim != 2 or array.size == 0:
            raise InvalidParameter(
                f"The vertices of a Polytope must be an array of k ≥ 1 points with p ≥ 1 coordinates, but its shape is "
                f"{array.shape}; give for example [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]."
            )
        if not np.isfinite(array).all():
            index = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
            raise InvalidParameter(
                f"Vertex {index} of the Polytope holds a NaN or an infinity, so the set is not bounded; "
                "give finite vertices."
            )
        if np.abs(array).max() > _LARGEST:
            raise InvalidParameter(
                f"A vertex of the Polytope holds a number beyond ±{_LARGEST:g}, whose square is no number of a machine; sets act on "
                "columns scaled to [−1, 1]: give smaller vertices."
            )
        array += 0.0  # no −0.0, so that equal sets have equal bytes
        array.flags.writeable = False
        object.__setattr__(self, "vertices", array)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polytope) and np.array_equal(self.vertices, other.vertices)

    def __hash__(self) -> int:
        return hash((self.vertices.shape, self.vertices.tobytes()))

    def __repr__(self) -> str:
        k, p = self.vertices.shape
        return f"Polytope({k} vertices in R^{p})"

    @property
    def dimension(self) -> int | None:
        """p, the number of coordinates of each vertex."""
        return int(self.vertices.shape[1])

    def support(self, g: Vector) -> float:
        """max⟨v_i, g⟩."""
        return float(self.vertex_scores(g).max())

    def vertex(self, g: Vector) -> Vector:
        """The first v_i of smallest ⟨v_i, g⟩; v_0 for g = 0."""
        s: Vector = self.vertices[int(self.vertex_scores(g).argmin())].copy()
        return s

    def vertex_count(self, p: int) -> int:
        """k."""
        dimension_number(p, self.dimension)
        return len(self.vertices)

    def vertex_at(self, index: int, p: int) -> Vector:
        """v_index."""
        if not 0 <= index < self.vertex_count(p):
            raise InvalidParameter(f"{self} has no vertex number {index}; count from 0.")
        s: Vector = self.vertices[index].copy()
        return s

    def vertex_scores(self, g: Vector) -> Vector:
        """⟨v_i, g⟩ for every i."""
        scores: Vector = self.vertices @ vector(g, dimension=self.dimension)
        return scores

    def project(self, theta: Vector) -> Vector:
        """The nearest mixture of vertices; a copy of θ when it is nearer than 1e-13 of the size of C."""
        theta = vector(theta, dimension=self.dimension)
        u: Vector = nearest_in_hull(self.vertices, theta) @ self.vertices
        return theta.copy() if euclidean_norm(theta - u) <= 1e-13 * self._size() else u

    def contains(self, theta: Vector, tolerance: float = 1e-9) -> bool:
        """Whether the nearest mixture of vertices is within tolerance times the largest ‖v_i‖₂."""
        theta = vector(theta, dimension=self.dimension)
        return euclidean_norm(theta - self.project(theta)) <= tolerance * self._size()

    def gauge(self, theta: Vector) -> float:
        """The least sum of nonnegative weights w with Σ w_i v_i = θ; infinity when there are none."""
        return least_weight(self.vertices, vector(theta, dimension=self.dimension))

    def max_norm(self, q: float, p: int) -> float:
        """The largest norm of a vertex."""
        dimension_number(p, self.dimension)
        return float(np.linalg.norm(self.vertices, norm_exponent(q), axis=1).max())

    def gaussian_width(self, p: int) -> Width:
        """Between bounds; value = high. With d the distances between vertices and E_k = E max of k standard normals:

        max(max d/√(2π), min d·E_k/√2) ≤ w ≤ min(max d·E_k/√2, ρ·E‖g‖ in the dimension of the hull), ρ the radius about
        the mean. The first is E max of two; those with E_k compare with k independent normals of variance d²/2
        (Sudakov–Fernique inequality). Equal distances, as in a simplex, give the exact value.
        """
        dimension_number(p, self.dimension)
        rows = self.vertices - self.vertices.mean(axis=0)
        k = len(rows)
        squares = np.einsum("ij,ij->i", rows, rows)
        radius = math.sqrt(float(squares.max()))
        largest = expected_largest(k)
        in_ball = radius * expected_norm(min(p, k - 1)) if k > 1 else 0.0
        if k == 1 or k > _PAIRS:
            apart = float(np.linalg.norm(rows - rows[0], axis=1).max())
            nearest, farthest = 0.0, 2.0 * radius
        else:
            pairs = np.sqrt(np.maximum(0.0, squares[:, None] + squares - 2.0 * rows @ rows.T))
            nearest, farthest = float(pairs[np.triu_indices(k, 1)].min()), float(pairs.max())
            apart = farthest
        low = max(apart / math.sqrt(2.0 * math.pi), nearest / math.sqrt(2.0) * largest) * (1.0 - 1e-7)
        high = min(farthest / math.sqrt(2.0) * largest, in_ball) * (1.0 + 1e-7)
        return Width(high, low, high, "Sudakov–Fernique bound")

    def start(self, p: int) -> Vector:
        """The nearest mixture of vertices to zero."""
        return self.project(np.zeros(dimension_number(p, self.dimension)))

    def mirror_map(self, p: int) -> VertexMap:
        """Negative entropy of the weights, of range ln k."""
        dimension_number(p, self.dimension)
        return VertexMap(self.vertices)

    def _size(self) -> float:
        return float(np.linalg.norm(self.vertices, 2, axis=1).max())
