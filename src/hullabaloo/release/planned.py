"""A fit, for every estimator: what is asked, by which solver and at which price is fixed first, then it is released in the order of `run.py`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from hullabaloo.data import MOST_PER_UNIT, Encoding, Table, TargetScale
from hullabaloo.data.parts import check_parts
from hullabaloo.data.transforms import LARGEST
from hullabaloo.errors import CapabilityError, DomainError, InvalidParameter
from hullabaloo.geometry import ConvexSet, GroupPenalty, NuclearBall, NuclearPenalty, Penalty, SubmodularPenalty
from hullabaloo.lazy import recalled
from hullabaloo.losses import AnyLoss, VectorLoss
from hullabaloo.planning.choose import choose, staged
from hullabaloo.planning.context import Kept, PlanContext
from hullabaloo.planning.favours import CONSTANT, usual_share
from hullabaloo.planning.forecasts import DRAWS, Forecast, Rehearsed
from hullabaloo.planning.named import SOLVERS, name_of
from hullabaloo.planning.synthetic import PRICED
from hullabaloo.privacy import Allowance, Calibration, compose
from hullabaloo.queries import PricedQueries
from hullabaloo.release.rehearsal import rehearsal
from hullabaloo.release.release import PrivacyStatement, Release
from hullabaloo.release.remembered import remembered
from hullabaloo.release.request import ReleaseRequest
from hullabaloo.release.run import Purchase, buy_plan, run_release
from hullabaloo.release.unseen import held_near
from hullabaloo.solvers import MomentsSolver, PublicTable, Watched, WithInference, class_totals
from hullabaloo.solvers.base import Answers, Array, Plan, Problem, Solution, Solver
from hullabaloo.solvers.moments.moments import MomentsFirstSolver
from hullabaloo.solvers.score.shares import refusal, refuse

PAPERS = (
    "mirror_descent", "frank_wolfe", "dual_frank_wolfe", "coordinate_descent", "objective_perturbation", "output_perturbation",
)  # fmt: skip
"""Solvers whose paper prints how much noise they take."""
OWN = {type(one) for one in SOLVERS.values()}
SLOPELESS = "solver='constant' sets every slope to 0 without looking (it is taken where noise would drown them), so nothing is estimated that would have an error"


@contextmanager
def quiet() -> Iterator[None]:
    """Around arithmetic: it raises nothing and calls nobody's handler of floating-point errors, whatever NumPy and SciPy are set to."""
    from scipy import special

    with np.errstate(all="ignore"), special.errstate(all="ignore"):
        yield


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(ReleaseRequest):
    """The public arguments of one fit: what every release asks for, and what is to be learned."""

    loss: AnyLoss
    constraint: ConvexSet | None
    penalty: Penalty
    fit_intercept: bool
    solver: str | Solver
    scale: TargetScale = TargetScale.SYMMETRIC
    exposure: str | None = None
    inference: bool | float | str = False
    errors: str = "auto"
    earlier: int = 0
    """How many versions ago the stream was begun whose plans are made again: what `Problem.earlier` says of so many."""
    public: PublicTable | None = None
    held: bool = True
    """Whether a solver may be held up by the constant: not within streams and searches, which share a budget by plans of their own."""


@dataclass(frozen=True, slots=True)
class PlannedFit:
    """Everything that is fixed before data is read."""

    task: Task
    encoding: Encoding
    problem: Problem
    solver: Solver
    plan: Plan
    allowance: Allowance
    bought: Purchase
    without: str = ""
    totals: Any = None
    kept: Kept = field(default_factory=dict, compare=False)

    @quiet()  # an error of arithmetic would lose what has been paid for
    def solve(self, curator: Answers, points: list[Array] | None = None) -> Solution:
        """Carry the plan out; `points` takes the iterates."""
        curator = curator if points is None else Watched(curator, self.problem, points)
        try:
            solution = self.solver.run(self.problem, self.plan, curator)
        except InvalidParameter as error:  # a callable of the user's that failed at a released point
            raise InvalidParameter(f"{error} Nothing is released; a charge that was made stays.") from error
        wanted = (self.problem.dimension, self.problem.targets)
        theta = solution.theta
        plain = type(theta) is np.ndarray and theta.dtype == np.float64 and theta.shape == wanted
        if not plain or not np.isfinite(theta).all():
            raise InvalidParameter(
                f"The solver {self.plan.solver!r} returned coefficients that are not finite numbers of shape {wanted}. Nothing is released; a charge that was made stays."
            )
        solution = held_near(self.encoding, self.problem, self.plan, solution)
        if self.totals is not None:
            answer = curator.answer("score", solution.theta)
            solution = class_totals.shifted(self.problem, solution, answer, self.totals.sigma)
        return solution

    def release(self, solution: Solution, statement: PrivacyStatement) -> Release:
        """What leaves."""
        if (public := self.problem.public) is not None:
            statement = replace(statement, public=f"{len(public.X)} rows, digest {public.digest}")
        plan = {**self.plan.to_dict(), "queries": list(self.bought.noise), "without inference": self.without}
        # What a solver of somebody's own writes there is its own.
        lines = solution.trace if isinstance(self.solver, MomentsFirstSolver | WithInference) else ()
        if any(line.get("moments enough") for line in lines):  # no settings of the walk, which was not taken
            told = {**self.plan.settings, "solver settings": {}} if solution.scores else {}
            plan |= {"solver": MomentsSolver.name, "settings": told}
        elif any(line.get("steps enough") for line in lines):
            plan |= {"settings": {}}
        return Release.of(solution, statement, plan)


