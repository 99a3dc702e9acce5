"""The quantiles query: a low and a high quantile of a column, chosen together and privately from public candidates."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hullabaloo.curator.asked import Asked
from hullabaloo.curator.exact import Integers
from hullabaloo.curator.query import CAPACITY, UNIT_ROUNDOFF, Array, Query
from hullabaloo.data import Grid, PartedRows, Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.noise import Key, exponential_mechanism
from hullabaloo.privacy import Event, Neighbours, SelectionEvent
from hullabaloo.selection.quantile_kernels import pair_scores

_PARTS = 1 << 20
TILT, FLOOR = 2.0, 1e-4
"""A pair of width w (a part of the range) weighs `max(w, FLOOR)^-TILT` before values count: a public base measure."""


@dataclass(frozen=True)
class QuantilesQuery(Query):
    r"""For one column after the other, a pair of candidates `lo < hi` that cuts about a share q of the values off below, and r above.

    With N values that are not missing, `A(t) = #{x < t}` and `B(t) = #{x ≤ t}`, and candidates `t_0 < … < t_{G−1}`, the errors in rank are

    - `a_i`, the point of `[A(t_i), A(t_{i+1})] − qN` nearest to 0: 0 where rounding values down to candidates makes t_i the quantile;
    - `b_j`, the point of `[A(t_{j−1}), B(t_j)] − (1 − r)N` nearest to 0, for rounding up (of a value equal to a candidate, to that or the next).

    The score of (i, j), i < j, is `−‖(a_i, b_j)‖`, `‖(a, b)‖ = max(0, a, b) − min(0, a, b) = (|a| + |b| + |a − b|)/2`, and one answer is one
    exponential mechanism among all pairs, with the base measure `max(w, 10^-4)^-2`, w = (t_j − t_i)/(t_{G−1} − t_0): where values do not tell
    candidates apart, as beyond the largest value, narrow bounds are likelier than wide ones. So a jump of A at a candidate costs nothing, and a
    constant column has good bounds as well. A share of 0 leaves that end of the range where it is, and the other is chosen alone, at its score `−|a|`.

    **Guarantee.** Precondition: a column holds finite numbers, its indicator is not 0 exactly where the cell was missing. Records of weight 0
    count as missing. Claim: a score differs between neighbours by at most ``m Δ``, Δ = 1 under replace-one, and
    ``Δ = max(1 − q, 1 − r, q + r)`` under add-or-remove (for one share s alone: 1 − s); one answer is ε₀-bounded-range, hence
    ε₀-DP and ε₀²/8-zCDP. Proof. ‖·‖ is a norm, so a score moves by at most the norm of the move (d, e) of (a_i, b_j). (1) *Add* a value x. Ends of
    a_i's interval move by −q, or 1 − q where x is below them. If x is below both or above both, a_i moves by a part of that; if x is between, the interval
    grows at both ends and a_i comes nearer to 0. In any case −q ≤ d ≤ 1 − q, and likewise r − 1 ≤ e ≤ r. Where d and e have the same sign
    the norm is at most max(1 − q, r) or max(q, 1 − r). Where d ≤ 0 ≤ e it is at most q + r. Where d > 0 > e: d > 0 needs
    x < t_{i+1} (all other x lower the interval) and e < 0 needs x ≥ t_{j−1} ≥ t_i, so j = i + 1 and both intervals grew at both ends;
    both points came nearer to 0, so a_i < 0 < b_j before: `A(t_{i+1}) < qN ≤ (1 − r)N < A(t_i)`, but A rises. Contradiction. (2) *Remove*: the same
    pairs of tables. (3) *Replace* x by x' > x: every A and B stays or falls by 1, so −1 ≤ d, e ≤ 0 and the norm is at most 1; x' < x is the reverse;
    a value for a missing one is (1), and q + r ≤ 1. (4) A unit of m records is a path of m such steps. (5) The base measure enters as the summand
    `−(2mΔ/ε₀) ln max(w, 10^-4)^2` of the score, the same for all tables. (6) Shares are multiples of 2^-20, so errors in rank of fewer than 2^33
    records are computed exactly; clipping scores to `bound` moves none further apart; summand and sum round by at most `4u·bound`, two tables by twice that. ∎
    Counts are whole numbers, so those of a table are the sums of its parts'. The last step is `noise.exponential_mechanism`. The unit ball of ‖·‖ is the hull of
    all moves (±1, 0), (0, ±1), ±(1, 1), so no larger norm has this sensitivity (the K-norm mechanism of Hardt and Talwar 2010; half the utility of Gillenwater, Joseph and Kulesza 2021, "Differentially
    Private Quantiles"; a distance to an interval as in Asi and Duchi 2020).

    Where values are dense, errors in rank have mean size `8Δ/(3ε₀)`, against `2Δ/ε₀'` for two choices apart: at the ε₀, ε₀' which the same budget allows
    for all columns it is 6 % less for many columns (zCDP: ε₀' = ε₀/√2) and a third less for one (pure: ε₀' = ε₀/2).

    Attributes:
        shares: (q, r), each in [0, ½), not both 0; rounded up to multiples of 2^-20.
        epsilon: ε₀ of one column; ∞ takes a best pair, which is not private.
        grids: candidates of each column, `count` of them.
        values, missing: each column's place in an encoded row, and its indicator's (−1: no cell is missing).
    """

    shares: tuple[float, float]
    epsilon: float
    grids: tuple[Grid, ...]
    values: tuple[int, ...]
    missing: tuple[int, ...]

    name: ClassVar[str] = "quantiles"
    key_label: ClassVar[str] = "quantiles"
    tier: ClassVar[int] = 2
    price: ClassVar[str] = "epsilon"
    in_parts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (all(0.0 <= share < 0.5 for share in self.shares) and sum(self.shares) > 0.0):
            raise InvalidParameter(
                f"Shares of values to cut off at each side lie in [0, 0.5), one of them above 0, and {self.shares!r} was asked."
            )
        object.__setattr__(self, "shares", tuple(math.ceil(share * _PARTS) / _PARTS for share in self.shares))
        width = self.facts.width
        places = [*self.values, *(place for place in self.missing if place != -1)]
        complete = self.count == len(self.grids) == len(self.values) == len(self.missing)
        if not complete or not all(0 <= j < width for j in places):
            raise InvalidParameter(
                f"Quantiles of {self.count} columns among {width} need a grid and places for each of them; "
                f"{len(self.grids)} grids and {len(self.values)} places were given."
            )

    @cached_property
    def record_sensitivity(self) -> float:
        """Δ of one record, in the relation in force."""
        if self.neighbours is Neighbours.REPLACE_ONE:
            return 1.0
        asked = [share for share in self.shares if share > 0.0]
        return max(sum(asked), *(1.0 - share for share in asked))

    @cached_property
    def sensitivity(self) -> float:
        """Largest change of one computed score between neighbours."""
        return self.facts.records_per_unit * self.record_sensitivity + 8.0 * UNIT_ROUNDOFF * self.bound

    @cached_property
    def tilt(self) -> float:
        """What a score loses for each e-fold of width; 0 where ε₀ = ∞."""
        return TILT * 2.0 * self.facts.records_per_unit * self.record_sensitivity / self.epsilon

    @cached_property
    def bound(self) -> float:
        """Public bound to which scores are clipped."""
        return CAPACITY * self.records * self.facts.records_per_unit - self.tilt * math.log(FLOOR)

    @property
    def noisy_event(self) -> Event:
        """What the choice for one column costs."""
        return SelectionEvent(self.epsilon)

    @property
    def pairs(self) -> int:
        """The largest number of pairs that one choice is among."""
        most = max(grid.size for grid in self.grids)
        return most * (most - 1) // 2 if min(self.shares) > 0.0 else most - 1

    def typical_error(self) -> float:
        """Mean size of an end's error in rank where values are denser than the noise, in records."""
        factor = 8.0 / 3.0 if min(self.shares) > 0.0 else 2.0
        return factor * self.sensitivity / self.epsilon

    def error_bound(self, chance: float) -> float:
        """What the error ‖(a, b)‖ of one column exceeds the best possible by with at most this probability, in records.

        **Guarantee.** `(2Δ/ε₀) ln(pairs · 10^8/chance)`, whatever the values are: McSherry and Talwar (2007), Theorem 6, and weights of the
        base measure differ by a factor of 10^8 at most.
        """
        return 2.0 * self.sensitivity / self.epsilon * (math.log(self.pairs / chance) - TILT * math.log(FLOOR))

    def usual_error(self, chance: float = 0.05) -> float:
        """What an end's error in rank exceeds with this probability where values are denser than the noise, in records.

        For a pair `P(|a| > t) = (1 + x/6) e^{−x/2}`, x = ε₀t/Δ: the marginal law of `exp(−ε₀‖(a, b)‖/(2Δ))` has a density `∝ (t + 4Δ/ε₀)
        e^{−ε₀t/(2Δ)}`, of mean 8Δ/(3ε₀). For one end alone `e^{−x/2}`.
        """
        x = 2.0 * math.log(1.0 / chance)
        for _ in range(60 if min(self.shares) > 0.0 else 0):
            x = 2.0 * math.log((1.0 + x / 6.0) / chance)
        return x * self.sensitivity / self.epsilon

    def times(self, question: tuple[Any, ...]) -> int:  # noqa: D102
        return self.count

    def answered(
        self, rows: Rows | PartedRows, question: tuple[Any, ...], key: Key | None, kept: dict[Any, Any]
    ) -> list[tuple[float, float]]:
        """Private bounds of every column, lo < hi, in the user's units."""
        counts = rows.total(Asked.of(self, ())) if isinstance(rows, PartedRows) else self.partial(rows)
        return [self.chosen(counts, k, None if key is None else key.derive(k)) for k in range(self.count)]

    def chosen(self, rows: Rows | Integers, number: int, key: Key | None) -> tuple[float, float]:
        """The private choice for column `number`, in the user's units; always lo < hi. Rows, or their counts."""
        scores = self.exact_scores(rows, number)
        if math.isinf(self.epsilon):
            found = int(np.argmax(scores))
        else:
            np.clip(scores, -self.bound, self.bound, out=scores)
            found = exponential_mechanism(scores, self.sensitivity, self.epsilon, bound=self.bound, key=key)
        points = self.grids[number].points
        low, high = pair_at(self.shares, points.size, found)
        return float(points[low]), float(points[high])

    def exact_scores(self, rows: Rows | Integers, number: int) -> Array:
        """The score of every pair of column `number`, in the order of `pair_at`. PRIVATE."""
        below, upto = self.exact_ranks(rows, number)
        (q, r), total = self.shares, float(upto[-1])
        low, high = q * total, (1.0 - r) * total
        a = _nearest(below[:-1] - low, below[1:] - low)  # t_0 … t_{G−2} as lower bounds
        b = _nearest(below[:-1] - high, upto[1:] - high)  # t_1 … t_{G−1} as upper bounds
        points = self.grids[number].points
        points = (points - points[0]) / (points[-1] - points[0])
        if q == 0.0 or r == 0.0:
            error, width = (a, 1.0 - points[:-1]) if r == 0.0 else (b, points[1:])
            return np.asarray(-np.abs(error) - self.tilt * np.log(np.maximum(width, FLOOR)))
        scores = np.empty(a.size * (a.size + 1) // 2)
        pair_scores(a, b, points, self.tilt, FLOOR, scores)
        return scores

    def exact_ranks(self, rows: Rows | Integers, number: int) -> tuple[Array, Array]:
        """`#{x < t}` and `#{x ≤ t}` for every candidate t, missing values and records of weight 0 left out. PRIVATE."""
        counts = rows if isinstance(rows, np.ndarray) else self.partial(rows)
        start = 2 * sum(grid.size for grid in self.grids[:number])
        reached, ties = counts[start : start + 2 * self.grids[number].size].reshape(2, -1)
        upto = np.cumsum(reached)
        return (upto - ties).astype(np.float64), upto.astype(np.float64)

    def partial(self, rows: Rows) -> Integers:
        """Of every column, how many values of a part lie above each candidate's predecessor and not above it, and how many are equal to it. PRIVATE."""
        return np.concatenate([self._counted(rows, number) for number in range(self.count)])

    def merge(self, states: Sequence[Integers]) -> Integers:
        """What all parts add up to, whichever they are. PRIVATE."""
        return np.asarray(np.sum(states, axis=0))

    def _counted(self, rows: Rows, number: int) -> Integers:
        value, missing, points = self.values[number], self.missing[number], self.grids[number].scaled
        x = rows.X[:, value]
        kept = np.ones(x.shape[0], dtype=np.bool_) if missing == -1 else rows.X[:, missing] == 0.0
        if rows.weight is not None:
            kept &= rows.weight > 0.0
        x = x[kept]
        places = np.minimum(np.searchsorted(points, x), points.size - 1)
        ties = places[points[places] == x]
        return np.concatenate([np.bincount(found, minlength=points.size) for found in (places, ties)])

    def to_dict(self) -> dict[str, Any]:
        """Public description for plans, ledgers and cards."""
        return {
            **self.described(),
            "mechanism": "exponential mechanism",
            "score_sensitivity_of_sum": self.sensitivity,
            "shares": list(self.shares),
            "typical_rank_error": self.typical_error(),
            "usual_rank_error_95": self.usual_error(),
            "rank_error_95": self.error_bound(0.05),
            "candidates": [grid.size for grid in self.grids],
        }


def pair_at(shares: tuple[float, float], size: int, number: int) -> tuple[int, int]:
    """The candidates (i, j), i < j, of a number, among `size` candidates."""
    q, r = shares
    if r == 0.0:
        return number, size - 1
    if q == 0.0:
        return 0, number + 1
    rows = np.arange(size - 1, dtype=np.int64)
    starts = rows * (size - 1) - rows * (rows - 1) // 2
    low = int(np.searchsorted(starts, number, side="right")) - 1
    return low, low + 1 + number - int(starts[low])


def _nearest(lower: Array, upper: Array) -> Array:
    """The point of [lower, upper] nearest to 0."""
    return np.maximum(lower, 0.0) + np.minimum(upper, 0.0)
