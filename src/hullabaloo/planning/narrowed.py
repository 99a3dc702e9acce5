"""A problem with fewer columns that stands for one too wide to be rehearsed.

*What is kept.* Of the records the number, of a row its bounds (but `‖x‖₂ ≤ √(p′b² + 1)`, as p′ cells reach no farther), of the budget
everything. Noise of one size s in every coordinate of θ moves a prediction by `s‖x‖₂`, however many columns there are; and a linear model
sees columns through inner products of rows alone. So the signal that a gradient shows, `‖E φ'x‖`, the noise beside it and the sampling error
depend on p through the effective rank of the records alone, which grows like ln²p where eigenvalues fall like 1/j.

*What is not.* A covariance's noise, and that of the curvatures of single columns, grows with p: by a norm s√(2p), or where rare columns have
little curvature. A choice among p columns loses ln p over its temperature. The narrowed plans of solvers that ask for these get √(p′/p) or
ln p′/ln p of the budget: the first two have then the noise of all columns.

*What is measured.* Where records are few against columns the empirical optimum interpolates and says nothing; plans are judged on fresh
rows, against the model that made the targets.

Where a row can be no longer than a small share of the cells allows (text, one-hot levels), rows are sparse (`synthetic.py`).
"""

from dataclasses import replace

import numpy as np

from hullabaloo.foreign import foreign
from hullabaloo.geometry import HasElasticForm, NuclearBall, SubmodularBall
from hullabaloo.solvers import Problem, QueryPrices

COLUMNS = 300
"""p′: the cost of a rehearsal is proportional to it; its size was not tuned."""
WIDE_ROWS, JUDGES, TELLING = 3_000, 1_000, 0.5
"""Of a narrowed problem, at most and at least as many to learn from, the least also to judge by; and what share of all columns sampling error grows with. Noise is that of all records, whatever
the rows are, but sampling error that of columns over rows: the same over as n p′/p rows of p′ columns. Chosen on grants_unimelb (2 800 rows) and we8there (1 050), of the six
tables that the scenarios were chosen on; 1 000 rows hid what the adaptive gradient keeps of the one, and 3 000 promised it of the other, where it keeps a third of that."""


def narrowed(problem: Problem, prices: QueryPrices) -> tuple[Problem, QueryPrices] | None:
    """The problem with `COLUMNS` coefficients, and what can be bought for it; None where its set or penalty is made for its own columns."""
    body, count = problem.constraint, max(COLUMNS // problem.targets, 1)
    shaped = body is not None and (body.dimension is not None or isinstance(body, SubmodularBall | NuclearBall))
    strange = foreign(body, problem.penalty, problem.loss) is not None
    if shaped or strange or problem.slopes <= count or not isinstance(problem.penalty, HasElasticForm):
        return None
    return replace(problem.of_columns(count), public=None), prices.restricted(count)


def share(name: str, problem: Problem, small: Problem) -> float:
    """Of the budget, what a solver's plan for the narrowed problem may spend."""
    p, less = problem.dimension, small.dimension
    if name in BY_COLUMN:
        return float(np.sqrt(less / p))
    return float(np.log(less) / np.log(p)) if name in BY_CHOICE else 1.0


BY_COLUMN = ("coordinate_descent", "preconditioned_gradient", "moments")
BY_CHOICE = ("greedy_selection", "greedy_coordinate_descent", "frank_wolfe")


def wide_rows(problem: Problem, columns: int) -> int:
    """How many synthetic rows stand for the table of a problem that stands for one of `columns` columns."""
    alike = round(problem.records * problem.dimension / (TELLING * columns))
    return min(problem.records, WIDE_ROWS, max(alike, JUDGES))
