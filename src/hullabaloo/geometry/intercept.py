"""A set or penalty on the coefficients, with intercepts as last coordinates that it leaves alone.

Internal: estimators build these; users declare the set or penalty of the coefficients only.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from hullabaloo.codec import Written, settle
from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.geometry.base import ConvexSet, HasVertices, Projectable
from hullabaloo.geometry.checks import Vector, dimension_number, vector, whole_number
from hullabaloo.geometry.numerics import norm_exponent
from hullabaloo.geometry.penalty import Penalty
from hullabaloo.geometry.width import Width, closed_form


def with_intercept(
    body: ConvexSet, lower: float = -math.inf, upper: float = math.inf, columns: int = 1
) -> "WithIntercept":
    """The product of `body` and the interval [lower, upper] on each of the last `columns` coordinates.

    Infinite ends are allowed. With finite ends, a body that has vertices and at most 16 columns (2^16 corners) the product
    has vertices too.
    """
    if isinstance(body, HasVertices) and columns <= 16 and math.isfinite(lower) and math.isfinite(upper):
        return VerticesWithIntercept(body, lower, upper, columns)
    return WithIntercept(body, lower, upper, columns)


@dataclass(frozen=True, slots=True)
class WithIntercept(Written, ConvexSet, Projectable):
    """C × [lower, upper]^columns: `body` C on the first p − columns coordinates, an interval on each of the last.

    `body` can be projected onto, else `CapabilityError`; lower ≤ upper and columns ≥ 1, else `InvalidParameter`. With an
    infinite end the product is unbounded: norms, width and (in that direction) support are infinite, and there is no
    vertex. Several columns are the intercepts of as many targets. Where there are no other coordinates the body has no
    part in the product.
    """

    body: ConvexSet
    lower: float = -math.inf
    upper: float = math.inf
    columns: int = 1
    kind = "with-intercept"

    def __post_init__(self) -> None:
        if not isinstance(self.body, Projectable):
            raise CapabilityError(
                f"An intercept was to be put beside {self.body!r}, which cannot be projected onto; use a set with a projection, or fit without an intercept."
            )
        if not self.lower <= self.upper or self.lower == math.inf or self.upper == -math.inf:
            raise InvalidParameter(
                f"The interval of the intercept is empty, as its lower end is {self.lower} and its upper end {self.upper}; give lower ≤ upper."
            )
        settle(self, lower=float(self.lower), upper=float(self.upper), columns=intercept_number(self.columns))

    @property
    def dimension(self) -> int | None:
        """The body's and the intercepts, when the body has one."""
        return None if self.body.dimension is None else self.body.dimension + self.columns

    def support(self, g: Vector) -> float:
        """h_body + Σ max(lower·g_b, upper·g_b)."""
        head, last = self._parts(g)
        pulled = last[last != 0.0]
        ends = float(np.maximum(self.lower * pulled, self.upper * pulled).sum())
        return ends + (self.body.support(head) if head.size else 0.0)

    def vertex(self, g: Vector) -> Vector:
        """The body's vertex, and the ends of the intervals that g points away from (lower for 0)."""
        head, last = self._parts(g)
        ends = np.where(last < 0.0, self.upper, self.lower)
        if np.isinf(ends).any():
            raise InvalidParameter(f"{self!r} is unbounded in the intercept, so it has no vertex there; bound it.")
        return np.append(self.body.vertex(head) if head.size else head, ends)

    def project(self, theta: Vector) -> Vector:
        """The body's projection, and the intercepts clipped."""
        assert isinstance(self.body, Projectable)  # __post_init__ saw to it
        head, last = self._parts(theta)
        return np.append(self.body.project(head) if head.size else head, np.clip(last, self.lower, self.upper))

    def contains(self, theta: Vector, tolerance: float = 1e-9) -> bool:
        """Head in the body, intercepts in the interval, each up to the tolerance."""
        head, last = self._parts(theta)
        ends = [abs(end) for end in (self.lower, self.upper) if math.isfinite(end)]
        slack = tolerance * max(ends, default=0.0)
        inside = bool(np.all(last >= self.lower - slack) and np.all(last <= self.upper + slack))
        return inside and (head.size == 0 or self.body.contains(head, tolerance))

    def max_norm(self, q: float, p: int) -> float:
        """The l_q norm of the body's largest norm and those of the intervals."""
        q = norm_exponent(q)
        size = self._size(p)
        last = max(abs(self.lower), abs(self.upper))
        head = self.body.max_norm(q, size) if size else 0.0
        if q == 1.0:
            return head + self.columns * last
        return math.hypot(head, math.sqrt(self.columns) * last) if q == 2.0 else max(head, last)

    def gaussian_width(self, p: int) -> Width:
        """w(body) + columns·(upper − lower)/√(2π)."""
        size = self._size(p)
        last = closed_form(self.columns * (self.upper - self.lower) / math.sqrt(2.0 * math.pi))
        return self.body.gaussian_width(size).plus(last) if size else last

    def start(self, p: int) -> Vector:
        """The body's start, and zeros clipped to the interval."""
        size = self._size(p)
        head = self.body.start(size) if size else np.zeros(0)
        return np.append(head, np.clip(np.zeros(self.columns), self.lower, self.upper))

    def _parts(self, v: Vector) -> tuple[Vector, Vector]:
        v = vector(v, dimension=self.dimension)
        self._size(v.size)
        return v[: -self.columns], v[-self.columns :]

    def _size(self, p: int) -> int:
        """The number of coordinates of the body."""
        if p == self.columns:  # intercepts and nothing else
            return 0
        size = dimension_number(p, self.dimension) - self.columns
        if size < 0:
            raise InvalidParameter(f"{self!r} has {self.columns} intercepts, but there are only {p} coordinates.")
        return size


