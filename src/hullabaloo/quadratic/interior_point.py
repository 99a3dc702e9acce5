"""An interior-point start for the l1-penalised quadratic, when its matrix is so ill-conditioned that descent crawls.

The optimality conditions of ½θᵀAθ − bᵀθ + Σ w_j|θ_j| with θ = u − v and the slope q = Aθ − b are |q| ≤ w, u, v ≥ 0,
u(w + q) = 0, v(w − q) = 0. Newton's method follows the path where both products equal μ → 0 (predictor and corrector,
Mehrotra 1992); with D = u/(w+q) + v/(w−q) each step solves one system with A + D⁻¹, whatever A's condition.
"""

import numpy as np
import numpy.typing as npt

from hullabaloo.quadratic.linear_system import Array, cholesky

Mask = npt.NDArray[np.bool_]
_LIMIT = 80


def interior_point(gram: Array, cross: Array, weight: Array, largest: float) -> Array:
    """A point close to the minimiser, with zeros where the minimiser is seen to have them; weight_j = 0 is free."""
    held = weight > 0.0
    if not held.any():
        return np.asarray(np.linalg.lstsq(gram, cross, rcond=None)[0], dtype=np.float64)
    w = np.where(held, weight, 1.0)
    size = float(np.abs(cross).max()) / largest
    theta = np.zeros_like(cross)
    u, v = np.full_like(cross, size), np.full_like(cross, size)
    up, down = w.copy(), w.copy()  # w + q and w − q
    for _ in range(_LIMIT):
        residual = gram @ theta - cross - 0.5 * (up - down)
        gap = float((u * up + v * down)[held].mean())
        inverse = np.where(held, 1.0 / (u / up + v / down), 0.0)
        factor = cholesky(gram + np.diag(inverse), 0.0)
        if factor is None or gap <= 1e-15 * float(np.abs(cross).max()) * (size + float(np.abs(theta).max())):
            break
        over, under, middle = -u * up, -v * down, 0.0
        for corrector in (False, True):
            pull = over / up - under / down
            move = factor.solve(-residual + inverse * pull)
            turn = inverse * (pull - move)
            rise, fall = (over - u * turn) / up, (under + v * turn) / down
            length = _longest(held, ((u, rise), (v, fall), (up, turn), (down, -turn)))
            if not corrector:
                ahead = (u + length * rise) * (up + length * turn) + (v + length * fall) * (down - length * turn)
                middle = 0.5 * gap * (float(ahead[held].mean()) / gap) ** 3
                over, under = over + middle - rise * turn, under + middle + fall * turn
        length = min(1.0, 0.995 * length)
        theta = theta + length * move
        up, down = np.where(held, up + length * turn, up), np.where(held, down - length * turn, down)
        u, v = np.where(held, u + length * rise, u), np.where(held, v + length * fall, v)
    top = float(np.abs(theta).max()) or 1.0
    alive = np.where(theta >= 0.0, u / top > up / w, v / top > down / w)
    return np.where(alive | ~held, theta, 0.0)


def _longest(held: Mask, pairs: tuple[tuple[Array, Array], ...]) -> float:
    """The largest step up to 1/0.995 that keeps every held value positive."""
    longest = 1.0 / 0.995
    for value, move in pairs:
        falling = held & (move < 0.0)
        if falling.any():
            longest = min(longest, float((value[falling] / -move[falling]).min()))
    return longest
