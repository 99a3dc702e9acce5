"""A level that noise hides moves no other estimate of `inference/from_score.py`: what its coefficient is off by is none of theirs."""

import math

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.inference.from_score import FromScore

EFFECTS = {"day": 0.0, "dusk": 0.5, "late": -0.4, "night": -3.0}
TRUE = pd.Series({"x": -0.4, "u": 0.4, "part=dusk": 0.5, "part=late": -0.4})


def hours(n: int) -> pd.DataFrame:
    """Counts by part of the day, of which the night has a quarter of the records, few counts, and another x."""
    rng = np.random.default_rng(3)
    part = rng.choice(list(EFFECTS), n, p=[0.35, 0.25, 0.15, 0.25])
    x = np.where(part == "night", 0.35, -0.15) + 0.35 * rng.uniform(-1.0, 1.0, n)
    frame = pd.DataFrame({"x": x, "u": rng.uniform(-1.0, 1.0, n), "part": part})
    rate = 80.0 * np.exp(-0.4 * x + 0.4 * frame["u"] + frame["part"].map(EFFECTS))
    frame["y"] = rng.poisson(rate * rng.gamma(8.0, 0.125, n))
    return frame


@pytest.mark.parametrize("key", [0, 2, 3, 5, 8, 9])
def test_what_a_hidden_level_is_off_by_moves_no_other_estimate(key: int) -> None:
    """Where the night's log-rate is off by 1, other levels move by less than 0.2 errors and numbers by less than 1: with its coefficient held it was 1.1 to 2.4, and 1.9 to 4.2 for x.

    What moves numbers still is that rates differ within the night. Fixed keys; |z| ≤ 3 of what is told.
    """
    frame = hours(15_000)
    features = {"x": (-1, 1), "u": (-1, 1), "part": hb.Categorical(list(EFFECTS), baseline="day")}
    domain = hb.Domain(features, target={"y": (0, 500)}, indicators=False)
    model = hb.PoissonRegressor(
        domain=domain, budget=hb.Budget(0.35, 1e-9), solver="preconditioned_gradient", test_key=bytes([key]) * 32
    ).fit(frame)
    table = model.summary().to_dataframe().set_index("name")
    assert math.isnan(table["low"]["part=night"])
    told = table.loc[TRUE.index]
    assert told["low"].notna().all()
    fitted = model._fitted()
    found = fitted.release.scores[0]
    estimate = FromScore(fitted, found)
    levels = np.stack([frame["part"] == level for level in list(EFFECTS)[1:]], axis=1)
    X = np.column_stack([frame[["x", "u"]], levels, np.ones(len(frame))])
    gradient = (X @ found.matrix).T @ (np.exp(X @ found.point) * X[:, 4]) / len(frame)  # by a step of the night's alone
    moved = fitted.encoding.user_matrix(0) @ estimate.map @ estimate.law.inverse @ gradient
    moves = (pd.Series(moved, table.index)[TRUE.index] / told["std_error"]).abs()
    assert (moves < [1.0, 1.0, 0.2, 0.2]).all()
    assert ((told["estimate"] - TRUE).abs() <= 3.0 * told["std_error"]).all()
