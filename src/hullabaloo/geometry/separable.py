"""Penalties and sets that are sums over coordinates: what coordinate descent can solve one coefficient at a time."""

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.geometry.base import ConvexSet
from hullabaloo.geometry.box import Box
from hullabaloo.geometry.checks import Vector
from hullabaloo.geometry.intercept import WithIntercept, without_free
from hullabaloo.geometry.penalty import HasElasticForm, Penalty


class SeparablePenalty(Penalty):
    """ψ(θ) = Σ_j ψ_j(θ_j) for any closed convex ψ_j: a penalty of one's own, given by its one-dimensional prox.

    Coordinate descent calls `prox_at` once an update; a penalty that is `HasElasticForm` is solved in compiled code.
    """

    __slots__ = ()

    @abstractmethod
    def prox_at(self, j: int, v: float, step: float) -> float:
        """argmin over t of ψ_j(t) + (t − v)²/(2 step): a finite number."""

    def prox(self, v: Vector, step: float) -> Vector:
        """`prox_at` of every coordinate."""
        return np.array([self.prox_at(j, float(entry), step) for j, entry in enumerate(v)], dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class SeparableForm:
    """`ψ_j(t) = kinks_j |t| + ½ curvatures_j t² + own_j(t)` on `[lower_j, upper_j]`, for each of p coordinates.

    Attributes:
        kinks: (p,), at or above 0.
        curvatures: (p,), at or above 0.
        lower: (p,), −∞ where there is no bound.
        upper: (p,), ∞ where there is no bound.
        own: a penalty known by its prox alone, on the first p − `free` coordinates, whose kinks and curvatures are 0.
        free: how many of the last coordinates `own` leaves alone.
    """

    kinks: Vector
    curvatures: Vector
    lower: Vector
    upper: Vector
    own: SeparablePenalty | None = None
    free: int = 0

    def __post_init__(self) -> None:
        for name in ("kinks", "curvatures", "lower", "upper"):
            value = np.array(getattr(self, name), dtype=np.float64)
            value.flags.writeable = False
            object.__setattr__(self, name, value)
        shapes = {array.shape for array in (self.kinks, self.curvatures, self.lower, self.upper)}
        sizes = np.append(self.kinks.ravel(), self.curvatures.ravel())
        if len(shapes) != 1 or self.kinks.ndim != 1 or not (np.isfinite(sizes) & (sizes >= 0.0)).all():
            raise InvalidParameter(
                "A SeparableForm needs four vectors of one length, with kinks and curvatures finite and at or above 0, but "
                f"the shapes are {sorted(shapes)} and the least weight is {sizes.min(initial=math.inf)}. Give one number a coordinate."
            )
        if not np.all(self.lower <= self.upper):
            raise InvalidParameter("A SeparableForm needs lower ≤ upper in each coordinate; swap the bounds.")

    @property
    def dimension(self) -> int:
        """p."""
        return self.kinks.size

    def prox(self, v: Vector, step: float | Vector) -> Vector:
        """argmin over u of ψ(u) + Σ (u_j − v_j)²/(2 step_j), a new array; one step for all or one for each."""
        v, step = np.asarray(v, dtype=np.float64), np.broadcast_to(step, np.shape(v))
        kink = step * self.kinks
        moved = (np.maximum(v - kink, 0.0) + np.minimum(v + kink, 0.0)) / (1.0 + step * self.curvatures)
        if self.own is not None:
            for j in range(self.dimension - self.free):
                moved[j] = self.own.prox_at(j, float(v[j]), float(step[j]))
        return np.clip(moved, self.lower, self.upper)

    def prox_at(self, j: int, v: float, step: float) -> float:
        """Coordinate j of `prox`: in one dimension the minimiser on an interval is the free one, clipped."""
        if self.own is not None and j < self.dimension - self.free:
            moved = self.own.prox_at(j, v, step)
        else:
            kink = step * float(self.kinks[j])
            moved = (max(v - kink, 0.0) + min(v + kink, 0.0)) / (1.0 + step * float(self.curvatures[j]))
        return min(max(moved, float(self.lower[j])), float(self.upper[j]))


def separable_form(penalty: Penalty, constraint: ConvexSet | None, p: int) -> SeparableForm:
    """The form of ψ plus a set, both with their intercepts (`Problem.regulariser`, `Problem.feasible`).

    Raises:
        CapabilityError: the penalty or the set ties coordinates together.
        InvalidParameter: a box of another number of coordinates.
    """
    penalty, free = without_free(penalty)
    own = None
    kinks, curvatures = np.zeros(p), np.zeros(p)
    if isinstance(penalty, HasElasticForm):
        kinks[: p - free], curvatures[: p - free] = penalty.elastic_weights(p - free)
    elif isinstance(penalty, SeparablePenalty):
        own = penalty
    else:
        raise CapabilityError(
            f"Coordinate descent was given {penalty!r}, which is no sum over coordinates, so one coefficient cannot be solved for "
            "while the others stay. Use NoPenalty, L1Penalty, SquaredL2Penalty, ElasticNetPenalty or a SeparablePenalty of your own, or another solver."
        )
    return SeparableForm(kinks, curvatures, *_bounds(constraint, p), own, free)


def _bounds(constraint: ConvexSet | None, p: int) -> tuple[Vector, Vector]:
    lower, upper = np.full(p, -math.inf), np.full(p, math.inf)
    if constraint is None:
        return lower, upper
    body, last = constraint, 0
    if isinstance(constraint, WithIntercept):
        body, last = constraint.body, constraint.columns
        lower[p - last :], upper[p - last :] = constraint.lower, constraint.upper
    if not isinstance(body, Box):
        raise CapabilityError(
            f"Coordinate descent was given {body!r}, in which a coefficient's bounds depend on the others, so one cannot "
            "be solved for while the others stay. Use a Box, a penalty of single coefficients such as hb.L1Penalty(0.01), or another solver."
        )
    head = p - last
    if head and body.dimension not in (None, head):
        raise InvalidParameter(f"A Box of {body.dimension} coordinates was given for {head} coefficients; use as many.")
    lower[:head], upper[:head] = body.lower if head else (), body.upper if head else ()
    return lower, upper
