"""The public rule of the measured gradients: what is paid for what, how many steps, how far they travel, and how they are cut.

Every number is a function of public facts and of noise that is known beforehand. s is the noise of the mean of contributions of length
≤ 1 (the `UnitSum`) bought with a phase's whole budget: gradients shortened to G have noise sG√T in each coordinate of each of T answers.

*Travel.* Where a direction's curvature h is small, T steps that travel η in all leave `η · (gradient + noise sG)`; where h is large, `1/h` stands for η. So travel
acts as a ridge 1/η. In plain coordinates it is chosen as such: a signal that a ridge λ would just show has coefficients of length 1/r for records of typical length
r, which gives `√(L p) · r · sG`; but the more columns, the more of them carry signal, and `λ = RIDGE · √L · r · sG` is half-way between ridges that fit every signal
and none. In whitened coordinates every direction above the floor has the curvature h of the loss, and η h is a number without unit. Both grow as noise falls.

*Why whiten.* Noise of one size in every direction of u = Aᵀ(x − m) adds to the loss in proportion to `tr(AᵀΣA) · tr((AᵀΣA)⁻¹)` for records of covariance Σ. It is
least, p², where AᵀΣA is the identity; for A = I it is 10 to millions of times p² on the tables of `benchmarks/share_tables.py`. λ is where Σ's eigenvalues drown in
noise; where it drowns them all, A is in effect proportional to I.

*Momentum.* Steps `v ← m v − s g, θ ← θ + v` travel s/(1 − m) each: `T = √(SPAN η/s)` of them suffice where plain steps need η/s, at the same noise, which is bought
by travel alone. `SPAN` time constants of the momentum fit into the walk. Steps `(1 + √m)²/h` damp the greatest curvature h as fast as any other (Polyak 1964): where
noise is low, half as many of these reach as far as steps 1/h.

*The level.* Derivatives of residuals are at most G, 1 or Huber's h, so that one step 1/L moves the intercept by no more. With a memory of ½, T steps go 2T − 2 times as far at least:
`½/G + ½` of them take it to within G of anywhere in the range before slopes are walked, which otherwise bend towards what the level owes (at h = 0.25, skewed columns and targets near one end of their range lost
0.2 to 0.4 of the gain, and 0.006 to 0.014 with the steps). There are no more of them than noise is quieter than `USUAL`.

*Two phases.* The first cuts gradients at a quantile, which is best where noise decides, and leaves a bias that no budget removes. As noise s√q falls below some 3
`LATE`, a share of the steps' budget that grows to `MOST_LATE` goes to a second phase, whose clip is chosen so that what it biases stays below noise and sampling
error: the estimate is consistent. (Not so for quantiles in plain coordinates, whose curvature, the density of residuals, no step there is adapted to: they have no
second phase.)

The constants of the first phase were chosen on eight regression and twelve classification tables of `benchmarks/share_tables.py` at ε = 0.1 and
1, where a factor 1.5 either way moves the medians by one or two points; those of the second on `benchmarks/consistency.py`.
"""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from hullabaloo.losses import AnyLoss, Loss
from hullabaloo.losses.base import KernelCode
from hullabaloo.solvers.base import Problem, QueryPrices
from hullabaloo.solvers.gradient import released_curvature as released
from hullabaloo.solvers.gradient.histogram import BINS
from hullabaloo.solvers.gradient.location_scale import centred, led, reach
from hullabaloo.solvers.gradient.public_start import Way
from hullabaloo.solvers.gradient.travel import bounded, smooth_and_steep, swift

