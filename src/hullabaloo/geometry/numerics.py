"""Norms that neither overflow nor underflow on the way, and roots to the last bits."""

import math
from collections.abc import Callable

import numpy as np

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.checks import Vector

_LIMIT = 200


def euclidean_norm(v: Vector) -> float:
    """‖v‖₂ without overflow or underflow of the squares; NaN where a coordinate is."""
    with np.errstate(over="ignore", under="ignore"):
        plain = math.sqrt(float(v @ v))
    if 1e-140 < plain < 1e150:
        return plain
    largest = float(np.abs(v).max(initial=0.0))
    if largest == 0.0 or not math.isfinite(largest):
        return largest
    scaled = v / largest
    return largest * math.sqrt(float(scaled @ scaled))


def absolute_sum(v: Vector) -> float:
    """‖v‖₁; infinity when the sum leaves the range of floats."""
    with np.errstate(over="ignore"):
        return float(np.abs(v).sum())


def power_norm(v: Vector, q: float) -> float:
    """‖v‖_q for finite q ≥ 1, without overflow or underflow of the powers."""
    size = np.abs(v)
    largest = float(size.max(initial=0.0))
    if largest == 0.0:
        return 0.0
    with np.errstate(under="ignore"):
        return largest * math.pow(float(((size / largest) ** q).sum()), 1.0 / q)


def norm_exponent(q: float) -> float:
    """Give q when it is 1, 2 or infinity, the norms in which a set's size is known."""
    if q not in (1, 2, math.inf):
        raise InvalidParameter(f"The size of a set is known in the norms 1, 2 and infinity, not {q!r}; ask for these.")
    return float(q)


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
