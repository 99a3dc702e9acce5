"""Levels, and missing values, of which the released means show no record: what noise made of their coefficients is held near the average.

A level, or the indicator of a missing number, is a 0/1 column, whose released mean is its share r. The records say next to nothing of one that they
never show, and how far away a solver has walked says what a prediction for it is. So a column whose share is below `SEEN` deviations of its noise is held
within a usual deviation of predictions, of levels within `FAR`, times as many deviations of noise as it shows where they are more than one, from 0, in
a block of levels from their average effect `Σ r_k θ_k`, over Σ r_k where all levels have a column. Post-processing of the release.

Of levels the difference is shrunk, besides, by the chance that such a level occurs at all: a share that shows less than `SEEN` σ is below c = 2 `SEEN` σ, once
in 44 not, and where the K shares that are seen, of m to M, have the power law `P(r < s) = (s/M)^α`, `α = (K − 1) / Σ log(M/r_k)` (Hill 1975), a level rarer
than m is rarer than c with chance `(c/m)^α`. With less noise it falls to 0, but where shares are unlike, or one is seen alone, rare levels are no surprise.

And effects of levels are of one kind (random effects, Robinson 1991): with s² = Σ e_k²/(K − 1) of the K ≥ 2 that are seen, e_k from the average, the next one is within
`t s (1 + 1/K)^½`, t Student's quantile of K − 1 degrees of freedom that is as sure as `SEEN` deviations of a normal law. Nor does noise take one further than that.
"""

import math
from dataclasses import replace

import numpy as np
from scipy.special import ndtr, stdtrit

from hullabaloo.data import Encoding
from hullabaloo.data.layout import Layout
from hullabaloo.geometry import NoPenalty, SquaredL2Penalty
from hullabaloo.losses import Loss, Poisson
from hullabaloo.privacy import Neighbours
from hullabaloo.privacy.answers import Array, NoisyScore
from hullabaloo.release.rare_levels import alike
from hullabaloo.solvers.base import Marginals, Plan, Problem, Solution
from hullabaloo.solvers.gradient.measured_gradient import USUAL_LINK
from hullabaloo.solvers.gradient.schedule import is_residual

SEEN, ALL, FAR = 2.0, 4.0, 3.0
"""Deviations of its noise from which a share is taken to be that of some record (one that is never seen: once in 44 fits), and within which shares may be those
of all (of levels that all records have: once in 30 000 fits, as what the others would be predicted is determined by nothing); and how many usual deviations a level may have of which nothing is seen: real levels of few records have effects, too."""


def held_near(encoding: Encoding, problem: Problem, plan: Plan, solution: Solution) -> Solution:
    """The solution with unseen patterns near the average, and rare ones near what levels alike make likely; as it is where no means are released, or a set or a penalty with corners holds it."""
    told, layout = solution.marginals, encoding.layout
    if told is None and solution.scores and problem.intercept:
        means = np.column_stack([one.centre for one in solution.scores])
        usual = np.array([_usual(one, problem) for one in solution.scores])
        told = Marginals(means, float(plan.settings["mean_noise"]) / solution.mean_weight, usual)
    held = problem.constraint is not None or not isinstance(problem.penalty, NoPenalty | SquaredL2Penalty)
    if layout is None or told is None or held:
        return solution
    theta = solution.theta.copy()
    once = problem.max_weight == 1.0 and problem.neighbours is Neighbours.REPLACE_ONE
    free = isinstance(problem.penalty, NoPenalty)
    for k in range(theta.shape[1]):
        if free and not problem.before:
            theta[:, k] = alike(encoding, problem, plan, solution, k, told.noise)
        length, noise = float(np.linalg.norm(told.means[:, k])), told.noise
        whole = 0.5 * (length + math.sqrt(length**2 + 4.0 * len(told.means) * noise**2))  # before it was shrunk
        shares = told.means[:, k] * (whole / length if length > 0.0 else 0.0)
        _hold(layout, theta[:, k], shares, noise, float(told.spread[k]), isinstance(problem.loss, Poisson), once, free)
    return replace(solution, theta=theta)


