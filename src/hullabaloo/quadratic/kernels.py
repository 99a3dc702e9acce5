"""Compiled kernels of quadratics: pure functions of arrays."""

import numpy as np

from hullabaloo.compiled import njit


@njit(cache=True, nogil=True)
def coordinate_sweeps(gram, slope, weight, theta, sweeps):  # type: ignore[no-untyped-def]  # numba kernel
    """Cyclic coordinate descent on ½θᵀAθ − bᵀθ + Σ weight_j|θ_j|, in place; `slope` is kept at Aθ − b.

    A coordinate with A_jj = 0 stays where it is: A being positive semidefinite, its row is zero.
    """
    for _ in range(sweeps):
        moved = False
        for j in range(theta.size):
            height = gram[j, j]
            if height <= 0.0:
                continue
            target = height * theta[j] - slope[j]
            new = (max(0.0, target - weight[j]) + min(0.0, target + weight[j])) / height
            move = new - theta[j]
            if move != 0.0:
                moved = True
                theta[j] = new
                for i in range(theta.size):
                    slope[i] += move * gram[j, i]
        if not moved:
            break


@njit(cache=True, nogil=True)
def careful_slope(gram, theta, cross):  # type: ignore[no-untyped-def]
    """Aθ − b as if computed with twice the digits and rounded once (Ogita, Rump, Oishi 2005, Dot2)."""
    out = np.empty_like(cross)
    split = 134217729.0  # 2²⁷ + 1, Dekker's splitter
    for i in range(cross.size):
        total = -cross[i]
        lost = 0.0
        for j in range(theta.size):
            x = gram[i, j]
            y = theta[j]
            product = x * y
            c = split * x
            x_high = c - (c - x)
            x_low = x - x_high
            c = split * y
            y_high = c - (c - y)
            y_low = y - y_high
            lost += x_low * y_low - (((product - x_high * y_high) - x_low * y_high) - x_high * y_low)
            new = total + product
            back = new - total
            lost += (total - (new - back)) + (product - back)
            total = new
        out[i] = total + lost
    return out
