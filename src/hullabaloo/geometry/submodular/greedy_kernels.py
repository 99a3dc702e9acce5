"""Compiled greedy points: where each gain of a set function goes, for sizes given in their own places."""

import numpy as np

from hullabaloo.compiled import njit


@njit(cache=True, nogil=True)
def cover_greedy(size, start, column, weight):  # type: ignore[no-untyped-def]
    """The weight of each group at its largest column; group g is column[start[g]:start[g + 1]], rising, so the first of equals wins."""
    s = np.zeros(size.size)
    for g in range(weight.size):
        best = column[start[g]]
        top = size[best]
        for i in range(start[g] + 1, start[g + 1]):
            j = column[i]
            x = size[j]
            best = j if x > top else best
            top = max(top, x)
        s[best] += weight[g]
    return s


@njit(cache=True, nogil=True)
def forest_greedy(size, rank, up, weight):  # type: ignore[no-untyped-def]
    """`cover_greedy` when group i is column rank[i] with those below it, groups numbered children first, up[i] around i or −1."""
    s = np.zeros(size.size)
    best = rank.copy()
    for i in range(rank.size):
        j = best[i]
        s[j] += weight[i]
        if up[i] >= 0:
            k = best[up[i]]
            if size[j] > size[k] or (size[j] == size[k] and j < k):
                best[up[i]] = j
    return s


@njit(cache=True, nogil=True)
def interval_greedy(size):  # type: ignore[no-untyped-def]
    """1 for each prefix at its first largest column, the whole among them, and 1 for each suffix but the whole."""
    s = np.zeros(size.size)
    best = 0
    for j in range(size.size):
        if size[j] > size[best]:
            best = j
        s[best] += 1.0
    best = size.size - 1
    for j in range(size.size - 1, 0, -1):
        if size[j] >= size[best]:
            best = j
        s[best] += 1.0
    return s
