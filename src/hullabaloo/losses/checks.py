"""Validation of the bounds that a loss is asked about and of its own parameters, and what several losses compute alike."""

import math
import sys

from hullabaloo.errors import InvalidParameter
from hullabaloo.losses.base import AnyLoss


def bound(value: float, what: str) -> float:
    """Give `value` when it is a bound: a number at or above 0 (infinity is allowed, NaN is not)."""
    if not value >= 0.0:
        raise InvalidParameter(
            f"{what} must be at or above 0, but it is {value!r}; give the largest magnitude allowed."
        )
    return float(value)


def bounds(prediction_bound: float, target_bound: float, clip: float) -> tuple[float, float, float]:
    """Give the arguments of `constants` when each is a bound."""
    return (
        bound(prediction_bound, "The bound on predictions"),
        bound(target_bound, "The bound on targets"),
        bound(clip, "The clip of derivatives"),
    )


SHARPEST = 1e-9
"""Corners are rounded over more than this: a sharper one cannot be told from a corner, and takes for ever to minimise."""


def positive(value: float, what: str, lowest: float = 0.0) -> float:
    """Give `value` when it is a finite number above `lowest`."""
    if not (isinstance(value, int | float) and lowest < value <= sys.float_info.max):
        least = f" above {lowest:g}" if lowest else ""
        raise InvalidParameter(f"{what} must be a positive finite number{least}, but it is {value!r}.")
    return float(value)


def share(value: float, what: str) -> float:
    """Give `value` when it lies strictly between 0 and 1."""
    if not (isinstance(value, int | float) and 0.0 < value < 1.0):
        raise InvalidParameter(f"{what} must lie strictly between 0 and 1, but it is {value!r}.")
    return float(value)


def exponential(value: float) -> float:
    """`e^value`, infinite where a double cannot hold it."""
    return math.exp(value) if value < math.log(math.ldexp(1.0, 1023)) else math.inf


def curvature_bound(loss: AnyLoss, prediction_bound: float) -> float:
    """`4Z² sup φ''` over |z| ≤ Z and |y| ≤ 1."""
    size = bound(prediction_bound, "The bound on predictions")
    return 0.0 if size == 0.0 else 4.0 * size**2 * loss.constants(size, 1.0).smoothness
