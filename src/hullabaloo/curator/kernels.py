"""Numerical kernels of the queries: pure functions of arrays, single-threaded, releasing the interpreter lock.

A record's contribution is computed in a fixed order from that record and θ alone, so its bits do not depend on its
neighbours in the table, on blocking or on the number of cores.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

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


def _bits_of(_: Any, number: Any) -> Any:
    """A double's bits as an integer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


def _turn(_: Any, X: Any, weights: Any, width: Any, row: Any, column: Any, out: Any) -> Any:
    """Write `Wᵀx` of four rows, from a row on, into eight columns of `out`, from a column on; W are eight columns.

    Every sum is multiplications and additions of its own, in the order of columns. They stay in registers, which the compiler would not make of a loop.
    """
    if not weights.layout == out.layout == "C":
        return None

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        vector, number = ir.VectorType(ir.DoubleType(), 8), ir.IntType(64)
        pointer, empty, zeros = vector.as_pointer(), ir.Constant(vector, ir.Undefined), ir.Constant(vector, [0.0] * 8)
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), 8), [0] * 8)

        def place(of: int, i: Any, j: Any) -> Any:
            array = context.make_array(signature.args[of])(context, builder, given[of])
            return cgutils.get_item_pointer(context, builder, signature.args[of], array, [i, j])  # type: ignore[no-untyped-call]

        steps = [ir.Constant(number, step) for step in range(4)]
        sums = [cgutils.alloca_once_value(builder, zeros) for _ in steps]  # type: ignore[no-untyped-call]
        with cgutils.for_range(builder, given[2]) as loop:
            line = builder.load(builder.bitcast(place(1, loop.index, steps[0]), pointer), align=8)
            for step, total in zip(steps, sums, strict=True):
                cell = builder.load(place(0, builder.add(given[3], step), loop.index))
                one = builder.insert_element(empty, cell, ir.Constant(ir.IntType(32), 0))
                term = builder.fmul(builder.shuffle_vector(one, empty, everywhere), line)
                builder.store(builder.fadd(builder.load(total), term), total)
        for step, total in zip(steps, sums, strict=True):
            builder.store(builder.load(total), builder.bitcast(place(5, step, given[4]), pointer), align=8)
        return context.get_dummy_value()

    return types.void(X, weights, types.int64, types.int64, types.int64, out), generate


turn: Any = intrinsic(_turn)
bits_of: Any = intrinsic(_bits_of)


@njit(cache=True, nogil=True)
def dense_turned(X, matrix, out):  # type: ignore[no-untyped-def]  # numba kernel
    """Write `Wᵀx` of every row, added up in the order of columns; cells of 0 add nothing.

    Four rows are read at once, and eight columns of W, where hardly a cell of the first is 0; else one, and four columns in which it is not 0. A row's
    bits do not depend on the others, nor on which of both: `0 · w` of a finite w changes no sum that begins at +0.
    """
    n, p = X.shape
    filled, i = np.empty(p + 1, np.int64), 0
    panels = np.zeros(((matrix.shape[1] + 7) // 8, p, 8))
    for j in range(matrix.shape[1]):
        panels[j // 8, :, j % 8] = matrix[:, j]
    four = np.empty((4, 8 * len(panels)))
    while i < n:
        row, line, count = X[i], out[i], 0
        for j in range(p):
            filled[count] = j
            count += row[j] != 0.0
        if 8 * count >= 7 * p and i + 4 <= n:
            for panel in range(len(panels)):
                turn(X, panels[panel], p, i, 8 * panel, four)
            out[i : i + 4] = four[:, : line.size]
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
