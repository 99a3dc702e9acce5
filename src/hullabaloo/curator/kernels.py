"""Numerical kernels of the queries: pure functions of arrays, single-threaded, releasing the interpreter lock.

A record's contribution is computed in a fixed order from that record and θ alone, so its bits do not depend on its
neighbours in the table, on blocking or on the number of cores.
"""

import math

import numpy as np
from numba import njit

# losses.KernelCode, as plain numbers: kernels know nothing of classes.
SQUARED, LOGISTIC, HUBER, SMOOTHED_HINGE, POISSON, PINBALL, MULTINOMIAL, SQUARED_TARGETS = range(8)


@njit(cache=True, nogil=True, inline="always")
def derivative(code, parameter, z, y):  # type: ignore[no-untyped-def]  # noqa: PLR0911 - one line for each loss
    """φ'(z, y) of the losses of one prediction, NaN for another code; the formulas of `losses/`."""
    if code == SQUARED:
        return z - y
    if code == LOGISTIC:
        small = math.exp(-abs(y * z))
        return -y * ((1.0 if y * z < 0.0 else small) / (1.0 + small))
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
def dense_gradient(X, y, weight, theta, clip, code, parameter, magic, out):  # type: ignore[no-untyped-def]
    """Add `w_i clip(φ'_i) x_i` over the rows to `out`, each coordinate rounded to the lattice of `magic` (0: not)."""
    n, p = X.shape
    whole = p - p % 8
    weighted = weight.size > 0
    lane = np.empty(8)
    for i in range(n):
        row = X[i]
        lane[:] = 0.0
        for j in range(0, whole, 8):
            for m in range(8):
                lane[m] += row[j + m] * theta[j + m]
        z = ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]))
        for j in range(whole, p):
            z += row[j] * theta[j]
        d = clipped(code, parameter, z, y[i], clip)
        if weighted:
            d *= weight[i]
        if magic == 0.0:
            for j in range(p):
                out[j] += d * row[j]
        else:
            for j in range(p):
                out[j] += (d * row[j] + magic) - magic


@njit(cache=True, nogil=True)
def sparse_gradient(data, indices, indptr, y, weight, theta, clip, code, parameter, magic, out):  # type: ignore[no-untyped-def]
    """The same for rows in compressed sparse row form; an absent cell contributes exactly 0."""
    weighted = weight.size > 0
    for i in range(y.size):
        z = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            z += data[at] * theta[indices[at]]
        d = clipped(code, parameter, z, y[i], clip)
        if weighted:
            d *= weight[i]
        for at in range(indptr[i], indptr[i + 1]):
            c = d * data[at]
            if magic != 0.0:
                c = (c + magic) - magic
            out[indices[at]] += c


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
