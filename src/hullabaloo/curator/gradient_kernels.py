"""Kernels of the gradient query: sums of clipped per-record gradients on a lattice, exact in any order.

A record's contribution is computed from that record and θ alone: every prediction comes out of one loop (`product`), whose
order of addition depends on nothing but the number of columns. So its bits do not depend on its neighbours in the
table, on blocks or on threads. `magic` rounds a contribution to the lattice (exact.py); `unit` is one over its pitch.
"""

import math

import numpy as np

from hullabaloo.compiled import njit
from hullabaloo.curator.kernels import add_cells, product
from hullabaloo.losses.kernels import MULTINOMIAL, SQUARED_TARGETS, clipped

ROWS = 1 << 14  # contributions span at most 2^37 cells each: sums of so many are exact doubles


@njit(cache=True, nogil=True)
def dense_gradient(X, y, weight, offset, theta, clip, code, numbers, magic, unit, high, low):  # type: ignore[no-untyped-def]
    """Add `w clip(φ') x` of all rows to a sum of two limbs (`add_cells`), every coordinate rounded to the lattice."""
    n, p = X.shape
    block = np.empty(p)
    for start in range(0, n, ROWS):
        block[:] = 0.0
        for i in range(start, min(start + ROWS, n)):
            row = X[i]
            z = product(row, theta)
            if offset.size > 0:
                z += offset[i]
            d = clipped(code, numbers, z, y[i], clip)
            if weight.size > 0:
                d *= weight[i]
            for j in range(p):
                block[j] += (d * row[j] + magic) - magic
        add_cells(block, unit, high, low)


@njit(cache=True, nogil=True)
def sparse_slope(i, start, stop, data, indices, y, weight, offset, theta, clip, code, numbers):  # type: ignore[no-untyped-def]
    """`w clip(φ')` of row i, whose cells are from `start` on."""
    z = 0.0
    for at in range(start, stop):
        z += data[at] * theta[indices[at]]
    if offset.size > 0:
        z += offset[i]
    d = clipped(code, numbers, z, y[i], clip)
    return d * weight[i] if weight.size > 0 else d


@njit(cache=True, nogil=True)
def sparse_gradient(data, indices, indptr, y, weight, offset, theta, clip, code, numbers, unit, cells):  # type: ignore[no-untyped-def]
    """Add the contributions of rows in compressed sparse row form to `cells`, in whole cells; those of absent ones are 0."""
    for i in range(y.size):
        d = sparse_slope(i, indptr[i], indptr[i + 1], data, indices, y, weight, offset, theta, clip, code, numbers)
        for at in range(indptr[i], indptr[i + 1]):
            cells[indices[at]] += np.int64(np.rint(d * data[at] * unit))


@njit(cache=True, nogil=True)
def vector_derivative(code, z, y, out):  # type: ignore[no-untyped-def]
    """Write ∇φ(z, y) of the losses of several predictions into `out`; zeros for another code."""
    out[:] = 0.0
    if code == SQUARED_TARGETS:
        for m in range(z.size):
            out[m] = z[m] - y[m]
    elif code == MULTINOMIAL:
        highest = z.max()
        total = 0.0
        for m in range(z.size):
            out[m] = math.exp(z[m] - highest)
            total += out[m]
        for m in range(z.size):
            out[m] = out[m] / total - 0.5 * (1.0 + y[m])


@njit(cache=True, nogil=True)
def shorten(vector, clip):  # type: ignore[no-untyped-def]
    """Shorten a vector to length `clip`, in place; to nothing where a coordinate is undefined or infinite.

    The length is taken of `v / max|v_j|`, so that no square overflows.
    """
    largest = 0.0
    for m in range(vector.size):
        if not math.isfinite(vector[m]):
            vector[:] = 0.0
            return
        largest = max(largest, abs(vector[m]))
    if largest == 0.0:
        return
    squares = 0.0
    for m in range(vector.size):
        squares += (vector[m] / largest) ** 2
    length = math.sqrt(squares)
    if largest * length > clip:
        for m in range(vector.size):
            vector[m] = (vector[m] / largest) * (clip / length)


@njit(cache=True, nogil=True)
def matrix_gradient(X, Y, weight, offset, theta, clip, code, numbers, magic, unit, high, low):  # type: ignore[no-untyped-def]
    """Add `w x ⊗ clip(∇φ)` of all rows to a sum of two limbs; θ and the sum are (k, p), one row for each prediction."""
    n, (k, p) = X.shape[0], theta.shape
    block, z, slope = np.empty((k, p)), np.empty(k), np.empty(k)
    for start in range(0, n, ROWS):
        block[:] = 0.0
        for i in range(start, min(start + ROWS, n)):
            row = X[i]
            for m in range(k):
                z[m] = product(row, theta[m])
                if offset.size > 0:
                    z[m] += offset[i]
            vector_derivative(code, z, Y[i], slope)
            shorten(slope, clip)
            for m in range(k):
                d = slope[m]
                if weight.size > 0:
                    d *= weight[i]
                line = block[m]
                for j in range(p):
                    line[j] += (d * row[j] + magic) - magic
        add_cells(block, unit, high, low)


@njit(cache=True, nogil=True)
def sparse_matrix_gradient(data, indices, indptr, Y, weight, offset, theta, clip, code, numbers, unit, cells):  # type: ignore[no-untyped-def]
    """The same for rows in compressed sparse row form, in whole cells; here θ and `cells` are (p, k)."""
    k = theta.shape[1]
    z, slope = np.empty(k), np.empty(k)
    for i in range(Y.shape[0]):
        start, stop = indptr[i], indptr[i + 1]
        z[:] = 0.0
        for at in range(start, stop):
            line = theta[indices[at]]
            for m in range(k):
                z[m] += data[at] * line[m]
        if offset.size > 0:
            z += offset[i]
        vector_derivative(code, z, Y[i], slope)
        shorten(slope, clip)
        if weight.size > 0:
            slope *= weight[i]
        for at in range(start, stop):
            place = cells[indices[at]]
            for m in range(k):
                place[m] += np.int64(np.rint(slope[m] * data[at] * unit))
