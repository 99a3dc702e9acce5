"""One bisection, for every calibration: what is returned was seen to hold."""

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
