"""Kernels of coordinate descent: exact sums of one coordinate's clipped partial derivatives, with predictions kept current.

`z` holds each record's prediction, or its residual `z − y` for a loss of residuals alone. A record's number is moved by the
same public sequence `z += Δ x_j` whatever the other records are, so its bits, and those of its contribution, depend on that
record and released numbers alone. Contributions are whole cells, added up exactly in doubles (`lanes`) and integers.
"""

import numpy as np
from numba import njit

from hullabaloo.curator.kernels import HUBER, LOGISTIC, PINBALL, POISSON, SMOOTHED_HINGE, SQUARED, derivative
from hullabaloo.noise.kernels import release

BLOCK = 1 << 10  # rows that buffers in the first-level cache hold
FLUSH = 1 << 14  # blocks after which a lane of contributions of at most 2^37 cells is emptied
TILE = 1 << 6
HUGE = 2.0**500
"""Derivatives beyond count as this: so that no product with a clip's reciprocal overflows."""
RESIDUAL_CODES = (SQUARED, HUBER, PINBALL)


@njit(cache=True, nogil=True, error_model="numpy")
def exponentials(x, powers):  # type: ignore[no-untyped-def]  # numba kernel
    """e^x in place, for x cut at ±708: relative error below 1e-14, without branches or calls, so that it runs several at a time.

    `x = k log 2 + r`, |r| ≤ ½ log 2; e^r by its Taylor series to r^11, whose rest is below 7e-15; 2^k by the bits of `powers`.
    """
    bits = powers.view(np.int64)
    for i in range(x.size):
        v = x[i] if x[i] > -708.0 else -708.0
        v = v if v < 708.0 else 708.0
        k = np.rint(v * 1.4426950408889634)
        r = (v - k * 0.6931471803691238) - k * 1.9082149292705877e-10
        t = 1.0 / 39916800.0
        t = t * r + 1.0 / 3628800.0
        t = t * r + 1.0 / 362880.0
        t = t * r + 1.0 / 40320.0
        t = t * r + 1.0 / 5040.0
        t = t * r + 1.0 / 720.0
        t = t * r + 1.0 / 120.0
        t = t * r + 1.0 / 24.0
        t = t * r + 1.0 / 6.0
        t = t * r + 0.5
        x[i] = 1.0 + (r + (r * r) * t)
        powers[i] = (k + 1023.0) + 6755399441055744.0  # 1.5 · 2^52: the last bits are those of k + 1023
    for i in range(x.size):
        bits[i] = bits[i] << 52
    for i in range(x.size):
        x[i] *= powers[i]


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def bounded(d, limit):  # type: ignore[no-untyped-def]
    """d clipped to ±limit, 0 where it is undefined."""
    d = limit if d > limit else d
    d = -limit if d < -limit else d
    return d if d == d else 0.0  # noqa: PLR0124 (only NaN differs from itself)


@njit(cache=True, nogil=True, error_model="numpy")
def slopes(loss, z, y, powers, out):  # type: ignore[no-untyped-def]  # noqa: PLR0912 - one loop for each loss
    """Write φ' clipped to ±limit into `out`, 0 where it is undefined; z holds residuals for the `RESIDUAL_CODES`, which need no y.

    The formulas of kernels.derivative, one loop each. `powers` is scratch.
    """
    code, parameter, limit = loss
    if code == SQUARED:
        for i in range(z.size):
            out[i] = bounded(z[i], limit)
    elif code == HUBER:
        for i in range(z.size):
            out[i] = bounded(bounded(z[i], parameter), limit)
    elif code == PINBALL:
        for i in range(z.size):
            out[i] = bounded(derivative(PINBALL, parameter, z[i], 0.0), limit)
    elif code == LOGISTIC:
        for i in range(z.size):
            out[i] = y[i] * z[i]
        exponentials(out, powers)
        for i in range(z.size):
            d = -y[i] / (1.0 + out[i])
            out[i] = bounded(d if z[i] == z[i] else 0.0, limit)
    elif code == POISSON:
        out[:] = z
        exponentials(out, powers)
        for i in range(z.size):
            out[i] = bounded(out[i] - y[i] if z[i] == z[i] else 0.0, limit)
    elif code == SMOOTHED_HINGE:
        for i in range(z.size):
            steep = bounded((1.0 + parameter - y[i] * z[i]) / (2.0 * parameter), 1.0)
            out[i] = bounded(-y[i] * (steep if steep > 0.0 else 0.0), limit)
    else:
        out[:] = 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def contribute(slope, column, weight, inverse, unit, lanes):  # type: ignore[no-untyped-def]
    """Add `w clip(φ' x / C, ±1)` in whole cells to one lane for each record; unit 0: no rounding."""
    if weight.size and unit > 0.0:
        for i in range(slope.size):
            lanes[i] += np.rint((bounded((slope[i] * inverse) * column[i], 1.0) * weight[i]) * unit)
    elif unit > 0.0:
        for i in range(slope.size):
            lanes[i] += np.rint(bounded((slope[i] * inverse) * column[i], 1.0) * unit)
    elif weight.size:
        for i in range(slope.size):
            lanes[i] += bounded((slope[i] * inverse) * column[i], 1.0) * weight[i]
    else:
        for i in range(slope.size):
            lanes[i] += bounded((slope[i] * inverse) * column[i], 1.0)


