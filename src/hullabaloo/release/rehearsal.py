"""How plans are tried out: on tables that nobody has to protect."""

from dataclasses import dataclass, replace

import numpy as np

from hullabaloo.curator import Curator
from hullabaloo.data import RowFacts, Rows
from hullabaloo.noise import TestKey
from hullabaloo.planning.forecasts import Perform
from hullabaloo.planning.synthetic import SyntheticTable
from hullabaloo.solvers import Plan, Problem, Solution, Solver

_REHEARSAL = TestKey(b"rehearsals draw from a fixed key")


@dataclass(frozen=True, slots=True)
class _Rehearsal:
    facts: RowFacts

    def __call__(self, problem: Problem, solver: Solver, plan: Plan, table: SyntheticTable, draw: int) -> Solution:
        queries = tuple(query.resized(problem.records) for query in plan.queries)  # type: ignore[attr-defined]
        copies = self.facts.records_per_unit
        units = np.arange(len(table.Y)) // copies if copies > 1 else None
        rows = Rows(table.X, table.Y, offset=table.offset, unit=units)
        curator = Curator(rows, queries, key=_REHEARSAL.derive(draw))
        return solver.run(problem, replace(plan, queries=queries), curator)


def rehearsal(facts: RowFacts) -> Perform:
    """How plans are tried out: the real curator answers their queries on a synthetic table, with noise of a fixed key."""
    return _Rehearsal(facts)
