"""Adaptive gradient: noisy gradients of centred records, cut at a private quantile of their lengths, with momentum.

Three things are bought beside the steps, for a tenth of the budget: the columns' means, how long centred records are, and
how long their gradients are, for residuals both before the slopes' first step (with the intercept settled) and after a first walk.
Noise is proportional to the longest gradient that is let through: records far from zero but near each other, and residuals far
below their declared range, need not pay for what they might have been. Steps, travel and T follow `route.py`. The last steps are
for the intercept alone, as cut gradients of a skewed target leave its median: they cut next to nothing where noise is low, and
residuals far beyond the usual ones where it is not.
"""

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, final

import numpy as np
import numpy.typing as npt

from hullabaloo.losses import Loss
from hullabaloo.privacy import Allowance
from hullabaloo.solvers.base import Answers, Plan, PricedQuery, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.gradient.histogram import edges, gradient_quantile, quantile
from hullabaloo.solvers.gradient.route import BINS, TYPICAL, Route, looks, route, split, symmetric
from hullabaloo.solvers.gradient.survey import Survey, boldness, centred, check_adaptive, held
from hullabaloo.solvers.loop import proximal
from hullabaloo.solvers.options import YES_OR_NO, check_options
from hullabaloo.solvers.reference import Reference

Array = npt.NDArray[np.float64]

SETTLE = 10.0
"""How many times its own memory the intercept's walk lasts."""
BURN = 0.4
"""Share of the second walk that is not averaged."""
DOUBT, DOUBT_SKEWED = 0.0, 0.5
"""Standard deviations above the mean of pure noise from which the first walk's gradient is evidence of a signal."""
CAREFUL, CAREFUL_SKEWED = 0.5, 0.3
"""Share of the full travel that is walked without evidence."""
EAGER, EAGER_SKEWED = 12.0, 4.0
"""The full travel is walked where at least one part in so many of the squared gradient is evidence."""
UNSTEADY, UNSTEADY_MIDDLE = 2.0, 5.0
"""How many times the noise of steps alone the slopes and the intercept vary: centres and cuts are noisy too."""
LEAD, TRAVEL_FIRST = 0.4, 0.5
"""Travel of the first walk: share of the second's reach, and, where its gradients are not measured before, times λ."""
BURN_FIRST = 0.3
LIKELY, LIKELY_SKEWED = 0.2, 0.25
"""Length of a usual gradient before it is measured, in units."""
QUIET_ENOUGH, LEAST_CLIP = 0.1, 1.5
"""The last intercept's noise over the residual, and the least clip over it."""


