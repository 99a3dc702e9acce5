"""One clipped gradient of a large table, against what memory allows in the same run and what a user would write."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit
from sklearn._loss import HalfBinomialLoss, HalfMultinomialLoss, HalfSquaredError
from sklearn.linear_model._linear_loss import LinearModelLoss

from benchmarks.timing import alternate
from hullabaloo.curator import GradientQuery
from hullabaloo.curator.exact import cores
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.losses import AnyLoss, Logistic, MultinomialLogistic, Squared
from hullabaloo.privacy import Neighbours

SPEED = True
N, P, CLASSES, REPEATS, PASSES = 1_000_000, 100, 5, 7, 100
SPARSE = (1_000_000, 10_000, 20)  # rows, columns, cells a row
SMALL = {(1_000, 10): 2_000, (10_000, 20): 500}  # (rows, columns): calls timed together

Tasks = dict[str, Callable[[], Any]]


def run() -> dict[str, Any]:
    """Medians of rounds in which all contestants take turns; memory's share is the time of reading over the gradient's."""
    rng = np.random.default_rng(0)
    return {
        "cores": cores(),
        f"dense {N} × {P}": _dense(rng),
        "sparse {} × {}, {} cells a row".format(*SPARSE): _sparse(rng),
        "small, seconds a call": {f"{n} × {p}": _small(rng, n, p, calls) for (n, p), calls in SMALL.items()},
    }


def _dense(rng: np.random.Generator) -> dict[str, Any]:
    X = rng.uniform(-1.0, 1.0, (N, P))
    signs = rng.choice([-1.0, 1.0], N)
    classes = rng.integers(0, CLASSES, N)
    theta, matrix = rng.normal(0.0, 0.1, P), rng.normal(0.0, 0.1, (P, CLASSES))
    squared, binary = _task(X, signs, Squared(), theta), _task(X, signs, Logistic(), theta)
    labels = (signs > 0.0).astype(np.float64)

    def unclipped(base: Any, y: np.ndarray, coefficients: np.ndarray) -> Callable[[], Any]:
        whole = LinearModelLoss(base_loss=base, fit_intercept=False)
        return lambda: whole.answer("gradient", coefficients, X, y, n_threads=cores())

    median = _medians(
        {
            "reading the table, all cores": lambda: _read(X.reshape(-1)),
            "squared": squared,
            "squared, numpy, two passes": lambda: X.T @ np.clip(X @ theta - signs, -0.5, 0.5),
            "squared, scikit-learn, not clipped": unclipped(HalfSquaredError(), signs, theta),
            "logistic": binary,
            "logistic, numpy, two passes": lambda: (
                X.T @ np.clip(-signs / (1.0 + np.exp(signs * (X @ theta))), -0.5, 0.5)
            ),
            "logistic, scikit-learn, not clipped": unclipped(HalfBinomialLoss(), labels, theta),
            "5 classes": _task(X, 2.0 * np.eye(CLASSES)[classes] - 1.0, MultinomialLogistic(), matrix),
            "5 classes, scikit-learn, not clipped": unclipped(
                HalfMultinomialLoss(n_classes=CLASSES), classes.astype(np.float64), np.asfortranarray(matrix.T)
            ),
        }
    )
    hundred, one = alternate(lambda: [squared() for _ in range(PASSES)], squared, repeats=1)
    read = median["reading the table, all cores"]
    return {
        "seconds": median,
        "memory bandwidth, GB/s": X.nbytes / read / 1e9,
        "memory's share, squared": read / median["squared"],
        "memory's share, logistic": read / median["logistic"],
        "squared / numpy": median["squared"] / median["squared, numpy, two passes"],
        "logistic / numpy": median["logistic"] / median["logistic, numpy, two passes"],
        "logistic / scikit-learn": median["logistic"] / median["logistic, scikit-learn, not clipped"],
        "100 passes / 100 times one": hundred / (PASSES * min(one, median["squared"])),
    }


def _sparse(rng: np.random.Generator) -> dict[str, Any]:
    n, p, cells = SPARSE
    indices = np.sort(rng.integers(0, p, (n, cells), dtype=np.int32), axis=1).reshape(-1)
    X = sp.csr_array((rng.uniform(-1.0, 1.0, n * cells), indices, np.arange(0, n * cells + 1, cells)), shape=(n, p))
    y, theta = rng.choice([-1.0, 1.0], n), rng.normal(0.0, 0.3, p)
    median = _medians(
        {
            "reading the cells, all cores": lambda: (_read(X.data), _read(X.indices)),
            "squared": _task(X, y, Squared(), theta),
            "squared, scipy, two passes": lambda: X.T @ np.clip(X @ theta - y, -0.5, 0.5),
            "logistic": _task(X, y, Logistic(), theta),
            "logistic, scipy, two passes": lambda: X.T @ np.clip(-y / (1.0 + np.exp(y * (X @ theta))), -0.5, 0.5),
        }
    )
    return {
        "seconds": median,
        "squared / scipy": median["squared"] / median["squared, scipy, two passes"],
        "logistic / scipy": median["logistic"] / median["logistic, scipy, two passes"],
    }


def _small(rng: np.random.Generator, n: int, p: int, calls: int) -> dict[str, float]:
    X, y, theta = rng.uniform(-1.0, 1.0, (n, p)), rng.choice([-1.0, 1.0], n), rng.normal(0.0, 0.1, p)
    tasks: Tasks = {
        "squared": _task(X, y, Squared(), theta),
        "logistic": _task(X, y, Logistic(), theta),
        "squared, numpy": lambda: X.T @ np.clip(X @ theta - y, -0.5, 0.5),
    }
    return {
        name: seconds / calls
        for name, seconds in _medians(
            {name: lambda task=task: [task() for _ in range(calls)] for name, task in tasks.items()}
        ).items()
    }


def _medians(tasks: Tasks) -> dict[str, float]:
    return dict(zip(tasks, alternate(*tasks.values(), repeats=REPEATS), strict=True))


def _task(X: Any, y: np.ndarray, loss: AnyLoss, theta: np.ndarray) -> Callable[[], Any]:
    n, p = X.shape
    Y = y.reshape(n, -1)
    targets = tuple(map(str, range(Y.shape[1])))
    facts = RowFacts(tuple(map(str, range(p))), False, float(p), float(np.sqrt(p)), 1.0, targets)
    query = GradientQuery(facts, Neighbours.REPLACE_ONE, n, 1, 0.01, loss, 0.5)
    rows = Rows(X, Y)
    return lambda: query.exact(rows, theta)


@njit(nogil=True, fastmath=True)
def _total(values):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


def _read(values: np.ndarray) -> float:
    """Every number once, one piece for each core."""
    pieces = np.array_split(values, cores())
    with ThreadPoolExecutor(len(pieces)) as pool:
        return float(sum(pool.map(_total, pieces)))


if __name__ == "__main__":
    for part, value in run().items():
        print(part, value)
