"""Several targets under a loss of one prediction: one problem for each, by any solver, out of one budget (one-vs-rest)."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hullabaloo.errors import BudgetError
from hullabaloo.losses import Loss, Squared
from hullabaloo.privacy import Allowance, compose
from hullabaloo.solvers.base import Answers, Marginals, Plan, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.moments.moments import MomentsSolver


def separate(problem: Problem, solver: Solver) -> bool:
    """Whether the problem is one of several targets that share nothing, the objective being a sum of theirs, and the solver takes one at a time."""
    together = isinstance(solver, MomentsSolver) and isinstance(problem.loss, Squared)
    return problem.targets > 1 and isinstance(problem.loss, Loss) and not together


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

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        """The plan of one target, k times over, at the largest share of the budget that k such plans fit into."""
        k, one = problem.targets, replace(problem, targets=1)
        if not allowance.is_private:
            return _repeated(self.solver.plan(one, prices, allowance), k)

        def fits(share: float) -> Plan | None:
            plan = self.solver.plan(one, prices, allowance.scaled(share))
            return plan if allowance.takes(compose(plan.event, count=k)) else None

        # about 1/√k for Gaussian noise. Plans of ε/k and δ/k are always allowed, but a share keeps δ: it may go below 1/k.
        low, high = 0.9 / math.sqrt(k), min(1.0, 1.3 / math.sqrt(k))
        found = largest_share(fits, low, high, shorter=0.7, least=1e-6 * allowance.useful, fine=1.01)
        if found is None:
            raise BudgetError(
                f"The budget is too small to be shared among {k} targets by this solver. Raise epsilon or delta, or use another."
            )
        return _repeated(found, k)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """One target after the other."""
        k, single, public = problem.targets, _single(plan, problem), problem.public
        ones = [replace(problem, targets=1, public=public and public.of_target(j)) for j in range(k)]
        parts = [self.solver.run(one, single, curator.of_target(j)) for j, one in enumerate(ones)]
        trace = tuple({**dict(line), "target": j} for j, part in enumerate(parts) for line in part.trace)
        theta, told_of = np.column_stack([part.theta for part in parts]), [part.marginals for part in parts]
        seen = [one for one in told_of if one is not None]
        marginals = None
        if len(seen) == k:
            means, spread = np.column_stack([one.means for one in seen]), np.concatenate([one.spread for one in seen])
            marginals = Marginals(means, seen[0].noise, spread)
        view, weight = parts[0].coordinates, parts[0].mean_weight
        return Solution(theta, trace=trace, marginals=marginals, coordinates=view, mean_weight=weight)

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """The sum over targets."""
        return problem.targets * self.solver.predicted_risk(replace(problem, targets=1), _single(plan, problem))


def _repeated(plan: Plan, k: int) -> Plan:
    """All queries of one target, then all of the next: those of one name are used up in this order."""
    return replace(plan, queries=plan.queries * k, reason=f"{k} targets one after the other, each: {plan.reason}")


def _single(plan: Plan, problem: Problem) -> Plan:
    """The plan of the first; one query that is bought for all of them together may stand last."""
    return replace(plan, queries=plan.queries[: len(plan.queries) // problem.targets])


def largest_share(
    fits: Callable[[float], Plan | None], low: float, high: float, *, shorter: float, least: float, fine: float
) -> Plan | None:
    """The plan at the largest share of a budget at which one `fits`, up to a factor `fine`, by bisection; None where none does down to `least`.

    It is looked for between `low` and `high`; where none fits at `low`, below it, in steps by the factor `shorter`, its square, and so on.
    """
    found = fits(low)
    while found is None:
        if low <= least:
            return None
        high, low, shorter = low, max(shorter * low, least), shorter**2
        found = fits(low)
    while high > low * fine:
        middle = math.sqrt(low) * math.sqrt(high)
        better = fits(middle)
        low, high, found = (middle, high, better) if better is not None else (low, middle, found)
    return found
