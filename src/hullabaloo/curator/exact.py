"""Exact sums: contributions live on a lattice of pitch `2^e`, blocks are summed in doubles without any rounding, and
block sums are added in integers of two limbs. Several threads may add them: kernels release the interpreter lock, and integers
add up in any order.

Rows whose products are summed are rounded to a lattice so coarse that products of two cells, and sums of a block of products, are exact doubles:
with entries of modulus at most L = 2^l and pitch `2^{l−21}`, a product spans at most 2^42 cells of `2^{2(l−21)}`, and 2048 of them add up below
2^53: any BLAS, with any blocking, order, fused multiply-add or number of threads, computes the block's Gram matrix without a single rounding.

Why: floating-point addition rounds, and what it rounds depends on all the other records, so that the sum of two
neighbouring tables can differ by more than the record that changed. On a lattice the sum has no error at all: the same
bits for every order of rows, block size and number of cores.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from hullabaloo.curator.kernels import add_cells, total_of_cells
from hullabaloo.data import RowFacts, Rows, cores

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

CELLS = 37
"""A contribution spans at most 2^37 lattice cells: 2^14 of them stay below 2^53, and 2^24 in whole cells below 2^63."""
BITS = 21
PRODUCT_BLOCK = 1 << (53 - 2 * BITS)
_ROWS = 1 << 24  # rows after which what their whole cells add up to is carried
_MANY = 1 << 20  # table cells from which threads are worth their start
_LIMB = 32
_MASK = (1 << _LIMB) - 1


def magic_number(exponent: int) -> float:
    """`1.5 · 2^{52+e}`: `(c + M) − M` rounds `|c| < 2^{51+e}` to the nearest multiple of `2^e`, and does so exactly."""
    return 1.5 * 2.0 ** (52 + exponent)


class ExactSum:
    """A sum of arrays of lattice multiples, without rounding and without overflow (up to 2^30 blocks).

    Attributes:
        high: the high limb of `high · 2^32 + low` cells; kernels add to both in place.
        low: the low limb.
        exponent: that of the pitch.
    """

    __slots__ = ("exponent", "high", "low")

    def __init__(self, shape: tuple[int, ...], exponent: int) -> None:
        self.exponent = exponent
        self.high: Integers = np.zeros(shape, dtype=np.int64)
        self.low: Integers = np.zeros(shape, dtype=np.int64)

    def add(self, block: Array) -> None:
        """Add a block sum: multiples of `2^e` with modulus below `2^{53+e}`."""
        add_cells(np.ascontiguousarray(block), 2.0**-self.exponent, self.high, self.low)

    def carry(self) -> None:
        """Move what the low limb holds beyond 32 bits to the high one; due after 2^26 contributions added in whole cells."""
        self.high += self.low >> _LIMB
        self.low &= _MASK

    def __add__(self, other: "ExactSum") -> "ExactSum":
        """The sum of two parts of a table, on the same lattice."""
        both = ExactSum(self.high.shape, self.exponent)
        both.high, both.low = self.high + other.high, self.low + other.low
        both.carry()
        return both

    def times(self, count: int) -> "ExactSum":
        """So many times the sum, where that is below 2^95 cells, for a count below 2^31."""
        many = ExactSum(self.high.shape, self.exponent)
        self.carry()
        many.high, many.low = self.high * count, self.low * count
        many.carry()
        return many

    def value(self, bound: float) -> Array:
        """The total as doubles, clipped to ±bound; each coordinate is rounded once."""
        values = np.empty(self.high.shape)
        total_of_cells(self.high, self.low, 2.0**self.exponent, bound, values)
        return values


def merged(work: Callable[[range], ExactSum], starts: range, *, threads: bool) -> ExactSum:
    """The sum over all starts of blocks; `threads` when the work is worth their start. They end before this returns.

    Neither the number of threads nor their order changes a bit of the sum.
    """
    workers = min(cores(), len(starts)) if threads else 1
    if workers <= 1:
        return work(starts)
    with ThreadPoolExecutor(workers) as pool:
        return reduce(ExactSum.__add__, pool.map(work, [starts[k::workers] for k in range(workers)]))


def exact_sum(
    add: Callable[[ExactSum, int, int], None], rows: int, shape: tuple[int, ...], exponent: int, block: int, size: int
) -> ExactSum:
    """The sum that `add(total, start, stop)` adds to for blocks of rows.

    `size` is how many cells of a table are read. The bits depend on neither blocks nor threads.
    """
    every = max(1, _ROWS // block)

    def work(starts: range) -> ExactSum:
        total = ExactSum(shape, exponent)
        for number, start in enumerate(starts, 1):
            add(total, start, start + block)
            if number % every == 0:
                total.carry()
        return total

    return merged(work, range(0, rows, block), threads=size >= _MANY)


def blockwise(
    rows: int, block: int, shape: tuple[int, ...], exponent: int | None, of: Callable[[slice], Array]
) -> "ExactSum | Array":
    """The sum of what blocks of rows add up to: exact where they lie on a lattice; of doubles where there is none, as there is no noise."""
    total, plain = ExactSum(shape, exponent or 0), np.zeros(shape)
    for start in range(0, rows, block):
        part = of(slice(start, start + block))
        if exponent is None:
            plain += part
        else:
            total.add(part)
    return plain if exponent is None else total


def cells_exponent(facts: RowFacts) -> int:
    """Exponent of the lattice: the largest weighted entry `√W max(|x_ij|, |y_ij|)` is at most `2^21` cells."""
    largest = math.sqrt(facts.max_weight) * max(1.0, facts.norm_linf)
    mantissa, exponent = math.frexp(largest)
    return (exponent - 1 if mantissa == 0.5 else exponent) - BITS


def quantised(rows: Rows, part: slice, exponent: int | None) -> tuple[Any, Array]:
    """Rows of a block times √w, rounded to the lattice (None: as they are); fresh arrays. PRIVATE."""
    X, Y = rows.X[part], rows.Y[part]
    if rows.weight is not None:
        root = np.sqrt(rows.weight[part])[:, None]
        X = X * root if isinstance(X, np.ndarray) else X.multiply(root).tocsr()
        Y = Y * root
    if exponent is None:
        return X, Y
    magic = magic_number(exponent)
    Y = (Y + magic) - magic
    if isinstance(X, np.ndarray):
        return (X + magic) - magic, Y
    X = X.copy()
    X.data = (X.data + magic) - magic
    return X, Y
