"""Exact sums: contributions live on a lattice of pitch `2^e`, blocks are summed in doubles without any rounding, and
block sums are added in integers of two limbs.

Why: floating-point addition rounds, and what it rounds depends on all the other records, so that the sum of two
neighbouring tables can differ by more than the record that changed. On a lattice the sum has no error at all: the same
bits for every order of rows, block size and number of cores.
"""

import numpy as np
import numpy.typing as npt

from hullabaloo.curator.kernels import add_cells, total_of_cells

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

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
    """

    __slots__ = ("_exponent", "high", "low")

    def __init__(self, shape: tuple[int, ...], exponent: int) -> None:
        self._exponent = exponent
        self.high: Integers = np.zeros(shape, dtype=np.int64)
        self.low: Integers = np.zeros(shape, dtype=np.int64)

    def add(self, block: Array) -> None:
        """Add a block sum: multiples of `2^e` with modulus below `2^{53+e}`."""
        add_cells(np.ascontiguousarray(block), 2.0**-self._exponent, self.high, self.low)

    def carry(self) -> None:
        """Move what the low limb holds beyond 32 bits to the high one; due after 2^26 contributions added in whole cells."""
        self.high += self.low >> _LIMB
        self.low &= _MASK

    def merge(self, other: "ExactSum") -> None:
        """Add another sum of the same lattice."""
        self.high += other.high
        self.low += other.low

    def value(self, bound: float) -> Array:
        """The total as doubles, clipped to ±bound; each coordinate is rounded once."""
        values = np.empty(self.high.shape)
        total_of_cells(self.high, self.low, 2.0**self._exponent, bound, values)
        return values
