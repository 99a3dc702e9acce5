"""The public rule of coordinate descent: what is paid for what, how many rounds and updates, how far each moves, what is clipped.

Every number here is a function of public facts and of noise levels that are known beforehand.

*Noise.* A partial derivative clipped to ±C_j and bought with the whole budget has noise `C_j s`, so each of N equal parts has
`C_j s √N`. With `C_j = κ √(M_j/β)`, κ the size of |φ'| that is let through in a usual record and β = sup φ'', one pass of exact
updates over p coordinates leaves `½ Σ M_j var θ_j = ½ (p s κ)²/β`: the excess risk is a function of `ν = p s` alone, whatever the
scales of the columns are.

*Passes.* With more noise fewer passes: `τ = PASSES/ν`, at most `MOST_PASSES`. Below `FEWEST_PASSES` there are `FEWEST_PASSES` with
steps shortened to `γ_j = (τ/FEWEST_PASSES)/M_j`, which gather less noise than one pass of whole steps and forget less.
Measured on twelve real tables (6 of each kind, 1 600 to 8 000 records, ε from 0.1 to 3): factors of √2 either way cost a point or two.

*Clip.* κ is `CLIP` (losses of residuals) or `CLIP_SKEWED` (of classes and counts, where what is cut is lost) times the usual |φ'|,
more where noise is small. The intercept is clipped at a size of its own and comes first: before it is right, every record pulls the
same way, and clipped slopes would follow. It is not part of tr M.

*Centre.* Beside an intercept, columns are seen from their private means: updates of one coordinate at a time crawl where all columns
resemble the constant one.

Before the rounds are measured: where columns are seen from, M_j, and the level of the predictions.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hullabaloo.geometry import SeparableForm
from hullabaloo.losses import AnyLoss, KernelCode, Loss
from hullabaloo.solvers.base import Answers, Array, Problem
from hullabaloo.solvers.coordinate.updates import USUAL, descend, within_reach
from hullabaloo.solvers.perturbation.objective_perturbation import typical
from hullabaloo.solvers.public_numbers import uniforms

Order = npt.NDArray[np.int64]

MEANS = 0.08
"""Share of μ² for the columns' means."""
CONSTANTS = 0.05
"""Share of μ² for the columns' second moments."""
PASSES, FEWEST_PASSES, MOST_PASSES = 0.7, 4.0, 40.0
LOOSE = 5.0
"""How many times as many passes at most where M_j are declared bounds."""
MANY_PASSES = 20.0
"""Passes from which there are two rounds instead of one: the first iterates are then left out of the average."""
CLIP, CLIP_SKEWED = 0.45, 0.8
QUIET = 0.05
"""Noise ν below which clips grow, by the powers `WIDER` (residuals), `WIDER_SKEWED` (others) and ½ (the intercept)."""
WIDER, WIDER_SKEWED = 0.25, 0.5
MIDDLE = 0.7
"""Clip of the intercept's derivative."""
STEADY = 0.5
"""Least step of the intercept over 1/M."""
WARM, WARM_COUNTS = 3, 12
"""Updates of the intercept before the first round; e^z takes more."""
FLATTEST = 0.005
"""Least curvature that steps go by where it has no bound, over that at the prediction zero."""
MOST_CELLS = 100_000_000
"""Tables of more numbers are not centred: that makes a dense copy."""
EXACT_PASSES, EXACT_ROUNDS = 10, 10_000
"""Without noise: passes of a round, and rounds at most."""
STREAM = 700
"""Of the public numbers that random orders are made of."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Everything that a run needs, fixed from public facts.

    Attributes:
        rounds, updates: T and K.
        warm: updates of the intercept alone, before them.
        order: "uniform", "cyclic" or "importance".
        constants: "gaussian", "laplace" or "declared".
        centred: whether the columns' means are bought.
        step: γ_j M_j.
        clip: the poster's C, with `C_j = C √(M_j/tr M)`; 0 for the rule's κ.
        reach: κ, with `C_j = κ √(M_j/(β w̄))`, w̄ the mean weight where a constant column tells it.
        middle: clip of the intercept.
        smoothness: β.
        sigma: noise of a partial derivative of the mean in units of C_j.
        mean_noise, moment_noise: of the mean and of the mean square of a column.
        exact: whether no noise is drawn.
    """

    rounds: int
    updates: int
    centred: bool
    smoothness: float
    warm: int = 0
    order: str = "cyclic"
    constants: str = "gaussian"
    step: float = 1.0
    clip: float = 0.0
    reach: float = USUAL
    middle: float = USUAL
    sigma: float = 0.0
    mean_noise: float = 0.0
    moment_noise: float = 0.0
    exact: bool = False

    @property
    def count(self) -> int:
        """How many partial derivatives are bought."""
        return self.warm + self.rounds * self.updates

    def weighing(self, problem: Problem, constants: Array) -> "Schedule":
        """For a released mean weight, which M of the constant column is: noise in proportion, steps and clips by it."""
        weight = float(constants[-1]) / self.smoothness
        if weight == 1.0 or not problem.intercept or self.constants == "declared" or self.exact:
            return self
        sigma, step = self.sigma / weight, self.step if self.step == 1.0 else min(self.step * weight, 1.0)
        reach, middle = reaches(problem.loss, sigma * problem.dimension / math.sqrt(self.count))
        return replace(self, sigma=sigma, step=step, reach=reach, middle=middle)

    def coordinates(self, constants: Array, t: int) -> Order:
        """Which coordinate each of the K updates of round t moves: a function of public numbers and of released constants.

        "importance" draws coordinate j with probability ∝ √M_j.
        """
        p = constants.size
        if self.order == "cyclic":
            return (t * self.updates + np.arange(self.updates)) % p
        weight = np.sqrt(constants) if self.order == "importance" else np.ones(p)
        ends = np.cumsum(weight) / weight.sum()
        return np.minimum(np.searchsorted(ends, uniforms(self.updates, STREAM + t)), p - 1)

    def clips(self, constants: Array, intercept: bool, bend: float = 1.0) -> Array:
        """C_j: of the slopes `C √(M_j/tr M)` for the poster's C, tr M theirs, or `κ √(M_j/β)`; the intercept's own.

        Source: 004, Coordinate-wise clipping.
        """
        if self.clip > 0.0:
            found = self.clip * np.sqrt(constants / (constants[: constants.size - intercept].sum() or 1.0))
        else:
            weight = constants[-1] / (self.smoothness * bend) if intercept else 1.0  # w̄, which M_j contain
            found = self.reach * np.sqrt(constants / (self.smoothness * weight))
        if intercept:
            found[-1] = self.middle * math.sqrt(bend)
        return within_reach(found)

    def bend(self, curvature: float) -> float:
        """Curvature over β, at least the noise of the intercept's derivative and at most 1."""
        return min(max(curvature / self.smoothness, 2.0 * self.sigma * self.middle, FLATTEST), 1.0)

    def steps(self, constants: Array, intercept: bool) -> Array:
        """γ_j."""
        found = self.step / constants
        if intercept:
            found[-1] = max(self.step, STEADY) / constants[-1]
        return within_reach(found)


