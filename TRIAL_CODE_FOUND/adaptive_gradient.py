"""Adaptive gradients: noisy gradients of centred records, cut at a private quantile of their lengths, then at a length that biases nothing.

Bought beside the steps: the columns' means, how long centred records are, how long their gradients are and, by the preconditioned one, the
covariance of the records, which makes them round (`coordinates.py`). Noise is proportional to the longest gradient that is let through: records far
from zero but near each other, and residuals far below their declared range, need not pay for what they might have been. Budget, steps, travel and
cuts follow `schedule.py`; sets and penalties are met at every step.

**Consistency.** Without bound on the budget the result tends to the minimiser over the set, with the penalty, whatever the records' and
the target's distribution: the second phase's clip, steps and weight are bounded by nothing but the budget (and `MOST_UNBIASED` steps). Measured in
`benchmarks/consistency.py`: the distance from the estimate without privacy, in its robust standard errors.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import NoPenalty, Projectable, require
from hullabaloo.losses import Loss
from hullabaloo.privacy import Allowance
from hullabaloo.solvers.base import Answers, Menu, Plan, Problem, Solution, Solver
from hullabaloo.solvers.gradient.coordinates import Coordinates
from hullabaloo.solvers.gradient.location_scale import (
    BINS,
    FINE,
    PrivateLocationScale,
    edges,
    gradient_quantile,
    largest_eigenvalue,
    quantile,
    unbiased_clip,
)
from hullabaloo.solvers.gradient.schedule import (
    LONGEST,
    SETTLING,
    TYPICAL,
    GradientSchedule,
    counts,
    gradient_schedule,
    measurements,
    residuals,
)
from hullabaloo.solvers.reference import Reference

Array = npt.NDArray[np.float64]

BURN_FIRST, BURN, BURN_LATE = 0.4, 0.35, 0.6
"""Share of the walks that is not averaged."""
EVIDENT, GARROTE = float(__import__("os").environ.get("EVIDENT", 2)), float(__import__("os").environ.get("GARROTE", 4))
DROWNED = 1.43
EVIDENCE_THRESHOLD, EVIDENCE_GAIN = 0.5, 4.0
"""Standard deviations above the mean of pure noise from which the first walk's gradient is evidence of a signal, and the share of it that is enough:
one part in so many."""
CAUTIOUS = 0.5
"""Share of the full travel that is walked without evidence."""
SHORT = 0.2
"""Travel of the first walk over that of the second."""
SETTLE = 10.0
"""How many times its own memory the intercept's walk lasts."""
WEIGHT = 20.0
"""How many usual lengths the constant column weighs while the intercept alone is fitted."""
UNSTEADY, UNSTEADY_INTERCEPT = 2.0, 5.0
"""How many times the noise of steps alone the slopes and the intercept vary: centres, lengths and cuts are noisy too."""
KEPT = 64
"""Columns up to which the release holds the covariance itself: a bootstrap draws synthetic records by it."""
WIDEST, LARGEST = 2_000, 500_000_000
"""Columns up to which the covariance is formed, and cells up to which records are kept as the covariance shows them: 4 GB."""


