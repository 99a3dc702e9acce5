"""Numerical kernels of the queries: pure functions of arrays, single-threaded, releasing the interpreter lock.

A record's contribution is computed in a fixed order from that record and θ alone, so its bits do not depend on its
neighbours in the table, on blocking or on the number of cores.
"""

import numpy as np

from hullabaloo.compiled import njit


@njit(cache=True, nogil=True)
def quantised_rows(X, Y, root, magic, out):  # type: ignore[no-untyped-def]
    """Write `√w (x, y)` of every row, rounded to the lattice of `magic`, into `out`; an empty `root` means weights of 1."""
    n, p = X.shape
    for i in range(n):
        w = root[i] if root.size > 0 else 1.0
        for j in range(p):
            out[i, j] = (X[i, j] * w + magic) - magic
        for j in range(Y.shape[1]):
            out[i, p + j] = (Y[i, j] * w + magic) - magic


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


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def product(row, theta):  # type: ignore[no-untyped-def]  # numba kernel
    """⟨x, θ⟩; the compiler may choose an order of addition, once and for every row of p columns, but not fuse."""
    total = 0.0
    for j in range(theta.size):
        total += row[j] * theta[j]
    return total


@njit(cache=True, nogil=True)
def dense_predictions(X, theta, out):  # type: ignore[no-untyped-def]  # numba kernel
    """Write `⟨x, θ_m⟩` of every row; θ is (k, p), added up in the one order of `product`."""
    for i in range(X.shape[0]):
        for m in range(theta.shape[0]):
            out[i, m] = product(X[i], theta[m])


@njit(cache=True, nogil=True)
def sparse_predictions(data, indices, indptr, theta, out):  # type: ignore[no-untyped-def]
    """The same for rows in compressed sparse row form, in the order of their cells."""
    for i in range(indptr.size - 1):
        for m in range(theta.shape[0]):
            total = 0.0
            for at in range(indptr[i], indptr[i + 1]):
                total += data[at] * theta[m, indices[at]]
            out[i, m] = total


@njit(cache=True, nogil=True)
def dense_turned(X, matrix, out):  # type: ignore[no-untyped-def]  # numba kernel
    """Write `Wᵀx` of every row, added up in the order of columns; cells of 0 add nothing.

    Two rows are read at once, and four columns in which one of them is not 0: what they have in common is read once. A row's bits do not
    depend on the other: `0 · w` of a finite w changes no sum that begins at +0.
    """
    n, p = X.shape
    filled = np.empty(p + 1, np.int64)
    for i in range(0, n, 2):
        two = min(i + 1, n - 1)  # of an odd number of rows the last is its own neighbour
        row, other, line, under = X[i], X[two], out[i], out[two]
        line[:], under[:], count = 0.0, 0.0, 0
        for j in range(p):
            filled[count] = j
            count += row[j] != 0.0 or other[j] != 0.0
        whole = count - count % 4
        for at in range(0, whole, 4):
            a, b, c, d = filled[at], filled[at + 1], filled[at + 2], filled[at + 3]
            # Cells are taken out of the loop, which they would keep from vector instructions.
            ra, rb, rc, rd = row[a], row[b], row[c], row[d]
            oa, ob, oc, od = other[a], other[b], other[c], other[d]
            for m in range(line.size):
                wa, wb, wc, wd = matrix[a, m], matrix[b, m], matrix[c, m], matrix[d, m]
                one = (((line[m] + ra * wa) + rb * wb) + rc * wc) + rd * wd
                under[m] = (((under[m] + oa * wa) + ob * wb) + oc * wc) + od * wd
                line[m] = one
        for at in range(whole, count):
            a = filled[at]
            ra, oa = row[a], other[a]
            for m in range(line.size):
                one = line[m] + ra * matrix[a, m]
                under[m] += oa * matrix[a, m]
                line[m] = one


@njit(cache=True, nogil=True)
def sparse_turned(data, indices, indptr, matrix, out):  # type: ignore[no-untyped-def]
    """The same for rows in compressed sparse row form."""
    for i in range(indptr.size - 1):
        line = out[i]
        line[:] = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            value, weights = data[at], matrix[indices[at]]
            for m in range(weights.size):
                line[m] += value * weights[m]