@dataclass(frozen=True, slots=True)
class VerticesWithIntercept(WithIntercept, HasVertices):
    """C × [lower, upper]^columns for a body with vertices and finite ends: its vertices beside every corner of the box.

    Vertex number i + count·c has the body's vertex i and corner c, whose bit b says whether intercept b is at the upper
    end; an interval of one point has one corner.
    """

    def vertex_count(self, p: int) -> int:
        """The body's count times 2^columns."""
        return self._heads(p) * len(self._corners())

    def vertex_at(self, index: int, p: int) -> Vector:
        """The body's vertex index mod count, beside corner index // count."""
        if not 0 <= index < self.vertex_count(p):
            raise InvalidParameter(f"{self!r} has no vertex number {index} in {p} coordinates; count from 0.")
        corner, head = divmod(index, self._heads(p))
        size = p - self.columns
        return np.append(self._body.vertex_at(head, size) if size else np.zeros(0), self._corners()[corner])

    def vertex_scores(self, g: Vector) -> Vector:
        """The body's scores plus those of each corner, corner after corner."""
        head, last = self._parts(g)
        scores = self._body.vertex_scores(head) if head.size else np.zeros(1)
        return np.add.outer(self._corners() @ last, scores).ravel()

    @property
    def _body(self) -> HasVertices:
        if not isinstance(self.body, HasVertices):
            raise CapabilityError(f"{self.body!r} has no list of vertices; make the product by with_intercept.")
        return self.body

    def _heads(self, p: int) -> int:
        size = self._size(p)
        return self._body.vertex_count(size) if size else 1

    def _corners(self) -> Vector:
        ends = (self.lower,) if self.lower == self.upper else (self.lower, self.upper)
        return np.array([corner[::-1] for corner in itertools.product(ends, repeat=self.columns)])


@dataclass(frozen=True, slots=True)
class PenaltyWithFreeIntercept(Written, Penalty):
    """ψ of the first p − columns coordinates; the last are free."""

    penalty: Penalty
    columns: int = 1
    kind = "with-free-intercept"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", intercept_number(self.columns))

    def value(self, theta: Vector) -> float:
        """ψ of the head."""
        return self.penalty.value(theta[: -self.columns]) if theta.size > self.columns else 0.0

    def prox(self, v: Vector, step: float) -> Vector:
        """The prox of the head, and the last coordinates as they are."""
        head = v[: -self.columns]
        return np.append(self.penalty.prox(head, step) if head.size else head, v[-self.columns :])


def without_free(penalty: Penalty) -> tuple[Penalty, int]:
    """The penalty of the coordinates that it is about, and how many last ones are free of it."""
    free = 0
    while isinstance(penalty, PenaltyWithFreeIntercept):
        free += penalty.columns
        penalty = penalty.penalty
    return penalty, free


def intercept_number(columns: int) -> int:
    """Give the number of intercepts, a whole number of at least 1."""
    return whole_number(columns, "The number of intercepts", "give one a target")
