"""Kernels of the inner minimisation, in plain doubles: derivatives of all records from their predictions."""

from hullabaloo.compiled import njit
from hullabaloo.losses.kernels import HUBER, LOGISTIC, POISSON, SMOOTHED_HINGE, SQUARED, clipped


@njit(cache=True, nogil=True, inline="always")
def bend(code, parameter, z, y, d, clip):  # type: ignore[no-untyped-def]  # noqa: PLR0911  # numba kernel
    """φ'' where φ' = d is not clipped, else 0."""
    if not -clip < d < clip:
        return 0.0
    if code == SQUARED:
        return 1.0
    if code == HUBER:
        return 1.0 if -parameter < d < parameter else 0.0
    if code == LOGISTIC:
        return abs(d) * max(0.0, abs(y) - abs(d))
    if code == POISSON:
        return d + y
    if code == SMOOTHED_HINGE:
        return y * y / (2.0 * parameter) if 0.0 < abs(d) < abs(y) else 0.0
    return 0.0


@njit(cache=True, nogil=True)
def slopes(z, y, weight, clip, code, parameter, first, second):  # type: ignore[no-untyped-def]
    """Write `w φ'` and `w φ''` of every record, φ' clipped."""
    weighted = weight.size > 0
    for i in range(z.size):
        d = clipped(code, parameter, z[i], y[i], clip)
        h = bend(code, parameter, z[i], y[i], d, clip)
        if weighted:
            d *= weight[i]
            h *= weight[i]
        first[i] = d
        second[i] = h


@njit(cache=True, nogil=True)
def along(z, move, length, y, weight, clip, code, parameter):  # type: ignore[no-untyped-def]
    """`Σ w φ'(z + t·move) move`: the slope of the data's part along a line, t = `length`."""
    weighted = weight.size > 0
    total = 0.0
    for i in range(z.size):
        d = clipped(code, parameter, z[i] + length * move[i], y[i], clip)
        if weighted:
            d *= weight[i]
        total += d * move[i]
    return total