FINE_BINS = 25
"""Of the histograms of the second phase; the first has `BINS`."""
MEANS = 0.06
"""Share of μ² for the columns' means."""
LENGTHS, LENGTHS_WHITENED, COVARIANCE = 0.015, 0.02, 0.12
"""Shares of μ² for each histogram of the first phase, and for the covariance."""
RIDGE, SPAN = 3.0, 8.0
USUAL = 0.03
"""Noise s√q at which the first phase's constants were chosen: that of 15 000 records, 60 columns and ε = 0.1."""
TYPICAL, TYPICAL_WHITENED = 0.55, 0.4
"""Length of a usual centred record over its declared bound, before it is measured."""
FEWEST, MOST, MOST_STEPS_LATE = 10, 300, 200
"""Steps of a walk in plain coordinates, and most of the second phase's: on ten tables at ε = 3 to 30 three times as many kept no more."""
SMALL, LARGE = 0.05, 0.35
"""Lengths of gradients that these are counted for, over `slope` times a record's typical length: residuals', and of classes."""
FIRST, OPENING, LEVEL = 0.15, 0.04, 0.07
"""Steps of the first walk and for the intercept alone, over those of the second, in plain coordinates."""
FIRST_WHITENED, SECOND_WHITENED, LEVEL_WHITENED = 12, 60, 8
QUICK, SWIFT, MOST_SWIFT = (6, 24), (4, 12), 15
"""The first two before a second phase, which makes the result; where steps are `swift`, and the second then at most. Beside twice as many steps (`STEPS_LATE` 32, too) and the
calmer memory `QUICK` and `BRISK` lost at ε = 1 and 3 nothing (+0.2 ± 0.3 points of share in the mean over 21 lines) and 0.05 ± 0.1 at ε = 10 and 30, on tables of
`benchmarks/share_kept.py` of at most 20 000 rows. Beside these `SWIFT` and `STEPS_SWIFT` moved it by −0.16 to −0.05 (± 0.07) at ε = 3 on four tables, and by −0.2 to +2.4 at 10 and 30."""
CALM, BRISK = 8.0, 5.0
"""Steps T over what is added to the greatest number of steps that a walk remembers, 1 + T/8; in whitened coordinates with a second phase 1 + T/5."""
MOST_AROUND, QUIET = 3.0, 0.1
"""Within how many typical lengths records count in full for the covariance, and the share of `USUAL` below which it is more than one:
shortened records hide how wide a table's long directions are."""
LEFT = 0.25
"""Share of a residual loss's curvature that is left where its gradients are cut at their own quantile."""
LATE, MOST_LATE, LEAST_LATE = 5e-4, 0.9, 0.15
"""Noise s√q of all steps at which the second phase takes half of their budget, the most that it takes, and the least, below which there is none."""
LEVEL_LATE = 8, 5
"""Steps for the intercept alone at the beginning of the second phase, and at its end; there a loss of kinks, whose curvature no step is adapted to, has none."""
LATE_SHARES = (0.25, 0.04, 0.1, 0.61)
"""Shares of its budget: the intercept alone, two histograms, the evidence, and the walk."""
FINE = math.sqrt(0.5 * LATE_SHARES[1])
"""μ of one of the two histograms, over its."""
STEPS_LATE, STEPS_SWIFT = 14, 7
"""Steps of its walk in whitened coordinates where it takes half of the budget, and where they are `swift`; T grows as the fourth root of 1/noise."""
LEAST_STEPS_LATE = 32
"""Fewest in plain coordinates."""
ROOM = 1.5
"""How many times its estimate the curvature may be, of records of weight 1."""
TINY = 1e-300
"""Noise and ridges below it count as it."""


