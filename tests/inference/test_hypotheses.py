"""Joint tests: classical F tests without noise, z² of one coefficient, the same whatever the equations' form, and their size under noise."""

import math
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.errors import InvalidParameter, NotReleased
from hullabaloo.inference.debiased import Debiased, Equations
from hullabaloo.inference.hypotheses import linear_hypotheses, written
from hullabaloo.inference.intervals import TargetInference
from hullabaloo.inference.wald import identified, wald
from hullabaloo.noise import TestKey

KEY = TestKey(bytes(range(32)))
NAMES = ["x1", "x10", "job=cook", "x1*x10", "body mass", "2", "(intercept)"]


def frame(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(-1, 1, n), rng.uniform(-1, 1, n), rng.integers(0, 3, n)])
    y = 0.3 * X[:, 0] + np.array([0.0, 0.2, -0.1])[X[:, 2].astype(int)] + 0.4 * rng.normal(size=n)
    return X, y


def fitted(epsilon: float, n: int = 300, levels: Any = (0, 1, 2), key: Any = KEY, scale: float = 1.0) -> Any:
    budget = hb.Budget(epsilon, 1e-6) if math.isfinite(epsilon) else hb.Budget(math.inf)
    features = {"a": (-scale, scale), "b": (-1, 1), "w": hb.Categorical(list(levels), baseline=levels[0])}
    features["w"] = features["w"] if levels == (0, 1, 2) else list(levels)
    domain = hb.Domain(features=features, target=(-3, 3), indicators=False)
    X, y = frame(n)
    return hb.LinearRegression(budget=budget, domain=domain, solver="moments", test_key=key).fit(X * [scale, 1, 1], y)


def design(n: int) -> np.ndarray:
    X, _ = frame(n)
    return np.column_stack([X[:, :2], X[:, 2] == 1, X[:, 2] == 2, np.ones(n)])


def residuals(columns: np.ndarray, y: np.ndarray) -> float:
    return float(np.sum((y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0]) ** 2))


def test_without_noise_the_tests_are_the_classical_f_tests() -> None:
    """Of nested models: `F = (RSS₀ − RSS)/m / (RSS/(n − p))`."""
    n, model, Z, y = 300, fitted(math.inf), design(300), frame(300)[1]
    full, left = residuals(Z, y), 300 - 5
    smaller = {"a": [1, 2, 3, 4], "b": [0, 2, 3, 4], "w": [0, 1, 4], "all columns": [4]}
    for row in model.joint_tests().rows:
        kept = smaller[row.hypothesis]
        m = 5 - len(kept)
        assert (row.df, row.df_residual) == (m, left)
        assert row.statistic == pytest.approx((residuals(Z[:, kept], y) - full) / m / (full / left), rel=1e-7)
    held = np.column_stack([Z[:, 0] + Z[:, 1], *Z[:, 2:].T])  # a = b
    assert model.test("a = b").rows[0].statistic == pytest.approx((residuals(held, y) - full) / (full / left), rel=1e-7)
    moved = y - 0.1 * Z[:, 0]
    found = model.test(["a = 0.1", "b = 0"]).rows[0].statistic
    assert found == pytest.approx((residuals(Z[:, 2:], moved) - residuals(Z, moved)) / 2 / (full / left), rel=1e-6)
    assert n == len(y)
    assert "F(4, 295)" in str(model.summary())


@pytest.mark.parametrize("epsilon", [2.0, math.inf])
def test_one_coefficient_has_its_z_and_equations_may_be_written_in_any_form(epsilon: float) -> None:
    model = fitted(epsilon, 20_000)
    for row in model.summary().rows:
        test = model.test(f"{row.name} = 0").rows[0]
        assert test.statistic == pytest.approx(row.statistic**2, rel=1e-9)
        assert test.p_value == pytest.approx(row.p_value, rel=1e-6, abs=1e-300)
    first = model.test("a = b, w=1 = w=2").rows[0]
    for same in ("3*a - 3*b = 0, 2*w=1 = 2*w=2", "a - b + w=1 - w=2 = 0, b = a", ["a = b", "w=1 = w=2", "a = b"]):
        assert model.test(same).rows[0].statistic == pytest.approx(first.statistic, rel=1e-9)
    matrix = np.array([[1.0, -1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0, 0.0]])
    assert model.test(matrix).rows[0] == first
    assert model.test([{"a": 1, "b": -1}, {"w=1": 1, "w=2": -1}]).rows[0] == first
    scaled = fitted(epsilon, 20_000, scale=1000.0)
    assert scaled.test("1000*a = b, w=1 = w=2").rows[0].statistic == pytest.approx(first.statistic, rel=1e-6)
    row = model.contrast({"a": 1, "b": -1}).rows[0]
    assert (row.name, row.statistic**2) == ("a - b", pytest.approx(model.test("a = b").rows[0].statistic, rel=1e-9))


