"""Compiled kernels that all covers share: sums that keep their rounding, and the level above which values hold a given amount."""

import numpy as np

from hullabaloo.compiled import njit


@njit(cache=True, nogil=True, inline="always")
def added(hi, lo, x):  # type: ignore[no-untyped-def]
    """(hi + lo) + x as a new pair: hi the running sum in floats, lo all that was rounded off (two-sum, Knuth 1969)."""
    total = hi + x
    part = total - hi
    return total, lo + ((hi - (total - part)) + (x - part))


@njit(cache=True, nogil=True)
def water_level(values, count, charge):  # type: ignore[no-untyped-def]
    """Give (t, bound, hi, lo, k): the root t of Σ max(0, x − t) = charge ≥ 0 over the first `count` values x ≥ 0.

    The k ≥ 1 values above `bound` are those above t, but for rounding; they stand first in `values` on return. hi + lo is their
    sum less the charge, and t = (hi + lo)/k, below 0 when all values together are less than the charge. Every set S
    gives a lower bound (Σ_S x − charge)/|S| of t, and what is not above it is dropped (Michelot 1986); the sum of what
    stays keeps its rounding, so that t is good to a few units of its last digit.
    """
    largest = 0.0
    total = -charge
    for i in range(count):
        total += values[i]
        largest = max(largest, values[i])
    if largest == 0.0:
        return -charge, -1.0, -charge, 0.0, 1
    below = np.nextafter(largest, 0.0)
    bound = min(max(largest - charge, total / count), below)
    kept = count
    while True:
        k = 0
        total = -charge
        for i in range(kept):
            x = values[i]
            if x > bound:
                values[i] = values[k]
                values[k] = x
                total += x
                k += 1
        if k in (kept, 1):
            break
        kept = k
        bound = min(max(bound, total / k), below)
    hi, lo = -charge, 0.0
    for i in range(k):
        hi, lo = added(hi, lo, values[i])
    return (hi + lo) / k, bound, hi, lo, k
