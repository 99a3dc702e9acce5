"""What a stream costs, and what its model can be expected to gain at one of its releases, from public facts alone."""

import math
from dataclasses import replace

from hullabaloo.curation.moments_process import MomentsProcess, StreamTask
from hullabaloo.data import Encoding
from hullabaloo.errors import InvalidParameter
from hullabaloo.privacy import Budget, Neighbours, epsilon_of
from hullabaloo.release import large_delta
from hullabaloo.release.planned import prepare
from hullabaloo.release.price import Price, price


def price_of(task: StreamTask, process: MomentsProcess, encoding: Encoding, position: int | None) -> Price:
    """The spend of a whole stream, and the expectations of a fit whose moments have the noise that the stream's have by then.

    A model of the stream is solved from noisy moments like one of a table, only that their noise is `sigma · ‖e_tᵀB‖`. So the
    expectations are those of a fit on as many records under the μ that gives the same noise.
    """
    at = position if position is not None else task.schedule.horizon
    if at is None or isinstance(at, bool) or not isinstance(at, int) or at > task.records:
        found = f"position={position!r} was asked" if position is not None else "none was asked"
        raise InvalidParameter(
            f"What a model can be expected to gain depends on how many records are in: pass position=..., at most the horizon ({found})."
        )
    step = task.schedule.completed(at)
    if step == 0:
        raise InvalidParameter(
            f"A stream has released nothing after {at} records: its first release comes after {task.schedule.position(1)}. Ask for the "
            "price at that position or a later one."
        )
    query = process.query
    records, noise = max(1, round(query.effective_records(step))), query.sigma * query.error(step)
    fit = replace(task, neighbours=Neighbours.REPLACE_ONE, ledger=None, dataset=None, budget=Budget(math.inf))
    if noise > 0.0:
        once = prepare(replace(fit, budget=Budget.gdp(1.0)), encoding, records)
        fit = replace(fit, budget=Budget.gdp(float(once.plan.settings["sigma"]) / noise))
    told = price(prepare(fit, encoding, records))
    private = task.budget.is_private
    delta = task.budget.delta if task.budget.kind == "dp" and task.budget.delta > 0.0 else 1e-6
    late = large_delta(task.budget, task.schedule.horizon or at)
    released = task.schedule.position(step)
    span = f"the spend is that of all releases together; gain and noise are those of the model that is released after {released:,} records"
    return replace(
        told,
        solver="continual_moments",
        epsilon=epsilon_of(process.event, delta) if private else math.inf,
        delta=delta,
        mu=process.event.gdp_mu() if private else math.inf,
        records=released,
        reason="one noisy running sum serves every model of the stream",
        notes=(span, *told.notes, *([late] if late else [])),
    )
