"""The root of an increasing function of one number, for thresholds and multipliers that have no closed form."""

from collections.abc import Callable

_LIMIT = 200


def increasing_root(function: Callable[[float], float], low: float, high: float) -> float:
    """A zero of `function`, nondecreasing and continuous, with function(low) ≤ 0 ≤ function(high).

    Regula falsi with the Illinois weights, and a bisection at every fourth step so that the bracket always shrinks:
    deterministic, to the last bits of the argument, at most 200 evaluations.
    """
    f_low, f_high = function(low), function(high)
    if f_low >= 0.0:
        return low
    if f_high <= 0.0:
        return high
    side = 0
    for count in range(_LIMIT):
        middle = low - f_low * (high - low) / (f_high - f_low)
        if count % 4 == 3 or not low < middle < high:
            middle = low + 0.5 * (high - low)
        if not low < middle < high or high - low <= 4e-16 * max(abs(low), abs(high)):
            break
        f_middle = function(middle)
        if f_middle == 0.0:
            return middle
        if f_middle < 0.0:
            low, f_low = middle, f_middle
            f_high *= 0.5 if side < 0 else 1.0
            side = -1
        else:
            high, f_high = middle, f_middle
            f_low *= 0.5 if side > 0 else 1.0
            side = 1
    return low + 0.5 * (high - low)
