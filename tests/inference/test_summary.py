"""The table: what is not identified is named and takes nothing else with it, ratios, adjusted tests, dataframes."""

import json
import math
import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

import hullabaloo as hb
from hullabaloo.errors import InvalidParameter
from hullabaloo.inference import identified
from hullabaloo.inference.debiased import Debiased
from hullabaloo.inference.intervals import inference
from hullabaloo.inference.summary import Row, Summary, rows_of
from hullabaloo.noise import TestKey

KEY = TestKey(bytes(range(32)))


def logistic(n: int = 8_000, **more: Any) -> Any:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 2))
    y = np.where(rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-(X[:, 0] - 0.5))), "normal", "high")
    domain = hb.Domain(features={"x1": (-1, 1), "x2": (-1, 1)}, classes=["normal", "high"], indicators=False)
    asked = {"budget": hb.Budget(4.0, 1e-6), "solver": "output_perturbation", "inference": True, "test_key": KEY}
    return hb.LogisticRegression(domain=domain, **(asked | more)).fit(X, y)


def test_p_values_and_intervals_never_disagree() -> None:
    model = logistic()
    for row in model.summary().rows:
        level = min(max(1.0 - row.p_value, 1e-9), 1.0 - 1e-12)
        assert (row.low > 0.0 or row.high < 0.0) == (row.p_value < 0.05)
        at = next(one for one in model.summary(confidence=level).rows if one.name == row.name)
        if 1e-11 < row.p_value < 1.0 - 1e-8:
            assert min(abs(at.low), abs(at.high)) < 1e-6 * (row.high - row.low)
        assert row.std_error == pytest.approx(math.hypot(row.sampling_error, row.privacy_error))
    for one, other in zip(model.summary(confidence=0.5).rows, model.summary().rows, strict=True):
        assert one.p_value == pytest.approx(other.p_value, rel=1e-6)


def test_ratios_are_exponentials_and_their_tests_those_of_the_coefficients() -> None:
    model = logistic()
    plain, ratios = model.summary(), model.summary(exponentiate=True)
    for one, ratio in zip(plain.rows, ratios.rows, strict=True):
        for name in ("coefficient", "estimate", "low", "high"):
            assert getattr(ratio, name) == pytest.approx(math.exp(getattr(one, name)))
        assert ratio.std_error == pytest.approx(one.std_error * ratio.estimate)
        assert (ratio.statistic, ratio.p_value) == (one.statistic, one.p_value)
    assert "exp(coef)" in str(ratios)
    assert "the factor of the odds" in ratios.note
    squared = hb.LinearRegression(budget=hb.Budget(math.inf), domain=hb.Domain(features={"x": (0, 1)}, target=(0, 1)))
    with pytest.raises(InvalidParameter, match="of a logistic or Poisson regression"):
        squared.fit(np.ones((9, 1)), np.ones(9)).summary(exponentiate=True)


def test_the_class_that_log_odds_are_of_is_said() -> None:
    """Classes are ordered as scikit-learn's are, in whatever order they were declared: the header says against which."""
    model = logistic()
    assert model.classes_.tolist() == ["high", "normal"]
    assert dict(model.summary().header)["Target"].endswith("= 'normal', against 'high'")
    assert "log-odds of 'normal', against 'high'" in model.summary().note


def test_dataframes_hold_the_rows() -> None:
    model = logistic()
    summary, frame, tidy = model.summary(), model.summary().to_dataframe(), model.tidy()
    assert [tuple(line) for line in frame.itertuples(index=False)] == [
        tuple(getattr(row, name) for name in frame.columns) for row in summary.rows
    ]
    names = ["term", "estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high"]
    assert [name for name in tidy.columns if name in names] == names
    assert tidy["conf_low"].tolist() == frame["low"].tolist()
    written = json.loads(json.dumps(summary.to_dict(), allow_nan=False))
    assert [row["p_value"] for row in written["rows"]] == frame["p_value"].tolist()
    assert written["header"]["Records"] == "8,000"
    tests = model.joint_tests(adjust="holm")
    assert tests.to_dataframe()["statistic"].tolist() == [row["statistic"] for row in tests.to_dict()["rows"]]
    assert tests._repr_html_().startswith("<pre>")


