"""Scores of pairs of candidates, compiled: pure functions of arrays."""

import math

from hullabaloo.compiled import njit


@njit(cache=True, nogil=True)
def pair_scores(lower, upper, points, tilt, floor, out):  # type: ignore[no-untyped-def]  # numba kernel
    """Write `min(0, a, b) − max(0, a, b) − tilt·ln max(points[j + 1] − points[i], floor)`, row i after row i − 1, j ≥ i.

    a = `lower[i]` and b = `upper[j]` are errors in rank.
    """
    place = 0
    for i in range(lower.size):
        a = lower[i]
        high, low = max(a, 0.0), min(a, 0.0)
        for j in range(i, upper.size):
            b = upper[j]
            width = max(points[j + 1] - points[i], floor)
            out[place] = min(low, b) - max(high, b) - tilt * math.log(width)
            place += 1
