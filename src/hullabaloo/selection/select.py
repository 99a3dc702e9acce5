"""The select query: a coordinate with a large partial derivative, chosen privately among those not yet taken."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hullabaloo.curator.known import anything, number, numbers
from hullabaloo.curator.query import Array
from hullabaloo.data.source import Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.noise import Key
from hullabaloo.selection.choice import EVERY, Choice, Columns


@dataclass(frozen=True)
class SelectQuery(Choice):
    """A coordinate j, chosen with probability ∝ `exp(ε₀ |g_j|/(2Δ))`, `g = Σ_i w_i clip(φ'_i, ±c) x_i`.

    **Guarantee.** Precondition: `|x_ij| ≤ b`, `0 ≤ w_i ≤ W`; θ and the mask of excluded coordinates are public or functions of
    earlier releases. Claim: one answer is ε₀-bounded-range, hence ε₀-DP and ε₀²/8-zCDP. Proof: a record's contribution to g_j
    is at most `W c b` plus half a cell of the lattice, twice that when it is replaced, which is Δ, and `||u| − |v|| ≤ |u − v|`.
    Then `noise.exponential_mechanism`. The price is ε₀ alone: an answer may be asked at another clip, a function of earlier
    releases too, at the Δ of that; and about the distance of −g_j to given intervals in place of |g_j| (`choice.choose`).
    """

    name: ClassVar[str] = "select"
    key_label: ClassVar[str] = "select"

    length, terms = 1.0, 1

    @cached_property
    def reach(self) -> float:
        """`max|x_j|`."""
        return self.facts.norm_linf

    def question(self, theta: Any, excluded: Any = None, *, clip: Any = None, within: Any = None) -> tuple[Any, ...]:
        """θ, which coordinates are left out, at which other clip, and the intervals that −g_j is scored outside of."""
        (point,) = self.gradient.question(theta)
        mask, between = _mask(excluded, point.size), _intervals(within, point.size)
        return self if clip is None else replace(self, clip=number(clip)), point, mask, between

    def answered(self, rows: Rows, question: tuple[Any, ...], key: Key | None, kept: dict[Any, Any]) -> int:  # noqa: D102
        asked, *rest = question
        base, last = kept.get("asked", (self, asked))  # scores are kept for the query that was asked before
        if base is self and last.clip == asked.clip:
            asked = last
        kept["asked"] = self, asked
        return Choice.answered(asked, rows, tuple(rest), key, kept)

    @cached_property
    def candidates(self) -> int:
        """The columns, where no intercept moves all their scores at every step."""
        return 0 if self.facts.intercept else self.facts.width

    def scores(self, g: Array, columns: Columns = EVERY) -> Array:
        """`|g_j|`."""
        return np.abs(g)

    def to_dict(self) -> dict[str, Any]:
        """The query, as states of searches and statements have always told it: all scores are of one scale."""
        return {**super().to_dict(), "scales": [1.0, 1.0]}


def _intervals(within: tuple[Array, Array] | None, width: int) -> tuple[Array, Array] | None:
    """The ends as plain arrays, checked before anything is spent."""
    if within is None:
        return None
    lower, upper = map(numbers, within)
    if lower.shape != (width,) or upper.shape != (width,) or not np.all(lower <= upper):
        raise InvalidParameter(
            f"A selection among {width} columns was asked with intervals of shapes {lower.shape} and {upper.shape}, or with ends in "
            "the wrong order. Pass two vectors of one number for each column, lower ≤ upper."
        )
    return lower, upper


def _mask(excluded: npt.ArrayLike | None, width: int) -> npt.NDArray[np.bool_] | None:
    """The mask as an array of booleans, checked before anything is spent."""
    if excluded is None:
        return None
    mask = anything(excluded)
    if mask.shape != (width,) or mask.dtype != np.bool_ or mask.all():
        raise InvalidParameter(
            f"A selection among {width} columns was asked with a mask of shape {mask.shape} and type {mask.dtype} that "
            f"excludes {np.count_nonzero(mask)} of them. Pass one boolean for each column, not all true."
        )
    return mask
