"""Known offsets: what is added to a record's prediction because it is known, not learned. Counts have one.

A count of mean e·exp(⟨u, θ⟩ + b), u in the user's units, e its exposure, becomes y/hi of mean exp(z) with
z = ⟨x, θ⟩ + b + log e − log hi on the unit domain. With an intercept the constant is moved into it, so that the offset log e − c,
c the middle of the declared log e, is as small as it can be; without one nothing takes the constant, and c = log hi.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.declarations import Declaration, Numeric
from hullabaloo.errors import DomainError

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Exposure:
    """A column of exposures between declared bounds, such as person-years; a missing one is ``fill``."""

    column: str
    lo: float
    hi: float
    fill: float

    def log(self, numbers: Array) -> Array:
        """(n,) logarithms of the clipped exposures; a function of each record alone, bit for bit."""
        from hullabaloo.data.kernels import log_within

        out = np.empty(numbers.shape[0])
        log_within(np.ascontiguousarray(numbers), self.lo, self.hi, self.fill, out)
        return out


@dataclass(frozen=True, slots=True)
class Offset:
    """The offset log e − ``centre`` of each record; −``centre`` where there is no exposure (e = 1)."""

    exposure: Exposure | None
    centre: float

    @property
    def bound(self) -> float:
        """The largest |offset|, rounding included."""
        ends = (1.0, 1.0) if self.exposure is None else (self.exposure.lo, self.exposure.hi)
        return max(abs(math.log(end) - self.centre) for end in ends) * (1.0 + 2.0**-40)


def exposure(declared: Mapping[str, Declaration], column: str) -> Exposure:
    """The declared exposure.

    Raises:
        DomainError: it is not a numeric feature with positive bounds.
    """
    one = declared.get(column)
    if not isinstance(one, Numeric) or one.lo <= 0.0 or one.transform != "identity":
        found = "does not declare" if one is None else f"declares as {one!r}"
        raise DomainError(
            f"The exposure is the column {column!r}, which the domain {found}. Counts are proportional to it, and its logarithm is added to "
            f"every prediction: declare it by bounds without a transform, features={{{column!r}: (lo, hi)}} with 0 < lo."
        )
    fill = math.sqrt(one.lo) * math.sqrt(one.hi) if one.fill is None else one.fill
    return Exposure(column, one.lo, one.hi, min(max(fill, one.lo), one.hi))