def test_p_values_are_adjusted_for_the_columns_alone() -> None:
    model = logistic()
    plain, adjusted = model.summary().rows, model.summary(adjust="bonferroni").rows
    for one, other in zip(plain, adjusted, strict=True):
        assert other.p_value == min(1.0, one.p_value * (1 if one.name == "(intercept)" else 2))
        assert (other.low, other.high) == (one.low, one.high)
    assert "P>|z| (bonferroni)" in str(model.summary(adjust="bonferroni"))
    with pytest.raises(InvalidParameter, match="adjust"):
        model.summary(adjust="sidak")


def test_columns_that_hold_nothing_are_named_and_take_nothing_with_them() -> None:
    """A constant, an empty level and values never missing; without noise other rows are those of the table without them."""
    rng = np.random.default_rng(2)
    n = 500
    x, level = rng.uniform(-1, 1, n), rng.integers(0, 2, n)
    y = 0.4 * x + 0.2 * level + 0.1 * rng.normal(size=n)
    whole = {"x": (-1, 1), "still": (0, 2), "w": hb.Categorical(["0", "1", "2"], baseline="0")}
    few = {"x": (-1, 1), "w": hb.Categorical(["0", "1"], baseline="0")}
    rows, table = [], {"x": x, "still": np.ones(n), "w": level.astype(str)}
    import pandas as pd

    for features, indicators in ((whole, True), (few, False)):
        domain = hb.Domain(features=features, target=(-2, 2), indicators=indicators)
        model = hb.LinearRegression(budget=hb.Budget(math.inf), domain=domain, solver="moments")
        rows.append(model.fit(pd.DataFrame({name: table[name] for name in features}), y).summary())
    all_, alone = ({row.name: row for row in one.rows} for one in rows)
    for name in ("x", "w=1"):
        assert (all_[name].low, all_[name].high) == pytest.approx((alone[name].low, alone[name].high), rel=1e-6)
    for name in ("x:missing", "still:missing", "w=2"):
        assert all_[name].reason
        assert math.isnan(all_[name].std_error)
        assert name in rows[0].note
    shown = str(rows[0])
    assert "not identified" in shown
    assert "nan" not in shown.lower()
    assert [dict(one.header)["F test"].endswith("of what is identified") for one in rows] == [True, False]


def test_a_sampling_error_that_noise_hides_is_not_called_0() -> None:
    model = logistic()._fitted()
    known = inference(model)
    estimator: Any = known.told[0].estimator
    estimator.law = Debiased(replace(estimator.law.equations, sampling=np.zeros((3, 3))))
    rows = rows_of(model, known, 0.95)
    assert all(math.isnan(row.sampling_error) and row.privacy_error > 0.0 for row in rows)


@pytest.mark.parametrize(
    ("more", "known"), [({}, True), ({"constraint": hb.L1Ball(2.0)}, False), ({"solver": "gradient"}, False)]
)
def test_noise_alone_is_told_where_it_is_all_that_is_known(more: dict[str, Any], known: bool) -> None:
    """Of output perturbation without a set: its standard deviation, in units of columns that are scaled by their bounds, here by 1."""
    model = logistic(inference=False, **more)
    summary = model.summary()
    told = [row.privacy_error for row in summary.rows]
    if known:
        assert told[:2] == pytest.approx([model.release_.plan["settings"]["sigma"]] * 2)
    assert all(math.isnan(one) != known for one in told)
    assert ("privacy s.e." in str(summary)) == known


