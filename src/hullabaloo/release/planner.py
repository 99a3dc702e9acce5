"""`hb.plan`: which solver, how many steps, how much noise and what to expect, before any data is read."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from hullabaloo.data import ClassTarget, Domain, Encoding, TargetScale
from hullabaloo.errors import InvalidParameter, is_whole
from hullabaloo.geometry import ConvexSet, NoPenalty, Penalty
from hullabaloo.losses import AnyLoss, KernelCode, Loss, Squared, VectorLoss
from hullabaloo.planning.choose import best_of, choose, floored, forecasts, passed_over
from hullabaloo.planning.context import PlanContext
from hullabaloo.planning.favours import CONSTANT, weights
from hullabaloo.planning.forecasts import middle
from hullabaloo.planning.synthetic import TWO_CLASSES
from hullabaloo.planning.table import UNCONFIRMED, PlanRow, PlanTable, asks_public
from hullabaloo.planning.theory.lower_bounds import lower_bounds
from hullabaloo.planning.theory.upper_bounds import upper_bounds
from hullabaloo.privacy import Budget, Neighbours
from hullabaloo.release.estimator import told
from hullabaloo.release.parameters import shown
from hullabaloo.release.planned import Task, plan_context, priced, quiet
from hullabaloo.release.price import FIRST
from hullabaloo.release.public_table import public_table
from hullabaloo.release.remembered import remembered
from hullabaloo.solvers.moments.moments import MomentsFirstSolver


@quiet()
@partial(told, name="hb.plan")
def plan(
    *,
    n: int,
    budget: Budget,
    p: int | None = None,
    domain: Domain | None = None,
    loss: AnyLoss | None = None,
    set: ConvexSet | None = None,  # the word of the papers
    penalty: Penalty | None = None,
    neighbours: str | Neighbours = "replace-one",
    fit_intercept: bool = True,
    exposure: str | None = None,
    public: Any = None,
) -> PlanTable:
    """Compare every solver for one problem, from public facts alone; reads no data and spends nothing.

    Each solver's plan is carried out on synthetic tables of the declared domain, at the noise it would have on n records,
    and its excess risk is measured there; beside it stand the solver's own formula, what its theorem says it loses at most, and the lower bounds of the literature.

    Args:
        n: the number of records; where that is private, the nominal number to plan for, in place of the domain's.
        budget: what may be spent.
        p: the number of columns, where the domain is a row norm only, or where no domain is given.
        domain: what is declared about rows and target; without one, rows of l2 norm at most 1 and a target in [−1, 1] (two
            classes for losses of classes, counts up to 1 for the Poisson loss).
        loss: the loss of one record, such as `hb.Squared()` (default) or `hb.Logistic()`.
        set: the constraint set on the unit domain; beside a penalty where a solver takes both.
        penalty: the penalty on the unit domain.
        neighbours: "replace-one" or "add-or-remove".
        fit_intercept: whether a constant column is added.
        exposure: the domain's feature that counts are proportional to; for the Poisson loss.
        public: a table that nobody has to protect, as estimators take one; forecasts are those of a wrong one.

    Returns:
        A table: print it, draw it with `.plot()`, read it with `.to_dict()`.

    Raises:
        InvalidParameter: arguments that do not fit together.
        SchemaError: a public table of other columns, units or levels than the domain declares, or too few rows.

    Example:
        >>> import hullabaloo as hb
        >>> table = hb.plan(n=2_000, p=4, set=hb.L1Ball(1.0), budget=hb.Budget(1.0, 1e-9))
        >>> table.rows[0].able
        True
    """
    about: dict[str, Any] = {"budget": budget, "p": p, "domain": domain, "loss": loss, "set": set, "penalty": penalty}
    about |= {"neighbours": neighbours, "fit_intercept": fit_intercept, "exposure": exposure}
    task, encoding = planned_task("hb.plan", n, **about)
    if public is not None:
        task = replace(task, public=public_table(public, encoding, task.loss))
    return plan_table(plan_context(task, encoding, n), budget)


def planned_task(
    who: str,
    n: int,
    *,
    budget: Budget,
    p: int | None,
    domain: Domain | None,
    loss: AnyLoss | None,
    set: ConvexSet | None,
    penalty: Penalty | None,
    neighbours: str | Neighbours,
    fit_intercept: bool,
    exposure: str | None = None,
) -> tuple[Task, Encoding]:
    """The task of n records that a plan is asked for, and how its rows are encoded; see `plan`.

    Raises:
        InvalidParameter: arguments that do not fit together.
    """
    loss = Squared() if loss is None else loss
    for value, fine, what in (
        (n, is_whole(n), "the number of records as a whole number, such as n=20_000"),
        (p, p is None or is_whole(p), "the number of columns as a whole number, such as p=20"),
        (budget, isinstance(budget, Budget), "a budget such as budget=hb.Budget(1.0, 1e-9)"),
        (fit_intercept, isinstance(fit_intercept, bool | np.bool_), "fit_intercept as True or False"),
        (domain, isinstance(domain, Domain | None), "a domain such as hb.Domain(row_norm=1.0, target=(0, 1))"),
        (loss, isinstance(loss, Loss | VectorLoss), "a loss such as hb.Squared(), hb.Logistic() or hb.Poisson()"),
        (set, isinstance(set, ConvexSet | None), "a set such as hb.L1Ball(1.0), or none"),
        (penalty, isinstance(penalty, Penalty | None), "a penalty such as hb.L1Penalty(0.01), or none"),
    ):
        if value is budget and isinstance(value, list | tuple):
            raise InvalidParameter(
                f"{who} compares solvers for one budget, but got a {type(value).__name__} of {len(value)}. Ask for each alone: [{who}(..., budget=one) for one in budgets]."
            )
        if not fine:
            raise InvalidParameter(f"{who} needs {what}, but got {shown(value)}. Pass one.")
    counts = loss.kernel_code == KernelCode.POISSON
    if exposure is not None and not counts:
        raise InvalidParameter(
            f"{who} got the exposure {exposure!r} with the loss {loss.name!r}, but only counts are proportional to one. Pass loss=hb.Poisson(), or leave it out."
        )
    domain = _domain(who, domain, p, loss)
    task = Task(
        what="plan",
        loss=loss,
        domain=Domain.from_dict({**domain.to_dict(), "records": n}),  # whatever nominal number it declares
        budget=budget,
        neighbours=Neighbours.parse(neighbours),
        constraint=set,
        penalty=NoPenalty() if penalty is None else penalty,
        fit_intercept=fit_intercept,
        solver="auto",
        scale=TargetScale.NONNEGATIVE if counts else TargetScale.SYMMETRIC,
        exposure=exposure,
    )
    encoding = task.domain.encoding(n_features=p, fit_intercept=fit_intercept, scale=task.scale, exposure=exposure)
    return task, encoding


def plan_table(posed: PlanContext, budget: Budget) -> PlanTable:
    """The table of a posed task."""
    with remembered(posed.problem, posed.prices.facts, posed.allowance) as kept:
        posed = replace(posed, kept=kept)
        found, weighed = forecasts(posed, fewest=1), weights(*posed.facts)
        if posed.problem.public is None:
            taken = best_of(found, weighed)
            assert taken.plan is not None
            chosen, why = taken.solver, taken.plan.reason + passed_over(taken, found, weighed)
            # Wide plans are priced by the tables of their lines.
            slopes = posed.allowance.is_private and taken.name != CONSTANT
            if slopes and taken.narrow is None and (runs := priced(posed, taken, {})):
                why += f". On tables further apart, which a price goes by, it keeps about {max(1.0 - middle(runs), 0.0):.0%}"
            if isinstance(floored(posed, taken.solver, taken.plan, brief=True)[0], MomentsFirstSolver):
                why += f". Beside these steps, {FIRST}"
        else:
            chosen, plan = choose(posed, "auto")
            why = plan.reason + f". {UNCONFIRMED}" * any(map(asks_public, (one.plan for one in found)))
    stated = budget.kind == "dp" and budget.is_private
    delta = budget.delta if stated and budget.delta > 0.0 else 1e-6
    tried = next((one.rehearsed for one in found if one.rehearsed), ())
    most = upper_bounds(posed.problem, found) if posed.allowance.is_private else ()
    by_solver = {one.solver: one for one in most}
    return PlanTable(
        title=_title(posed, budget),
        chosen=chosen.name,
        why=why,
        rows=tuple(PlanRow.of(one, posed.allowance, delta, by_solver.get(one.solver.name)) for one in found),
        lower_bounds=tuple(lower_bounds(posed.problem, budget.epsilon, budget.delta)) if stated else (),
        constant=tuple((run.scenario, run.constant) for run in tried),
        upper_bounds=most,
    )


def _domain(who: str, domain: Domain | None, p: int | None, loss: AnyLoss) -> Domain:
    """What is declared, or for p columns alone what that means; refuses what does not go together."""
    if domain is not None:
        classes = bool(domain.targets) and isinstance(domain.targets[0], ClassTarget)
        if domain.targets and classes != (loss.kernel_code in (*TWO_CLASSES, KernelCode.MULTINOMIAL)):
            what, fitting = ("classes", "hb.Logistic()") if classes else ("a number", "hb.Squared()")
            raise InvalidParameter(
                f"{who} got the loss {loss.name!r}, but the domain declares {what}. Pass loss={fitting}, or another domain: `target` declares a number, `classes` a class."
            )
        if p is not None and domain.feature_names:
            raise InvalidParameter(
                f"{who} got p={p} beside a domain that declares its {len(domain.feature_names)} features, from which the columns follow. Leave p out; it is for domains of a row norm only."
            )
        return domain
    if p is None:
        raise InvalidParameter(
            f"{who} needs to know the columns: pass p=… (rows of l2 norm at most 1 are assumed), or domain=hb.Domain(...)."
        )
    if isinstance(loss, VectorLoss):
        raise InvalidParameter(
            f"The loss {loss.name!r} has several targets, and without a domain there is one. Pass domain=hb.Domain(row_norm=1.0, classes=[...]) or domain=hb.Domain(row_norm=1.0, target={{'a': (0, 1), 'b': (0, 1)}})."
        )
    if loss.kernel_code in TWO_CLASSES:
        return Domain(row_norm=1.0, classes=[0, 1])
    return Domain(row_norm=1.0, target=(0, 1) if loss.kernel_code == KernelCode.POISSON else (-1, 1))


def _title(posed: PlanContext, budget: Budget) -> str:
    problem = posed.problem
    shape = "" if problem.constraint is None else f" over {problem.constraint}"
    shape += "" if isinstance(problem.penalty, NoPenalty) else f" with {problem.penalty}"
    public = "" if problem.public is None else f", {len(problem.public.X):,} public rows"
    return f"{problem.loss.name} loss{shape}, n = {problem.records:,}, {problem.slopes} columns, {budget.describe()}, {problem.neighbours}{public}"