@dataclass(frozen=True, slots=True)
class _Adaptive(Solver):
    """Measure, walk, measure, walk; then without bias."""

    whitened: ClassVar[bool]

    def plan(self, problem: Problem, menu: Menu, allowance: Allowance) -> Plan:
        """Means, histograms, perhaps a covariance, and gradients.

        Raises:
            CapabilityError: no noise is asked for, several targets, a set without a projection, or what the class cannot do.
        """
        self._check(problem, allowance)
        schedule = gradient_schedule(problem, menu, allowance.mu, whitened=self.whitened)
        quotes = measurements(problem, menu, allowance.mu, whitened=self.whitened)
        quotes += schedule.quotes(problem, menu, allowance.mu)
        reason = f"{schedule.steps + schedule.unbiased + 1} noisy gradients of centred records{', made round by a noisy covariance' * self.whitened}"
        return Plan(self.name, tuple(quotes), MappingProxyType(schedule.to_dict()), reason)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """Both phases."""
        schedule = GradientSchedule(**plan.settings)
        view = self._measured(problem, schedule, curator)
        walk = _Walk(problem, schedule, view, *_opened(problem, schedule, view))
        point, trace = walk.short()
        point, late = walk.unbiased(point, trace["gradients cut at"])
        theta = held(problem, view.coefficients(point), view.centre)
        return Solution(theta[:, None], trace=({**trace, **late, **self._trace(view)},))

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """Excess risk on the reference table: what travel leaves out, and noise, of the first phase."""
        schedule, reference = GradientSchedule(**plan.settings), Reference.of(problem)
        values = reference.eigenvalues
        gain, noise, middle, travel = _expected(problem, schedule, values)
        left = np.exp(-travel * gain) * reference.coefficient
        gathered = noise * np.minimum(travel, 1.0 / np.maximum(gain, 1e-300)) / schedule.curvature
        slopes = float(values @ left**2 + gain @ gathered**2)
        return 0.5 * schedule.smoothness * (slopes + problem.intercept * middle**2)

    def predicted_noise(self, problem: Problem, plan: Plan, gram: Array) -> Array:
        """Standard deviation of the noise in θ, by eigendirections of `gram`, times what private views add to it (measured)."""
        schedule = GradientSchedule(**plan.settings)
        slopes = problem.dimension - problem.intercept
        values, vectors = np.linalg.eigh(gram[:slopes, :slopes])
        gain, noise, middle, travel = _expected(problem, schedule, np.maximum(values, 0.0) / schedule.bound**2)
        deviation = noise * np.minimum(travel, 1.0 / np.maximum(gain, 1e-300)) / schedule.curvature
        if self.whitened:
            floor = schedule.floor(schedule.around * TYPICAL * schedule.bound, slopes)
            deviation = deviation / np.sqrt(np.maximum(values, 0.0) + floor)
        else:
            deviation = deviation / schedule.bound
        spread = UNSTEADY * np.sqrt(vectors**2 @ deviation**2)
        return np.asarray(np.append(spread, [UNSTEADY_INTERCEPT * middle] * problem.intercept), dtype=np.float64)

    @abstractmethod
    def _measured(self, problem: Problem, schedule: GradientSchedule, curator: Answers) -> Coordinates: ...

    def _check(self, problem: Problem, allowance: Allowance) -> None:
        who = self.name.replace("_", " ")
        if not allowance.is_private:
            raise CapabilityError(
                f"Without noise the {who} has nothing to adapt to, and its steps end short of the optimum. Use "
                "solver='auto' or 'output_perturbation', which give the exact optimum, or a finite budget."
            )
        if problem.targets != 1 or not isinstance(problem.loss, Loss):
            raise CapabilityError(
                f"The {who} fits one target, but the loss {problem.loss.name!r} has {problem.targets}. Fit one "
                "target at a time, or use solver='gradient'."
            )
        if problem.constraint is not None:
            require(problem.constraint, [Projectable], f"The {who} solver")
            if not isinstance(problem.penalty, NoPenalty):
                raise CapabilityError(f"The {who} solver takes a set or a penalty, not both; keep one of them.")

    def _trace(self, view: Coordinates) -> dict[str, Any]:
        return {"typical length": view.typical}


@final
@dataclass(frozen=True, slots=True)
class AdaptiveGradientSolver(_Adaptive):
    """One model by noisy gradient steps that measure, privately, what they clip.

    **Guarantee.** The plan buys one answer of means, three histograms and T steps, Gaussian releases whose μ² add up to the
    allowance's: `μ`-GDP for every adaptive sequence of points, centres and lengths (Dong, Roth, Su 2022), each of which is a
    function of public facts and earlier answers.

    Attributes:
        uneven: whether records may be 0 nearly everywhere in a few columns: their typical length is then the root mean square.
    """

    uneven: bool = False

    name: ClassVar[str] = "adaptive_gradient"
    whitened: ClassVar[bool] = False

    def _measured(self, problem: Problem, schedule: GradientSchedule, curator: Answers) -> Coordinates:
        seen = _located(problem, schedule, curator, uneven=self.uneven)
        slopes = problem.dimension - problem.intercept
        return Coordinates.plain(curator, seen.centre[:slopes], seen.typical, intercept=problem.intercept)