def test_all_levels_of_a_category_are_tested_by_their_differences() -> None:
    """Coded by all levels beside the constant, or with one left out: the same question."""
    coded, full = fitted(math.inf), fitted(math.inf, levels=[0, 1, 2])
    a, b = ({row.hypothesis: row for row in one.joint_tests().rows} for one in (coded, full))
    for name in ("a", "w", "all columns"):
        assert (a[name].df, a[name].statistic) == (b[name].df, pytest.approx(b[name].statistic, rel=1e-6))
    told = fitted(3.0, 30_000, levels=[0, 1, 2, 3]).joint_tests().rows[2]  # level 3 is empty
    assert (told.hypothesis, told.reason, told.df) == ("w", "", 2)


@pytest.mark.few(1)
@pytest.mark.parametrize("indicators", [True, False])
def test_two_levels_beside_the_constant_are_one_question_of_a_fit_by_gradients(indicators: bool) -> None:
    """Their difference; what they share cannot be told from the constant, and is no effect. False alarm of P > 10⁻⁴: once in 10⁴."""
    rng = np.random.default_rng(1)
    table = {"a": rng.uniform(-1, 1, 20_000), "b": rng.choice(["f", "m"], 20_000)}
    y = np.clip(0.5 * table["a"] + 1.0 + 0.3 * rng.normal(size=20_000), -3, 3)
    domain = hb.Domain(features={"a": (-1, 1), "b": ["f", "m"]}, target=(-3, 3), indicators=indicators)
    model = hb.LinearRegression(budget=hb.Budget(2.0, 1e-6), domain=domain, solver="adaptive_gradient", test_key=KEY)
    made = model.fit(pd.DataFrame(table), y)
    joint, apart = made.joint_tests().rows, made.contrast({"b=f": 1, "b=m": -1}).rows[0]
    assert [row.df for row in joint] == [1, 1, 2]
    assert joint[1].statistic == pytest.approx(apart.statistic**2)
    assert joint[1].p_value > 1e-4


