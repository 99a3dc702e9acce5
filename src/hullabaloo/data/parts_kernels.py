"""A hash of each row, to tell whether a table that is read again is the same."""

import numpy as np
from numpy.typing import NDArray

from hullabaloo.compiled import njit


@njit(cache=True, nogil=True)
def add_hashes(words: NDArray[np.uint64], salt: np.uint64, out: NDArray[np.uint64]) -> None:
    """Mix each row of 64-bit words into its hash: a product with odd numbers of its columns, then a finaliser (that of MurmurHash3)."""
    n, p = words.shape
    step, first = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xFF51AFD7ED558CCD)
    for i in range(n):
        mixed = out[i]
        factor = step * salt
        for j in range(p):
            mixed += words[i, j] * (factor | np.uint64(1))
            factor += step
        mixed ^= mixed >> np.uint64(33)
        mixed *= first
        mixed ^= mixed >> np.uint64(33)
        out[i] = mixed
