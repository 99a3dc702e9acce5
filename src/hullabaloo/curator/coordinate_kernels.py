"""Kernels of coordinate descent: exact sums of one coordinate's clipped partial derivatives, with predictions kept current.

`z` holds each record's prediction, or its residual `z − y` for a loss of residuals alone. A record's number is moved by the
same public sequence `z += Δ x_j` whatever the other records are, so its bits, and those of its contribution, depend on that
record and released numbers alone. Contributions are whole cells, added up exactly in doubles (`lanes`) and integers.
"""

import math

import numpy as np
from numba import njit

from hullabaloo.curator.kernels import HUBER, PINBALL, SQUARED, derivative
from hullabaloo.noise.kernels import release

BLOCK = 1 << 10  # rows that buffers in the first-level cache hold
FLUSH = 1 << 14  # blocks after which a lane of contributions of at most 2^37 cells is emptied
HUGE = 2.0**500
"""Derivatives beyond count as this: so that no product with a clip's reciprocal overflows."""
RESIDUAL_CODES = (SQUARED, HUBER, PINBALL)


@njit(cache=True, nogil=True)
def slopes(code, parameter, limit, z, y, out):  # type: ignore[no-untyped-def]  # numba kernel
    """Write φ' clipped to ±limit into `out`, 0 where it is undefined; an empty `y` stands for residuals in z."""
    for i in range(z.size):
        d = derivative(code, parameter, z[i], y[i] if y.size else 0.0)
        out[i] = 0.0 if math.isnan(d) else min(max(d, -limit), limit)


@njit(cache=True, nogil=True)
def contribute(slope, column, weight, inverse, unit, lanes):  # type: ignore[no-untyped-def]
    """Add `w clip(φ' x / C, ±1)` in whole cells to one lane for each record; unit 0: no rounding."""
    for i in range(slope.size):
        v = min(max((slope[i] * inverse) * column[i], -1.0), 1.0)
        if weight.size:
            v *= weight[i]
        lanes[i] += np.rint(v * unit) if unit > 0.0 else v


@njit(cache=True, nogil=True)
def emptied(lanes):  # type: ignore[no-untyped-def]
    """The sum of lanes of whole cells, each below 2^53; they are set to 0."""
    total = np.int64(0)
    for i in range(lanes.size):
        total += np.int64(lanes[i])
        lanes[i] = 0.0
    return total


@njit(cache=True, nogil=True)
def dense_sum(  # type: ignore[no-untyped-def]
    column, moved, delta, z, y, weight, code, parameter, limit, inverse, unit, slope, lanes
):
    """Move z by Δ along the column `moved`, and return the sum of contributions of `column`, in units of C."""
    high, low = 0, 0
    for number, start in enumerate(range(0, z.size, BLOCK)):
        part = z[start : start + BLOCK]
        if delta != 0.0:
            before = moved[start : start + BLOCK]
            for i in range(part.size):
                part[i] += delta * before[i]
        d = slope[: part.size]
        slopes(code, parameter, limit, part, y[start : start + BLOCK], d)
        contribute(d, column[start : start + BLOCK], weight[start : start + BLOCK], inverse, unit, lanes)
        if unit > 0.0 and number % FLUSH == FLUSH - 1:
            cells = emptied(lanes)
            high += cells >> 32
            low += cells & 0xFFFFFFFF
    if unit == 0.0:
        total = lanes.sum()
        lanes[:] = 0.0
        return total
    cells = emptied(lanes)
    high += cells >> 32
    low += cells & 0xFFFFFFFF
    return (float(high + (low >> 32)) * 4294967296.0 + float(low & 0xFFFFFFFF)) / unit


@njit(cache=True, nogil=True)
def sparse_sum(  # type: ignore[no-untyped-def]
    data, rows, z, y, weight, code, parameter, limit, inverse, unit, buffers, lanes
):
    """The sum of contributions of a column given by its cells, in units of C; absent cells contribute 0."""
    here, target, heavy, slope = buffers
    high, low = 0, 0
    for number, start in enumerate(range(0, data.size, BLOCK)):
        part = rows[start : start + BLOCK]
        m = part.size
        for i in range(m):
            here[i] = z[part[i]]
        if y.size:
            for i in range(m):
                target[i] = y[part[i]]
        if weight.size:
            for i in range(m):
                heavy[i] = weight[part[i]]
        slopes(code, parameter, limit, here[:m], target[: m * (y.size > 0)], slope[:m])
        contribute(slope[:m], data[start : start + BLOCK], heavy[: m * (weight.size > 0)], inverse, unit, lanes)
        if unit > 0.0 and number % FLUSH == FLUSH - 1:
            cells = emptied(lanes)
            high += cells >> 32
            low += cells & 0xFFFFFFFF
    if unit == 0.0:
        total = lanes.sum()
        lanes[:] = 0.0
        return total
    cells = emptied(lanes)
    high += cells >> 32
    low += cells & 0xFFFFFFFF
    return (float(high + (low >> 32)) * 4294967296.0 + float(low & 0xFFFFFFFF)) / unit


