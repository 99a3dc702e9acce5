"""The best constant prediction and nothing else: what a budget can pay for where noise would drown every slope."""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import NoPenalty
from hullabaloo.losses import KernelCode, Pinball
from hullabaloo.privacy import Allowance
from hullabaloo.solvers.base import Answers, Plan, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.gradient.gradient import GradientSolver, plain_level_noise
from hullabaloo.solvers.gradient.location_scale import LEAST
from hullabaloo.solvers.gradient.measured_gradient import AdaptiveGradientSolver, level_noise
from hullabaloo.solvers.gradient.travel import smooth_and_steep
from hullabaloo.solvers.reference import Reference

MEASURED, PLAIN = AdaptiveGradientSolver(), GradientSolver()
"""Fit the intercept, in a view of the records that holds the constant column alone: of residuals, whose gradients are worth measuring where noise is not low, and of
the smoothed hinge, whose gradients any cut would bias."""
LARGEST = {KernelCode.LOGISTIC: 0.5}
"""|φ'| at most where it is asked for, at a chance of one half; of numbers, at 0, and of counts it is 1."""
RATE, MEAN, LOUD = (0.8, 0.2), (0.7, 0.3), 0.025
"""Shares of μ² for two mean gradients of counts, as events are rarer than what they are counted against; for the sum of other targets and that of records, where their number is not public; and
the noise of the mean of a squared loss's targets up to which it is taken. Beyond, gradients that are cut where most residuals lie are less noisy for narrow targets, but biased: at 0.025 both lose about 2 % of the constant's loss where
targets have a variance of 0.02 in [−1, 1] (claims), and for usual ones the mean loses a tenth of what the cut does. Chosen on claims, California, bikes and we8there (n = 300 to
5 000, ε = 0.1 to 1, both relations, 20 draws); abalone, communities, diamonds and permeability agree."""
USUAL_LEVEL, UNSTEADY = 0.5, 2.0
"""How far from 0, the middle of the range, an intercept usually is; what noise hides is taken for that much less; and how many
times the noise of steps alone an intercept of measured gradients varies, as lengths and cuts are noisy, too."""

HALVINGS, HEARD, MEDIAN = 14, 0.02, Pinball(0.5)
"""How often the range of a quantile is halved, and the noise of the shares that decide it up to which it is; beyond, half-way once in a hundred fits noise takes a quantile of a tenth to the other half, where few records hold it.
Chosen on diamonds, bikes, power plants, California and blogs (2 000 and 10 000 records, ε = 0.1 and 1, levels 0.5 and 0.9): eight halvings leave narrow targets up to a fifth of the loss more, sixteen are a tenth noisier."""


