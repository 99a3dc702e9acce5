"""One small table, and for each estimator a domain that it can learn from it: its target is a number, a class or a count."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import hullabaloo as hb
from hullabaloo.linear_model import ESTIMATORS
from hullabaloo.linear_model.classification import PrivateClassifier
from hullabaloo.linear_model.regression import LeastSquares

FEATURES = {
    "age": (18, 90),
    "hours": (0, 80),
    "job": hb.Categorical(["clerk", "nurse", "cook"], baseline="clerk"),
}
TARGETS: dict[str, dict[str, Any]] = {
    "cost": {"target": {"cost": (-20, 20)}},
    "ill": {"classes": {"ill": ["no", "yes"]}},
    "ward": {"classes": {"ward": ["a", "b", "c"]}},
    "visits": {"target": {"visits": (0, 30)}},
}
LEAST_SQUARES = [name for name in ESTIMATORS if issubclass(getattr(hb, name), LeastSquares)]
CLASSIFIERS = [name for name in ESTIMATORS if issubclass(getattr(hb, name), PrivateClassifier)]


@cache
def _table(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(18, 90, n),
            "hours": rng.uniform(0, 80, n),
            "job": rng.choice(["clerk", "nurse", "cook"], n),
            "years": rng.uniform(0.5, 4.0, n),
        }
    )
    score = 0.05 * (frame["age"] - 54) + 2.0 * (frame["job"] == "cook") - 1.0
    frame["cost"] = (
        0.1 * frame["age"] - 0.05 * frame["hours"] + 3.0 * (frame["job"] == "cook") - 2 + rng.normal(0, 1, n)
    )
    frame["ill"] = np.where(rng.logistic(size=n) < score, "yes", "no")
    sides = np.column_stack([np.zeros(n), score, 0.04 * (frame["hours"] - 40)]) + rng.gumbel(size=(n, 3))
    frame["ward"] = np.array(["a", "b", "c"])[np.argmax(sides, axis=1)]
    rate = np.exp(-1.0 + 0.02 * frame["age"] + 0.4 * (frame["job"] == "nurse"))
    frame["visits"] = np.minimum(rng.poisson(rate), 30)
    frame["events"] = np.minimum(rng.poisson(rate * frame["years"]), 60)
    return frame


def table(n: int, seed: int = 0) -> pd.DataFrame:
    """Ages, hours, jobs; a number `cost`, the classes `ill` (two) and `ward` (three), the counts `visits` and `events`."""
    return _table(n, seed).copy()


def target_of(name: str) -> str:
    """The target that the example of an estimator learns."""
    if name in CLASSIFIERS:
        return "ill"
    return "visits" if name == "PoissonRegressor" else "cost"


def domain_for(name: str, **more: Any) -> hb.Domain:
    """The domain that an estimator's example is declared with."""
    return hb.Domain(features=FEATURES, indicators=False, **TARGETS[target_of(name)], **more)
