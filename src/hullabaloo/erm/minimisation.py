"""What queries that minimise have in common: the objective, public bounds of its constants, and refusals."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hullabaloo import geometry
from hullabaloo.curator.query import UNIT_ROUNDOFF, Array, Query
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.erm.objective import Objective, ScalarObjective, VectorObjective
from hullabaloo.erm.optimise import COARSE, PROJECTION, Reach
from hullabaloo.erm.shape import shape_of
from hullabaloo.errors import CapabilityError
from hullabaloo.foreign import parts
from hullabaloo.geometry import ConvexSet, Penalty, Projectable, require, require_within
from hullabaloo.geometry.intercept import without_free
from hullabaloo.losses import AnyLoss, Loss, Pinball, VectorLoss
from hullabaloo.privacy import Neighbours
from hullabaloo.quadratic.order_faces import elastic_weights

MARGIN = 8
"""Where the number of rows is private, tables of up to this many times the declared number are reckoned with; statements say so."""

UNLIKE = 2.0**48
"""Most that the largest curvature times the number of coefficients may be of the least: beyond 2^52 Newton's systems take that for 0, and plain steps would be as many."""
OWN_SHAPES = (
    "Use solver='gradient' or 'mirror_descent' (or 'dual_frank_wolfe' with a structure as penalty), which show a set or penalty of your own "
    "nothing but noisy answers; or one of the library's sets and penalties, a structure as a GroupCover, Intervals or ConcaveCardinality."
)
"""What to do instead of minimising over a shape of one's own."""

_NORM_SLACK = 1e-12  # by which an encoded row's norm may exceed the declared one


@dataclass(frozen=True, slots=True)
class Family:
    """The objectives of all tables of a domain: `Σ_i w_i φ_c(⟨x_i, θ⟩ + o_i, y_i) + (λ/2)‖θ‖² + nψ(θ) + ⟨b, θ⟩` over C.

    For a loss of k predictions θ is a (p, k) matrix, flattened by rows.

    `λ‖θ‖²/2` counts as present where nψ has as much curvature of its own: the squares are the larger of the two in every
    coordinate, and the objective is λ-strongly convex all the same.
    """

    facts: RowFacts
    neighbours: Neighbours
    records: int
    loss: AnyLoss
    clip: float
    ridge: float
    feasible: ConvexSet | None
    penalty: Penalty

    @property
    def coordinates(self) -> int:
        """p, or pk."""
        return self.facts.width * (len(self.facts.targets) if isinstance(self.loss, VectorLoss) else 1)

    @property
    def lipschitz(self) -> float:
        """`L = W c B`, rounding of norms included."""
        return self.facts.max_weight * self.clip * self._norm

    @property
    def smoothness(self) -> float:
        """`β = W sup φ_c'' B²`."""
        bound = self.loss.constants(math.inf, 1.0, self.clip).smoothness
        return self.facts.max_weight * bound * self._norm**2 * (1.0 + 8.0 * UNIT_ROUNDOFF)

    @property
    def _norm(self) -> float:
        return self.facts.norm_l2 * (1.0 + _NORM_SLACK + (self.facts.width + 16) * UNIT_ROUNDOFF)

    @property
    def most(self) -> int:
        """The number of rows that constants are stated for; a table of units has as many rows as its units have."""
        return self.records * (1 if self.neighbours is Neighbours.REPLACE_ONE and self.facts.alike else MARGIN)

    @property
    def doubled(self) -> bool:
        """Whether minimisers are found in doubled precision: no set, and a penalty of l1 and squares at most."""
        fine = self.feasible is None and elastic_weights(self.penalty, self.coordinates) is not None
        return fine and isinstance(self.loss, Loss)

    def radius(self, linear: float, rows: int) -> float:
        """A bound of ‖θ*‖₂ for `‖b‖ ≤ linear` and so many rows.

        **Guarantee.** θ* is in C. Where 0 is a point of C (or there is no set), `F(θ*) ≤ F(0)` gives
        `λ‖θ*‖²/2 ≤ N W sup φ(o, y) + ‖b‖‖θ*‖`, all losses with a code being at least 0 (and clipping lowers them, with the same
        minimum); and stationarity gives `λ‖θ*‖ ≤ N L + ‖b‖` (ψ has its least value at 0). The smallest of these.
        """
        widest = math.inf if self.feasible is None else self.feasible.max_norm(2.0, self.coordinates)
        if self.feasible is not None and not self.feasible.contains(np.zeros(self.coordinates), 0.0):
            return widest
        bound = (rows * self.lipschitz + linear) / self.ridge
        if isinstance(self.loss, Loss):
            height = self.facts.max_weight * _highest(self.loss, self.facts.offset_bound)
            by_value = (linear + math.sqrt(linear**2 + 2.0 * self.ridge * rows * height)) / self.ridge
            bound = min(bound, by_value)
        return min(bound * (1.0 + 1e-12), widest)

    def reach(self, linear: float, rows: int) -> Reach:
        """The constants for `‖b‖ ≤ linear` and so many rows."""
        squares = float(shape_of(None, self.penalty, self.records, self.ridge, self.coordinates)[1].max())
        radius = self.radius(linear, rows)
        slope = rows * self.lipschitz + linear + squares * radius
        kinds = {type(one) for one in parts(self.feasible, self.penalty)}
        spectral = not kinds.isdisjoint({geometry.NuclearBall, geometry.NuclearPenalty})
        return Reach(self.ridge, rows * self.smoothness + squares, radius, slope, PROJECTION * COARSE**spectral)

    def objective(self, rows: Rows, linear: Array) -> Objective:
        """The objective of one table; PRIVATE."""
        shape, squares = shape_of(self.feasible, self.penalty, self.records, self.ridge, self.coordinates)
        if isinstance(self.loss, VectorLoss):
            return VectorObjective(rows, self.loss, self.clip, squares=squares, linear=linear, shape=shape)
        return ScalarObjective(rows, self.loss, self.clip, squares=squares, linear=linear, shape=shape)

    def to_dict(self) -> dict[str, Any]:
        """The public parameters."""
        return {"loss": self.loss.to_dict(), "clip": self.clip, "ridge_of_sum": self.ridge}

    @property
    def limits(self) -> dict[str, int]:
        """For descriptions: how many rows a table may have for the distance to the minimiser to be proved, unless their number is known.

        Rounding adds up over rows, and no public distance covers that of any number of them. Leaving out rows beyond a number would not
        do: one record more or fewer would then replace another.
        """
        return {} if self.most == self.records else {"rows_at_most": self.most}


