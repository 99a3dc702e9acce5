"""Kernels of coordinate descent: sums released with noise that was drawn beforehand, proximal steps, and moved predictions."""

import numpy as np

from hullabaloo.compiled import njit
from hullabaloo.curator.coordinate_kernels import BLOCK, dense_sum, sparse_sum
from hullabaloo.noise.kernels import release


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
    slope = np.zeros(BLOCK)
    cells, cell = np.zeros(2, dtype=np.int64), np.zeros(2)
    j, delta = 0, 0.0
    for k in range(order.size):
        last, j = j, order[k]
        exact = dense_sum(columns[j], columns[last], delta, z, y, weight, loss, 1.0 / clips[j], unit, slope, cells)
        delta = updated(k, j, exact, clips, steps, form, noise, grid, cell, records, path)
    dense_move(columns, z, j, delta)
    averaged(path)


@njit(cache=True, nogil=True, error_model="numpy")
def sparse_descent(  # type: ignore[no-untyped-def]
    data, rows, starts, z, y, weight, loss, unit, order, clips, steps, form, noise, grid, records, path
):
    """The same for columns in compressed form; `rows` are unsigned, so that none needs to be checked for its sign."""
    # one array's rows would share cache places
    scratch = (np.zeros(BLOCK), np.zeros(BLOCK), np.zeros(BLOCK), np.zeros(BLOCK))
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
        cells, places = data[starts[j] : starts[j + 1]], rows[starts[j] : starts[j + 1]]
        for i in range(cells.size):
            z[places[i]] += delta * cells[i]


@njit(cache=True, nogil=True, error_model="numpy")
def dense_moves(columns, z, deltas):  # type: ignore[no-untyped-def]
    """z += Σ Δ_j x_j, in the order of columns for each record."""
    for j in np.flatnonzero(deltas):
        dense_move(columns, z, j, deltas[j])


@njit(cache=True, nogil=True, error_model="numpy")
def sparse_moves(data, rows, starts, z, deltas):  # type: ignore[no-untyped-def]
    """The same for columns in compressed form."""
    for j in np.flatnonzero(deltas):
        sparse_move(data, rows, starts, z, j, deltas[j])
