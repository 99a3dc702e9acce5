"""What each solver can be expected to do for one problem, from public facts: rehearsed where that is quick, else computed.

A plan is carried out on synthetic tables at its true noise, and its excess risk is measured. Nothing here reads a record or spends a
budget: `release/planned.py` hands over `perform`, which lets the real curator answer the plan's queries on a synthetic table, `resized` so
that a mean over a thousand rows has the noise of a mean over the declared number. So every solver is judged by the code that would run,
whatever its set, loss and noise.
"""

import hashlib
import heapq
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from hullabaloo.errors import BudgetError, CalibrationError, CapabilityError, HullabalooError, InvalidParameter
from hullabaloo.foreign import foreign
from hullabaloo.geometry import HasProximalForm, NoPenalty, SubmodularBall
from hullabaloo.lazy import recalled
from hullabaloo.losses import VectorLoss
from hullabaloo.planning.context import Kept, Perform, PlanContext
from hullabaloo.planning.named import LABORIOUS, POINT
from hullabaloo.planning.narrowed import JUDGES, wide_rows
from hullabaloo.planning.synthetic import SCENARIOS, SILENCE, WIDE, Scenario, SyntheticTable, synthetic_table
from hullabaloo.solvers import Array, Plan, Problem, Solver, WithInference

CELLS, FEWEST_ROWS, MOST_ROWS = 100_000, 400, 2_000
DRAWS = 2
NEAR, MUCH = 0.1, 0.5
"""How much worse than the best by one draw of each wide table a plan may be to be carried out once more, with that best; one draw decides where none is, and the best loses no more than `MUCH`, beyond which
the constant is tried out beside it. On twelve made problems (1 000 and 4 000 columns), on which `NEAR` was chosen, no choice is another than by two draws of all; at 0.05 one is. Wide plans alone: they take longest."""
EVERY_SCENARIO = (*SCENARIOS, SILENCE)


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
    """A synthetic table with what does not depend on the plan: the optimum of the objective and of a constant, on the rows of `fresh`."""

    problem: Problem
    table: SyntheticTable
    fresh: SyntheticTable
    optimum: float
    constant: float


