"""The public rule of the adaptive gradient: what is paid for what, how many steps, how far they travel, and how they are cut.

Every number here is a function of public facts and of noise levels that are known beforehand.

*Noise.* s is the noise of the mean of contributions of length ≤ 1 (the `UnitSum`), bought with the budget's share for steps; with
gradients shortened to G, one coordinate of their mean has noise sG, and T equal parts of it have sG√T each.

*Travel.* Where a direction's curvature h is small, T steps that travel η in all leave `η · (gradient + noise sG)`; where h is
large, `1/h` stands for η. So travel acts as a ridge 1/η, and the noise in p coordinates adds about `½ L p_h (ηsG)² h` to the loss.
A signal that a ridge λ would just show has coefficients of length 1/typical length of a record, which gives
`√(L p) · r · sG` for records of typical length r; but the more columns, the more of them carry signal, and
`λ = RIDGE · √L · r · sG` is half-way between ridges that fit every signal and none on some twenty tables of 4 to 127 columns (a
factor 2 either way costs little); `η = REACH/λ`, a little further where noise is small.

*Momentum.* Steps `v ← m v − s g, θ ← θ + v` travel s/(1 − m) each: `T = √(SPAN η/s)` of them suffice where plain steps need η/s, at the
same noise, which is bought by travel alone. `SPAN` time constants of the momentum fit into the walk.
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
CENTRE = 0.06
"""Share of μ² for the columns' means."""
LENGTHS = 0.015
"""Share of μ² for each histogram of lengths."""
RIDGE = 3.0
REACH = 1.2
REACH_SKEWED = 1.5
SPAN = 8.0
ROOM = 1.5
"""How many times the estimated curvature a step must be stable for."""
FIRST = 0.15
"""Steps of the first walk, over those of the second."""
OPENING, LEVEL = 0.04, 0.07
"""Steps for the intercept alone before and after both, over those of the second."""
AUDIBLE, AUDIBLE_RESIDUALS = 0.006, 0.06
"""Noise s above which one goes without the last of these, where the intercept would suffer more from noise than from cuts: of
skewed losses, and of residuals, which are then cut."""
FEWEST, MOST = 10, 300
SMALL, LARGE = 0.05, 0.35
"""Lengths of gradients that steps are counted for, over `slope` times a record's typical length: residuals', and of classes."""
TINY = 1e-300
"""Noise and ridges below it count as it."""
USUAL = 0.03
"""Noise s√p at which the constants were chosen: that of 15 000 records, 60 columns and ε = 0.1."""
QUIET, LOUD = 0.25, 0.5
"""How the reach falls with the noise, below and above `USUAL`: as a power."""
CUT, CUT_SKEWED, MOST_CUT = 0.5, 0.1, 0.6
CALM = 0.8
"""How the share of cut residuals falls with the noise below `USUAL`, as a power; all else goes with its root."""
LEAST_SKEWED = 0.5
TYPICAL = 0.55
"""Length of a usual centred record over its declared bound, before it is measured."""


@dataclass(frozen=True, slots=True)
class Route:
    """Everything that a run needs, fixed from public facts.

    Attributes:
        opening: number of steps for the intercept alone, at the beginning.
        first, second: numbers of steps before and after gradients are cut anew.
        level: number of steps for the intercept alone, at the end.
        noise: s, of the unit sum's mean when all steps are averaged.
        mean_noise: of each column's mean.
        share_noise: of each share of a histogram.
        reach: η λ.
        smoothness: L.
        slope: natural size of |φ'|.
        cut: share of the records whose gradients are shortened.
        least: least length of gradients, over `slope` times a record's typical length.
        bound: of ‖x_s‖₂, the intercept left out.
        room: `ROOM`, and what weights and units add to the curvature.
    """

    opening: int
    first: int
    second: int
    level: int
    noise: float
    mean_noise: float
    share_noise: float
    reach: float
    smoothness: float
    slope: float
    cut: float
    least: float
    bound: float
    room: float

    @property
    def steps(self) -> int:
        """T."""
        return self.opening + self.first + self.second + self.level

    def ridge(self, typical: float, clip_norm: float) -> float:
        """λ for gradients shortened to `clip_norm`."""
        return RIDGE * math.sqrt(self.smoothness) * typical * self.noise * clip_norm

    def to_dict(self) -> dict[str, Any]:
        """The settings of a plan."""
        return asdict(self)


def looks(loss: Loss) -> int:
    """Number of histograms: of records, of gradients after the first walk and, for residuals, before it."""
    return 3 if symmetric(loss) else 2


def split(mu: float, histograms: int) -> tuple[float, float, float]:
    """μ of the means, of one histogram, and of all steps together."""
    return mu * math.sqrt(CENTRE), mu * math.sqrt(LENGTHS), mu * math.sqrt(1.0 - CENTRE - histograms * LENGTHS)


def symmetric(loss: Loss) -> bool:
    """Whether φ' is that of a residual: cutting it leaves a location, not the log-odds of classes or a mean of counts."""
    return loss.kernel_code in (KernelCode.SQUARED, KernelCode.HUBER, KernelCode.PINBALL)


def route(problem: Problem, prices: QueryPrices, mu: float) -> Route:
    """The public rule for a budget of `mu` (finite)."""
    loss = problem.loss
    assert isinstance(loss, Loss)  # the solver saw to it
    slopes = problem.dimension - problem.intercept
    bound = math.sqrt(max(problem.norm_l2**2 - 1.0, 1e-6)) if centred(problem) else problem.norm_l2
    smoothness, slope = smooth_and_steep(loss)
    to_means, to_lengths, to_steps = split(mu, looks(loss))
    noise = prices.price("centred_gradient", loss=loss, mu=to_steps, count=1).sigma / problem.records
    level = max(noise * math.sqrt(max(slopes, 1)), TINY)
    usual = symmetric(loss)
    reach = (REACH if usual else REACH_SKEWED) * min(
        max((USUAL / level) ** (LOUD if level > USUAL else QUIET), 0.2), 5.0
    )
    load = problem.max_weight * problem.records_per_unit
    room = ROOM * load
    typical = TYPICAL * bound
    ridge = RIDGE * math.sqrt(smoothness) * noise * (SMALL if usual else LARGE) * slope * typical**2
    second = math.sqrt(SPAN * reach / max(ridge, TINY) * smoothness * room) * typical
    steps = int(min(max(second, FEWEST), MOST))
    closed = centred(problem) and noise * slope < (AUDIBLE_RESIDUALS if usual else AUDIBLE)
    return Route(
        opening=max(2, round(OPENING * steps)) if usual and centred(problem) else 0,
        first=max(3, round(FIRST * steps)),
        second=steps,
        level=max(6, round(LEVEL * steps)) if closed else 0,
        noise=noise,
        mean_noise=prices.price("means", mu=to_means).sigma * problem.norm_l2 / problem.records
        if centred(problem)
        else 0.0,
        share_noise=prices.price("norm_histogram", loss=loss, bins=BINS, mu=to_lengths, count=looks(loss)).sigma
        / problem.records,
        reach=reach,
        smoothness=smoothness,
        slope=slope,
        cut=min(
            max((CUT if usual else CUT_SKEWED) * (level / USUAL) ** (CALM if usual and level < USUAL else 0.5), 0.02),
            MOST_CUT,
        ),
        least=0.05 if usual else LEAST_SKEWED,
        bound=bound,
        room=room,
    )
