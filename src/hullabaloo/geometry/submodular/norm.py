"""The norm Ω(w) = f(|w|) of a set function, f its Lovász extension: value, greedy vertex, dual norm, prox, projections.

The prox of any set function is the minimum-norm point of a base polytope (Fujishige 1980, Wolfe 1976).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hullabaloo.geometry.checks import Vector, dimension_number, vector
from hullabaloo.geometry.polytope import shrunk_to_corral
from hullabaloo.geometry.submodular.base import HasGreedyForm, HasProximalForm, SetFunction
from hullabaloo.geometry.submodular.cardinality import HasCardinalityForm
from hullabaloo.geometry.submodular.group_cover import GroupCover, Intervals
from hullabaloo.geometry.submodular.tree_cover import TreeCover

_GAP = 2.0**-42


def singletons(function: SetFunction, p: int) -> Vector:
    """F({j}) for every column; (p,). In one pass for the families of this library, else p evaluations."""
    p = dimension_number(p, function.dimension)
    if isinstance(function, HasCardinalityForm):
        return np.full(p, function.steps(p)[0])
    if isinstance(function, Intervals):
        return np.full(p, float(p))
    if isinstance(function, GroupCover):
        lengths = np.diff(function.lists.start)
        return np.bincount(function.lists.entry, np.repeat(function.charges, lengths), p).astype(np.float64)
    if isinstance(function, TreeCover):
        alone = function.charges.copy()
        for j in function.rank[::-1].tolist():  # parents first
            if function.parents[j] >= 0:
                alone[j] += alone[function.parents[j]]
        return alone
    return np.array([function.value(np.arange(p) == j) for j in range(p)])


def closure(function: SetFunction, members: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The set A with every column j that costs nothing more, F(A ∪ {j}) = F(A).

    Along A and then the columns still in question, a column that costs something does so after A alone too, and is out;
    when none costs anything they all belong to the closure.
    """
    inside, asked = np.flatnonzero(members), np.flatnonzero(~members)
    out = asked[:0]
    while asked.size:
        gains = function.gains(np.concatenate([inside, asked, out]))[inside.size : inside.size + asked.size]
        if not gains.any():
            break
        out = np.concatenate([out, asked[gains > 0.0]])
        asked = asked[gains == 0.0]
    closed = members.copy()
    closed[asked] = True
    return closed


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
        start = Corral(_gains_along(np.argsort(-aim, kind="stable"), function)[None], np.ones(1))
    vertices, shares = start.vertices, start.weights
    origin = np.zeros(aim.size)
    best = np.inf
    for _ in range(20 * aim.size + 200):
        points = weight * vertices - aim
        kept, shares = shrunk_to_corral(points, origin, list(range(len(points))), shares)
        vertices, x = vertices[kept], shares @ points[kept]
        order = np.argsort(x, kind="stable")
        vertex = _gains_along(order, function)
        u = np.empty(aim.size)
        u[order] = falling_fit(aim[order], vertex[order], weight)
        above = np.maximum(0.0, -x)
        norm = float(x @ x)
        if float((above - u) @ (above + u)) <= 2.0 * _GAP * float(aim @ aim) or norm >= best:
            break
        best = norm
        vertices, shares = np.vstack([vertices, vertex]), np.append(shares, 0.0)
    return u * scale, Corral(vertices, shares)


def _gains_along(order: NDArray[np.int64], function: SetFunction) -> Vector:
    vertex = np.empty(order.size)
    vertex[order] = function.gains(order)
    return vertex


_DINKELBACH = 100


@dataclass(frozen=True, slots=True)
class DualNorm:
    """Ω*(s) = ‖s_A‖₁/F(A), and a set A where the maximum is, as (p,) booleans."""

    value: float
    members: NDArray[np.bool_]


def falling_order(size: Vector) -> NDArray[np.int64]:
    """The coordinates from the largest to the smallest, those of equal size in their own order."""
    return np.argsort(-size, kind="stable")


def greedy_vertex(function: SetFunction, w: Vector) -> Vector:
    """The vertex s of |P|(F) with ⟨s, w⟩ = Ω(w): along |w| falling, the gains of F, with the signs of w (+ for 0).

    Edmonds (1970). By the function's own form where it has one (`HasGreedyForm`), else one sort and p gains.

    Source: 001, Equation (5).
    """
    w = _columns(function, w)
    return np.copysign(_greedy(function, np.abs(w)), w + 0.0)


def _greedy(function: SetFunction, size: Vector) -> Vector:
    return function.greedy(size) if isinstance(function, HasGreedyForm) else _gains_along(falling_order(size), function)


def omega(function: SetFunction, w: Vector) -> float:
    """Ω(w) = Σ_k |w|_(k) (F(S_k) − F(S_{k−1})), S_k the k largest |w_j|; infinity where it leaves the floats.

    Source: 001, Section 2, Lovász extension.
    """
    size = np.abs(_columns(function, w))
    if isinstance(function, HasCardinalityForm):
        size, gains = np.sort(size)[::-1], function.steps(size.size)
    else:
        gains = _greedy(function, size)
    with np.errstate(over="ignore"):
        return float((size * gains).sum())