@dataclass(frozen=True, slots=True)
class GradientSchedule:
    """Everything that a run needs, fixed from public facts.

    Attributes:
        opening, first, second, level: steps for the intercept alone, before and after gradients are cut anew, and for the intercept alone.
        late: steps of the second phase's walk; 0 where there is none.
        noise: s of the first phase.
        late_noise: s of the second phase's whole budget.
        mean_noise: of each column's mean.
        share_noise, late_share_noise: of each share of a histogram.
        covariance_noise: of a diagonal entry of the covariance of records of length at most 1.
        around: within how many typical lengths records count in full for it.
        ridge: `RIDGE` in plain coordinates, 0 in whitened ones.
        reach, late_reach: η λ, or η h.
        reach_first: of the first walk, over that of the second.
        smoothness: L.
        curvature: h, of the loss as its gradients are cut.
        slope: natural size of |φ'|.
        measured: whether gradients are measured before the first walk; they are otherwise cut at half of their natural length.
        cut: share of the records whose gradients are shortened.
        least, longest: least and greatest length of gradients, over `slope` times a record's typical length; residuals' may be `LOOSE` times shorter than `least`.
        burn_first, burn: shares of each walk that are not averaged.
        doubt: standard deviations above the mean of pure noise from which the first walk's gradient is evidence of a signal.
        careful: share of the full travel that is walked without evidence.
        eager: it is walked in full where at least one part in so many of the squared gradient is evidence.
        bound: of ‖x_s‖₂, the intercept left out.
        room: how many times the estimated curvature a step is stable for.
        bend_noise: of a diagonal entry of the released curvature, of records of length at most 1; 0 where none is bought.
        check_noise, check_clip: s of the gradient that a public model is checked by, and what it is shortened to; 0 where none is asked.
    """

    opening: int
    first: int
    second: int
    level: int
    late: int
    noise: float
    late_noise: float
    mean_noise: float
    share_noise: float
    late_share_noise: float
    covariance_noise: float
    around: float
    ridge: float
    reach: float
    late_reach: float
    reach_first: float
    smoothness: float
    curvature: float
    slope: float
    measured: bool
    cut: float
    least: float
    longest: float
    burn_first: float
    burn: float
    doubt: float
    careful: float
    eager: float
    bound: float
    room: float
    bend_noise: float = 0.0
    check_noise: float = 0.0
    check_clip: float = 0.0

    def weighing(self, problem: Problem, mean_weight: float, counted: float) -> "GradientSchedule":
        """For means over w̄, and shares of the records that count: noise in proportion, travel and cuts by it, steps as the heaviest records allow them."""
        if mean_weight == counted == 1.0:
            return self
        means = ("noise", "late_noise", "mean_noise", "covariance_noise", "bend_noise", "check_noise")
        noises = {name: getattr(self, name) / mean_weight for name in means}
        noises |= {name: getattr(self, name) / counted for name in ("share_noise", "late_share_noise")}
        made = replace(self, **noises, room=max(self.room / mean_weight, min(self.room, ROOM)))
        by_noise = _rule(problem, asdict(made), whitened=not self.ridge)
        moved = ("reach", "late_reach", "cut") if self.late else ("reach", "cut")
        return replace(made, **{name: by_noise[name] for name in moved})

    def flatter(self, problem: Problem, bend: float) -> "GradientSchedule":
        """For a curvature of so many times L: coefficients of rare counts show in gradients so many times as weak, and noise counts for as much more."""
        by_noise = _rule(problem, {**asdict(self), "noise": self.noise / bend}, whitened=not self.ridge)
        return replace(self, reach=by_noise["reach"])

    @property
    def steps(self) -> int:
        """T of the first phase."""
        return self.opening + self.first + self.second + self.level

    @property
    def memory(self) -> float:
        """What T is divided by for the number of steps that a walk of T remembers, but for 1."""
        return BRISK if self.late and not self.ridge else CALM

    @property
    def late_shares(self) -> tuple[float, ...]:
        """`LATE_SHARES`; by a released curvature of each step."""
        return released.newton_shares(self.late) if self.bend_noise else LATE_SHARES

    @property
    def result_noise(self) -> float:
        """s of the walk that makes the result."""
        return self.late_noise / math.sqrt(self.late_shares[-1]) if self.late else self.noise

    def late_levels(self, loss: AnyLoss) -> tuple[int, int]:
        """`LEVEL_LATE` of a loss; a walk by a released curvature takes the level along."""
        if self.bend_noise:
            return 0, released.LEVEL_NEWTON
        kinks = loss.kernel_code in (KernelCode.PINBALL, KernelCode.SMOOTHED_HINGE)
        return LEVEL_LATE[0], 0 if kinks else LEVEL_LATE[1]

    def floor(self, clip_norm: float, slopes: int) -> float:
        """λ for a covariance of records shortened to `clip_norm`."""
        return max(released.FLOOR * self.covariance_noise * math.sqrt(0.5 * slopes), 1e-5) * clip_norm**2

    def travel(self, typical: float, clip_norm: float, *, late: bool = False) -> float:
        """η of the first phase's last walk, or of the second phase's, for gradients shortened to `clip_norm`."""
        reach, noise = (self.late_reach, self.result_noise) if late else (self.reach, self.noise)
        if not self.ridge:
            return reach / (self.smoothness if late else self.curvature)
        return reach / (self.ridge * math.sqrt(self.smoothness) * typical * noise * clip_norm)


class Budgets(NamedTuple):
    """μ of each part: the means, one histogram, the covariance, the first phase's steps, the second phase, the two checks of a public model, and the released curvature."""

    means: float
    lengths: float
    covariance: float
    steps: float
    late: float
    check: float
    look: float
    bend: float
    check_clip: float = 0.0


def is_counts(loss: AnyLoss) -> bool:
    """Whether the curvature of the loss is the rate of counts."""
    return loss.kernel_code is KernelCode.POISSON


def is_residual(loss: AnyLoss) -> bool:
    """Whether φ' is that of a residual: cutting it leaves a location, not the log-odds of classes or a mean of counts."""
    return loss.kernel_code in (KernelCode.SQUARED, KernelCode.HUBER, KernelCode.PINBALL, KernelCode.RESIDUAL_TABLE)


