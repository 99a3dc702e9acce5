"""The convex hull of given points, with the least squares and linear programs over it: mixtures of known models, expert
weights, any bounded polyhedron by its vertices."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hullabaloo.codec import Written
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.base import ConvexSet, HasGauge, HasMirrorMap, HasVertices, Projectable
from hullabaloo.geometry.checks import Vector, dimension_number, vector
from hullabaloo.geometry.mirror import OfWeights, moved_weights
from hullabaloo.geometry.numerics import euclidean_norm, norm_exponent
from hullabaloo.geometry.width import Width, expected_largest, expected_largest_magnitude, expected_norm

_FAR = 1e13  # a target this many times the hull's size away projects where its direction says, up to rounding


def nearest_in_hull(points: Vector, target: Vector) -> Vector:
    """The point of conv(rows of `points`) nearest to `target`, as its weights on the rows.

    **Guarantee.** Wolfe's algorithm (1976): a corral (affinely independent rows whose affine minimiser has positive
    weights) gains the row of smallest score, and loses rows until it is a corral again. The distance falls strictly
    from corral to corral and there are finitely many, so that it ends at the minimiser, where no row scores below
    the point itself; it converges linearly on the way (Lacoste-Julien, Jaggi 2015, Theorem 1). In floating point it
    ends when that gap, which bounds half the squared error of the point, is within rounding, or where rounding brings a
    corral back.
    """
    centre = points.mean(axis=0)
    rows = points - centre
    aim = target - centre
    size = float(np.sqrt(np.einsum("ij,ij->i", rows, rows).max()))
    if size == 0.0 or len(rows) == 1:
        return np.eye(1, len(rows)).ravel()
    distance = euclidean_norm(aim)
    if distance > _FAR * size:
        aim = aim / distance * (_FAR * size)
    corral = [int((rows @ aim).argmax())]
    weight = np.ones(1)
    seen: set[frozenset[int]] = set()
    while frozenset(corral) not in seen:
        seen.add(frozenset(corral))
        point = weight @ rows[corral]
        apart = point - aim
        length = euclidean_norm(apart)
        scores = rows @ apart
        best = int(scores.argmin())
        gap = float(point @ apart) - float(scores[best])
        if gap <= 1e-15 * size * (length + size) or best in corral:
            break
        corral.append(best)
        weight = np.append(weight, 0.0)
        corral, weight = shrunk_to_corral(rows, aim, corral, weight)
    full = np.zeros(len(rows))
    full[corral] = weight / float(weight.sum())
    return full


def shrunk_to_corral(rows: Vector, aim: Vector, corral: list[int], weight: Vector) -> tuple[list[int], Vector]:
    """Move towards the minimiser over the affine hull; where a weight reaches zero its row leaves, and again."""
    from scipy.linalg import lstsq

    while len(corral) > 1:
        base = rows[corral[0]]
        moved = lstsq((rows[corral[1:]] - base).T, aim - base, lapack_driver="gelsy", check_finite=False)[0]
        wanted = np.append(1.0 - moved.sum(), moved)
        if (wanted > 0.0).all():
            return corral, wanted
        falling = np.flatnonzero((wanted <= 0.0) & (wanted < weight))
        if falling.size == 0:
            return corral, weight
        steps = weight[falling] / (weight[falling] - wanted[falling])
        weight = np.maximum(0.0, weight + float(steps.min()) * (wanted - weight))
        weight[falling[int(steps.argmin())]] = 0.0
        corral = [index for index, w in zip(corral, weight, strict=True) if w > 0.0]
        weight = weight[weight > 0.0]
    return corral, np.ones(1)


def least_weight(points: Vector, target: Vector) -> float:
    """min{Σw : w ≥ 0, Σ w_i points_i = target} by linear programming; infinity when no weights give the target.

    The rows are first turned into an orthonormal basis of their span; the target may leave it by 1e-9 relative.
    """
    largest = float(np.abs(target).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    unit = target / largest
    left, values, _ = np.linalg.svd(points.T, full_matrices=False)
    basis = left[:, values > 1e-12 * values.max(initial=0.0)]
    aim = basis.T @ unit
    if basis.shape[1] == 0 or float(np.linalg.norm(unit - basis @ aim)) > 1e-9 * float(np.linalg.norm(unit)):
        return math.inf
    scale = float(values[0])
    found = least_weights((points @ basis).T / scale, aim, 1e-12)
    return math.inf if found is None else largest / scale * float(found[1].sum())


def least_weights(system: Vector, aim: Vector, near: float) -> tuple[NDArray[np.intp], Vector, Vector] | None:
    """argmin{Σw : w ≥ 0, Aw = b} by linear programming: columns of A, their weights (of others 0), and the dual problem's multipliers.

    The weights of the optimal basis are solved for again by least squares, to the last digits, and kept where they give b within `near`.
    None when no weights do.
    """
    from scipy.optimize import linprog

    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(np.ones(system.shape[1]), A_eq=system, b_eq=aim, method="highs", options=tight)
    if found.x is None:
        return None
    used = np.flatnonzero(found.x > 1e-9 * found.x.max(initial=0.0))
    exact = np.asarray(np.linalg.lstsq(system[:, used], aim, rcond=None)[0], dtype=np.float64)
    if exact.min(initial=0.0) >= 0.0 and np.allclose(system[:, used] @ exact, aim, rtol=0.0, atol=near):
        return used, exact, found.eqlin.marginals
    return np.arange(system.shape[1]), found.x, found.eqlin.marginals


@dataclass(frozen=True, slots=True, eq=False)
class VertexMap(OfWeights):
    """Ψ(w) = Σ w_i ln w_i for the state w, weights on the k vertices (rows) v_i; θ = Σ w_i v_i.

    1-strongly convex in ‖w‖₁ (Pinsker's inequality), and ‖θ‖ ≤ ‖w‖₁ for the norm whose unit ball is conv(±v_i), as that
    is the least ‖w‖₁ over the weights of θ. Its dual norm is max|⟨v_i, g⟩|, what a step in the weights sees of g.

    Source: 002, Fact 3.4; 002, Equation (14).
    """

    vertices: Vector
    radius = 1.0

    @property
    def range(self) -> float:
        """ln k, at a vertex."""
        return math.log(len(self.vertices))

    @property
    def unit_width(self) -> Width:
        """E max|⟨v_i, g⟩|, between E of the largest alone and the value for independent ones (Šidák 1967); value = high."""
        radius = self.unit_radius
        low, high = radius * math.sqrt(2.0 / math.pi), radius * expected_largest_magnitude(len(self.vertices))
        return Width(high, low * (1.0 - 1e-12), high * (1.0 + 1e-12), "Šidák bound")

    @property
    def unit_radius(self) -> float:
        """The largest ‖v_i‖₂."""
        return float(np.linalg.norm(self.vertices, axis=1).max())

    def dual_bound(self, norm_l1: float, norm_l2: float, norm_linf: float) -> float:
        """The largest over i of the least of ‖v_i‖₂‖x‖₂ and ‖v_i‖₁‖x‖_∞ (Hölder's inequality; ‖x‖₂² ≤ ‖x‖₁‖x‖_∞)."""
        norm_l2 = min(norm_l2, math.sqrt(norm_l1) * math.sqrt(norm_linf))
        size = np.abs(self.vertices)
        return float(np.minimum(np.linalg.norm(size, axis=1) * norm_l2, size.sum(axis=1) * norm_linf).max())

    def start(self) -> Vector:
        """Equal weights."""
        return np.full(len(self.vertices), 1.0 / len(self.vertices))

    def point(self, state: Vector) -> Vector:
        """Σ w_i v_i."""
        return state @ self.vertices

    def step(self, state: Vector, g: Vector) -> Vector:
        """Multiplicative weights: proportional to w_i exp(−⟨v_i, g⟩)."""
        weight = moved_weights(state, self.vertices @ g)
        return weight / float(weight.sum())


_PAIRS = 2000  # up to so many vertices every distance between two is looked at


_LARGEST = 1e100


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
                "The vertices of a Polytope must be k points of p numbers each, but they are not a table of numbers; give for example [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]."
            ) from error
        if array.ndim != 2 or array.size == 0:
            raise InvalidParameter(
                f"The vertices of a Polytope must be an array of k ≥ 1 points with p ≥ 1 coordinates, but its shape is "
                f"{array.shape}; give for example [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]."
            )
        if not np.isfinite(array).all():
            index = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
            raise InvalidParameter(f"Vertex {index} of the Polytope holds a NaN or an infinity; give finite vertices.")
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
        return self.vertices[int(self.vertex_scores(g).argmin())].copy()  # type: ignore[no-any-return]

    def vertex_count(self, p: int) -> int:
        """k."""
        dimension_number(p, self.dimension)
        return len(self.vertices)

    def vertex_at(self, index: int, p: int) -> Vector:
        """v_index."""
        if not 0 <= index < self.vertex_count(p):
            raise InvalidParameter(f"{self} has no vertex number {index}; count from 0.")
        return self.vertices[index].copy()  # type: ignore[no-any-return]

    def vertex_scores(self, g: Vector) -> Vector:
        """⟨v_i, g⟩ for every i."""
        return self.vertices @ vector(g, dimension=self.dimension)

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
