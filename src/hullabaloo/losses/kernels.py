"""Compiled derivatives of the losses of one prediction, by the numbers of `KernelCode`: kernels know nothing of classes."""

import math

from hullabaloo.compiled import njit

SQUARED, LOGISTIC, HUBER, SMOOTHED_HINGE, POISSON, PINBALL, MULTINOMIAL, SQUARED_TARGETS = range(8)


@njit(cache=True, nogil=True, inline="always")
def derivative(code, parameter, z, y):  # type: ignore[no-untyped-def]  # noqa: PLR0911 - one line for each loss
    """φ'(z, y) of the losses of one prediction, NaN for another code; the formulas of `losses/`."""
    if code == SQUARED:
        return z - y
    if code == LOGISTIC:
        return -y / (1.0 + math.exp(y * z))  # infinity is a fine denominator
    if code == HUBER:
        return min(max(z - y, -parameter), parameter)
    if code == SMOOTHED_HINGE:
        return -y * min(max((1.0 + parameter - y * z) / (2.0 * parameter), 0.0), 1.0)
    if code == POISSON:
        return math.exp(z) - y
    if code == PINBALL:
        return 1.0 - parameter if z > y else (-parameter if z < y else 0.0)
    return math.nan


@njit(cache=True, nogil=True, inline="always")
def clipped(code, parameter, z, y, clip):  # type: ignore[no-untyped-def]
    """φ' clipped to [−clip, clip]; an undefined derivative (overflow of ⟨x, θ⟩) counts as 0."""
    d = derivative(code, parameter, z, y)
    if math.isnan(d):
        return 0.0
    return min(max(d, -clip), clip)


@njit(cache=True, nogil=True, inline="always")
def bend(code, parameter, d, y):  # type: ignore[no-untyped-def]
    """φ'' where φ' is d, almost everywhere; 0 of the losses that have none, and for another code."""
    if code == SQUARED:
        return 1.0
    if code == LOGISTIC:
        return abs(d) * max(abs(y) - abs(d), 0.0)
    if code == HUBER:
        return 1.0 if abs(d) < parameter else 0.0
    if code == SMOOTHED_HINGE:
        return 0.5 * y * y / parameter if 0.0 < abs(d) < abs(y) else 0.0
    if code == POISSON:
        return max(d + y, 0.0)
    return 0.0