@dataclass(frozen=True, slots=True)
class ConstantSolver(Solver):
    """The intercept alone, all slopes 0: by gradients of the column of ones, measured first for residuals, plain for the smoothed hinge.

    The intercept is shrunk by `1/(1 + (s/½)²)`, s the standard deviation of its noise, so that noise alone moves it little.

    Of counts the mean derivative at a level b is `m (ρ(b) a − r)`, ρ(b) the rate, r the mean of events, a that of exposures, and m the true number of records over the declared one.
    Two levels give m r and m a, hence ρ⁻¹(r/a), whatever m is. What noise of standard deviation s could hide counts as s: `√(max(·, 0)² + s²)` events. It has no options.

    Of a squared loss the mean derivative at 0 is minus the mean of the targets times m, of classes, ±1, half of that, and m is asked for where it is not public. Of a squared loss it is taken where noise is
    below `LOUD`; of classes the mean tells the log-odds, what noise could hide of either class counting as for events.

    A quantile's range is halved where noise is at most `HEARD`: its mean derivative is m times the share of targets below less its level, so that the sign tells the half.
    Measured gradients end short of quantiles near an end, whatever the budget; fits of streams and searches go on with them.

    **Guarantee.** The plan buys what the intercept's solver does for records of one column, the constant 1, or two sums over these, `|φ'|` at most `LARGEST` or 1 a record, at the
    allowance's price: `μ`-GDP, as squares of μ add up (Dong, Roth, Su 2022); slopes are public.
    """

    name: ClassVar[str] = "constant"

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance, loud: float = LOUD) -> Plan:
        """The queries of the intercept; of a squared loss by its mean where the noise of that is at most `loud`.

        Raises:
            CapabilityError: no intercept, a set without 0, several targets, or no noise is asked for.
        """
        why, held = "", problem.constraint
        if problem.targets > 1:
            why = "The best constants of several targets that are learned together are those of each alone. Use hb.LinearRegression, or multi_class='one-vs-rest', with solver='constant'; or another solver."
        elif not problem.intercept:
            why = "Without an intercept the best constant is 0, which needs no data. Use another solver, or fit_intercept=True."
        elif not allowance.is_private:
            why = "Without noise the best constant is the mean of the target, which needs no solver. Use another solver, or a finite budget."
        elif held is not None and not held.contains(np.zeros(problem.dimension - 1)):
            why = "The set does not hold 0, so no member predicts a constant. Use another solver."
        if why:
            raise CapabilityError(why)
        return level_plan(problem, prices, allowance, loud)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """The intercept, last."""
        level, theta = curator.restricted(np.zeros(0, dtype=np.int64)), np.zeros((problem.dimension, 1))
        if noise := plan.settings.get("sums"):
            of = {KernelCode.POISSON: _rate, KernelCode.PINBALL: _quantile}.get(problem.loss.kernel_code, _mean)
            theta[-1] = of(problem, noise, level)
            return Solution(theta)
        found = _solver(problem).run(alone(problem), plan, level)
        theta[-1] = found.theta[-1] / (1.0 + (_noise(problem, plan) / USUAL_LEVEL) ** 2)
        return Solution(theta, trace=found.trace)

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """The signal of the reference table, and the intercept's noise."""
        signal = 0.5 * smooth_and_steep(problem.loss)[0] * Reference.of(problem).signal
        if noise := plan.settings.get("sums"):
            return float(signal + 0.5 * math.hypot(*noise) ** 2)
        return signal + _solver(problem).predicted_risk(alone(problem), plan)


def level_plan(problem: Problem, prices: QueryPrices, allowance: Allowance, loud: float = math.inf) -> Plan:
    """The queries of the intercept; of a squared loss gradients are measured where the noise of the mean target is above `loud`."""
    clip = LARGEST.get(problem.loss.kernel_code, 1.0)
    about: dict[str, dict[str, Any]] = {"gradient": {"loss": problem.loss, "clip": clip}, "means": {}}
    bought = tuple(
        prices.restricted(0).price(name, mu=allowance.mu * math.sqrt(share), **about[name])
        for name, share in _sums(problem)
    )
    noise = tuple(one.sigma / problem.records / (clip if one.name == "gradient" else 1.0) for one in bought)
    if bought and (problem.loss.kernel_code != KernelCode.SQUARED or mean_noise(noise) <= loud):
        reason = f"the best constant from {len(bought)} mean{'s' * (len(bought) > 1)} with noise, every slope 0"
        return Plan(ConstantSolver.name, bought, {"sums": noise}, reason)
    if problem.once and isinstance(problem.loss, Pinball):
        # Derivatives are 1 apart at any level, and shortest at that of the median: what this adds is public where records count alike.
        loss = MEDIAN if problem.alike else problem.loss
        asked = {"loss": loss, "clip": max(loss.tau, 1.0 - loss.tau), "mu": allowance.mu / math.sqrt(HALVINGS)}
        halving = prices.restricted(0).price("gradient", count=HALVINGS, **asked)
        if (share := halving.sigma / problem.records) <= HEARD:
            reason = f"the best constant by {HALVINGS} halvings of the range, every slope 0"
            return Plan(ConstantSolver.name, (halving,), {"sums": (share,)}, reason)
    inner = _solver(problem).plan(alone(problem), prices.restricted(0), allowance)
    return Plan(ConstantSolver.name, inner.queries, inner.settings, "the best constant, every slope 0")


