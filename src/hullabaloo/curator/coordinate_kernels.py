"""Kernels of the partial query: exact sums of one coordinate's clipped derivatives, with predictions kept current.

`z` holds each record's prediction, or its residual `z − y` for a loss of residuals alone. A record's number is moved by the
same public sequence `z += Δ x_j` whatever the other records are, so its bits, and those of its contribution, depend on that
record and released numbers alone. Contributions are rounded to whole cells and added up as integers. Loops have no branches and
no calls, so that the compiler makes them work on several records at a time; no operation is reordered or fused.

Two instructions read a double's 64 bits as an integer, and the other way round. They cost nothing and work on several numbers at a time,
where conversions do not: with `M = 1.5 · 2^52`, the bits of `v + M` are those of M plus v rounded to a whole number, ties to even, for |v| < 2^51.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from hullabaloo.compiled import njit
from hullabaloo.curator.kernels import bits_of
from hullabaloo.losses.kernels import (
    HUBER,
    LOGISTIC,
    MARGIN_TABLE,
    PINBALL,
    POISSON,
    RESIDUAL_TABLE,
    SMOOTHED_HINGE,
    SQUARED,
    derivative,
    table_slope,
)

BLOCK = 1 << 10  # rows that buffers in the first-level cache hold
LONG = 1 << 15  # rows whose contributions, of at most 2^37 cells each, add up to an exact double
HUGE = 2.0**500
"""Derivatives beyond count as this: so that no product with a clip's reciprocal overflows."""
RESIDUAL_CODES = (SQUARED, HUBER, PINBALL, RESIDUAL_TABLE)
FUSED = (SQUARED, HUBER, LOGISTIC)
"""Losses that have a loop of their own over dense columns, without buffers, where records are not weighted."""


MAGIC = 1.5 * 2.0**52
MAGIC_BITS = 0x4338000000000000


def _double_of(_: Any, bits: Any) -> Any:
    """The double of such an integer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


double_of: Any = intrinsic(_double_of)


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def between(d, limit):  # type: ignore[no-untyped-def]  # numba kernel
    """d clipped to ±limit; NaN stays."""
    d = limit if d > limit else d
    return -limit if d < -limit else d


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def exponential(x):  # type: ignore[no-untyped-def]
    """e^x for x cut at ±708: relative error below 1e-14; NaN stays.

    `x = k log 2 + r`, |r| ≤ ½ log 2; e^r by its Taylor series to r^11, whose rest is below 7e-15; 2^k by its bits.
    """
    v = between(x, 708.0)
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
    return (1.0 + (r + (r * r) * t)) * double_of(bits_of((k + 1023.0) + MAGIC) << 52)


@njit(cache=True, nogil=True, error_model="numpy")
def slopes(loss, z, y, out):  # type: ignore[no-untyped-def]  # noqa: PLR0912 - one loop for each loss
    """Write φ' clipped to ±limit into `out`, NaN where it is undefined; z holds residuals for the `RESIDUAL_CODES`, without y.

    The formulas of kernels.derivative, one loop each.
    """
    code, numbers, limit = loss
    parameter = numbers[0]
    if code in (SQUARED, HUBER):
        most = limit if code == SQUARED else min(parameter, limit)
        for i in range(z.size):
            out[i] = between(z[i], most)
    elif code == PINBALL:
        for i in range(z.size):
            out[i] = between(derivative(PINBALL, numbers, z[i], 0.0), limit)
    elif code == LOGISTIC:
        for i in range(z.size):
            out[i] = between(-y[i] / (1.0 + exponential(y[i] * z[i])), limit)
    elif code == POISSON:
        for i in range(z.size):
            out[i] = between(exponential(z[i]) - y[i], limit)
    elif code == SMOOTHED_HINGE:
        for i in range(z.size):
            steep = between((1.0 + parameter - y[i] * z[i]) / (2.0 * parameter), 1.0)
            out[i] = between(-y[i] * (0.0 if steep < 0.0 else steep), limit)
    elif code == RESIDUAL_TABLE:
        for i in range(z.size):
            out[i] = between(table_slope(numbers, z[i]), limit)
    elif code == MARGIN_TABLE:
        for i in range(z.size):
            out[i] = between(y[i] * table_slope(numbers, y[i] * z[i]), limit)
    else:
        out[:] = 0.0


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def share(slope, x, scale, cap):  # type: ignore[no-untyped-def]
    """`clip(φ' x scale, ±cap)`, 0 where it is undefined."""
    v = between((slope * scale) * x, cap)
    return v if v == v else 0.0  # noqa: PLR0124 (only NaN differs from itself)


@njit(cache=True, nogil=True, error_model="numpy")
def rounded(slope, column, weight, scale, cap):  # type: ignore[no-untyped-def]
    """The sum of `w clip(φ' x scale, ±cap)`, each rounded to a whole number of at most 2^37."""
    total = np.int64(0)
    for i in range(slope.size):
        v = share(slope[i], column[i], scale, cap)
        total += bits_of((v * weight[i] if weight.size > 0 else v) + MAGIC)
    return float(total - np.int64(slope.size) * np.int64(MAGIC_BITS))  # modulo 2^64


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def unrounded(slope, column, weight, scale, cap):  # type: ignore[no-untyped-def]
    """The sum without rounding, where there is no noise either: in any order."""
    total = 0.0
    for i in range(slope.size):
        v = share(slope[i], column[i], scale, cap)
        total += v * weight[i] if weight.size > 0 else v
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def contributed(loss, z, y, column, weight, scale, unit, slope):  # type: ignore[no-untyped-def]
    """The sum of a block's contributions in cells of 1/unit; unit 0: in units of C, not rounded. `slope` is scratch."""
    d = slope[: z.size]
    slopes(loss, z, y, d)
    if unit > 0.0:
        return rounded(d, column, weight, scale * unit, unit)  # unit is a power of 2: no bit changes
    return unrounded(d, column, weight, scale, 1.0)


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def fused_sum(z, y, moved, delta, limit, column, scale, cap, logits):  # type: ignore[no-untyped-def]
    """`z += Δ x`, and `rounded` of slopes, clipped residuals or those of logits, in one loop: as fast as memory reads both columns."""
    total = np.int64(0)
    for i in range(z.size):
        here = z[i] + delta * moved[i]
        z[i] = here
        d = between(-y[i] / (1.0 + exponential(y[i] * here)) if logits else here, limit)
        total += bits_of(share(d, column[i], scale, cap) + MAGIC)
    return float(total - np.int64(z.size) * np.int64(MAGIC_BITS))


