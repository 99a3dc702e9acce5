"""Compiled derivatives of the losses of one prediction, by the numbers of `KernelCode`: kernels know nothing of classes."""

import math

from hullabaloo.compiled import njit

SQUARED, LOGISTIC, HUBER, SMOOTHED_HINGE, POISSON, PINBALL, MULTINOMIAL, SQUARED_TARGETS = range(8)
RESIDUAL_TABLE, MARGIN_TABLE = 8, 9


@njit(cache=True, nogil=True, inline="always")
def table_slope(table, t):  # type: ignore[no-untyped-def]
    """g'(t) of `losses/tabulated.py`: the first knot, the step, and the slopes at the knots, linear between them; NaN of NaN."""
    if math.isnan(t):
        return t
    place = min(max((t - table[0]) / table[1], 0.0), table.size - 3.0)
    i = min(int(place), table.size - 4)
    return table[2 + i] + (place - i) * (table[3 + i] - table[2 + i])


@njit(cache=True, nogil=True, inline="always")
def derivative(code, numbers, z, y):  # type: ignore[no-untyped-def]  # noqa: PLR0911 - one line for each loss
    """φ'(z, y) of the losses of one prediction, NaN for another code; the formulas of `losses/`, of their `kernel_parameter` or table."""
    if code == SQUARED:
        return z - y
    if code == LOGISTIC:
        return -y / (1.0 + math.exp(y * z))  # infinity is a fine denominator
    if code == HUBER:
        return min(max(z - y, -numbers[0]), numbers[0])
    if code == SMOOTHED_HINGE:
        return -y * min(max((1.0 + numbers[0] - y * z) / (2.0 * numbers[0]), 0.0), 1.0)
    if code == POISSON:
        return math.exp(z) - y
    if code == PINBALL:
        return 1.0 - numbers[0] if z > y else (-numbers[0] if z < y else 0.0)
    if code == RESIDUAL_TABLE:
        return table_slope(numbers, z - y)
    return y * table_slope(numbers, y * z) if code == MARGIN_TABLE else math.nan


@njit(cache=True, nogil=True, inline="always")
def clipped(code, numbers, z, y, clip):  # type: ignore[no-untyped-def]
    """φ' clipped to [−clip, clip]; an undefined derivative (overflow of ⟨x, θ⟩) counts as 0."""
    d = derivative(code, numbers, z, y)
    if math.isnan(d):
        return 0.0
    return min(max(d, -clip), clip)


@njit(cache=True, nogil=True, inline="always")
def bend(code, numbers, d, y):  # type: ignore[no-untyped-def]
    """φ'' where φ' is d, almost everywhere; 0 of the losses that have none, and for another code."""
    if code == SQUARED:
        return 1.0
    if code == LOGISTIC:
        return abs(d) * max(abs(y) - abs(d), 0.0)
    if code == HUBER:
        return 1.0 if abs(d) < numbers[0] else 0.0
    if code == SMOOTHED_HINGE:
        return 0.5 * y * y / numbers[0] if 0.0 < abs(d) < abs(y) else 0.0
    if code == POISSON:
        return max(d + y, 0.0)
    return 0.0
