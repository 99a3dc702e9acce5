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
def four_turned(X, matrix, out):  # type: ignore[no-untyped-def]  # numba kernel
    """`dense_turned` of four rows at once, all their cells."""
    one, two, three, four = out[0], out[1], out[2], out[3]
    out[:], whole = 0.0, X.shape[1] - X.shape[1] % 4
    for j in range(0, whole, 4):
        a, b, c, d = X[:, j], X[:, j + 1], X[:, j + 2], X[:, j + 3]
        # Cells are taken out of the loop, which they would keep from vector instructions.
        a0, b0, c0, d0, a1, b1, c1, d1 = a[0], b[0], c[0], d[0], a[1], b[1], c[1], d[1]
        a2, b2, c2, d2, a3, b3, c3, d3 = a[2], b[2], c[2], d[2], a[3], b[3], c[3], d[3]
        for m in range(matrix.shape[1]):
            wa, wb, wc, wd = matrix[j, m], matrix[j + 1, m], matrix[j + 2, m], matrix[j + 3, m]
            first = (((one[m] + a0 * wa) + b0 * wb) + c0 * wc) + d0 * wd
            second = (((two[m] + a1 * wa) + b1 * wb) + c1 * wc) + d1 * wd
            third = (((three[m] + a2 * wa) + b2 * wb) + c2 * wc) + d2 * wd
            four[m] = (((four[m] + a3 * wa) + b3 * wb) + c3 * wc) + d3 * wd
            three[m], two[m], one[m] = third, second, first
    for j in range(whole, X.shape[1]):
        a0, a1, a2, a3 = X[0, j], X[1, j], X[2, j], X[3, j]
        for m in range(matrix.shape[1]):
            first, second, third = one[m] + a0 * matrix[j, m], two[m] + a1 * matrix[j, m], three[m] + a2 * matrix[j, m]
            four[m] += a3 * matrix[j, m]
            three[m], two[m], one[m] = third, second, first


@njit(cache=True, nogil=True)
def dense_turned(X, matrix, out):  # type: ignore[no-untyped-def]  # numba kernel
    """Write `Wᵀx` of every row, added up in the order of columns; cells of 0 add nothing.

    Four rows are read at once, W once for them, where hardly a cell of the first is 0; else one, and four columns in which it is not 0. A row's
    bits do not depend on the others, nor on which of both: `0 · w` of a finite w changes no sum that begins at +0.
    """
    n, p = X.shape
    filled, i = np.empty(p + 1, np.int64), 0
    while i < n:
        row, line, count = X[i], out[i], 0
        for j in range(p):
            filled[count] = j
            count += row[j] != 0.0
        if 8 * count >= 7 * p and i + 4 <= n:
            four_turned(X[i : i + 4], matrix, out[i : i + 4])
            i += 4
            continue
        i += 1
        line[:] = 0.0
        whole = count - count % 4
        for at in range(0, whole, 4):
            a, b, c, d = filled[at], filled[at + 1], filled[at + 2], filled[at + 3]
            ra, rb, rc, rd = row[a], row[b], row[c], row[d]
            for m in range(line.size):
                line[m] = (((line[m] + ra * matrix[a, m]) + rb * matrix[b, m]) + rc * matrix[c, m]) + rd * matrix[d, m]
        for at in range(whole, count):
            a, cell = filled[at], row[filled[at]]
            for m in range(line.size):
                line[m] += cell * matrix[a, m]


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
