"""The public rule of the preconditioned gradient: what is paid for what, how many steps, how far they travel, how they are cut.

*Why.* Noise of one size in every direction of u = Aᵀ(x − m), gradients shortened to about the typical length of u times that of
φ', adds `½ Σ_j (noise)²/h_j` to the loss: in proportion to `tr(AᵀΣA) · tr((AᵀΣA)⁻¹)` for records of covariance Σ. It is least,
p², where AᵀΣA is the identity; for A = I it is `tr Σ · tr Σ⁻¹`, 10 to millions of times p² on the tables of
`benchmarks/share_tables.py`. So a noisy Σ is bought first and `A = V (Λ + λI)^{-1/2}` made of it: whitening down to the floor λ at
which its eigenvalues drown in noise, and no preconditioning at all (A ∝ I) where noise drowns them all.

*Travel.* Below the floor, and where the loss is flat, steps that travel η in all leave η times the gradient's noise, and
elsewhere approach the optimum like `exp(−η h g)`, g = Λ/(Λ + λ) ≤ 1 known. So η h is a number of no unit: `TRAVEL` at usual noise and, where there
is less of it, more, as the square root. Half-way between tables that want a third and those that want three times it.

The constants were chosen on twelve classification and eight regression tables of `benchmarks/share_tables.py` at ε = 0.1 and 1;
a factor 1.5 either way moves their medians by one or two points of share.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

from hullabaloo.losses import Loss
from hullabaloo.losses.base import KernelCode
from hullabaloo.solvers.base import Problem, QueryPrices
from hullabaloo.solvers.gradient.survey import centred
from hullabaloo.solvers.gradient.travel import smooth_and_steep

BINS = 11
MEANS = 0.06
"""Share of μ² for the columns' means."""
LENGTHS = 0.02
"""Share of μ² for each of the two histograms of lengths."""
SPREAD = 0.12
"""Share of μ² for the covariance."""
FLOOR = 1.4
"""λ over half the spectral radius of the covariance's noise, s√(2p)."""
MOST_AROUND, QUIET = 3.0, 0.1
"""Within how many typical lengths records count in full for the covariance, and the share of `USUAL` from which noise is so faint
that more than one is better: shortened records hide how wide a table's long directions are, and steps there overshoot."""
TRAVEL = 12.0
USUAL = 0.03
"""Noise s√p at which the travel was chosen, as in `route.py`."""
LEFT = 0.25
"""Share of a residual loss's curvature that is left where its gradients are cut at their own quantile."""
OPENING = 0.2
"""Travel of the first walk over that of the second."""
CAREFUL = 0.6
"""Share of the full travel that is walked without evidence of a signal."""
FIRST, SECOND, LEVEL, OPENERS = 12, 60, 8, 2
"""Steps before and after gradients are cut anew, for the intercept alone, and for a first guess of the rate of counts."""
AUDIBLE = 0.006
"""Noise s above which the intercept of numbers is not fitted once more: it would suffer more from noise than from cut gradients."""
CUT, CUT_SKEWED, CUT_COUNTS = 0.45, 0.1, 0.01
FEWEST_CUT, MOST_CUT = 0.005, 0.6
LONGEST = 2.0
"""Upper end of the histogram of gradients' lengths, over `slope` times a record's typical length; for classes as many times
more as `around`, as where the histogram is noisy its far end would be mistaken for the cut."""
LEAST, LEAST_SKEWED = 0.05, 0.5
TYPICAL = 0.4
"""Length of a usual centred record over its declared bound, before it is measured."""


