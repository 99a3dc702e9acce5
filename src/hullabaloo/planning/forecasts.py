"""What each solver can be expected to do for one problem, from public facts: rehearsed where that is quick, else computed.

A plan is carried out on synthetic tables at its true noise, and its excess risk is measured. Nothing here reads a record or spends a
budget: `release/planned.py` hands over `perform`, which lets the real curator answer the plan's queries on a synthetic table, `resized` so
that a mean over a thousand rows has the noise of a mean over the declared number. So every solver is judged by the code that would run,
whatever its set, loss and noise.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from hullabaloo.errors import BudgetError, CalibrationError, CapabilityError, HullabalooError, InvalidParameter
from hullabaloo.geometry import HasProximalForm, SubmodularBall
from hullabaloo.losses import VectorLoss
from hullabaloo.planning.synthetic import SCENARIOS, SILENCE, Scenario, SyntheticTable, synthetic_table
from hullabaloo.privacy import Allowance
from hullabaloo.solvers import Plan, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.base import Array

Perform = Callable[[Problem, Solver, Plan, SyntheticTable, int], Solution]
"""Carry a plan out on a synthetic table; the last argument numbers the draw of noise."""

CELLS = 100_000
FEWEST_ROWS = 400
MOST_ROWS = 2_000
DRAWS = 2


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """Excess risk of one plan on one scenario.

    Attributes:
        scenario: the scenario's name.
        risk: mean over draws of `F(θ) − min F`, on the unit domain.
        low, high: least and largest over the draws.
        constant: the same of the best constant prediction.
    """

    scenario: str
    risk: float
    low: float
    high: float
    constant: float


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """A synthetic table with what does not depend on the plan: the optimum of the objective and of a constant."""

    problem: Problem
    scenario: Scenario
    table: SyntheticTable
    optimum: float
    constant: float


def rows_for(problem: Problem) -> int:
    """How many synthetic rows stand for the table: enough to tell directions apart, few enough to be quick."""
    wanted = max(FEWEST_ROWS, min(MOST_ROWS, CELLS // problem.dimension), 3 * problem.dimension)
    return min(problem.records, wanted)


def stages(problem: Problem, exact: tuple[Solver, Plan], perform: Perform) -> list[Stage]:
    """The scenarios' tables; `exact` is a solver with a plan that draws no noise."""
    made = []
    for scenario in (*SCENARIOS, SILENCE):
        table = synthetic_table(problem, scenario, rows_for(problem))
        small = replace(problem, records=table.X.shape[0])
        best, constant = perform(small, *exact, table, 0).theta, _constant(small, table)
        made.append(Stage(small, scenario, table, objective(small, table, best), objective(small, table, constant)))
    return made


def rehearse(stage: Stage, solver: Solver, plan: Plan, perform: Perform, draws: int = DRAWS) -> Rehearsed:
    """Carry a plan out `draws` times."""
    thetas = [perform(stage.problem, solver, plan, stage.table, draw).theta for draw in range(1, draws + 1)]
    risks = [max(objective(stage.problem, stage.table, theta) - stage.optimum, 0.0) for theta in thetas]
    constant = max(stage.constant - stage.optimum, 0.0)
    return Rehearsed(stage.scenario.name, math.fsum(risks) / draws, min(risks), max(risks), constant)


def objective(problem: Problem, table: SyntheticTable, theta: Array) -> float:
    """Mean loss plus penalty of θ (p, k)."""
    z = table.X @ theta
    if table.offset is not None:
        z = z + table.offset[:, None]
    if isinstance(problem.loss, VectorLoss):
        return float(np.mean(problem.loss.value(z, table.Y))) + problem.regulariser.value(theta.ravel())
    mean = float(np.mean(np.sum(problem.loss.value(z, table.Y), axis=1)))
    return mean + math.fsum(problem.regulariser.value(column) for column in theta.T.copy())  # targets share nothing


def _constant(problem: Problem, table: SyntheticTable) -> Array:
    """The best constant prediction: every slope at the start of the set, the intercepts one after the other at their best."""
    from scipy.optimize import minimize_scalar

    slopes, k = problem.dimension - problem.intercept, problem.targets
    theta = np.zeros((problem.dimension, k))
    if problem.constraint is not None and slopes:
        together = slopes * k if isinstance(problem.loss, VectorLoss) else slopes
        flat = problem.constraint.start(together)
        theta[:slopes] = flat.reshape(slopes, k) if flat.size == slopes * k else flat[:, None]
    if not problem.intercept:
        return theta
    lower, upper = problem.loss.intercept_bounds
    for _ in range(1 if k == 1 else 3):
        for column in range(k):

            def along(value: float, column: int = column) -> float:
                trial = theta.copy()
                trial[-1, column] = value
                return objective(problem, table, trial)

            theta[-1, column] = float(minimize_scalar(along, bounds=(lower, upper), method="bounded").x)
    return theta


WIDEST_REHEARSAL, WIDEST_OWN = 600, 16
"""Coefficients up to which plans are rehearsed, and in the ball of a set function without a closed form; beyond, a solver's own formula speaks for it."""


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
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
    def tier(self) -> int:
        """Of the trusted base: that of the least simple query that the plan buys."""
        return max((query.tier for query in self.plan.queries), default=1) if self.plan is not None else 2

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

    @property
    def expected(self) -> float:
        """What solvers are compared by: the score where plans were rehearsed, else the formula."""
        return self.score if self.rehearsed else self.predicted


def propose(
    problem: Problem, prices: QueryPrices, allowance: Allowance, solvers: Mapping[str, Solver]
) -> list[Forecast]:
    """Every solver's plan and formula, or its refusal; reads nothing."""
    found = []
    for solver in solvers.values():
        try:
            plan = solver.plan(problem, prices, allowance)
        except (CapabilityError, CalibrationError, BudgetError, InvalidParameter) as refused:
            found.append(Forecast(solver, None, refused))
            continue
        if not allowance.takes(plan.event):
            found.append(Forecast(solver, None, CapabilityError("Its plan costs more than the budget allows.")))
            continue
        found.append(Forecast(solver, plan, predicted=solver.predicted_risk(problem, plan)))
    return found


def can_rehearse(problem: Problem) -> bool:
    """Whether a rehearsal takes a moment only: few coefficients, fewer in a ball each of whose projections asks for a user's function thousands of times."""
    body = problem.constraint
    own = isinstance(body, SubmodularBall) and not isinstance(body.function, HasProximalForm)
    return problem.dimension * problem.targets <= (WIDEST_OWN if own else WIDEST_REHEARSAL)


def rehearsed(proposals: list[Forecast], scenes: list[Stage], perform: Perform) -> list[Forecast]:
    """The proposals with what their plans did on the synthetic tables."""
    found = []
    for one in proposals:
        if one.plan is not None:
            *tried, silent = (rehearse(scene, one.solver, one.plan, perform) for scene in scenes)
            one = replace(one, rehearsed=tuple(tried), silent=silent)  # noqa: PLW2901
        found.append(one)
    return found
