"""What each solver can be expected to do for one problem, from public facts: rehearsed where that is quick, else computed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from hullabaloo.errors import BudgetError, CalibrationError, CapabilityError, HullabalooError, InvalidParameter
from hullabaloo.geometry import HasProximalForm, SubmodularBall
from hullabaloo.planning.rehearse import DRAWS, Perform, Rehearsed, Stage, rehearse, stages
from hullabaloo.privacy import Allowance
from hullabaloo.solvers import Menu, Plan, Problem, Solver

WIDEST_REHEARSAL, WIDEST_OWN = 600, 16
"""Coefficients up to which plans are rehearsed, and in the ball of a set function without a closed form; beyond, a solver's own formula speaks for it."""


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """One solver's prospects.

    Attributes:
        solver: the solver.
        plan: what it would do; None when it cannot.
        refusal: why it cannot, as it said itself; None when it can.
        predicted: its own formula of the expected excess risk.
        rehearsed: measured on synthetic tables, one for each scenario with a signal; empty where nothing was rehearsed.
        silent: measured where there is nothing to learn: what a plan loses there is harm.
    """

    solver: Solver
    plan: Plan | None
    refusal: HullabalooError | None = None
    predicted: float = math.inf
    rehearsed: tuple[Rehearsed, ...] = ()
    silent: Rehearsed | None = None

    @property
    def risk(self) -> float:
        """The expected excess risk: the geometric mean over scenarios, or the formula's."""
        if not self.rehearsed:
            return self.predicted
        return math.exp(math.fsum(math.log(max(one.risk, 1e-300)) for one in self.rehearsed) / len(self.rehearsed))

    @property
    def lost(self) -> float:
        """Mean over scenarios of the share of the non-private model's gain that is lost; 1 is a constant's."""
        if not self.rehearsed:
            return math.inf
        return math.fsum(one.risk / max(one.constant, 1e-300) for one in self.rehearsed) / len(self.rehearsed)

    @property
    def harm(self) -> float:
        """Excess risk where there is nothing to learn, in units of what a constant loses where there is a weak signal."""
        if self.silent is None or not self.rehearsed:
            return 0.0
        return self.silent.risk / max(min(one.constant for one in self.rehearsed), 1e-300)

    @property
    def score(self) -> float:
        """What decides: the mean of what is lost in each scenario, harm included."""
        n = len(self.rehearsed)
        return (n * self.lost + self.harm) / (n + 1)


def propose(problem: Problem, menu: Menu, allowance: Allowance, solvers: Mapping[str, Solver]) -> list[Outlook]:
    """Every solver's plan and formula, or its refusal; reads nothing."""
    found = []
    for solver in solvers.values():
        try:
            plan = solver.plan(problem, menu, allowance)
        except (CapabilityError, CalibrationError, BudgetError, InvalidParameter) as refused:
            found.append(Outlook(solver, None, refused))
            continue
        if not allowance.takes(plan.event):
            found.append(Outlook(solver, None, CapabilityError("Its plan costs more than the budget allows.")))
            continue
        found.append(Outlook(solver, plan, predicted=solver.predicted_risk(problem, plan)))
    return found


def can_rehearse(problem: Problem) -> bool:
    """Whether a rehearsal takes a moment only: few coefficients, fewer in a ball each of whose projections asks for a user's function thousands of times."""
    body = problem.constraint
    own = isinstance(body, SubmodularBall) and not isinstance(body.function, HasProximalForm)
    return problem.dimension * problem.targets <= (WIDEST_OWN if own else WIDEST_REHEARSAL)


def rehearsed(
    proposals: list[Outlook],
    problem: Problem,
    exact: tuple[Solver, Plan],
    perform: Perform,
    draws: int = DRAWS,
) -> tuple[list[Outlook], list[Stage]]:
    """The proposals with what their plans did on the synthetic tables, and these tables."""
    scenes = stages(problem, exact, perform)
    found = []
    for one in proposals:
        if one.plan is None:
            found.append(one)
            continue
        *tried, silent = (rehearse(scene, one.solver, one.plan, perform, draws) for scene in scenes)
        found.append(Outlook(one.solver, one.plan, None, one.predicted, tuple(tried), silent))
    return found, scenes
