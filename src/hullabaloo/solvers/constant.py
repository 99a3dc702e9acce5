"""The best constant prediction and nothing else: what a budget can pay for where noise would drown every slope."""

from dataclasses import dataclass, replace
from typing import ClassVar, final

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
"""Fit the intercept, in a view of the records that holds the constant column alone: of residuals and counts, whose gradients are worth
measuring, and of classes, whose gradients any cut would bias."""
USUAL_LEVEL, UNSTEADY = 0.5, 2.0
"""How far from 0, the middle of the range, an intercept usually is; what noise hides is taken for that much less; and how many
times the noise of steps alone an intercept of measured gradients varies, as lengths and cuts are noisy, too."""


@final
@dataclass(frozen=True, slots=True)
class ConstantSolver(Solver):
    """The intercept alone, all slopes 0: by gradients of the column of ones, measured first for residuals and counts, plain for classes.

    The intercept is shrunk by `1/(1 + (s/½)²)`, s the standard deviation of its noise, so that noise alone moves it little. It has no options.

    **Guarantee.** The plan buys what the intercept's solver does for records of one column, the constant 1, at the allowance's price; slopes are public.
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
        slopes = problem.dimension - 1
        if problem.constraint is not None and not problem.constraint.contains(np.zeros(slopes)):
            raise CapabilityError("The set does not hold 0, so no member predicts a constant. Use another solver.")
        inner = _solver(problem).plan(alone(problem), prices.restricted(0), allowance)
        return Plan(self.name, inner.queries, inner.settings, "the best constant, every slope 0")

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """The intercept, last."""
        found = _solver(problem).run(alone(problem), plan, curator.restricted(np.zeros(0, dtype=np.int64)))
        theta = np.zeros((problem.dimension, 1))
        theta[-1] = found.theta[-1] / (1.0 + (_noise(problem, plan) / USUAL_LEVEL) ** 2)
        return Solution(theta, trace=found.trace)

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """The signal of the reference table, and the intercept's noise."""
        signal = 0.5 * smooth_and_steep(problem.loss)[0] * Reference.of(problem).signal
        return signal + _solver(problem).predicted_risk(alone(problem), plan)


def _noise(problem: Problem, plan: Plan) -> float:
    """Standard deviation of the noise in the intercept; to that of measured gradients unsteady cuts add."""
    measured = _solver(problem) is MEASURED
    return UNSTEADY * level_noise(alone(problem), plan) if measured else plain_level_noise(alone(problem), plan)


def _solver(problem: Problem) -> Solver:
    """Of the intercept."""
    return PLAIN if problem.loss.kernel_code in (KernelCode.LOGISTIC, KernelCode.SMOOTHED_HINGE) else MEASURED


def alone(problem: Problem) -> Problem:
    """The problem of the constant column alone."""
    return replace(problem, dimension=1, norm_l1=1.0, norm_l2=1.0, norm_linf=1.0, constraint=None, penalty=NoPenalty())
