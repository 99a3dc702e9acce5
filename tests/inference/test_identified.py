"""Reasons of what is not identified: by the released variances of columns, whatever kind of column it is."""

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.inference import identified
from hullabaloo.inference.from_score import FromScore
from hullabaloo.noise import TestKey


@pytest.mark.parametrize("solver", ["preconditioned_gradient", "moments"])
def test_each_column_is_given_its_own_reason(solver: str) -> None:
    """A column narrower than its bounds, two that are nearly the same, a level of two records, one of all, a column that is told; fixed key."""
    rng, n = np.random.default_rng(0), 20_000
    a = rng.uniform(-3.0, 3.0, n)
    frame = pd.DataFrame({"narrow": rng.uniform(-0.02, 0.02, n), "a": a, "twin": a + 0.02 * rng.normal(size=n)})
    frame["ok"], frame["one"] = rng.uniform(-3.0, 3.0, n), "all"
    frame["level"] = rng.choice(["x", "y", "rare"], n, p=[0.5, 0.4999, 0.0001])
    frame["y"] = 0.3 * a + 0.3 * frame["ok"] + rng.normal(size=n)
    bounds = dict.fromkeys(["narrow", "a", "twin", "ok"], (-3, 3))
    levels = {"level": ["x", "y", "rare"], "one": ["all", "some"]}
    domain = hb.Domain(features={**bounds, **levels}, target={"y": (-6, 6)}, indicators=False)
    made = hb.LinearRegression(budget=hb.Budget(1.0, 1e-6), domain=domain, solver=solver, test_key=TestKey(bytes(32)))
    found = {row.name: row.reason for row in made.fit(frame).summary().rows}
    for row in made.summary().rows:  # "the release does not say of which column" was said of each
        assert made.contrast({row.name: 2.0}).rows[0].reason == row.reason
    whys = [why for why in (found["level=rare"], found["ok"]) if why]  # of several none is blamed
    assert made.contrast({"level=rare": 1.0, "ok": -1.0}).rows[0].reason == (
        whys[0] if len(whys) == 1 else identified.UNKNOWN
    )
    assert found["ok"] in {"", identified.FAINT}
    assert found["narrow"] in {"", identified.HIDDEN, identified.FAINT} or found["narrow"].startswith(identified.LONE)
    for twin in ("a", "twin"):
        assert found[twin] in {"", identified.TOGETHER} or found[twin].startswith(identified.LONE)
    assert found["level=rare"] == found["one=some"] == identified.RARE
    assert found["one=all"] in {identified.COMMON, identified.FAINT}
    hidden = {"narrow", "level=rare", "one=some"} & {name for name, why in found.items() if why}
    assert identified.TOGETHER not in {found[name] for name in hidden}


@pytest.mark.parametrize("of_classes", [False, True])
def test_bounds_are_said_of_columns_that_have_them_alone(monkeypatch: pytest.MonkeyPatch, of_classes: bool) -> None:
    """Whichever column's records could decide: of a level "an end of the bounds of level=rare" was said, and closer bounds advised."""
    rng, n = np.random.default_rng(0), 4_000
    frame = pd.DataFrame({"a": rng.uniform(-3.0, 3.0, n), "level": rng.choice(["x", "y", "z"], n)})
    frame["y"] = (frame["a"] + rng.normal(size=n) > 0.0).astype(int)
    features = {"a": (-3, 3), "level": hb.Categorical(["x", "y", "z"], baseline="x")}
    target: dict[str, Any] = {"classes": {"y": [0, 1]}} if of_classes else {"target": {"y": (0, 1)}}
    kind = hb.LogisticRegression if of_classes else hb.LinearRegression
    asked: dict[str, Any] = {"solver": "preconditioned_gradient", "test_key": TestKey(bytes(32))}
    made = kind(budget=hb.Budget(5.0, 1e-6), domain=hb.Domain(features=features, **target), **asked).fit(frame)
    columns = made.encoding_.facts.columns
    assert {"a", "a:missing", "level=y", "level:missing"} <= set(columns)
    estimator = FromScore(made._fitted(), made.release_.scores[0])
    for place, name in enumerate(columns[:-1]):
        deciding = np.full(len(columns), place)
        monkeypatch.setattr(FromScore, "decided_by", lambda self, functions, deciding=deciding: deciding)
        said = {one for one in identified.reasons(made._fitted(), estimator) if "could decide" in one}
        assert said
        for text in said:
            assert name in text
            assert ("bounds" in identified.named([("x", text)])) == (name == "a"), text