@dataclass(frozen=True, slots=True)
class Course:
    """Everything that a run needs, fixed from public facts.

    Attributes:
        opening, first, second, level: numbers of steps: for the rate of counts, before and after gradients are cut anew, and
            for the intercept alone.
        noise: s, of the unit sum's mean when all steps are averaged.
        mean_noise: of each column's mean.
        share_noise: of each share of a histogram.
        spread_noise: of a diagonal entry of the covariance of records of length at most 1.
        around: within how many typical lengths records count in full for it.
        travel: η h.
        smoothness: L.
        curvature: h, of the loss as its gradients are cut.
        slope: natural size of |φ'|.
        cut: share of the records whose gradients are shortened.
        least: least length of gradients, over `slope` times a record's typical length.
        longest: greatest length of gradients, likewise.
        bound: of ‖x_s‖₂, the intercept left out.
        room: how many times the measured curvature a step is stable for.
    """

    opening: int
    first: int
    second: int
    level: int
    noise: float
    mean_noise: float
    share_noise: float
    spread_noise: float
    around: float
    travel: float
    smoothness: float
    curvature: float
    slope: float
    cut: float
    least: float
    longest: float
    bound: float
    room: float

    @property
    def steps(self) -> int:
        """T."""
        return self.opening + self.first + self.second + self.level

    def floor(self, clip_norm: float, slopes: int) -> float:
        """λ for a covariance of records shortened to `clip_norm`."""
        return max(FLOOR * self.spread_noise * math.sqrt(0.5 * slopes), 1e-5) * clip_norm**2

    def to_dict(self) -> dict[str, Any]:
        """The settings of a plan."""
        return asdict(self)


def counts(problem: Problem) -> bool:
    """Whether the loss is of counts, whose curvature is their rate."""
    return isinstance(problem.loss, Loss) and problem.loss.kernel_code is KernelCode.POISSON


def residuals(problem: Problem) -> bool:
    """Whether φ' is that of a residual: it can be cut far, and its lengths follow a law near the exponential one."""
    residual = (KernelCode.SQUARED, KernelCode.HUBER, KernelCode.PINBALL)
    return isinstance(problem.loss, Loss) and problem.loss.kernel_code in residual


def split(problem: Problem, mu: float) -> tuple[float, float, float, float]:
    """μ of the means, of one histogram, of the covariance, and of all steps together."""
    means = MEANS if centred(problem) else 0.0
    rest = 1.0 - means - 2.0 * LENGTHS - SPREAD
    return mu * math.sqrt(means), mu * math.sqrt(LENGTHS), mu * math.sqrt(SPREAD), mu * math.sqrt(rest)


def course(problem: Problem, prices: QueryPrices, mu: float) -> Course:
    """The public rule for a budget of `mu` (finite)."""
    loss = problem.loss
    assert isinstance(loss, Loss)  # the solver saw to it
    slopes = problem.dimension - problem.intercept
    smoothness, slope = smooth_and_steep(loss)
    to_means, to_lengths, to_spread, to_steps = split(problem, mu)
    noise = prices.price("centred_gradient", loss=loss, mu=to_steps, count=1).sigma / problem.records
    level = noise * math.sqrt(slopes)
    residual = residuals(problem)
    classes = not residual and not counts(problem)
    around = min(max(math.sqrt(QUIET * USUAL / level), 1.0), MOST_AROUND)
    cut = CUT if residual else (CUT_COUNTS if counts(problem) else CUT_SKEWED)
    return Course(
        opening=OPENERS if centred(problem) and counts(problem) else 0,
        first=FIRST,
        second=SECOND,
        level=LEVEL if centred(problem) and (counts(problem) or (residual and noise * slope < AUDIBLE)) else 0,
        noise=noise,
        mean_noise=prices.price("means", mu=to_means).sigma * problem.norm_l2 / problem.records
        if centred(problem)
        else 0.0,
        share_noise=prices.price("norm_histogram", loss=loss, bins=BINS, mu=to_lengths, count=2).sigma
        / problem.records,
        spread_noise=prices.price("covariance", mu=to_spread).sigma / problem.records,
        around=around,
        travel=TRAVEL * min(max(math.sqrt(USUAL / level), 0.1), 10.0),
        smoothness=smoothness,
        curvature=smoothness * (LEFT if residual else 1.0),
        slope=slope,
        cut=cut if counts(problem) else min(max(cut * math.sqrt(level / USUAL), FEWEST_CUT), MOST_CUT),
        least=LEAST_SKEWED if classes else LEAST,
        longest=LONGEST * (around if classes else 1.0),
        bound=math.sqrt(max(problem.norm_l2**2 - 1.0, 1e-6)) if centred(problem) else problem.norm_l2,
        room=1.5 * problem.max_weight * problem.records_per_unit,
    )
