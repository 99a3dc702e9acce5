"""When the curvature that one whitening leaves is worth its price, and what comes beside it.

After one whitening the directions in which Σ's eigenvalues g(Λ₊ + λ) drowned are still flat, and steps of one length for all need 1/√g of them. Where it is
quiet, the bound of a residual loss's curvature, `H = L E vvᵀ`, v = (u, 1), is bought in those coordinates. Its noise has half the spectral radius
`s_H √(p/2) R²`, R within which records count in full, so that with `λ' = FLOOR` times it and what shortening hides, `M = H̃₊ + λ'I`, steps M⁻¹g̃ leave about
`λ'/(g + λ')` of what was left before. λ' is public but for R, `1.5√p` on most tables, and so is how many of them leave less than noise. Noise in all gradients but the last
is taken back by those that follow it, in a direction of curvature a all but 1 − a of it: so each takes `FALL` of the budget of the next one, and the last about half.

Residuals' H bounds the curvature everywhere, but for what lies beyond R. That of classes, `E φ''vvᵀ`, is known where it was released alone, and that of a rare class grows while a walk finds it: steps by what it was on
the way there ended 2 to 114 standard errors from the optimum on "rare class, mixed columns" of `benchmarks/consistency.py`. So it is released where a first walk comes to, and raised along each
step that the next gradient shows to have gone too far (`raised`): 0.2 to 0.7 of them, as by 30 steps alike. Where classes nearly separate the optimum is far, and only the walk comes near it.

What shortening hides of H is spread: over all p directions alike of classes, and of residuals over √p of them, half-way in logarithms to the one that would bound it, which slows all others. What lies in fewer makes steps
too long, which the next gradient shows (`raised`). Chosen on the Brier score of electricity, where few records are far out in a narrow column (share of the gain at ε = 10 and 100: .51 and .963 over p, .982 and .9987 over √p, .971 and
.9994 in one), and on appliances (.9955, .9855 and .952 at 100). On claims, wine, elevators, ailerons, flights, diamonds, california, power_plant and noaa's score, at ε = 10 to 100, √p keeps .0006 less to .008 more than p.

Where a set or a penalty holds a number's coefficients, each step ends at the least point of `½(v − x)ᵀM(v − x) + ψ` within it (a proximal Newton step; Lee, Sun & Saunders 2014): 9 gradients in place of 70 to 117. Of classes none is bought there.

Of Huber's loss it is bought where h is wide: its
curvature is that of the share of residuals within h alone, where steps are counted for `FLAT` of H. With fewer than half of them within h, so few steps end far from the optimum: of a
million records (ε = 1, h = 0.1) california lost 0.020 of the gain and diamonds 0.104, and 0.00002 and 0.001 by the plain steps; at h = 0.35 and 0.5 they lose no less than these.
"""

import math

import numpy as np

from hullabaloo.losses import Huber, Logistic
from hullabaloo.solvers.base import Array, Problem, QueryPrices
from hullabaloo.solvers.gradient.travel import swift
from hullabaloo.solvers.reference import TARGET_VARIANCE

FLOOR = 1.4
"""λ over half the spectral radius of a released matrix's noise, s√(2q)."""
BEND, FAINT = 0.05, 0.1
"""Share of μ² for the curvature, and the λ' over the curvature of round records up to which it is bought: at 0.14 `appliances` lost 3 points, at 0.18 to 0.4 `adult` 1."""
PROBABLE = 0.6745
"""Huber's h, over the standard deviation of a usual target, from which a curvature is bought: half of normal residuals are within it."""
FIRST_NEWTON, LEVEL_NEWTON, FIRST_CLASSES = 2, 2, 7
"""Steps before gradients are cut anew, and for the intercept alone at the end; and of the walk before classes' curvature is released, over the growth of `STEPS_LATE`'s. On bank, electricity, law_school,
acs_above_50k, skin, intrusion, phishing, spambase and covertype 6 lost as much as 7 but for 0.001 to 0.003 of the gain where classes separate."""
NEWTON_SHARES, FALL = (0.13, 0.04), 0.5
"""The first two `LATE_SHARES` beside it, and each step's share of the rest over the next one's: what is left of its noise in a direction of curvature a is (1 − a)² of that."""
FLAT, FEWEST, LONGER = 0.3, 6, 1.5
"""The curvature of a direction, over that of round records, for which steps are counted, and the fewest for those that are fainter; and how long all but the last are, over `M⁻¹g`, which leaves of faint
ones less and of the others half, for the last to take away. They and `FALL` were chosen on appliances, california, elevators, ailerons, abalone, bike and acs_income at ε = 30 and 100 (with 5 steps
`appliances` lost half a point at add-or-remove); diamonds and power_plant had no part in it."""


def floor(noise: float, size: int) -> float:
    """λ' over the curvature of round records, within 1.5 typical lengths, for a noise of a diagonal entry."""
    return FLOOR * noise * math.sqrt(0.5 * size) * 2.25 * size


def newton_steps(noise: float, size: int, level: float) -> int:
    """T, after which steps `M⁻¹g` leave less of the start than the gradients' noise, s√q = `level`, in every direction of the curvature `FLAT` or more; at least `FEWEST`."""
    left = floor(noise, size)
    return max(math.ceil(math.log(level) / math.log(left / (FLAT + left))), FEWEST)


def newton_shares(steps: int) -> tuple[float, ...]:
    """The second phase's shares where its walk has so many steps: the intercept alone, two histograms, and each step."""
    falling = [FALL ** (steps - 1 - t) for t in range(steps)]
    return *NEWTON_SHARES, *((1.0 - sum(NEWTON_SHARES)) * one / sum(falling) for one in falling)


def tells(problem: Problem, prices: QueryPrices, mu: float) -> bool:
    """Whether, bought at `mu`, its floor is at most `FAINT`, enough residuals are within h, and classes' plans are no earlier version's."""
    wide = not isinstance(problem.loss, Huber) or problem.loss.h >= PROBABLE * math.sqrt(TARGET_VARIANCE)
    noise = prices.price("gradient_moments", loss=problem.loss, mu=mu).sigma / problem.records
    classes, free = isinstance(problem.loss, Logistic), swift(problem)
    known = (free and problem.earlier < 8) if classes else (free or problem.earlier < 7)
    return known and wide and floor(noise, problem.dimension) <= FAINT


def raised(bend: Array, step: Array, change: Array) -> Array:
    """M as large along a step s as the change y of the gradient says that the curvature is there, `M + (yᵀs/sᵀMs − 1)₊ Ms(Ms)ᵀ/sᵀMs`, and nowhere smaller than before.

    The secant equation (Dennis & Moré 1977) along s alone, and upwards alone: noise in y makes no step longer. Updates that fit all of y, and lower M (BFGS), lost two to ten times as much of the
    gain on tables with a long tail.
    """
    along = bend @ step
    before = max(float(step @ along), 1e-300)
    return bend + max(float(change @ step) / before - 1.0, 0.0) / before * np.outer(along, along)
