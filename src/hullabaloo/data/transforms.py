"""Functions of one numeric column, each with the exact image of an interval (interval arithmetic)."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from hullabaloo.errors import DomainError

LARGEST = 1e100  # declared numbers beyond this size make coefficients in the user's units overflow
SMALLEST_WIDTH = 1e-100


@dataclass(frozen=True, slots=True)
class Transform:
    """A function of one number: its code in ``kernels.py``, its value, its domain, and where it turns.

    ``least`` is the lower end of the domain (``open_end`` when that end itself is excluded). ``even`` functions fall
    below 0 and rise above it; all others rise everywhere, so the image of [lo, hi] is [f(lo), f(hi)].
    """

    code: int
    value: Callable[[float], float]
    least: float = -math.inf
    open_end: bool = False
    even: bool = False


TRANSFORMS: dict[str, Transform] = {
    "identity": Transform(0, float),
    "log1p": Transform(1, math.log1p, least=-1.0, open_end=True),
    "log": Transform(2, math.log, least=0.0, open_end=True),
    "log10": Transform(3, math.log10, least=0.0, open_end=True),
    "sqrt": Transform(4, math.sqrt, least=0.0),
    "square": Transform(5, lambda v: v * v, even=True),
    "abs": Transform(6, abs, even=True),
    "asinh": Transform(7, math.asinh),
}


def find(name: str) -> Transform:
    """Look a transform up by name, or say which exist."""
    if not isinstance(name, str) or name not in TRANSFORMS:
        known = ", ".join(TRANSFORMS)
        raise DomainError(f"The transform {name!r} is unknown. Use one of {known}, or transform the column beforehand.")
    return TRANSFORMS[name]


def image(feature: str, name: str, lo: float, hi: float) -> tuple[float, float]:
    """The exact image of [lo, hi] under the named transform; refused where [lo, hi] leaves its domain."""
    transform = find(name)
    if lo < transform.least or (transform.open_end and lo <= transform.least):
        relation = "greater than" if transform.open_end else "at least"
        raise DomainError(
            f"The feature {feature!r} is declared on [{lo:g}, {hi:g}] with the transform {name!r}, which needs values "
            f"{relation} {transform.least:g}: the declared bounds leave its domain. Raise the lower bound, or choose another transform (log1p takes zero)."
        )
    ends = (transform.value(lo), transform.value(hi))
    low, high = (0.0 if lo <= 0.0 <= hi else min(ends), max(ends)) if transform.even else ends
    if not (high / 2 - low / 2 >= SMALLEST_WIDTH and max(abs(low), abs(high)) <= LARGEST):
        raise DomainError(
            f"The feature {feature!r} is declared on [{lo:g}, {hi:g}] with the transform {name!r}, whose image "
            f"[{low:g}, {high:g}] cannot be scaled in floating point. Declare other bounds, or no transform."
        )
    return low, high