@final
@dataclass(frozen=True, slots=True)
class PreconditionedGradientSolver(_Adaptive):
    """One model by noisy gradient steps in coordinates in which the records' covariance is the identity.

    **Guarantee.** The plan buys one answer of means, one covariance, three histograms and T steps, Gaussian releases whose μ² add
    up to the allowance's: `μ`-GDP for every adaptive sequence of centres, lengths, matrices and points (Dong, Roth, Su 2022),
    each of which is a function of public facts and earlier answers.
    """

    name: ClassVar[str] = "preconditioned_gradient"
    whitened: ClassVar[bool] = True

    def _measured(self, problem: Problem, schedule: GradientSchedule, curator: Answers) -> Coordinates:
        seen = _located(problem, schedule, curator)
        slopes = problem.dimension - problem.intercept
        centre, reach = seen.centre[:slopes], schedule.around * seen.typical
        covariance = curator.answer("spread", centre=centre, reach=reach)
        floor = schedule.floor(reach, slopes)
        return Coordinates.whitened(curator, covariance, centre, floor, intercept=problem.intercept)

    def _check(self, problem: Problem, allowance: Allowance) -> None:
        super(PreconditionedGradientSolver, self)._check(problem, allowance)
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

    def _trace(self, view: Coordinates) -> dict[str, Any]:
        told: dict[str, Any] = {"columns above the floor": float(view.gain.sum())}
        if view.gain.size <= KEPT:
            told |= {"centre": view.centre.tolist(), "covariance": view.covariance.tolist()}
        return told


def _located(
    problem: Problem, schedule: GradientSchedule, curator: Answers, *, uneven: bool = False
) -> PrivateLocationScale:
    return PrivateLocationScale.bought(
        problem, curator, bound=schedule.bound, likely=TYPICAL * schedule.bound, mean_noise=schedule.mean_noise,
        share_noise=schedule.share_noise, uneven=uneven,
    )  # fmt: skip


def _opened(problem: Problem, schedule: GradientSchedule, view: Coordinates) -> tuple[float, float]:
    """The level at which to start, and φ'' there.

    A target's mean stands in the derivatives at level 0, which are cut by nothing. For counts, `e^b E[e^o] − E[y]` at two b gives both means, hence b
    and the curvature E[y]: at the upper b, minus the bound of |o|, no expected count exceeds 1, as no count does.
    """
    smoothness = schedule.smoothness
    if not schedule.opening:
        return 0.0, smoothness
    low, high = problem.loss.intercept_bounds
    weight, noise = WEIGHT * max(view.length, 1e-6), schedule.noise * math.sqrt(schedule.steps)

    def slope(level: float) -> float:
        point = np.append(np.zeros(view.centre.size), level)
        return float(view.gradient(point, 1.01 * weight * max(schedule.slope, 1.0), weight)[-1])

    if counts(problem):
        rate = max(-slope(low), noise)
        exposure = max(slope(-problem.offset_bound) + rate, noise)
        return min(max(math.log(rate / exposure) - problem.offset_bound, low), high), min(smoothness, rate)
    found = slope(0.0)
    if residuals(problem):
        share = max(0.0, 1.0 - (noise / found) ** 2) if found else 0.0
        return min(max(-share * found / smoothness, low), high), smoothness
    loss: Any = problem.loss
    classes = np.array([-1.0, 1.0])

    def derivative(level: float) -> Array:
        return np.asarray(loss.derivative(np.full(2, level), classes))

    less, more = derivative(0.0)
    positive = min(max((less - found) / (less - more), noise), 1.0 - noise)
    mix = np.array([1.0 - positive, positive])
    level = (
        float(brentq(lambda at: float(mix @ derivative(at)), low, high))
        if 0.0 < positive < 1.0 and noise < 0.5 and float(mix @ derivative(low)) < 0.0 < float(mix @ derivative(high))
        else 0.0
    )
    bend = float(mix @ loss.second_derivative(np.full(2, level), classes))
    return level, min(max(bend, 0.02 * smoothness), smoothness)


