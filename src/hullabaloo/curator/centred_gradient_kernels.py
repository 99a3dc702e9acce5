"""Kernels of the centred queries: sums of shortened per-record gradients on a lattice, and the lengths that are shortened.

In both, a record is `u = D(x − m)` with a public centre m and public weights D, and `code` may be `PLAIN`: φ' ≡ 1. `numbers` are a loss's parameter or table.
"""

import math

import numpy as np

from hullabaloo.compiled import njit
from hullabaloo.curator.kernels import bits_of, product
from hullabaloo.losses.kernels import bend, derivative

PLAIN = -1
SHORTEST = 1e-200
"""Squared lengths below this count as 0: above, a sum of squares is accurate to its last digits."""


@njit(cache=True, nogil=True, inline="always")
def slope(code, numbers, z, y):  # type: ignore[no-untyped-def]  # numba kernel
    """φ'(z, y), 0 where it is undefined."""
    if code == PLAIN:
        return 1.0
    d = derivative(code, numbers, z, y)
    return 0.0 if math.isnan(d) else d


@njit(cache=True, nogil=True, inline="always")
def predicted(row, theta, offset, i):  # type: ignore[no-untyped-def]
    """z of the record of that number."""
    return product(row, theta) + (offset[i] if offset.size > 0 else 0.0)


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def squared_length(row, centre, scale, count):  # type: ignore[no-untyped-def]
    """‖D(x − m)‖² over so many columns, added up in an order that the compiler chooses once for every row of them."""
    total = 0.0
    for j in range(count):
        u = (row[j] - centre[j]) * scale[j]
        total += u * u
    return total


@njit(cache=True, nogil=True)
def measure(X, centre, scale, squares):  # type: ignore[no-untyped-def]
    """Write `Σ u_j²` of every row over all columns but the last where one is NaN, not known yet: what no weight of the last column changes."""
    known = True
    for i in range(squares.size):
        known &= not math.isnan(squares[i])
    for i in range(0 if known else squares.size):
        squares[i] = squared_length(X[i], centre, scale, X.shape[1] - 1)


@njit(cache=True, nogil=True, inline="always")
def moved(d, x, centre, scale, magic):  # type: ignore[no-untyped-def]
    """The bits of `d (x − m) s + M`."""
    return bits_of(d * ((x - centre) * scale) + magic)


@njit(cache=True, nogil=True)
def dense_steps(  # type: ignore[no-untyped-def]
    X, y, weight, offset, measured, theta, centre, scale, clip_norm, code, numbers, magic, unit, high, low
):
    """Add `w u · clip(φ'/clip_norm, ±1/‖u‖)` of all rows to the lower limb of a sum, each coordinate rounded to the lattice, in whole cells.

    The bits of `c + M` are those of M plus c in cells, as `coordinate_kernels` says: added up as integers, which wrap around, and M's taken away at last.
    Columns that are seen as they are, all but the last in coordinates of their own, are not moved and weighted: `(x − 0) · 1` is x.
    """
    n, p = X.shape
    same = p - 1 if not centre[:-1].any() and np.all(scale[:-1] == 1.0) else 0
    count, other, e = 0, -1, 0.0  # a row that waits for the next: two are added at once
    for i in range(n):
        z = predicted(X[i], theta, offset, i)  # first: a row comes late if its last cell is read before others
        squares = measured[i] + ((X[i, p - 1] - centre[p - 1]) * scale[p - 1]) ** 2
        if not SHORTEST < squares < math.inf:
            continue
        limit = 1.0 / math.sqrt(squares)
        d = min(max(slope(code, numbers, z, y[i]) / clip_norm, -limit), limit)
        if weight.size > 0:
            d *= weight[i]
        count += 1
        if other < 0:
            other, e = i, d
            continue
        for j in range(same):
            low[j] += bits_of(d * X[i, j] + magic) + bits_of(e * X[other, j] + magic)
        if same > 0:
            low[same] += moved(d, X[i, same], centre[same], scale[same], magic)
            low[same] += moved(e, X[other, same], centre[same], scale[same], magic)
        for j in range(p if same == 0 else 0):
            low[j] += moved(d, X[i, j], centre[j], scale[j], magic) + moved(e, X[other, j], centre[j], scale[j], magic)
        other = -1
    for j in range(p if other >= 0 else 0):
        low[j] += moved(e, X[other, j], centre[j], scale[j], magic)
    low -= count * bits_of(magic)


@njit(cache=True, nogil=True)
def dense_counts(  # type: ignore[no-untyped-def]
    X, y, weight, offset, measured, theta, centre, scale, code, numbers, edges, share, magic, unit, high, low
):
    """Add to `low` how many rows have `|φ'| ‖u‖` between edges."""
    lengths, last = np.empty(y.size), X.shape[1] - 1
    for i in range(y.size):
        z = 0.0 if code == PLAIN else predicted(X[i], theta, offset, i)
        squares = measured[i] + ((X[i, last] - centre[last]) * scale[last]) ** 2
        lengths[i] = abs(slope(code, numbers, z, y[i])) * math.sqrt(squares if squares > SHORTEST else 0.0)
    add_counts(lengths, edges, weight, share, unit, low)


