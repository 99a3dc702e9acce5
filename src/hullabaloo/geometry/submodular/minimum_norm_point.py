"""The prox of Ω for any set function: the minimum-norm point of a base polytope (Fujishige 1980, Wolfe 1976)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hullabaloo.geometry.checks import Vector, vector
from hullabaloo.geometry.submodular.base import SetFunction

_ROUNDING = 2.0**-52
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True, slots=True)
class Corral:
    """Vertices of the base polytope of F and the weights of a point among them: where a next search may start.

    `vertices` (m, p), each F's gains along an order, affinely independent; `weights` (m,), positive, of sum 1.
    """

    vertices: Vector
    weights: Vector


def minimum_norm_prox(function: SetFunction, v: Vector, weight: float) -> Vector:
    """argmin over u of weight·Ω(u) + ½‖u − v‖², a new array."""
    v = vector(v, dimension=function.dimension)
    fitted, _ = minimum_norm_fit(function, np.abs(v), weight)
    return np.copysign(np.maximum(0.0, fitted), v) + 0.0


def minimum_norm_fit(
    function: SetFunction, t: Vector, weight: float, start: Corral | None = None
) -> tuple[Vector, Corral]:
    """The minimiser w of weight·f(w) + ½‖w − t‖², f the Lovász extension, and the corral that led to it.

    w = −x, x the point of least norm in weight·B(F) − t (Bach 2013, Proposition 8.1). Wolfe's algorithm: the greedy
    vertex q that minimises ⟨q, x⟩ joins the corral, whose point of least norm is the next x; vertices that this point
    does not need leave. It stops when no vertex is better, ⟨x, x − q⟩ ≤ 2^-52·(‖x‖² + ‖q‖²), when the fit along the
    order of x equals −x, when rounding ends the progress, or after 20·p + 200 vertices at the latest.

    **Guarantee.** The answer is the exact isotonic regression of t − weight·gains along the order of the last x: when
    the order of x is one of w (true as soon as ‖x + w‖_∞ is below half the least difference of levels of w), the
    answer is w to the last digits, since f is linear on the cone of the order and w lies in it. In any case
    ½‖answer − w‖² ≤ ½(‖x‖² − ‖answer‖²), the duality gap, as the objective is 1-strongly convex.
    """
    scale = float(np.abs(t).max(initial=0.0)) or 1.0
    aim, weight = t / scale, weight / scale
    if start is None:
        start = Corral(_vertex(function, np.argsort(-aim, kind="stable"))[None], np.ones(1))
    corral = _Points(weight * start.vertices - aim, start.weights)
    raw = list(start.vertices)
    x = corral.shrink(raw)
    best = np.inf
    for _ in range(20 * aim.size + 200):
        order = np.argsort(x, kind="stable")
        gains = function.gains(order)
        fitted = _fit(aim, order, gains, weight)
        vertex = np.empty(aim.size)
        vertex[order] = gains
        q = weight * vertex - aim
        norm = float(x @ x)
        close = float(np.abs(x + fitted).max()) <= 4.0 * _ROUNDING * (1.0 + weight)
        optimal = float(x @ (x - q)) <= _ROUNDING * (norm + float(q @ q))
        if close or optimal or norm >= best:
            break
        best = norm
        corral.add(q)
        raw.append(vertex)
        x = corral.shrink(raw)
    return fitted * scale, Corral(np.array(raw), corral.weights)


class _Points:
    """The corral while it changes: points (m, p), weights, and the inner products of the points."""

    def __init__(self, points: Vector, weights: Vector) -> None:
        self.points, self.weights = points, weights
        self.products = points @ points.T

    def add(self, q: Vector) -> None:
        """A new point of weight 0."""
        across = self.points @ q
        self.products = np.block([[self.products, across[:, None]], [across, np.array([[q @ q]])]])
        self.points = np.vstack([self.points, q])
        self.weights = np.append(self.weights, 0.0)

    def shrink(self, raw: list[Vector]) -> Vector:
        """The point of least norm in the hull, the points not needed for it dropped (here and in `raw`)."""
        while True:
            affine = self._affine()
            if (affine > _NEGLIGIBLE).all() or affine.size == 1:
                self.weights = affine
                return affine @ self.points
            falling = affine <= _NEGLIGIBLE
            step = float(np.min(self.weights[falling] / np.maximum(self.weights - affine, 1e-300)[falling]))
            self.weights = self.weights + min(1.0, step) * (affine - self.weights)
            kept = self.weights > _NEGLIGIBLE
            if kept.all():  # the one that falls first, whatever rounding says
                kept[np.flatnonzero(falling)[np.argmin(self.weights[falling])]] = False
            if not kept.any():
                kept[np.argmax(self.weights)] = True
            self.points, self.products = self.points[kept], self.products[np.ix_(kept, kept)]
            self.weights = self.weights[kept] / self.weights[kept].sum()
            raw[:] = [vertex for vertex, keep in zip(raw, kept, strict=True) if keep]

    def _affine(self) -> Vector:
        """The weights, of sum 1 and any sign, of the least norm in the affine hull: (11ᵀ + PPᵀ) y = 1, scaled."""
        size = float(np.diag(self.products).mean()) or 1.0
        ones = np.ones(self.weights.size)
        try:
            y = np.linalg.solve(self.products + size, ones)
        except np.linalg.LinAlgError:
            y = np.linalg.lstsq(self.products + size, ones)[0]
        found: Vector = y / y.sum()
        return found


def _vertex(function: SetFunction, order: NDArray[np.int64]) -> Vector:
    vertex = np.empty(order.size)
    vertex[order] = function.gains(order)
    return vertex


def _fit(t: Vector, order: NDArray[np.int64], gains: Vector, weight: float) -> Vector:
    from hullabaloo.geometry.submodular.isotonic_kernels import falling_fit

    w = np.empty(t.size)
    w[order] = falling_fit(t[order], gains, weight, -np.inf)
    return w
