"""Kernels of readings: exponentials and logarithms of one record after another, by the same steps wherever the record stands.

Array arithmetic of IEEE operations gives a record the same bits in every place; vectorised exponentials need not.
"""

import math

import numpy as np

from hullabaloo.compiled import njit

NEWTON = 6
"""Steps to the shift at which chances add up to 1."""


@njit(cache=True, nogil=True)
def exponentials(z):  # type: ignore[no-untyped-def]
    """`e^z` of every z ≤ 0, and 1 beyond, for an array of rows."""
    out = np.empty(z.shape)
    for i in range(z.shape[0]):
        for m in range(z.shape[1]):
            out[i, m] = math.exp(min(z[i, m], 0.0))
    return out


@njit(cache=True, nogil=True)
def logarithms(values, least):  # type: ignore[no-untyped-def]
    """`log max(v, least)` of every v, least > 0."""
    out = np.empty(values.size)
    for i in range(values.size):
        out[i] = math.log(max(values[i], least))
    return out


@njit(cache=True, nogil=True)
def chances_of_two(z):  # type: ignore[no-untyped-def]
    """The chances of both classes, (n, 2), from the log-odds of the second, (n, 1)."""
    out = np.empty((z.shape[0], 2))
    for i in range(z.shape[0]):
        small = math.exp(-abs(z[i, 0]))
        nearer, farther = 1.0 / (1.0 + small), small / (1.0 + small)
        out[i, 0] = farther if z[i, 0] > 0.0 else nearer
        out[i, 1] = nearer if z[i, 0] > 0.0 else farther
    return out


@njit(cache=True, nogil=True)
def log_chance(z):  # type: ignore[no-untyped-def]
    """`log 1/(1 + e^{−z})`."""
    return min(z, 0.0) - math.log1p(math.exp(-abs(z)))


@njit(cache=True, nogil=True)
def chances_apart(z):  # type: ignore[no-untyped-def]
    """Every class's own logistic chance, k > 2 of them, brought to sum 1 by one shift s of a record's log-odds: `1/(1 + exp(−z_k − s))`.

    There the largest is what all others, summed, leave: `log(1 − q_1) = log Σ_{k>1} q_k`, both sides nearly linear in s. As the second is ½ at most, the
    difference falls by ½ to 2 for each unit of s, and its slope changes by ½ at most: Newton's error after a step is half the square of that before it, log k at first.
    """
    n, k = z.shape
    out = np.empty((n, k))
    for i in range(n):
        first, second = 0, -1
        for m in range(1, k):
            if z[i, m] > z[i, first]:
                first, second = m, first
            elif second < 0 or z[i, m] > z[i, second]:
                second = m
        highest, next_highest = z[i, first], z[i, second] - z[i, first]
        total = 0.0
        for m in range(k):
            total += 0.0 if m == first else math.exp(z[i, m] - z[i, second])
        s = -0.5 * (next_highest + math.log(total))  # beside the highest
        for _ in range(NEWTON):
            s = min(max(s, -math.log(k - 1.0)), -next_highest)
            reference, total, falls = log_chance(next_highest + s), 0.0, 0.0
            for m in range(k):
                if m != first:
                    share = math.exp(log_chance(z[i, m] - highest + s) - reference)
                    total += share
                    falls += share * math.exp(log_chance(highest - z[i, m] - s))
            s += (log_chance(-s) - reference - math.log(total)) / (math.exp(log_chance(s)) + falls / total)
        total = 0.0
        for m in range(k):
            out[i, m] = math.exp(log_chance(z[i, m] - highest + s))
            total += out[i, m]
        for m in range(k):
            out[i, m] /= total
    return out


@njit(cache=True, nogil=True)
def chances_together(z):  # type: ignore[no-untyped-def]
    """The multinomial chances `e^{z_m} / Σ e^{z_l}`."""
    n, k = z.shape
    out = np.empty((n, k))
    for i in range(n):
        highest = -np.inf
        for m in range(k):
            highest = max(highest, z[i, m])
        total = 0.0
        for m in range(k):
            out[i, m] = math.exp(z[i, m] - highest)
            total += out[i, m]
        for m in range(k):
            out[i, m] /= total
    return out
