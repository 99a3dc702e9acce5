"""Expected standard errors: laws in n, ε, units and what is known, and fits whose errors are within the ranges."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.errors import InvalidParameter
from hullabaloo.inference.fit_quality import total
from hullabaloo.release.expected_errors import ExpectedError, alike, expected_errors, expected_totals, publicly_known
from hullabaloo.release.planned import prepare
from hullabaloo.solvers import MomentsSolver
from hullabaloo.solvers.floored import FlooredSolver

N = 20_000


def posed(estimator: Any, epsilon: float = 3.0, times: float = 1.0, **more: Any) -> Any:
    features = {"age": (18 * times, 90 * times), "sex": hb.Categorical(["f", "m"], baseline="f")}
    target = {"classes": {"y": ["no", "yes"]}} if estimator is hb.LogisticRegression else {"target": {"y": (0, 30)}}
    more.setdefault("solver", "preconditioned_gradient" if math.isfinite(epsilon) else "auto")
    budget = hb.Budget(epsilon, 1e-8) if math.isfinite(epsilon) else hb.Budget(math.inf)
    return estimator(domain=hb.Domain(features, **target, indicators=False), budget=budget, **more)


def forecast(model: Any, n: int = N, **known: float) -> tuple[tuple[ExpectedError, ...], tuple[ExpectedError, ...]]:
    """The errors and totals of a price, without the tables that a price tries a plan out on."""
    encoding = model._encoding(None, None)
    prepared = prepare(model._task(encoding), encoding, n)
    told = publicly_known(prepared, known)
    return expected_errors(prepared, told), expected_totals(prepared, told)


def told(model: Any, n: int = N, **known: float) -> np.ndarray:
    return np.array([(one.low, one.likely, one.high) for one in forecast(model, n, **known)[0]])


@pytest.mark.few(1)
@pytest.mark.parametrize("estimator", [hb.LinearRegression, hb.LogisticRegression, hb.PoissonRegressor])
def test_ranges_follow_records_budget_and_what_is_known(estimator: Any) -> None:
    model = posed(estimator)
    found = told(model)
    assert np.all((found[:, 0] < found[:, 1]) & (found[:, 1] < found[:, 2]))
    assert np.all(told(model, 4 * N) < 0.6 * found)
    assert np.all(told(posed(estimator, 1.0)) > found)
    assert np.all(told(posed(estimator, math.inf)) < found)
    once, twice = told(model, age=5.0, y=0.2), told(model, age=10.0, y=0.4)
    power = {hb.LinearRegression: 1.0}.get(estimator, -1.0)
    assert twice[0] == pytest.approx(once[0] * 2.0 ** (power - 1.0))
    assert twice[1] == pytest.approx(once[1] * 2.0**power)
    assert np.all(once[:, 2] / once[:, 0] < found[:, 2] / found[:, 0])
    assert told(posed(estimator, times=10.0), age=50.0, y=0.2) == pytest.approx(once / [[10.0], [1.0]])


def test_without_noise_it_is_the_error_of_least_squares() -> None:
    """Of a single number, which no other explains."""
    found = told(posed(hb.LinearRegression, math.inf), age=12.0, y=3.0)[0, 1]
    assert found == pytest.approx(3.0 / (12.0 * math.sqrt(N)))


def test_moments_that_are_held_up_have_the_errors_of_what_is_left_for_them() -> None:
    """Those of moments alone, whose class is passed, at the smaller budget."""
    domain = hb.Domain(dict.fromkeys("abc", (-1, 1)), target={"y": (-1, 1)}, indicators=False)
    held = hb.LinearRegression(domain=domain, budget=hb.Budget.gdp(0.05), solver="moments")
    fit = prepare(held._task(encoding := held._encoding(None, None)), encoding, 2_000)
    assert isinstance(fit.solver, FlooredSolver)
    left = hb.Budget.gdp(0.05 * math.sqrt(1.0 - fit.solver.share))
    alone = hb.LinearRegression(domain=domain, budget=left, solver=MomentsSolver(above_mean=True))
    assert told(held, 2_000) == pytest.approx(told(alone, 2_000), rel=1e-3)


@pytest.mark.few(4)
@pytest.mark.parametrize("numbers", [1, 2, 9])
@pytest.mark.parametrize("epsilon", [0.5, 3.0, math.inf])
def test_no_middle_is_below_what_sampling_alone_gives(numbers: int, epsilon: float) -> None:
    """`σ/(s√n)`, of columns and residuals of known deviations."""
    names = [f"x{j}" for j in range(numbers)]
    domain = hb.Domain(dict.fromkeys(names, (-1, 1)), target={"y": (0, 30)}, indicators=False)
    private = math.isfinite(epsilon)
    budget, solver = (hb.Budget(epsilon, 1e-8), "preconditioned_gradient") if private else (hb.Budget(math.inf), "auto")
    model = hb.LinearRegression(domain=domain, budget=budget, solver=solver)
    found = told(model, y=3.0, **dict.fromkeys(names, 0.4))
    assert np.all(found[:, 1] >= 3.0 / (0.4 * math.sqrt(N)) * (1.0 - 1e-9))


def test_columns_that_explain_one_another_may_have_far_longer_errors_and_hardly_shorter_ones() -> None:
    """Of numbers; levels of a baseline explain one another as usual."""
    numbers, level = told(posed(hb.LinearRegression), age=10.0, y=2.0, **{"sex=m": 0.49})
    assert numbers[2] / numbers[1] > 2.0 * numbers[1] / numbers[0]
    assert level[2] / level[1] == pytest.approx(level[1] / level[0])


def drawn(estimator: Any) -> pd.DataFrame:
    """Records of a number and a category, whose target suits the estimator."""
    rng = np.random.default_rng(0)
    age, sex = np.clip(rng.normal(50, 10, N), 18, 90), rng.random(N) < 0.4
    z = 0.03 * (age - 50) + 0.5 * sex
    y: Any = np.clip(10 + 2 * z + rng.normal(0, 2, N), 0, 30)
    if estimator is hb.LogisticRegression:
        y = np.where(rng.random(N) < 1 / (1 + np.exp(1 - z)), "yes", "no")
    elif estimator is hb.PoissonRegressor:
        y = np.minimum(rng.poisson(np.exp(0.5 + z)), 30)
    return pd.DataFrame({"age": age, "sex": np.where(sex, "m", "f"), "y": y})


@pytest.mark.few(1)
@pytest.mark.parametrize("estimator", [hb.LinearRegression, hb.LogisticRegression, hb.PoissonRegressor])
def test_errors_of_a_fit_are_within_the_range(estimator: Any) -> None:
    model, frame = posed(estimator, test_key=bytes(32)), drawn(estimator)
    errors = model.fit(frame).summary().to_dataframe()["std_error"].astype(float).to_numpy()[:2]
    rest = {hb.LinearRegression: 2.0, hb.LogisticRegression: 0.47, hb.PoissonRegressor: 1.4}[estimator]
    for found in (told(model), told(model, age=10.0, y=rest, **{"sex=m": 0.49})):
        assert np.all((found[:, 0] <= errors) & (errors <= found[:, 2]))


@pytest.mark.slow
def test_several_targets_have_a_range_each() -> None:
    rng = np.random.default_rng(0)
    age = np.clip(rng.normal(50, 10, N), 18, 90)
    frame = pd.DataFrame({"age": age, "a": np.clip(10 + 0.06 * (age - 50) + rng.normal(0, 2, N), 0, 30)})
    frame["b"] = np.clip(500 + 2 * (age - 50) + rng.normal(0, 100, N), 0, 1000)
    domain = hb.Domain(features={"age": (18, 90)}, target={"a": (0, 30), "b": (0, 1000)}, indicators=False)
    about: dict[str, Any] = {"domain": domain, "budget": hb.Budget(3.0, 1e-9), "test_key": bytes(32)}
    model = hb.LinearRegression(solver="preconditioned_gradient", **about)
    price = model.price(N)
    assert (price.errors, price.totals) == forecast(model)
    known = model.price(N, known={"a": 2.0})
    assert (known.errors, known.totals) == forecast(model, a=2.0)
    assert [(one.name, one.target) for one in price.errors] == [("age for a", "a"), ("age for b", "b")]
    assert [name for name, _ in price.expected] == ["predicted / observed total for a, b", "age for a", "age for b"]
    assert told(model)[1] == pytest.approx(told(model)[0] * 1000.0 / 30.0)
    errors = model.fit(frame).summary().to_dataframe().query("name == 'age'")["std_error"].astype(float).to_numpy()
    for found in (told(model), told(model, age=10.0, a=2.0, b=100.0)):
        assert np.all((found[:, 0] <= errors) & (errors <= found[:, 2]))


TABLE = pd.DataFrame({"age": ["SECRET"]})


@pytest.mark.parametrize(
    "known",
    [
        *(
            {"x": 1.0},
            {"age": -1.0},
            {"age": True},
            {"age": math.inf},
            3,
            TABLE,
            {"age": TABLE},
            {"age": TABLE.to_numpy()},
        ),
        *(
            {"mean of y": 31.0},
            {"mean of y": -1.0},
            {"mean of y": math.nan},
            {"mean of age": 40.0},
            {"mean of y": TABLE},
        ),
    ],
)
def test_what_is_no_standard_deviation_and_no_mean_of_a_target_is_refused(known: Any) -> None:
    with pytest.raises(InvalidParameter, match="known") as caught:
        posed(hb.LinearRegression).price(N, known=known)
    assert "SECRET" not in str(caught.value)


@pytest.mark.usefixtures("unrehearsed")
def test_nothing_is_promised_that_the_fit_does_not_tell() -> None:
    """A loss without errors, too few records for any, none asked for: noise alone is forecast of squares, and it follows ε."""
    unasked = posed(hb.LogisticRegression, inference=False).price(N)
    quantiles = posed(hb.QuantileRegressor, quantile=0.5).price(N)
    for price in (quantiles, posed(hb.LinearRegression, solver="auto").price(60), unasked):
        assert price.errors == ()
        assert "expected standard error" not in str(price)
    numbers, classes = posed(hb.LinearRegression).price(N), posed(hb.LogisticRegression).price(N)
    assert "that one or two records could decide" in str(numbers), "which a fit may withhold"
    assert "errors and totals if coefficients are near their estimates, which is known after the fit alone" in str(
        classes
    )
    assert "known after the fit alone" not in str(numbers)
    for price, conditions in ((numbers, 2), (classes, 3)):
        withheld = price.to_dict()["withheld"]
        assert len(withheld) == conditions
        assert all(one in str(price) for one in withheld)
    assert unasked.withheld == ()
    assert posed(hb.LinearRegression, math.inf).price(N).withheld == ()


@pytest.mark.slow
def test_what_has_the_same_range_is_one_line() -> None:
    """Seven classes of nine columns are two lines; a column that differs has its own, and no column is lost."""
    names = [f"x{j}" for j in range(9)]
    domain = hb.Domain(dict.fromkeys(names, (-100, 150)), classes={"c": list("abcdefg")}, indicators=False)
    about: dict[str, Any] = {"multi_class": "one-vs-rest", "solver": "preconditioned_gradient"}
    model = hb.LogisticRegression(domain=domain, budget=hb.Budget(1.0, 1e-9), **about)
    errors, totals = forecast(model, 40_000)
    assert (len(errors), len(totals)) == (63, 7)
    assert [what for what, _ in (*alike(totals), *alike(errors))] == [
        "predicted / observed total for all 7 targets",
        "all 9 columns for all 7 targets",
    ]
    apart = alike(forecast(model, 40_000, x3=1.0)[0])
    assert [what for what, _ in apart] == ["x0, x1, x2, x4 and 4 more for all 7 targets", "x3 for all 7 targets"]
    assert alike([ExpectedError("age", "", 1.0, 2.0, 4e4)]) == [("age", "about 2 (1 to 40,000)")]


@pytest.mark.few(2)
@pytest.mark.parametrize("estimator", [hb.LinearRegression, hb.LogisticRegression, hb.PoissonRegressor])
def test_the_error_of_a_total_is_within_the_range(estimator: Any) -> None:
    """That a fit tells, which holds what comes; with what is known of the target it is narrower, and falls with records and budget."""
    model, frame = posed(estimator, test_key=bytes(32)), drawn(estimator)
    model.fit(frame)
    found = total(model._fitted(), 0)
    assert found is not None
    known = {hb.LinearRegression: 2.0, hb.LogisticRegression: 0.47, hb.PoissonRegressor: 1.4}[estimator]
    mean = float(np.mean(frame["y"] == "yes" if estimator is hb.LogisticRegression else frame["y"]))
    (_, (usual,)), (_, (sharp,)), (_, (sure,)) = (
        *(forecast(model), forecast(model, y=known)),
        forecast(model, **{"y": known, "mean of y": mean}),
    )
    assert 0.5 <= sure.likely / found[1] <= 2.5, "of residuals without a tail most"
    for one in (usual, sharp, sure):
        assert one.low <= found[1] <= one.high
        assert abs(found[0] - 1.0) <= 2.0 * one.high
    assert sharp.high / sharp.low < usual.high / usual.low
    more, louder = forecast(model, 4 * N)[1][0], forecast(posed(estimator, 1.0))[1][0]
    assert more.likely < 0.5 * usual.likely < louder.likely


@pytest.mark.few(2)
@pytest.mark.parametrize("estimator", [hb.LinearRegression, hb.LogisticRegression, hb.PoissonRegressor])
def test_a_total_whose_target_has_a_known_mean_is_told_for_any_mean(estimator: Any) -> None:
    """In proportion to one over it, of counts over its root; of classes and counts it stands for the deviation, but a class that is frequent is told apart from a rare one."""
    model, classes = posed(estimator), estimator is hb.LogisticRegression
    rare, often = (0.1, 0.9) if classes else (2.0, 18.0)
    (low,), (high,) = (forecast(model, **{"y": 0.3, "mean of y": one})[1] for one in (rare, often))
    alone = [forecast(model, **{"mean of y": one}) for one in (rare, often)]
    if estimator is hb.LinearRegression:
        (usual,), (sharp,) = alone[0][1], forecast(model, **{"y": 2.0, "mean of y": 5.0})[1]
        assert sharp.high / sharp.low < min(usual.high / usual.low, low.high / low.low * 1.0001)
    else:
        root = (rare * (1.0 - rare) if classes else rare) ** 0.5
        assert alone[0][0] == forecast(model, y=root)[0]
        assert alone[0][1][0].likely == pytest.approx(forecast(model, y=root)[1][0].likely)
        low, high = alone[0][1][0], alone[1][1][0]
    power = 0.5 if estimator is hb.PoissonRegressor else 1.0
    assert low.likely / high.likely == pytest.approx((often / rare) ** power)


def test_a_target_of_both_signs_has_a_total_where_its_mean_is_known() -> None:
    domain = hb.Domain({"age": (18, 90)}, target={"y": (-10, 10)}, indicators=False)
    model = hb.LinearRegression(domain=domain, budget=hb.Budget(3.0, 1e-8), solver="preconditioned_gradient")
    assert forecast(model)[1] == forecast(model, y=1.0)[1] == forecast(model, **{"mean of y": 0.0})[1] == ()
    (above,), (below,) = (forecast(model, **{"mean of y": one})[1] for one in (4.0, -4.0))
    assert above == below


@pytest.mark.slow
def test_the_error_of_a_total_of_several_classes_is_within_the_range() -> None:
    """Of classes of 20, 30 and 50 %, told by an answer of their own: the error is in proportion to 1/n and to 1/s, which the deviation of a class that is publicly known tells."""
    rng, names = np.random.default_rng(0), ["a", "b", "c"]
    X = rng.uniform(-1.0, 1.0, (N, 2))
    frame = pd.DataFrame(X, columns=["x", "z"])
    frame["y"] = np.take(names, (rng.gumbel(size=(N, 3)) + np.log([0.2, 0.3, 0.5]) + X[:, :1] * [0, 1, 2]).argmax(1))
    domain = hb.Domain({"x": (-1, 1), "z": (-1, 1)}, classes={"y": names}, indicators=False)
    made = hb.LogisticRegression(
        domain=domain, budget=hb.Budget(3.0, 1e-8), solver="preconditioned_gradient", test_key=bytes(32)
    )
    model, share = made.fit(frame), float(np.mean(frame["y"] == "a"))
    (_, usual), (_, sharp) = forecast(model), forecast(model, **{"y=a": math.sqrt(share * (1.0 - share))})
    for k in range(3):
        found = total(model._fitted(), k)
        assert found is not None
        for one in (usual[k], sharp[k]):
            assert one.low <= found[1] <= one.high
    assert sharp[0].high / sharp[0].low < 0.5 * usual[0].high / usual[0].low
    assert sharp[1:] == usual[1:]
    assert sharp[0].likely * share == pytest.approx(usual[0].likely / 3.0 * math.exp(0.25))
    assert forecast(model, 4 * N)[1][0].likely == pytest.approx(usual[0].likely / 4.0, rel=0.1)


@pytest.mark.parametrize("bounds", [(0, 30), (10, 40), (-30, 0), (-10, 20), (-30, 30), (-1, 60)])
def test_a_total_that_may_be_nothing_has_no_forecast(bounds: tuple[float, float]) -> None:
    """Of targets of both signs; else in any units, as much for losses as for gains, and less for targets far from 0."""
    domains = [
        hb.Domain({"age": (18, 90)}, target={"y": ends}, indicators=False)
        for ends in (bounds, (10 * bounds[0], 10 * bounds[1]), (-bounds[1], -bounds[0]), (0, bounds[1] - bounds[0]))
    ]
    about: dict[str, Any] = {"budget": hb.Budget(3.0, 1e-8), "solver": "preconditioned_gradient"}
    fits = [hb.LinearRegression(domain=one, **about) for one in domains]
    found = [[one.likely for one in forecast(fit)[1]] for fit in fits]
    if bounds in ((-10, 20), (-30, 30)):
        assert found[:3] == [[], [], []]
        return
    assert found[0] == pytest.approx(found[1])
    assert found[0] == pytest.approx(found[2])
    assert (found[0][0] > found[3][0]) is (bounds == (-1, 60))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "more", [{"neighbours": "add-or-remove"}, {"fit_intercept": False}, {"inference": False}, {"solver": "moments"}]
)
def test_no_total_is_promised_where_fits_tell_none(more: dict[str, Any]) -> None:
    domain = hb.Domain({"age": (18, 90)}, target={"y": (0, 30)}, indicators=False, records=N)
    more = {"solver": "preconditioned_gradient", **more}
    model = hb.LinearRegression(domain=domain, budget=hb.Budget(3.0, 1e-8), test_key=bytes(32), **more)
    assert model.price().totals == ()
    rng = np.random.default_rng(0)
    model.fit(pd.DataFrame({"age": rng.uniform(18, 90, N), "y": rng.uniform(0, 30, N)}))
    assert not model.release_.scores or total(model._fitted(), 0) is None


@pytest.mark.parametrize("size", [10.0**k for k in range(-9, 10)])
def test_a_range_of_any_size_shows_both_ends(size: float) -> None:
    """Whatever the digits of its ends begin with."""
    for low, likely, high in ((7.1, 81.0, 920.0), (1.2, 14.0, 270.0), (0.61, 7.2, 12.0), (9.9, 10.0, 11.0)):
        said = ExpectedError("age", "y", size * low, size * likely, size * high).range
        assert [
            float(part.replace(",", ""))
            for part in said.strip(")").removeprefix("about ").replace("(", "").replace("to ", "").split()
        ] == pytest.approx([size * likely, size * low, size * high])
    assert "(" not in ExpectedError("age", "y", size, size, size).range
