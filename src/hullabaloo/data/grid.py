"""Public candidates for the bounds of a column: numbers that a person can read, dense wherever values may lie."""

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np

from hullabaloo.data.offset import Array
from hullabaloo.errors import InvalidParameter

STEPS = 800
"""About so many candidates of each kind."""
SMALLEST = (1e-9, 1e-5)
"""Where logarithmic candidates around zero, and around the middle, become evenly spaced: this part of the reach."""


class GridKind(StrEnum):
    """How candidates are spread over an outer range; auto: evenly spaced and logarithmic ones together."""

    AUTO = "auto"
    LINEAR = "linear"
    LOG = "log"


@dataclass(frozen=True, slots=True)
class Grid:
    """Candidates in [lo, hi], both ends among them: a function of the public range alone.

    ``linear``: the multiples of a round step. ``log``: `sinh` of even steps around 0, or even steps of the logarithm where 0 is
    not inside, and `sinh` of even steps around the middle: about 3 % of the distance apart, so that a range a
    thousand times too wide still has candidates beside any value. All are rounded to three digits of that distance.
    """

    lo: float
    hi: float
    kind: GridKind = GridKind.AUTO

    def __post_init__(self) -> None:
        if not (math.isfinite(self.lo) and math.isfinite(self.hi) and self.lo < self.hi):
            raise InvalidParameter(
                f"An outer range goes from a number to a larger one, but ({self.lo!r}, {self.hi!r}) was given. Declare two finite bounds."
            )

    @property
    def points(self) -> Array:
        """The candidates, rising, in the user's units; read-only."""
        return _points(self)

    @property
    def scaled(self) -> Array:
        """The candidates as an encoding without centring writes them: divided by the larger size of the two ends."""
        return self.points / max(abs(self.lo), abs(self.hi))

    @property
    def size(self) -> int:
        """Their number, at least 2."""
        return int(self.points.size)


@lru_cache(maxsize=512)
def _points(grid: Grid) -> Array:
    lo, hi = grid.lo, grid.hi
    parts = [np.array([lo, hi])]
    if grid.kind != GridKind.LOG:
        parts.append(_even(lo, hi))
    if grid.kind != GridKind.LINEAR:
        parts += [_around_zero(lo, hi), _around(lo / 2 + hi / 2, lo, hi, SMALLEST[1])]
    points = np.unique(np.concatenate(parts) + 0.0)
    points = np.ascontiguousarray(points[(points >= lo) & (points <= hi)])
    points.setflags(write=False)
    return points


def _even(lo: float, hi: float) -> Array:
    """Multiples of the largest 1, 2 or 5 times a power of ten that makes at least `STEPS`/2.5 of them."""
    rough = (hi - lo) / (STEPS / 2.5)
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * max(digit for digit in (1.0, 2.0, 5.0) if digit * power <= rough * (1.0 + 1e-9))
    return step * np.arange(math.ceil(lo / step), math.floor(hi / step) + 1, dtype=np.float64)


def _around_zero(lo: float, hi: float) -> Array:
    if lo <= 0.0 <= hi:
        return _around(0.0, lo, hi, SMALLEST[0])
    sign, near, far = (1.0, lo, hi) if lo > 0.0 else (-1.0, -hi, -lo)
    return sign * _digits(np.exp(np.linspace(math.log(near), math.log(far), STEPS)))


def _around(centre: float, lo: float, hi: float, smallest: float) -> Array:
    unit = smallest * max(hi - centre, centre - lo)
    steps = np.linspace(math.asinh((lo - centre) / unit), math.asinh((hi - centre) / unit), STEPS)
    return np.append(centre + _digits(unit * np.sinh(steps)), centre)


def _digits(values: Array) -> Array:
    """Rounded to three significant digits."""
    return np.array([float(f"{value:.3g}") for value in values.tolist()])
