"""Projection onto {Ω ≤ radius}: the prox of τΩ at the τ where its norm is the radius."""

import math

import numpy as np
from numpy.typing import NDArray

from hullabaloo.geometry.checks import Vector, vector
from hullabaloo.geometry.submodular.base import SetFunction
from hullabaloo.geometry.submodular.norm import falling_order, omega, prox_near
from hullabaloo.geometry.submodular.of_cardinality import HasCardinalityForm

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
