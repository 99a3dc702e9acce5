"""Compiled values and gains of covers."""

import numpy as np

from hullabaloo.compiled import njit


@njit(cache=True, nogil=True)
def cover_gains(order, begin, group, weight):  # type: ignore[no-untyped-def]
    """The weight of the groups that each column of the order is the first to touch; column j is in group[begin[j]:begin[j + 1]]."""
    touched = np.zeros(weight.size, np.bool_)
    gains = np.zeros(order.size)
    for k in range(order.size):
        for i in range(begin[order[k]], begin[order[k] + 1]):
            g = group[i]
            if not touched[g]:
                touched[g] = True
                gains[k] += weight[g]
    return gains


@njit(cache=True, nogil=True)
def forest_gains(order, parent, weight):  # type: ignore[no-untyped-def]
    """`cover_gains` when the groups are each column with all below it: the way up to the first touched one."""
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
def counts_below(rank, parent):  # type: ignore[no-untyped-def]
    """How many columns stand at or below each one, in a forest whose columns are ranked children first."""
    counts = np.ones(parent.size, np.int64)
    for j in rank:
        if parent[j] >= 0:
            counts[parent[j]] += counts[j]
    return counts


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
