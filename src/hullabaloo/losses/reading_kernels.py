"""Kernels of readings: exponentials and logarithms of one record after another, by the same steps wherever the record stands.

Array arithmetic of IEEE operations gives a record the same bits in every place; vectorised exponentials need not.
"""

import math

import numpy as np

from hullabaloo.compiled import njit


@njit(cache=True, nogil=True)
def exponentials(z):  # type: ignore[no-untyped-def]
    """`e^z` of every z ≤ 0, and 1 beyond, for an array of rows."""
    out = np.empty(z.shape)
    for i in range(z.shape[0]):
        for m in range(z.shape[1]):
            out[i, m] = math.exp(min(z[i, m], 0.0))
    return out


@njit(cache=True, nogil=True)
def logarithms(values, least):  # type: ignore[no-untyped-def]
    """`log max(v, least)` of every v, least > 0."""
    out = np.empty(values.size)
    for i in range(values.size):
        out[i] = math.log(max(values[i], least))
    return out


@njit(cache=True, nogil=True)
def chances_of_two(z):  # type: ignore[no-untyped-def]
    """The chances of both classes, (n, 2), from the log-odds of the second, (n, 1)."""
    out = np.empty((z.shape[0], 2))
    for i in range(z.shape[0]):
        small = math.exp(-abs(z[i, 0]))
        nearer, farther = 1.0 / (1.0 + small), small / (1.0 + small)
        out[i, 0] = farther if z[i, 0] > 0.0 else nearer
        out[i, 1] = nearer if z[i, 0] > 0.0 else farther
    return out


@njit(cache=True, nogil=True)
def chances_apart(z):  # type: ignore[no-untyped-def]
    """Every class's own logistic chance, brought to sum 1; equal chances where all of them vanish."""
    n, k = z.shape
    out = np.empty((n, k))
    for i in range(n):
        total = 0.0
        for m in range(k):
            small = math.exp(-abs(z[i, m]))
            out[i, m] = (1.0 if z[i, m] > 0.0 else small) / (1.0 + small)
            total += out[i, m]
        for m in range(k):
            out[i, m] = out[i, m] / total if total > 0.0 else 1.0 / k
    return out


@njit(cache=True, nogil=True)
def chances_together(z):  # type: ignore[no-untyped-def]
    """The multinomial chances `e^{z_m} / Σ e^{z_l}`."""
    n, k = z.shape
    out = np.empty((n, k))
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
    return out
