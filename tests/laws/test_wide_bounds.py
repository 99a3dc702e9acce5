"""What predicts takes the step that its own score speaks for, wherever no record lies at the ends of wide bounds: a rule that reckoned with as many records there as noise hides held it back, and within bounds 30 times as wide as the column classes kept 0.8 of the gain."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import hullabaloo as hb
from hullabaloo.noise import TestKey


def kept(loss: str, wide: float, key: int) -> float:
    """How much of the gain over the constant a fit at ε = 1 keeps, of a skewed column and an even one within bounds that are `wide`."""
    rng, n = np.random.default_rng(3), 20_000
    X = np.column_stack([rng.gamma(1.5, size=n), rng.normal(size=n), rng.uniform(size=n) < 0.3])
    z = 0.25 * (X[:, 0] - 1.5) + 0.35 * X[:, 1] + 0.4 * X[:, 2]
    domain: dict[str, Any] = {"features": {"a": (0, 10 * wide), "b": (-wide, wide), "c": (0, 1)}, "indicators": False}
    if loss == "classes":
        y, domain["classes"], kind = (rng.uniform(size=n) < expit(2.0 * z)).astype(int), [0, 1], hb.LogisticRegression
    elif loss == "counts":
        y, domain["target"], kind = rng.poisson(0.8 * np.exp(z)).clip(0, 50), (0, 50), hb.PoissonRegressor
    else:
        y, domain["target"], kind = 50.0 * np.exp(z + 0.3 * rng.normal(size=n)), (0, 5_000), hb.LinearRegression
    made = kind(
        domain=hb.Domain(**domain), budget=hb.Budget(1.0, 1e-8), solver="preconditioned_gradient",
        test_key=TestKey(bytes([key] * 32)), inference=True,
    ).fit(X, y)  # fmt: skip
    theta, mean = np.append(made.coef_, made.intercept_), float(np.mean(y))
    true = np.array([0.25, 0.35, 0.4, -0.375])
    true = 2.0 * true if loss == "classes" else true + np.array([0.0, 0.0, 0.0, math.log(0.8)])
    if loss == "numbers":
        true = np.linalg.lstsq(np.column_stack([X, np.ones(n)]), y, rcond=None)[0]

    def risk(at: np.ndarray) -> float:
        u = X @ at[:-1] + at[-1]
        if loss == "numbers":
            return float(np.mean((u - y) ** 2))
        return float(np.mean((np.logaddexp(0.0, u) if loss == "classes" else np.exp(u)) - y * u))

    level = mean if loss == "numbers" else math.log(mean if loss == "counts" else mean / (1.0 - mean))
    constant = risk(np.array([0.0, 0.0, 0.0, level]))
    return (constant - risk(theta)) / (constant - risk(true))


@pytest.mark.few(4)
@pytest.mark.parametrize("key", [0, 1])
@pytest.mark.parametrize("wide", [10.0, 30.0])
@pytest.mark.parametrize("loss", ["classes", "numbers", "counts"])
def test_bounds_that_are_far_too_wide_cost_no_tenth_of_the_gain(loss: str, wide: float, key: int) -> None:
    """Of the best coefficients'. Fixed keys. Of counts, whose score sees few of the records that noise may hide, a tenth more, and within bounds 30 times as wide nearly a half (.98, and .62 and .57 are kept; .48 by the rule before)."""
    least = 0.9 if loss != "counts" else 0.8 if wide == 10.0 else 0.55
    assert kept(loss, wide, key) > least