@njit(cache=True, nogil=True, error_model="numpy")
def carried(lanes, cells):  # type: ignore[no-untyped-def]
    """Move lanes of whole cells, each below 2^53, into a sum of two limbs, `cells[0] · 2^32 + cells[1]`."""
    total = np.int64(0)
    for i in range(lanes.size):
        total += np.int64(lanes[i])
        lanes[i] = 0.0
    cells[0] += total >> 32
    cells[1] += total & 0xFFFFFFFF


@njit(cache=True, nogil=True, error_model="numpy")
def summed(lanes, cells, unit):  # type: ignore[no-untyped-def]
    """The whole sum in units of C, rounded once; everything is set to 0."""
    if unit == 0.0:
        total = lanes.sum()
        lanes[:] = 0.0
        return total
    carried(lanes, cells)
    whole = float(cells[0] + (cells[1] >> 32)) * 4294967296.0 + float(cells[1] & 0xFFFFFFFF)
    cells[:] = 0
    return whole / unit


@njit(cache=True, nogil=True, error_model="numpy")
def dense_sum(column, moved, delta, z, y, weight, loss, inverse, unit, scratch, cells):  # type: ignore[no-untyped-def]
    """Move z by Δ along the column `moved`, and return the sum of contributions of `column`: one pass for both."""
    slope, powers, lanes = scratch
    for number, start in enumerate(range(0, z.size, BLOCK)):
        part = z[start : start + BLOCK]
        if delta != 0.0:
            before = moved[start : start + BLOCK]
            for i in range(part.size):
                part[i] += delta * before[i]
        d = slope[: part.size]
        slopes(loss, part, y[start : start + BLOCK], powers, d)
        contribute(d, column[start : start + BLOCK], weight[start : start + BLOCK], inverse, unit, lanes)
        if unit > 0.0 and number % FLUSH == FLUSH - 1:
            carried(lanes, cells)
    return summed(lanes[: z.size], cells, unit)


@njit(cache=True, nogil=True, error_model="numpy")
def sparse_sum(data, rows, z, y, weight, loss, inverse, unit, scratch, cells):  # type: ignore[no-untyped-def]
    """The sum of contributions of a column given by its cells, one for each record; absent cells contribute 0."""
    slope, powers, lanes, here, target, heavy = scratch
    for number, start in enumerate(range(0, data.size, BLOCK)):
        part = rows[start : start + BLOCK]
        m = part.size
        for i in range(m):
            here[i] = z[part[i]]
        if y.size > 0:
            for i in range(m):
                target[i] = y[part[i]]
        if weight.size > 0:
            for i in range(m):
                heavy[i] = weight[part[i]]
        slopes(loss, here[:m], target[: min(m, y.size)], powers, slope[:m])
        contribute(slope[:m], data[start : start + BLOCK], heavy[: min(m, weight.size)], inverse, unit, lanes)
        if unit > 0.0 and number % FLUSH == FLUSH - 1:
            carried(lanes, cells)
    return summed(lanes[: data.size], cells, unit)


@njit(cache=True, nogil=True, error_model="numpy")
def noisy(exact, noise, grid, cell):  # type: ignore[no-untyped-def]
    """The exact sum within ±bound, released with noise that was drawn beforehand; pitch 0: as it is. `cell` is scratch."""
    bound, pitch, reach = grid
    exact = min(max(exact, -bound), bound)
    if pitch == 0.0:
        return exact
    cell[0] = exact
    release(cell[:1], noise, 1.0 / pitch, pitch, reach, cell[1:])
    return cell[1]


@njit(cache=True, nogil=True, error_model="numpy")
def prox_at(form, j, v, step):  # type: ignore[no-untyped-def]
    """`SeparableForm.prox_at` of a form without a penalty of its own."""
    kinks, curvatures, lower, upper = form
    kink = step * kinks[j]
    moved = (max(v - kink, 0.0) + min(v + kink, 0.0)) / (1.0 + step * curvatures[j])
    return min(max(moved, lower[j]), upper[j])


