"""Preconditioned gradient: noisy gradients of records that a private covariance has made round.

Bought before the steps, for a fifth of the budget: the columns' means, how long centred records are, and their covariance,
each record shortened to that length. Records are then seen through `A = V(Λ + λI)^{-1/2}`, in which the covariance is the identity down to
the floor λ of its noise. Steps, travel, budget split: `course.py`. After a sixth of the steps the lengths of gradients are measured and
cut at a quantile. Sets and penalties are met at every step, in the metric of the preconditioner.
"""

import math
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from hullabaloo.errors import CapabilityError
from hullabaloo.losses import Loss
from hullabaloo.privacy import Allowance
from hullabaloo.solvers.base import Answers, Plan, PricedQuery, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.gradient.course import (
    BINS,
    CAREFUL,
    OPENING,
    TYPICAL,
    Course,
    course,
    residuals,
    split,
)
from hullabaloo.solvers.gradient.histogram import edges, gradient_quantile, quantile
from hullabaloo.solvers.gradient.survey import Survey, boldness, centred, check_adaptive
from hullabaloo.solvers.gradient.whitening import Walk, Whitening
from hullabaloo.solvers.reference import Reference

Array = npt.NDArray[np.float64]

BURN = 0.3
"""Share of the second walk that is not averaged."""
DOUBT, EAGER = 0.5, 4.0
"""Evidence of a signal begins so many standard deviations above the mean of pure noise; a quarter of it is enough."""
UNSTEADY, UNSTEADY_MIDDLE = 2.0, 5.0
"""How many times the noise of steps alone the slopes and the intercept vary: centres, lengths and cuts are noisy too."""
KEPT = 64
"""Columns up to which the release holds the covariance itself: a bootstrap draws synthetic records by it."""
WIDEST, LARGEST = 2_000, 500_000_000
"""Columns up to which the covariance is formed, and cells up to which records are kept as the covariance shows them: 4 GB."""


@final
@dataclass(frozen=True, slots=True)
class PreconditionedGradientSolver(Solver):
    """One model by noisy gradient steps in coordinates in which the records' covariance is the identity.

    **Guarantee.** The plan buys one answer of means, one covariance, two histograms and T steps, Gaussian releases whose μ² add
    up to the allowance's: `μ`-GDP for every adaptive sequence of centres, lengths, matrices and points (Dong, Roth, Su 2022),
    each of which is a function of public facts and earlier answers.
    """

    name: ClassVar[str] = "preconditioned_gradient"

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        """Means, two histograms, a covariance, T steps.

        Raises:
            CapabilityError: no noise is asked for, several targets, no features or too many, or a set without a projection.
        """
        loss = self._check(problem, allowance)
        path = course(problem, prices, allowance.mu)
        to_means, to_lengths, to_spread, to_steps = split(problem, allowance.mu)
        queries: list[PricedQuery] = [prices.price("means", mu=to_means)] if centred(problem) else []
        queries.append(prices.price("norm_histogram", loss=loss, bins=BINS, mu=to_lengths, count=2))
        queries.append(prices.price("covariance", mu=to_spread))
        queries.append(
            prices.price("centred_gradient", loss=loss, mu=to_steps / math.sqrt(path.steps), count=path.steps)
        )
        reason = f"a noisy covariance, and {path.steps} noisy gradients of records that it has made round"
        return Plan(self.name, tuple(queries), MappingProxyType(path.to_dict()), reason)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """Measure, turn, walk, measure, walk."""
        path = Course(**plan.settings)
        view = _survey(problem, path, curator)
        records = curator.projected(view.matrix)
        path, level = _opened(problem, path, view, records)
        walk = Walk(problem, path, view, records)
        early, travel = OPENING * path.travel / path.smoothness, path.travel / path.curvature
        natural = path.slope * view.length
        last, mean, gradient = walk.go(walk.start(level), path.first, 0.5 * natural, early, 0.5)
        grid = edges(path.longest * natural, BINS - 1)
        shares = records.answer(
            "norm_histogram", mean, centre=view.nowhere, intercept_weight=view.intercept_weight, edges=grid
        )
        read = gradient_quantile if residuals(problem) else quantile
        cut = read(shares, grid, path.share_noise, above=path.cut, likely=0.25 * natural)
        cut = max(cut, path.least * natural)
        variance = (path.noise * 0.5 * natural) ** 2 * path.steps / path.first
        share = boldness(gradient[: view.gain.size], variance, doubt=DOUBT, careful=CAREFUL, eager=EAGER)
        _, mean, _ = walk.go(last, path.second, cut, share * travel, BURN)
        if path.level:
            mean = walk.levelled(mean)
        trace: dict[str, Any] = {
            "columns above the floor": float(view.gain.sum()),
            "gradients cut at": cut,
            "boldness": share,
        }
        if view.gain.size <= KEPT:
            trace |= {"centre": view.centre.tolist(), "covariance": view.covariance.tolist()}
        return Solution(walk.coefficients(mean)[:, None], trace=(trace,))

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """Excess risk on the reference table: what travel leaves out, and noise."""
        path, reference = Course(**plan.settings), Reference.of(problem)
        values = reference.eigenvalues
        gain, noise, middle = _expected(problem, path, values)
        left = np.exp(-path.travel * gain) * reference.coefficient
        gathered = noise * np.minimum(path.travel, 1.0 / np.maximum(gain, 1e-300)) / path.curvature
        slopes = float(values @ left**2 + gain @ gathered**2)
        return 0.5 * path.smoothness * (slopes + problem.intercept * middle**2)

    def predicted_noise(self, problem: Problem, plan: Plan, gram: Array) -> Array:
        """Standard deviation of the noise in θ, by eigendirections of `gram`, times what private views add to it (measured)."""
        path = Course(**plan.settings)
        slopes = problem.dimension - problem.intercept
        values, vectors = np.linalg.eigh(gram[:slopes, :slopes])
        values = np.maximum(values, 0.0)
        gain, noise, middle = _expected(problem, path, values / path.bound**2)
        floor = path.floor(path.around * TYPICAL * path.bound, slopes)
        deviation = noise * np.minimum(path.travel, 1.0 / np.maximum(gain, 1e-300)) / path.curvature
        spread = UNSTEADY * np.sqrt(vectors**2 @ (deviation**2 / (values + floor)))
        return np.asarray(np.append(spread, [UNSTEADY_MIDDLE * middle] * problem.intercept), dtype=np.float64)

    def _check(self, problem: Problem, allowance: Allowance) -> Loss:
        loss = check_adaptive(problem, allowance, "preconditioned gradient")
        slopes = problem.dimension - problem.intercept
        if not 1 <= slopes <= WIDEST:
            raise CapabilityError(
                f"The preconditioned gradient releases the covariance of the features, between 1 and {WIDEST:,} of them, but "
                f"{slopes:,} are encoded. Use solver='adaptive_gradient', which needs none."
            )
        if problem.records * problem.dimension > LARGEST:
            raise CapabilityError(
                f"The preconditioned gradient keeps a dense copy of the encoded table, of at most {LARGEST:,} cells, but "
                f"{problem.records:,} records of {problem.dimension:,} columns are declared. Use solver='adaptive_gradient', which "
                "keeps none."
            )
        return loss