def test_a_hand_made_table_of_least_squares_is_reproduced() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (80, 2))
    y = X @ [0.5, -0.1] + 0.3 * rng.normal(size=80)
    domain = hb.Domain(features={"a": (-1, 1), "b": (-1, 1)}, target=(-3, 3), indicators=False)
    summary = hb.LinearRegression(budget=hb.Budget(math.inf), domain=domain, solver="moments").fit(X, y).summary()
    A = np.column_stack([X, np.ones(80)])
    inverse = np.linalg.inv(A.T @ A)
    theta = inverse @ A.T @ y
    rest = float(np.sum((y - A @ theta) ** 2))
    error = np.sqrt(rest / 77 * np.diagonal(inverse))
    assert [row.std_error for row in summary.rows] == pytest.approx(error, rel=1e-8)
    assert [row.statistic for row in summary.rows] == pytest.approx(theta / error, rel=1e-7)
    assert [row.p_value for row in summary.rows] == pytest.approx(2 * student.sf(np.abs(theta / error), 77), rel=1e-6)
    assert dict(summary.header)["R²"].startswith(f"{1 - rest / np.sum((y - y.mean()) ** 2):.3f}")


def test_narrow_intervals_far_from_zero_show_both_ends() -> None:
    """A rate ratio of 1.0000021 with ends 1.000002 and 1.0000022 is not printed as 1 between 1 and 1."""
    row = Row("y", "x", 1.0, 1.0000021, 1e-7, 1e-7, 0.0, 21.0, 0.0, 1.000002, 1.0000022)
    assert len({f"{one:.{row.digits}g}" for one in (row.low, row.estimate, row.high)}) == 3
    assert replace(row, estimate=0.5, low=0.2, high=0.8).digits == 4 == replace(row, low=math.nan).digits


def test_a_row_of_any_numbers_is_printed() -> None:
    """Exponentials of what little is told of are infinite, or 0; of narrow ends the ratio is."""
    any_of = (0.0, 1e-320, 1e-300, 1.0, 1e300, math.inf, math.nan)
    for estimate, low, high in product(any_of, any_of[:-1], any_of):
        row = Row("y", "x", 1.0, estimate, math.inf, math.inf, 0.0, 1.0, 0.5, low, high)
        assert 4 <= row.digits <= 12
        assert f"{estimate:.4g}"[:3] in str(Summary((row,), 0.95, "", "", exponentiated=True))


def test_levels_without_a_baseline_are_said_to_mean_differences_alone() -> None:
    rng = np.random.default_rng(1)
    ward, age = rng.choice(["a", "b"], 4_000), rng.uniform(0, 1, 4_000)
    y = age + (ward == "a") + rng.normal(0, 0.5, 4_000)
    about: dict[str, Any] = {"solver": "adaptive_gradient", "test_key": KEY}
    for declared, said in ((["a", "b"], True), (hb.Categorical(["a", "b"], baseline="b"), False)):
        domain = hb.Domain(features={"ward": declared, "age": (0, 1)}, target=(-2, 4), indicators=False)
        frame = pd.DataFrame({"ward": ward, "age": age})
        for budget in (hb.Budget(2.0, 1e-6), hb.Budget(0.01, 1e-6)):
            model = hb.LinearRegression(domain=domain, budget=budget, **about).fit(frame, y)
            assert ("only differences between levels are determined" in model.summary().note) == said
            assert "hb." not in str(model.summary()), "a summary is shown by commands, too"
            assert ("least norm" in model.summary().note) == (said and "estimate" in model.summary().cells()[0])


def test_a_long_table_prints_what_is_not_0_and_says_what_it_leaves_out() -> None:
    X = np.random.default_rng(0).uniform(-1, 1, (60, 300))
    domain = hb.Domain(features={f"x{j}": (-1, 1) for j in range(300)}, target=(-4, 4), indicators=False)
    zero = hb.LinearRegression(domain=domain, budget=hb.Budget(1.0, 1e-6), solver="constant", test_key=KEY).fit(
        X, X[:, 0]
    )
    assert [row.name for row in zero.summary().shown] == ["(intercept)"]
    assert "Of 301 rows 300 are not printed" in str(zero.summary())
    full = hb.LinearRegression(
        domain=domain, budget=hb.Budget(1.0, 1e-6), solver=hb.GradientSolver(), test_key=KEY
    ).fit(X, X[:, 0])
    assert len(full.summary().cells()[1]) == 200
    assert full.summary().shown[-1].name == "(intercept)"
    assert len(full.summary().to_dataframe()) == len(full.summary().to_dict()["rows"]) == 301


