"""Many minimisers of one table that differ in the linear term alone: work is kept from one answer to the next.

For the squared loss and Huber's, φ' is a straight line between its clips. Around a reference point w₀ most records are known to
stay on their piece: the record i stays while `‖w − w₀‖ ≤ ρ_i = ||r_i| − c|/‖x_i‖`, r_i its residual at w₀. Those of ρ_i > R are summed
once, into a matrix and a vector; the gradient within R of w₀ is theirs plus that of the few others, row by row. A step then costs
O(p²) and the others' rows, whatever n; where nothing can reach the clip there are no others.

For other losses the search begins at the last answer.

What is kept belongs to the curator, as the rows do, and never leaves it: which way an answer was found changes it by less than the
distance that the query states, and its time.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hullabaloo.curator.query import UNIT_ROUNDOFF, Array
from hullabaloo.data.source import Rows
from hullabaloo.erm.minimisation import Family
from hullabaloo.erm.newton import newton
from hullabaloo.erm.objective import blocks, doubled_sum, product
from hullabaloo.erm.optimise import Doubled, minimise, settled
from hullabaloo.erm.quantile_program import quantile_optimum
from hullabaloo.erm.shape import shape_of
from hullabaloo.geometry.numerics import euclidean_norm
from hullabaloo.losses import Huber, Pinball, Squared
from hullabaloo.quadratic.linear_system import Cholesky, Spectrum, factorise
from hullabaloo.quadratic.order_faces import elastic_weights

_BLOCK = 1 << 10
_FEWEST, _MOST = 1 / 64, 1 / 8  # shares of the records that a reference point leaves undecided
_DENSE = 1500  # columns up to which a matrix is kept
_STEPS = 200
_REFERENCES = 3


class WarmStarted:
    """The minimisers of one family over one table, for one linear term after another; PRIVATE.

    Attributes:
        family: the objectives.
        rows: the table.
        largest: bound of the linear terms of the sum form.
        distance: how near each answer must be; 0 for the exact optimum without noise.
        slack: what rounding hides of it.
    """

    __slots__ = ("_last", "_pieces", "_straight", "distance", "family", "largest", "rows", "slack")

    def __init__(self, rows: Rows, family: Family, *, largest: float, distance: float, slack: float) -> None:
        self.rows, self.family, self.largest, self.distance, self.slack = rows, family, largest, distance, slack
        kinds = (Squared, Huber) if distance > 0.0 else (Squared,)
        self._straight = isinstance(family.loss, kinds) and family.coordinates <= _DENSE
        self._pieces: PiecewiseQuadratic | None = None
        self._last: Array | None = None

    def minimiser(self, slope: Array) -> Array:
        """A point within the distance of the minimiser.

        **Guarantee.** Precondition: `‖slope‖ ≤ largest`. Claim: for every table and whatever was asked before, the answer is within
        the distance (or, as in `minimise`, the nearest double of such a point). Proof: an answer leaves here with a gradient
        whose size and rounding (`PiecewiseQuadratic.error`) are together at most `distance·λ/2`, or by the evidence of `optimise.py`, or from
        `minimise`; the first two bound the distance by strong monotonicity, in all cases from this table and this linear term
        alone. What is kept is a function of the table and of earlier linear terms, which follow from earlier answers: given
        those, two neighbours' answers are as far apart as the query's sensitivity says, which adaptive composition asks for.
        Nothing is raised because of the data.
        """
        with np.errstate(all="ignore"):  # a warning would depend on the data
            try:
                found = self._again(slope)
            except Exception:  # the slow way: whatever it is would depend on the data
                found = None
        if found is None:
            found = self._afresh(slope)
        self._last = found
        return found

    def _again(self, slope: Array) -> Array | None:
        """The answer from what was kept, or None where that does not show it."""
        if self._last is None or not self._smooth:
            return None
        goal, start = 0.5 * self.distance * self.family.ridge, self._last
        wanted = math.inf
        for _ in range(_REFERENCES if self._straight else 0):
            if self._pieces is None:
                self._pieces = PiecewiseQuadratic.around(start, wanted, self.rows, self.family)
                if goal > 0.0 and not self._pieces.error(2.0 * euclidean_norm(start), self.largest) <= 0.5 * goal:
                    self._straight, self._pieces = False, None  # a table too large for plain doubles
                    break
            start, near = self._pieces.minimiser(slope, start, goal)
            if near:
                return start
            wanted, self._pieces = 2.0 * euclidean_norm(start - self._pieces.centre), None
        return self._warmly(slope, self._last)

    def _warmly(self, slope: Array, last: Array) -> Array | None:
        """Newton's method from the last answer, with evidence in doubled precision."""
        objective = self.family.objective(self.rows, slope)
        if self.distance == 0.0:
            return settled(objective, last)
        local, hessian = newton(objective, last)
        theta, done = Doubled(objective, self.distance).improved(local.theta, hessian)
        return theta if done else None

    def _afresh(self, slope: Array) -> Array:
        if self.distance == 0.0 and isinstance(self.family.loss, Pinball):
            return quantile_optimum(self.rows, self.family, slope)
        if self.distance == 0.0:
            return settled(self.family.objective(self.rows, slope), np.zeros(self.family.coordinates))
        own = self.family.reach(self.largest, max(self.rows.Y.shape[0], 1))
        return minimise(self.family.objective(self.rows, slope), own, self.distance, slack=self.slack)

    @property
    def _smooth(self) -> bool:
        """Whether there is one smooth prediction, and neither a set nor a penalty with kinks."""
        weights = elastic_weights(self.family.penalty, self.family.coordinates)
        smooth = self.family.doubled and weights is not None and not weights[0].any()
        return smooth and not isinstance(self.family.loss, Pinball)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PiecewiseQuadratic:
    """The gradient of the sum form around a reference point, from sums over the records whose piece of φ' is known; PRIVATE.

    Attributes:
        centre: w₀.
        radius: R.
        gram: `Σ w x xᵀ + diag(a)` over the records between the clips, a the squares.
        vector: `Σ w (o − y) x` over the same, and `±Σ w c x` over those at a clip.
        factor: of `gram` with all the others' `w x xᵀ`.
        X, y, offset, weight: the others.
        clip: c.
        records: N, the number of rows.
        heaviest: W.
        norm: B.
        shift: bound of |y − o|.
        squares: the largest a.
    """

    centre: Array
    radius: float
    gram: Array
    vector: Array
    factor: Cholesky | Spectrum
    X: Any
    y: Array
    offset: Array
    weight: Array
    clip: float
    records: int
    heaviest: float
    norm: float
    shift: float
    squares: float

    @classmethod
    def around(cls, centre: Array, wanted: float, rows: Rows, family: Family) -> "PiecewiseQuadratic":
        """One pass over the table: residuals, then blocks of products, block sums being added in doubled precision.

        The radius is the one wanted, if that leaves neither fewer nor more records than is worth it.
        """
        X, facts, n, p = rows.X, family.facts, rows.Y.shape[0], family.coordinates
        clip = min(family.clip, family.loss.h) if isinstance(family.loss, Huber) else family.clip
        offset = np.zeros(n) if rows.offset is None else rows.offset
        weight = np.ones(n) if rows.weight is None else rows.weight
        y, residual = rows.Y[:, 0], X @ centre + offset - rows.Y[:, 0]
        reach = np.abs(np.abs(residual) - clip) / np.maximum(_norms(X), 1e-300)
        ends = [max(math.ceil(share * n), 1) for share in (_FEWEST, _MOST)]
        least, most = np.partition(reach, ends)[ends] if n > ends[1] else (math.inf, math.inf)
        radius = float(min(max(wanted, least), most)) * (1.0 - 1e-9)
        others = np.flatnonzero(~(reach > radius)) if clip < math.inf else np.empty(0, dtype=np.int64)
        decided = np.ones(n)
        decided[others] = 0.0
        inside = np.abs(residual) < clip
        within = np.sqrt(weight) * decided * inside
        moved = decided * weight * np.where(inside, offset - y, np.sign(residual) * (clip if clip < math.inf else 0.0))
        gram, vector = _sums(X, within, moved)
        squares = shape_of(None, family.penalty, family.records, family.ridge, p)[1]
        gram[np.diag_indices(p)] += squares
        rest, light = X[others], weight[others]
        full = gram + product(rest, np.sqrt(light))
        return cls(
            centre=centre, radius=radius, gram=gram, vector=vector, factor=factorise(full), X=rest, y=y[others],
            offset=offset[others], weight=light, clip=clip, records=n, heaviest=facts.max_weight,
            norm=facts.norm_l2 * (1.0 + 1e-9), shift=1.0 + facts.offset_bound, squares=float(squares.max()),
        )  # fmt: skip

    def minimiser(self, slope: Array, start: Array, goal: float) -> tuple[Array, bool]:
        """A point with a gradient no longer than the goal, rounding included, and whether it was reached.

        Steps `w − H⁻¹∇F(w)` with H ≥ ∇²F everywhere in the ball bring F down each time; they stop outside the ball. A goal of 0 is
        reached when steps no longer halve the gradient.
        """
        theta, last, largest = start, math.inf, euclidean_norm(slope)
        for _ in range(_STEPS):
            if not euclidean_norm(theta - self.centre) <= self.radius:
                return theta, False
            gradient = self.gradient(theta, slope)
            length = euclidean_norm(gradient)
            if goal == 0.0:
                if not length < 0.5 * last:
                    return theta, True
                last = length
            elif length + self.error(euclidean_norm(theta), largest) <= goal:
                return theta, True
            theta = theta - self.factor.solve(gradient)
        return theta, False

    def gradient(self, theta: Array, slope: Array) -> Array:
        """∇F within `radius` of the reference point."""
        residual = self.X @ theta + self.offset - self.y
        rest = self.X.T @ (self.weight * np.clip(residual, -self.clip, self.clip))
        return self.gram @ theta + self.vector + rest + slope  # type: ignore[no-any-return]

    def error(self, length: float, largest: float) -> float:
        """A bound of the error of `gradient` at points so long, for linear terms at most so long.

        **Guarantee.** A dot product of m terms, in any order and with fused additions, errs by at most `mu/(1 − mu)` of the sum of the
        terms' sizes. Terms of one record are at most `WB·h`, `h = B(‖w‖ + ‖w₀‖) + |y − o|`: so is a clipped slope of a record that is
        at its clip at w₀. Blocks are summed as such products (their sums in doubled precision, without loss that counts), the
        others' rows likewise, and a matrix times w. Rounding a residual, a length or a distance may take a record for one on the next
        piece only where it is as near to the bend as the rounding, at most `(p + 4)u·h`; φ' being continuous, that moves its slope
        by no more than so much. The factor 4 covers what is of second order.
        """
        height = self.norm * (length + euclidean_norm(self.centre)) + self.shift
        p, few = self.gram.shape[0], self.y.size
        terms = self.records * (_BLOCK + 4.0 * p + 64.0) + float(few) ** 2
        own = (p + 8.0) * (self.squares * length + largest)
        return float(4.0 * UNIT_ROUNDOFF * (terms * self.heaviest * self.norm * height + own))


def _norms(X: Any) -> Array:
    if isinstance(X, np.ndarray):
        return np.sqrt(np.einsum("ij,ij->i", X, X))  # type: ignore[no-any-return]
    squares: Array = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.sqrt(squares)


def _sums(X: Any, root: Array, moved: Array) -> tuple[Array, Array]:
    """`Σ root² x xᵀ` and `Σ moved x`, blocks added in doubled precision."""
    p = X.shape[1]
    gram, gram_low, vector, vector_low = np.zeros((p, p)), np.zeros((p, p)), np.zeros(p), np.zeros(p)
    for part in blocks(root.size, _BLOCK):
        gram, gram_low = doubled_sum(gram, gram_low, product(X[part], root[part]), np.zeros((p, p)))
        vector, vector_low = doubled_sum(vector, vector_low, X[part].T @ moved[part], np.zeros(p))
    return gram, vector