def histograms(problem: Problem) -> int:
    """Number of the first phase: of records, of gradients after its first walk and, for residuals, before it."""
    return 3 if is_residual(problem.loss) else 2


def budgets(problem: Problem, prices: QueryPrices, mu: float, *, whitened: bool) -> Budgets:
    """The parts of `mu`; their squares add up to that of `mu`."""
    means = MEANS if centred(problem) else 0.0
    lengths, covariance = (LENGTHS_WHITENED, COVARIANCE) if whitened else (LENGTHS, 0.0)
    check, look, clip, loss = 0.0, 0.0, 0.0, problem.loss
    if problem.public is not None and isinstance(loss, Loss) and (way := Way.of(problem)) is not None:
        whole = prices.price("centred_gradient", loss=loss, mu=mu, count=1).sigma / problem.records
        counts = prices.price("norm_histogram", loss=loss, bins=BINS, mu=mu, count=1).sigma / problem.records
        check, look, clip = way.check(whole, counts, smooth_and_steep(loss)[1], residual=is_residual(loss))
    steps = 1.0 - means - histograms(problem) * lengths - covariance - check - look
    noise = prices.price("centred_gradient", loss=problem.loss, mu=mu * math.sqrt(steps), count=1).sigma
    level = max(noise / problem.records * math.sqrt(max(problem.slopes, 1)), TINY)
    late = min(0.5 * LATE / level, MOST_LATE)
    if late < LEAST_LATE or (problem.loss.kernel_code == KernelCode.PINBALL and not whitened):
        late = 0.0
    quiet = whitened and late >= 0.5 and bounded(problem) and not problem.weighted
    bend = released.BEND if quiet and released.tells(problem, prices, mu * math.sqrt(released.BEND)) else 0.0
    steps += lengths * bool(bend) - bend
    parts = means, lengths, covariance, steps * (1.0 - late), steps * late, check, look, bend
    return Budgets(*(mu * math.sqrt(one) for one in parts))._replace(check_clip=clip)


def schedule(problem: Problem, prices: QueryPrices, mu: float, *, whitened: bool) -> GradientSchedule:
    """The public rule for a budget of `mu` (finite)."""
    loss = problem.loss
    to = budgets(problem, prices, mu, whitened=whitened)

    def noise_of(name: str, spent: float, **about: Any) -> float:
        return float(prices.price(name, mu=spent, **about).sigma) / problem.records if spent else 0.0

    noise = noise_of("centred_gradient", to.steps, loss=loss, count=1)
    late_noise = noise_of("centred_gradient", to.late, loss=loss, count=1)
    smoothness, slope = smooth_and_steep(loss)
    common: dict[str, Any] = {
        "noise": noise,
        "late_noise": late_noise,
        "mean_noise": noise_of("means", to.means) * problem.norm_l2 if centred(problem) else 0.0,
        "share_noise": noise_of("norm_histogram", to.lengths, loss=loss, bins=BINS, count=histograms(problem)),
        "late_share_noise": noise_of("norm_histogram", to.late * FINE, loss=loss, bins=FINE_BINS, count=2),
        "covariance_noise": noise_of("covariance", to.covariance),
        "smoothness": smoothness,
        "slope": slope,
        "bound": reach(problem),
        "room": ROOM * problem.max_weight * problem.records_per_unit,
        "bend_noise": noise_of("gradient_moments", to.bend, loss=loss),
        "check_noise": noise_of("centred_gradient", to.check, loss=loss, count=1),
        "check_clip": to.check_clip,
    }
    found = _rule(problem, common, whitened=whitened)
    if (problem.intercept or led(problem)) and loss.kernel_code in (KernelCode.LOGISTIC, KernelCode.POISSON):
        found |= {"opening": 2 if is_counts(loss) else 1}
    found |= {"level": 0} if to.late else {"late": 0, "late_reach": 0.0}
    return GradientSchedule(**common, **found)


def _rule(problem: Problem, common: dict[str, Any], *, whitened: bool) -> dict[str, Any]:
    """What follows from the noise."""
    size, loss = math.sqrt(max(problem.slopes, 1)), problem.loss
    late = common["late_noise"] / math.sqrt(LATE_SHARES[3])
    levels = max(common["noise"] * size, TINY), max(late * size, TINY)
    return (_whitened if whitened else _plain)(problem, common, *levels, is_residual(loss), is_counts(loss))


