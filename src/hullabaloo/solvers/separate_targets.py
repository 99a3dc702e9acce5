"""Several targets under a loss of one prediction: one problem for each, by any solver, out of one budget (one-vs-rest)."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hullabaloo.errors import BudgetError
from hullabaloo.losses import Loss, Squared
from hullabaloo.privacy import Allowance, compose
from hullabaloo.solvers.base import Answers, Menu, Plan, Problem, Solution, Solver

Array = npt.NDArray[np.float64]

_FINE = 1.01
"""Shares of the budget are found within a per cent."""


def separate(problem: Problem) -> bool:
    """Whether the problem is one of several targets that share nothing: the objective is a sum of theirs."""
    return problem.targets > 1 and isinstance(problem.loss, Loss) and not isinstance(problem.loss, Squared)


@final
@dataclass(frozen=True, slots=True)
class SeparateTargetsSolver(Solver):
    """`solver` for each target in turn, all at the same price.

    **Guarantee.** Precondition: the guarantee of `solver` for one target. Claim: the plan's event. Proof: k targets cost k
    times the queries of one; each of them, asked of one target's column, is a query of the records like any other, and its
    sensitivity holds whatever the column holds; so the release is their adaptive composition, which is what `Plan.event`
    composes and what the allowance was asked to take.

    Attributes:
        solver: the solver of one target.
    """

    solver: Solver

    @property
    def name(self) -> str:  # type: ignore[override]  # a solver's name is a constant of its class; this one's is its inner's
        """The name of the solver of one target."""
        return self.solver.name

    def plan(self, problem: Problem, menu: Menu, allowance: Allowance) -> Plan:
        """The plan of one target, k times over, at the largest share of the budget that k such plans fit into."""
        k, one = problem.targets, replace(problem, targets=1)
        if not allowance.is_private:
            return _repeated(self.solver.plan(one, menu, allowance), k)
        found = _largest(lambda share: self.solver.plan(one, menu, allowance.scaled(share)), allowance, k)
        return _repeated(found, k)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """One target after the other."""
        k, one = problem.targets, replace(problem, targets=1)
        single = replace(plan, quotes=tuple(_times(quote, 1.0 / k) for quote in plan.quotes))
        parts = [self.solver.run(one, single, curator.of_target(j)) for j in range(k)]
        known = [part.privacy_covariance for part in parts]
        covariance = None if any(c is None for c in known) else np.concatenate([c for c in known if c is not None])
        trace = tuple({**dict(line), "target": j} for j, part in enumerate(parts) for line in part.trace)
        return Solution(np.column_stack([part.theta for part in parts]), privacy_covariance=covariance, trace=trace)

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """The sum over targets."""
        k = problem.targets
        single = replace(plan, quotes=tuple(_times(quote, 1.0 / k) for quote in plan.quotes))
        return k * self.solver.predicted_risk(replace(problem, targets=1), single)

    def predicted_noise(self, problem: Problem, plan: Plan, gram: Array) -> Array:
        """That of one target."""
        single = replace(plan, quotes=tuple(_times(quote, 1.0 / problem.targets) for quote in plan.quotes))
        return self.solver.predicted_noise(replace(problem, targets=1), single, gram)


def _times(quote: Any, factor: float) -> Any:
    return replace(quote, count=max(1, round(quote.count * factor)))


def _repeated(plan: Plan, k: int) -> Plan:
    quotes = tuple(_times(quote, k) for quote in plan.quotes)
    settings = MappingProxyType(dict(plan.settings))
    return replace(
        plan, quotes=quotes, settings=settings, reason=f"{k} targets one after the other, each: {plan.reason}"
    )


def _largest(made: Callable[[float], Plan], allowance: Allowance, k: int) -> Plan:
    """The plan at the largest share of which k compose to what is allowed, within a per cent: about 1/√k for Gaussian noise.

    k plans of ε/k and δ/k each are always allowed (basic composition), but a share keeps δ; so the search may go below 1/k.
    """

    def fits(share: float) -> Plan | None:
        plan = made(share)
        return plan if allowance.takes(compose(plan.event, count=k)) else None

    low, high = 0.9 / math.sqrt(k), min(1.0, 1.3 / math.sqrt(k))
    found = fits(low)
    while found is None:
        high, low = low, 0.7 * low
        if low < 1e-6:
            raise BudgetError(
                f"The budget is too small to be shared among {k} targets by this solver. Raise epsilon or delta, or use another."
            )
        found = fits(low)
    while high > low * _FINE:
        middle = math.sqrt(low * high)
        better = fits(middle)
        low, high, found = (middle, high, better) if better is not None else (low, middle, found)
    return found
