"""The public rule of the adaptive gradients: what is paid for what, how many steps, how far they travel, and how they are cut.

Every number here is a function of public facts and of noise levels that are known beforehand.

*Noise.* s is the noise of the mean of contributions of length ≤ 1 (the `UnitSum`), bought with a phase's whole share; with gradients shortened to
G, one coordinate of their mean has noise sG, and T equal parts of it have sG√T each.

*Two phases.* The first cuts gradients short, which costs little noise and suits prediction; what cutting does to a skewed target, to a rare class or
to a heavy tail stays however large the budget is. The second starts where the first ends, at the clip of `unbiased_clip`, and moves as far as
there is evidence: `w = (1 − qV/‖g‖²)₊` of the way, g its first mean gradient, V the known variance of g's noise in each of q coordinates (James and
Stein 1961). As noise falls, clips lengthen without bound, w tends to 1 and steps grow in number: the estimate tends to the one without privacy. The second phase
takes `UNBIASED √(QUIET/s√q)` of the budget for steps, within `FEWEST_SHARE` and `MOST_SHARE`.

*Travel of the first phase.* Where a direction's curvature h is small, T steps that travel η in all leave `η · (gradient + noise sG)`; where h is
large, `1/h` stands for η. So travel acts as a ridge 1/η. Records as they are: `λ = RIDGE √L r s G`, r their usual length, is half-way between ridges
that fit every signal and none on some twenty tables of 4 to 127 columns (a factor 2 either way costs little); `η = reach/λ`. Whitened records: noise of one
size in every direction of u adds `½ Σ_j (noise)²/h_j` to the loss, in proportion to `tr(AᵀΣA) · tr((AᵀΣA)⁻¹)`, which is least where AᵀΣA is the identity;
there η h is a number of no unit, `TRAVEL √(USUAL/s√q)`, half-way between tables that want a third and those that want three times it.

*Momentum.* Steps `v ← m v − s g, θ ← θ + v` travel s/(1 − m) each: `T = √(SPAN η/s)` of them suffice where plain steps need η/s, at the
same noise, which is bought by travel alone.

The constants were chosen on twelve classification and eight regression tables of `benchmarks/share_tables.py` at ε = 0.1 and 1; a factor 1.5 either way
moves their medians by one or two points of share. Those of the second phase: on the simulated designs of `benchmarks/consistency.py`.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

from hullabaloo.losses import Loss
from hullabaloo.losses.base import KernelCode
from hullabaloo.solvers.base import Menu, Problem
from hullabaloo.solvers.gradient.location_scale import BINS, FINE, centred
from hullabaloo.solvers.gradient.travel import smooth_and_steep

MEANS, LENGTHS, COVARIANCE = 0.06, 0.02, 0.12
"""Shares of μ² for the columns' means, for each histogram of lengths, and for the covariance where records are whitened."""
HISTOGRAMS = 4
"""Of records, and of gradients before and after the first phase's second walk."""
USUAL = 0.03
"""Noise s√q at which the constants were chosen: that of 15 000 records, 60 columns and ε = 0.1."""
UNBIASED, QUIET, FEWEST_SHARE, MOST_SHARE = 0.5, 3e-3, 0.1, 0.9
LEVEL, EVIDENCE = 0.15, 0.25
"""Shares of the second phase's budget for the intercept alone, in `SETTLING` gradients, and for the gradient that is evidence."""
SETTLING = 8
RIDGE, REACH, REACH_SKEWED, SPAN = 3.0, 1.2, 1.5, 8.0
LOUDER, QUIETER = 0.5, 0.25
"""How the reach falls with the noise, above and below `USUAL`: as a power."""
SMALL, LARGE = 0.05, 0.35
"""Lengths of gradients that steps are counted for, over `slope` times a record's usual length: residuals', and of classes."""
FEWEST, MOST, FIRST = 10, 300, 0.15
"""Steps of the second walk, at least and at most; those of the first over them."""
TRAVEL, ROUND_FIRST, ROUND_SECOND = 12.0, 12, 60
UNBIASED_STEPS, MOST_UNBIASED = 32, 2_000
"""Steps of the second phase at the noise `QUIET`, and at most, which bounds time alone: at noise that small momentum has long converged."""
ROOM = 1.5
"""How many times the estimated curvature a step must be stable for."""
CUT, CUT_SKEWED, CUT_COUNTS, FEWEST_CUT, MOST_CUT = 0.45, 0.1, 0.01, 0.005, 0.6
LEAST, LEAST_SKEWED = 0.05, 0.5
LONGEST = 2.0
"""Upper end of the histogram of gradients' lengths, over `slope` times a record's usual length."""
FLOOR, MOST_AROUND = 1.4, 3.0
"""λ over half the spectral radius of the covariance's noise, s√(2q); within how many usual lengths records count in full for the covariance at most."""
LEFT = 0.25
"""Share of a residual loss's curvature that is left where its gradients are cut at their own quantile."""
TYPICAL = 0.4
"""Length of a usual centred record over its declared bound, before it is measured."""
TINY = 1e-300