@pytest.mark.few(1)
@pytest.mark.parametrize(("relation", "declared"), [("add-or-remove", 10_000), ("replace-one", 2_000)])
@pytest.mark.parametrize("solver", ["moments", "preconditioned_gradient", "output_perturbation"])
def test_a_private_number_of_records_is_the_released_one(
    solver: str, relation: str, declared: int, tmp_path: Path
) -> None:
    """4 000 records where more or fewer were declared: within 400 of them, 6 and more deviations of noise, in the header and in the tests' degrees of freedom."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (4_000, 2))
    table = pd.DataFrame({"x1": X[:, 0], "x2": X[:, 1], "y": X[:, 0] + rng.uniform(-1, 1, 4_000), "who": range(4_000)})
    domain = hb.Domain(features={"x1": (-1, 1), "x2": (-1, 1)}, target={"y": (-2, 2)}, unit="who", records=declared, indicators=False)  # fmt: skip
    asked = {"budget": hb.Budget(4.0, 1e-8), "neighbours": relation, "test_key": KEY, "solver": solver}
    model = hb.LinearRegression(domain=domain, **asked).fit(table)
    header = dict(model.summary().header)
    assert header["Records"].endswith(f"(released; declared: {declared:,})")
    if relation == "replace-one" and solver != "moments":  # elsewhere noise hides it
        low, high = map(float, re.findall(r"[\d.]+", header["Residual s.d."])[1:])
        assert low <= 3.0**-0.5 <= high
    freedom = model.test("x1 = 0").rows[0].df_residual + 3.0
    assert abs(freedom - 4_000) <= 400
    assert header["Records"].startswith(f"about {freedom:,.0f} ")
    model.save(tmp_path / "model.json")
    assert dict(hb.load(tmp_path / "model.json").summary().header)["Records"] == header["Records"]


@pytest.mark.few(2)
@pytest.mark.parametrize("levels", [["r", "s"], ["r", "s", "of three records"]])
@pytest.mark.parametrize("solver", ["moments", "preconditioned_gradient"])
def test_levels_without_a_baseline_have_no_test_of_their_own_and_their_difference_has(
    solver: str, levels: list[str]
) -> None:
    """A category without any effect: a common shift of its levels and the constant is no hypothesis, also beside a level that cannot be told.

    Fixed key; a false alarm would be beyond 4 standard errors, 6e-5.
    """
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.uniform(-1, 1, 20_000), "g": rng.choice(["r", "s"], 20_000)})
    frame.loc[:2, "g"] = levels[-1]
    frame["y"] = 0.5 + 0.3 * frame["x"] + rng.normal(0, 0.1, 20_000)
    domain = hb.Domain(features={"x": (-1, 1), "g": levels}, target={"y": (-1, 2)}, indicators=False)
    model = hb.LinearRegression(budget=hb.Budget(1.0, 1e-6), domain=domain, solver=solver, test_key=KEY).fit(frame)
    rows = {row.name: row for row in model.summary(adjust="holm").rows}
    for name in ("g=r", "g=s", "(intercept)"):
        assert math.isnan(rows[name].statistic)
        assert math.isnan(rows[name].p_value)
        if len(levels) == 2:
            assert rows[name].low < rows[name].high
            assert "only differences" in rows[name].reason
    assert rows["x"].p_value < 1e-3
    assert not rows["x"].reason
    assert ("not identified" in str(model.summary()).lower()) == (len(levels) == 3)
    (difference,) = model.contrast({"g=r": 1.0, "g=s": -1.0}).rows
    assert abs(difference.statistic) < 4.0
    assert "nan" not in str(model.summary())


@pytest.mark.slow
@pytest.mark.parametrize("width", [0.0, 0.001])
def test_a_number_that_hardly_varies_takes_no_other_column_along(width: float) -> None:
    """Constant, or narrow in its bounds, beside levels of which one is rare: `x` stays about 25 errors from 0 in most fits, as without it. What noise hides of such a number
    must not be counted as what it may explain: 3 of these 8 fits were then above 10, and two told nothing. Of these fixed keys 7 are above 10, and one tells nothing.
    """
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.uniform(0, 10, 20_000), "number": 5.0 + rng.uniform(0, 1, 20_000) * width})
    frame["g"] = rng.choice(list("abcd"), 20_000, p=[0.5, 0.48, 0.0199, 0.0001])
    frame["y"] = 0.1 * frame["x"] + (frame["g"] == "b") + rng.normal(0, 0.5, 20_000)
    domain = hb.Domain(features={"x": (0, 10), "number": (0, 10), "g": list("abcd")}, target={"y": (-5, 5)})
    found = []
    for key in range(8):
        model = hb.LinearRegression(
            budget=hb.Budget(3.0, 1e-8), domain=domain, solver="preconditioned_gradient", test_key=KEY.derive(key)
        ).fit(frame)
        found += [row.statistic for row in model.summary().rows if row.name == "x"]
    assert np.sum(np.array(found) > 10.0) >= 6


@pytest.mark.few(1)
@pytest.mark.parametrize("baseline", [None, "s", "none"])
def test_a_level_that_nobody_has_takes_no_other_column_along(baseline: str | None) -> None:
    """Neither as a level nor as the baseline: what the others share with the constant is not told then, and all else is as without it.

    Without it the effect is about 140 errors from 0, and 3 to 140 where such a shift was asked for, or records of the level, if any, decided of x; of nine fixed keys, the first three of which are tried.
    """
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.uniform(-1, 1, 20_000), "g": rng.choice(["r", "s"], 20_000)})
    frame["y"] = 0.5 + 0.3 * frame["x"] + rng.normal(0, 0.1, 20_000)
    levels = ["r", "s", "none"]
    given = levels if baseline is None else hb.Categorical(levels, baseline=baseline)
    domain = hb.Domain(features={"x": (-1, 1), "g": given}, target={"y": (-1, 2)}, indicators=False)
    for key in range(3):
        model = hb.LinearRegression(
            budget=hb.Budget(1.0, 1e-6), domain=domain, solver="preconditioned_gradient", test_key=KEY.derive(key)
        ).fit(frame)
        rows = {row.name: row for row in model.summary().rows}
        assert rows["x"].statistic > 100.0
        if baseline == "s":
            assert rows["g=r"].low < 0.0 < rows["g=r"].high
        else:
            assert math.isnan(rows["g=r"].low)
            (difference,) = model.contrast({"g=r": 1.0, "g=s": -1.0}).rows
            assert abs(difference.statistic) < 4.0
        assert baseline == "none" or math.isnan(rows["g=none"].low)


def test_why_a_coefficient_or_a_contrast_is_not_told_is_each_targets_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two targets: rows and contrasts of the second had the reasons of the first. A column that is 0 in every record is told for neither."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (5_000, 3)) * [1.0, 1.0, 0.0]
    y = np.column_stack([X[:, 0], -0.5 * X[:, 1]]) + 0.1 * rng.normal(size=(5_000, 2))
    domain = hb.Domain(features=dict.fromkeys("abc", (-1, 1)), target={"u": (-2, 2), "v": (-2, 2)}, indicators=False)
    model = hb.LinearRegression(budget=hb.Budget(2.0, 1e-6), domain=domain, solver="moments", test_key=KEY).fit(X, y)
    monkeypatch.setattr(identified, "reasons", lambda _, estimator: [f"as at {estimator.theta}"] * 4)
    ours = {"u": "", "v": ""}
    for target, told in zip(ours, inference(model._fitted()).told, strict=True):
        ours[target] = f"as at {told.estimator.theta}"
    assert ours["u"] != ours["v"]
    for rows in (model.summary().rows, model.contrast({"a": 1.0, "c": -1.0}).rows):
        untold = [row for row in rows if not row.identified]
        assert {row.target for row in untold} == {"u", "v"}
        assert all(row.reason == ours[row.target] for row in untold)
