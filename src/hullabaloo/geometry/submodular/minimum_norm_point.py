"""The prox of Ω for any set function: the minimum-norm point of a base polytope (Fujishige 1980, Wolfe 1976)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hullabaloo.geometry.checks import Vector
from hullabaloo.geometry.submodular.base import SetFunction
from hullabaloo.geometry.submodular.singletons import singletons

_GAP = 2.0**-42
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True, slots=True)
class Corral:
    """Vertices of the base polytope of F and the weights of a point among them: where a next search may start.

    `vertices` (m, p), each F's gains along an order, affinely independent; `weights` (m,), positive, of sum 1.
    """

    vertices: Vector
    weights: Vector


def minimum_norm_prox(
    function: SetFunction, t: Vector, weight: float, start: Corral | None = None
) -> tuple[Vector, Corral]:
    """argmin over u of weight·Ω(u) + ½‖u − t‖² for t ≥ 0, and the corral that led to it.

    u = max(0, −x), x the point of least norm in weight·B(F) − t (Bach 2013, Proposition 8.1). Wolfe's algorithm: the
    greedy vertex q that minimises ⟨q, x⟩ joins the corral, whose point of least norm is the next x; vertices that this
    point does not need leave. Every x gives a candidate: along its order f is linear, and u the exact isotonic
    regression of t − weight·gains. The search ends when the duality gap of u and x is at most 2^-42·‖t‖², when
    rounding ends the progress, or after 20·p + 200 vertices at the latest.

    **Guarantee.** ‖u − exact‖² ≤ ‖max(0, −x)‖² − ‖u‖², twice the gap, as the objective is 1-strongly convex. Proof:
    for s in weight·B(F) the dual value is ½‖t‖² − ½‖max(0, t − s)‖², with t − s = −x; that of the objective at u is
    ½‖t‖² − ½‖u‖², since ⟨u, t − weight·gains − u⟩ = 0 for an isotonic regression. And as soon as x is in an order of
    the exact point, u is that point to the last digits, because it lies in the cone where f is linear: on few columns
    that is tested on rational numbers. A stop before shows in levels closer than the gap tells apart.
    """
    from hullabaloo.geometry.submodular.isotonic_kernels import falling_fit

    scale = float(t.max(initial=0.0)) or 1.0
    aim = t / scale
    enough = float(aim.sum() / singletons(function, aim.size).min())  # ≥ Ω*(aim): from there on the prox is 0
    weight = min(weight / scale, 2.0 * enough)
    if start is None:
        start = Corral(_along(np.argsort(-aim, kind="stable"), function)[None], np.ones(1))
    corral = _Points(weight * start.vertices - aim, start.weights)
    raw = list(start.vertices)
    x = corral.shrink(raw)
    best = np.inf
    for _ in range(20 * aim.size + 200):
        order = np.argsort(x, kind="stable")
        vertex = _along(order, function)
        u = np.empty(aim.size)
        u[order] = falling_fit(aim[order], vertex[order], weight)
        above = np.maximum(0.0, -x)
        norm = float(x @ x)
        if float((above - u) @ (above + u)) <= 2.0 * _GAP * float(aim @ aim) or norm >= best:
            break
        best = norm
        corral.add(weight * vertex - aim)
        raw.append(vertex)
        x = corral.shrink(raw)
    return u * scale, Corral(np.array(raw), corral.weights)


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


def _along(order: NDArray[np.int64], function: SetFunction) -> Vector:
    vertex = np.empty(order.size)
    vertex[order] = function.gains(order)
    return vertex