def _survey(problem: Problem, path: Course, curator: Answers) -> Whitening:
    """Buy means, the lengths of centred records, and their covariance."""
    seen = Survey.bought(
        problem,
        curator,
        bins=BINS,
        bound=path.bound,
        likely=TYPICAL * path.bound,
        mean_noise=path.mean_noise,
        share_noise=path.share_noise,
    )
    slopes = problem.dimension - problem.intercept
    centre, clip_norm = seen.centre[:slopes], path.around * seen.typical
    covariance = curator.answer("covariance", centre=centre, clip_norm=clip_norm)
    return Whitening.of(covariance, centre, path.floor(clip_norm, slopes), intercept=problem.intercept)


def _opened(problem: Problem, path: Course, view: Whitening, records: Answers) -> tuple[Course, float]:
    """The intercept to start from. For counts, `e^b E[e^o] − E[y]` at two b gives both means, hence b and the curvature E[y].

    At the upper b, minus the bound of |o|, no expected count exceeds 1, as no count does.
    """
    if not path.opening:
        return path, 0.0
    low, high = problem.loss.intercept_bounds
    intercept_weight = 20.0 * view.length
    noise = path.noise * math.sqrt(path.steps)
    slopes = []
    for at in (low, -problem.offset_bound):
        point = np.append(np.zeros(problem.dimension - 1), at)
        slopes.append(
            float(
                records.answer(
                    "centred_gradient",
                    point,
                    centre=view.nowhere,
                    intercept_weight=intercept_weight,
                    clip_norm=1.01 * intercept_weight,
                )[-1]
            )
        )
    rate = max(-slopes[0], noise)
    exposure = max(slopes[1] + rate, noise)
    level = min(max(math.log(rate / exposure) - problem.offset_bound, low), high)
    bend = min(path.smoothness, 3.0 * rate)
    return replace(path, smoothness=bend, curvature=bend), level


def _expected(problem: Problem, path: Course, values: Array) -> tuple[Array, float, float]:
    """g, the noise of one coordinate of the mean gradient of u, and that of the intercept; rows of norm ≤ 1, lengths as usual."""
    floor = path.floor(path.around * TYPICAL, values.size)
    gain = values / (values + floor)
    length = math.sqrt(max(float(gain.sum()), 1.0))
    intercept_weight = length * values.size**-0.25 if problem.intercept else 1.0
    noise = path.noise * 0.5 * path.slope * math.hypot(length, intercept_weight if problem.intercept else 0.0)
    return gain, noise, noise / intercept_weight / path.curvature
