"""Every kind of candidate, carried out once on a table of nothing, so that what is imported and compiled tells not which of them were drawn.

Python and Numba keep compiled code on disk: without this the folder of a search's first time would show which kinds of candidates it had tried.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from hullabaloo.curation.scoring import answer, score_of
from hullabaloo.curation.searching import PlannedCandidate, SearchPlan
from hullabaloo.data import Rows
from hullabaloo.noise import TestKey

_RECORDS = 8
_PUBLIC = TestKey(b"tables of nothing hide no record")


def load_all(plan: SearchPlan, tables: Mapping[Any, Rows]) -> None:
    """Carry each kind of candidate out on rows of zeros, kept as the table's are; before anything is drawn.

    **Guarantee.** A function of public facts: the plan, and how rows are kept. Nothing of the table is read, and nothing comes of it.
    """
    kinds: dict[Any, PlannedCandidate] = {}
    for one in plan.candidates:
        kinds.setdefault(_kind(one), one)
    for one in kinds.values():
        rows = _nothing(tables[one.reads], one.encoding.facts.intercept)
        with suppress(Exception):  # whether a candidate is any good is for its own runs to tell
            release = answer(one.fit, rows, _PUBLIC)
            score_of(one.read, one.query, release.theta, rows, _PUBLIC)


def _kind(one: PlannedCandidate) -> tuple[Any, ...]:
    """What decides which code runs."""
    problem = one.fit.problem
    asked = tuple(type(query) for query in one.fit.bought.queries)
    both = problem.constraint, problem.penalty
    shapes = tuple((type(shape), type(getattr(shape, "function", None))) for shape in both)
    return one.reads, one.fit.plan.solver, type(problem.loss), asked, shapes


def _nothing(rows: Rows, intercept: bool) -> Rows:
    count, k = _RECORDS, rows.Y.shape[1]
    X: Any = np.zeros((count, rows.X.shape[1]))
    if intercept:
        X[:, -1] = 1.0
    if not isinstance(rows.X, np.ndarray):
        X = type(rows.X)(X)
        X.indices, X.indptr = X.indices.astype(rows.X.indices.dtype), X.indptr.astype(rows.X.indptr.dtype)
    weight = None if rows.weight is None else np.ones(count)
    offset = None if rows.offset is None else np.zeros(count)
    return Rows(X, np.zeros((count, k)), weight, offset)
