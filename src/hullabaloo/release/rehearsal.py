"""How plans are tried out: on tables that nobody has to protect."""

from dataclasses import replace

import numpy as np

from hullabaloo.curator import Curator
from hullabaloo.data import RowFacts, Rows
from hullabaloo.noise import TestKey
from hullabaloo.planning.context import Perform
from hullabaloo.planning.synthetic import SyntheticTable
from hullabaloo.solvers import Plan, Problem, Solution, Solver

_REHEARSAL = TestKey(b"rehearsals draw from a fixed key")


def rehearsal(facts: RowFacts) -> Perform:
    """How plans are tried out: the real curator answers their queries on a synthetic table, with noise of a fixed key."""
    copies = facts.records_per_unit

    def perform(problem: Problem, solver: Solver, plan: Plan, table: SyntheticTable, draw: int) -> Solution:
        queries = tuple(query.resized(problem.records) for query in plan.queries)  # type: ignore[attr-defined]
        units = np.arange(len(table.Y)) // copies if copies > 1 else None
        rows = Rows(table.X, table.Y, offset=table.offset, unit=units)
        curator = Curator(rows, queries, key=_REHEARSAL.derive(draw))
        return solver.run(problem, replace(plan, queries=queries), curator)

    return perform
