"""The intercept alone: it comes close to the best constant, holds back where noise hides it, and is what "auto" takes where slopes would drown."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.curator import Curator
from hullabaloo.data import Rows
from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import Box
from hullabaloo.losses import Huber, Logistic, Pinball, Poisson, SmoothedHinge, Squared
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.solvers import ConstantSolver
from hullabaloo.solvers.constant import _rate
from tests.solvers.tables import Table, prices, problem, table

RNG = np.random.default_rng(5)
N = 500
X = RNG.uniform(-1.0, 1.0, (N, 20))
Y = np.clip(0.3 + 0.3 * RNG.normal(size=N), -1.0, 1.0)
C = (RNG.uniform(size=N) < 0.25).astype(int)


def model(y: np.ndarray, epsilon: float, solver: str) -> Any:
    kind: Any = hb.LinearRegression if y is Y else hb.LogisticRegression
    about: dict[str, Any] = {"target": (-1, 1)} if y is Y else {"classes": [0, 1]}
    domain = hb.Domain(features={f"x{j}": (-1, 1) for j in range(20)}, indicators=False, **about)
    known = {"inference": False, "test_key": TestKey(bytes(32)), "neighbours": "replace-one"}
    return kind(budget=hb.Budget(epsilon, 1e-6), domain=domain, solver=solver, **known)


@pytest.mark.parametrize("y", [Y, C], ids=["numbers", "classes"])
def test_it_comes_close_to_the_best_constant(y: np.ndarray) -> None:
    """Fixed keys; the tolerance is six standard deviations of the noise."""
    best = y.mean() if y is Y else np.log(y.mean() / (1.0 - y.mean()))
    fitted = model(y, 3.0, "constant").fit(X, y)
    assert not np.any(fitted.coef_)
    assert float(np.ravel(fitted.intercept_)[0]) == pytest.approx(best, abs=0.06 if y is Y else 0.5)
    hidden = model(y, 0.002, "constant").fit(X, y)
    assert abs(float(np.ravel(hidden.intercept_)[0])) <= 0.4, "what noise hides is taken for the middle of the range"


def test_the_constant_of_rare_counts_is_their_rate() -> None:
    """Of 400 events to come in 20 000 exposures: fixed keys, and six standard deviations of 2.4 % (steps from a rate of 1 ended at six times the total)."""
    years = RNG.uniform(0.05, 1.0, 20_000)
    y = np.minimum(RNG.poisson(0.04 * years), 5)
    domain = hb.Domain(features={"x": (-1, 1), "years": (0.02, 1)}, target={"events": (0, 5)}, indicators=False)
    known = {"solver": "constant", "exposure": "years", "test_key": TestKey(bytes(32))}
    frame = pd.DataFrame({"x": RNG.uniform(-1, 1, 20_000), "years": years, "events": y})
    fitted = hb.PoissonRegressor(budget=hb.Budget(3.0, 1e-8), domain=domain, **known).fit(frame)
    assert fitted.predict(frame).sum() == pytest.approx(y.sum(), rel=0.15)


@pytest.mark.few(8)
@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("share", [0.02, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("over", [0.5, 1.0, 1.7])
def test_the_mean_of_a_skewed_target_is_not_cut(neighbours: Neighbours, share: float, over: float) -> None:
    """Whatever share of the targets lies at an end, and however far the declared number is from the true one, where it is not public.

    Steps whose gradients are cut where most residuals lie ended at the more frequent end. Fixed keys; six standard deviations.
    """
    n = 4_000
    y = np.where(np.arange(n) < share * n, 1.0, -0.8)[:, None]
    data = Table(np.ones((n, 1)), y, table(p=1, intercept=True).facts.restricted(0))
    public = neighbours is Neighbours.REPLACE_ONE
    asked = problem(data, neighbours, records=n if public else round(over * n))
    plan = ConstantSolver().plan(asked, prices(data, asked), Allowance.gdp(0.2))
    assert [one.name for one in plan.queries] == (["gradient"] if public else ["gradient", "means"])
    curator = Curator(Rows(data.X, data.Y), plan.queries, key=TestKey(bytes(32)))  # type: ignore[arg-type]
    found = float(ConstantSolver().run(asked, plan, curator).theta[-1, 0])
    noise = math.hypot(*plan.settings["sums"]) * (1.0 if public else over)
    assert found == pytest.approx(float(y.mean()), abs=6.0 * noise)
    assert noise < 0.01


@pytest.mark.few(8)
@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("low", [-1.0, -0.99, 0.2])
@pytest.mark.parametrize("over", [0.5, 1.0, 1.7])
def test_the_constant_of_quantiles_is_theirs(neighbours: Neighbours, tau: float, low: float, over: float) -> None:
    """However narrow targets are within their bounds, and however far the declared number is from the true one, where it is not public: measured gradients ended at 1.3 to 2.5 times the loss.

    Fixed keys; the share below is within six standard deviations of a count's noise, and within what a last half of the range holds.
    """
    n = 4_000
    y = (low + 0.01 * RNG.gamma(1.0, size=n))[:, None]
    data = Table(np.ones((n, 1)), y, table(p=1, intercept=True).facts.restricted(0))
    public = neighbours is Neighbours.REPLACE_ONE
    asked = problem(data, neighbours, records=n if public else round(over * n))
    asked = replace(asked, loss=Pinball(tau), once=True)
    plan = ConstantSolver().plan(asked, prices(data, asked), Allowance.gdp(0.2))
    assert ([one.name for one in plan.queries], plan.queries[0].count) == (["gradient"], 14)
    assert plan.event.gdp_mu() == pytest.approx(0.2)
    derivatives = plan.queries[0].loss.derivative(np.zeros(2), np.array([-1.0, 1.0]))  # type: ignore[attr-defined]
    assert plan.queries[0].clip == np.abs(derivatives).max(), "no derivative is cut"  # type: ignore[attr-defined]
    curator = Curator(Rows(data.X, data.Y), plan.queries, key=TestKey(bytes(32)))  # type: ignore[arg-type]
    found = float(ConstantSolver().run(asked, plan, curator).theta[-1, 0])
    (noise,) = plan.settings["sums"]
    off = 6.0 * noise * (1.0 if public else over)
    near = np.quantile(y, np.clip([tau - off, tau + off], 0.0, 1.0)) + np.array([-1.0, 1.0]) * 2.0**-14
    assert near[0] <= found <= near[1]
    loud = ConstantSolver().plan(asked, prices(data, asked), Allowance.gdp(0.005))
    stream = ConstantSolver().plan(replace(asked, once=False), prices(data, asked), Allowance.gdp(0.2))
    assert {"sums"}.isdisjoint({*loud.settings, *stream.settings}), "where noise is not low, and as streams have begun"


def test_where_noise_is_not_low_gradients_are_measured() -> None:
    """Which are less noisy where targets are narrow."""
    data = table(p=3, intercept=True)
    asked = problem(data)
    for mu, names in ((0.05, {"norm_histogram", "centred_gradient"}), (1.0, {"gradient"})):
        plan = ConstantSolver().plan(asked, prices(data, asked), Allowance.gdp(mu))
        assert {one.name for one in plan.queries} == names
        assert Allowance.gdp(mu).takes(plan.event)


@pytest.mark.slow
def test_auto_takes_it_where_slopes_would_drown() -> None:
    poor, rich = (model(C, epsilon, "auto").price(N) for epsilon in (0.02, 3.0))
    assert (poor.solver, rich.solver != "constant") == ("constant", True)
    assert poor.expectation.startswith("no slope is released")
    for asked, said in (
        ("preconditioned_gradient", "'preconditioned_gradient' gives way to the constant: no"),
        ("constant", "no"),
    ):
        told = model(Y, 0.02, asked).price(N).expectation
        assert told.startswith(f"{said} slope is released, as {'solver=' if asked == 'constant' else 'noise'}")
    assert "constant" in str(model(C, 0.02, "auto").fit(X, C).summary())


@pytest.mark.parametrize("inference", ["auto", False])
@pytest.mark.parametrize(("y", "solver"), [(C, "auto"), (Y, "preconditioned_gradient")], ids=["auto", "named"])
def test_a_model_without_slopes_says_why(y: np.ndarray, solver: str, inference: str | bool) -> None:
    """Whoever named another solver, or asked for no errors, saw coefficients of 0 and no word about them."""
    made = model(y, 0.02, solver).set_params(inference=inference).fit(X, y)
    assert not np.any(made.coef_)
    assert "noise would drown them" in made.summary().note


def test_it_refuses_what_has_no_constant() -> None:
    for asked, data, why in (
        (problem(table(p=3)), table(p=3), "needs no data"),
        (problem(table(p=3, intercept=True), constraint=Box(0.5, 1.0)), table(p=3, intercept=True), "does not hold 0"),
    ):
        with pytest.raises(CapabilityError, match=why):
            ConstantSolver().plan(asked, prices(data, asked), Allowance(Budget(1.0, 1e-6)))


@pytest.mark.parametrize("loss", [Squared(), Huber(0.5), Pinball(0.3), Logistic(), SmoothedHinge(0.5), Poisson()])
def test_it_refuses_what_has_no_noise(loss: Any) -> None:
    """Of each loss before anything is read: what noise could hide is what keeps the logarithms of shares finite."""
    data = table(p=3, intercept=True)
    asked = replace(problem(data), loss=loss)
    with pytest.raises(CapabilityError, match="finite budget"):
        ConstantSolver().plan(asked, prices(data, asked), Allowance(Budget(math.inf)))


@pytest.mark.few(6)
@pytest.mark.parametrize("reach", [0.0, 3.0, 15.5, 16.0, 16.5, 30.0])
@pytest.mark.parametrize("events", [0.0, 0.25, 1.0])
def test_no_derivative_of_counts_that_it_asks_for_is_cut(reach: float, events: float) -> None:
    """Of whichever exposures, whose logarithms lie within any public bound, and where all or none of the records are events: `|φ'| ≤ 1`."""
    loss, target, offset = Poisson(), (np.arange(8.0) < 8.0 * events) * 1.0, np.linspace(-reach, reach, 8)

    def answer(_: str, level: np.ndarray) -> np.ndarray:
        slopes = loss.derivative(level + offset, target)
        assert np.all(np.abs(slopes) <= 1.0)
        return np.atleast_1d(slopes.mean())

    given: Any = SimpleNamespace(loss=loss, offset_bound=reach)
    found = _rate(given, (1e-12, 1e-12), cast(Any, SimpleNamespace(answer=answer)))
    with np.errstate(divide="ignore"):
        best = np.log(events) - np.log(np.mean(np.exp(offset)))
    assert found == pytest.approx(np.clip(best, *loss.intercept_bounds), abs=1e-6)


@pytest.mark.few(10)
@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("over", [0.5, 1.0, 1.7])
def test_the_constant_of_classes_is_the_log_odds_of_one_mean(neighbours: Neighbours, share: float, over: float) -> None:
    """However rare either class is, and however far the declared number is from the true one, where it is not public: within six standard deviations of the noise in the chance.

    Fixed keys. No derivative at a chance of one half is longer than the clip, and a class that noise hides is not taken for impossible.
    """
    n, loss = 4_000, Logistic()
    y = np.where(np.arange(n) < share * n, 1.0, -1.0)[:, None]
    data = Table(np.ones((n, 1)), y, table(p=1, intercept=True).facts.restricted(0))
    public = neighbours is Neighbours.REPLACE_ONE
    asked = replace(problem(data, neighbours, records=n if public else round(over * n)), loss=loss)
    plan = ConstantSolver().plan(asked, prices(data, asked), Allowance.gdp(0.2))
    assert [one.name for one in plan.queries] == (["gradient"] if public else ["gradient", "means"])
    assert plan.queries[0].clip == np.abs(loss.derivative(np.zeros(2), np.array([-1.0, 1.0]))).max()  # type: ignore[attr-defined]
    assert plan.event.gdp_mu() == pytest.approx(0.2)
    curator = Curator(Rows(data.X, data.Y), plan.queries, key=TestKey(bytes(32)))  # type: ignore[arg-type]
    found = float(ConstantSolver().run(asked, plan, curator).theta[-1, 0])
    chance = 1.0 / (1.0 + math.exp(-found))
    off = 3.0 * math.hypot(*plan.settings["sums"]) * (1.0 if public else over)
    assert off < 0.03
    assert chance == pytest.approx(share, abs=off)
    assert min(chance, 1.0 - chance) > off / 60.0, "what noise could hide of a class is not taken for nothing"


@pytest.mark.slow
def test_auto_leaves_it_alone_where_inference_or_weights_speak_against_it() -> None:
    """Inference tells slopes, which would not be 0; of records whose weights have another bound than 1 rehearsals know neither signal nor noise."""
    domain = hb.Domain(
        features={f"x{j}": (-1, 1) for j in range(20)}, target=(-1, 1), weight=("w", 500.0), indicators=False
    )
    heavy = hb.LinearRegression(budget=hb.Budget(1.0, 1e-6), domain=domain, inference=False)
    assert heavy.price(n=20_000).solver != "constant"
    quiet = model(Y, 3.0, "auto").set_params(inference=True).price(n=20_000)
    assert quiet.solver != "constant"
    assert model(Y, 0.002, "auto").price(n=500).solver == "constant"


def test_inference_is_refused_where_no_slope_is_looked_at() -> None:
    named = model(Y, 3.0, "constant").set_params(inference="auto").fit(X, Y)
    assert not np.any(named.coef_)
    assert named.release_.score is None
    assert "every slope to 0 without looking" in str(named.summary())
    with pytest.raises(
        CapabilityError, match=r"every slope to 0 without looking.*Nothing was charged.*inference=False"
    ):
        named.set_params(inference=True).price(n=20_000)


def test_targets_that_are_learned_together_are_refused_in_words_of_their_own() -> None:
    domain = hb.Domain(features={"a": (-1, 1)}, target={"y": (-1, 1), "z": (-1, 1)}, indicators=False)
    with pytest.raises(CapabilityError, match="several targets"):
        hb.MultiTaskRegression(budget=hb.Budget(1.0, 1e-6), domain=domain, solver="constant").price(n=500)
