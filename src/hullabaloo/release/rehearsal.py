"""How plans are tried out: on tables that nobody has to protect."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from hullabaloo.curator import Curator
from hullabaloo.curator.centred_gradient import CentredGradientQuery
from hullabaloo.curator.centred_gradient_kernels import dense_steps, measure
from hullabaloo.data import Rows
from hullabaloo.noise import TestKey
from hullabaloo.noise.public import known_noise
from hullabaloo.planning.synthetic import SyntheticTable
from hullabaloo.solvers import Array, Plan, Problem, Solution, Solver

_REHEARSAL = TestKey(b"rehearsals draw from a fixed key")
_noise = lru_cache(maxsize=4096)(known_noise)
"""Kept, as each draw of a plan has the same noise on every table."""


class _Steps(CentredGradientQuery):
    """Steps on a synthetic table, most of what is asked in rehearsals, by the kernel that answers about records, with the noise of its key. As nobody has to be protected, lengths of rows are measured once for each view."""

    def answered(self, rows: Any, question: tuple[Any, ...], key: Any, kept: dict[Any, Any]) -> Array:
        """From a view, at a point."""
        theta, view, clip_norm = question

        def measured() -> tuple[Array, ...]:
            lengths = np.full(len(rows.Y), np.nan)
            measure(rows.X, view.centre, view.scale, lengths)
            offset = np.zeros(0) if rows.offset is None else rows.offset
            return rows.X, np.ascontiguousarray(rows.Y[:, 0]), np.zeros(0), offset, lengths

        high, low = np.zeros((2, self.length), np.int64)
        cells = rows.kept("steps", (view.centre[:-1].tobytes(), view.scale[:-1].tobytes()), measured)
        dense_steps(*cells, theta, view.centre, view.scale, clip_norm, *self.kernel, *self.grid, high, low)
        pitch, noise = _noise(self.length, self.sigma, self.bound, key)
        noisy = (np.rint(low * (2.0**self.exponent / pitch)) + noise + 0.5) * pitch
        return self.read(noisy, theta, view, clip_norm)


def rehearsal(problem: Problem, solver: Solver, plan: Plan, table: SyntheticTable, draw: int) -> Solution:
    """Try a plan out: the real curator answers its queries on a synthetic table, with noise of a fixed key; on nothing else.

    Slopes of classes are not drawn back (`solvers/gradient/walk_noise.py`), which synthetic tables lose more by than real ones: with it choices on real tables are within 1.2 of the best on 0.83 of `benchmarks/real_forecasts.py`, both halves, where 0.88 and 0.87 are so.
    """
    if type(table) is not SyntheticTable:
        raise TypeError("a rehearsal's noise is public and protects nobody: it is of a synthetic table alone")
    queries: list[Any] = [query.resized(problem.records) for query in plan.queries]  # type: ignore[attr-defined]
    for query in queries:
        if type(query) is CentredGradientQuery:
            object.__setattr__(query, "__class__", _Steps)
    units = np.arange(len(table.Y)) // problem.records_per_unit if problem.records_per_unit > 1 else None
    rows = Rows(table.X, table.Y, offset=table.offset, unit=units)
    curator = Curator(rows, queries, key=_REHEARSAL.derive(draw))
    return solver.run(replace(problem, once=False), replace(plan, queries=tuple(queries)), curator)
