"""Small fits that fingerprints share: 400 records of four columns, a fixed test key; each is computed once in a process."""

from functools import cache
from typing import Any

import numpy as np

import hullabaloo as hb
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours

KEY = TestKey(bytes(32))
BUDGET = hb.Budget(1.0, 1e-5)
RECORDS, COLUMNS = 400, 4
REPLACED, REMOVED = map(str, Neighbours)
Array = np.ndarray


@cache
def table() -> tuple[Array, Array, Array]:
    """Rows, targets in [−1, 1] and classes 0 or 1 of the same signal."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (RECORDS, COLUMNS))
    z = X @ np.array([0.5, -0.3, 0.2, 0.0])
    y = np.clip(z + 0.2 * rng.normal(size=RECORDS), -1.0, 1.0)
    return X, y, (z + 0.3 * rng.logistic(size=RECORDS) > 0.0).astype(int)


def domain(*, classes: bool = False) -> hb.Domain:
    """What is declared of it."""
    target: dict[str, Any] = {"classes": [0, 1]} if classes else {"target": (-1, 1)}
    features = {f"x{j}": (-1, 1) for j in range(COLUMNS)}
    return hb.Domain(features=features, indicators=False, records=RECORDS, **target)


@cache
def fitted(solver: Any = "auto", neighbours: str = REPLACED, *, classes: bool = False, epsilon: float = 1.0) -> Any:
    """A linear or logistic regression."""
    X, y, c = table()
    kind = hb.LogisticRegression if classes else hb.LinearRegression
    about = {"domain": domain(classes=classes), "neighbours": neighbours, "solver": solver}
    return kind(budget=hb.Budget(epsilon, 1e-5), test_key=KEY, **about).fit(X, c if classes else y)


def seen(model: Any) -> dict[str, Any]:
    """The solver that ran, and the coefficients."""
    return {"solver": model.release_.plan["solver"], "theta": model.release_.theta.ravel()}


def chosen() -> dict[str, Any]:
    """What the planner takes for numbers and classes in both relations, and of numbers at a small ε, and what it gives."""
    return {
        f"{'classes' if classes else 'numbers'}, {neighbours}, {epsilon:g}": seen(
            fitted(neighbours=neighbours, classes=classes, epsilon=epsilon)
        )
        for classes in (False, True)
        for neighbours in (REPLACED, REMOVED)
        for epsilon in ((0.1, 1.0) if neighbours == REPLACED and not classes else (1.0,))
    }


def solved(*solvers: str) -> dict[str, Any]:
    """What named solvers give of numbers and of classes."""
    found = {f"{name}, numbers": seen(fitted(name)) for name in solvers}
    return found | {f"{name}, classes": seen(fitted(name, classes=True)) for name in solvers if name != "moments"}


@cache
def streamed(
    mechanism: str = "auto", *, again: bool = False, classes: bool = False, neighbours: str = REPLACED
) -> Array:
    """The last coefficients of a stream of sums, or of fits, of `classes` at ε = 10: four releases."""
    X, y, c = table()
    if again:
        kind = hb.LogisticRegression if classes else hb.LinearRegression
        budget, y = (hb.Budget(10.0, 1e-5), c) if classes else (BUDGET, y)
        once = kind(budget=budget, domain=domain(classes=classes), neighbours=neighbours, test_key=KEY)
        model: Any = hb.streaming.PeriodicERM(once, horizon=RECORDS, every=RECORDS // 4)
    else:
        about: dict[str, Any] = {"budget": BUDGET, "domain": domain(), "neighbours": neighbours, "test_key": KEY}
        model = hb.streaming.IncrementalRegression(**about, mechanism=mechanism, horizon=RECORDS, every=RECORDS // 4)
    return np.append(model.partial_fit(X, y).coef_, model.intercept_)
