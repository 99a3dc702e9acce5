"""Moments beside any solver: what is bought, what it costs, what comes of it."""

import math
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.errors import InvalidParameter
from hullabaloo.noise import TestKey
from hullabaloo.planning.named import solver_from_dict, solver_to_dict
from hullabaloo.release.planned import prepare
from hullabaloo.solvers.moments.with_moments import scores_in

KEY = TestKey(bytes(range(32)))


def domain(**target: Any) -> hb.Domain:
    declared = target or {"target": (-2, 2)}
    return hb.Domain(features={"a": (-1, 1), "b": (-1, 1)}, indicators=False, **declared)


def prepared(kind: Any, solver: Any, budget: hb.Budget, **target: Any) -> Any:
    model = kind(budget=budget, domain=domain(**target), solver=solver)
    return prepare(model._task(model._encoding(None, 2)), model._encoding(None, 2), 5_000)


INNER = ("gradient", "objective_perturbation", "output_perturbation", "preconditioned_gradient", "coordinate_descent")


@pytest.mark.parametrize("inner", INNER)
def test_the_plan_buys_moments_first_and_a_gradient_last(inner: str) -> None:
    budget = hb.Budget(1.0, 1e-6)
    plan = prepared(hb.LogisticRegression, hb.WithMoments(inner), budget, classes=[0, 1]).plan
    assert (plan.queries[0].name, plan.queries[-1].name, plan.queries[-1].count) == ("moments", "gradient", 1)
    assert budget.admits(plan.event)


def test_gaussian_prices_add_up() -> None:
    found = prepared(hb.LogisticRegression, hb.WithMoments("gradient", share=0.3), hb.Budget.gdp(0.5), classes=[0, 1])
    first, *steps, last = found.plan.queries
    spent = sum(query.count * query.event.gdp_mu() ** 2 for query in steps)
    assert first.event.gdp_mu() ** 2 + last.event.gdp_mu() ** 2 == pytest.approx(0.3 * 0.25, rel=0.01)
    assert spent == pytest.approx(0.7 * 0.25, rel=0.05)
    assert found.plan.event.gdp_mu() <= 0.5


def test_the_squared_loss_needs_no_gradient_and_moments_no_company() -> None:
    budget = hb.Budget(1.0, 1e-6)
    plan = prepared(hb.LinearRegression, hb.WithMoments("objective_perturbation"), budget).plan
    assert [query.name for query in plan.queries] == ["moments", "objective_perturbation"]
    alone = prepared(hb.LinearRegression, hb.WithMoments("moments"), budget)
    assert [query.name for query in alone.plan.queries] == ["moments"]
    assert alone.solver.name == "moments"


def test_auto_chooses_what_is_inside() -> None:
    found = prepared(hb.LogisticRegression, hb.WithMoments(), hb.Budget(1.0, 1e-6), classes=[0, 1])
    assert found.solver.name == "with_moments"
    assert found.solver.solver.name != "auto"
    assert "WithMoments" not in found.plan.reason
    assert "50% of the budget for moments and a gradient" in found.plan.reason


def test_a_fit_releases_coefficients_moments_and_gradients() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (6_000, 2))
    y = rng.choice(["u", "v", "w"], 6_000)
    model = hb.LogisticRegression(
        budget=hb.Budget(2.0, 1e-6),
        domain=domain(classes=["u", "v", "w"]),
        solver=hb.WithMoments("gradient"),
        test_key=KEY,
    ).fit(X, y)
    release = model.release_
    scores = scores_in(release.trace)
    assert release.moments is not None
    assert scores is not None
    assert scores.shape == (3, 3)
    assert release.plan["queries"][-1]["answers"] == 3  # one for each class
    assert model.predict_proba(X[:4]).shape == (4, 3)
    assert model.price(6_000).epsilon <= 2.0


def test_without_noise_the_gradient_vanishes_and_the_step_is_none() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, (500, 2))
    y = (rng.uniform(size=500) < 1.0 / (1.0 + np.exp(-X[:, 0]))).astype(int)
    model = hb.LogisticRegression(
        budget=hb.Budget(math.inf), domain=domain(classes=[0, 1]), solver=hb.WithMoments("output_perturbation")
    ).fit(X, y)
    for row in model.summary().rows:
        assert row.estimate == pytest.approx(row.coefficient, abs=1e-6)
        assert row.privacy_error == 0.0
        assert 0.05 < row.sampling_error < 0.5


def test_models_beside_moments_can_be_compared_and_refitted() -> None:
    rng = np.random.default_rng(2)
    X = rng.uniform(-1.0, 1.0, (20_000, 2))
    model = hb.LinearRegression(
        budget=hb.Budget(2.0, 1e-6), domain=domain(), solver=hb.WithMoments("gradient"), test_key=KEY
    ).fit(X, X[:, 0] + 0.1 * rng.normal(size=20_000))
    assert hb.compare([model, model.refit()]).rows[0].r2 > 0.8
    assert model.refit(features=["a"]).coef_[1] == 0.0


def test_options_are_checked_and_kept() -> None:
    for share in (0.0, 1.0, True, "half"):
        with pytest.raises(InvalidParameter, match="between 0 and 1"):
            hb.WithMoments(share=share)  # type: ignore[arg-type]
    for solver in (None, hb.WithMoments()):
        with pytest.raises(InvalidParameter, match="name of a solver"):
            hb.WithMoments(solver)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="there are 'auto'"):
        prepared(hb.LinearRegression, hb.WithMoments("newton"), hb.Budget(1.0, 1e-6))
    for one in (hb.WithMoments(), hb.WithMoments(hb.GreedySelectionSolver(selected=3), share=0.4)):
        assert solver_from_dict(solver_to_dict(one)) == one