@quiet()
def prepare(task: Task, encoding: Encoding, rows: int | None, *, parted: bool = False) -> PlannedFit:
    """Plan a fit from public facts; draws nothing, reads nothing, charges nothing. `parted`: of a table that is read in parts."""
    named = name_of(task.solver)
    if task.calibration is Calibration.PAPER and named not in PAPERS:
        what = "names no method" if named == "auto" else "follows no paper's formula for its noise"
        raise InvalidParameter(
            f"calibration='paper' was asked of solver={named!r}, which {what}. Leave calibration='exact', or name one of {', '.join(map(repr, PAPERS))}."
        )
    context = plan_context(task, encoding, rows, parted=parted)
    prices = PricedQueries(encoding.facts, task.neighbours, context.problem.records, parted)
    whole, own = context.allowance, isinstance(task.solver, str) or type(task.solver) in OWN
    totals, left = class_totals.bought(context.problem, prices, whole) if own else (None, whole)
    context = replace(context, allowance=left)
    asked, without = inferring(task, context)
    solver, plan, kept = recalled(_chosen, context, asked)  # which is shown copies of what prices rest on
    if totals is not None:
        # Other events than Gaussian noise may add up to more.
        tries = (replace(totals, mu=0.8**k * totals.mu) for k in range(20))
        totals = next((one for one in tries if whole.takes(compose(plan.event, one.event))), None)
        plan = plan if totals is None else replace(plan, queries=(*plan.queries, totals))
    if solver.name == CONSTANT:
        without = f"No errors are told: {SLOPELESS}."
    bought = buy_plan(task, prices, plan, task.calibration)
    return PlannedFit(task, encoding, context.problem, solver, plan, whole, bought, without, totals, kept)


def inferring(task: Task, context: PlanContext) -> tuple[str | Solver, str]:
    """The solver that is asked for, with inference where it is asked for and something valid is known, and why it is without.

    Raises:
        CapabilityError: inference was asked for by a word of the user, and nothing valid is known.
    """
    asked, wanted = task.solver, task.inference
    if wanted is False or isinstance(asked, WithInference):
        return asked, "" if wanted is not False else "Inference was not asked for."
    errors, public = _errors(task, context), context.facts
    if not context.allowance.is_private and errors in ("robust", "unit") and task.errors != "auto":
        raise CapabilityError(
            f"errors={task.errors!r} was asked of a fit without noise, whose release holds exact moments and tells homoskedastic errors alone. Nothing was charged or read. Leave errors out, or use statsmodels, as nothing is protected."
        )
    if name_of(asked) == CONSTANT:
        if wanted != "auto":
            refuse(SLOPELESS, "Ask for another solver.")
        return asked, f"No errors are told: {SLOPELESS}."
    itself = MomentsSolver.name == name_of(asked) and errors in ("auto", "homoskedastic")
    if itself or not context.allowance.is_private:  # releases that tell errors themselves
        return asked, ""
    share = usual_share(*public) if isinstance(wanted, bool | str) else float(wanted)
    why, helps = refusal(*public, share)
    if task.calibration is Calibration.PAPER:
        why, helps = "the noise is that of a paper, which prints none of it", ""
    if not why and not isinstance(asked, str) and type(asked) not in OWN:
        why, helps = "the solver is one's own, and may take or leave answers that are meant for them", ""
    if wanted != "auto":
        refuse(why, helps)
    if why:
        return asked, f"No errors are told: {why}. {helps}".strip()
    return WithInference(asked, share, errors), ""


