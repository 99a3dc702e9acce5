"""The norm Ω(w) = f(|w|) of a set function, f its Lovász extension: value, greedy vertex, dual norm, prox, projections."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hullabaloo.geometry.checks import Vector, dimension_number, vector
from hullabaloo.geometry.submodular.base import HasGreedyForm, HasProximalForm, SetFunction
from hullabaloo.geometry.submodular.cardinality import HasCardinalityForm
from hullabaloo.geometry.submodular.minimum_norm_point import Corral, minimum_norm_prox
from hullabaloo.geometry.submodular.singletons import singletons

_DINKELBACH = 100


@dataclass(frozen=True, slots=True)
class DualNorm:
    """Ω*(s) = ‖s_A‖₁/F(A), and a set A where the maximum is, as (p,) booleans."""

    value: float
    members: NDArray[np.bool_]


def falling_order(size: Vector) -> NDArray[np.int64]:
    """The coordinates from the largest to the smallest, those of equal size in their own order."""
    from hullabaloo.geometry.submodular.isotonic_kernels import untangle

    order = np.argsort(-size)
    untangle(order, size)
    return order


def greedy_vertex(function: SetFunction, w: Vector) -> Vector:
    """The vertex s of |P|(F) with ⟨s, w⟩ = Ω(w): along |w| falling, the gains of F, with the signs of w (+ for 0).

    Edmonds (1970). By the function's own form where it has one (`HasGreedyForm`), else one sort and p gains.
    """
    from hullabaloo.geometry.submodular.isotonic_kernels import signed_in_places, untangle

    w = np.ascontiguousarray(_columns(function, w))
    if isinstance(function, HasGreedyForm):
        s = function.greedy(np.abs(w))
        return np.copysign(s, w + 0.0, out=s)
    below = -np.abs(w)  # in place: new pages cost more than the arithmetic
    order = np.argsort(below)
    untangle(order, below)
    vertex: Vector = signed_in_places(w, order, function.gains(order))
    return vertex


def omega(function: SetFunction, w: Vector) -> float:
    """Ω(w) = Σ_k |w|_(k) (F(S_k) − F(S_{k−1})), S_k the k largest |w_j|; infinity where it leaves the floats."""
    size = np.abs(_columns(function, w))
    if isinstance(function, HasCardinalityForm):
        falling = np.sort(size)[::-1]
        gains = function.steps(size.size)
    elif isinstance(function, HasGreedyForm):
        falling, gains = size, function.greedy(size)
    else:
        order = falling_order(size)
        falling, gains = size[order], function.gains(order)
    with np.errstate(over="ignore"):
        return float((falling * gains).sum())


def dual_omega(function: SetFunction, s: Vector) -> DualNorm:
    """Ω*(s) = max over A ≠ ∅ of ‖s_A‖₁/F(A), with a set that attains it.

    Dinkelbach (1967): from the best set so far, of ratio λ, to the A that minimises λF(A) − ‖s_A‖₁, which is where
    the prox of λΩ at |s| is above 0 (Bach 2013, Proposition 8.3); each set has a larger ratio than the one before, until none has.
    """
    size = np.abs(_columns(function, s))
    scale = float(size.max())
    if scale == 0.0:
        return DualNorm(0.0, np.arange(size.size) == 0)
    size = size / scale
    order = falling_order(size)
    members, ratio = _best_prefix(size, order, function.gains(order))
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
    if isinstance(function, HasProximalForm):
        return function.prox(v, weight)
    u, _ = minimum_norm_prox(function, np.abs(v), weight)
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
    rising = size[order[::-1]]
    gaps = np.minimum(np.diff(rising, prepend=0.0), cap)
    near = np.empty(v.size)
    near[order[::-1]] = np.cumsum(gaps)
    return np.copysign(near - prox(function, near, radius), v) + 0.0


def _columns(function: SetFunction, v: Vector) -> Vector:
    v = vector(v)
    dimension_number(v.size, function.dimension)
    return v


def _best_prefix(size: Vector, order: NDArray[np.int64], gains: Vector) -> tuple[NDArray[np.bool_], float]:
    ratios = np.cumsum(size[order]) / np.cumsum(gains)
    best = int(ratios.argmax())
    members = np.zeros(size.size, dtype=bool)
    members[order[: best + 1]] = True
    return members, float(ratios[best])


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
    unit = 2.0 ** math.floor(
        math.log2(gains.max())
    )  # exact, and the multiplier is looked for on the scale of the vector
    u[order], tau = falling_projection(size[order], gains / unit, radius / unit)
    return u, max(tau / unit, 0.0)  # at the boundary a root within rounding of 0
