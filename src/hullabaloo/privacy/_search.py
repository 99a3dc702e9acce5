"""One bisection and one golden section, for every calibration: what is returned was seen to hold."""

import math
import sys
from collections.abc import Callable


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


def golden(function: Callable[[float], float], low: float, high: float, steps: int = 42) -> float:
    """Give the smallest value met by a golden-section search; where two values are equal it goes on below."""
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = function(left), function(right)
    best = min(at_left, at_right)
    for _ in range(steps):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = function(left)
            best = min(best, at_left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = function(right)
            best = min(best, at_right)
    return best
