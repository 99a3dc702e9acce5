"""The vertex query: a vertex of the constraint set along which the loss falls steeply, chosen privately."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hullabaloo.curator.choice import Choice
from hullabaloo.data.source import RowFacts
from hullabaloo.geometry import ConvexSet, HasVertices, L1Ball, Simplex, require
from hullabaloo.geometry.intercept import WithIntercept

Array = npt.NDArray[np.float64]

_SCANNED = 10_000_000
"""Numbers in all vertices up to which each vertex is bounded by itself."""


@dataclass(frozen=True, slots=True)
class VertexQuery(Choice):
    """The number of a vertex s of C, chosen with probability ∝ `exp(−ε₀ ⟨s, g⟩/(2Δ))`, `g = Σ_i w_i clip(φ'_i, ±c) x_i`.

    **Guarantee.** Precondition: rows obey the declared norms and `0 ≤ w_i ≤ W` (the domain's encoding sees to it), θ is a
    function of earlier releases. Claim: one answer is ε₀-bounded-range, hence ε₀-DP and ε₀²/8-zCDP. Proof: a record moves
    `⟨s, g⟩` by at most `W c H`, `H ≥ max over s of Σ_j |s_j||x_j|` by Hölder's inequality with the best of three pairs of norms
    (for the l1 ball of radius r: `r max|x_j|`), plus half a cell of the lattice for each coordinate, by twice that when it is
    replaced; then `noise.exponential_mechanism`. For the l1 ball the scores of two vertices can move apart by exactly
    2Δ (±r e_j), so no smaller range may be claimed. The middle of an intercept's interval is taken from every vertex:
    a constant that all scores share changes no probability. Sources: McSherry and Talwar (2007); Talwar, Thakurta and
    Zhang (2015), Algorithm 2, which adds Laplace noise to each score instead.
    """

    _: KW_ONLY
    constraint: ConvexSet

    name: ClassVar[str] = "vertex"

    def __post_init__(self) -> None:
        super(VertexQuery, self).__post_init__()  # slots dataclasses break the short form
        require(self.constraint, [HasVertices], "A private choice of a vertex")

    @property
    def reach(self) -> float:
        """H: Hölder's bound of a vertex's prediction, for the worst vertex."""
        return _reach(self.constraint, self.facts)

    @property
    def length(self) -> float:
        """The largest l1 norm of a vertex."""
        return self.constraint.max_norm(1.0, self.facts.width)

    @property
    def terms(self) -> int:
        """One product for signed coordinates, p for vertices of a general kind, and two more for an intercept."""
        middle = isinstance(self.constraint, WithIntercept)
        body = self.constraint.body if isinstance(self.constraint, WithIntercept) else self.constraint
        return (1 if isinstance(body, L1Ball | Simplex) else self.facts.width) + 2 * middle

    def scores(self, g: Array) -> Array:
        """`−⟨s − s̄, g⟩` of every vertex, s̄ the middle of the intercept's interval."""
        assert isinstance(self.constraint, HasVertices)  # __post_init__ saw to it
        scores = self.constraint.vertex_scores(g)
        if isinstance(self.constraint, WithIntercept):
            scores -= 0.5 * (self.constraint.lower + self.constraint.upper) * g[-1]
        return np.negative(scores, out=scores)

    def to_dict(self) -> dict[str, Any]:
        """The query with its set."""
        return {**super(VertexQuery, self).to_dict(), "constraint": self.constraint.to_dict()}


def _reach(body: ConvexSet, facts: RowFacts) -> float:
    if isinstance(body, WithIntercept) and facts.intercept:
        up = 1.0 + 2.0**-50
        l1 = (facts.norm_l1 - 1.0) * up
        l2 = math.sqrt(max(facts.norm_l2**2 * up - 1.0, 0.0)) * up
        half = 0.5 * (body.upper - body.lower) * up
        return half + (_holder(body.body, facts.width - 1, l1, l2, facts.norm_linf) if facts.width > 1 else 0.0)
    return _holder(body, facts.width, facts.norm_l1, facts.norm_l2, facts.norm_linf)


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
