"""Levels, and missing values, of which the released means show no record: what noise made of their coefficients is held near the average.

An encoded block of 0/1 columns, the levels of a category or the indicator of a missing number, and "none of them" are patterns, of which a record has
one; the columns' released means are their shares r. The records say next to nothing of a pattern that they never show, and how far away a solver has walked
says what a prediction for it is. So a pattern whose share is below `SEEN` deviations of its noise is held within a usual deviation of predictions, times
those deviations where they are more than one, from the average effect `Σ r_k θ_k / Σ r_k` of the patterns that are seen, "none" having the effect 0.
Where "none" is not seen it is held likewise: what is beyond goes from the effects to the intercept. Predictions of records whose patterns are seen stay as they are. Post-processing of the release.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hullabaloo.data.layout import Layout
from hullabaloo.geometry import NoPenalty, SquaredL2Penalty
from hullabaloo.losses import Loss, Poisson
from hullabaloo.privacy.answers import NoisyScore
from hullabaloo.solvers.base import Marginals, Plan, Problem, Solution
from hullabaloo.solvers.gradient.measured_gradient import USUAL_LINK
from hullabaloo.solvers.gradient.schedule import is_residual

Array = npt.NDArray[np.float64]

SEEN = 3.0
"""Deviations of its noise from which a share is taken to be that of some record: of a pattern that is never seen it is taken to be so once in 740 fits."""


def held_near(layout: Layout | None, problem: Problem, plan: Plan, solution: Solution) -> Solution:
    """The solution with unseen patterns near the average; as it is where no means are released, or a set or a penalty with corners holds it."""
    told = solution.marginals
    if told is None and solution.score is not None and problem.intercept:
        told = _of_score(solution.score, float(plan.settings["mean_noise"]), problem)
    held = problem.constraint is not None or not isinstance(problem.penalty, NoPenalty | SquaredL2Penalty)
    if layout is None or told is None or held:
        return solution
    theta = solution.theta.copy()
    for k in range(theta.shape[1]):
        length, noise = float(np.linalg.norm(told.means[:, k])), told.noise
        whole = 0.5 * (length + math.sqrt(length**2 + 4.0 * len(told.means) * noise**2))  # before it was shrunk
        shares = told.means[:, k] * (whole / length if length > 0.0 else 0.0)
        _hold(layout, theta[:, k], shares, noise, float(told.spread[k]), isinstance(problem.loss, Poisson))
    return replace(solution, theta=theta)


def _of_score(found: NoisyScore, noise: float, problem: Problem) -> Marginals:
    """By the residual's variance and the predictions', as spread and curvature have them, where the loss has residuals."""
    usual, curvature = USUAL_LINK, max(float(np.trace(found.curvature)), 1e-300)
    if isinstance(problem.loss, Loss) and is_residual(problem.loss):
        slopes = np.linalg.solve(found.matrix, found.point)[:-1]
        explained = float(slopes @ found.curvature[:-1, :-1] @ slopes)
        usual = min(math.sqrt(max(float(np.trace(found.spread)) / curvature + explained, 0.0)), 1.0)
    return Marginals(found.centre[:, None], noise, np.array([usual]))


def _blocks(layout: Layout) -> Iterator[tuple[list[int], int]]:
    """Columns of which at most one is 1, and the column of values that are known where none is, or −1."""
    for one in layout.onehot:
        yield list(one.places), -1
    for number in layout.numeric:
        if number.indicator >= 0:
            yield [number.indicator], number.column


def _hold(layout: Layout, theta: Array, shares: Array, noise: float, farthest: float, counts: bool) -> None:
    """θ (p,) of one target, in place; a count that is expected to be nearly 0 is not raised, which could blow up a total."""
    unseen = np.zeros(len(shares), dtype=bool)
    for columns, value in _blocks(layout):
        share, none = shares[columns], 1.0 - float(shares[columns].sum())
        seen, present = share > SEEN * noise, none > SEEN * noise * math.sqrt(len(columns))
        total = float(share[seen].sum()) + none * present
        average = float(share[seen] @ theta[columns][seen]) / total if total > 0.0 else 0.0
        deviations = (
            np.append(share, none / math.sqrt(len(columns))) / noise if noise > 0.0 else np.ones(len(columns) + 1)
        )
        *reach, least = farthest * np.maximum(deviations, 1.0)
        near = average + np.clip(theta[columns] - average, -math.inf if counts else -np.array(reach), reach)
        shift = 0.0 if present else average - float(np.clip(average, -least, least))
        theta[columns] = np.where(seen, theta[columns], near) - shift
        theta[-1] += shift
        unseen[columns] = ~seen
        if value >= 0 and not present:
            theta[value], unseen[value] = min(max(theta[value], -farthest), farthest), True
    for product in layout.products:
        hidden = [
            column for column, pair in zip(product.columns, product.factors, strict=True) if unseen[list(pair)].any()
        ]
        theta[hidden] = np.clip(theta[hidden], -farthest, farthest)
