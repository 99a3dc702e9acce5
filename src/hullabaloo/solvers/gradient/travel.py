"""The public rule of the noisy gradient: how far to travel before there is evidence, and how far with it.

Rows have norm ≤ 1 and a gradient bought with the whole budget has noise σ per coordinate, so each of T equal parts has
σ√T. Along a path with steps s_t the noise adds, per coordinate of θ, at most `V = Tσ² Σ s_t²`: every step is a contraction
(`s_t ≤ 2`, eigenvalues in [0, 1], projections do not expand). As `tr(Σxxᵀ/n) ≤ 1`, the mean squared error rises by at most
V, for *every* table. With steps of equal size V = (ση)², η = Σ s_t the travel: the harm is bought by travel alone, and
`η = k/σ` costs at most k².

1. The first half of the steps is careful: at that size all T together would travel `CAREFUL`/σ, and add at most 6·10⁻⁴.
2. Evidence. Without any signal `q = ‖θ − θ₁‖²/V` is stochastically at most χ²_p, whatever the table. With
   `w = (1 − (p + 2√(2p))/q)₊`, zero unless q lies two standard deviations above its mean,
3. the second half steps by `(1 − w)·careful + w·bold`, where bold steps alone add at most `BOLD`². The result is the mean of
   the last half of these.

T is as small as the largest stable step allows. The clip of φ' is half the unit target without an
intercept. With one it is 1, since clipping at ½ draws an unbalanced 0/1 target to its majority; the intercept has its own
step, as its curvature is known, and travels with the rest of the noise budget; and features are assumed to have the
variance 1/3 of evenly spread ones, so the same harm allows √3 the travel. Where `MOST_STEPS` ends the travel, accuracy that
cannot be used is given to a wider clip (less bias), up to 2, where nothing is clipped; of other losses up to their own bound of |φ'|, at most 1.

All this is for the squared loss. A loss of smoothness L takes steps 1/L times as long, travels `1/√L` times as far for the same
harm, and is clipped at its own bound of |φ'| on |z| ≤ 1, at most 1.
"""

import math
from dataclasses import dataclass

import numpy as np

from hullabaloo.losses import AnyLoss, KernelCode, Squared
from hullabaloo.privacy import Neighbours
from hullabaloo.solvers.base import Array, Problem, QueryPrices
from hullabaloo.solvers.reference import spread

CAREFUL = 0.025
BOLD = 0.3
MIDDLE = 0.3
DOUBT = 2.0
FEWEST_STEPS = 6
MOST_STEPS = 1000
WIDEST_CLIP = 2.0


@dataclass(frozen=True, slots=True)
class ProjectedSchedule:
    """Everything that a run needs, fixed from public facts.

    Attributes:
        steps: T.
        clip: bound of |φ'|.
        scale: bound of a row's norm without the intercept; steps below are for rows divided by it.
        warmup_step: step of the careful first half.
        main_step: largest step of the second half.
        middle: step of the intercept (0 without one).
        sigma: noise of one coordinate of one answer, in mean form, for rows as encoded.
    """

    steps: int
    clip: float
    scale: float
    warmup_step: float
    main_step: float
    middle: float
    sigma: float

    @property
    def first(self) -> int:
        """Number of careful steps."""
        return (self.steps + 1) // 2

    @property
    def averaged(self) -> int:
        """Number of last iterates that make the result."""
        second = self.steps - self.first
        return second - second // 2

    @property
    def variance(self) -> float:
        """V after the careful steps: a bound of the noise's variance in each normalised coordinate."""
        return self.first * (self.warmup_step * self.sigma / self.scale) ** 2

    def signal_weight(self, q: float, p: int) -> float:
        """w for evidence q in p coordinates."""
        mean = p + DOUBT * math.sqrt(2.0 * p)
        return 1.0 - mean / q if q > mean else 0.0

    def later(self, w: float) -> float:
        """Step of the second half for boldness w."""
        return (1.0 - w) * self.warmup_step + w * self.main_step