@njit(cache=True, nogil=True, error_model="numpy")
def updated(k, j, exact, clips, steps, form, noise, grid, cell, records, path):  # type: ignore[no-untyped-def]
    """Update coordinate j by its released sum, and return by how much it moved.

    `path` holds θ, sums of the iterates before update `since_j`, `since` and the released derivatives.
    """
    theta, total, since, partials = path
    partials[k] = clips[j] * (noisy(exact, noise[k : k + 1], grid, cell) / records)
    before = theta[j]
    theta[j] = prox_at(form, j, before - steps[j] * partials[k], steps[j])
    total[j] += before * (k - since[j])
    since[j] = k
    return theta[j] - before


@njit(cache=True, nogil=True, error_model="numpy")
def averaged(path):  # type: ignore[no-untyped-def]
    """Turn sums of iterates into means over all updates, in place."""
    theta, total, since, partials = path
    for j in range(theta.size):
        total[j] = (total[j] + theta[j] * (partials.size - since[j])) / partials.size


@njit(cache=True, nogil=True, error_model="numpy")
def dense_descent(columns, z, y, weight, loss, unit, order, clips, steps, form, noise, grid, records, path):  # type: ignore[no-untyped-def]
    """Update coordinates in `order`; z is current afterwards. `columns` is (p, n)."""
    scratch = (
        np.zeros(BLOCK),
        np.zeros(BLOCK),
        np.zeros(BLOCK),
    )  # arrays of their own: rows of one would share cache places
    cells, cell = np.zeros(2, dtype=np.int64), np.zeros(2)
    j, delta = 0, 0.0
    for k in range(order.size):
        last, j = j, order[k]
        exact = dense_sum(columns[j], columns[last], delta, z, y, weight, loss, 1.0 / clips[j], unit, scratch, cells)
        delta = updated(k, j, exact, clips, steps, form, noise, grid, cell, records, path)
    dense_move(columns, z, j, delta)
    averaged(path)


@njit(cache=True, nogil=True, error_model="numpy")
def sparse_descent(  # type: ignore[no-untyped-def]
    data, rows, starts, z, y, weight, loss, unit, order, clips, steps, form, noise, grid, records, path
):
    """The same for columns in compressed form."""
    slope, powers, lanes = np.zeros(BLOCK), np.zeros(BLOCK), np.zeros(BLOCK)
    scratch = (slope, powers, lanes, np.zeros(BLOCK), np.zeros(BLOCK), np.zeros(BLOCK))
    cells, cell = np.zeros(2, dtype=np.int64), np.zeros(2)
    for k in range(order.size):
        j = order[k]
        here = slice(starts[j], starts[j + 1])
        exact = sparse_sum(data[here], rows[here], z, y, weight, loss, 1.0 / clips[j], unit, scratch, cells)
        delta = updated(k, j, exact, clips, steps, form, noise, grid, cell, records, path)
        sparse_move(data, rows, starts, z, j, delta)
    averaged(path)


@njit(cache=True, nogil=True, error_model="numpy")
def dense_move(columns, z, j, delta):  # type: ignore[no-untyped-def]
    """z += Δ x_j."""
    if delta != 0.0:
        column = columns[j]
        for i in range(z.size):
            z[i] += delta * column[i]


@njit(cache=True, nogil=True, error_model="numpy")
def sparse_move(data, rows, starts, z, j, delta):  # type: ignore[no-untyped-def]
    """z += Δ x_j."""
    if delta != 0.0:
        for at in range(starts[j], starts[j + 1]):
            z[rows[at]] += delta * data[at]


@njit(cache=True, nogil=True, error_model="numpy")
def dense_moves(columns, z, deltas):  # type: ignore[no-untyped-def]
    """z += Σ Δ_j x_j over the j with Δ_j ≠ 0, in their order for each record; the table is read once."""
    for start in range(0, z.size, BLOCK):
        part = z[start : start + BLOCK]
        for j in range(deltas.size):
            if deltas[j] != 0.0:
                column, delta = columns[j][start : start + BLOCK], deltas[j]
                for i in range(part.size):
                    part[i] += delta * column[i]


@njit(cache=True, nogil=True, error_model="numpy")
def sparse_moves(data, rows, starts, z, deltas):  # type: ignore[no-untyped-def]
    """The same for columns in compressed form."""
    for j in range(deltas.size):
        sparse_move(data, rows, starts, z, j, deltas[j])


@njit(cache=True, nogil=True, error_model="numpy")
def by_columns(X, out):  # type: ignore[no-untyped-def]
    """Copy X, (n, p), into `out`, (p, n), tile by tile."""
    n, p = X.shape
    for start in range(0, n, TILE):
        for first in range(0, p, TILE):
            for j in range(first, min(first + TILE, p)):
                for i in range(start, min(start + TILE, n)):
                    out[j, i] = X[i, j]