@dataclass(frozen=True)
class Minimised(Query):
    """A query about the minimiser of a `Family`.

    Attributes:
        loss: φ.
        clip: c.
        ridge: λ, for sums or for means.
        feasible: C with the intercept, or None.
        penalty: ψ with the intercept, for means.
    """

    loss: AnyLoss
    clip: float
    ridge: float
    feasible: ConvexSet | None
    penalty: Penalty

    tier: ClassVar[int] = 2
    instead: ClassVar[str] = OWN_SHAPES


def _highest(loss: Loss, offset: float) -> float:
    """`sup φ(o, y)` over |o| ≤ offset and |y| ≤ 1: φ is convex in both, so at a corner."""
    corners = np.array([(o, y) for o in (-offset, offset) for y in (-1.0, 1.0)])
    return float(np.max(loss.value(corners[:, 0], corners[:, 1])))


def refuse_unfit(family: Family, what: str) -> None:
    """Refuse what no minimiser can be certified for, before anything is charged."""
    if isinstance(family.loss, Pinball):
        raise CapabilityError(
            f"{what} needs a loss with a Lipschitz derivative, which the pinball loss has not. Use solver='gradient' or 'mirror_descent' for quantiles."
        )
    refuse_both(family.feasible, family.penalty, family.coordinates, what)
    bent = family.doubled and family.reach(0.0, family.most).curvature * family.coordinates > UNLIKE * family.ridge
    covers = (one for one in parts(family.feasible) if isinstance(one, geometry.GroupCover | geometry.TreeCover))
    if bent or any(np.ptp(np.log10(np.array(one.weights))) > 12.0 for one in covers):  # off by a tenth from 18 on
        raise CapabilityError(
            f"{what} was asked of an objective that may bend {UNLIKE / family.coordinates:.0e} times as much along one coefficient as along another, or of groups with weights over 1e12 apart: it would "
            "not end, or not be near enough. Nothing was charged. Give a penalty and weights of the order of 1."
        )


def refuse_both(feasible: Any, penalty: Penalty, dimension: int, what: str) -> None:
    """Refuse a set without a projection, and a set beside a penalty where the prox of both is not known."""
    if feasible is None:
        return
    require(feasible, [Projectable], what)
    penalty, free = without_free(penalty)
    require_within(penalty, feasible, dimension - free, what)