def test_no_remedy_is_named_twice() -> None:
    """Whatever goes together: of two reasons with one remedy "narrower bounds" stood twice in a sentence."""
    everything = [one for key in identified.REMEDIES for one in ((key,) if isinstance(key, str) else key)]
    for some in itertools.combinations(everything, 2):
        said = identified.named([(f"x{j}", f"{why}x{j}") for j, why in enumerate(some)])
        _, _, helps = said.partition("What helps beside more budget: ")
        named = helps.rstrip(".").split("; ")
        assert len(named) == len(set(named)) >= 1
        assert all(remedy in helps for key, remedy in identified.REMEDIES.items() if any(why in key for why in some))
        assert not any(one != other and one in other for one in named for other in named)


@pytest.mark.slow
def test_a_level_of_a_third_of_the_records_is_not_called_rare() -> None:
    """Noise hides a level where its counts are small, too, however many records it has; fixed keys."""
    rng, n = np.random.default_rng(2), 4_000
    frame = pd.DataFrame({"time": rng.choice(["day", "evening", "night"], n), "a": rng.uniform(0.0, 1.0, n)})
    frame["trips"] = rng.poisson(np.where(frame["time"] == "night", 1.0, 20.0) * np.exp(0.5 * frame["a"]))
    times = hb.Categorical(["day", "evening", "night"], baseline="day")
    domain = hb.Domain(features={"time": times, "a": (0, 1)}, target={"trips": (0, 60)}, indicators=False)
    said = []
    for key in (bytes(32), bytes([3]) * 32):
        asked: dict[str, Any] = {"solver": "adaptive_gradient", "test_key": TestKey(key)}
        made = hb.PoissonRegressor(budget=hb.Budget(1.0, 1e-6), domain=domain, **asked)
        said += [row.reason for row in made.fit(frame).summary().rows if row.name == "time=night"]
    assert identified.RARE in said
    assert all("rare" not in why for why in said)


def test_a_combination_blames_no_column() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, (200, 2))
    domain = hb.Domain(features={"a": (-1, 1), "b": (-1, 1)}, target=(-4, 4), indicators=False)
    made = hb.LinearRegression(
        budget=hb.Budget(0.1, 1e-6), domain=domain, solver="moments", test_key=TestKey(bytes(32))
    )
    found = made.fit(X, X[:, 0] + rng.normal(size=200)).contrast({"a": 1.0, "b": -1.0})
    assert [row.reason for row in found.rows] == [identified.UNKNOWN]


@pytest.mark.few(1)
@pytest.mark.parametrize("epsilon", [1.0, 10.0])
@pytest.mark.parametrize(("some", "apart_by"), [(5, 0.005), (5, 0.02), (500, 0.02)])
def test_what_five_records_decide_is_told_with_what_they_may_change_or_not_at_all(
    epsilon: float, some: int, apart_by: float
) -> None:
    """Two columns that are nearly the same but in some records, which have another slope. Fixed keys; a false alarm would be a draw beyond 4.5 standard errors, 7e-6 each.

    Where seven records carry as much as all others the interval reaches to where these five have moved the truth; where one does, nothing is told; 500 are seen."""
    n = 20_000
    domain = hb.Domain(features=dict.fromkeys("abc", (-1, 1)), target={"y": (-3, 3)}, indicators=False)
    asked = {"budget": hb.Budget(epsilon, 1e-8), "domain": domain, "test_key": TestKey(bytes(32)), "inference": True}
    rng = np.random.default_rng(some)
    a, c, apart = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n), np.arange(n) < some
    b = np.where(apart, -a, np.clip(a + apart_by * rng.normal(size=n), -1, 1))
    y = a - 0.3 * b + 0.2 * c + 0.5 * (b - a) * apart + 0.1 * rng.normal(size=n)
    truth = np.linalg.lstsq(np.column_stack([a, b, c, np.ones(n)]), y, rcond=None)[0]
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "y": y})
    rows = hb.LinearRegression(solver="preconditioned_gradient", **asked).fit(frame).summary().rows
    lone = [row.name for row in rows if row.reason.startswith(identified.LONE)]
    assert lone == (["a", "b"] if apart_by < 0.01 else [])
    assert all(" of b could" in row.reason or " of a could" in row.reason for row in rows if row.reason)
    told = [(row, true) for row, true in zip(rows, truth, strict=True) if not row.reason]
    assert max(abs(row.estimate - true) / row.std_error for row, true in told) <= 4.5
    if some == 5:
        assert all(row.low <= true <= row.high for row, true in told if row.name in "ab")


