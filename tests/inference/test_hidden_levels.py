"""Levels in `inference/from_score.py`: what the coefficient of one that noise hides is off by moves no other estimate, and intervals of one that moved reach as far as a move, not as a step."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.inference.debiased import Intervals, reach
from hullabaloo.inference.from_score import FromScore
from hullabaloo.inference.significance import z_against
from hullabaloo.release.levels import levels

Array = npt.NDArray[np.float64]
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


@pytest.mark.few(1)
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
    parts = np.stack([frame["part"] == level for level in list(EFFECTS)[1:]], axis=1)
    X = np.column_stack([frame[["x", "u"]], parts, np.ones(len(frame))])
    gradient = (X @ found.matrix).T @ (np.exp(X @ found.point) * X[:, 4]) / len(frame)  # by a step of the night's alone
    moved = fitted.encoding.user_matrix(0) @ estimate.map @ estimate.law.inverse @ gradient
    moves = (pd.Series(moved, table.index)[TRUE.index] / told["std_error"]).abs()
    assert (moves < [1.0, 1.0, 0.2, 0.2]).all()
    assert ((told["estimate"] - TRUE).abs() <= 3.0 * told["std_error"]).all()


@pytest.mark.few(1)
@pytest.mark.parametrize(("classes", "step"), [(False, -0.7), (False, 0.4), (True, -0.7), (True, 0.9)])
def test_the_far_end_of_a_level_is_the_move_whose_gradient_the_step_is(classes: bool, step: float) -> None:
    """`φ'(z + d) − φ'(z) = φ''(z)x` for the level's usual record, d at the end and x at that of the step, or d = x where that is further; nothing else of an interval changes.

    A level whose step may be none keeps its ends, and where no d has such an x both are NaN. Key fixed.
    """
    frame = hours(15_000)
    frame["y"] = (frame["y"] > 40).astype(int) if classes else frame["y"]
    features = {"x": (-1, 1), "u": (-1, 1), "part": hb.Categorical(list(EFFECTS), baseline="day")}
    target: dict[str, Any] = {"classes": {"y": [0, 1]}} if classes else {"target": {"y": (0, 500)}}
    kind = hb.LogisticRegression if classes else hb.PoissonRegressor
    about: dict[str, Any] = {"budget": hb.Budget(1.2, 1e-9), "solver": "preconditioned_gradient"}
    domain = hb.Domain(features, indicators=False, **target)
    fitted = kind(domain=domain, test_key=bytes(32), **about).fit(frame)._fitted()
    found, loss = fitted.release.scores[0], fitted.loss
    own = fitted.encoding.user_matrix(0)
    records = {one.column: one.record for one in levels(fitted.encoding, found) if not one.baseline}
    chances = {one: classes / (1.0 + math.exp(-float(x @ found.point))) for one, x in records.items()}
    assert len(records) == 3

    def reached(x: float, error: float) -> Intervals:
        """Intervals from half of a step to the whole, released at 0."""
        half, none = np.full(len(own), 0.75 * x), np.zeros(len(own))
        ends = np.full(len(own), min(0.5 * x, x)), np.full(len(own), max(0.5 * x, x))
        told = Intervals(half, none + error, none, *ends, none.copy())
        reach(told, own, none, chances)
        return told

    told, unsure, nowhere = reached(step, 0.1), reached(step, 1.0), reached(-400.0, 0.1)
    for row, function in enumerate(own):
        columns = np.flatnonzero(function)
        near, far = (told.high, told.low)[step > 0.0][row], (told.low, told.high)[step > 0.0][row]
        assert near == 0.5 * step
        assert {unsure.low[row], unsure.high[row]} == {0.5 * step, step}
        if len(columns) > 1 or columns[0] not in records:
            assert far == step
            continue
        z = float(records[int(columns[0])] @ found.point)
        there, here = loss.derivative(np.array([z + far, z]), np.ones(2))  # type: ignore[union-attr]
        bend = float(loss.second_derivative(np.array([z]), np.ones(1))[0])  # type: ignore[union-attr]
        gone = (there - here) / bend
        assert far == step or gone == pytest.approx(step)
        assert min(abs(far), abs(gone) * (1.0 + 1e-6)) >= abs(step)
        rate = 1.0 + here  # of the class, or the count, that is 1; none is below 0
        assert np.isnan([nowhere.low[row], nowhere.high[row]]).all() == (rate - 400.0 * bend <= 0.0)
    assert classes or (told.low < -0.7).any() == (step < 0.0)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_the_far_end_of_a_move_is_no_doubt_about_values_on_the_near_side(side: float) -> None:
    """On the near side z is that of the step, which grows without bound: it stayed below 2.3 where the far end was far. On the far side it is 1.96 at the end that is told."""
    error, stretch = np.full(60, 0.1), np.full(60, 5.0)
    near = np.linspace(0.01, 3.0, 60)
    ends = sorted((-side * 0.196, side * 5.196))
    told = Intervals(0.0 * near, error, 0.0 * near, *(0.0 * near + end for end in ends), side * stretch)
    assert z_against(told, 1.96, -side * near) == pytest.approx(side * near / 0.1)
    assert z_against(told, 1.96, np.full(60, side * 5.196)) == pytest.approx(-side * 1.96)
    beyond = np.abs(z_against(told, 1.96, side * near))
    assert (np.diff(beyond) > 0.0).all()
    assert (beyond < 1.96).all()
