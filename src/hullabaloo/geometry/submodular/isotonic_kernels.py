"""Compiled kernels of chains: isotonic regression along an order, where sums are kept to twice the digits of a double."""

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def untangle(order: NDArray[np.int64], keys: NDArray[np.float64]) -> None:
    """Put the indices of every run of equal keys[order] in rising order, in place: a sort made stable."""
    first = 0
    for k in range(1, order.size + 1):
        if k == order.size or keys[order[k]] != keys[order[first]]:
            if k - first > 1:
                order[first:k].sort()
            first = k


@njit(cache=True, nogil=True)
def falling_fit(
    t: NDArray[np.float64], order: NDArray[np.int64], gains: NDArray[np.float64], weight: float
) -> NDArray[np.float64]:
    """The u with u[order] falling and at least 0 that minimises ½‖u[order] − (t[order] − weight·gains)‖².

    Pools adjacent violators (Ayer et al. 1955) in O(p); the sum of a block is an unevaluated pair of doubles, so that
    its mean is right to the last digits whatever the length of the block.
    """
    p = order.size
    high = np.empty(p)
    low = np.empty(p)
    length = np.empty(p, dtype=np.int64)
    top = -1
    for k in range(p):
        a = t[order[k]]
        b = -weight * gains[k]
        s = a + b
        c = s - a
        e = (a - (s - c)) + (b - c)
        n = 1
        while top >= 0 and high[top] * n <= s * length[top]:
            a = high[top]
            h = a + s
            c = h - a
            e += low[top] + ((a - (h - c)) + (s - c))
            s = h
            n += length[top]
            top -= 1
        top += 1
        high[top] = s
        low[top] = e
        length[top] = n
    u = np.zeros(p)
    k = 0
    for block in range(top + 1):
        mean = (high[block] + low[block]) / length[block]
        if mean <= 0.0:
            break
        for _ in range(length[block]):
            u[order[k]] = mean
            k += 1
    return u