@pytest.mark.few(1)
@pytest.mark.parametrize("epsilon", [1.0, 10.0])
@pytest.mark.parametrize("slope", [0.0, 1.0, 2.0])
def test_an_interval_holds_what_as_many_records_as_carry_it_may_make_of_it(epsilon: float, slope: float) -> None:
    """Five records at the end of wide bounds, that no noise lets be seen, of no slope, the others', or twice that: all of one interval, which tells the sign. Fixed keys; without the
    allowance the interval is 0.03 to 0.04 long, and the truth 0.2 away."""
    n, rng = 20_000, np.random.default_rng(5)
    apart, c = np.arange(n) < 5, rng.uniform(-1.0, 1.0, n)
    x = np.where(apart, 1.0, 0.02 * rng.normal(size=n).clip(-4.0, 4.0))
    y = 0.6 * x * np.where(apart, slope, 1.0) + 0.2 * c + 0.02 * rng.normal(size=n)
    truth = np.linalg.lstsq(np.column_stack([x, c, np.ones(n)]), y, rcond=None)[0][0]
    domain = hb.Domain(features={"x": (-1, 1), "c": (-1, 1)}, target={"y": (-3, 3)}, indicators=False)
    made = hb.LinearRegression(
        budget=hb.Budget(epsilon, 1e-8),
        domain=domain,
        solver="preconditioned_gradient",
        test_key=TestKey(bytes(32)),
        inference=True,
    )
    row, other, _ = made.fit(pd.DataFrame({"x": x, "c": c, "y": y})).summary().rows
    assert 0.0 < row.low <= truth <= row.high
    assert (
        0.14 < row.std_error < 0.2 > 20.0 * other.std_error
    )  # 0.6/√12 of the estimate, less what the step leans away, of x alone


@pytest.mark.slow
@pytest.mark.parametrize("key", [50, 52, 54, 90])
def test_marks_of_values_that_are_never_missing_take_no_interval_of_another_column(key: int) -> None:
    """Of four keys noise makes the mark of a category seem to vary under three: columns apart from it are told under all. The table has no other noise."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(20, 80, 20_000), "income": np.exp(rng.normal(10, 0.6, 20_000))})
    frame["income"], frame["sex"] = frame["income"].clip(0, 200_000), rng.choice(["m", "f"], 20_000)
    effects = 20 * frame["age"] + 0.01 * frame["income"] + 300 * (frame["sex"] == "m")
    frame["cost"] = (effects + rng.gamma(2, 300, 20_000)).clip(0, 10_000)
    features: dict[str, Any] = {"age": (0, 100), "income": (0, 200_000), "sex": ["f", "m"]}
    domain = hb.Domain(features=features, target={"cost": (0, 10_000)})
    asked = {
        "budget": hb.Budget(1.0, 1e-6),
        "solver": "preconditioned_gradient",
        "test_key": TestKey(bytes([key] * 32)),
    }
    made = hb.LinearRegression(domain=domain, **asked)
    rows = {row.name: row for row in made.fit(frame).summary().rows}
    assert not rows["age"].reason
    assert not rows["income"].reason
    assert abs(rows["age"].estimate - 20.0) < 4.5 * rows["age"].std_error < 4.0
    assert not math.isfinite(rows["sex:missing"].low)


def beside_a_hidden_number(columns: int, epsilon: float, key: int) -> Any:
    """A fit of x, of h, a fiftieth of its bounds wide, which goes with x and alone has an effect, and of other columns."""
    rng = np.random.default_rng(0)
    x, others = rng.uniform(-1.0, 1.0, 10_000), rng.uniform(-1.0, 1.0, (10_000, columns))
    h = 0.02 * (x + 0.15 * rng.normal(size=10_000))
    y = np.clip(15.0 * h + 0.1 * rng.normal(size=10_000), -1.0, 1.0)
    names = ["x", "h", *(f"other{j}" for j in range(columns))]
    domain = hb.Domain(features=dict.fromkeys(names, (-1, 1)), target=(-1, 1), indicators=False)
    about: Any = {"inference": True, "solver": "preconditioned_gradient", "test_key": bytes([key] * 32)}
    return hb.LinearRegression(budget=hb.Budget(epsilon, 1e-8), domain=domain, **about).fit(
        np.column_stack([x, h, others]), y
    )


def test_nothing_is_told_beside_a_hidden_number_where_noise_is_nearly_half_of_the_curvature(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In 2 fits; told up to as much noise as without such a number, x, whose coefficient is 0, gets h's effect in each. Where noise is less it still may, and the summary says so."""
    fits = [beside_a_hidden_number(24, 1.0, key) for key in range(2)]
    assert all(math.isnan(model.summary().rows[0].low) for model in fits)
    assert all("nearly half of it beside a number that varies little" in model.summary().note for model in fits)
    seen = beside_a_hidden_number(16, 1.3, 1).summary()
    assert seen.rows[0].low > 0.2
    assert "may be that of a regression without it" in seen.note
    monkeypatch.setattr("hullabaloo.inference.from_score.BESIDE", 1.0)
    assert all(model.summary().rows[0].low > 0.2 for model in fits)
