"""Numerical kernels of the queries: pure functions of arrays, single-threaded, releasing the interpreter lock.

A record's contribution is computed in a fixed order from that record and θ alone, so its bits do not depend on its
neighbours in the table, on blocking or on the number of cores.
"""

import math

import numpy as np

from hullabaloo.compiled import njit

# losses.KernelCode, as plain numbers: kernels know nothing of classes.
SQUARED, LOGISTIC, HUBER, SMOOTHED_HINGE, POISSON, PINBALL, MULTINOMIAL, SQUARED_TARGETS = range(8)


@njit(cache=True, nogil=True, inline="always")
def derivative(code, parameter, z, y):  # type: ignore[no-untyped-def]  # noqa: PLR0911 - one line for each loss
    """φ'(z, y) of the losses of one prediction, NaN for another code; the formulas of `losses/`."""
    if code == SQUARED:
        return z - y
    if code == LOGISTIC:
        return -y / (1.0 + math.exp(y * z))  # infinity is a fine denominator
    if code == HUBER:
        return min(max(z - y, -parameter), parameter)
    if code == SMOOTHED_HINGE:
        return -y * min(max((1.0 + parameter - y * z) / (2.0 * parameter), 0.0), 1.0)
    if code == POISSON:
        return math.exp(z) - y
    if code == PINBALL:
        return 1.0 - parameter if z > y else (-parameter if z < y else 0.0)
    return math.nan


@njit(cache=True, nogil=True, inline="always")
def clipped(code, parameter, z, y, clip):  # type: ignore[no-untyped-def]
    """φ' clipped to [−clip, clip]; an undefined derivative (overflow of ⟨x, θ⟩) counts as 0."""
    d = derivative(code, parameter, z, y)
    if math.isnan(d):
        return 0.0
    return min(max(d, -clip), clip)


@njit(cache=True, nogil=True)
def quantise(values, magic):  # type: ignore[no-untyped-def]
    """Round every value to the lattice of `magic`, in place."""
    flat = values.reshape(-1)
    for i in range(flat.size):
        flat[i] = (flat[i] + magic) - magic


@njit(cache=True, nogil=True)
def quantised_rows(X, Y, root, magic, out):  # type: ignore[no-untyped-def]
    """Write `√w (x, y)` of every row, rounded to the lattice of `magic`, into `out`; an empty `root` means weights of 1."""
    n, p = X.shape
    weighted = root.size > 0
    for i in range(n):
        if weighted:
            for j in range(p):
                out[i, j] = (X[i, j] * root[i] + magic) - magic
            for j in range(Y.shape[1]):
                out[i, p + j] = (Y[i, j] * root[i] + magic) - magic
        else:
            for j in range(p):
                out[i, j] = (X[i, j] + magic) - magic
            for j in range(Y.shape[1]):
                out[i, p + j] = (Y[i, j] + magic) - magic


@njit(cache=True, nogil=True)
def add_cells(block, cell, high, low):  # type: ignore[no-untyped-def]
    """Add lattice multiples to a sum of two limbs: `high · 2^32 + low` in units of `1/cell` (a power of two)."""
    flat, top, bottom = block.reshape(-1), high.reshape(-1), low.reshape(-1)
    for i in range(flat.size):
        units = np.int64(flat[i] * cell)
        top[i] += units >> 32
        bottom[i] += units & 0xFFFFFFFF


@njit(cache=True, nogil=True)
def total_of_cells(high, low, pitch, bound, out):  # type: ignore[no-untyped-def]
    """Write the sum of two limbs as doubles clipped to ±bound: exact but for one rounding, as |high| < 2^53."""
    top, bottom, flat = high.reshape(-1), low.reshape(-1), out.reshape(-1)
    for i in range(flat.size):
        whole = float(top[i] + (bottom[i] >> 32)) * 4294967296.0 + float(bottom[i] & 0xFFFFFFFF)
        flat[i] = min(max(whole * pitch, -bound), bound)