def projected_schedule(problem: Problem, prices: QueryPrices, mu: float) -> ProjectedSchedule:
    """The public rule for a budget of `mu` (finite)."""
    norm, p = problem.norm_l2, problem.dimension
    scale = math.sqrt(max(norm**2 - 1.0, 1.0)) if problem.intercept and p > 1 else norm
    stretch = 1.0 / math.sqrt(spread(problem))
    loss = problem.loss
    squared = isinstance(loss, Squared)
    smoothness, lipschitz = smooth_and_steep(loss)
    clip = (1.0 if problem.intercept else 0.5) if squared else lipschitz
    whole = prices.price("gradient", loss=problem.loss, clip=clip, mu=mu, count=1).sigma / problem.records
    largest = _largest_step(problem, whole, mu, clip) / smoothness
    slopes = 0.75 * largest if problem.intercept else largest
    reach = BOLD * stretch / (whole / scale) / math.sqrt(smoothness)
    used = 0.5 * MOST_STEPS * slopes
    widest = min(loss.constants(math.inf, 1.0).lipschitz, WIDEST_CLIP if squared else 1.0)
    wider = min(max(1.0, reach / used), max(widest / clip, 1.0))
    clip, whole, reach = clip * wider, whole * wider, reach / wider
    steps = min(max(math.ceil(2.0 * reach / slopes), FEWEST_STEPS), MOST_STEPS)
    second = steps // 2
    return ProjectedSchedule(
        steps=steps,
        clip=clip,
        scale=scale,
        warmup_step=min(reach * CAREFUL / BOLD / steps, slopes),
        main_step=min(reach * math.sqrt(second / steps) / second, slopes),
        middle=min(MIDDLE / math.sqrt(smoothness) / whole / steps, 0.25 * largest) if problem.intercept else 0.0,
        sigma=prices.price("gradient", loss=problem.loss, clip=clip, mu=mu / math.sqrt(steps), count=steps).sigma
        / problem.records,
    )


def smooth_and_steep(loss: AnyLoss) -> tuple[float, float]:
    """Bounds of φ'' and of |φ'| that a public rule goes by: those on |z| ≤ 1, at most 1."""
    constants = loss.constants(1.0, 1.0)
    return min(constants.smoothness, 1.0), min(constants.lipschitz, 1.0)


def _largest_step(problem: Problem, whole: float, mu: float, clip: float) -> float:
    """2/(greatest curvature), shared by slopes and intercept: their two blocks together have at most twice one's.

    A unit of several records, or weights, make Σ w xxᵀ/records larger than 1; their bound is read off the sensitivity. A
    declared number of records may be half of the true one.
    """
    load = max(1.0, whole * problem.records * mu / (problem.neighbours.copies * clip * problem.norm_l2))
    return 2.0 / load if problem.neighbours is Neighbours.REPLACE_ONE else 1.0 / load


def bounded(problem: Problem) -> bool:
    """Whether L bounds the curvature, which that of counts and the density of residuals leave."""
    return problem.loss.kernel_code in (KernelCode.SQUARED, KernelCode.HUBER, KernelCode.LOGISTIC)


def swift(problem: Problem) -> bool:
    """Whether the second phase's plans have longer and fewer steps: L bounds the curvature, and nothing is projected.

    They reach as far: travel grows as T² times `(1 + √m)²`, which is about 3.4.
    """
    return bounded(problem) and problem.free


def boldness(gradient: Array, variance: float, doubt: float, careful: float, eager: float) -> float:
    """How much of the full travel a mean gradient of slopes speaks for: from `careful` to 1.

    Without any signal `q = ‖g‖²/V` is χ²_p in p coordinates, V the known variance of the noise in each. Evidence begins `doubt` standard
    deviations above its mean, and the full travel is walked where at least one part in `eager` of q is evidence.
    """
    p = gradient.size
    if p == 0:
        return 1.0
    q = float(gradient @ gradient) / variance
    mean = p + doubt * math.sqrt(2.0 * p)
    return min(max(careful, eager * (1.0 - mean / q)), 1.0) if q > mean else careful


def onward(share: float, gradient: Array, variance: float, model: Array, careful: float, eager: float) -> float:
    """The same, of a fit that starts from an earlier model θ, or more where what is left speaks for going on along θ.

    There `z = −⟨g, θ⟩/(√V‖θ‖)` is a normal number of deviation 1 beside the signal: one coordinate, known beforehand, in which far less is evidence
    than in all p. Where the gradient points back nothing changes: what noise has left in θ does that, and so does a signal that is another by now.
    """
    size = math.sqrt(variance) * float(np.linalg.norm(model))
    z = max(-float(gradient @ model) / size, 0.0) if size > 0.0 else 0.0
    return max(share, boldness(np.array([z]), 1.0, 0.0, careful, eager))
