"""The safe side: what is spent rounds up, what is allowed rounds down, and what a search gives was seen to hold.

Floats are dyadic rationals, so sums and squares of them are exact as `fractions.Fraction`; only the last step rounds.
"""

import math
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any


def as_float(value: Any) -> float:
    """Give a number as a float, NaN for what is none: a text, a bool, a whole number beyond doubles."""
    try:
        return math.nan if isinstance(value, bool | str) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def padded(value: float, ulps: float = 256.0) -> float:
    """Give ``value ≥ 0`` plus a relative 2^-52 times ``ulps``: above the exact value when that bounds the rounding."""
    return value * (1.0 + ulps * 2.0**-52)


def float_at_least(value: Fraction) -> float:
    """Give the smallest float that is not below a nonnegative rational."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def float_at_most(value: Fraction) -> float:
    """Give the largest float that is not above a nonnegative rational, and 0 for a negative one."""
    if value <= 0:
        return 0.0
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, 0.0)


@lru_cache(maxsize=4096)
def reciprocal_at_least(value: float) -> float:
    """Give the smallest float that is not below ``1/value``."""
    inverse = 1.0 / value
    if math.isinf(inverse):
        return math.inf
    return inverse if Fraction(inverse) * Fraction(value) >= 1 else math.nextafter(inverse, math.inf)


def root_at_least(value: Fraction) -> float:
    """Give a float r with ``r² ≥ value``, at most two units in the last place above the root."""
    root = math.sqrt(float_at_least(value))
    while math.isfinite(root) and Fraction(root) ** 2 < value:
        root = math.nextafter(root, math.inf)
    return root


def root_at_most(value: Fraction) -> float:
    """Give a float r ≥ 0 with ``r² ≤ value``, at most two units in the last place below the root."""
    root = math.sqrt(float_at_most(value))
    while root > 0 and Fraction(root) ** 2 > value:
        root = math.nextafter(root, 0.0)
    return root


def sum_at_least(terms: Iterable[tuple[float, int]]) -> float:
    """Give the smallest float not below ``Σ count · value`` for nonnegative values; ∞ when one of them is ∞, NaN for a NaN."""
    total = Fraction(0)
    for value, count in terms:
        if not math.isfinite(value):
            return value
        total += count * Fraction(value)
    return float_at_least(total)


def bisect(bad: float, good: float, holds: Callable[[float], bool], *, tolerance: float = 0.0) -> float:
    """Move ``good``, where a monotone condition was seen to hold, next to ``bad``, where it was seen not to.

    Stops at neighbouring floats, or when the two are within a relative ``tolerance``.
    """
    for _ in range(2200):  # more halvings than there are floats between any two
        middle = bad + (good - bad) / 2.0
        if middle in (bad, good) or abs(good - bad) <= tolerance * abs(good):
            break
        if holds(middle):
            good = middle
        else:
            bad = middle
    return good


def least(holds: Callable[[float], bool], *, most: float = sys.float_info.max, tolerance: float = 0.0) -> float:
    """Give the smallest x > 0 at which a condition was seen to hold that holds from some point on; ∞ when there is none up to ``most``."""
    low, high = 0.0, 1.0
    while not holds(high):
        low, high = high, 2.0 * high
        if high > most:
            return math.inf
    return bisect(low, high, holds, tolerance=tolerance)


def crossing(value: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """Give the upper end of a bracket, relatively as narrow as `tolerance`, in which a falling function, positive at ``low`` and at most 0 at ``high``, gets to 0.

    By secants, the value of an end that stays twice halved (Illinois), and no nearer to an end than half of what ends the search; where a jump takes more than 16, by halving the bracket.
    """
    above, below, moved, tried = value(low), value(high), 0.0, 0
    while high - low > max(tolerance * high, sys.float_info.min):  # of a jump at 0 no bracket is relatively narrow
        tried, nearest = tried + 1, 0.5 * tolerance * high
        share = above / (above - below) if tried <= 16 else 0.5
        middle = min(max(low + (high - low) * share, low + nearest), high - nearest)
        at = value(middle)
        halved = 0.5 if at * moved > 0.0 else 1.0
        if at > 0.0:
            low, above, below = middle, at, below * halved
        else:
            high, below, above = middle, at, above * halved
        moved = at
    return high


def golden(value: Callable[[float], float], low: float, high: float, steps: int = 42, stop: float = -math.inf) -> float:
    """Give the smallest value met by a golden-section search, or the first that is at most `stop`; where two values are equal it goes on below."""
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = value(left), value(right)
    best = min(at_left, at_right)
    for _ in range(steps):
        if best <= stop:
            break
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = value(left)
            best = min(best, at_left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = value(right)
            best = min(best, at_right)
    return best
