"""Compiled gains and prox of intervals."""

import numpy as np

from hullabaloo.compiled import njit
from hullabaloo.geometry.submodular.cover_kernels import added
from hullabaloo.geometry.submodular.laminar_kernels import laminar_prox


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
def _best_stretch(a, level, charge, live, count):  # type: ignore[no-untyped-def]
    """The first and last of the `count` live columns that bound the stretch of largest Σ (a − level)₊ − charge·length.

    Sums keep their rounding (Neumaier 1974).
    """
    best = -np.inf
    left = right = begin = 0
    total = lost = 0.0
    for k in range(count):
        x = charge * (live[k] - live[k - 1] - 1) if k > 0 else 0.0
        if total + lost <= x:
            total, lost, begin, x = 0.0, 0.0, k, 0.0
        x = (a[live[k]] - level - charge) - x
        new = total + x
        part = new - total
        lost += (total - (new - part)) + (x - part)
        total = new
        if total + lost > best:
            best, left, right = total + lost, begin, k
    return left, right


@njit(cache=True, nogil=True)
def _highest_block(a, charge):  # type: ignore[no-untyped-def]
    """Give (level, l, r) of the largest value of the prox; level ≤ 0 when it is 0 everywhere.

    The level is max over A ≠ ∅ of (Σ_A a − charge·F(A))/|A|. Of all A between l and r {j : a_j > level} is best, so
    that Dinkelbach's step (1967) from a level is a stretch of largest sum. Levels rise to the largest in finitely many
    steps. Columns that are not above a level, or outside of its stretch, are out of the later ones: minimisers of a
    submodular function shrink when every column loses. So a step costs what the last one left.
    """
    level = 0.0
    live = np.flatnonzero(a)
    count = live.size
    left, right = live[0], live[count - 1]
    while True:
        first, last = _best_stretch(a, level, charge, live, count)
        hi, lo = added(-charge * (a.size - 1), 0.0, -charge * (live[last] - live[first] + 1))
        for k in range(first, last + 1):
            hi, lo = added(hi, lo, a[live[k]])
        higher = (hi + lo) / (last - first + 1)
        if higher <= level:
            return level, left, right
        level, left, right = higher, live[first], live[last]
        count = 0
        for k in range(first, last + 1):
            if a[live[k]] > level:
                live[count] = live[k]
                count += 1
        if count == 0:
            return level, left, right


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
