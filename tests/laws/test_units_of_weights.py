"""Weights of 0 to 1 and the same weights times a power of 4, declared so, are one question: coefficients, errors and R² are alike, and intervals hold."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.noise import TestKey

pytestmark = pytest.mark.filterwarnings("ignore::hullabaloo.errors.NotPrivateWarning")
FACTOR = 256.0
"""A power of 4, so that roots of weights, which rows of moments are multiplied by, are rounded alike."""


def table(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    made = pd.DataFrame({"a": rng.uniform(-1, 1, n), "b": rng.uniform(0, 1, n)})
    made["y"] = 2 + 0.5 * made["a"] + 0.25 * made["b"] + rng.uniform(-1, 1, n)
    made["w"] = np.minimum(0.16 * np.exp(0.7 * rng.normal(size=n)), 1.0)
    return made


def fitted(records: pd.DataFrame, factor: float, epsilon: float, target: Any = None, **given: Any) -> Any:
    about: dict[str, Any] = {"features": {"a": (-1, 1), "b": (0, 1)}, "target": target or {"y": (0, 4)}}
    about["indicators"] = False
    domain = hb.Domain(**about, weight=("w", factor), records=len(records))
    estimator = hb.Ridge if "penalty" in given else hb.LinearRegression
    model = estimator(domain=domain, budget=hb.Budget(epsilon, 1e-6), **given)
    return model.fit(records.assign(w=records["w"] * factor))


ASKED: dict[str, dict[str, Any]] = {
    "little": {"solver": "moments", "epsilon": 0.1},
    "much": {"solver": "moments", "epsilon": 2.0},
    "no intercept": {"solver": "moments", "epsilon": 2.0, "fit_intercept": False},
    "penalty": {"solver": "moments", "epsilon": 2.0, "strength": 0.05},
    "constant": {"solver": "constant", "epsilon": 2.0},
}


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove"])
@pytest.mark.parametrize("asked", ASKED)
def test_weights_in_other_units_change_nothing(asked: str, relation: str) -> None:
    key, given = TestKey(b"weights in one unit or another.."), dict(ASKED[asked])
    solver, strength = given["solver"], given.pop("strength", 0.0)
    given |= {"neighbours": relation, "test_key": key}
    penalties = ({"penalty": hb.SquaredL2Penalty(strength * factor)} if strength else {} for factor in (1.0, FACTOR))
    one, other = (
        fitted(table(4_000), factor, **given, **penalty)
        for factor, penalty in zip((1.0, FACTOR), penalties, strict=True)
    )
    for name in ("coef_", "intercept_"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-3, abs=1e-4)
    if solver == "moments":
        numbers = ["estimate", "sampling_error", "privacy_error", "low", "high"]
        told, again = (model.summary().to_dataframe()[numbers].to_numpy() for model in (one, other))
        assert again == pytest.approx(told, rel=1e-2, abs=1e-3, nan_ok=True)
        assert dict(other.summary().header).get("R²") == dict(one.summary().header).get("R²")


def test_errors_without_an_intercept_are_no_shorter_than_weights_make_them() -> None:
    """Nothing tells the mean weight w̄ there: errors are those of the least that bounds of rows and targets allow, where w̄ was taken for 1, and errors for √(w̄/W) of theirs."""
    records = table(50_000)
    records["y"] -= 2.0 + 0.5  # centred, to leave the residuals' variance what it is: 1/3
    found = fitted(records, 1.0, 50.0, solver="moments", fit_intercept=False, target={"y": (-2, 2)}).summary()
    w, x = records["w"].to_numpy(), records[["a", "b"]].to_numpy()
    e = records["y"].to_numpy() - x @ np.linalg.lstsq(x * w[:, None], records["y"] * w, rcond=None)[0]
    inverse = np.linalg.inv(x.T @ (x * w[:, None]))
    least = np.sqrt(np.diag(inverse @ (x.T @ (x * (w * e)[:, None] ** 2)) @ inverse))
    assert (found.to_dataframe()["sampling_error"].to_numpy()[:2] >= least).all()


def test_intervals_of_weighted_moments_hold() -> None:
    """Of 50 at 95 % five may miss. Errors are 1.5 times as long as they must be (E w² is taken as W E w), so that each misses with chance 0.003, and six with 1e-8; about 35 held when a weight counted as so many records."""
    held = 0
    for seed in range(25):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = fitted(table(8_000, seed), FACTOR, 4.0, solver="moments").summary().to_dataframe()
        low, high = rows["low"].to_numpy()[:2], rows["high"].to_numpy()[:2]
        held += int(np.sum((low <= [0.5, 0.25]) & (high >= [0.5, 0.25])))
    assert held >= 45
