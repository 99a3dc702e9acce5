"""`hb.plan`: which solver, how many steps, how much noise and what to expect, before any data is read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hullabaloo.data import Domain, TargetScale
from hullabaloo.data.targets import ClassTarget
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import ConvexSet, NoPenalty, Penalty
from hullabaloo.losses import AnyLoss, KernelCode, Loss, Squared, VectorLoss
from hullabaloo.planning.choose import best_of, forecasts, weights
from hullabaloo.planning.table import PlanRow, PlanTable
from hullabaloo.planning.theory.lower_bounds import LowerBound, lower_bounds
from hullabaloo.planning.theory.upper_bounds import upper_bounds
from hullabaloo.privacy import Budget, Neighbours
from hullabaloo.release.planned import PlanContext, Task, plan_context

if TYPE_CHECKING:
    from hullabaloo.planning.forecasts import Forecast

_CLASSES = (KernelCode.LOGISTIC, KernelCode.SMOOTHED_HINGE)


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
) -> PlanTable:
    """Compare every solver for one problem, from public facts alone; reads no data and spends nothing.

    Each solver's plan is carried out on synthetic tables of the declared domain, at the noise it would have on n records,
    and its excess risk is measured there; beside it stands the solver's own formula and the lower bounds of the literature.

    Args:
        n: the number of records; where that is private, the nominal number to plan for, in place of the domain's.
        budget: what may be spent.
        p: the number of columns, where the domain is a row norm only, or where no domain is given.
        domain: what is declared about rows and target; without one, rows of l2 norm at most 1 and a target in [−1, 1] (two
            classes for losses of classes, counts up to 1 for the Poisson loss).
        loss: the loss of one record, such as `hb.Squared()` (default) or `hb.Logistic()`.
        set: the constraint set on the unit domain; excludes `penalty`.
        penalty: the penalty on the unit domain.
        neighbours: "replace-one" or "add-or-remove".
        fit_intercept: whether a constant column is added.
        exposure: the domain's feature that counts are proportional to; for the Poisson loss.

    Returns:
        A table: print it, draw it with `.plot()`, read it with `.to_dict()`.

    Raises:
        InvalidParameter: arguments that do not fit together.

    Example:
        >>> import hullabaloo as hb
        >>> table = hb.plan(n=20_000, p=10, set=hb.L1Ball(1.0), budget=hb.Budget(1.0, 1e-9))
        >>> table.rows[0].able
        True
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise InvalidParameter(
            f"hb.plan needs the number of records as a whole number, such as n=20_000, but got {n!r}."
        )
    if not isinstance(budget, Budget):
        raise InvalidParameter("hb.plan needs a budget: pass budget=hb.Budget(1.0, 1e-8), for example.")
    if not isinstance(fit_intercept, bool | np.bool_):
        raise InvalidParameter(
            f"hb.plan was given fit_intercept as an object of {type(fit_intercept).__name__}. Pass True or False."
        )
    if set is not None and penalty is not None:
        raise InvalidParameter(
            "hb.plan got both a set and a penalty, which describe the same trade-off; pass exactly one."
        )
    if not isinstance(domain, Domain | None):
        raise InvalidParameter(
            f"hb.plan needs a domain such as hb.Domain(features={{'age': (18, 90)}}, target=(0, 1)), and was given an object of "
            f"{type(domain).__name__}. Pass one, or p=… columns instead."
        )
    chosen_loss = _loss(loss, domain)
    _check_shapes(set, penalty, p)
    counts = chosen_loss.kernel_code == KernelCode.POISSON
    if exposure is not None and not counts:
        raise InvalidParameter(
            f"hb.plan got the exposure {exposure!r} with the loss {chosen_loss.name!r}, but only counts are proportional to one. Pass "
            "loss=hb.Poisson(), or leave it out."
        )
    declared = _with_records(_domain(domain, p, chosen_loss), n)
    task = Task(
        what="plan",
        loss=chosen_loss,
        domain=declared,
        budget=budget,
        neighbours=Neighbours.parse(neighbours),
        constraint=set,
        penalty=NoPenalty() if penalty is None else penalty,
        fit_intercept=fit_intercept,
        solver="auto",
        scale=TargetScale.NONNEGATIVE if counts else TargetScale.SYMMETRIC,
        exposure=exposure,
    )
    encoding = declared.encoding(n_features=p, fit_intercept=fit_intercept, scale=task.scale, exposure=exposure)
    return plan_table(plan_context(task, encoding, n), budget)