def rows_for(problem: Problem) -> int:
    """How many synthetic rows stand for the table: enough to tell directions apart, few enough to be quick."""
    return min(problem.records, max(FEWEST_ROWS, min(MOST_ROWS, CELLS // problem.dimension), 3 * problem.dimension))


@dataclass(frozen=True, slots=True)
class _Posed:
    """What a stage is made from; of `exact`, a solver with a plan that draws no noise, only the problem matters."""

    problem: Problem
    scenario: Scenario
    perform: Perform
    exact: tuple[Solver, Plan] = field(compare=False)

    def stage(self) -> Stage:
        problem, rows = self.problem, self.problem.records
        if self.scenario in WIDE:
            return self._judged(synthetic_table(problem, self.scenario, rows + JUDGES))
        table = synthetic_table(problem, self.scenario, rows)
        found = self.perform(problem, *self.exact, table, 0).theta, _constant(problem, table)
        best, constant = (objective(problem, table, theta) for theta in found)
        return Stage(problem, table, table, best, constant)

    def _judged(self, whole: SyntheticTable) -> Stage:
        """On rows of which plans see nothing, against what made the targets, or the constant where a set leaves that no better; where a penalty moves the optimum, against it if it is better."""
        problem, rows = self.problem, self.problem.records
        table, fresh = whole.part(slice(rows)), whole.part(slice(rows, None))
        constant = objective(problem, fresh, _constant(problem, fresh))
        optimum = min(constant, objective(problem, fresh, _levelled(problem, fresh, whole.slopes)))
        if not isinstance(problem.penalty, NoPenalty):
            found = self.perform(problem, *self.exact, table, 0).theta
            optimum = min(optimum, objective(problem, fresh, found))
        return Stage(problem, table, fresh, optimum, constant)


_stage = lru_cache(maxsize=6)(_Posed.stage)
"""The same for every budget and number of records: made once."""


@dataclass(frozen=True, slots=True, eq=False)
class Rehearsals:
    """What plans do on the synthetic tables of one problem, each draw carried out when it is asked for, unless `kept` holds its number.

    Whatever `kept` holds, plans stay what they are: it decides at most which of them is taken.
    """

    problem: Problem
    exact: tuple[Solver, Plan]
    perform: Perform
    kept: Kept
    wide: int = 0

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """With a signal, and last without."""
        return WIDE if self.wide else EVERY_SCENARIO

    def stage(self, scenario: Scenario) -> Stage:
        """The scenario's table."""
        rows = wide_rows(self.problem, self.wide) if self.wide else rows_for(self.problem)
        posed = _Posed(replace(self.problem, records=rows), scenario, self.perform, self.exact)
        return recalled(_stage, posed)  # type: ignore[no-any-return]

    def constant(self, scenario: Scenario) -> float:
        """What the best constant prediction loses."""
        stage = partial(self.stage, scenario)
        return self._looked_up(f"constant/{scenario.name}", lambda: max(stage().constant - stage().optimum, 0.0))

    def risk(self, scenario: Scenario, one: "Forecast", draw: int) -> float:
        """What a draw of its plan loses."""
        assert one.plan is not None
        solver, plan = one.solver, one.narrow or one.plan

        def measured() -> float:
            stage = self.stage(scenario)
            theta = self.perform(stage.problem, solver, plan, stage.table, draw).theta
            return max(objective(stage.problem, stage.fresh, theta) - stage.optimum, 0.0)

        if foreign(solver) is not None:  # whose code may be another tomorrow
            return measured()
        return self._looked_up(f"{_digest(one)}/{scenario.name}/{draw}", measured)

    def rehearse(self, scenario: Scenario, one: "Forecast", draws: int = DRAWS) -> Rehearsed:
        """Carry its plan out `draws` times."""
        risks = [self.risk(scenario, one, draw) for draw in range(1, draws + 1)]
        return Rehearsed(scenario.name, math.fsum(risks) / draws, min(risks), max(risks), self.constant(scenario))

    def _looked_up(self, key: str, measured: Callable[[], float]) -> float:
        if key not in self.kept:
            self.kept[key] = measured()
        return self.kept[key]


@lru_cache(maxsize=64)
def _digest(one: "Forecast") -> str:
    """Of what a plan does: its queries, its settings and its solver's options."""
    plan: Any = one.narrow or one.plan
    told = [repr(one.solver), {**plan.to_dict(), "reason": ""}]
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=repr).encode()).hexdigest()[:32]


def objective(problem: Problem, table: SyntheticTable, theta: Array) -> float:
    """Mean loss plus penalty of θ (p, k)."""
    z = table.X @ theta
    if table.offset is not None:
        z = z + table.offset[:, None]
    if isinstance(problem.loss, VectorLoss):
        held = theta[: problem.slopes].ravel()  # all intercepts are free
        return float(np.mean(problem.loss.value(z, table.Y))) + (problem.penalty.value(held) if held.size else 0.0)
    mean = float(np.mean(np.sum(problem.loss.value(z, table.Y), axis=1)))
    return mean + math.fsum(problem.regulariser.value(column) for column in theta.T.copy())  # targets share nothing


def _constant(problem: Problem, table: SyntheticTable) -> Array:
    """The best constant prediction: every slope at the start of the set."""
    slopes, k = problem.slopes, problem.targets
    flat = np.zeros((slopes, k))
    if problem.constraint is not None and slopes:
        together = slopes * k if isinstance(problem.loss, VectorLoss) else slopes
        start = problem.constraint.start(together)
        flat[:] = start.reshape(slopes, k) if start.size == slopes * k else start[:, None]
    return _levelled(problem, table, flat)


def _levelled(problem: Problem, table: SyntheticTable, slopes: Array) -> Array:
    """These slopes, the intercepts one after the other at their best."""
    from scipy.optimize import minimize_scalar

    if not problem.intercept:
        return slopes
    k, theta = problem.targets, np.vstack([slopes, np.zeros((1, problem.targets))])
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
        narrow: the plan that is carried out in its place, of a problem with fewer columns.
        silent: measured where there is nothing to learn: what a plan loses there is harm.
    """

    solver: Solver
    plan: Plan | None
    refusal: HullabalooError | None = None
    predicted: float = math.inf
    rehearsed: tuple[Rehearsed, ...] = ()
    silent: Rehearsed | None = None
    narrow: Plan | None = None

    @property
    def name(self) -> str:
        """That of the solver of the coefficients."""
        inner = self.solver.solver if isinstance(self.solver, WithInference) else self.solver
        return inner if isinstance(inner, str) else inner.name

    @property
    def tier(self) -> int:
        """Of the trusted base: that of the least simple query that the plan buys."""
        return max((query.tier for query in self.plan.queries), default=1) if self.plan is not None else 2

    @property
    def passes(self) -> int:
        """Answers that its plan buys, each of which is a pass over the table."""
        return sum(query.count for query in self.plan.queries) if self.plan is not None else 0

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
    def keeps(self) -> str:
        """The share that is kept, from the least to the most of any scenario."""
        shares = [max(0.0, 1.0 - one.risk / max(one.constant, 1e-300)) for one in self.rehearsed]
        low, high = f"{min(shares):.0%}", f"{max(shares):.0%}"
        return high if low == high else f"{low[:-1]} to {high}"

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


def middle(runs: Sequence[Rehearsed]) -> float:
    """The geometric mean over scenarios of the share of a constant's loss that is lost: what a price tells as the middle of its range."""
    lost = [max(one.risk, 1e-12) / max(one.constant, 1e-12) for one in runs]
    return math.exp(math.fsum(map(math.log, lost)) / len(lost))


def propose(context: PlanContext, solvers: Mapping[str, Solver]) -> list[Forecast]:
    """Every solver's plan and formula, or its refusal; reads nothing."""
    found = []
    for solver in solvers.values():
        try:
            plan = solver.plan(*context.facts)
            # The event of a choice refuses a lattice that would be too coarse.
            if not context.allowance.takes(plan.event):
                raise CapabilityError("Its plan costs more than the budget allows.")
            found.append(Forecast(solver, plan, predicted=solver.predicted_risk(context.problem, plan)))
        except (CapabilityError, CalibrationError, BudgetError, InvalidParameter) as refused:
            found.append(Forecast(solver, None, refused))
    return found


def can_rehearse(problem: Problem) -> bool:
    """Whether a rehearsal takes a moment only: few coefficients, fewer in a ball each of whose projections asks for a user's function thousands of times."""
    body = problem.constraint
    own = isinstance(body, SubmodularBall) and not isinstance(body.function, HasProximalForm)
    return problem.dimension * problem.targets <= (WIDEST_OWN if own else WIDEST_REHEARSAL)


def contested(
    proposals: list[Forecast], rehearsals: Rehearsals, weights: Mapping[str, float], within: float, told: bool = False
) -> list[Forecast]:
    """The proposals with what their plans did on the synthetic tables; but a plan is given up, its expectation ∞, once it can be none of those `within` of the best after division by `weights` (nor, of `LABORIOUS`, within a `POINT`); `told`, it is that of the draws that were carried out, one of each scenario at least.

    The choice is that after all rehearsals: a score is a sum of what single draws lose, none of it negative, so that what a plan has lost so
    far bounds its score from below, however many draws a mean is of. Always the plan of the lowest bound is carried out further, first where there is nothing to learn: long walks lose most there.

    Wide plans are first carried out once on each table, first where there is a signal: most lose most there. A second time are those alone that are then within `NEAR` of the best, and that best but where it is clear.
    """
    every, wide = rehearsals.scenarios, bool(rehearsals.wide)
    order = [*every] * DRAWS if wide else [each for each in (every[-1], *every[:-1]) for _ in range(DRAWS)]
    within = max(within, NEAR) if wide else within
    scale = {one.name: max(rehearsals.constant(one), 1e-300) for one in every[:-1]}
    scale[every[-1].name] = min(scale.values())
    found, least = [one if one.plan is None else replace(one, predicted=math.inf) for one in proposals], math.inf
    waiting = [(-POINT * (one.name == LABORIOUS), 0, at) for at, one in enumerate(found) if one.plan is not None]
    heapq.heapify(waiting)
    while waiting and waiting[0][0] <= (1.0 + within) * least * (1.0 + 1e-9):
        bound, done, place = heapq.heappop(waiting)
        one = proposals[place]
        weight = weights.get(one.name, 1.0)
        once = wide and done == len(every) and math.isinf(least) and bound * weight <= MUCH and len(waiting) > 0
        if done == len(order) or (once and all(b > (1.0 + NEAR) * bound and n <= done for b, n, _ in waiting)):
            found[place] = _completed(rehearsals, one, order[:done])
            least = min(least, found[place].expected / weight)
            continue
        scenario, draw = order[done], order[: done + 1].count(order[done])
        lost = rehearsals.risk(scenario, one, draw) / DRAWS
        if wide:  # the mean of the draws so far
            lost = DRAWS * lost if draw == 1 else lost - rehearsals.risk(scenario, one, 1) / DRAWS
        heapq.heappush(waiting, (bound + lost / scale[scenario.name] / len(every) / weight, done + 1, place))
    for _, done, place in waiting if told else []:
        found[place] = _completed(rehearsals, proposals[place], order[:done])
    return found


def drowned(one: Forecast, level: Forecast, rehearsals: Rehearsals) -> bool:
    """Whether a proposal's noise alone, where there is nothing to learn, loses more than a level's and than any model of losses ≥ 0 could gain: the constant's own loss."""
    silence = rehearsals.scenarios[-1]
    floor = max(rehearsals.stage(silence).constant, rehearsals.rehearse(silence, level).risk)
    return 0.0 < floor < rehearsals.rehearse(silence, one).risk


def _completed(rehearsals: Rehearsals, one: Forecast, carried: Sequence[Scenario]) -> Forecast:
    """With as many draws of each scenario as it was `carried` out on, one at least."""
    tried = [rehearsals.rehearse(each, one, max(1, carried.count(each))) for each in rehearsals.scenarios]
    return replace(one, rehearsed=tuple(tried[:-1]), silent=tried[-1])
