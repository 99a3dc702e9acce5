"""Quadratics without a closed form: descend, see the face the point has come to, minimise exactly on that face.

½θᵀAθ − bᵀθ plus a set, or plus a penalty. A burst of first-order steps finds which constraints hold (or which
coordinates vanish); a linear system then gives the minimiser on that face, and a search along the way to it, brought
back by projection, accepts what lowers the objective. Every accepted point is lower than the last and faces are
finitely many, so for polyhedral problems the exact minimiser is reached; for the others the accelerated first-order
steps converge by themselves. Moré & Toraldo 1991 (faces); Beck & Teboulle 2009, O'Donoghue & Candès 2015 (bursts).
"""

import math

import numpy as np

from hullabaloo.geometry import Face
from hullabaloo.quadratic.linear_system import Array, FaceSystem, Quadratic
from hullabaloo.quadratic.shapes import Shape, search

_FACES = 6  # linear systems between two bursts
_PATIENCE = 3  # bursts before another method is asked for a start


def minimise(
    quadratic: Quadratic, shape: Shape, start: Array, *, tolerance: float, limit: int
) -> tuple[Array, float, int]:
    """Give the minimiser, its relative stationarity ‖v‖/(‖b‖ + L‖θ‖), and the first-order steps used.

    Stops when the stationarity is within `tolerance`, or `limit` first-order steps were made; deterministic.
    """
    theta = shape.proximal(start, 1.0 / quadratic.largest)
    used, burst = 0, 10 + len(theta) // 20  # so that bursts and linear systems take about as long
    best, best_relative = theta, math.inf
    rounds = 0
    while used < limit:
        rounds += 1
        if rounds == _PATIENCE:
            theta = shape.jump(quadratic, best, lambda *at: minimise(*at, tolerance=1e-13, limit=5000)[0])
            theta, _ = _down_to_a_face(quadratic, shape, theta)
        theta, made = shape.descend(quadratic, theta, min(burst, limit - used))
        used += made
        theta, settled = _down_to_a_face(quadratic, shape, theta)
        relative = _relative(quadratic, shape, theta)
        if relative < best_relative:
            best, best_relative = theta, relative
        if relative <= tolerance:
            break
        burst = burst if settled else min(2 * burst, 2000)
    return best, best_relative, used


def _relative(quadratic: Quadratic, shape: Shape, theta: Array) -> float:
    scale = float(np.linalg.norm(quadratic.cross)) + quadratic.largest * float(np.linalg.norm(theta))
    return shape.stationarity(quadratic, theta) / scale if scale > 0.0 else 0.0


def _down_to_a_face(quadratic: Quadratic, shape: Shape, theta: Array) -> tuple[Array, bool]:
    """Exact minimisation on the face of θ, again and again while that leads to a smaller face; whether it settled."""
    for _ in range(_FACES):
        found = shape.face(theta)
        if found is None:
            return theta, False
        face, extra = found
        move = FaceSystem(quadratic, face).solve(quadratic.slope(theta) + extra)
        new = search(quadratic, shape, theta, move)
        if new is None:
            return theta, True
        theta = new
        if _same(shape.face(new), face):
            return theta, True
    return theta, False


def _same(found: tuple[Face, Array] | None, face: Face) -> bool:
    if found is None or not np.array_equal(found[0].free, face.free):
        return False
    other = found[0].normal
    if other is None or face.normal is None:
        return other is face.normal
    return np.array_equal(other, face.normal)
