"""A set or penalty on the coefficients, with an intercept as last coordinate that it leaves alone.

Internal: estimators build these; users declare the set or penalty of the coefficients only.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.geometry.base import ConvexSet, Projectable
from hullabaloo.geometry.checks import Vector, dimension_number, norm_exponent, vector
from hullabaloo.geometry.penalty import Penalty
from hullabaloo.geometry.width import Width, closed_form


def with_intercept(body: ConvexSet, lower: float = -math.inf, upper: float = math.inf) -> "WithIntercept":
    """The product of `body` and the interval [lower, upper] on the last coordinate; infinite ends are allowed."""
    return WithIntercept(body, lower, upper)


def with_free_intercept(penalty: Penalty) -> "PenaltyWithFreeIntercept":
    """The penalty of all coordinates but the last."""
    return PenaltyWithFreeIntercept(penalty)


@final
@dataclass(frozen=True, slots=True)
class WithIntercept(ConvexSet, Projectable):
    """C × [lower, upper]: `body` C on the first p − 1 coordinates, an interval on the last.

    `body` can be projected onto, else `CapabilityError`; lower ≤ upper, else `InvalidParameter`. With an infinite end
    the product is unbounded: norms, width and (in that direction) support are infinite, and there is no vertex.
    """

    body: ConvexSet
    lower: float = -math.inf
    upper: float = math.inf
    KIND: ClassVar[str] = "with-intercept"

    def __post_init__(self) -> None:
        if not isinstance(self.body, Projectable):
            raise CapabilityError(
                f"An intercept was to be put beside {self.body!r}, which cannot be projected onto; "
                "use a set with a projection, or fit without an intercept."
            )
        if not self.lower <= self.upper or self.lower == math.inf or self.upper == -math.inf:
            raise InvalidParameter(
                f"The interval of the intercept is empty, as its lower end is {self.lower} and its upper end "
                f"{self.upper}; give lower ≤ upper."
            )
        object.__setattr__(self, "lower", float(self.lower))
        object.__setattr__(self, "upper", float(self.upper))

    @property
    def dimension(self) -> int | None:
        """One more than the body's, when that has one."""
        return None if self.body.dimension is None else self.body.dimension + 1

    def support(self, g: Vector) -> float:
        """h_body + max(lower·g_p, upper·g_p)."""
        g = vector(g, dimension=self.dimension)
        last = float(g[-1])
        head = self.body.support(g[:-1]) if g.size > 1 else 0.0
        return head + (max(self.lower * last, self.upper * last) if last else 0.0)

    def vertex(self, g: Vector) -> Vector:
        """The body's vertex, and the end of the interval that g_p points away from (lower for 0)."""
        g = vector(g, dimension=self.dimension)
        end = self.upper if g[-1] < 0.0 else self.lower
        if math.isinf(end):
            raise InvalidParameter(f"{self!r} is unbounded in the intercept, so it has no vertex there; bound it.")
        return np.append(self.body.vertex(g[:-1]) if g.size > 1 else g[:-1], end)

    def project(self, theta: Vector) -> Vector:
        """The body's projection, and the last coordinate clipped."""
        theta = vector(theta, dimension=self.dimension)
        assert isinstance(self.body, Projectable)  # __post_init__ saw to it
        head = self.body.project(theta[:-1]) if theta.size > 1 else theta[:-1]
        return np.append(head, min(max(float(theta[-1]), self.lower), self.upper))

    def contains(self, theta: Vector, tolerance: float = 1e-9) -> bool:
        """Head in the body, last coordinate in the interval, each up to the tolerance."""
        theta = vector(theta, dimension=self.dimension)
        ends = [abs(end) for end in (self.lower, self.upper) if math.isfinite(end)]
        slack = tolerance * max(ends, default=0.0)
        inside = self.lower - slack <= float(theta[-1]) <= self.upper + slack
        return inside and (theta.size == 1 or self.body.contains(theta[:-1], tolerance))

    def max_norm(self, q: float, p: int) -> float:
        """The l_q norm of the body's largest norm and the interval's."""
        q = norm_exponent(q)
        last = max(abs(self.lower), abs(self.upper))
        head = self.body.max_norm(q, p - 1) if dimension_number(p, self.dimension) > 1 else 0.0
        if q == 1.0:
            return head + last
        return math.hypot(head, last) if q == 2.0 else max(head, last)

    def gaussian_width(self, p: int) -> Width:
        """w(body) + (upper − lower)/√(2π)."""
        last = closed_form((self.upper - self.lower) / math.sqrt(2.0 * math.pi))
        return self.body.gaussian_width(p - 1).plus(last) if dimension_number(p, self.dimension) > 1 else last

    def start(self, p: int) -> Vector:
        """The body's start, and zero clipped to the interval."""
        head = self.body.start(p - 1) if dimension_number(p, self.dimension) > 1 else np.zeros(0)
        return np.append(head, min(max(0.0, self.lower), self.upper))

    def to_dict(self) -> dict[str, Any]:
        """{"kind": "with-intercept", "body": …, "lower": …, "upper": …}, an infinite end as null."""
        ends = [end if math.isfinite(end) else None for end in (self.lower, self.upper)]
        return {"kind": self.KIND, "body": self.body.to_dict(), "lower": ends[0], "upper": ends[1]}

    @staticmethod
    def interval_from(data: Mapping[str, Any]) -> tuple[float, float]:
        """The interval in what `to_dict` gave."""
        lower, upper = data.get("lower"), data.get("upper")
        return -math.inf if lower is None else float(lower), math.inf if upper is None else float(upper)


@final
@dataclass(frozen=True, slots=True)
class PenaltyWithFreeIntercept(Penalty):
    """ψ of the first p − 1 coordinates; the last is free."""

    penalty: Penalty
    KIND: ClassVar[str] = "with-free-intercept"

    @property
    def strong_convexity(self) -> float:
        """0: the intercept is free."""
        return 0.0

    def value(self, theta: Vector) -> float:
        """ψ of the head."""
        return self.penalty.value(theta[:-1])

    def prox(self, v: Vector, step: float) -> Vector:
        """The prox of the head, and the last coordinate as it is."""
        return np.append(self.penalty.prox(v[:-1], step), v[-1])

    def to_dict(self) -> dict[str, Any]:
        """{"kind": "with-free-intercept", "penalty": …}."""
        return {"kind": self.KIND, "penalty": self.penalty.to_dict()}