@dataclass(frozen=True, slots=True, eq=False)
class _Walk:
    """Heavy-ball steps on the centred records."""

    problem: Problem
    schedule: GradientSchedule
    view: Coordinates
    level: float
    curvature: float

    @property
    def bend(self) -> float:
        """A curvature for which steps are stable: three times that of the level, of a loss that is nowhere more curved than L."""
        return min(self.schedule.smoothness, 3.0 * self.curvature)

    def short(self) -> tuple[Array, dict[str, Any]]:
        """The first phase: gradients cut short, travel by evidence."""
        schedule, view, residual = self.schedule, self.view, residuals(self.problem)
        natural = schedule.slope * view.length
        clip = 0.5 * natural
        travel = schedule.eta(view.typical, clip, schedule.noise) * schedule.smoothness / self.bend
        travel *= schedule.curvature / schedule.smoothness if schedule.whitened else 2.0  # cut next to nothing
        last, mean, gradient = self.go(
            view.start(self.problem, self.level), schedule.first, clip, SHORT * travel, BURN_FIRST
        )
        grid = edges(LONGEST * natural, BINS - 1)
        read = gradient_quantile if residual else quantile
        cut = read(view.lengths(mean, grid), grid, schedule.share_noise, above=schedule.cut, likely=0.25 * natural)
        cut = max(cut, schedule.least * natural)
        variance = (schedule.noise * clip) ** 2 * schedule.steps / schedule.first
        share = evidence(gradient[: view.centre.size], variance)
        travel = schedule.eta(view.typical, cut, schedule.noise) * schedule.smoothness / self.bend
        _, mean, _ = self.go(last, schedule.second, cut, share * travel, BURN)
        return mean, {"gradients cut at": cut, "signal weight": share}

    def unbiased(self, start: Array, cut: float) -> tuple[Array, dict[str, Any]]:
        """The second phase: towards where gradients that are cut by nothing vanish, as far as there is evidence that it is elsewhere."""
        schedule, view = self.schedule, self.view
        q = view.centre.size
        longest = schedule.steepest * math.hypot(2.0 * schedule.bound * view.stretch, view.intercept_weight)
        grid = edges(max(longest, cut), FINE - 1)
        start = self.settled(start) if self.problem.intercept else start
        shares = view.lengths(start, grid)
        reach = edges(max(2.0 * schedule.bound * view.stretch, 2.0 * view.typical), FINE - 1)
        tails = largest_eigenvalue(view.reaches(reach), reach, schedule.share_noise, typical=view.typical)
        clip = max(cut, unbiased_clip(shares, grid, schedule.share_noise, sum_noise=schedule.unbiased_noise, dimension=start.size,
                                      records=self.problem.records))  # fmt: skip
        gradient = view.gradient(start, clip)
        doubt = (schedule.evidence_noise * clip) ** 2
        signal = max(float(gradient[:q] @ gradient[:q]) - (q + EVIDENT * math.sqrt(2.0 * q)) * doubt, 0.0)
        weight = signal / (signal + q * (schedule.unbiased_noise * clip) ** 2 / (1.0 - BURN_LATE) + 1e-300)
        travel = schedule.eta(view.typical, clip, schedule.unbiased_noise) * schedule.smoothness / self.bend
        _, mean, _ = self.go(start, schedule.unbiased, clip, travel, BURN_LATE, tails)
        moved = mean - start
        unit = schedule.unbiased_noise * clip / math.sqrt(1.0 - BURN_LATE)
        level = (
            garrote(moved[q:], unit / (view.intercept_weight * self.curvature)) if self.problem.intercept else moved[q:]
        )
        point = start + np.append(np.full(q, weight), level) * moved
        told = {"unbiased clip": clip, "evidence weight": weight, "tails": tails}
        return point, told

    def settled(self, start: Array) -> Array:
        """The intercept moved to where derivatives that are cut by nothing average 0, as far as there is evidence that it is elsewhere."""
        schedule, point, (low, high) = self.schedule, start.copy(), self.problem.loss.intercept_bounds
        weight, total, kept = WEIGHT * self.view.length, 0.0, SETTLING - SETTLING // 2
        for t in range(SETTLING):
            slope = float(self.view.gradient(point, 1.01 * schedule.steepest * weight, weight)[-1])
            point[-1] = min(max(point[-1] - slope / (self.curvature * schedule.room), low), high)
            total += point[-1] if t >= SETTLING - kept else 0.0
        moved = total / kept - start[-1]
        noise = schedule.level_noise * schedule.steepest * math.sqrt(SETTLING / kept) / self.curvature
        return np.append(start[:-1], start[-1] + garrote(np.array([moved]), noise) * moved)

    def go(
        self, start: Array, steps: int, clip: float, travel: float, burn: float, tails: float = 0.0
    ) -> tuple[Array, Array, Array]:
        """The last point, the mean of all but the first share `burn`, and the mean gradient, of steps that travel so far."""
        view, q, room = self.view, self.view.centre.size, self.schedule.room
        largest = 1.0 / (self.bend * (view.steepest + tails) * room)
        memory = min(max(1.0 - largest * steps / travel, 0.0), 1.0 - 1.0 / (1.0 + steps / 8.0))
        step = min(largest, travel * (1.0 - memory) / steps)
        middle = min(1.0 / (self.bend * room), SETTLE * (1.0 - memory) / (steps * self.bend))
        nearest = view.nearest(self.problem, step) if q else None
        point, speed, total = start.copy(), np.zeros_like(start), np.zeros_like(start)
        first, gradient = int(steps * burn), np.zeros_like(start)
        for t in range(steps):
            g = view.gradient(point, clip)
            gradient += g / steps
            speed[:q] = memory * speed[:q] - step * g[:q]
            after = point[:q] + speed[:q]
            if nearest is not None:
                after = nearest(after)
                speed[:q] = after - point[:q]
            if self.problem.intercept:
                low, high = self.problem.loss.intercept_bounds
                speed[-1] = memory * speed[-1] - middle * g[-1]
                after = np.append(after, min(max(point[-1] + speed[-1], low), high))
            point = after
            if t >= first:
                total += point
        return point, total / (steps - first), gradient