def _usual(found: NoisyScore, problem: Problem) -> float:
    """The spread by the residual's variance and the predictions', as spread and curvature have them, where the loss has residuals."""
    if not isinstance(problem.loss, Loss) or not is_residual(problem.loss):
        return USUAL_LINK
    slopes, curvature = np.linalg.solve(found.matrix, found.point)[:-1], max(float(np.trace(found.curvature)), 1e-300)
    explained = float(slopes @ found.curvature[:-1, :-1] @ slopes)
    return min(math.sqrt(max(float(np.trace(found.spread)) / curvature + explained, 0.0)), 1.0)


def _hold(
    layout: Layout, theta: Array, shares: Array, noise: float, farthest: float, counts: bool, once: bool, free: bool
) -> None:
    """θ (p,) of one target, in place; a count that is expected to be nearly 0 is not raised, which could blow up a total.

    Where records count `once` each, the slope of a number that is missing in all of them is held, too, and the intercept takes what its indicator has beyond.
    Where every level has a column and no record is seen without one, the intercept is determined by nothing: unless a penalty says what it is (`free`), it takes the
    average, and levels what they differ from it by, so that an undeclared level is predicted as the average. Of a missing value what stays of a share r is
    (1 − (noise/r)²)₊, the variance of r that is not noise's (James and Stein 1961).
    """

    def hold(columns: list[int], reach: float, average: float = 0.0, occurs: float | None = None) -> None:
        shown = np.maximum(shares[columns] / max(noise, 1e-300), 1.0)
        real = 1.0 if counts else 1.0 - shown**-2.0 if occurs is None else occurs
        moved = np.clip(theta[columns] - average, -math.inf if counts else -reach * shown, reach * shown)
        # A step that knows no blocks sets what it cannot tell to 0: no effect is none from the average.
        near = average + real * moved * (counts | (theta[columns] != 0.0))
        theta[columns] = np.where(shares[columns] < SEEN * noise, near, theta[columns])

    for block in layout.onehot:
        columns = list(block.columns)
        likely = np.maximum(shares[columns], 0.0)
        least = 1.0 if len(columns) < len(block.all_levels) else 1e-300  # a record without a column is one of effect 0
        average = float(likely @ theta[columns]) / max(float(likely.sum()), least)
        told = shares[columns] >= max(SEEN * noise, 1e-300)
        seen, occurs, reach = shares[columns][told], 1.0, FAR * farthest
        if len(seen) > 1:
            above = len(seen) - 1
            spread = math.sqrt(float(np.sum((theta[columns][told] - average) ** 2)) * (1.0 + 1.0 / len(seen)) / above)
            reach = min(reach, float(stdtrit(above, ndtr(SEEN))) * spread)
            power = above / max(float(np.log(seen.max() / seen).sum()), 1e-9)
            occurs = min(2.0 * SEEN * noise / float(seen.min()), 1.0) ** power
        hold(columns, reach, average, occurs)
        unknown = [block.missing] * (block.missing >= 0)
        hold(unknown, farthest, average)
        rest = 1.0 - float(shares[columns + unknown].sum())
        if once and free and least < 1.0 and rest < ALL * noise * math.sqrt(len(columns + unknown)):
            theta[columns + unknown] -= average
            theta[-1] += average
    for number in layout.numeric:
        hold([number.indicator] * (number.indicator >= 0), farthest)
        if once and number.indicator >= 0 and shares[number.indicator] > 1.0 - ALL * noise:
            for column, beyond in ((number.column, 0.0), (number.indicator, 1.0)):
                near = min(max(theta[column], -farthest), farthest)
                theta[-1] += beyond * (theta[column] - near)
                theta[column] = near
