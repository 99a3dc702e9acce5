"""The output perturbation solver: Gaussian price, accuracy, and the exact optimum of every loss without noise."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn import linear_model

from hullabaloo.curator import Curator
from hullabaloo.data.source import Rows
from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import Box, ConvexSet, L1Ball, L1Penalty, L2Ball, Penalty, Simplex, SquaredL2Penalty
from hullabaloo.losses import (
    AnyLoss,
    Huber,
    Logistic,
    MultinomialLogistic,
    Pinball,
    Poisson,
    SmoothedHinge,
    Squared,
    SquaredTargets,
)
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Allowance, Budget, Calibration, Neighbours, epsilon_of
from hullabaloo.solvers import OutputPerturbationSolver
from tests.solvers.tables import Table, prices, problem, table

SOLVER = OutputPerturbationSolver()
EXACT = Allowance.gdp(math.inf)


def solved(
    data: Table,
    loss: AnyLoss,
    allowance: Allowance = EXACT,
    *,
    constraint: ConvexSet | None = None,
    penalty: Penalty | None = None,
) -> np.ndarray:
    asked = replace(problem(data, constraint=constraint, penalty=penalty), loss=loss, targets=data.Y.shape[1])
    plan = SOLVER.plan(asked, prices(data, asked), allowance)
    curator = Curator(Rows(data.X, data.Y), plan.queries, key=TestKey(bytes(32)))  # type: ignore[arg-type]
    return SOLVER.run(asked, plan, curator).theta


def small(loss: AnyLoss, *, targets: int = 1, intercept: bool = True) -> Table:
    data = table(120, 4, targets=targets, intercept=intercept, seed=3)
    rng = np.random.default_rng(0)
    if isinstance(loss, Logistic | SmoothedHinge):
        return replace(data, Y=np.where(data.Y + 0.3 * rng.normal(size=data.Y.shape) >= 0.1, 1.0, -1.0))
    if isinstance(loss, Poisson):
        return replace(data, Y=np.minimum(rng.poisson(5.0 * np.exp(data.Y)) / 20.0, 1.0))
    if isinstance(loss, MultinomialLogistic):
        chosen = np.argmax(data.Y + 0.3 * rng.normal(size=data.Y.shape), axis=1)
        return replace(data, Y=np.where(np.eye(targets)[chosen] > 0.0, 1.0, -1.0))
    return data


def test_the_optimum_is_scikit_learns() -> None:
    data = small(Logistic())
    X, labels = data.X[:, :-1], data.Y[:, 0]
    other = linear_model.LogisticRegression(C=1.0 / (0.01 * 120), tol=1e-12, max_iter=10_000).fit(X, labels)
    theta = solved(data, Logistic(), penalty=SquaredL2Penalty(0.01))[:, 0]
    assert theta == pytest.approx(np.append(other.coef_[0], other.intercept_), abs=1e-5)
    data = small(Squared())
    lasso = linear_model.Lasso(alpha=0.02, tol=1e-14, max_iter=100_000).fit(data.X[:, :-1], data.Y[:, 0])
    theta = solved(data, Squared(), penalty=L1Penalty(0.02))[:, 0]
    assert theta == pytest.approx(np.append(lasso.coef_, lasso.intercept_), abs=1e-8)
    data = small(Poisson())
    poisson = linear_model.PoissonRegressor(alpha=0.05, tol=1e-12, max_iter=10_000).fit(data.X[:, :-1], data.Y[:, 0])
    theta = solved(data, Poisson(), penalty=SquaredL2Penalty(0.05))[:, 0]
    assert theta == pytest.approx(np.append(poisson.coef_, poisson.intercept_), abs=1e-5)


def test_classes_without_an_error_have_no_optimum_and_the_search_for_it_ends() -> None:
    data = small(Logistic())
    apart = np.where(data.X[:, :1] > 0.0, 1.0, -1.0)
    theta = solved(replace(data, Y=apart), Logistic())
    margins = apart * (data.X @ theta)
    assert margins.min() > 30.0  # told apart for every purpose,
    assert np.exp(-margins).mean() > 1e-25  # and then it stops


@pytest.mark.parametrize("strength", [0.0, 0.02])
def test_quantiles_are_scikit_learns(strength: float) -> None:
    data = small(Pinball(0.3))
    other = linear_model.QuantileRegressor(quantile=0.3, alpha=strength).fit(data.X[:, :-1], data.Y[:, 0])
    theta = solved(data, Pinball(0.3), penalty=L1Penalty(strength))[:, 0]
    assert theta == pytest.approx(np.append(other.coef_, other.intercept_), abs=1e-7)


@pytest.mark.few(2)
@pytest.mark.parametrize("constraint", [L1Ball(0.3), L2Ball(0.3), Box(-0.2, 0.2), Simplex(0.4)], ids=str)
def test_quantiles_on_a_set_beat_every_point_tried(constraint: Any) -> None:
    data, loss = small(Pinball(0.7)), Pinball(0.7)
    theta = solved(data, loss, constraint=constraint)[:, 0]
    assert constraint.contains(theta[:-1], 1e-7)

    def risk(point: np.ndarray) -> float:
        return float(np.mean(loss.value(data.X @ point, data.Y[:, 0])))

    rng = np.random.default_rng(1)
    for scale in (1e-4, 1e-2, 0.3):
        for _ in range(300):
            other = theta + scale * rng.normal(size=theta.size)
            other[:-1] = constraint.project(other[:-1])
            assert risk(theta) <= risk(other) + 1e-6


@pytest.mark.parametrize("loss", [Huber(0.1), SmoothedHinge(0.2), Logistic(), Poisson()], ids=lambda loss: loss.name)
def test_smooth_losses_are_stationary(loss: Any) -> None:
    data = small(loss)
    theta = solved(data, loss)[:, 0]
    slope = data.X.T @ loss.derivative(data.X @ theta, data.Y[:, 0]) / data.records
    assert np.linalg.norm(slope) < 1e-8


@pytest.mark.parametrize("strength", [0.0, 0.01])
def test_several_predictions_at_once(strength: float) -> None:
    penalty = SquaredL2Penalty(strength)
    data = small(MultinomialLogistic(), targets=3)
    theta = solved(data, MultinomialLogistic(), penalty=penalty)
    other = linear_model.LogisticRegression(
        C=1.0 / (strength * 120) if strength else np.inf, tol=1e-12, max_iter=10_000
    )
    other.fit(data.X[:, :-1], np.argmax(data.Y, axis=1))
    z = data.X @ theta
    shares = np.exp(z - z.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    assert shares == pytest.approx(other.predict_proba(data.X[:, :-1]), abs=1e-5)
    data = small(SquaredTargets(), targets=2)
    ridge = linear_model.Ridge(alpha=120 * strength if strength else 1e-12).fit(data.X[:, :-1], data.Y)
    theta = solved(data, SquaredTargets(), penalty=penalty)
    assert theta == pytest.approx(np.vstack([ridge.coef_.T, ridge.intercept_]), abs=1e-7)


def test_a_set_of_matrices_holds_the_slopes_and_leaves_the_intercepts() -> None:
    data, ball = small(MultinomialLogistic(), targets=3), L2Ball(0.5)
    theta = solved(data, MultinomialLogistic(), constraint=ball)
    loss = MultinomialLogistic()

    def risk(point: np.ndarray) -> float:
        slopes = ball.project(point[:-3])
        return float(np.mean(loss.value(data.X @ np.append(slopes, point[-3:]).reshape(5, 3), data.Y)))

    found = minimize(risk, theta.ravel(), method="L-BFGS-B", options={"ftol": 0.0, "gtol": 1e-10})
    assert ball.contains(theta[:-1].ravel(), 1e-9)
    assert risk(theta.ravel()) <= found.fun + 1e-9


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_a_plan_costs_the_gaussian_budget(neighbours: Neighbours) -> None:
    data = table()
    asked = problem(data, neighbours)
    for mu in (0.03, 1.0):
        spent = SOLVER.plan(asked, prices(data, asked), Allowance.gdp(mu)).event.gdp_mu()
        assert spent == pytest.approx(mu, rel=1e-6)
        assert spent is not None
        assert spent <= mu * (1.0 + 2.0**-40)


def test_with_little_noise_it_comes_near_the_optimum() -> None:
    data = small(Logistic())
    data = replace(data, X=np.tile(data.X, (500, 1)), Y=np.tile(data.Y, (500, 1)))
    loss, y = Logistic(), data.Y[:, 0]
    risk = [
        float(np.mean(loss.value(data.X @ t, y)))
        for t in (solved(data, loss, Allowance.gdp(5.0))[:, 0], solved(data, loss)[:, 0], np.zeros(5))
    ]
    assert risk[0] - risk[1] < 0.1 * (risk[2] - risk[1])


def test_multinomial_models_are_noised_once() -> None:
    data = small(MultinomialLogistic(), targets=3)
    theta = solved(data, MultinomialLogistic(), Allowance.gdp(1.0), constraint=L2Ball(0.5))
    assert theta.shape == (5, 3)
    assert L2Ball(0.5).contains(theta[:-1].ravel(), 1e-9)


def test_the_classical_calibration_states_its_real_cost() -> None:
    """Tests: 001, Equation (17)."""
    data = table()
    asked = problem(data)
    plan = SOLVER.plan(asked, prices(data, asked), Allowance(Budget(1.0, 1e-6), calibration=Calibration.PAPER))
    assert "classical" in plan.reason
    assert epsilon_of(plan.event, 1e-6) < 1.0


def test_what_it_cannot_do_is_refused() -> None:
    data = table(targets=2)
    asked = replace(problem(data), loss=SquaredTargets())
    for refused in (asked, replace(asked, loss=Squared()), replace(problem(table()), loss=Pinball(0.5))):
        with pytest.raises(CapabilityError):
            SOLVER.plan(refused, prices(data, refused), Allowance.gdp(1.0))