@dataclass(frozen=True, slots=True)
class GradientSchedule:
    """Everything that a run needs, fixed from public facts.

    Attributes:
        whitened: whether a covariance is bought and records are made round by it.
        opening: gradients for the intercept alone, at the beginning.
        first, second: steps of the first phase, before and after gradients are cut anew.
        unbiased: steps of the second phase after its first gradient.
        late: share of the budget for steps that the second phase has.
        noise: s of the first phase.
        level_noise, evidence_noise, unbiased_noise: s of the second phase's gradients for the intercept alone, of the one that is evidence, and of its steps.
        mean_noise: of each column's mean.
        share_noise: of each share of a histogram.
        covariance_noise: of a diagonal entry of the covariance of records of length at most 1.
        around: within how many usual lengths records count in full for it.
        travel: η λ of records as they are, η h of whitened ones.
        smoothness: L.
        curvature: h, of the loss as its gradients are cut.
        slope: natural size of |φ'|.
        steepest: bound of |φ'|.
        cut: share of the records whose gradients are shortened in the first phase.
        least: least length of gradients, over `slope` times a record's usual length.
        bound: of ‖x_s‖₂, the intercept left out.
        room: how many times the measured curvature a step is stable for.
    """

    whitened: bool
    opening: int
    first: int
    second: int
    unbiased: int
    late: float
    noise: float
    evidence_noise: float
    unbiased_noise: float
    level_noise: float
    mean_noise: float
    share_noise: float
    covariance_noise: float
    around: float
    travel: float
    smoothness: float
    curvature: float
    slope: float
    steepest: float
    cut: float
    least: float
    bound: float
    room: float

    @property
    def steps(self) -> int:
        """T of the first phase."""
        return self.opening + self.first + self.second

    def floor(self, reach: float, slopes: int) -> float:
        """λ for a covariance of records shortened to `reach`."""
        return max(FLOOR * self.covariance_noise * math.sqrt(0.5 * slopes), 1e-5) * reach**2

    def quotes(self, problem: Problem, menu: Menu, mu: float) -> list[Any]:
        """All gradients: of the first phase, and of the second."""
        loss, s = problem.loss, mu * math.sqrt(steps_share(problem, whitened=self.whitened))
        first, late = s * math.sqrt(1.0 - self.late), s * math.sqrt(self.late)
        return [
            menu.price("step", loss=loss, mu=first / math.sqrt(self.steps), count=self.steps),
            *(
                [menu.price("step", loss=loss, mu=late * math.sqrt(LEVEL / SETTLING), count=SETTLING)]
                * problem.intercept
            ),
            menu.price("step", loss=loss, mu=late * math.sqrt(EVIDENCE)),
            menu.price(
                "step",
                loss=loss,
                mu=late * math.sqrt((1.0 - EVIDENCE - LEVEL * problem.intercept) / self.unbiased),
                count=self.unbiased,
            ),
        ]

    def eta(self, typical: float, clip: float, noise: float) -> float:
        """How far a walk travels whose mean gradients have noise s, for records of that length and gradients shortened to `clip`."""
        if self.whitened:
            return self.travel / self.curvature * math.sqrt(self.noise / noise)
        return self.travel / max(RIDGE * math.sqrt(self.smoothness) * typical * noise * clip, TINY)

    def to_dict(self) -> dict[str, Any]:
        """The settings of a plan."""
        return asdict(self)


def counts(problem: Problem) -> bool:
    """Whether the loss is of counts, whose curvature is their rate."""
    return isinstance(problem.loss, Loss) and problem.loss.kernel_code is KernelCode.POISSON


def residuals(problem: Problem) -> bool:
    """Whether φ' is that of a residual: cutting it leaves a location, and its lengths follow a law near the exponential one."""
    residual = (KernelCode.SQUARED, KernelCode.HUBER, KernelCode.PINBALL)
    return isinstance(problem.loss, Loss) and problem.loss.kernel_code in residual


