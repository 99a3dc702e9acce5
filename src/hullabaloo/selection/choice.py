"""Choosing one of many: queries whose answer is the index of a candidate, scored by the exact gradient sum.

The sum of clipped contributions is the one of `gradient.py`, exact on its lattice; a score is a fixed linear or absolute
function of it. Only the index leaves.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hullabaloo.curator.gradient import GradientQuery
from hullabaloo.curator.query import CAPACITY, UNIT_ROUNDOFF, Array, Query
from hullabaloo.data.source import Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import AnyLoss, VectorLoss
from hullabaloo.noise import Contest, Key, cells, exponential_mechanism, permute_and_flip
from hullabaloo.privacy import Event, PermuteAndFlipEvent, SelectionEvent
from hullabaloo.selection.sparse_scores import SparseScores

Columns = slice | np.ndarray
EVERY = slice(None)
MANY = 2**16
"""Candidates from which a choice is by a `Contest`; public, so that a table's choices do not depend on how it is held."""
_MOST = 2**24
"""Rows up to which their whole cells add up within 63 bits."""


@dataclass(frozen=True)
class Choice(Query):
    """The index of a candidate with a high score, scores being functions of `Σ_i w_i clip(φ'_i, ±c) x_i`.

    Attributes:
        loss: φ, of one prediction.
        clip: bound c of |φ'|.
        epsilon: parameter ε₀ of one selection; ∞ gives the best candidate, which is not private.
        once: whether a selection is by permute-and-flip: ε₀-DP with a smaller error, for one selection alone, as it is dearer
            to compose.
    """

    loss: AnyLoss
    clip: float
    epsilon: float
    once: bool = False

    tier: ClassVar[int] = 2
    price: ClassVar[str] = "epsilon"
    in_parts: ClassVar[bool] = True
    tells: ClassVar[tuple[str, ...]] = ("loss", "clip")

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.loss, VectorLoss):
            raise InvalidParameter(
                f"A selection by the gradient of {self.loss.name!r} was asked, but selections score the gradient of one "
                "prediction. Use a loss of one prediction (one class against the rest), or noisy gradients."
            )
        self.gradient  # noqa: B018  # checks the clip

    @cached_property
    def gradient(self) -> GradientQuery:
        """The sum that is scored, exact on its lattice; no noise is added to it."""
        mu = 1.0 if self.is_private else math.inf  # ∞ means: not rounded either
        return GradientQuery(self.facts, self.neighbours, self.records, 1, mu, self.loss, self.clip)

    @property
    @abstractmethod
    def reach(self) -> float:
        """Largest score of `x / max|…|`: the bound of `Σ_j |s_j| |x_j|` over candidates s and rows x."""

    @property
    @abstractmethod
    def length(self) -> float:
        """Largest `‖s‖₁` of a candidate's coefficients s."""

    @property
    @abstractmethod
    def terms(self) -> int:
        """Largest number of products in the score of a candidate."""

    @abstractmethod
    def scores(self, g: Array, columns: Columns = EVERY) -> Array:
        """The score of every candidate, the higher the better, from the exact sum; or of those of some columns, from theirs."""

    @property
    @abstractmethod
    def candidates(self) -> int:
        """How many candidates there are, where each is of one column; else 0."""

    @cached_property
    def record_sensitivity(self) -> float:
        """Largest change of one candidate's exact score by one record, in the relation in force."""
        rounded = 1.0 + (self.facts.width + 16) * UNIT_ROUNDOFF
        moved = self.facts.max_weight * self.clip * self.reach * rounded
        moved += self.length * 2.0 ** (self.gradient.exponent - 1)
        return moved * self.copies

    @cached_property
    def sensitivity(self) -> float:
        """Largest change of one candidate's computed score between neighbours.

        **Guarantee.** A unit of m records moves an exact score by at most m times what a record does. Coordinates of the sum
        are clipped to a public bound: that moves none further apart, and `record_sensitivity` bounds the score of
        absolute differences, so it holds after clipping. Turning the integer sum into doubles and adding up at most `terms`
        products rounds a score by at most `(terms + 8) u ‖s‖₁ · bound` (Higham 2002, §3.1); two tables differ by twice that.
        """
        exact = self.facts.records_per_unit * self.record_sensitivity
        return exact + 2.0 * (self.terms + 8) * UNIT_ROUNDOFF * self.length * self.gradient.bound

    @cached_property
    def bound(self) -> float:
        """Public bound to which scores are clipped."""
        share = self.facts.max_weight * self.clip * self.reach
        return max(CAPACITY * self.records * self.facts.records_per_unit * share, self.sensitivity)

    @property
    def noisy_event(self) -> Event:
        """What one selection costs; refused, when it is quoted, where no lattice holds such scores."""
        cells(self.sensitivity, self.bound)
        return PermuteAndFlipEvent(self.epsilon) if self.once else SelectionEvent(self.epsilon)

    def answered(self, rows: Rows, question: tuple[Any, ...], key: Key | None, kept: dict[Any, Any]) -> int:
        """The private choice at θ; `excluded` is a public mask, `within` public ends of intervals.

        Among many candidates of one column each it is by a `Contest`, with scores that are kept of a sparse table.
        """
        theta, excluded, within = question
        if self.is_private and not self.once and self.candidates >= MANY:
            if not isinstance(rows, Rows) or isinstance(rows.X, np.ndarray) or rows.Y.shape[0] > _MOST:
                g = self.gradient.exact(rows, theta)
                return self.contest(self.scored(g, EVERY, within, excluded)).choose(key, excluded)
            found = kept.get("scores")
            if found is None or found.of[0] is not self or found.of[1] is not rows:
                found = kept["scores"] = SparseScores(self, rows)
            return int(found.at(theta, within, excluded).choose(key, excluded))
        scores = self.exact_scores(rows, theta, within)
        if math.isinf(self.epsilon):
            return int(np.argmax(scores if excluded is None else np.where(excluded, -math.inf, scores)))
        select = permute_and_flip if self.once else exponential_mechanism
        return select(scores, self.sensitivity, self.epsilon, bound=self.bound, key=key, excluded=excluded)

    def exact_scores(self, rows: Rows, theta: Array, within: tuple[Array, Array] | None = None) -> Array:
        """The score of every candidate at θ, within the public bound of a private choice; PRIVATE.

        With intervals `[l_j, u_j]` for means, what is scored is how far `−g_j` lies outside of `n[l_j, u_j]` in place of g_j: the distance to an
        interval is 1-Lipschitz, so the sensitivity is the same. Ends beyond the sum's bound are cut to it, by which their addition rounds
        within what `Choice.sensitivity` counts for conversions.
        """
        return self.scored(self.gradient.exact(rows, theta), EVERY, within)

    def scored(
        self, g: Array, columns: Columns, within: tuple[Array, Array] | None, excluded: "np.ndarray | None" = None
    ) -> Array:
        """The same of the candidates of some columns, from their sums g; the least that there can be of an excluded one. PRIVATE."""
        if within is not None:
            most = self.gradient.bound
            lower, upper = (np.clip(self.records * end[columns], -most, most) for end in within)
            g = np.maximum(np.maximum(g + lower, -g - upper), 0.0)
        scores = self.scores(g, columns)
        scores = scores if math.isinf(self.epsilon) else np.clip(scores, -self.bound, self.bound)
        return scores if excluded is None else np.where(excluded[columns], -self.bound, scores)

    def contest(self, scores: Array) -> Contest:
        """The candidates with their scores; PRIVATE."""
        return Contest(scores, self.sensitivity, self.epsilon, bound=self.bound)

    def to_dict(self) -> dict[str, Any]:
        """Public description for plans, ledgers and cards."""
        return {
            **self.described(),
            "mechanism": "permute-and-flip" if self.once else "exponential mechanism",
            "score_sensitivity_of_sum": self.sensitivity,
        }
