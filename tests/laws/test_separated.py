"""Levels without an event, or with nothing but events, have no finite coefficient: no interval has an end on that side, whether the level is a baseline or not, of counts and of classes."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.inference import from_score
from hullabaloo.noise import TestKey

pytestmark = pytest.mark.filterwarnings("ignore::hullabaloo.errors.NotPrivateWarning")
KINDS = ("level", "baseline", "all")
"""A level without an event, a baseline without one, and a level of events alone."""


@cache
def fitted(loss: str, kind: str | None, epsilon: float, few: int = 0) -> Any:
    """With `few` records of the level unlike all others of it."""
    rng = np.random.default_rng(7)
    n = 30_000
    made = pd.DataFrame({"a": rng.uniform(-1, 1, n), "g": rng.choice(["u", "v", "w"], n, p=[0.5, 0.1, 0.4])})
    rate = 0.3 * np.exp(0.4 * made["a"])
    made["y"] = rng.poisson(rate).clip(0, 4) if loss == "counts" else (rng.random(n) < rate).astype(int)
    if kind is not None:
        made.loc[made["g"] == "v", "y"] = int(kind == "all")
        made.loc[made.index[made["g"] == "v"][:few], "y"] = int(kind != "all")
    about = {"target": {"y": (0, 4)}} if loss == "counts" else {"classes": {"y": [0, 1]}}
    level = hb.Categorical(["u", "v", "w"], baseline="v" if kind == "baseline" else "u")
    domain = hb.Domain(features={"a": (-1, 1), "g": level}, **about, indicators=False)
    model = (hb.PoissonRegressor if loss == "counts" else hb.LogisticRegression)(
        domain=domain,
        budget=hb.Budget(epsilon, 1e-9),
        test_key=TestKey(b"levels without an event or with."),
        solver="preconditioned_gradient",
    )
    return model.fit(made)


def ends(model: Any, confidence: float = 0.95) -> Any:
    """The summary's rows, by name, and its text."""
    summary = model.summary(confidence=confidence)
    return summary.to_dataframe().set_index("name"), " ".join(str(summary).split())


@pytest.mark.parametrize(("loss", "kind"), [(loss, kind) for loss in ("counts", "classes") for kind in KINDS if (loss, kind) != ("counts", "all")])  # fmt: skip
def test_what_has_no_finite_optimum_has_no_end(loss: str, kind: str) -> None:
    """Or is not told. Fixed key."""
    rows, text = ends(fitted(loss, kind, 2.0))
    low, high = rows["low"], rows["high"]
    if kind == "baseline":  # the constant falls for ever, and levels rise
        assert not np.isfinite(low["(intercept)"])
        assert not np.isfinite(high[["g=u", "g=w"]]).any()
    else:
        assert not np.isfinite((low if kind == "level" else high)["g=v"])
        assert np.isfinite(low["g=v"] if kind == "all" else high["g=v"]) or (kind == "level" and np.isnan(low["g=v"]))
        assert np.isfinite(rows.loc[["a", "g=w", "(intercept)"], ["low", "high"]].to_numpy()).all()
    assert np.isfinite(rows.loc["a", ["low", "high"]].to_numpy(dtype=float)).all()
    if np.isinf(rows[["low", "high"]].to_numpy()).any():
        assert "there is no end on one side" in text
        assert "or of the baseline that it is compared with" in text  # rows of levels with events stand there, too


@pytest.mark.parametrize("loss", ["counts", "classes"])
def test_levels_with_events_keep_both_ends(loss: str) -> None:
    rows, text = ends(fitted(loss, None, 2.0))
    assert np.isfinite(rows[["low", "high"]].to_numpy()).all()
    assert "there is no end" not in text


def test_an_interval_without_any_end_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where noise may hide both, that no record of a level has an event and that all have: it stood there with an estimate and an error, as without an end "on one side", and a warning of NumPy's."""
    both = np.array([[1.0], [-1.0]])
    monkeypatch.setattr(
        from_score, "separating", lambda model, found, doubts: (both * np.eye(1, len(found.point), 1), np.zeros(2))
    )
    model = fitted("counts", None, 2.0)
    rows, text = ends(model)
    at = model.predict_interval(pd.DataFrame({"a": 0.0, "g": ["v", "u"]}))  # within the declared bounds is no interval
    assert np.isnan(at[0]).all()
    assert np.isfinite(at[1]).all()
    assert rows.loc["g=v", ["estimate", "std_error", "low", "high"]].isna().all()
    assert "no end on one side" not in text
    assert "Not identified at this budget: g=v" in text
    assert np.isfinite(rows.loc[["a", "g=w"], ["low", "high"]].to_numpy(dtype=float)).all()


@pytest.mark.parametrize(("loss", "kind", "few"), [("counts", "baseline", 90), ("classes", "baseline", 140), ("classes", "all", 60)])  # fmt: skip
def test_no_end_is_a_value_that_an_interval_holds_unless_its_own_level_rules_it_out(
    loss: str, kind: str, few: int
) -> None:
    """Of a level with a few events (or a few records without one) an interval of low confidence has both ends, and one of high confidence has not: whether there is an end was asked at three deviations of noise, whatever the interval's level. Fixed key."""
    model = fitted(loss, kind, 2.0, few)
    (low, _), (high, _) = ends(model, 0.3), ends(model, 1.0 - 1e-6)
    name = "g=v" if kind == "all" else "(intercept)"
    assert np.isfinite(low.loc[name, ["low", "high"]].to_numpy(dtype=float)).all()
    assert np.isinf(high.loc[name, ["low", "high"]].to_numpy(dtype=float)).any()


@pytest.mark.parametrize(("loss", "kind"), [("counts", "baseline"), ("classes", "level"), ("classes", "all")])
def test_joint_tests_are_of_all_that_has_both_ends(loss: str, kind: str) -> None:
    """And df counts them, of levels beside a baseline that has none their differences: one level without an end left nothing told of its category, nor of all columns together. Fixed key."""
    model = fitted(loss, kind, 2.0)
    rows, _ = ends(model)
    both = np.isfinite(rows[["low", "high"]].to_numpy(dtype=float)).all(axis=1)
    told = dict(zip(rows.index, both, strict=True))
    apart = model.contrast({"g=u": 1, "g=w": -1}).rows[0] if kind == "baseline" else None
    tests = model.joint_tests().rows
    for test in tests:
        names = {"a": ["a"], "g": [name for name in told if name.startswith("g=")]}
        count = sum(told[name] for name in names.get(test.hypothesis, names["a"] + names["g"]))
        count += (apart is not None) * (test.hypothesis != "a")
        assert (test.df, test.reason == "") == (count, count > 0)
        assert np.isfinite(test.statistic) == (count > 0)
    if apart is not None:
        assert np.isfinite([apart.low, apart.high]).all()
        assert tests[1].statistic == pytest.approx(apart.statistic**2)