def gradient_schedule(problem: Problem, menu: Menu, mu: float, *, whitened: bool) -> GradientSchedule:
    """The public rule for a budget of `mu` (finite)."""
    loss = problem.loss
    assert isinstance(loss, Loss)  # the solver saw to it
    slopes = max(problem.dimension - problem.intercept, 1)
    smoothness, slope = smooth_and_steep(loss)
    residual, many = residuals(problem), counts(problem)
    all_steps = (
        menu.price("step", loss=loss, mu=mu * math.sqrt(steps_share(problem, whitened=whitened)), count=1).sigma
        / problem.records
    )
    level = max(all_steps * math.sqrt(slopes), TINY)
    late = min(max(UNBIASED * math.sqrt(QUIET / level), FEWEST_SHARE), MOST_SHARE)
    noise = all_steps / math.sqrt(1.0 - late)
    level = max(noise * math.sqrt(slopes), TINY)
    bound = math.sqrt(max(problem.norm_l2**2 - 1.0, 1e-6)) if centred(problem) else problem.norm_l2
    room = ROOM * problem.max_weight * problem.records_per_unit
    if whitened:
        travel = TRAVEL * min(max(math.sqrt(USUAL / level), 0.1), 10.0)
        first, second = ROUND_FIRST, ROUND_SECOND
        extra = UNBIASED_STEPS * max(1.0, (QUIET / level) ** 0.25)
    else:
        travel = (REACH if residual else REACH_SKEWED) * min(
            max((USUAL / level) ** (LOUDER if level > USUAL else QUIETER), 0.2), 5.0
        )
        typical = TYPICAL * bound
        ridge = RIDGE * math.sqrt(smoothness) * noise * (SMALL if residual else LARGE) * slope * typical**2
        steps = math.sqrt(SPAN * travel / max(ridge, TINY) * smoothness * room) * typical
        second = int(min(max(steps, FEWEST), MOST))
        first, extra = max(3, round(FIRST * second)), max(UNBIASED_STEPS * (QUIET / level) ** 0.5, 2.0 * second)
    cut = CUT if residual else (CUT_COUNTS if many else CUT_SKEWED)
    sigma = {quote.name: quote.sigma / problem.records for quote in measurements(problem, menu, mu, whitened=whitened)}
    return GradientSchedule(
        whitened=whitened,
        opening=(2 if many else 1) if problem.intercept else 0,
        first=first,
        second=second,
        unbiased=int(min(extra, MOST_UNBIASED)),
        late=late,
        noise=noise,
        evidence_noise=all_steps / math.sqrt(late * EVIDENCE),
        unbiased_noise=all_steps / math.sqrt(late * (1.0 - EVIDENCE - LEVEL * problem.intercept)),
        level_noise=all_steps / math.sqrt(late * LEVEL),
        mean_noise=sigma.get("means", 0.0) * problem.norm_l2,
        share_noise=sigma["scales"],
        covariance_noise=sigma.get("spread", 0.0),
        around=min(max(math.sqrt(0.1 * USUAL / level), 1.0), MOST_AROUND),
        travel=travel,
        smoothness=smoothness,
        curvature=smoothness * (LEFT if residual else 1.0),
        slope=slope,
        steepest=steepest(problem),
        cut=cut if many else min(max(cut * math.sqrt(level / USUAL), FEWEST_CUT), MOST_CUT),
        least=LEAST_SKEWED if not residual and not many else LEAST,
        bound=bound,
        room=room,
    )


def measurements(problem: Problem, menu: Menu, mu: float, *, whitened: bool) -> list[Any]:
    """What is bought beside the steps: means, histograms of lengths, and a covariance."""
    bought = [menu.price("means", mu=mu * math.sqrt(MEANS))] if centred(problem) else []
    for bins in (BINS, FINE):
        bought.append(
            menu.price("scales", loss=problem.loss, bins=bins, mu=mu * math.sqrt(LENGTHS), count=HISTOGRAMS // 2)
        )
    return bought + ([menu.price("spread", mu=mu * math.sqrt(COVARIANCE))] if whitened else [])


def steps_share(problem: Problem, *, whitened: bool) -> float:
    """Share of μ² that is left for all steps."""
    return 1.0 - MEANS * centred(problem) - HISTOGRAMS * LENGTHS - COVARIANCE * whitened


def steepest(problem: Problem) -> float:
    """A bound of |φ'| at every prediction that steps may come by."""
    low, high = problem.loss.intercept_bounds
    farthest = max(abs(low), abs(high))
    bound = problem.loss.constants(min(farthest, 50.0) if math.isfinite(farthest) else 50.0, 1.0).lipschitz
    return float(min(bound, 2.0 if residuals(problem) else 1.0))
