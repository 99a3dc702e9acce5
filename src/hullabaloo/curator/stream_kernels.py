"""Kernels of streams: the sums of `bbᵀ` over the records of each step, in one pass over a batch of many steps."""

import numpy as np

from hullabaloo.compiled import njit
from hullabaloo.curator.kernels import add_cells

_LOW = 0xFFFFFFFF


@njit(cache=True, nogil=True, inline="always")
def _add_record(row, targets, root, magic, inverse, cells, sums):  # type: ignore[no-untyped-def]
    """Add the upper triangle of `bbᵀ`, b the record times `root`, rounded to the lattice, in cells."""
    p = row.size
    for j in range(p):
        cells[j] = ((row[j] * root + magic) - magic) * inverse
    for j in range(targets.size):
        cells[p + j] = ((targets[j] * root + magic) - magic) * inverse
    k, size = 0, cells.size
    for i in range(size):
        factor, count = cells[i], size - i
        into, other = sums[k : k + count], cells[i:]
        for j in range(count):
            into[j] += factor * other[j]
        k += count


@njit(cache=True, nogil=True)
def step_sums(  # type: ignore[no-untyped-def]
    X, Y, root, ends, magic, inverse, room, sums, high, low, factors, places, bound, out
):
    """Write each completed step's vector into `out`, and keep what the records after the last end add up to.

    `ends` holds, for every step that the batch completes, the number of records of the batch up to its end. Products are added
    in doubles, whole numbers of cells, and moved to the limbs after `room` records; 0: never (sums of doubles, without limbs).
    """
    n, row, held = X.shape[0], 0, 0
    cells = np.empty(X.shape[1] + Y.shape[1])
    for step in range(ends.size + 1):
        stop = ends[step] if step < ends.size else n
        while row < stop:
            factor = root[row] if root.size > 0 else 1.0
            _add_record(X[row], Y[row], factor, magic, inverse, cells, sums)
            row += 1
            held += 1
            if held == room:
                add_cells(sums, 1.0, high, low)
                sums[:], held = 0.0, 0
        if step == ends.size:
            break
        if room:
            add_cells(sums, 1.0, high, low)
            sums[:] = 0.0
        held = 0
        for k in range(sums.size):
            whole = float(high[k] + (low[k] >> 32)) * 4294967296.0 + float(low[k] & _LOW)
            out[step, places[k]] = min(max((whole + sums[k]) * factors[k], -bound), bound)
            sums[k] = 0.0
            high[k] = 0
            low[k] = 0
    if room:
        add_cells(sums, 1.0, high, low)
        sums[:] = 0.0