def smoothness_of(loss: Loss, *, exact: bool = False) -> float:
    """β: the largest φ'' at the prediction zero, without noise up to a prediction of 1 (for the Poisson loss 1, and e)."""
    return loss.constants(1.0 if exact else 0.0, 1.0).smoothness


def is_smooth(loss: AnyLoss) -> bool:
    """Whether φ'' is bounded for all predictions."""
    return math.isfinite(loss.constants(math.inf, 1.0).smoothness)


def centred(problem: Problem, asked: bool | None) -> bool:
    """Whether the columns' means are bought: an intercept takes up what a centre leaves."""
    wanted = problem.records * problem.dimension <= MOST_CELLS if asked is None else asked
    return wanted and problem.intercept and problem.dimension > 1


def passes(noise: float, constants: str) -> float:
    """τ, for noise ν; declared constants are larger than the columns' own, and steps by them shorter."""
    most = MOST_PASSES * (LOOSE if constants == "declared" else 1.0)
    return min(PASSES / noise, most) if noise > 0.0 else most


def reaches(loss: AnyLoss, noise: float) -> tuple[float, float]:
    """κ and the clip of the intercept, for noise ν."""
    quiet = max(QUIET / noise, 1.0) if noise > 0.0 else math.inf
    bend, variance = typical(loss)
    usual = math.sqrt(variance if is_smooth(loss) else 0.5 * variance / bend)  # the latter shrinks with the curvature
    at_most = max(1.0, loss.constants(1.0, 1.0).lipschitz)
    # Of which clipping leaves a location.
    residuals = loss.kernel_code in (KernelCode.SQUARED, KernelCode.HUBER, KernelCode.RESIDUAL_TABLE)
    cut = CLIP * quiet**WIDER if residuals else CLIP_SKEWED * quiet**WIDER_SKEWED
    return min(cut * usual, 50.0 * at_most), min(MIDDLE * math.sqrt(quiet), at_most)


