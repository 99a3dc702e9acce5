"""Quotients of noisy sums, and their confidence intervals: Fieller's, which stay true where the denominator is mostly noise."""

import math
from dataclasses import dataclass
from typing import Any, final

from hullabaloo.codec import arguments

Quadratic = tuple[float, float, float]
"""q0 + q1 x + q2 x², a variance as a function of the quotient."""


@final
@dataclass(frozen=True, slots=True)
class Measured:
    """A number about a population, in the user's units.

    Attributes:
        value: the estimate, within the range that the number can have.
        low, high: the confidence interval, of the population's value for this very model.
        privacy_error: standard error from the privacy noise, which is known; infinite where the noise drowned the number.
        sampling_error: standard error from the records being a sample.
    """

    value: float
    low: float
    high: float
    privacy_error: float
    sampling_error: float

    def scaled(self, offset: float, factor: float) -> "Measured":
        """`offset + factor · this`; a negative factor turns the interval round."""
        first, last = offset + factor * self.low, offset + factor * self.high
        size = abs(factor)
        return Measured(
            value=offset + factor * self.value,
            low=min(first, last),
            high=max(first, last),
            privacy_error=self.privacy_error * size,
            sampling_error=self.sampling_error * size,
        )

    def to_dict(self) -> dict[str, float | None]:
        """JSON-ready; what is infinite is None."""
        return arguments(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Measured":
        """Read what `to_dict` wrote."""
        missing = {"low": -math.inf, "high": math.inf}
        return cls(
            **{
                name: missing.get(name, math.inf) if data[name] is None else float(data[name])
                for name in Measured.__slots__
            }
        )


def quotient(
    top: float,
    bottom: float,
    noise: Quadratic,
    sampling: Quadratic,
    z: float,
    low: float,
    high: float,
    unknown: float,
) -> Measured:
    """The x with `top = x · bottom`, and all x in [low, high] for which `(top − x bottom)² ≤ z² (noise(x) + sampling(x))`.

    `top − x bottom` is normal with mean 0 at the true x, however small the denominator is: no expansion in it is used (Fieller
    1954). Where the denominator does not differ from 0 at this confidence, nothing is known: the interval is [low, high], and
    the value is `unknown` where the denominator is not positive at all.
    """
    spread = (noise[0] + sampling[0], noise[1] + sampling[1], noise[2] + sampling[2])
    a = bottom**2 - z**2 * spread[2]
    value = min(max(top / bottom, low), high) if bottom > 0.0 else unknown
    if not (bottom > 0.0 and a > 0.0):
        return Measured(value, low, high, math.inf, math.inf)
    privacy, sampled = (math.sqrt(max(_at(q, value), 0.0)) / bottom for q in (noise, sampling))
    b, c = 2.0 * top * bottom + z**2 * spread[1], top**2 - z**2 * spread[0]
    root = math.sqrt(max(b**2 - 4.0 * a * c, 0.0))
    ends = (b - root) / (2.0 * a), (b + root) / (2.0 * a)
    if (
        b**2 < 4.0 * a * c or not low <= top / bottom <= high
    ):  # noise carried it out of its range, where intervals are too short
        half = z * math.hypot(privacy, sampled)
        ends = min(ends[0], value - half), max(ends[1], value + half)
    return Measured(value, max(low, min(ends[0], value)), min(high, max(ends[1], value)), privacy, sampled)


def _at(q: Quadratic, x: float) -> float:
    return q[0] + q[1] * x + q[2] * x**2
