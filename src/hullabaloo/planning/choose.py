"""Which solver a fit uses: the user's word, or the better prediction on the reference table, from public facts alone."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import Squared
from hullabaloo.privacy import Allowance
from hullabaloo.solvers import GradientSolver, Menu, MomentsSolver, Plan, Problem, Solver
from hullabaloo.solvers.reference import Reference

SOLVERS: Mapping[str, Solver] = MappingProxyType({"moments": MomentsSolver(), "gradient": GradientSolver()})

ENOUGH = 0.9
"""Share of the reference table's signal that moments must be expected to keep to be chosen."""


WIDEST = 16_384
"""Columns up to which moments are formed: their matrix then takes 2 GB, and solving it some six times as much."""


def choose(problem: Problem, menu: Menu, allowance: Allowance, name: str) -> tuple[Solver, Plan]:
    """The solver called `name`, or for "auto" the one that the budget calls for, and its plan.

    On some thirty real tables noisy gradients kept more of the signal than moments wherever noise mattered, while moments
    tell the errors of coefficients and serve further models at no cost. So moments are chosen when they are expected to keep
    `ENOUGH` of the reference table's signal, when several targets share their release, and without noise.

    Raises:
        InvalidParameter: no solver of that name.
        CapabilityError: the named solver cannot do what is asked.
    """
    if name != "auto":
        if name not in SOLVERS:
            known = ", ".join(repr(known) for known in ("auto", *SOLVERS))
            raise InvalidParameter(f"The solver {name!r} was asked, but there are {known}; pass one of these.")
        if name == "moments":
            _refuse_wide(problem, "ask for solver='gradient', or ")
        solver = SOLVERS[name]
        return solver, solver.plan(problem, menu, allowance)
    return _better(problem, menu, allowance)


def _better(problem: Problem, menu: Menu, allowance: Allowance) -> tuple[Solver, Plan]:
    moments, gradient = SOLVERS["moments"], SOLVERS["gradient"]
    if not isinstance(problem.loss, Squared):
        return gradient, gradient.plan(problem, menu, allowance)
    if problem.dimension > WIDEST and problem.targets == 1 and allowance.is_private:
        other = gradient.plan(problem, menu, allowance)
        return gradient, replace(other, reason=f"too many columns for moments; {other.reason}")
    _refuse_wide(problem, "fit one target at a time, or " if problem.targets > 1 else "")
    plan = moments.plan(problem, menu, allowance)
    if not allowance.is_private:
        return moments, plan
    if problem.targets > 1:
        return moments, replace(plan, reason=f"{problem.targets} targets share one release; {plan.reason}")
    best = 0.5 * Reference.of(problem).signal
    kept = 1.0 - moments.predicted_risk(problem, plan) / best
    words = f"moments are expected to keep {kept:.0%} of a reference table's signal"
    if kept >= ENOUGH:
        return moments, replace(plan, reason=f"{words}; {plan.reason}")
    other = gradient.plan(problem, menu, allowance)
    return gradient, replace(other, reason=f"{words}, gradient steps usually more; {other.reason}")


def _refuse_wide(problem: Problem, remedy: str) -> None:
    """A matrix that cannot be held is refused now: failing after the charge would spend the budget on nothing."""
    if problem.dimension > WIDEST:
        raise InvalidParameter(
            f"Moments of {problem.dimension:,} columns were asked for, a matrix of {8e-9 * problem.dimension**2:,.0f} GB; at most "
            f"{WIDEST:,} columns are taken. Nothing was charged or read. To go on, {remedy}declare fewer columns."
        )