LEAST = 1e-9
"""Without noise, M_j over the mean square of the column at least: rounding of the difference from the squared mean."""


def measured(problem: Problem, schedule: Schedule, curator: Answers) -> tuple[Array, Array]:
    """Where columns are seen from, and M_j: released and at least their noise, or declared."""
    p, means, centre = problem.dimension, np.zeros(problem.dimension), np.zeros(problem.dimension)
    if schedule.centred:
        means = curator.answer("means")
    known, load = problem.alike and not schedule.exact, problem.max_weight * problem.records_per_unit
    square, weight = np.full(p, load * problem.norm_linf**2), load
    if schedule.constants != "declared":
        square = curator.answer("second_moments" if schedule.constants == "gaussian" else "second_moments_laplace")
        counted = float(square[-1]) if problem.intercept else load
        weight = 1.0 if known else _weight(load, counted, schedule.moment_noise)
    if schedule.centred:
        means[-1] = 0.0  # the constant column stays
        size = float(means @ means)
        kept = max(0.0, 1.0 - (p - 1) * schedule.mean_noise**2 / size) / weight if size > 0.0 else 0.0
        centre = np.clip(kept * means, -problem.norm_linf, problem.norm_linf)
    if schedule.constants != "declared":
        least = np.hypot(schedule.moment_noise, 2.0 * np.abs(centre) * schedule.mean_noise)
        least = np.maximum(least, LEAST * np.maximum(np.abs(square), problem.norm_linf**2 * LEAST))
        square = np.maximum(square - 2.0 * centre * means + weight * centre**2, least)
    if problem.intercept:
        square[-1] = weight
    return centre, np.asarray(schedule.smoothness * square, dtype=np.float64)


def warmed(
    problem: Problem, schedule: Schedule, constants: Array, form: SeparableForm, theta: Array, view: Answers
) -> tuple[Array, float]:
    """The intercept alone, `warm` times; and curvature over β, where β bounds φ'' only near zero.

    Rare counts bend far less than that: along the intercept b the mean slope is `E e^b − ȳ`, E the mean of e^offset, so that two
    released slopes tell E, and `E e^b` is the curvature. Once the rounds begin, twice that, as predictions differ.
    """
    loss, last = problem.loss, np.array([problem.dimension - 1])
    assert isinstance(loss, Loss)  # the plan saw to it
    known = is_smooth(loss)
    bend, mean, first = 1.0, 1.0, (0.0, 0.0)
    for number in range(schedule.warm):
        clips, steps = schedule.clips(constants, problem.intercept), within_reach(1.0 / (bend * constants))
        before = float(theta[-1])
        made = descend(view, theta, order=last, clips=clips, steps=steps, form=form)
        theta, slope = made.theta, float(made.partials[0])
        if known:
            continue
        if number == 0:
            first = before, slope
        elif before != first[0]:
            mean = (first[1] - slope) / (_curvature(loss, first[0]) - _curvature(loss, before))
            mean = min(max(mean, math.exp(-problem.offset_bound)), math.exp(problem.offset_bound))
        bend = schedule.bend(mean * _curvature(loss, float(theta[-1])))
    return theta, bend if known or not schedule.warm else min(2.0 * bend, 1.0)


def _curvature(loss: Loss, level: float) -> float:
    """φ'' at a prediction, of the target 0."""
    return float(loss.second_derivative(np.array([level]), np.zeros(1))[0])


def _weight(declared: float, released: float, noise: float) -> float:
    """Σ w over the declared number of records: as declared, or as released where that is less noisy than a quarter."""
    found = declared + (released - declared) / (1.0 + (noise / 0.25) ** 2)
    return min(max(found, 0.25), 4.0 * declared)