def _errors(task: Task, context: PlanContext) -> str:
    """The kind of errors that is bought: by unit where it has several records and nothing else was asked for."""
    copies = context.prices.facts.records_per_unit
    if copies > MOST_PER_UNIT and task.errors in ("auto", "unit"):
        if task.errors == "unit":
            raise InvalidParameter(
                f"errors='unit' was asked, and a unit has up to {copies:,} records; sums of at most {MOST_PER_UNIT:,} are exact. Nothing was charged or read. Declare fewer records_per_unit, or leave errors out."
            )
        return "bound"
    if copies == 1:
        return "robust" if task.errors == "unit" else task.errors
    return "unit" if task.errors == "auto" else task.errors


@lru_cache(maxsize=256)
def _chosen(context: PlanContext, asked: str | Solver) -> tuple[Solver, Plan, Kept]:
    """The planner's choice, remembered, and what was measured for it: a function of public facts that takes a moment to rehearse."""
    with remembered(context.problem, context.prices.facts, context.allowance) as kept:
        return *choose(replace(context, kept=kept), asked), kept


def plan_context(task: Task, encoding: Encoding, rows: int | None, *, parted: bool = False) -> PlanContext:
    """The public facts of a task; raises for what can be known to be wrong before anything is spent."""
    check(task, encoding)
    problem = problem_of(task, encoding, task.number_of_records(rows))
    prices = PricedQueries(replace(encoding.facts), task.neighbours, problem.records, parted)
    return PlanContext(problem, prices, task.allowance(), rehearsal, held=task.held)


def check(task: Task, encoding: Encoding) -> None:
    """Refuse a ledger without a dataset, a domain without a target, and sets of other dimensions than the encoded columns."""
    task.check()
    if not encoding.facts.targets:
        raise DomainError(
            "The domain declares no target, so there is nothing to learn. Its bounds scale the noise and are never read from the records: declare target=(lo, hi), target={'column': (lo, hi)}, or classes={'column': ['no', 'yes']}."
        )
    columns = coordinates(task.loss, encoding)
    check_matrix(task.loss, (task.constraint, task.penalty), len(encoding.facts.targets), len(columns))
    check_dimension(task.constraint, task.penalty, columns)


def problem_of(task: Any, encoding: Encoding, records: int) -> Problem:
    """A task, or what else has a loss, a relation, a set and a penalty, as solvers see it."""
    facts = encoding.facts
    same = "intercept", "norm_l1", "norm_l2", "norm_linf", "offset_bound", "max_weight", "records_per_unit"
    return Problem(
        **{name: getattr(facts, name) for name in same},
        loss=task.loss,
        dimension=facts.width,
        targets=len(facts.targets),
        records=records,
        neighbours=task.neighbours,
        constraint=task.constraint,
        penalty=task.penalty,
        weighted=not facts.alike,
        public=getattr(task, "public", None),
        earlier=getattr(task, "earlier", 0),
        once=getattr(task, "held", False),
    )


def coordinates(loss: AnyLoss, encoding: Encoding) -> Sequence[str]:
    """What a set acts on: a slope for each encoded column; of a loss of several predictions, one for each of them too."""
    columns, targets = encoding.feature_names_out, encoding.facts.targets
    if isinstance(loss, VectorLoss):
        return [f"{column} for {target}" for column in columns for target in targets]
    return columns


def check_dimension(constraint: ConvexSet | None, penalty: Penalty, columns: Sequence[str]) -> None:
    """Refuse a set or a norm made for so many coordinates where the encoded columns are not as many, or of sizes that doubles cannot reckon with."""
    normed: int | None = None
    if isinstance(penalty, SubmodularPenalty):
        normed = penalty.function.dimension
    elif isinstance(penalty, GroupPenalty):
        normed = sum(map(len, penalty.groups))
    held = None if constraint is None else constraint.dimension
    for what, dimension in (("constraint is a set", held), ("penalty is a norm", normed)):
        if dimension in (None, len(columns)):
            continue
        shown = ", ".join(columns[:10]) + (", and so on" if len(columns) > 10 else "")
        raise InvalidParameter(
            f"The {what} in {dimension} dimensions, but {len(columns)} encoded columns get a "
            f"coefficient ({shown or 'no feature is left'}; the intercept is never constrained). Nothing was read or charged. Declare it in as many, in this order (a Box takes a single number for all, too)."
        )
    if not columns:  # beside an intercept alone a set and a penalty have no part
        return
    reach = 0.0 if constraint is None else constraint.max_norm(2, len(columns))
    price = penalty.value(np.ones(len(columns)))
    if not all(size == 0.0 or 1.0 / LARGEST <= size <= LARGEST for size in (reach, price)):  # NaN is not
        raise InvalidParameter(
            f"The constraint reaches {reach:g} from 0, and the penalty of coefficients of 1 is {price:g}. Sizes beyond {LARGEST:g} or below {1.0 / LARGEST:g} "
            "have squares and cubes that a computer's numbers do not hold. Nothing was read or charged. Give sizes of the order of 1."
        )


