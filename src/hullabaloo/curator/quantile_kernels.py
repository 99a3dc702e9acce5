"""Scores of pairs of candidates, compiled: pure functions of arrays."""

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]


@njit(cache=True, nogil=True)
def pair_scores(lower: Array, upper: Array, out: Array) -> None:
    """Write `−max(0, a, b) + min(0, a, b)` for a = `lower[i]`, b = `upper[j]`, j ≥ i, row after row."""
    place = 0
    for i in range(lower.size):
        a = lower[i]
        high, low = max(a, 0.0), min(a, 0.0)
        for j in range(i, upper.size):
            b = upper[j]
            out[place] = min(low, b) - max(high, b)
            place += 1
