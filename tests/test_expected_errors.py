"""Expected standard errors: laws in n, ε, units and what is known, and fits whose errors are within the ranges."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.errors import InvalidParameter
from hullabaloo.release.expected_errors import ExpectedError

N = 20_000


def posed(estimator: Any, epsilon: float = 3.0, times: float = 1.0, **more: Any) -> Any:
    features = {"age": (18 * times, 90 * times), "sex": hb.Categorical(["f", "m"], baseline="f")}
    target = {"classes": {"y": ["no", "yes"]}} if estimator is hb.LogisticRegression else {"target": {"y": (0, 30)}}
    more.setdefault("solver", "preconditioned_gradient" if math.isfinite(epsilon) else "auto")
    budget = hb.Budget(epsilon, 1e-8) if math.isfinite(epsilon) else hb.Budget(math.inf)
    return estimator(domain=hb.Domain(features, **target, indicators=False), budget=budget, **more)


def told(model: Any, n: int = N, **known: float) -> np.ndarray:
    return np.array([(one.low, one.likely, one.high) for one in model.price(n, known=known).errors])


@pytest.mark.parametrize("estimator", [hb.LinearRegression, hb.LogisticRegression, hb.PoissonRegressor])
def test_ranges_follow_records_budget_and_what_is_known(estimator: Any) -> None:
    model = posed(estimator)
    found = told(model)
    assert np.all((found[:, 0] < found[:, 1]) & (found[:, 1] < found[:, 2]))
    assert np.all(told(model, 4 * N) < 0.6 * found)
    assert np.all(told(posed(estimator, 1.0)) > found)
    assert np.all(told(posed(estimator, math.inf)) < found)
    once, twice = told(model, age=5.0, y=0.3), told(model, age=10.0, y=0.6)
    power = {hb.LinearRegression: 1.0}.get(estimator, -1.0)
    assert twice[0] == pytest.approx(once[0] * 2.0 ** (power - 1.0))
    assert twice[1] == pytest.approx(once[1] * 2.0**power)
    assert np.all(once[:, 2] / once[:, 0] < found[:, 2] / found[:, 0])
    assert told(posed(estimator, times=10.0), age=50.0, y=0.3) == pytest.approx(once / [[10.0], [1.0]])


def test_without_noise_it_is_the_error_of_least_squares() -> None:
    """But for the usual inflation of a number's error by other columns."""
    found = told(posed(hb.LinearRegression, math.inf), age=12.0, y=3.0)[0, 1]
    assert found == pytest.approx(math.exp(0.55) * 3.0 / (12.0 * math.sqrt(N)))


@pytest.mark.parametrize("estimator", [hb.LinearRegression, hb.LogisticRegression, hb.PoissonRegressor])
def test_errors_of_a_fit_are_within_the_range(estimator: Any) -> None:
    rng = np.random.default_rng(0)
    age, sex = np.clip(rng.normal(50, 10, N), 18, 90), rng.random(N) < 0.4
    z = 0.03 * (age - 50) + 0.5 * sex
    y: Any = np.clip(10 + 2 * z + rng.normal(0, 2, N), 0, 30)
    if estimator is hb.LogisticRegression:
        y = np.where(rng.random(N) < 1 / (1 + np.exp(1 - z)), "yes", "no")
    elif estimator is hb.PoissonRegressor:
        y = np.minimum(rng.poisson(np.exp(0.5 + z)), 30)
    model = posed(estimator, test_key=bytes(32))
    frame = pd.DataFrame({"age": age, "sex": np.where(sex, "m", "f"), "y": y})
    errors = model.fit(frame).summary().to_dataframe()["std_error"].astype(float).to_numpy()[:2]
    rest = {hb.LinearRegression: 2.0, hb.LogisticRegression: 0.47, hb.PoissonRegressor: 1.4}[estimator]
    for found in (told(model), told(model, age=10.0, y=rest, **{"sex=m": 0.49})):
        assert np.all((found[:, 0] <= errors) & (errors <= found[:, 2]))


def test_several_targets_have_a_range_each() -> None:
    rng = np.random.default_rng(0)
    age = np.clip(rng.normal(50, 10, N), 18, 90)
    frame = pd.DataFrame({"age": age, "a": np.clip(10 + 0.06 * (age - 50) + rng.normal(0, 2, N), 0, 30)})
    frame["b"] = np.clip(500 + 2 * (age - 50) + rng.normal(0, 100, N), 0, 1000)
    domain = hb.Domain(features={"age": (18, 90)}, target={"a": (0, 30), "b": (0, 1000)}, indicators=False)
    about: dict[str, Any] = {"domain": domain, "budget": hb.Budget(3.0, 1e-9), "test_key": bytes(32)}
    model = hb.LinearRegression(solver="preconditioned_gradient", **about)
    assert [one.name for one in model.price(N).errors] == ["age for a", "age for b"]
    assert told(model)[1] == pytest.approx(told(model)[0] * 1000.0 / 30.0)
    errors = model.fit(frame).summary().to_dataframe().query("name == 'age'")["std_error"].astype(float).to_numpy()
    for found in (told(model), told(model, age=10.0, a=2.0, b=100.0)):
        assert np.all((found[:, 0] <= errors) & (errors <= found[:, 2]))


TABLE = pd.DataFrame({"age": ["SECRET"]})


@pytest.mark.parametrize(
    "known",
    [{"x": 1.0}, {"age": -1.0}, {"age": True}, {"age": math.inf}, 3, TABLE, {"age": TABLE}, {"age": TABLE.to_numpy()}],
)
def test_what_is_no_standard_deviation_is_refused(known: Any) -> None:
    with pytest.raises(InvalidParameter, match="known") as caught:
        posed(hb.LinearRegression).price(N, known=known)
    assert "SECRET" not in str(caught.value)


def test_nothing_is_promised_that_the_fit_does_not_tell() -> None:
    """A loss without errors, too few records for any, none asked for: noise alone is forecast of squares, and it follows ε."""
    for model, n in (
        (posed(hb.QuantileRegressor, quantile=0.5), N),
        (posed(hb.LinearRegression, solver="auto"), 60),
        (posed(hb.LogisticRegression, inference=False), N),
    ):
        assert model.price(n).errors == ()
        assert "expected standard error" not in str(model.price(n))
    assert "that a handful of records decide" in str(posed(hb.LinearRegression).price(N)), "which a fit may withhold"
    assert "known after the fit alone" in str(posed(hb.LogisticRegression).price(N))
    assert "known after the fit alone" not in str(posed(hb.LinearRegression).price(N))
    assert ExpectedError("age", 1.0, 2.0, 4.0).range == "1 to 4, about 2"