def dual_omega(function: SetFunction, s: Vector) -> DualNorm:
    """Ω*(s) = max over A ≠ ∅ of ‖s_A‖₁/F(A), with a set that attains it.

    Dinkelbach (1967): from the best set so far, of ratio λ, to the A that minimises λF(A) − ‖s_A‖₁, which is where
    the prox of λΩ at |s| is above 0 (Bach 2013, Proposition 8.3); each set has a larger ratio than the one before, until none has.

    Source: 001, Section 2, dual norm.
    """
    size = np.abs(_columns(function, s))
    scale = float(size.max())
    if scale == 0.0:
        return DualNorm(0.0, np.arange(size.size) == 0)
    size = size / scale
    order = falling_order(size)
    ratios = np.cumsum(size[order]) / np.cumsum(function.gains(order))
    best = int(ratios.argmax())
    members, ratio = np.zeros(size.size, dtype=bool), float(ratios[best])
    members[order[: best + 1]] = True
    if not isinstance(function, HasCardinalityForm):
        near = None
        for _ in range(_DINKELBACH):
            u, near = prox_near(function, size, ratio, near)
            inside = u > 0.0
            if not inside.any():
                break
            better = float(size[inside].sum()) / function.value(inside)
            if better <= ratio:
                break
            members, ratio = inside, better
    with np.errstate(over="ignore"):
        return DualNorm(ratio * scale, members)


def prox(function: SetFunction, v: Vector, weight: float) -> Vector:
    """argmin over u of weight·Ω(u) + ½‖u − v‖², a new array.

    By the function's own form where it has one (`HasProximalForm`, to the last digits), else by the minimum-norm point.
    """
    v = _columns(function, v)
    u, _ = prox_near(function, np.abs(v), weight, None)
    return np.copysign(u, v) + 0.0


def prox_near(function: SetFunction, t: Vector, weight: float, start: Corral | None) -> tuple[Vector, Corral | None]:
    """The prox at t ≥ 0, searched for from where a similar one was found; None where nothing is searched for."""
    if isinstance(function, HasProximalForm):
        return function.prox(t, weight), None
    return minimum_norm_prox(function, t, weight, start)


def project_polyhedron(function: SetFunction, v: Vector, radius: float) -> Vector:
    """The point of radius·|P|(F) nearest to v: v − prox of radius·Ω at v (Moreau 1962).

    Magnitudes further apart than radius·max F({j}) do not meet in the prox, so that larger gaps in the sorted |v| are
    shortened to that before: huge vectors lose no digits.
    """
    v = _columns(function, v)
    size = np.abs(v)
    order = falling_order(size)
    cap = radius * float(singletons(function, v.size).max())
    gaps = np.minimum(np.diff(size[order[::-1]], prepend=0.0), cap)
    near = np.empty(v.size)
    near[order[::-1]] = np.cumsum(gaps)
    return np.copysign(near - prox(function, near, radius), v) + 0.0


def _columns(function: SetFunction, v: Vector) -> Vector:
    v = vector(v)
    dimension_number(v.size, function.dimension)
    return v


# Projection onto {Ω ≤ radius}: the prox of τΩ at the τ where its norm is the radius.


_LIMIT = 100
_SAME = 2.0**-48


def project_ball(function: SetFunction, theta: Vector, radius: float) -> Vector:
    """argmin ½‖u − θ‖² over Ω(u) ≤ radius; a copy of θ inside.

    **Guarantee.** In an order of the coordinates in which the answer falls, Ω is linear, and the answer is the falling
    vector of that bounded cost nearest to |θ|, which `falling_projection` finds to the last digits. For F of the
    cardinality the order is that of |θ|. Else the order is that of the prox of τΩ, τ the multiplier found along the
    order before; when the prox repeats the answer, it has norm `radius`, so that τ is the root and the prox the answer.
    Ω of the prox falls in τ, and a τ outside the bracket so far is replaced by its middle.
    """
    theta = vector(theta, dimension=function.dimension)
    if omega(function, theta) <= radius:
        return theta.copy()
    size = np.abs(theta)
    u, tau = _along(function, size, falling_order(size), radius)
    if not isinstance(function, HasCardinalityForm):
        low, high, near = 0.0, math.inf, None
        for _ in range(_LIMIT):
            fitted, near = prox_near(function, size, tau, near)
            cost = omega(function, fitted)
            if cost > radius:
                low = tau
            else:
                high = tau
            if cost > 0.0:
                before = u
                u, tau = _along(function, size, falling_order(fitted), radius)
                still = np.abs(u - before).max() <= _SAME * u.max()
                if still and np.abs(u - fitted).max() <= _SAME * size.max():
                    break
            if not low < tau < high:
                tau = 0.5 * (low + high) if high < math.inf else 2.0 * low
            if tau in (low, high):
                break
    return np.copysign(u, theta) + 0.0


def _along(function: SetFunction, size: Vector, order: NDArray[np.int64], radius: float) -> tuple[Vector, float]:
    from hullabaloo.geometry.submodular.isotonic_kernels import falling_projection

    u, gains = np.empty(size.size), function.gains(order)
    # Exact, and the multiplier is looked for on the scale of the vector.
    unit = 2.0 ** math.floor(math.log2(gains.max()))
    u[order], tau = falling_projection(size[order], gains / unit, radius / unit)
    return u, max(tau / unit, 0.0)  # at the boundary a root within rounding of 0
