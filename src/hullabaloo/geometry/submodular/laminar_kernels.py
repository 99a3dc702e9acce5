"""Compiled prox of covers whose groups are nested or disjoint, over pairing heaps that blocks of equal values share; and of intervals."""

import numpy as np

from hullabaloo.compiled import njit
from hullabaloo.geometry.kernels import added
from hullabaloo.geometry.submodular.cover_kernels import water_level


@njit(cache=True, nogil=True, inline="always")
def _larger_first(a, b, block):  # type: ignore[no-untyped-def]
    """Two roots, the one of the larger value first; −1, none, last."""
    return (b, a) if a < 0 or (b >= 0 and block[a, 0] < block[b, 0]) else (a, b)


@njit(cache=True, nogil=True, inline="always")
def _melded(a, b, block, link):  # type: ignore[no-untyped-def]
    """One heap of two, each given by its root or −1."""
    a, b = _larger_first(a, b, block)
    if b < 0:
        return a
    link[b, 1] = link[a, 0]
    link[a, 0] = b
    return a


@njit(cache=True, nogil=True)
def _without_top(root, block, link):  # type: ignore[no-untyped-def]
    """The heap less its root: children melded in pairs, then the pairs from the last to the first."""
    pairs = -1
    here = link[root, 0]
    while here >= 0:
        other = link[here, 1]
        if other < 0:
            link[here, 1] = pairs
            pairs = here
            break
        following = link[other, 1]
        pair = _melded(here, other, block, link)
        link[pair, 1] = pairs
        pairs = pair
        here = following
    heap = -1
    while pairs >= 0:
        following = link[pairs, 1]
        link[pairs, 1] = -1
        heap = _melded(heap, pairs, block, link)
        pairs = following
    return heap


@njit(cache=True, nogil=True, inline="always")
def _joined(a, b, block, link):  # type: ignore[no-untyped-def]
    """One heap of two whose roots have at most one child each, and so has the new root: the second largest is in sight."""
    a, b = _larger_first(a, b, block)
    if b < 0:
        return a
    second = _melded(link[a, 0], b, block, link)
    link[second, 1] = -1
    link[a, 0] = second
    return a


@njit(cache=True, nogil=True)
def laminar_prox(a, up, charge, start, column):  # type: ignore[no-untyped-def]  # noqa: PLR0912 - one pass over nodes
    """argmin over u ≥ 0 of Σ_i charge_i max over the columns below node i of u + ½‖u − a‖², for 0 ≤ a ≤ 1.

    Nodes are numbered children first, up[i] is the node around node i or −1; the columns that belong to node i and to
    none of its children are column[start[i]:start[i + 1]]. The prox of the sum is the composition of the proxes of the
    nodes, innermost first (Jenatton, Mairal, Obozinski, Bach 2011, Theorem 1), and each of these lowers the largest
    values below its node to one level. So values below a node are a heap of blocks, a block being columns that a level
    has made equal: it keeps its number of columns and Σ a − Σ charges with what rounding took off, so that a level does not
    inherit the rounding of the levels before it. A node lowers the highest block,
    which takes in the next ones while they stand above its level: O(p log p) for nodes and columns p, whatever the
    depth, as blocks are only ever taken in once.
    """
    p, m = a.size, up.size
    block = np.zeros((p, 4))  # value, sum, what rounding took off the sum, number of columns
    block[:, 0] = block[:, 1] = a
    block[:, 3] = 1.0
    link = np.full((p, 2), -1, np.int64)  # first child and next sibling in a heap
    heap = np.full(m, -1, np.int64)
    level = np.zeros(m)
    scratch = np.empty(p)
    for i in range(m):
        root = heap[i]
        first, last = start[i], start[i + 1]
        if root < 0 and last > first:
            for k in range(first, last):
                scratch[k - first] = a[column[k]]
            t, bound, hi, lo, size = water_level(scratch, last - first, charge[i])
            below = -1
            for k in range(first, last):
                j = column[k]
                if a[j] > bound:
                    root = j
                elif a[j] > 0.0 and up[i] >= 0:  # nobody looks below the largest of a tree
                    below = _melded(below, j, block, link)
        else:
            for k in range(first, last):
                if a[column[k]] > 0.0:
                    root = _joined(root, column[k], block, link)
            if root < 0:
                continue
            hi, lo = added(block[root, 1], block[root, 2], -charge[i])
            size = block[root, 3]
            t = (hi + lo) / size
            below = link[root, 0]
            while below >= 0 and block[below, 0] > t:
                hi, lo = added(hi, lo, block[below, 1])
                lo += block[below, 2]
                size += block[below, 3]
                t = (hi + lo) / size
                below = _without_top(below, block, link)
        if t <= 0.0:  # then nothing below the node is above 0
            continue
        level[i] = t
        block[root, 0], block[root, 1], block[root, 2], block[root, 3] = t, hi, lo, size
        link[root, 0] = below
        if up[i] >= 0:
            heap[up[i]] = _joined(heap[up[i]], root, block, link)
    out = np.empty(p)
    for i in range(m - 1, -1, -1):
        if up[i] >= 0:
            level[i] = min(level[i], level[up[i]])
        for k in range(start[i], start[i + 1]):
            out[column[k]] = min(a[column[k]], level[i])
    return out


@njit(cache=True, nogil=True)
def nesting(start, column, p):  # type: ignore[no-untyped-def]
    """Give (parent of each group, innermost group of each column), groups in the order of rising sizes; no entries when two groups cross."""
    m = start.size - 1
    parent = np.full(m, -1, np.int64)
    inner = np.full(p, -1, np.int64)
    outer = np.full(p, -1, np.int64)  # the largest group so far that holds the column
    seen = np.zeros(m, np.int64)
    for g in range(m):
        for k in range(start[g], start[g + 1]):
            h = outer[column[k]]
            if h >= 0:
                seen[h] += 1
        for k in range(start[g], start[g + 1]):
            j = column[k]
            h = outer[j]
            if h >= 0:
                if parent[h] < 0 and seen[h] != start[h + 1] - start[h]:
                    return parent[:0], inner[:0]
                parent[h] = g
            else:
                inner[j] = g
            outer[j] = g
    return parent, inner


# Intervals.


@njit(cache=True, nogil=True)
def _best_stretch(a, level, charge, live, count):  # type: ignore[no-untyped-def]
    """The first and last of the `count` live columns that bound the stretch of largest Σ (a − level)₊ − charge·length.

    Sums keep their rounding.
    """
    best = -np.inf
    left = right = begin = 0
    total = lost = 0.0
    for k in range(count):
        x = charge * (live[k] - live[k - 1] - 1) if k > 0 else 0.0
        if total + lost <= x:
            total, lost, begin, x = 0.0, 0.0, k, 0.0
        x = (a[live[k]] - level - charge) - x
        total, lost = added(total, lost, x)
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