def _plain(
    problem: Problem, common: dict[str, Any], level: float, late_level: float, residual: bool, counts: bool
) -> dict[str, Any]:
    """The rule in the records' own coordinates."""
    noise, slope, smoothness, bound = (common[name] for name in ("noise", "slope", "smoothness", "bound"))
    full = 1.2 if residual else 1.5  # as below: chosen on the tables that the module names
    reach, late_reach = (
        full * min(max((USUAL / at) ** (0.5 if at > USUAL else 0.25), 0.2), 5.0) for at in (level, late_level)
    )
    typical = TYPICAL * bound

    def walk(reach: float, noise: float) -> int:
        ridge = RIDGE * math.sqrt(smoothness) * noise * (SMALL if residual else LARGE) * slope * typical**2
        steps = math.sqrt(SPAN * reach / max(ridge, TINY) * smoothness * common["room"]) * typical
        return int(min(max(steps, FEWEST), MOST_STEPS_LATE * MOST))

    steps = min(walk(reach, noise), MOST)
    audible = centred(problem) and noise * slope < (0.06 if residual else 0.006)
    power = 0.8 if residual and level < USUAL else 0.5
    return {
        "opening": max(2, round(OPENING * steps)) if residual and centred(problem) else 0,
        "first": max(3, round(FIRST * steps)),
        "second": steps,
        "level": max(6, round(LEVEL * steps)) if audible else 0,
        "late": int(min(max(walk(late_reach, common["late_noise"]), LEAST_STEPS_LATE), MOST_STEPS_LATE)),
        "around": 1.0,
        "ridge": RIDGE,
        "reach": reach,
        "late_reach": late_reach,
        "reach_first": 0.4 if residual else 0.5 / reach,
        "curvature": smoothness,
        "measured": residual,
        "cut": min(max((0.5 if residual else 0.1) * (level / USUAL) ** power, 0.02), 0.6),
        "least": 0.05 if residual else 0.5,
        "longest": 1.0 if residual else 2.0,
        "burn_first": 0.3,
        "burn": 0.4,
        "doubt": 0.0 if residual else 0.5,
        "careful": 0.5 if residual else 0.3,
        "eager": 12.0 if residual else 4.0,
    }


def _whitened(
    problem: Problem, common: dict[str, Any], level: float, late_level: float, residual: bool, counts: bool
) -> dict[str, Any]:
    """The rule where the covariance is the identity."""
    around = min(max(math.sqrt(QUIET * USUAL / level), 1.0), MOST_AROUND)
    classes, smooth = not residual and not counts, problem.loss.kernel_code != KernelCode.PINBALL
    audible = counts or (residual and common["noise"] * common["slope"] < (0.008 if problem.earlier < 8 else 0.006))
    lifts = min(math.ceil(0.5 / common["slope"] + 0.5), LEVEL_WHITENED, USUAL / level) if smooth else 0
    first, second = QUICK if common["late_noise"] else (FIRST_WHITENED, SECOND_WHITENED)
    late, growth = STEPS_LATE, max(6.0 * LATE / late_level, 1.0) ** 0.25
    if common["late_noise"] and swift(problem):
        first, second, late = SWIFT[0], min(math.ceil(growth * SWIFT[1]), MOST_SWIFT), STEPS_SWIFT
    if common["bend_noise"]:
        late = released.newton_steps(common["bend_noise"], problem.dimension, late_level) - released.FIRST_NEWTON
        first = math.ceil(growth * released.FIRST_CLASSES) if classes else released.FIRST_NEWTON
        second, late, growth = 0, late + classes, 1.0
    cut = 0.01 if counts else min(max((0.45 if residual else 0.1) * math.sqrt(level / USUAL), 0.005), 0.6)
    return {
        "opening": 0 if classes or not centred(problem) else 2 if counts else int(lifts),
        "first": first,
        "second": second,
        "level": LEVEL_WHITENED if centred(problem) and audible else 0,
        "late": math.ceil(late * growth),
        "around": around,
        "ridge": 0.0,
        "reach": 12.0 * min(max(math.sqrt(USUAL / level), 0.1), 10.0),
        "late_reach": 12.0 * min(max(math.sqrt(USUAL / late_level), 0.1), 10.0),
        "reach_first": 0.2,
        "curvature": common["smoothness"] * (LEFT if residual else 1.0),
        "measured": residual,
        "cut": cut,
        "least": 0.5 if classes else 0.09,
        "longest": 2.0 * (around if classes else 1.0),
        "burn_first": 0.5,
        "burn": 0.3,
        "doubt": 0.5,
        "careful": 0.6,
        "eager": 4.0,
    }
