"""Compiled kernels of the geometry: pure functions of arrays."""

import numpy as np

from hullabaloo.compiled import Floats, njit

SPLITTER = 134217729.0  # 2^27 + 1


@njit(cache=True, nogil=True, inline="always")
def two_sum(a, b):  # type: ignore[no-untyped-def]  # numba kernel
    """`a + b` as rounded sum and error (Knuth 1969)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@njit(cache=True, nogil=True, inline="always")
def halves(a):  # type: ignore[no-untyped-def]
    """Two numbers of 26 bits that add up to a (Veltkamp's splitting)."""
    c = SPLITTER * a
    high = c - (c - a)
    return high, a - high


@njit(cache=True, nogil=True, inline="always")
def product_by_halves(a, b, b_high, b_low):  # type: ignore[no-untyped-def]
    """`a · b` as rounded product and error (Dekker 1971), where the halves of b are known."""
    p = a * b
    a_high, a_low = halves(a)
    return p, a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)


@njit(cache=True, nogil=True, inline="always")
def two_product(a, b):  # type: ignore[no-untyped-def]
    """`a · b` as rounded product and error."""
    b_high, b_low = halves(b)
    return product_by_halves(a, b, b_high, b_low)


@njit(cache=True, nogil=True, inline="always")
def added(hi, lo, x):  # type: ignore[no-untyped-def]
    """(hi + lo) + x as a new pair: hi the running sum in floats, lo all that was rounded off (`two_sum`)."""
    total, rest = two_sum(hi, x)
    return total, lo + rest


@njit(cache=True, nogil=True)
def project_simplex(v: Floats, radius: float) -> Floats:
    """Projection of v onto {θ ≥ 0, Σθ = radius}: max(0, t − (m − v_j)).

    m is the largest coordinate, t the root of Σ max(0, t − d_j) = radius for the depths
    d_j = m − v_j ≥ 0. Working with depths keeps the digits of the result when the coordinates of v are huge.
    For every nonempty set S of coordinates (radius + Σ_S d)/|S| ≥ t, so what is deeper than that for any S met is
    inactive for good: one pass filters with the running S, later passes until nothing is dropped (Michelot 1986,
    Condat 2016). Expected O(p). For passes that drop one coordinate each, the
    k-th must lie k times further above its threshold than the one before: in float64 no more than about 20 of them.
    """
    m = v.max()
    active = np.empty(v.size)
    count = 0
    total = 0.0
    t = radius
    for j in range(v.size):
        d = m - v[j]
        if d < t:
            active[count] = d
            count += 1
            total += d
            t = min(t, (radius + total) / count)
    while True:
        total, lost = 0.0, 0.0
        for j in range(count):
            total, lost = added(total, lost, active[j])
        t = (radius + (total + lost)) / count
        kept = 0
        for j in range(count):
            if active[j] < t:
                active[kept] = active[j]
                kept += 1
        if kept == count:
            return np.maximum(0.0, t - (m - v))  # type: ignore[no-any-return]
        count = kept


@njit(cache=True, nogil=True)
def power_shrunk(v: Floats, multiplier: float, exponent: float) -> Floats:
    """The u ≥ 0 with u_j + multiplier·u_j^exponent = v_j ≥ 0, for 0 < exponent < 1.

    For y = ln u the function ln(e^y + multiplier·e^{exponent·y}) is convex and increasing with slopes between exponent
    and 1, so that Newton's steps fall to the root from min(ln v, ln(v/multiplier)/exponent) on; one plain step after.
    """
    out = np.zeros(v.size)
    if multiplier <= 0.0:
        return v.copy()
    shift = np.log(multiplier)
    for j in range(v.size):
        if v[j] <= 0.0:
            continue
        aim = np.log(v[j])
        y = min(aim, (aim - shift) / exponent)
        for _ in range(100):
            first, second = y, shift + exponent * y
            top = max(first, second)
            a, b = np.exp(first - top), np.exp(second - top)
            excess = top + np.log(a + b) - aim
            move = excess * (a + b) / (a + exponent * b)
            y -= move
            if abs(move) <= 1e-9 * (1.0 + abs(y)):
                break
        u = np.exp(y)
        if u > 1e-290:
            pull = multiplier * u**exponent
            u -= (u + pull - v[j]) / (1.0 + exponent * pull / u)
        out[j] = max(0.0, u)
    return out