def garrote(moved: Array, noise: Any) -> Array:
    """`(1 − κ V/d²)₊` for each displacement d of known noise variance V (Breiman 1995): what noise alone would do stays where it was."""
    return np.maximum(0.0, 1.0 - GARROTE * (noise / np.where(moved == 0.0, 1e-300, moved)) ** 2)


def evidence(gradient: Array, variance: float) -> float:
    """How much of the full travel a mean gradient of slopes speaks for: from `CAUTIOUS` to 1.

    Without any signal `q = ‖g‖²/V` is χ²_p in p coordinates, V the known variance of the noise in each. Evidence begins `EVIDENCE_THRESHOLD` standard
    deviations above its mean, and the full travel is walked where at least one part in `EVIDENCE_GAIN` of q is evidence.
    """
    p = gradient.size
    if p == 0:
        return 1.0
    q = float(gradient @ gradient) / variance
    mean = p + EVIDENCE_THRESHOLD * math.sqrt(2.0 * p)
    return min(max(CAUTIOUS, EVIDENCE_GAIN * (1.0 - mean / q)), 1.0) if q > mean else CAUTIOUS


def held(problem: Problem, theta: Array, centre: Array) -> Array:
    """θ in its set to the last digit, and its intercept within its bounds where a set needs them.

    Slopes along the centre make up for what is cut off, so that the prediction there stays: a walk that sees records from the centre hardly
    feels these slopes, and noise may have left much in them.
    """
    constraint: Any = problem.constraint
    if constraint is None:
        return theta
    slopes = constraint.project(theta[: centre.size])
    if not problem.intercept:
        return np.asarray(slopes)
    moved = theta[-1] + centre @ (theta[: centre.size] - slopes)
    last, length = np.clip(moved, *problem.loss.intercept_bounds), float(centre @ centre)
    if last != moved and length > 0.0:
        slopes = constraint.project(slopes + (moved - last) / length * centre)
    return np.append(slopes, last)


def _expected(problem: Problem, schedule: GradientSchedule, values: Array) -> tuple[Array, float, float, float]:
    """g, the noise of one coordinate of the mean gradient of u, that of the intercept, and η h; rows of norm ≤ 1, lengths as usual."""
    gain, length = values, TYPICAL
    if schedule.whitened:
        gain = values / (values + schedule.floor(schedule.around * TYPICAL, values.size))
        length = math.sqrt(max(float(gain.sum()), 1.0))
    weight = length * max(values.size, 1) ** -0.25 if problem.intercept else 1.0
    clip = 0.5 * schedule.slope * math.hypot(length, weight if problem.intercept else 0.0)
    noise = schedule.noise * clip
    return (
        gain,
        noise,
        noise / weight / schedule.curvature,
        schedule.eta(length, clip, schedule.noise) * schedule.curvature,
    )