@final
@dataclass(frozen=True, slots=True)
class AdaptiveGradientSolver(Solver):
    """One model by noisy gradient steps that measure, privately, what they clip.

    **Guarantee.** The plan buys one answer of means, two or three histograms and T steps, Gaussian releases whose μ² add up to the
    allowance's: `μ`-GDP for every adaptive sequence of points, centres and lengths (Dong, Roth, Su 2022), each of which is a
    function of public facts and earlier answers.

    Attributes:
        uneven: whether records may be 0 nearly everywhere in a few columns: their typical length is then the root mean square.
    """

    uneven: bool = False

    name: ClassVar[str] = "adaptive_gradient"

    def __post_init__(self) -> None:
        check_options(self, uneven=YES_OR_NO)

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        """Means, two or three histograms, T steps.

        Raises:
            CapabilityError: no noise is asked for, several targets, or a set without a projection.
        """
        loss = check_adaptive(problem, allowance, "adaptive gradient")
        path = route(problem, prices, allowance.mu)
        to_means, to_lengths, to_steps = split(allowance.mu, looks(loss))
        queries: list[PricedQuery] = [prices.price("means", mu=to_means)] if centred(problem) else []
        queries.append(prices.price("norm_histogram", loss=loss, bins=BINS, mu=to_lengths, count=looks(loss)))
        queries.append(
            prices.price("centred_gradient", loss=loss, mu=to_steps / math.sqrt(path.steps), count=path.steps)
        )
        reason = (
            f"{path.steps} noisy gradients of {'centred ' * centred(problem)}records, cut at {path.cut:.0%} of them"
        )
        return Plan(self.name, tuple(queries), MappingProxyType(path.to_dict()), reason)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """Measure, walk, measure, walk."""
        path = Route(**plan.settings)
        view = _View.measured(problem, path, curator, self.uneven)
        walk = _Walk(problem, path, view, curator)
        theta = np.zeros(problem.dimension) if problem.feasible is None else problem.feasible.start(problem.dimension)
        if path.opening:
            theta = walk.levelled(theta, path.opening, path.slope)
        usual = walk.usual
        clip_norm = walk.measured(theta, LIKELY) if usual else 0.5 * walk.unit
        ridge = path.ridge(view.typical, clip_norm)
        travel = LEAD * path.reach / ridge if usual else min(TRAVEL_FIRST / ridge, walk.linear)
        last, mean, gradient = walk.go(theta, path.first, clip_norm, travel, BURN_FIRST)
        boldness = walk.boldness(gradient, clip_norm)
        cut = walk.measured(mean, clip_norm / walk.unit if usual else LIKELY_SKEWED)
        travel = boldness * path.reach / path.ridge(view.typical, cut)
        _, theta, _ = walk.go(last, path.second, cut, travel, BURN)
        if path.level:
            theta = walk.levelled(theta, path.level, walk.clip(cut) if usual else path.slope)
        trace = {"typical length": view.typical, "gradients cut at": cut, "boldness": boldness, "travel": travel}
        return Solution(theta[:, None], trace=(trace,))

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """Excess risk on the reference table: what travel leaves out, and noise."""
        path, reference = Route(**plan.settings), Reference.of(problem)
        values = path.smoothness * reference.eigenvalues
        ridge, noise = _expected(problem, path)
        travel = path.reach / ridge
        missed = (reference.coefficient * np.exp(-travel * values)) ** 2
        gathered = (noise / path.bound * np.minimum(travel, 1.0 / np.maximum(values, 1e-300))) ** 2
        return 0.5 * (float(values @ (missed + gathered)) + path.smoothness * _middle(problem, path) ** 2)

    def predicted_noise(self, problem: Problem, plan: Plan, gram: Array) -> Array:
        """Standard deviation of the noise in θ, by eigendirections of `gram`, times what private cuts add to it (measured)."""
        path = Route(**plan.settings)
        ridge, noise = _expected(problem, path)
        slopes = problem.dimension - problem.intercept
        values, vectors = np.linalg.eigh(gram[:slopes, :slopes])
        travel = path.reach / (ridge * path.bound**2)
        deviation = noise * np.minimum(travel, 1.0 / np.maximum(path.smoothness * values, 1e-300))
        spread = UNSTEADY * np.sqrt(vectors**2 @ deviation**2)
        middle = UNSTEADY_MIDDLE * _middle(problem, path)
        return np.asarray(np.append(spread, [middle] * problem.intercept), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """Where records are seen from, and how long they then are."""

    centre: Array
    intercept_weight: float
    typical: float

    @classmethod
    def measured(cls, problem: Problem, path: Route, curator: Answers, uneven: bool) -> "_View":
        """Buy means and the first histogram."""
        likely = TYPICAL * path.bound
        seen = Survey.bought(
            problem,
            curator,
            bins=BINS,
            bound=path.bound,
            likely=likely,
            uneven=uneven,
            mean_noise=path.mean_noise,
            share_noise=path.share_noise,
        )
        slopes = problem.dimension - problem.intercept
        intercept_weight = seen.typical * max(slopes, 1) ** -0.25 if centred(problem) else 1.0
        return cls(seen.centre, intercept_weight, seen.typical)


@dataclass(frozen=True, slots=True, eq=False)
class _Walk:
    """Heavy-ball steps on the centred records; the result is in the usual coefficients."""

    problem: Problem
    path: Route
    view: _View
    curator: Answers

    @property
    def usual(self) -> bool:
        """Whether φ' is that of a residual."""
        return isinstance(self.problem.loss, Loss) and symmetric(self.problem.loss)

    @property
    def unit(self) -> float:
        """The length of a gradient whose derivative is of natural size."""
        return self.path.slope * math.hypot(
            self.view.typical, self.view.intercept_weight if self.problem.intercept else 0.0
        )

    def measured(self, theta: Array, likely: float) -> float:
        """The private quantile of gradients' lengths at θ, which are `likely` units beforehand."""
        path, unit = self.path, self.unit
        grid = edges((1.0 if self.usual else 2.0) * unit, BINS - 1)
        shares = self.curator.answer(
            "norm_histogram", theta, centre=self.view.centre, intercept_weight=self.view.intercept_weight, edges=grid
        )
        read = gradient_quantile if self.usual else quantile
        return max(read(shares, grid, path.share_noise, above=path.cut, likely=likely * unit), path.least * unit)

    def clip(self, cut: float) -> float:
        """Bound of |φ'| where the intercept is fitted last: residuals that noise drowns all the same are not worth it."""
        path = self.path
        usual = cut / self.unit * path.slope
        noise = path.noise * math.sqrt(path.steps / path.level)
        return min(path.slope, max(QUIET_ENOUGH * usual / noise, LEAST_CLIP * usual))

    @property
    def linear(self) -> float:
        """How far one may travel while the slopes still grow in proportion: 1 over the largest curvature."""
        return 1.0 / (self.path.smoothness * self.view.typical**2)

    def boldness(self, gradient: Array, clip_norm: float) -> float:
        """How much of the full travel the first walk's mean gradient speaks for."""
        slopes = gradient[: self.problem.dimension - self.problem.intercept]
        variance = (self.path.noise * clip_norm) ** 2 * self.path.steps / self.path.first
        if self.usual:
            return boldness(slopes, variance, doubt=DOUBT, careful=CAREFUL, eager=EAGER)
        return boldness(slopes, variance, doubt=DOUBT_SKEWED, careful=CAREFUL_SKEWED, eager=EAGER_SKEWED)

    def go(self, start: Array, steps: int, clip_norm: float, travel: float, burn: float) -> tuple[Array, Array, Array]:
        """The last iterate, the mean of all but the first share `burn`, and the mean gradient."""
        problem, path, view = self.problem, self.path, self.view
        largest = 1.0 / (path.smoothness * view.typical**2 * path.room)
        memory = min(max(1.0 - largest * steps / travel, 0.0), 1.0 - 1.0 / (1.0 + steps / 8.0))
        step = min(largest, travel * (1.0 - memory) / steps)
        middle = min(1.0 / (path.smoothness * path.room), SETTLE * (1.0 - memory) / (steps * path.smoothness))
        slopes = problem.dimension - problem.intercept
        theta, speed, total = start.copy(), np.zeros_like(start), np.zeros_like(start)
        first, gradient = int(steps * burn), np.zeros_like(start)
        for t in range(steps):
            g = self.curator.answer(
                "centred_gradient",
                theta,
                centre=view.centre,
                intercept_weight=view.intercept_weight,
                clip_norm=clip_norm,
            )
            gradient += g / steps
            before = theta[:slopes]
            speed[:slopes] = memory * speed[:slopes] - step * g[:slopes]
            after = proximal(problem, before + speed[:slopes], step) if slopes else before
            speed[:slopes] = after - before
            new = after
            if problem.intercept:
                low, high = problem.loss.intercept_bounds
                level = theta[-1] + float(view.centre[:slopes] @ before)  # the prediction at the centre
                speed[-1] = memory * speed[-1] - middle * g[-1]
                moved = min(max(level + speed[-1], low), high)
                new = np.append(after, moved - float(view.centre[:slopes] @ after))
            theta = new
            if t >= first:
                total += theta
        return theta, held(self.problem, total / (steps - first), view.centre), gradient

    def levelled(self, theta: Array, steps: int, clip: float) -> Array:
        """The intercept alone, by steps that cut derivatives at `clip`: a skewed target's mean is not its median."""
        problem, path, view = self.problem, self.path, self.view
        intercept_weight = 20.0 * view.typical
        clip_norm, (low, high) = clip * intercept_weight * 1.01, problem.loss.intercept_bounds
        step, theta, total, speed = 0.5 / path.smoothness, theta.copy(), 0.0, 0.0
        middle = float(view.centre @ theta)  # the prediction at the centre, but for the intercept theta[-1]
        for t in range(steps):
            g = self.curator.answer(
                "centred_gradient", theta, centre=view.centre, intercept_weight=intercept_weight, clip_norm=clip_norm
            )
            speed = 0.5 * speed - step * float(g[-1])
            theta[-1] = min(max(theta[-1] + speed, low - middle), high - middle)
            total += float(theta[-1]) if t >= steps // 3 else 0.0
        theta[-1] = total / (steps - steps // 3)
        return held(problem, theta, view.centre)


def _expected(problem: Problem, path: Route) -> tuple[float, float]:
    """λ and the noise of one coordinate of the mean gradient for rows of norm ≤ 1, lengths as usual."""
    clip_norm = 0.35 * path.slope * TYPICAL
    return path.ridge(TYPICAL, clip_norm), path.noise * clip_norm * path.bound


def _middle(problem: Problem, path: Route) -> float:
    """Noise of the intercept."""
    if not problem.intercept:
        return 0.0
    return path.noise * 0.35 * path.slope * math.sqrt(math.sqrt(max(problem.dimension - 1, 1))) / path.smoothness
