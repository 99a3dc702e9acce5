"""The hinge: validate → plan → charge → read → draw noise → post-process → release, in this order, for every estimator.

Nothing above this file touches a curator, nothing below it touches a ledger. What can fail before the charge depends on
public arguments and on the table's declared schema; after the charge nothing fails because of a record's value, and a
failure of the machine leaves the charge in place.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from hullabaloo.curator import Curator
from hullabaloo.data import Domain, Encoding, Rows, TargetScale
from hullabaloo.data.source import RowFacts
from hullabaloo.errors import BudgetError, DomainError, InvalidParameter
from hullabaloo.geometry import ConvexSet, GroupPenalty, NuclearBall, NuclearPenalty, Penalty, SubmodularPenalty
from hullabaloo.ledger import Charge, Ledger
from hullabaloo.losses import AnyLoss, VectorLoss
from hullabaloo.noise import Key, TestKey
from hullabaloo.planning.choose import choose, exact
from hullabaloo.planning.forecasts import Perform, Rehearsed, can_rehearse, rehearse, stages
from hullabaloo.planning.named import name_of
from hullabaloo.planning.synthetic import SyntheticTable
from hullabaloo.privacy import Allowance, Budget, Calibration, Neighbours, epsilon_of
from hullabaloo.queries import PricedQueries
from hullabaloo.release import PrivacyStatement, Release
from hullabaloo.release.terms import Terms, machine_failures
from hullabaloo.solvers import Plan, Problem, Solution, Solver

PAPERS = ("mirror_descent", "frank_wolfe", "coordinate_descent", "objective_perturbation", "output_perturbation")
"""Solvers whose paper prints how much noise they take."""
_REHEARSAL = TestKey(b"rehearsals draw from a fixed key")


@dataclass(frozen=True, slots=True)
class Task:
    """The public arguments of one fit."""

    what: str
    loss: AnyLoss
    domain: Domain
    budget: Budget
    neighbours: Neighbours
    constraint: ConvexSet | None
    penalty: Penalty
    fit_intercept: bool
    solver: str | Solver
    ledger: Ledger | None = None
    dataset: str | None = None
    key: TestKey | None = None
    calibration: Calibration = Calibration.EXACT
    scale: TargetScale = TargetScale.SYMMETRIC
    exposure: str | None = None

    @property
    def terms(self) -> Terms:
        """What a fit shares with every other question to a table."""
        return Terms(self.what, self.domain, self.budget, self.neighbours, self.ledger, self.dataset, self.key)

    def encoding_for(self, table: Any, target: Any = None, weight: Any = None) -> Encoding:
        """The public encoding of a table, from its declared schema alone."""
        return self.domain.encoding_for(
            table, target, weight=weight, fit_intercept=self.fit_intercept, scale=self.scale, exposure=self.exposure
        )


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything that is fixed before data is read."""

    task: Task
    encoding: Encoding
    problem: Problem
    solver: Solver
    plan: Plan
    allowance: Allowance
    budget: Budget


@dataclass(frozen=True, slots=True)
class Fitted:
    """A release, the plan that it followed, and whether the table's columns have names."""

    release: Release
    prepared: Prepared
    named: bool


@dataclass(frozen=True, slots=True)
class Posed:
    """A task as solvers see it: the problem, what can be bought, what may be spent, and how plans are tried out."""

    problem: Problem
    menu: PricedQueries
    allowance: Allowance
    perform: Perform


def prepare(task: Task, encoding: Encoding, rows: int | None) -> Prepared:
    """Plan a fit from public facts; draws nothing, reads nothing, charges nothing."""
    if task.calibration is Calibration.PAPER and task.solver == "auto":
        raise InvalidParameter(
            "calibration='paper' reproduces the noise that one method's paper prints, and solver='auto' names no method. Name the "
            "solver, such as solver='mirror_descent', or leave calibration='exact'."
        )
    if task.calibration is Calibration.PAPER and name_of(task.solver) not in PAPERS:
        raise InvalidParameter(
            f"calibration='paper' was asked of solver={name_of(task.solver)!r}, which follows no paper's formula for its noise. Leave "
            f"calibration='exact', or name one of {', '.join(map(repr, PAPERS))}."
        )
    posed = pose(task, encoding, rows)
    solver, plan = _choose(posed, task.solver)
    _check_plan(plan, posed.menu)
    return Prepared(task, encoding, posed.problem, solver, plan, posed.allowance, _price(task, plan))


def _choose(posed: Posed, asked: str | Solver) -> tuple[Solver, Plan]:
    """The planner's choice, remembered: it is a function of public facts that takes a moment to rehearse."""
    facts = (posed.problem, posed.menu, posed.allowance, asked)
    try:
        hash(facts)
    except TypeError:  # a set that holds an array cannot be remembered
        return choose(*facts, posed.perform)
    return _remembered(*facts)


