"""Compiled kernels of covers: levels and gains."""

import numpy as np

from hullabaloo.compiled import njit
from hullabaloo.geometry.kernels import added


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


@njit(cache=True, nogil=True)
def forest_gains(order, parent, weight):  # type: ignore[no-untyped-def]
    """The weight of the nodes that each column of the order is the first to touch: those on its way up to the first touched one."""
    touched = np.zeros(parent.size, np.bool_)
    gains = np.zeros(order.size)
    for k in range(order.size):
        j = order[k]
        while j >= 0 and not touched[j]:
            touched[j] = True
            gains[k] += weight[j]
            j = parent[j]
    return gains


@njit(cache=True, nogil=True)
def geometric_sums(log_base, weight):  # type: ignore[no-untyped-def]
    """Σ_k weight_k (1 − base^k) over k = 0, 1, …, for each base; the powers start afresh every 32 of them."""
    sums = np.zeros(log_base.size)
    for i in range(log_base.size):
        base = np.exp(log_base[i])
        power, total = 1.0, 0.0
        for k in range(weight.size):
            if k % 32 == 0:
                power = np.exp(k * log_base[i])
            total += weight[k] * (1.0 - power)
            power *= base
        sums[i] = total
    return sums
