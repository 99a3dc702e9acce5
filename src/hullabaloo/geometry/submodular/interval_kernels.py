"""Compiled norm and prox of intervals."""

import numpy as np
from numba import njit

from hullabaloo.geometry.submodular.laminar_kernels import laminar_prox
from hullabaloo.geometry.submodular.water_kernels import added


@njit(cache=True, nogil=True)
def interval_gains(order):  # type: ignore[no-untyped-def]
    """p for the first column, then by how much each lengthens the stretch from the first to the last."""
    gains = np.zeros(order.size)
    low = high = order[0]
    gains[0] = order.size
    for k in range(1, order.size):
        j = order[k]
        if j < low:
            gains[k] = low - j
            low = j
        elif j > high:
            gains[k] = j - high
            high = j
    return gains


@njit(cache=True, nogil=True)
def _best_stretch(a, level, charge, first, last):  # type: ignore[no-untyped-def]
    """The stretch l..r in first..last of largest Σ ((a − level)₊ − charge), its running sums in double-double."""
    best, best_low = -np.inf, 0.0
    left, right = first, first
    hi, lo, begin = 0.0, 0.0, first
    for j in range(first, last + 1):
        if hi <= 0.0:
            hi, lo, begin = 0.0, 0.0, j
        hi, lo = added(hi, lo, max(a[j] - level, 0.0))
        hi, lo = added(hi, lo, -charge)
        if hi > best or (hi == best and lo > best_low):
            best, best_low, left, right = hi, lo, begin, j
    return left, right


@njit(cache=True, nogil=True)
def _highest_block(a, charge):  # type: ignore[no-untyped-def]
    """Give (level, l, r) of the largest value of the prox; level ≤ 0 when it is 0 everywhere.

    The level is max over A ≠ ∅ of (Σ_A a − charge·F(A))/|A|. Of all A between l and r that for {j : a_j > level} is best, so
    that Dinkelbach's step (1967) from a level is a stretch of largest sum; levels rise to the largest in finitely many
    steps, and stretches shrink, as minimisers of submodular functions do when every column loses.
    """
    p = a.size
    level, left, right = 0.0, 0, p - 1
    while True:
        l, r = _best_stretch(a, level, charge, left, right)
        hi, lo = added(-charge * (p - 1), 0.0, -charge * (r - l + 1))
        count = 0
        for j in range(l, r + 1):
            if a[j] > level:
                hi, lo = added(hi, lo, a[j])
                count += 1
        if count == 0 or hi / count <= level:
            return level, left, right
        level, left, right = hi / count, l, r


@njit(cache=True, nogil=True)
def _chain(a, charge):  # type: ignore[no-untyped-def]
    """The prox for the groups {0..i}, i = 0, …, p − 1, each charged the same."""
    p = a.size
    up = np.arange(1, p + 1)
    up[-1:] = -1
    return laminar_prox(a, up, np.full(p, charge), np.arange(p + 1), np.arange(p))


@njit(cache=True, nogil=True)
def interval_prox(a, charge):  # type: ignore[no-untyped-def]
    """argmin over u ≥ 0 of charge·Ω(u) + ½‖u − a‖² for F(A) = p − 1 + (last − first + 1), 0 ≤ a ≤ 1.

    Above the highest level everything is free of charge but p − 1 and a stretch l..r. Below it columns in l..r cost
    nothing more, and those on the left pay for how far they go beyond l, whatever happens on the right. In terms of
    groups: prefixes that end left of l remain on the left, suffixes that begin right of r on the right, two chains.
    """
    level, left, right = _highest_block(a, charge)
    if level <= 0.0:
        return np.zeros(a.size)
    out = np.empty(a.size)
    out[left : right + 1] = a[left : right + 1]
    out[:left] = _chain(a[:left].copy(), charge)
    out[right + 1 :] = _chain(a[right + 1 :][::-1].copy(), charge)[::-1]
    return np.minimum(out, level)


@njit(cache=True, nogil=True)
def interval_norm(size):  # type: ignore[no-untyped-def]
    """Σ of the largest so far, from both ends, each but over everything, and once the largest of all."""
    p = size.size
    total = lost = 0.0
    before = after = 0.0
    for j in range(p - 1):
        before = max(before, size[j])
        after = max(after, size[p - 1 - j])
        total, lost = added(total, lost, before)
        total, lost = added(total, lost, after)
    total, lost = added(total, lost, max(before, size[p - 1]))
    return total