@njit(cache=True, nogil=True)
def noisy(exact, bound, noise, pitch, reach, cell):  # type: ignore[no-untyped-def]
    """The exact sum within ±bound, released with noise that was drawn beforehand; pitch 0: as it is. `cell` is scratch."""
    exact = min(max(exact, -bound), bound)
    if pitch == 0.0:
        return exact
    cell[0] = exact
    release(cell[:1], noise, 1.0 / pitch, pitch, reach, cell[1:])
    return cell[1]


@njit(cache=True, nogil=True)
def prox_at(kink, curvature, lower, upper, v, step):  # type: ignore[no-untyped-def]
    """argmin of `kink|t| + ½ curvature t² + (t − v)²/(2 step)` on [lower, upper]; the formula of SeparableForm.prox_at."""
    kink = step * kink
    moved = (max(v - kink, 0.0) + min(v + kink, 0.0)) / (1.0 + step * curvature)
    return min(max(moved, lower), upper)


@njit(cache=True, nogil=True)
def settled(theta, total, since, count):  # type: ignore[no-untyped-def]
    """Turn sums of earlier iterates into means over all `count`, in place."""
    for j in range(theta.size):
        total[j] = (total[j] + theta[j] * (count - since[j])) / count


@njit(cache=True, nogil=True)
def dense_descent(  # type: ignore[no-untyped-def]
    columns, z, y, weight, loss, lattice, order, clips, steps, form, noise, records, theta, total, partials
):
    """Update coordinates in `order`, in place: z is current afterwards. `columns` is (p, n), one row for each column of X."""
    code, parameter, limit = loss
    unit, bound, pitch, reach = lattice
    kinks, curvatures, lower, upper = form
    slope, lanes, cell = np.zeros(BLOCK), np.zeros(BLOCK), np.zeros(2)
    since = np.zeros(theta.size)
    last, delta = 0, 0.0
    for k in range(order.size):
        j = order[k]
        exact = dense_sum(
            columns[j], columns[last], delta, z, y, weight, code, parameter, limit, 1.0 / clips[j], unit, slope, lanes
        )
        partials[k] = clips[j] * (noisy(exact, bound, noise[k : k + 1], pitch, reach, cell) / records)
        new = prox_at(kinks[j], curvatures[j], lower[j], upper[j], theta[j] - steps[j] * partials[k], steps[j])
        total[j] += theta[j] * (k - since[j])
        since[j] = k
        last, delta = j, new - theta[j]
        theta[j] = new
    settled(theta, total, since, order.size)
    dense_move(columns, z, last, delta)


@njit(cache=True, nogil=True)
def dense_move(columns, z, j, delta):  # type: ignore[no-untyped-def]
    """z += Δ x_j."""
    if delta != 0.0:
        column = columns[j]
        for i in range(z.size):
            z[i] += delta * column[i]


@njit(cache=True, nogil=True)
def dense_moves(columns, z, deltas):  # type: ignore[no-untyped-def]
    """z += Σ Δ_j x_j over the j with Δ_j ≠ 0, in their order for each record; the table is read once."""
    moving = np.flatnonzero(deltas)
    for start in range(0, z.size, BLOCK):
        part = z[start : start + BLOCK]
        for j in moving:
            delta, column = deltas[j], columns[j, start : start + BLOCK]
            for i in range(part.size):
                part[i] += delta * column[i]


@njit(cache=True, nogil=True)
def sparse_descent(  # type: ignore[no-untyped-def]
    data, rows, starts, z, y, weight, loss, lattice, order, clips, steps, form, noise, records, theta, total, partials
):
    """The same for columns in compressed form."""
    code, parameter, limit = loss
    unit, bound, pitch, reach = lattice
    kinks, curvatures, lower, upper = form
    buffers = (np.zeros(BLOCK), np.zeros(BLOCK), np.zeros(BLOCK), np.zeros(BLOCK))
    lanes, cell = np.zeros(BLOCK), np.zeros(2)
    since = np.zeros(theta.size)
    for k in range(order.size):
        j = order[k]
        here = slice(starts[j], starts[j + 1])
        exact = sparse_sum(
            data[here], rows[here], z, y, weight, code, parameter, limit, 1.0 / clips[j], unit, buffers, lanes
        )
        partials[k] = clips[j] * (noisy(exact, bound, noise[k : k + 1], pitch, reach, cell) / records)
        new = prox_at(kinks[j], curvatures[j], lower[j], upper[j], theta[j] - steps[j] * partials[k], steps[j])
        total[j] += theta[j] * (k - since[j])
        since[j] = k
        sparse_move(data, rows, starts, z, j, new - theta[j])
        theta[j] = new
    settled(theta, total, since, order.size)


@njit(cache=True, nogil=True)
def sparse_move(data, rows, starts, z, j, delta):  # type: ignore[no-untyped-def]
    """z += Δ x_j."""
    if delta != 0.0:
        for at in range(starts[j], starts[j + 1]):
            z[rows[at]] += delta * data[at]


@njit(cache=True, nogil=True)
def sparse_moves(data, rows, starts, z, deltas):  # type: ignore[no-untyped-def]
    """z += Σ Δ_j x_j over the j with Δ_j ≠ 0, in their order for each record."""
    for j in np.flatnonzero(deltas):
        sparse_move(data, rows, starts, z, j, deltas[j])
