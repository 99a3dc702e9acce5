"""The vertex query: a vertex of the constraint set along which the loss falls steeply, chosen privately."""

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hullabaloo.curator.query import Array
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import ConvexSet, HasVertices, L1Ball, Simplex, WithIntercept, require
from hullabaloo.selection.choice import EVERY, Choice, Columns

_SCANNED = 10_000_000
"""Numbers in all vertices up to which each vertex is bounded by itself."""
_UP = 1.0 + 2.0**-48
SHARE = 0.4
"""Part of the score's sensitivity that the choice of the intercept's end may take."""


@dataclass(frozen=True)
class VertexQuery(Choice):
    """The number of a vertex s of C, chosen with probability ∝ `exp(−ε₀ ⟨s, g⟩/(2Δ))`, `g = Σ_i w_i clip(φ'_i, ±c) x_i`.

    Beside an intercept a candidate is a vertex of the body with an end of the interval, number `k + V·e` for vertex k of V and
    e = 0 for the lower, 1 for the upper end; its score is `−⟨s, g⟩ − κ (end − middle) g_p`. The public κ ≤ 1 keeps a wide
    interval from drowning the vertices in noise; the best candidate is the same for every κ > 0.

    **Guarantee.** Precondition: rows obey the declared norms and `0 ≤ w_i ≤ W` (the domain's encoding sees to it), θ is a
    function of earlier releases. Claim: one answer is ε₀-bounded-range, hence ε₀-DP and ε₀²/8-zCDP. Proof: a record moves
    `⟨s, g⟩` by at most `W c H`, `H ≥ max over s of Σ_j |s_j||x_j|` by Hölder's inequality with the best of three pairs of norms
    (for the l1 ball of radius r: `r max|x_j|`), plus half a cell of the lattice for each coordinate, by twice that when it is
    replaced; an end adds κ times half the interval to H, as `x_p = 1`. Then `noise.exponential_mechanism`. For the l1 ball the
    scores of two vertices can move apart by exactly 2Δ (±r e_j), so no smaller range may be claimed. Sources: McSherry
    and Talwar (2007); Talwar, Thakurta and Zhang (2015), Algorithm 2, which adds Laplace noise to each score instead.

    Attributes:
        constraint: C, with the intercept if the rows have one.

    Source: 000, Theorem 2.4; 002, Theorem 5.4.
    """

    _: KW_ONLY
    constraint: ConvexSet

    name: ClassVar[str] = "vertex"
    key_label: ClassVar[str] = "vertex"
    instead: ClassVar[str] = (
        "Pass the vertices as an hb.Polytope; or use solver='gradient' or 'mirror_descent', or Frank–Wolfe with form='general', which show a "
        "set of your own nothing but noisy answers."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.body is not None:
            require(self.body, [HasVertices], "A private choice of a vertex")
        if self.beside and not math.isfinite(self.half):
            raise InvalidParameter(
                f"A private choice of a vertex was asked of {self.constraint!r}, whose intercept is not bounded, so that no "
                "score has a bounded sensitivity. Bound the intercept."
            )

    @cached_property
    def beside(self) -> bool:
        """Whether the last column is an intercept in an interval of its own."""
        return isinstance(self.constraint, WithIntercept) and self.facts.intercept

    @cached_property
    def body(self) -> ConvexSet | None:
        """The set of the slopes; None where the intercept is alone."""
        if isinstance(self.constraint, WithIntercept) and self.beside:
            return self.constraint.body if self.facts.width > 1 else None
        return self.constraint

    @cached_property
    def half(self) -> float:
        """Half the length of the intercept's interval; 0 without one."""
        if isinstance(self.constraint, WithIntercept) and self.beside:
            return 0.5 * (self.constraint.upper - self.constraint.lower) * _UP
        return 0.0

    @cached_property
    def weight(self) -> float:
        """κ: the intercept's part of the sensitivity is at most `SHARE`."""
        if self.half == 0.0 or self.body is None:
            return 1.0
        return min(1.0, SHARE / (1.0 - SHARE) * self._slopes / self.half)

    @cached_property
    def _slopes(self) -> float:
        """H of the slopes: Hölder's bound for the worst vertex."""
        facts, body = self.facts, self.body
        if body is None:
            return 0.0
        if not self.beside:
            return _holder(body, facts.width, facts.norm_l1, facts.norm_l2, facts.norm_linf)
        l2 = math.sqrt(max(facts.norm_l2**2 * _UP - 1.0, 0.0)) * _UP
        return _holder(body, facts.width - 1, max(facts.norm_l1 * _UP - 1.0, 0.0) * _UP, l2, facts.norm_linf)

    @cached_property
    def reach(self) -> float:
        """H of the slopes, and κ times half the intercept's interval."""
        return self._slopes + self.weight * self.half

    @cached_property
    def length(self) -> float:
        """The largest l1 norm of a candidate's coefficients."""
        slopes = self.facts.width - self.beside
        return (0.0 if self.body is None else self.body.max_norm(1.0, slopes)) + self.weight * self.half

    @cached_property
    def terms(self) -> int:
        """One product for signed coordinates, p for vertices of a general kind, and two more for an intercept."""
        return (1 if isinstance(self.body, L1Ball | Simplex) else self.facts.width) + 2 * self.beside

    def question(self, theta: Any) -> tuple[Array, None, None]:
        """θ."""
        return (*self.gradient.question(theta), None, None)

    @cached_property
    def candidates(self) -> int:
        """How many vertices of an l1 ball or a simplex there are without an intercept: each is of one column; else 0."""
        if isinstance(self.body, L1Ball | Simplex) and not self.beside:
            return self.body.vertex_count(self.facts.width)
        return 0

    def scores(self, g: Array, columns: Columns = EVERY) -> Array:
        """Minus the slope of the sum along every candidate."""
        body = self.body
        slopes = g[:-1] if self.beside else g
        scores = np.zeros(1)
        if isinstance(body, HasVertices):
            scores = -body.vertex_scores(slopes)
        if not self.beside:
            return scores
        pull = self.weight * self.half * float(g[-1])
        return np.concatenate([scores + pull, scores - pull])

    def to_dict(self) -> dict[str, Any]:
        """The query with its set."""
        described = {**super().to_dict(), "constraint": self.constraint.to_dict()}
        return {**described, "intercept_weight": self.weight} if self.beside else described


def _holder(body: ConvexSet, p: int, l1: float, l2: float, linf: float) -> float:
    """`max over s of min(‖s‖₁ linf, ‖s‖₂ l2, ‖s‖_∞ l1)`, or the minimum of the maxima where vertices are many."""
    together = min(body.max_norm(1.0, p) * linf, body.max_norm(2.0, p) * l2, body.max_norm(math.inf, p) * l1)
    if not isinstance(body, HasVertices) or isinstance(body, L1Ball | Simplex) or body.vertex_count(p) * p > _SCANNED:
        return together
    worst = 0.0
    for number in range(body.vertex_count(p)):
        s = np.abs(body.vertex_at(number, p))
        worst = max(worst, min(float(s.sum()) * linf, math.sqrt(float(s @ s)) * l2, float(s.max()) * l1))
    return min(together, worst * (1.0 + (p + 4) * 2.0**-52))
