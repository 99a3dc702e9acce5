"""Numerical kernels of the queries: pure functions of arrays, single-threaded, releasing the interpreter lock.

A record's contribution is computed in a fixed order from that record and θ alone, so its bits do not depend on its
neighbours in the table, on blocking or on the number of cores.
"""

import numpy as np

from hullabaloo.compiled import njit


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