def _sums(problem: Problem) -> tuple[tuple[str, float], ...]:
    """What tells the best constant at once, and its shares of μ²; nothing of losses whose constant is no function of two means."""
    code = problem.loss.kernel_code
    if code == KernelCode.POISSON:
        return tuple(("gradient", share) for share in RATE)
    if code not in (KernelCode.SQUARED, KernelCode.LOGISTIC) or problem.offset_bound:
        return ()
    return (("gradient", 1.0),) if problem.alike else tuple(zip(("gradient", "means"), MEAN, strict=True))


def mean_noise(noise: tuple[float, ...], level: float = USUAL_LEVEL) -> float:
    """Standard deviation of a mean of this size that is a ratio of sums of this noise."""
    return math.hypot(noise[0], *(level * one for one in noise[1:]))


def _mean(problem: Problem, noise: tuple[float, ...], curator: Answers) -> float:
    """The mean target, drawn to the middle of the range by what noise hides of it; of classes its log-odds."""
    code, total, weight = problem.loss.kernel_code, -float(curator.answer("gradient", np.zeros(1))[0]), 1.0
    if not problem.alike:
        weight = max(float(curator.answer("means")[-1]), LEAST * noise[1])
    level = min(max(total / LARGEST.get(code, 1.0) / weight, -1.0), 1.0)
    hidden = mean_noise(noise, abs(level)) / weight
    level /= 1.0 + (mean_noise(noise) / weight / USUAL_LEVEL) ** 2
    if code == KernelCode.SQUARED:
        return level
    odds = math.hypot(1.0 + level, hidden) / math.hypot(1.0 - level, hidden)
    return float(np.clip(math.log(odds), *problem.loss.intercept_bounds))


def _rate(problem: Problem, noise: tuple[float, float], curator: Answers) -> float:
    """The log-rate that the mean derivatives at both ends give."""
    highest = -problem.offset_bound  # beyond which a rate exceeds 1, as no count does
    levels = np.array([min(problem.loss.intercept_bounds[0], highest - 1.0), highest])
    rates = np.exp(levels)
    first, second = (float(curator.answer("gradient", np.array([b]))[0]) for b in levels)
    whole = (second - first) / (rates[1] - rates[0])
    events = math.hypot(max(rates[0] * whole - first, 0.0), noise[0])
    rate = events / math.hypot(max(whole, 0.0), noise[1])
    return float(np.clip(math.log(rate), *problem.loss.intercept_bounds))


def _quantile(problem: Problem, noise: tuple[float, ...], curator: Answers) -> float:
    """The level below which its share of the targets lies."""
    level, less = 0.0, (problem.loss.tau - MEDIAN.tau) * problem.alike  # type: ignore[union-attr]  # pinball
    for k in range(1, HALVINGS + 1):
        above = float(curator.answer("gradient", np.array([level]))[0]) > less
        level += -(0.5**k) if above else 0.5**k
    return level


def _noise(problem: Problem, plan: Plan) -> float:
    """Standard deviation of the noise in the intercept where weights are 1 on average; to that of measured gradients unsteady cuts add."""
    measured = _solver(problem) is MEASURED
    return UNSTEADY * level_noise(alone(problem), plan) if measured else plain_level_noise(alone(problem), plan)


def _solver(problem: Problem) -> Solver:
    """Of the intercept."""
    return PLAIN if problem.loss.kernel_code == KernelCode.SMOOTHED_HINGE else MEASURED


def alone(problem: Problem) -> Problem:
    """The problem of the constant column alone."""
    return replace(problem, dimension=1, norm_l1=1.0, norm_l2=1.0, norm_linf=1.0, constraint=None, penalty=NoPenalty())
