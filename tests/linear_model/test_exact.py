"""Without noise, every model of classes, counts, quantiles, groups and several targets is the optimum itself."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn import linear_model as reference

import hullabaloo as hb
from tests.linear_model.examples import FEATURES, domain_for, table

FREE = hb.Budget(math.inf)
N = 400
THREE = hb.Domain(features=FEATURES, classes={"ward": ["a", "b", "c"]}, indicators=False)
EXPOSED = hb.Domain(features={**FEATURES, "years": (0.25, 8.0)}, target={"events": (0, 60)}, indicators=False)


def exact(model: Any, domain: hb.Domain) -> tuple[Any, Any]:
    """The fitted model, and the encoded rows that it was fitted on."""
    frame = table(N)
    model.set_params(budget=FREE, domain=domain).fit(frame)
    assert not model.statement_.private
    assert "NOT PRIVATE" in str(model.statement_)
    return model, model.encoding_.encode(frame)


def lowest(objective: Any, start: np.ndarray) -> float:
    """The least value that quasi-Newton steps find from a start and from where they ended."""
    point = start
    for _ in range(5):
        point = minimize(objective, point, method="L-BFGS-B", options={"maxiter": 20_000, "ftol": 0.0, "gtol": 1e-12}).x
    return float(objective(point))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("strength", [0.0, 0.01])
def test_logistic_regression_is_scikit_learns(intercept: bool, strength: float) -> None:
    penalty = hb.SquaredL2Penalty(strength) if strength else None
    model, rows = exact(
        hb.LogisticRegression(penalty=penalty, fit_intercept=intercept), domain_for("LogisticRegression")
    )
    X = rows.X[:, :-1] if intercept else rows.X
    other = reference.LogisticRegression(
        C=1.0 / (strength * N) if strength else np.inf, fit_intercept=intercept, tol=1e-10, max_iter=10_000
    ).fit(X, rows.Y[:, 0])
    theta = model.release_.theta[:, 0]
    assert theta[: X.shape[1]] == pytest.approx(other.coef_[0], abs=1e-4)
    assert (theta[-1] if intercept else 0.0) == pytest.approx(float(other.intercept_[0]), abs=1e-4)
    assert model.predict_proba(table(N)) == pytest.approx(other.predict_proba(X), abs=1e-4)


@pytest.mark.parametrize("strength", [0.0, 0.01])
def test_multinomial_regression_is_scikit_learns(strength: float) -> None:
    penalty = hb.SquaredL2Penalty(strength) if strength else None
    model, rows = exact(hb.LogisticRegression(penalty=penalty), THREE)
    X = rows.X[:, :-1]
    other = reference.LogisticRegression(
        C=1.0 / (strength * N) if strength else np.inf, tol=1e-10, max_iter=10_000
    ).fit(X, np.argmax(rows.Y, axis=1))
    assert model.predict_proba(table(N)) == pytest.approx(other.predict_proba(X), abs=1e-4)


def test_one_against_the_rest_is_a_logistic_regression_for_each_class() -> None:
    model, rows = exact(hb.LogisticRegression(multi_class="one-vs-rest", penalty=hb.SquaredL2Penalty(0.01)), THREE)
    for j in range(3):
        other = reference.LogisticRegression(C=1.0 / (0.01 * N), tol=1e-10, max_iter=10_000)
        other.fit(rows.X[:, :-1], rows.Y[:, j])
        assert model.release_.theta[:-1, j] == pytest.approx(other.coef_[0], abs=1e-4)


@pytest.mark.few(2)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("strength", [0.0, 0.01])
def test_poisson_regression_is_scikit_learns(intercept: bool, strength: float) -> None:
    """In units of the count's upper bound h, scikit-learn's alpha weighs h times as much."""
    penalty = hb.SquaredL2Penalty(strength) if strength else None
    model, rows = exact(hb.PoissonRegressor(penalty=penalty, fit_intercept=intercept), domain_for("PoissonRegressor"))
    X = rows.X[:, :-1] if intercept else rows.X
    counts = 30.0 * rows.Y[:, 0]
    other = reference.PoissonRegressor(alpha=30.0 * strength, fit_intercept=intercept, tol=1e-10, max_iter=10_000)
    other.fit(X, counts)
    assert model.release_.theta[: X.shape[1], 0] == pytest.approx(other.coef_, abs=1e-4)
    assert model.predict(table(N)) == pytest.approx(other.predict(X), rel=1e-4)


def test_an_exposure_is_a_known_offset() -> None:
    """Counts with exposures e have the likelihood of rates y/e with weights e."""
    model, rows = exact(hb.PoissonRegressor(exposure="years"), EXPOSED)
    frame = table(N)
    other = reference.PoissonRegressor(alpha=0.0, tol=1e-10, max_iter=10_000)
    other.fit(rows.X[:, :-1], frame["events"] / frame["years"], sample_weight=frame["years"])
    assert model.release_.theta[:-1, 0] == pytest.approx(other.coef_, abs=1e-4)
    assert model.predict(frame) == pytest.approx(frame["years"] * other.predict(rows.X[:, :-1]), rel=1e-4)


@pytest.mark.parametrize("quantile", [0.5, 0.9])
def test_quantile_regression_is_scikit_learns(quantile: float) -> None:
    model, rows = exact(hb.QuantileRegressor(quantile=quantile), domain_for("QuantileRegressor"))
    X, y = rows.X[:, :-1], rows.Y[:, 0]
    other = reference.QuantileRegressor(quantile=quantile, alpha=0.0, solver="highs").fit(X, y)
    loss = hb.Pinball(quantile)
    ours = float(np.mean(loss.value(rows.X @ model.release_.theta[:, 0], y)))
    assert ours == pytest.approx(float(np.mean(loss.value(other.predict(X), y))), rel=1e-4)


@pytest.mark.parametrize(
    ("model", "loss"),
    [
        (hb.HuberRegressor(threshold=0.02), hb.Huber(0.02)),
        (hb.HuberRegressor(threshold=0.1, penalty=hb.SquaredL2Penalty(0.01)), hb.Huber(0.1)),
        (hb.LinearSVC(penalty=hb.SquaredL2Penalty(0.01)), hb.SmoothedHinge(0.5)),
        (hb.LinearSVC(smoothing=0.1, penalty=hb.SquaredL2Penalty(0.01)), hb.SmoothedHinge(0.1)),
    ],
    ids=["huber", "huber-ridge", "svc", "svc-sharp"],
)
def test_robust_losses_and_margins_are_at_their_minimum(model: Any, loss: Any) -> None:
    strength = 0.0 if model.penalty is None else 0.01
    model, rows = exact(model, domain_for(type(model).__name__))
    y, theta = rows.Y[:, 0], model.release_.theta[:, 0]

    def objective(point: np.ndarray) -> float:
        return float(np.mean(loss.value(rows.X @ point, y)) + 0.5 * strength * np.sum(point[:-1] ** 2))

    best = lowest(objective, np.zeros(rows.X.shape[1]))
    assert objective(theta) <= best + 1e-9


@pytest.mark.parametrize("constraint", [hb.L1Ball(1.0), hb.L2Ball(0.5), hb.Box(-0.3, 0.3)], ids=["l1", "l2", "box"])
@pytest.mark.parametrize("name", ["LogisticRegression", "PoissonRegressor", "HuberRegressor", "LinearSVC"])
def test_the_optimum_on_a_set_satisfies_the_optimality_conditions(name: str, constraint: Any) -> None:
    """θ is optimal over C iff it is the projection of a gradient step from itself."""
    model, rows = exact(getattr(hb, name)(constraint=constraint), domain_for(name))
    loss, theta = model._loss(model.encoding_), model.release_.theta[:, 0]
    gradient = rows.X.T @ loss.derivative(rows.X @ theta, rows.Y[:, 0]) / N
    assert constraint.contains(theta[:-1], 1e-9)
    assert constraint.project(theta[:-1] - gradient[:-1]) == pytest.approx(theta[:-1], abs=1e-5)
    assert abs(gradient[-1]) < 1e-5
