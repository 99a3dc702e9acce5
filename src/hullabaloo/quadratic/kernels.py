"""Compiled kernels of quadratics: pure functions of arrays."""

import numpy as np

from hullabaloo.compiled import njit
from hullabaloo.geometry.kernels import two_product, two_sum


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
    for i in range(cross.size):
        total, lost = -cross[i], 0.0
        for j in range(theta.size):
            product, error = two_product(gram[i, j], theta[j])
            lost += error
            total, error = two_sum(total, product)
            lost += error
        out[i] = total + lost
    return out