@lru_cache(maxsize=256)
def _remembered(
    problem: Problem, menu: PricedQueries, allowance: Allowance, asked: str | Solver
) -> tuple[Solver, Plan]:
    return choose(problem, menu, allowance, asked, rehearsal(menu.facts))


def pose(task: Task, encoding: Encoding, rows: int | None) -> Posed:
    """The public facts of a task; raises for what can be known to be wrong before anything is spent."""
    check(task, encoding)
    problem = problem_of(task, encoding, task.terms.records(rows))
    menu = PricedQueries(encoding.facts, task.neighbours, problem.records)
    return Posed(problem, menu, allowance(task), rehearsal(encoding.facts))


def check(task: Task, encoding: Encoding) -> None:
    """Refuse a ledger without a dataset, a domain without a target, and sets of other dimensions than the encoded columns."""
    task.terms.check()
    if not encoding.facts.targets:
        raise DomainError(
            "The domain declares no target, so there is nothing to learn. Its bounds scale the noise and are never read "
            "from the records: declare target=(lo, hi), target={'column': (lo, hi)}, or classes={'column': ['no', 'yes']}."
        )
    check_matrix(task.loss, (task.constraint, task.penalty), len(encoding.facts.targets))
    check_dimension(task.constraint, task.penalty, coordinates(task.loss, encoding))


def problem_of(task: Task, encoding: Encoding, records: int) -> Problem:
    """A task as solvers see it."""
    facts = encoding.facts
    return Problem(
        loss=task.loss,
        dimension=facts.width,
        intercept=facts.intercept,
        norm_l1=facts.norm_l1,
        norm_l2=facts.norm_l2,
        norm_linf=facts.norm_linf,
        targets=len(facts.targets),
        records=records,
        neighbours=task.neighbours,
        constraint=task.constraint,
        penalty=task.penalty,
        offset_bound=facts.offset_bound,
        max_weight=facts.max_weight,
        records_per_unit=facts.records_per_unit,
    )


def rehearsal(facts: RowFacts) -> Perform:
    """How plans are tried out: the real curator answers their queries on a synthetic table, with noise of a fixed key."""

    def perform(problem: Problem, solver: Solver, plan: Plan, table: SyntheticTable, draw: int) -> Solution:
        quotes = tuple(quote.resized(problem.records) for quote in plan.quotes)  # type: ignore[attr-defined]
        rows = Rows(table.X, table.Y, offset=table.offset)
        curator = Curator(rows, quotes, key=_REHEARSAL.derive(draw))
        return solver.run(problem, replace(plan, quotes=quotes), curator)

    return perform


def coordinates(loss: AnyLoss, encoding: Encoding) -> Sequence[str]:
    """What a set acts on: a slope for each encoded column; of a loss of several predictions, one for each of them too."""
    columns, targets = encoding.feature_names_out, encoding.facts.targets
    if isinstance(loss, VectorLoss):
        return [f"{column} for {target}" for column in columns for target in targets]
    return columns


def check_dimension(constraint: ConvexSet | None, penalty: Penalty, columns: Sequence[str]) -> None:
    """Refuse a set or a norm made for so many coordinates where the encoded columns are not as many."""
    normed: int | None = None
    if isinstance(penalty, SubmodularPenalty):
        normed = penalty.function.dimension
    elif isinstance(penalty, GroupPenalty):
        normed = sum(map(len, penalty.groups))
    for what, dimension in (
        ("constraint is a set", constraint and constraint.dimension),
        ("penalty is a norm", normed),
    ):
        if dimension in (None, len(columns)):
            continue
        shown = ", ".join(columns[:10]) + (", and so on" if len(columns) > 10 else "")
        raise InvalidParameter(
            f"The {what} in {dimension} dimensions, but {len(columns)} encoded columns get a "
            f"coefficient ({shown}; the intercept is never constrained). Nothing was read or charged. Declare it in as many, "
            "in this order (a Box takes a single number for all, too)."
        )


def check_matrix(loss: AnyLoss, shapes: tuple[ConvexSet | None, Penalty], targets: int) -> None:
    """Refuse a set or penalty of matrices that has not a column for each target of the loss."""
    wanted = targets if isinstance(loss, VectorLoss) else 1
    for shape in shapes:
        if isinstance(shape, NuclearBall | NuclearPenalty) and shape.columns != wanted:
            raise InvalidParameter(
                f"The {type(shape).__name__} is one of matrices with {shape.columns} columns, but a fit with the loss "
                f"{loss.name!r} has a matrix of {wanted}, one for each target that is learned together. Nothing was read or "
                f"charged. Pass columns={wanted}, or use hb.MultiTaskRegression or a multinomial hb.LogisticRegression, which learn "
                "several together."
            )


def replanned(prepared: Prepared, *, records: int, spend: float) -> float:
    """Predicted excess risk of the same solver with another number of records and a multiple of the budget."""
    problem = replace(prepared.problem, records=records)
    menu = PricedQueries(prepared.encoding.facts, problem.neighbours, records)
    return prepared.solver.predicted_risk(
        problem, prepared.solver.plan(problem, menu, prepared.allowance.scaled(spend))
    )