def plan_table(posed: PlanContext, budget: Budget) -> PlanTable:
    """The table of a posed task."""
    found: Sequence[Forecast] = forecasts(posed.problem, posed.menu, posed.allowance, posed.perform, fewest=1)
    taken = best_of(list(found), weights(posed.problem, posed.menu, posed.allowance))
    delta = budget.delta if budget.kind == "dp" and budget.is_private and budget.delta > 0.0 else 1e-6
    able = [one for one in found if one.rehearsed]
    constant = tuple((run.scenario, run.constant) for run in able[0].rehearsed) if able else ()
    return PlanTable(
        title=_title(posed, budget),
        chosen=taken.solver.name,
        why=taken.plan.reason if taken.plan is not None else "",
        rows=tuple(PlanRow.of(one, posed.allowance, delta) for one in found),
        lower_bounds=_bounds(posed, budget),
        constant=constant,
        upper_bounds=upper_bounds(posed.problem, found),
    )


def _bounds(posed: PlanContext, budget: Budget) -> tuple[LowerBound, ...]:
    if budget.kind != "dp" or not budget.is_private:
        return ()
    return tuple(lower_bounds(posed.problem, budget.epsilon, budget.delta))


def _loss(loss: object, domain: Domain | None) -> AnyLoss:
    """The loss, and whether it is one of what the domain declares."""
    chosen = Squared() if loss is None else loss
    if not isinstance(chosen, Loss | VectorLoss):
        raise InvalidParameter(
            f"hb.plan needs a loss such as hb.Squared(), hb.Logistic() or hb.Poisson(), but got {loss!r}; pass one of these."
        )
    if domain is None or not domain.targets:
        return chosen
    classes = isinstance(domain.targets[0], ClassTarget)
    if classes != (chosen.kernel_code in (*_CLASSES, KernelCode.MULTINOMIAL)):
        what, fitting = ("classes", "hb.Logistic()") if classes else ("a number", "hb.Squared()")
        raise InvalidParameter(
            f"hb.plan got the loss {chosen.name!r}, but the domain declares {what}. Pass loss={fitting}, or another domain: "
            "`target` declares a number, `classes` a class."
        )
    return chosen


def _check_shapes(body: object, penalty: object, p: object) -> None:
    if not isinstance(body, ConvexSet | None):
        raise InvalidParameter(
            f"hb.plan needs a set such as hb.L1Ball(1.0), but got {body!r}; pass one, or leave it out."
        )
    if not isinstance(penalty, Penalty | None):
        raise InvalidParameter(
            f"hb.plan needs a penalty such as hb.L1Penalty(0.01), but got {penalty!r}; pass one, or leave it out."
        )
    if p is not None and (isinstance(p, bool) or not isinstance(p, int) or p < 1):
        raise InvalidParameter(f"hb.plan needs the number of columns as a whole number, such as p=20, but got {p!r}.")


def _domain(domain: Domain | None, p: int | None, loss: AnyLoss) -> Domain:
    if domain is not None:
        if p is not None and domain.feature_names:
            raise InvalidParameter(
                f"hb.plan got p={p} beside a domain that declares its {len(domain.feature_names)} features, from which the columns "
                "follow. Leave p out; it is for domains of a row norm only."
            )
        return domain
    if p is None:
        raise InvalidParameter(
            "hb.plan needs to know the columns: pass p=… (rows of l2 norm at most 1 are assumed), or domain=hb.Domain(...)."
        )
    if isinstance(loss, VectorLoss):
        raise InvalidParameter(
            f"The loss {loss.name!r} has several targets, and without a domain there is one. Pass "
            "domain=hb.Domain(row_norm=1.0, classes=[...]) or domain=hb.Domain(row_norm=1.0, target={'a': (0, 1), 'b': (0, 1)})."
        )
    if loss.kernel_code in _CLASSES:
        return Domain(row_norm=1.0, classes=[0, 1])
    return Domain(row_norm=1.0, target=(0, 1) if loss.kernel_code == KernelCode.POISSON else (-1, 1))


def _with_records(domain: Domain, n: int) -> Domain:
    """The domain for n records, whatever nominal number it declares: a plan may be asked for any."""
    return Domain.from_dict({**domain.to_dict(), "records": n})


def _title(posed: PlanContext, budget: Budget) -> str:
    problem = posed.problem
    shape = "" if problem.constraint is None else f" over {problem.constraint}"
    shape += "" if isinstance(problem.penalty, NoPenalty) else f" with {problem.penalty}"
    columns = problem.dimension - problem.intercept
    return (
        f"{problem.loss.name} loss{shape}, n = {problem.records:,}, {columns} columns, {budget.describe()}, "
        f"{problem.neighbours}"
    )
