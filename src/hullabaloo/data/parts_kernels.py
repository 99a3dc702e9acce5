"""A hash of each row, to tell whether a table that is read again is the same."""

import numpy as np
from numpy.typing import NDArray

from hullabaloo.compiled import njit

_AT_ONCE = 4096


@njit(cache=True, nogil=True)
def add_hashes(words: NDArray[np.uint64], salt: np.uint64, out: NDArray[np.uint64]) -> None:
    """Mix each row of 64-bit words into its hash: a product with odd numbers of its columns, then a finaliser (that of MurmurHash3). In memory by rows or by columns."""
    (n, p), columns = words.shape, words.T
    by_columns = words.strides[0] < words.strides[1]
    step, first = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xFF51AFD7ED558CCD)
    for start in range(0, n, _AT_ONCE):
        size = min(_AT_ONCE, n - start)
        mixed, factor = out[start : start + size], step * salt
        if by_columns:
            for j in range(p):
                column, odd = columns[j, start : start + size], factor + np.uint64(j) * step | np.uint64(1)
                for i in range(size):
                    mixed[i] += column[i] * odd
        else:
            for i in range(size):
                for j in range(p):
                    mixed[i] += words[start + i, j] * (factor + np.uint64(j) * step | np.uint64(1))
        for i in range(size):
            one = mixed[i]
            one ^= one >> np.uint64(33)
            one *= first
            mixed[i] = one ^ one >> np.uint64(33)
