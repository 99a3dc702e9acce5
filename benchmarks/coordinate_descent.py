"""Passes of private coordinate descent over a large table, against what memory allows in the same run and scikit-learn.

A pass is one update of each coordinate in turn: noise, clip and exact sums included. scikit-learn's solvers run without
noise, on the same numbers, in the layout they like best, for one and for several passes: the difference is what a further
pass costs, without their copies, norms and duality gaps.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LogisticRegression

from benchmarks.timing import alternate
from hullabaloo.curator.coordinate_gradient import CoordinateGradientQuery, Predictions, Updates
from hullabaloo.data.schema import Columns
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.geometry import L1Penalty, separable_form
from hullabaloo.losses import Logistic, Loss, Squared
from hullabaloo.privacy import Neighbours

SPEED = True
DENSE = [(1_000_000, 50), (100_000, 100)]  # rows, columns
SPARSE = (1_000_000, 10_000, 20)  # rows, columns, cells a row
REPEATS = 3
MORE = {"Lasso": 5, "liblinear, dual": 2}  # further passes of scikit-learn's solvers
ALPHA = 1e-6  # so small that no coordinate stays at 0

Tasks = dict[str, Callable[[], Any]]


def run() -> dict[str, Any]:
    """Medians of rounds in which all contestants take turns, one core each."""
    rng = np.random.default_rng(0)
    found = {f"dense {n} × {p}": _dense(rng, n, p) for n, p in DENSE}
    return {**found, "sparse {} × {}, {} cells a row".format(*SPARSE): _sparse(rng)}


def _dense(rng: np.random.Generator, n: int, p: int) -> dict[str, Any]:
    X = 0.5 * (
        rng.uniform(-1.0, 1.0, (n, p)) + rng.uniform(-1.0, 1.0, (n, 1))
    )  # correlated: no coordinate comes to rest
    y = rng.choice([-1.0, 1.0], n)
    columns = Columns(X)
    (table,) = columns.arrays()
    moved = 8 * n * p
    tasks: Tasks = {
        "reading the table": lambda: _total(table.reshape(-1)),
        "copying it by columns, once": lambda: Columns(X).arrays(),
        **_ours(X, y, columns),
        **_theirs(table.T, X, y),
    }
    return _compared(tasks, moved, p)


def _sparse(rng: np.random.Generator) -> dict[str, Any]:
    n, p, cells = SPARSE
    indices = np.sort(rng.integers(0, p, (n, cells), dtype=np.int32), axis=1).reshape(-1)
    starts = np.arange(0, n * cells + 1, cells, dtype=np.int32)
    X = sp.csr_array((rng.uniform(-1.0, 1.0, n * cells), indices, starts), shape=(n, p))
    X.sum_duplicates()
    y = rng.choice([-1.0, 1.0], n)
    columns = Columns(X)
    data, rows, bounds = columns.arrays()
    by_columns = sp.csc_array((data, rows.astype(np.int32), bounds.astype(np.int32)), shape=(n, p))
    predictions = np.zeros(n)
    tasks: Tasks = {
        "reading the table": lambda: (_total(data), _total(rows)),
        "reading the table and a number for each cell's row": lambda: _product(data, rows, predictions),
        "copying it by columns, once": lambda: Columns(X).arrays(),
        **_ours(X, y, columns),
        **_theirs(by_columns, X, y),
    }
    return _compared(tasks, 12 * data.size, p)


def _ours(X: Any, y: np.ndarray, columns: Columns) -> Tasks:
    return {"squared": _pass(X, y, columns, Squared(), 1.0), "logistic": _pass(X, y, columns, Logistic(), 4.0)}


def _pass(X: Any, y: np.ndarray, columns: Columns, loss: Loss, flat: float) -> Callable[[], None]:
    """One pass after the other from where the last one ended, at ε ≈ 1 for ten."""
    n, p = X.shape
    facts = RowFacts(tuple(map(str, range(p))), False, float(p), float(np.sqrt(p)), 1.0, ("y",))
    query = CoordinateGradientQuery(facts, Neighbours.REPLACE_ONE, n, 10 * p, 0.2 / np.sqrt(10 * p), loss)
    room = Predictions(Rows(X, y[:, None]), columns)
    squares = X.multiply(X).mean(axis=0) if sp.issparse(X) else np.einsum("ij,ij->j", X, X) / n
    settings = (np.full(p, 1.0), flat / np.asarray(squares), separable_form(L1Penalty(ALPHA), None, p))
    theta = np.zeros(p)

    def once() -> None:
        theta[:] = room.answer("coordinate_gradient", query, Updates(theta, np.arange(p), *settings), None).theta

    return once


def _theirs(by_columns: Any, by_rows: Any, y: np.ndarray) -> Tasks:
    def lasso(passes: int) -> Callable[[], Any]:
        model = Lasso(
            alpha=ALPHA,
            fit_intercept=False,
            precompute=False,
            max_iter=passes,
            tol=0.0,
            copy_X=False,
            selection="cyclic",
        )
        return lambda: _quietly(lambda: model.fit(by_columns, y, check_input=False))

    def liblinear(passes: int, dual: bool) -> Callable[[], Any]:
        model = LogisticRegression(
            solver="liblinear",
            l1_ratio=0.0 if dual else 1.0,
            dual=dual,
            C=1.0 / (ALPHA * y.size),
            fit_intercept=False,
            max_iter=passes,
            tol=1e-12,
        )
        return lambda: _quietly(lambda: model.fit(by_rows, y))

    return {
        "Lasso, max_iter=1": lasso(1),
        f"Lasso, max_iter={1 + MORE['Lasso']}": lasso(1 + MORE["Lasso"]),
        "liblinear, dual, max_iter=1": liblinear(1, dual=True),
        f"liblinear, dual, max_iter={1 + MORE['liblinear, dual']}": liblinear(1 + MORE["liblinear, dual"], dual=True),
        "liblinear, l1, max_iter=1": liblinear(1, dual=False),
    }


def _quietly(task: Callable[[], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        task()


def _compared(tasks: Tasks, moved: int, p: int) -> dict[str, Any]:
    median = dict(zip(tasks, alternate(*tasks.values(), repeats=REPEATS), strict=True))
    further = {
        name: (median[f"{name}, max_iter={1 + more}"] - median[f"{name}, max_iter=1"]) / more
        for name, more in MORE.items()
    }
    read = median["reading the table"]
    return {
        "seconds": median,
        "seconds of a further pass": further,
        "memory bandwidth of one core, GB/s": moved / read / 1e9,
        **{f"microseconds an update, {name}": 1e6 * median[name] / p for name in ("squared", "logistic")},
        **{f"memory's share, {name}": read / median[name] for name in ("squared", "logistic")},
        "squared / Lasso, max_iter=1": median["squared"] / median["Lasso, max_iter=1"],
        "squared / Lasso, a further pass": median["squared"] / further["Lasso"],
        "logistic / liblinear, dual, max_iter=1": median["logistic"] / median["liblinear, dual, max_iter=1"],
        "logistic / liblinear, dual, a further pass": median["logistic"] / further["liblinear, dual"],
        "logistic / liblinear, l1, max_iter=1": median["logistic"] / median["liblinear, l1, max_iter=1"],
    }


@njit(nogil=True, fastmath=True)
def _total(values):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@njit(nogil=True, fastmath=True)
def _product(data, rows, predictions):  # type: ignore[no-untyped-def]
    total = 0.0
    for at in range(data.size):
        total += data[at] * predictions[rows[at]]
    return total


if __name__ == "__main__":
    for part, value in run().items():
        print(part, value)
