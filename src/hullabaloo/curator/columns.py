"""Second moments of rows that lie in memory column by column, as a reader's columns do: rounded and multiplied where they lie."""

import numpy as np

from hullabaloo.compiled import njit
from hullabaloo.curator.exact import PRODUCT_BLOCK, ExactSum, magic_number
from hullabaloo.curator.kernels import add_cells
from hullabaloo.data.source import Rows

_STRIP = 256  # rows, of which some columns stay in the processor's first cache


def moments_of_columns(rows: Rows, size: int, exponent: int) -> ExactSum:
    """What `dense_sum` of moments.py adds up to, to the last bit; PRIVATE.

    **Guarantee.** Every entry is rounded as `quantised_rows` rounds it, and sums of products on the lattice are exact (exact.py): so the total is
    the same, whatever is added first, and fused or not.
    """
    upper, total = (ExactSum((length, length), 2 * exponent) for length in (-(-size // 3) * 3, size))
    root, unit = np.zeros(0) if rows.weight is None else np.sqrt(rows.weight), 2.0**-upper.exponent
    add_symmetric_products(rows.X.T, rows.Y, root, magic_number(exponent), unit, upper.high, upper.low)
    total.high, total.low = (
        np.triu(one[:size, :size]) + np.triu(one[:size, :size], 1).T for one in (upper.high, upper.low)
    )
    return total


@njit(cache=True, nogil=True)
def add_symmetric_products(lines, Y, root, magic, unit, high, low):  # type: ignore[no-untyped-def]
    """Add the upper triangle of `Σ b bᵀ` to a sum of two limbs, b = `√w (x, y)` of every row, rounded to the lattice of `magic`.

    `lines` are the columns of x; an empty `root` means weights of 1; `unit` is one over the square of the pitch. The limbs have the next
    multiple of three columns, the last of them of zeros.
    """
    (p, rows), weight, block = lines.shape, np.ones(_STRIP), np.zeros(high.shape)
    columns = np.zeros((len(high), _STRIP + 8))  # 8: so that a row's cells lie in cache sets of their own
    for start in range(0, rows, _STRIP):
        n = min(_STRIP, rows - start)
        columns[:, n:] = 0.0
        if root.size > 0:
            weight[:n] = root[start : start + n]
        for j in range(p):
            line, column = lines[j, start : start + n], columns[j, :n]
            for r in range(n):
                column[r] = (line[r] * weight[r] + magic) - magic
        for j in range(Y.shape[1]):
            for r in range(n):
                columns[p + j, r] = (Y[start + r, j] * weight[r] + magic) - magic
        _add_products(columns, block)
        if start + n == rows or (start + n) % PRODUCT_BLOCK == 0:
            add_cells(block, unit, high, low)
            block[:] = 0.0


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _add_products(columns, out):  # type: ignore[no-untyped-def]
    """Add the products of all pairs of columns, three by three, each of which stays in a register of the processor."""
    p, n = columns.shape
    for i in range(0, p, 3):
        a, b, c = columns[i], columns[i + 1], columns[i + 2]
        for j in range(i, p, 3):
            d, e, f = columns[j], columns[j + 1], columns[j + 2]
            ad = ae = af = bd = be = bf = cd = ce = cf = 0.0
            for r in range(n):
                ad, ae, af = ad + a[r] * d[r], ae + a[r] * e[r], af + a[r] * f[r]
                bd, be, bf = bd + b[r] * d[r], be + b[r] * e[r], bf + b[r] * f[r]
                cd, ce, cf = cd + c[r] * d[r], ce + c[r] * e[r], cf + c[r] * f[r]
            for k, sums in enumerate(((ad, ae, af), (bd, be, bf), (cd, ce, cf))):
                for m, total in enumerate(sums):
                    out[i + k, j + m] += total
