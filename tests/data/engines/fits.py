"""Fits whose bits are the same in memory and by every engine: estimators, solvers, views and weights."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import hullabaloo as hb

N, KEY, ONE = 1_500, bytes(range(7, 39)), hb.Budget(1.125, 1e-6)
FEATURES: dict[str, Any] = {"a": (-1, 1), "b": (-1, 1), "g": ["u", "v", "w"]}
NUMBERS = hb.Domain(FEATURES, target={"y": (-2, 2)}, records=N)
WEIGHED = hb.Domain(FEATURES, target={"y": (-2, 2)}, weight=("weight", 2.0), records=N)
CLASSES = hb.Domain(FEATURES, classes={"ill": ["no", "yes"]}, records=N)
COUNTS = hb.Domain({**FEATURES, "years": (0.5, 2)}, target={"visits": (0, 8)}, records=N)
SEVERAL = hb.Domain(FEATURES, target={"y": (-2, 2), "years": (0, 2)}, records=N)


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    a, b, g = rng.uniform(-1, 1, N), rng.uniform(-1, 1, N), rng.integers(0, 3, N)
    mean = 0.5 * a - 0.3 * b + 0.2 * (g == 1)
    y = np.clip(mean + rng.normal(0, 0.2, N), -2, 2)
    return pd.DataFrame(
        {
            "a": np.where(rng.random(N) < 0.05, np.nan, a),
            "g": np.array(["u", "v", "w"])[g],
            "y": y,
            "b": b,
            "ill": np.where(y > 0, "yes", "no"),
            "visits": rng.poisson(np.exp(mean)).astype(float),
            "years": rng.uniform(0.5, 2.0, N),
            "weight": rng.uniform(0, 2, N),
            "unused": np.arange(N),
        }
    )


FITS: dict[str, Callable[[], Any]] = {
    "moments": lambda: hb.LinearRegression(domain=NUMBERS, solver="moments"),
    "gradient": lambda: hb.LinearRegression(domain=NUMBERS, solver="gradient"),
    "adaptive": lambda: hb.LinearRegression(domain=NUMBERS, solver="adaptive_gradient"),
    "weights": lambda: hb.Ridge(domain=WEIGHED, solver="preconditioned_gradient"),
    "mirror": lambda: hb.LinearRegression(domain=NUMBERS, solver="mirror_descent", constraint=hb.L1Ball(1.0)),
    "several": lambda: hb.LinearRegression(domain=SEVERAL, solver="moments"),
    "classes": lambda: hb.LogisticRegression(domain=CLASSES, solver="preconditioned_gradient"),
    "hinge": lambda: hb.LinearSVC(domain=CLASSES, solver="adaptive_gradient"),
    "counts": lambda: hb.PoissonRegressor(domain=COUNTS, exposure="years", solver="adaptive_gradient"),
    "quantile": lambda: hb.QuantileRegressor(domain=NUMBERS, solver="adaptive_gradient"),
    "huber": lambda: hb.HuberRegressor(domain=NUMBERS, solver="adaptive_gradient", neighbours="add-or-remove"),
}


def fitted(name: str, source: Any, **terms: Any) -> bytes:
    """The bits of what is released."""
    model = FITS[name]().set_params(budget=ONE, test_key=KEY, **terms)
    return model.fit(source).release_.theta.tobytes()
