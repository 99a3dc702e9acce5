"""When the curvature that one whitening leaves is worth its price, and what comes beside it.

After one whitening the directions in which Σ's eigenvalues g(Λ₊ + λ) drowned are still flat, and steps of one length for all need 1/√g of them. Where it is
quiet, the bound of a residual loss's curvature, `H = L E vvᵀ`, v = (u, 1), is bought in those coordinates. Its noise has half the spectral radius
`s_H √(p/2) R²`, R within which records count in full, so that with `λ' = FLOOR` times it and what shortening hides, `M = H̃₊ + λ'I`, steps M⁻¹g̃ leave about
`λ'/(g + λ')` of what was left before: of all directions but the faintest next to nothing after `NEWTON` of them. λ' is public but for R, `1.5√p` on most tables.

Of residuals alone, whose H bounds the curvature everywhere. That of a rare class grows while a walk finds it: steps by what it was ended 2 to 114 standard
errors from the optimum on "rare class, mixed columns" of `benchmarks/consistency.py`.
"""

import math

from hullabaloo.solvers.base import Problem, QueryPrices

FLOOR = 1.4
"""λ over half the spectral radius of a released matrix's noise, s√(2q)."""
BEND, FAINT = 0.05, 0.1
"""Share of μ² for the curvature, and the λ' over the curvature of round records up to which it is bought: at 0.14 `appliances` lost 3 points, at 0.18 to 0.4 `adult` 1."""
NEWTON, LEVEL_NEWTON = (4, 3, 6), 2
"""Steps of the three walks beside it, of which only the first has one length for all directions, and for the intercept alone at the end. Chosen on appliances and
california, and six tables of classes, at ε = 30 and 100."""
NEWTON_SHARES = (0.15, 0.04, 0.1, 0.71)
"""`LATE_SHARES` beside it."""


def tells(problem: Problem, prices: QueryPrices, mu: float) -> bool:
    """Whether, bought at `mu`, its floor is at most `FAINT` of the curvature of round records within 1.5 typical lengths."""
    size = problem.dimension
    noise = prices.price("gradient_moments", loss=problem.loss, mu=mu).sigma / problem.records
    return bool(FLOOR * noise * math.sqrt(0.5 * size) * 2.25 * size <= FAINT)
