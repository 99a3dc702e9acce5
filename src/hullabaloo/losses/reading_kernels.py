"""Kernels of readings: exponentials and logarithms of one record after another, by the same steps wherever the record stands.

Array arithmetic of IEEE operations gives a record the same bits in every place; vectorised exponentials need not.
"""

import math

import numpy as np

from hullabaloo.compiled import njit


@njit(cache=True, nogil=True)
def exponentials(z, out):  # type: ignore[no-untyped-def]  # numba kernel
    """Write `e^z` of every z ≤ 0, and 1 beyond."""
    values, flat = z.reshape(-1), out.reshape(-1)
    for i in range(flat.size):
        flat[i] = math.exp(min(values[i], 0.0))


@njit(cache=True, nogil=True)
def logarithms(values, least, out):  # type: ignore[no-untyped-def]
    """Write `log max(v, least)`, least > 0."""
    inside, flat = values.reshape(-1), out.reshape(-1)
    for i in range(flat.size):
        flat[i] = math.log(max(inside[i], least))


@njit(cache=True, nogil=True)
def chances_of_two(z, out):  # type: ignore[no-untyped-def]
    """Write the chances of both classes, (n, 2), from the log-odds of the second."""
    for i in range(z.size):
        small = math.exp(-abs(z[i]))
        nearer, farther = 1.0 / (1.0 + small), small / (1.0 + small)
        out[i, 0] = farther if z[i] > 0.0 else nearer
        out[i, 1] = nearer if z[i] > 0.0 else farther


@njit(cache=True, nogil=True)
def chances_apart(z, out):  # type: ignore[no-untyped-def]
    """Write every class's own logistic chance, brought to sum 1; equal chances where all of them vanish."""
    n, k = z.shape
    for i in range(n):
        total = 0.0
        for m in range(k):
            small = math.exp(-abs(z[i, m]))
            out[i, m] = (1.0 if z[i, m] > 0.0 else small) / (1.0 + small)
            total += out[i, m]
        for m in range(k):
            out[i, m] = out[i, m] / total if total > 0.0 else 1.0 / k


@njit(cache=True, nogil=True)
def chances_together(z, out):  # type: ignore[no-untyped-def]
    """Write the multinomial chances `e^{z_m} / Σ e^{z_l}`."""
    n, k = z.shape
    for i in range(n):
        highest = -np.inf
        for m in range(k):
            highest = max(highest, z[i, m])
        total = 0.0
        for m in range(k):
            out[i, m] = math.exp(z[i, m] - highest)
            total += out[i, m]
        for m in range(k):
            out[i, m] /= total
