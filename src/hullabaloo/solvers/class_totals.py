"""Classes learned each against the rest, whose chances are brought to sum 1: one shift of each class's log-odds, after the fit, by which the chances add up to the records.

Each class's own chances add up to its records, but brought to sum 1 they do not: of a class of 15 % of `shuttle` to 0.83 of them. One answer tells by how much, `g = Σ (q − y)`, and how far
shifts b move the totals: by at least `J = diag(v) − vvᵀ/Σv` with `v = Σ q(1 − q)`, as `diag(v_i) − v_i v_iᵀ/Σv_i` of the records is no larger (`vvᵀ/Σv` is jointly convex). So a Newton step with J
does not overshoot, and of nine tables without noise it leaves a tenth of what totals were off in the median, a third at most; log-loss falls on all by up to 4 %. Shifts are taken as normal, of one deviation τ,
that of the largest likelihood of g (empirical Bayes; Efron & Morris 1973), so that what noise may have made moves nothing: `b = −J(J² + (σ/τ)²)^{-1}g`. Post-processing, of public numbers and a private answer.
"""

import math
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from hullabaloo.errors import CalibrationError
from hullabaloo.losses import Logistic
from hullabaloo.losses.readings import Reading, Reads
from hullabaloo.losses.scores import ClassTotals
from hullabaloo.privacy import Allowance, Calibration
from hullabaloo.solvers.base import Array, Problem, QueryPrices, Solution

SHARE = 0.04
"""Of the budget (of μ²). Chosen on `shuttle` and `connect4`."""
SPREADS = np.geomspace(1e-3, 4.0, 40)
"""Deviations of shifts, of which one is taken."""


def bought(problem: Problem, prices: QueryPrices, allowance: Allowance) -> tuple[Any, Allowance]:
    """The one answer, None where it is of no use or noise is not Gaussian, and what it leaves to the fit."""
    left, printed = allowance.scaled(math.sqrt(1.0 - SHARE)), allowance.calibration is Calibration.PAPER
    apart = isinstance(problem.loss, Logistic) and problem.targets > 2 and problem.intercept
    if apart and allowance.is_private and not printed:
        with suppress(CalibrationError):
            mu = math.sqrt(allowance.mu**2 - left.mu**2) * (1.0 - 1e-9)
            about: Any = {"reading": Reading(Reads.OVR, classes=problem.targets), "mu": mu}
            return prices.price("score", tallies=(ClassTotals(problem.targets),), **about), left
    return None, allowance


def shifted(problem: Problem, solution: Solution, answer: Array, sigma: float) -> Solution:
    """The same slopes with shifted intercepts, from the answer at them, whose noise is sigma; what totals are still off by, and what the shifts moved them by, stand in the trace."""
    k, noise, theta = problem.targets, 2.0 * sigma, solution.theta.copy()
    off, bent = 2.0 * (answer[:k] - answer[:k].mean()), np.maximum(2.0 / math.sqrt(3.0) * answer[k:], 0.0)
    curvature = np.diag(bent) - np.outer(bent, bent) / max(float(bent.sum()), 1e-300)
    values, ways = np.linalg.eigh(curvature)
    along, moves = ways.T @ off, SPREADS[:, None] * values
    variance = noise**2 + moves**2
    likeliest = np.argmin(np.sum(np.log(variance) + along**2 / variance, axis=1))
    theta[-1] -= ways @ (SPREADS[likeliest] * moves[likeliest] / variance[likeliest] * along)
    if problem.constraint is not None:
        theta[-1] = np.clip(theta[-1], *problem.loss.intercept_bounds)
    moved = curvature @ (theta[-1] - solution.theta[-1])
    line = {"totals off": (off + moved).tolist(), "totals moved": moved.tolist(), "totals noise": noise}
    return replace(solution, theta=theta, trace=(*solution.trace, line))
