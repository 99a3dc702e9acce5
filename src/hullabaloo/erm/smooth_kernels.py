"""Kernels of the inner minimisation, in plain doubles: derivatives of all records from their predictions."""

from hullabaloo.compiled import njit
from hullabaloo.losses.kernels import MARGIN_TABLE, RESIDUAL_TABLE, bend, clipped


@njit(cache=True, nogil=True, inline="always")
def table_bend(table, t):  # type: ignore[no-untyped-def]
    """g''(t) of `losses/tabulated.py`, from the right at knots."""
    place = (t - table[0]) / table[1]
    if not 0.0 <= place < table.size - 3:
        return 0.0
    i = int(place)
    return (table[3 + i] - table[2 + i]) / table[1]


@njit(cache=True, nogil=True, inline="always")
def clipped_bend(code, numbers, z, y, d, clip):  # type: ignore[no-untyped-def]  # numba kernel
    """φ'' where φ' = d is not clipped, else 0."""
    if not -clip < d < clip:
        return 0.0
    if code == RESIDUAL_TABLE:
        return table_bend(numbers, z - y)
    return y * y * table_bend(numbers, y * z) if code == MARGIN_TABLE else bend(code, numbers, d, y)


@njit(cache=True, nogil=True)
def slopes(z, y, weight, clip, code, numbers, first, second):  # type: ignore[no-untyped-def]
    """Write `w φ'` and `w φ''` of every record, φ' clipped."""
    weighted = weight.size > 0
    for i in range(z.size):
        d = clipped(code, numbers, z[i], y[i], clip)
        h = clipped_bend(code, numbers, z[i], y[i], d, clip)
        if weighted:
            d *= weight[i]
            h *= weight[i]
        first[i] = d
        second[i] = h


@njit(cache=True, nogil=True)
def along(z, move, length, y, weight, clip, code, numbers):  # type: ignore[no-untyped-def]
    """`Σ w φ'(z + t·move) move`: the slope of the data's part along a line, t = `length`."""
    weighted = weight.size > 0
    total = 0.0
    for i in range(z.size):
        d = clipped(code, numbers, z[i] + length * move[i], y[i], clip)
        if weighted:
            d *= weight[i]
        total += d * move[i]
    return total