@njit(cache=True, nogil=True)
def add_counts(lengths, edges, weight, share, unit, counts):  # type: ignore[no-untyped-def]
    """Add to `counts` how many lengths, of rows with a positive weight, reach so many of the edges; one that is not a number reaches none."""
    for i in range(lengths.size):
        place = 0
        for j in range(edges.size):
            place += lengths[i] >= edges[j]
        counted = 1.0 if weight.size == 0 or (weight[i] > 0.0 and not share) else weight[i]
        counts[place] += np.int64(np.rint(counted * unit))


@njit(cache=True, nogil=True)
def unit_steps(X, y, weight, offset, unit, theta, centre, scale, clip_norm, code, numbers, magic, out):  # type: ignore[no-untyped-def]
    """Add what `dense_steps` adds for every row to the row of `out` that is its unit's."""
    for i in range(y.size):
        squares = squared_length(X[i], centre, scale, X.shape[1])
        if not SHORTEST < squares < math.inf:
            continue
        z = predicted(X[i], theta, offset, i)
        limit = 1.0 / math.sqrt(squares)
        d = weight[i] * min(max(slope(code, numbers, z, y[i]) / clip_norm, -limit), limit)
        for j in range(X.shape[1]):
            out[unit[i], j] += (d * ((X[i, j] - centre[j]) * scale[j]) + magic) - magic


@njit(cache=True, nogil=True, inline="always")
def seen_sparse(data, indices, indptr, theta, scale, offset, i):  # type: ignore[no-untyped-def]
    """z and ‖Dx‖² of the row of that number, in compressed sparse row form."""
    z, squares = 0.0, 0.0
    for at in range(indptr[i], indptr[i + 1]):
        u = data[at] * scale[indices[at]]
        z += data[at] * theta[indices[at]]
        squares += u * u
    return z + (offset[i] if offset.size > 0 else 0.0), squares


@njit(cache=True, nogil=True)
def sparse_steps(  # type: ignore[no-untyped-def]
    data, indices, indptr, y, weight, offset, theta, scale, clip_norm, code, numbers, unit, cells
):
    """`dense_steps` without a centre, for rows in compressed sparse row form, in whole cells; an absent cell adds 0."""
    for i in range(y.size):
        z, squares = seen_sparse(data, indices, indptr, theta, scale, offset, i)
        if squares <= SHORTEST:
            continue
        limit = 1.0 / math.sqrt(squares)
        d = min(max(slope(code, numbers, z, y[i]) / clip_norm, -limit), limit)
        if weight.size > 0:
            d *= weight[i]
        for at in range(indptr[i], indptr[i + 1]):
            cells[indices[at]] += np.int64(np.rint(d * (data[at] * scale[indices[at]]) * unit))


@njit(cache=True, nogil=True)
def sparse_counts(  # type: ignore[no-untyped-def]
    data, indices, indptr, y, weight, offset, theta, scale, code, numbers, edges, share, unit, counts
):
    """`dense_counts` without a centre, for rows in compressed sparse row form."""
    lengths = np.empty(y.size)
    for i in range(y.size):
        z, squares = seen_sparse(data, indices, indptr, theta, scale, offset, i)
        lengths[i] = abs(slope(code, numbers, z, y[i])) * math.sqrt(squares if squares > SHORTEST else 0.0)
    add_counts(lengths, edges, weight, share, unit, counts)


@njit(cache=True, nogil=True)
def shortened_rows(  # type: ignore[no-untyped-def]
    X, y, root, offset, theta, centre, scale, clip_norm, code, numbers, curved, magic, out
):
    """Write `root · u · min(f/clip_norm, 1/‖u‖)` of every row's first columns, rounded to the lattice of `magic`, into `out`.

    f is |φ'|, or √φ'' where it is `curved`.
    """
    n, q = out.shape
    for i in range(n):
        row = X[i, :q]
        squares = squared_length(row, centre, scale, q)
        if not SHORTEST < squares < math.inf:
            out[i] = 0.0
            continue
        f = 1.0
        if code != PLAIN:
            z = predicted(X[i], theta, offset, i)
            f = abs(slope(code, numbers, z, y[i]))
            if curved:
                f = math.sqrt(bend(code, numbers, slope(code, numbers, z, y[i]), y[i]))
        d = min(f / clip_norm, 1.0 / math.sqrt(squares))
        if root.size > 0:
            d *= root[i]
        for j in range(q):
            out[i, j] = (d * ((row[j] - centre[j]) * scale[j]) + magic) - magic
