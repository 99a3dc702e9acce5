"""The best constant prediction and nothing else: what a budget can pay for where noise would drown every slope."""

import math
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import NoPenalty
from hullabaloo.losses import KernelCode
from hullabaloo.privacy import Allowance
from hullabaloo.solvers.base import Answers, Plan, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.gradient.gradient import GradientSolver, plain_level_noise
from hullabaloo.solvers.gradient.measured_gradient import AdaptiveGradientSolver, level_noise
from hullabaloo.solvers.gradient.travel import smooth_and_steep
from hullabaloo.solvers.reference import Reference

MEASURED, PLAIN = AdaptiveGradientSolver(), GradientSolver()
"""Fit the intercept, in a view of the records that holds the constant column alone: of residuals, whose gradients are worth measuring, and of
the smoothed hinge, whose gradients any cut would bias."""
RATES = {KernelCode.LOGISTIC: (0.5, 0.5), KernelCode.POISSON: (0.8, 0.2)}
"""Losses whose best constant two mean gradients tell, and their shares of μ²: either class may be rare; events are rarer than what they are counted against."""
USUAL_LEVEL, UNSTEADY = 0.5, 2.0
"""How far from 0, the middle of the range, an intercept usually is; what noise hides is taken for that much less; and how many
times the noise of steps alone an intercept of measured gradients varies, as lengths and cuts are noisy, too."""


@dataclass(frozen=True, slots=True)
class ConstantSolver(Solver):
    """The intercept alone, all slopes 0: by gradients of the column of ones, measured first for residuals, plain for the smoothed hinge.

    The intercept is shrunk by `1/(1 + (s/½)²)`, s the standard deviation of its noise, so that noise alone moves it little.

    Of classes and counts the mean derivative at a level b is `m (ρ(b) a − r)`, ρ(b) the chance or rate, r the mean of events, a that of exposures (1 for
    classes), and m the true number of records over the declared one. Two levels give m r and m a, hence ρ⁻¹(r/a), whatever m is. What noise of standard deviation s
    could hide counts as s: `√(max(·, 0)² + s²)` events, and of classes as many others. It has no options.

    **Guarantee.** The plan buys what the intercept's solver does for records of one column, the constant 1, or two mean gradients of these, `|φ'| ≤ 1`, at the
    allowance's price: `μ`-GDP, as squares of μ add up (Dong, Roth, Su 2022); slopes are public.
    """

    name: ClassVar[str] = "constant"

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        """The queries of the intercept.

        Raises:
            CapabilityError: no intercept, a set without 0, several targets, or no noise is asked for.
        """
        if problem.targets > 1:
            raise CapabilityError(
                "The best constants of several targets that are learned together are those of each alone. Use hb.LinearRegression, or "
                "multi_class='one-vs-rest', with solver='constant'; or another solver."
            )
        if not problem.intercept:
            raise CapabilityError(
                "Without an intercept the best constant is 0, which needs no data. Use another solver, or fit_intercept=True."
            )
        if not allowance.is_private:
            raise CapabilityError(
                "Without noise the best constant is the mean of the target, which needs no solver. Use another solver, or a finite budget."
            )
        slopes = problem.dimension - 1
        if problem.constraint is not None and not problem.constraint.contains(np.zeros(slopes)):
            raise CapabilityError("The set does not hold 0, so no member predicts a constant. Use another solver.")
        if (code := problem.loss.kernel_code) in RATES:
            bought = tuple(
                prices.restricted(0).price(
                    "gradient", loss=problem.loss, clip=1.0, mu=allowance.mu * math.sqrt(share), count=1
                )
                for share in RATES[code]
            )
            settings = MappingProxyType({"noise": tuple(one.sigma / problem.records for one in bought)})
            return Plan(self.name, bought, settings, "the best constant from two mean gradients, every slope 0")
        inner = _solver(problem).plan(alone(problem), prices.restricted(0), allowance)
        return Plan(self.name, inner.queries, inner.settings, "the best constant, every slope 0")

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """The intercept, last."""
        level, theta = curator.restricted(np.zeros(0, dtype=np.int64)), np.zeros((problem.dimension, 1))
        if problem.loss.kernel_code in RATES:
            theta[-1] = _rate(problem, plan.settings["noise"], level)
            return Solution(theta)
        found = _solver(problem).run(alone(problem), plan, level)
        theta[-1] = found.theta[-1] / (1.0 + (_noise(problem, plan) / USUAL_LEVEL) ** 2)
        return Solution(theta, trace=found.trace)

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """The signal of the reference table, and the intercept's noise."""
        signal = 0.5 * smooth_and_steep(problem.loss)[0] * Reference.of(problem).signal
        if problem.loss.kernel_code in RATES:
            return float(signal + 0.5 * math.hypot(*plan.settings["noise"]) ** 2)
        return signal + _solver(problem).predicted_risk(alone(problem), plan)


def _rate(problem: Problem, noise: tuple[float, float], curator: Answers) -> float:
    """The log-odds or log-rate that the mean derivatives at both ends give."""
    classes, (low, high) = problem.loss.kernel_code == KernelCode.LOGISTIC, problem.loss.intercept_bounds
    highest = high if classes else -problem.offset_bound  # beyond which a rate exceeds 1, as no count does
    levels = np.array([min(low, highest - 1.0), highest])
    rates = 1.0 / (1.0 + np.exp(-levels)) if classes else np.exp(levels)
    first, second = (float(curator.answer("gradient", np.array([b]))[0]) for b in levels)
    whole = (second - first) / (rates[1] - rates[0])
    events = math.hypot(max(rates[0] * whole - first, 0.0), noise[0])
    others = whole * (1.0 - rates[0]) + first if classes else whole
    level = math.log(events / math.hypot(max(others, 0.0), noise[1]))
    return min(max(level, low), high)


def _noise(problem: Problem, plan: Plan) -> float:
    """Standard deviation of the noise in the intercept; to that of measured gradients unsteady cuts add."""
    measured = _solver(problem) is MEASURED
    return UNSTEADY * level_noise(alone(problem), plan) if measured else plain_level_noise(alone(problem), plan)


def _solver(problem: Problem) -> Solver:
    """Of the intercept."""
    return PLAIN if problem.loss.kernel_code == KernelCode.SMOOTHED_HINGE else MEASURED


def alone(problem: Problem) -> Problem:
    """The problem of the constant column alone."""
    return replace(problem, dimension=1, norm_l1=1.0, norm_l2=1.0, norm_linf=1.0, constraint=None, penalty=NoPenalty())
