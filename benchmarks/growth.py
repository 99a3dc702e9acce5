"""How the time of a fit grows with records and with features: processor seconds on one core, plans cached, beside scikit-learn's.

Exponents are slopes of least squares through the logarithms: 1 means that ten times as many take ten times as long.
"""

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import linear_model

import hullabaloo as hb

SPEED = True
RECORDS, WIDTHS = (10_000, 100_000, 1_000_000), (10, 100, 1_000)
NARROW, FEW = 20, 20_000
"""Features while records grow, and records while features do."""
ATTEMPTS = 3


def run() -> dict[str, Any]:
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(every)})  # threads of BLAS that wait for one another would count
    try:
        return {
            f"records, of {NARROW} features": grown({n: (n, NARROW) for n in RECORDS}),
            f"features, of {FEW} records": grown({p: (FEW, p) for p in WIDTHS}),
        }
    finally:
        os.sched_setaffinity(0, every)


def grown(sizes: dict[int, tuple[int, int]]) -> dict[str, Any]:
    """By name, seconds at each size, their slope over all sizes and that between the last two, where what does not grow counts least."""
    seconds: dict[str, dict[int, float]] = {}
    for size, (records, features) in sizes.items():
        for name, fit in fits(records, features).items():
            seconds.setdefault(name, {})[size] = least(fit)
    return {
        name: {
            "seconds": {str(size): float(f"{one:.3g}") for size, one in of.items()},
            "exponent": slope(of),
            "of the last two": slope(dict(list(of.items())[-2:])),
        }
        for name, of in seconds.items()
    }


def slope(seconds: dict[int, float]) -> float:
    """Of their logarithms."""
    return round(float(np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0]), 2)


def least(fit: Callable[[], Any]) -> float:
    """Processor seconds, after a fit that makes the plan and compiles."""
    fit()
    taken = []
    for _ in range(ATTEMPTS):
        start = time.process_time()
        fit()
        taken.append(time.process_time() - start)
    return min(taken)


def fits(records: int, features: int) -> dict[str, Callable[[], Any]]:
    """This library's, without inference, and scikit-learn's."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (records, features))
    y = X @ np.linspace(-1, 1, features) / features**0.5 + rng.normal(0, 0.3, records)
    classes, columns = (y > 0).astype(int), {f"x{j}": (-1, 1) for j in range(features)}
    numbers = hb.Domain(columns, target=(-3, 3), indicators=False)
    kinds = hb.Domain(columns, classes=[0, 1], indicators=False)

    def own(kind: Any, domain: hb.Domain, target: Any, solver: str) -> Callable[[], Any]:
        budget = hb.Budget(1.0, 1e-9)
        made = kind(domain=domain, solver=solver, inference=False, budget=budget)
        return lambda: made.fit(X, target)

    return {
        "moments": own(hb.LinearRegression, numbers, y, "moments"),
        "preconditioned gradient": own(hb.LinearRegression, numbers, y, "preconditioned_gradient"),
        "logistic, preconditioned gradient": own(hb.LogisticRegression, kinds, classes, "preconditioned_gradient"),
        "scikit-learn: Ridge": lambda: linear_model.Ridge().fit(X, y),
        "scikit-learn: LogisticRegression": lambda: linear_model.LogisticRegression(max_iter=1000).fit(X, classes),
        "scikit-learn: Lasso": lambda: linear_model.Lasso(alpha=0.01).fit(X, y),
    }
