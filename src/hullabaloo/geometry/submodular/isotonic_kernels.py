"""Compiled kernels of chains: isotonic regression along an order, where sums are kept to twice the digits of a double."""

import numpy as np

from hullabaloo.compiled import Floats, Wholes, njit
from hullabaloo.geometry.kernels import added

_LIMIT = 200


@njit(cache=True, nogil=True)
def falling_fit(t: Floats, gains: Floats, weight: float) -> Floats:
    """The falling u ≥ 0 nearest to t − weight·gains: exact isotonic regression, cut off below; O(p)."""
    high, low, length, count = _pooled(t, gains, weight)
    u = np.zeros(t.size)
    k = 0
    for block in range(count):
        mean = high[block] + low[block]
        if length[block] > 1:
            mean /= length[block]
        if mean <= 0.0:
            break
        for _ in range(length[block]):
            u[k] = mean
            k += 1
    return u


@njit(cache=True, nogil=True)
def falling_projection(t: Floats, gains: Floats, radius: float) -> tuple[Floats, float]:
    """The falling u ≥ 0 with Σ gains·u = radius nearest to t, and its multiplier; for t whose fit has a larger sum.

    u is the fit to t − τ·gains at the root τ of a falling, piecewise linear function: a block of the fit, with sums T of
    t and D of gains over n entries, is at (T − τD)/n, so that the blocks at any τ give a next one (Newton), kept in a
    bracket, until the blocks repeat. To the left of the root t is replaced by t − τ·gains, and τ is written as the
    largest T/D less a rest where it is near that, so that the digits of u survive however far t is.
    """
    scale = 2.0 ** np.floor(np.log2(np.abs(t).max()))
    given = t / scale
    target = radius / scale
    current = given.copy()
    passed, end = 0.0, np.inf  # the root lies in [0, end] beyond current = given − passed·gains
    length, count = _active(current, gains, 0.0)
    beyond = _root(current, gains, length, count, target, np.empty(count))
    for _ in range(_LIMIT):
        newton = 0.0 < beyond < end
        if not newton and end == np.inf:
            break
        move = beyond if newton else 0.5 * end
        if move <= 1e-18:
            break
        lengths, found = _active(current, gains, move)
        if found == 0:
            beyond = end = move
            continue
        if newton and found == count and np.array_equal(lengths[:found], length[:count]):
            break
        length, count = lengths, found
        beyond = _root(current, gains, length, count, target, np.empty(count))
        if beyond >= move:
            for k in range(t.size):
                current[k] -= move * gains[k]
            passed += move
            end -= move
            beyond -= move
        else:
            end = move
    level = np.empty(count)
    multiplier = _root(given, gains, length, count, target, level)
    if level.min() < 0.0 or (np.diff(level) > 0.0).any():
        multiplier = passed + _root(current, gains, length, count, target, level)
    u = np.zeros(t.size)
    total = _spread(level, length, count, gains, u)
    for _ in range(3):  # what lost its digits to a large t costs too much: found again on its own scale
        if total > target * (1.0 + 1e-12):
            _root(u, gains, length, count, target, level)
            total = _spread(level, length, count, gains, u)
    return u * scale, multiplier * scale


@njit(cache=True, nogil=True)
def _spread(level: Floats, length: Wholes, count: int, gains: Floats, u: Floats) -> float:
    """Give each entry its block's level, none below 0 or above one before, and return what they cost."""
    k, total, least = 0, 0.0, np.inf
    for block in range(count):
        least = min(least, max(0.0, level[block]))
        for _ in range(length[block]):
            u[k] = least
            total += least * gains[k]
            k += 1
    return total


@njit(cache=True, nogil=True)
def _active(t: Floats, gains: Floats, weight: float) -> tuple[Wholes, int]:
    """The lengths of the blocks of the fit that are above 0."""
    high, _, length, count = _pooled(t, gains, weight)
    kept = 0
    while kept < count and high[kept] > 0.0:
        kept += 1
    return length, kept


@njit(cache=True, nogil=True)
def _root(t: Floats, gains: Floats, length: Wholes, count: int, target: float, level: Floats) -> float:
    """The τ at which the blocks reach the target; their levels there into `level`."""
    total = np.empty(count)
    price = np.empty(count)
    k = 0
    highest = -1
    best = -np.inf
    for block in range(count):
        total[block], price[block] = 0.0, 0.0
        total_lost, price_lost = 0.0, 0.0
        for _ in range(length[block]):
            total[block], total_lost = added(total[block], total_lost, t[k])
            price[block], price_lost = added(price[block], price_lost, gains[k])
            k += 1
        total[block] += total_lost
        price[block] += price_lost
        if price[block] > 0.0 and total[block] / price[block] > best:
            highest = block
            best = total[block] / price[block]
    if highest < 0:  # nothing here costs anything
        level[:] = total / length[:count]
        return 0.0
    whole = total.copy()
    reached, slope, reached_lost, slope_lost = 0.0, 0.0, 0.0, 0.0
    for block in range(count):
        rest = 0.0 if block == highest else total[block] - best * price[block]
        total[block] = min(0.0, rest) if price[block] > 0.0 else rest
        share = price[block] / length[block]
        reached, reached_lost = added(reached, reached_lost, share * total[block])
        slope, slope_lost = added(slope, slope_lost, share * price[block])
    rest = (reached + reached_lost - target) / (slope + slope_lost)
    if rest < -0.5 * best:  # far below the largest T/D, which would hide its digits
        best, reached, reached_lost = 0.0, 0.0, 0.0
        for block in range(count):
            total[block] = whole[block]
            reached, reached_lost = added(reached, reached_lost, price[block] / length[block] * whole[block])
        rest = (reached + reached_lost - target) / (slope + slope_lost)
    for block in range(count):
        level[block] = (total[block] - rest * price[block]) / length[block]
    return best + rest


@njit(cache=True, nogil=True)
def _pooled(t: Floats, gains: Floats, weight: float) -> tuple[Floats, Floats, Wholes, int]:
    """The blocks of the falling vector nearest to t − weight·gains: sums (two doubles each), lengths, count.

    Adjacent violators are pooled (Ayer et al. 1955); every sum is exact but for what two doubles cannot hold.
    """
    high = np.empty(t.size)
    low = np.empty(t.size)
    length = np.empty(t.size, dtype=np.int64)
    top = -1
    for k in range(t.size):
        s, e = added(t[k], 0.0, -weight * gains[k])
        n = 1
        while top >= 0:
            if (high[top] > s) if n == length[top] else (high[top] * n > s * length[top]):
                break
            s, e = added(s, e + low[top], high[top])
            n += length[top]
            top -= 1
        top += 1
        high[top] = s
        low[top] = e
        length[top] = n
    return high, low, length, top + 1