def tried_out(prepared: Prepared, draws: int = 4) -> tuple[Rehearsed, ...]:
    """What the plan does on the synthetic tables of its domain; empty where that would take long."""
    problem, facts = prepared.problem, prepared.encoding.facts
    if not (prepared.allowance.is_private and can_rehearse(problem)):
        return ()
    perform = rehearsal(facts)
    scenes = stages(problem, exact(problem, PricedQueries(facts, problem.neighbours, problem.records)), perform)
    return tuple(rehearse(scene, prepared.solver, prepared.plan, perform, draws) for scene in scenes)


def fit(task: Task, table: Any, target: Any = None, weight: Any = None, encoding: Encoding | None = None) -> Fitted:
    """Carry a task out on a table; `encoding` is `task.encoding_for` of it where that is known already."""
    source = task.terms.domain.open(table)
    encoding = task.encoding_for(source, target, weight) if encoding is None else encoding
    prepared = prepare(task, encoding, source.n_rows if task.terms.count_is_public else None)
    charge = _charge(prepared)
    with machine_failures():
        release = answer(prepared, encoding.encode(source, target, weight=weight), charge)
    return Fitted(release, prepared, named=source.schema.names is not None)


def answer(prepared: Prepared, rows: Rows, charge: Charge | None, key: Key | None = None) -> Release:
    """Carry a prepared fit out on encoded rows; what it costs has been charged, or is not counted.

    `key` is for the noise in place of the task's: a secret one, from which a private fit can be drawn again, or one derived from the task's.
    """
    task, plan = prepared.task, prepared.plan
    curator = Curator(rows, plan.quotes, key=task.key if key is None else key)  # type: ignore[arg-type]  # the menu made these quotes
    try:
        solution = prepared.solver.run(prepared.problem, plan, curator)
    except InvalidParameter as error:  # a callable of the user's that failed at a released point
        raise InvalidParameter(f"{error} Nothing is released; a charge that was made stays.") from error
    return Release(
        theta=solution.theta,
        statement=_statement(prepared, charge),
        plan=plan.to_dict(),
        privacy_covariance=solution.privacy_covariance,
        sampling_covariance=solution.sampling_covariance,
        moments=solution.moments,
        trace=solution.trace,
    )


def allowance(task: Task) -> Allowance:
    """The budget, in the ledger's filter."""
    return task.terms.allowance(task.calibration)


def _check_plan(plan: Plan, menu: PricedQueries) -> None:
    """See that a solver, which may be the user's own, bought nothing but what the menu sells: events are then what answers cost."""
    if type(plan) is Plan and type(plan.quotes) is tuple and all(menu.owns(quote) for quote in plan.quotes):
        return
    raise InvalidParameter(
        f"The plan of solver {plan.solver!r} holds a query that was not made by the menu it was given, so its price cannot be relied "
        "on. Nothing was charged or read. Return a Plan whose quotes come from menu.price(...)."
    )


def _price(task: Task, plan: Plan) -> Budget:
    """The budget that the fit declares. Fail closed: it admits what the plan will draw, whatever the solver computed.

    The noise that a paper prints may be less than its claim needs: then the budget that the plan really costs is declared.
    """
    if task.budget.is_private and not task.budget.admits(plan.event):
        if task.calibration is Calibration.PAPER:
            return _real_budget(task.budget, plan)
        raise BudgetError(
            f"The plan of solver {plan.solver!r} costs more than the budget {task.budget.describe()} allows. Nothing "
            "was charged or read. This is a fault of the planner; please report it."
        )
    return task.budget


def _real_budget(claimed: Budget, plan: Plan) -> Budget:
    delta = claimed.delta if claimed.kind == "dp" else 1e-6
    epsilon = epsilon_of(plan.event, delta) * (1.0 + 1e-9)
    real = Budget(epsilon, delta) if math.isfinite(epsilon) else None
    if real is None or not real.admits(plan.event):
        raise BudgetError(
            f"The noise that the paper of solver {plan.solver!r} prints for {claimed.describe()} has no known guarantee at "
            f"delta = {delta:g}. Nothing was charged or read. Use calibration='exact'."
        )
    return real


def _charge(prepared: Prepared) -> Charge | None:
    plan = prepared.plan
    detail = {"solver": plan.solver, "columns": list(prepared.encoding.facts.columns)}
    return prepared.task.terms.charge(plan.event, prepared.budget, detail)


def _statement(prepared: Prepared, charge: Charge | None) -> PrivacyStatement:
    task, plan = prepared.task, prepared.plan
    claims = task.calibration is Calibration.PAPER and task.budget.is_private
    return task.terms.statement(
        plan.event,
        charge,
        records=prepared.problem.records,
        noise=tuple(quote.to_dict() for quote in plan.quotes),
        budget=prepared.budget,
        claimed=task.budget if claims else None,
    )
