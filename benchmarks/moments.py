"""The moments of a 1e6 × 100 table, against what BLAS allows in the same run."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import alternate
from hullabaloo.curator import Curator
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries

SPEED = True
N, P, ROUNDS = 1_000_000, 100, 5


def run() -> dict[str, Any]:
    """Medians of rounds in which all contestants take turns."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (N, P))
    y = rng.uniform(-1.0, 1.0, N)
    facts = RowFacts(tuple(map(str, range(P))), False, float(P), float(np.sqrt(P)), 1.0, ("y",))
    rows = Rows(X, y[:, None])
    prices = PricedQueries(facts, Neighbours.REPLACE_ONE, N)
    moments = [prices.price("moments", mu=0.2367, target_scale=1.0)]
    contestants: dict[str, Callable[[], Any]] = {
        "moments, noise included": lambda: Curator(rows, moments).answer("moments"),
        "blocked BLAS Gram": lambda: _gram(X),
    }
    median = dict(zip(contestants, alternate(*contestants.values(), repeats=ROUNDS), strict=True))
    return {
        "rows": N,
        "columns": P,
        "seconds": median,
        "moments / blocked BLAS Gram": median["moments, noise included"] / median["blocked BLAS Gram"],
    }


def _gram(X: np.ndarray, block: int = 8192) -> np.ndarray:
    total = np.zeros((X.shape[1], X.shape[1]))
    for start in range(0, X.shape[0], block):
        part = X[start : start + block]
        total += part.T @ part
    return total


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value)
