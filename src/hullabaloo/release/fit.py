"""A fit, for every estimator: plan it, then release it in the order of `run.py`."""

from dataclasses import dataclass
from typing import Any

from hullabaloo.data import Encoding
from hullabaloo.release import Release
from hullabaloo.release.planned import PlannedFit, Task, prepare
from hullabaloo.release.run import run_release


@dataclass(frozen=True, slots=True)
class Fitted:
    """A release, the plan that it followed, and whether the table's columns have names."""

    release: Release
    planned: PlannedFit
    named: bool


def fit(task: Task, table: Any, target: Any = None, weight: Any = None, encoding: Encoding | None = None) -> Fitted:
    """Carry a task out on a table; `encoding` is `task.encoding_for` of it where that is known already."""
    request = task.request
    source = request.domain.open(table)
    encoding = task.encoding_for(source, target, weight) if encoding is None else encoding
    planned = prepare(task, encoding, source.n_rows if request.count_is_public else None)
    detail = {"solver": planned.plan.solver, "columns": list(encoding.facts.columns)}
    done = run_release(request, encoding, planned.bought, planned.solve, source, target, weight, detail=detail)
    return Fitted(planned.release(done.found, done.statement), planned, named=source.schema.names is not None)