def check_matrix(loss: AnyLoss, shapes: tuple[ConvexSet | None, Penalty], targets: int, slopes: int) -> None:
    """Refuse a set or penalty of matrices that has not a column for each target of the loss.

    With one prediction the slopes themselves may be a matrix, row by row: any number of columns that divides theirs.
    """
    several = isinstance(loss, VectorLoss)
    for shape in shapes:
        if not isinstance(shape, NuclearBall | NuclearPenalty):
            continue
        if several and shape.columns != targets:
            raise InvalidParameter(
                f"The {type(shape).__name__} is one of matrices with {shape.columns} columns, but a fit with the loss "
                f"{loss.name!r} has a matrix of {targets}, one for each target that is learned together. Nothing was read or charged. Pass columns={targets}."
            )
        if not several and slopes % shape.columns:
            raise InvalidParameter(
                f"The {type(shape).__name__} is one of matrices with {shape.columns} columns, and the {slopes} encoded columns, row by row, make "
                "no such matrix. Nothing was read or charged. Pass a number of columns that divides theirs; or use hb.MultiTaskRegression or "
                "a multinomial hb.LogisticRegression, which learn several targets together."
            )


def replanned(planned: PlannedFit, records: int, spend: float = 1.0) -> PlannedFit:
    """The same solver, planned for another number of records and a multiple of the budget."""
    problem = replace(planned.problem, records=records)
    prices = PricedQueries(planned.encoding.facts, problem.neighbours, records)
    plan = planned.solver.plan(problem, prices, planned.allowance.scaled(spend))
    return replace(planned, problem=problem, plan=plan)


def tried_out(planned: PlannedFit, known: Mapping[str, float], draws: int = 3) -> tuple[Rehearsed, ...]:
    """What the plan, or the same solver's of fewer columns, does on the synthetic tables with a signal; nothing where that would take long.

    `known` is what is publicly known of the table, by the attribute of a scenario; wide tables are tried out without it.
    """
    if not planned.allowance.is_private:
        return ()
    problem, facts = planned.problem, planned.encoding.facts
    prices = PricedQueries(facts, problem.neighbours, problem.records)
    with remembered(problem, facts, planned.allowance) as kept:
        kept.update(planned.kept)
        context = PlanContext(problem, prices, planned.allowance, rehearsal, kept)
        return priced(context, Forecast(planned.solver, planned.plan), known, draws)


def priced(context: PlanContext, one: Forecast, known: Mapping[str, float], draws: int = 3) -> tuple[Rehearsed, ...]:
    """The same of a forecast's plan."""
    found = staged(context, [one], 1)
    if found is None or found[0][0].plan is None:
        return ()
    (one,), _, rehearsals = found
    apart = [replace(each, name=f"{each.name}, {known}", **known) for each in PRICED]  # type: ignore[arg-type]
    scenarios, draws = (rehearsals.scenarios[:-1], DRAWS) if rehearsals.wide else (apart, draws)
    return tuple(rehearsals.rehearse(scenario, one, draws) for scenario in scenarios)


def fit(
    task: Task, encoding: Encoding, source: Table, target: Any, weight: Any, points: list[Array] | None = None
) -> Release:
    """Carry a task out on an opened table, by its encoding; `points` takes the iterates."""
    check_parts(encoding, source, target, weight)
    if task.calibration is Calibration.EXACT:  # a paper's noise is declared as what it guarantees
        task.refuse_hopeless()
    planned = prepare(task, encoding, source.n_rows if task.count_is_public else None, parted=source.parted)
    detail = {"solver": planned.plan.solver, "columns": list(encoding.facts.columns)}
    solve = partial(planned.solve, points=points)
    done = run_release(task, encoding, planned.bought, solve, source, target, weight, detail=detail)
    return planned.release(done.found, done.statement)