def test_a_level_that_cannot_be_told_takes_no_other_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever of four levels beside the constant is hidden, the differences of the other three are asked about."""
    monkeypatch.setattr("hullabaloo.inference.wald.sources_of", lambda _: [("w", (0, 1, 2, 3))])
    told = SimpleNamespace(basis=np.linalg.qr(np.ones((4, 1)), mode="complete")[0][:, 1:])
    for hidden in range(4):

        def tell(_: Any, told: Any, functions: Any, level: float, hidden: int = hidden) -> Any:
            apart = functions.any(axis=1) & (functions.sum(axis=1) == 0.0) & (functions[:, hidden] == 0.0)
            return SimpleNamespace(low=np.where(apart, 0.0, np.nan), high=np.where(apart, 1.0, np.nan))

        monkeypatch.setattr("hullabaloo.inference.wald.tell", tell)
        seen, functions = identified(cast("Any", SimpleNamespace(encoding=None)), cast("Any", told), np.eye(4))
        first = int(hidden == 0)
        assert seen.tolist() == [place not in (hidden, first) for place in range(4)]
        assert np.array_equal(functions[seen], (np.eye(4) - np.eye(4)[first])[seen])


@pytest.mark.slow
def test_tests_of_columns_that_noise_made_agree_with_their_z() -> None:
    """Beside columns that are 0 in all records, whose Gram is noise alone and of either sign, what is told at all is told alike: F of one column is its z²."""
    told, (X, y) = 0, frame(300)
    for run in range(20):
        model = hb.LinearRegression(
            budget=hb.Budget.zcdp(1000.0),
            domain=hb.Domain(row_norm=1.0, target=(-1, 1)),
            solver="moments",
            test_key=KEY.derive(run),
        ).fit(0.5 * X * [1, 0, 0], y)
        rows = {row.name: row for row in model.summary().rows}
        for test in model.joint_tests().rows[:3]:
            assert test.reason or test.statistic == pytest.approx(rows[test.hypothesis].statistic ** 2, rel=1e-6)
            told += not test.reason
    assert told >= 10


@pytest.mark.slow
def test_the_size_of_joint_tests_under_noise_in_matrix_and_vector() -> None:
    """2 000 draws of 5 noisy equations, privacy noise as large as sampling: under the hypothesis of rank 3, P < 0.05 in 5 % ± 5 standard errors,
    P < 0.5 in 50 % ± 5: false alarms below 2e-6 in all."""
    rng, p, s, t, draws = np.random.default_rng(3), 5, 0.004, 0.004, 2_000
    root = rng.normal(size=(p, p))
    gram = 0.05 * root @ root.T + 0.2 * np.eye(p)
    theta, sampling = np.array([0.5, -0.3, 0.0, 0.2, 0.1]), 1e-5 * gram
    R = rng.normal(size=(3, p))
    model: Any = SimpleNamespace(
        release=SimpleNamespace(
            moments=None, score=None, statement=SimpleNamespace(records=10**6), plan={"queries": []}
        ),
        encoding=None,
    )
    half = np.linalg.cholesky(sampling)
    found = []
    for _ in range(draws):
        upper = np.triu(rng.normal(size=(p, p)) * s / math.sqrt(2.0), 1)
        noisy = gram + upper + upper.T + np.diag(rng.normal(size=p) * s)
        cross = gram @ theta + t * rng.normal(size=p) + half @ rng.normal(size=p)
        one = Debiased(Equations(noisy, cross, s, t, sampling, np.eye(p)))
        found.append(wald(model, TargetInference(one, np.eye(p), math.nan), R, R @ theta, ("y", "")).p_value)
    assert np.mean(np.array(found) < 0.05) == pytest.approx(0.05, abs=5.0 * math.sqrt(0.05 * 0.95 / draws))
    assert np.mean(np.array(found) < 0.5) == pytest.approx(0.5, abs=5.0 * math.sqrt(0.25 / draws))


@pytest.mark.parametrize(
    ("text", "rows", "values"),
    [
        ("x1 = 0", [[1, 0, 0, 0, 0, 0, 0]], [0]),
        ("x10", [[0, 1, 0, 0, 0, 0, 0]], [0]),
        ("x1 + x10 = 1", [[1, 1, 0, 0, 0, 0, 0]], [1]),
        ("2*x1 - 1e-1 * body mass = -.5 + x10*3", [[2, -3, 0, 0, -0.1, 0, 0]], [-0.5]),
        ("job=cook = 0, job=cook=x1*x10", [[0, 0, 1, 0, 0, 0, 0], [0, 0, 1, -1, 0, 0, 0]], [0, 0]),
        ("-(intercept) = 2", [[0, 0, 0, 0, 0, 0, -1]], [2]),
    ],
)
def test_equations_are_read(text: str, rows: list[list[float]], values: list[float]) -> None:
    matrix, right = linear_hypotheses(text, 0.0, NAMES)
    assert matrix == pytest.approx(np.array(rows))
    assert right == pytest.approx(values)
    again, same = linear_hypotheses(
        [written(row, NAMES, at) for row, at in zip(matrix, right, strict=True)], 0.0, NAMES
    )
    assert again == pytest.approx(matrix)
    assert same == pytest.approx(right)


@pytest.mark.parametrize(
    ("hypothesis", "said"),
    [
        ("age = 0", "no coefficient 'age'"),
        ("x1 = x100", "cannot be read"),
        ("x1 = = 0", "cannot be read"),
        ("x1 x10 = 0", "cannot be read"),
        ("", "cannot be read"),
        ("x1 = 0 = x10", "cannot be read"),
        ("x1 = x1", "nothing to test"),
        ("x1 = 0, x1 = 1", "contradict each other"),
        ({"age": 1}, "no coefficient 'age'"),
        ({"job=clerk": 1}, "A baseline has none"),
        ("job=cook = job=clerk", "A baseline has none"),
        ({"x1": "much"}, "weight of 'x1'"),
        (["x1 = 0", 3], "among texts"),
        (np.ones((2, 3)), r"\(2, 3\)"),
        (np.full(7, np.nan), "Pass texts"),
        (object(), "Pass texts"),
    ],
)
def test_what_is_no_hypothesis_is_refused_in_a_sentence(hypothesis: Any, said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        linear_hypotheses(hypothesis, 0.0, NAMES)


def test_baselines_are_named_where_there_are_categories() -> None:
    with pytest.raises(InvalidParameter) as found:
        linear_hypotheses("age = 0", 0.0, ["x1", "x10"])
    assert "baseline" not in str(found.value)


def test_what_the_release_does_not_tell_is_said() -> None:
    model = fitted(0.05, 100)
    test = model.test("a = 0, b = 0")
    assert math.isnan(test.rows[0].p_value)
    assert "Not identified; the summary names the columns and says why." in test.note
    assert "Not identified" in model.joint_tests().note
    assert "Not identified" not in fitted(math.inf, 300).test("a = 0").note
    assert "nan" not in str(test) + str(model.joint_tests())
    bare = hb.LinearRegression(
        budget=hb.Budget(1.0, 1e-6), domain=model.domain, solver="output_perturbation", test_key=KEY
    ).fit(*frame(500))
    for ask in (lambda: bare.test("a = 0"), bare.joint_tests, lambda: bare.contrast({"a": 1})):
        with pytest.raises(NotReleased, match="asked of a LinearRegression"):
            ask()
    with pytest.raises(InvalidParameter, match="weight 0"):
        model.contrast({"a": 0.0})
    with pytest.raises(InvalidParameter, match="mapping from column"):
        model.contrast("a = b")
