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
FIRST_NEWTON, LEVEL_NEWTON = 2, 2
NEWTON_SHARES, LAST = (0.13, 0.04, 0.08, 0.75), 0.85
"""`LATE_SHARES` beside it."""
FLAT = 0.3


def floor(noise: float, size: int) -> float:
    return FLOOR * noise * math.sqrt(0.5 * size) * 2.25 * size


def newton_steps(noise: float, size: int, level: float) -> int:
    left = floor(noise, size)
    return max(math.ceil(math.log(level) / math.log(left / (FLAT + left))), FIRST_NEWTON + 3)


def tells(problem: Problem, prices: QueryPrices, mu: float) -> bool:
    """Whether, bought at `mu`, its floor is at most `FAINT` of the curvature of round records within 1.5 typical lengths."""
    noise = prices.price("gradient_moments", loss=problem.loss, mu=mu).sigma / problem.records
    return bool(floor(noise, problem.dimension) <= FAINT)