@njit(cache=True, nogil=True, error_model="numpy")
def moved_sum(loss, z, y, moved, delta, column, weight, scale, unit, slope):  # type: ignore[no-untyped-def]
    """`z += Δ x` along `moved`, and the sum of contributions of `column`, of a block."""
    code, numbers, limit = loss
    fused = weight.size == 0 and unit > 0.0 and code in FUSED
    if fused and code != LOGISTIC:
        most = limit if code == SQUARED else min(numbers[0], limit)
        return fused_sum(z, y, moved, delta, most, column, scale * unit, unit, False)
    if fused:
        return fused_sum(z, y, moved, delta, limit, column, scale * unit, unit, True)
    for i in range(z.size):
        z[i] += delta * moved[i]
    return contributed(loss, z, y, column, weight, scale, unit, slope)


@njit(cache=True, nogil=True, error_model="numpy")
def sum_at(loss, rows, z, y, data, weight, scale, unit, scratch):  # type: ignore[no-untyped-def]
    """The sum of contributions of some cells of a column, one for each record; absent cells contribute 0."""
    slope, here, target, heavy = scratch
    m = data.size
    for i in range(m):
        here[i] = z[rows[i]]
    if y.size > 0:
        for i in range(m):
            target[i] = y[rows[i]]
    if weight.size > 0:
        for i in range(m):
            heavy[i] = weight[rows[i]]
    about = (here[:m], target[: min(m, y.size)], data, heavy[: min(m, weight.size)])
    return contributed(loss, *about, scale, unit, slope)


@njit(cache=True, nogil=True, error_model="numpy")
def gathered(total, cells, unit):  # type: ignore[no-untyped-def]
    """A block's sum, added to `cells[0] · 2^32 + cells[1]`; or itself, where it is not rounded."""
    if unit == 0.0:
        return total
    whole = np.int64(total)
    cells[0] += whole >> 32
    cells[1] += whole & 0xFFFFFFFF
    return 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def emptied(cells, unit):  # type: ignore[no-untyped-def]
    """The whole sum in units of C, rounded once; `cells` are set to 0."""
    whole = float(cells[0] + (cells[1] >> 32)) * 4294967296.0 + float(cells[1] & 0xFFFFFFFF)
    cells[:] = 0
    return whole / unit if unit > 0.0 else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def dense_sum(column, moved, delta, z, y, weight, loss, scale, unit, slope, cells):  # type: ignore[no-untyped-def]
    """Move z by Δ along the column `moved`, and return the sum of contributions of `column`: one pass for both."""
    total = 0.0
    moved = moved if delta != 0.0 else column  # z + 0 x = z: nothing more is read from memory
    block = LONG if weight.size == 0 and unit > 0.0 and loss[0] in FUSED else BLOCK
    for start in range(0, z.size, block):
        stop = start + block
        part = (z[start:stop], y[start:stop], moved[start:stop], delta, column[start:stop], weight[start:stop])
        total += gathered(moved_sum(loss, *part, scale, unit, slope), cells, unit)
    return total + emptied(cells, unit)


@njit(cache=True, nogil=True, error_model="numpy")
def sparse_sum(data, rows, z, y, weight, loss, scale, unit, scratch, cells):  # type: ignore[no-untyped-def]
    """The sum of contributions of a column given by its cells."""
    total = 0.0
    for start in range(0, data.size, BLOCK):
        part = (data[start : start + BLOCK], weight, scale, unit, scratch)
        total += gathered(sum_at(loss, rows[start : start + BLOCK], z, y, *part), cells, unit)
    return total + emptied(cells, unit)
