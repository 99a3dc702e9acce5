"""Without noise, every estimator is scikit-learn's optimum on the encoded, scaled table; and it says NOT PRIVATE."""

import math
from typing import Any

import numpy as np
import pytest
from sklearn import linear_model as reference

import hullabaloo as hb

FEATURES = {
    "age": (18, 90),
    "hours": (0, 80),
    "job": ["clerk", "nurse", "cook"],
    "income": {"lo": 0, "hi": 1e6, "transform": "log1p"},
}


def table(n: int = 400, seed: int = 0) -> tuple[dict[str, Any], np.ndarray]:
    import pandas as pd

    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(18, 90, n),
            "hours": rng.uniform(0, 80, n),
            "job": rng.choice(["clerk", "nurse", "cook"], n),
            "income": np.exp(rng.normal(10, 1, n)),
        }
    )
    y = 0.1 * frame["age"] - 0.05 * frame["hours"] + 2.0 * (frame["job"] == "cook") + rng.normal(0, 1, n)
    return frame, y.to_numpy()


DOMAIN = hb.Domain(features=FEATURES, target=(-20, 20), indicators=False)

PAIRS = {
    "least-squares": (hb.LinearRegression(), lambda n: reference.LinearRegression()),
    "ridge": (hb.Ridge(penalty=hb.SquaredL2Penalty(0.01)), lambda n: reference.Ridge(alpha=0.01 * n, tol=1e-12)),
    "lasso": (hb.Lasso(penalty=hb.L1Penalty(0.003)), lambda n: reference.Lasso(alpha=0.003, tol=1e-14, max_iter=10**6)),
    "elastic-net": (
        hb.ElasticNet(penalty=hb.ElasticNetPenalty(0.01, 0.3)),
        lambda n: reference.ElasticNet(alpha=0.01, l1_ratio=0.3, tol=1e-14, max_iter=10**6),
    ),
}


@pytest.mark.few(8)
@pytest.mark.parametrize("solver", ["auto", "moments"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", PAIRS)
def test_infinite_epsilon_equals_scikit_learn(name: str, intercept: bool, solver: str) -> None:
    frame, y = table()
    ours, theirs = PAIRS[name]
    ours = type(ours)(**{**ours.get_params(), "fit_intercept": intercept, "solver": solver})
    ours.set_params(budget=hb.Budget(math.inf), domain=DOMAIN).fit(frame, y)
    rows = ours.encoding_.encode(frame, y)
    X = rows.X[:, :-1] if intercept else rows.X
    other = theirs(len(y)).set_params(fit_intercept=intercept).fit(X, rows.Y[:, 0])
    theta = ours.release_.theta[:, 0]
    if name == "least-squares":  # one-hot columns and the intercept are collinear: compare what is determined
        assert rows.X @ theta == pytest.approx(other.predict(X), abs=1e-6)
    else:
        assert theta[: X.shape[1]] == pytest.approx(other.coef_, abs=1e-6)
        assert (theta[-1] if intercept else 0.0) == pytest.approx(float(other.intercept_), abs=1e-6)
    assert not ours.statement_.private
    assert "NOT PRIVATE" in str(ours.statement_)
    assert ours.predict(frame) == pytest.approx(
        rows.X @ theta * ours.encoding_.target_scale[0] + ours.encoding_.target_offset[0]
    )


@pytest.mark.parametrize("constraint", [hb.L1Ball(0.3), hb.L2Ball(0.2), hb.Box(-0.1, 0.1)], ids=["l1", "l2", "box"])
def test_infinite_epsilon_on_a_set_satisfies_the_optimality_conditions(constraint: Any) -> None:
    """θ is optimal over C iff it is the projection of a gradient step from itself."""
    frame, y = table()
    model = hb.LinearRegression(constraint=constraint, budget=hb.Budget(math.inf), domain=DOMAIN).fit(frame, y)
    rows = model.encoding_.encode(frame, y)
    theta = model.release_.theta[:, 0]
    gradient = rows.X.T @ (rows.X @ theta - rows.Y[:, 0]) / len(y)
    assert constraint.contains(theta[:-1], 1e-9)
    assert constraint.project(theta[:-1] - gradient[:-1]) == pytest.approx(theta[:-1], abs=1e-6)
    assert abs(gradient[-1]) < 1e-6 or abs(abs(theta[-1]) - 1.0) < 1e-9


def test_coefficients_are_in_the_users_units() -> None:
    """Prediction from coef_ and raw columns equals predict, for rows inside the declared bounds."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.uniform(0, 10, 300), rng.uniform(-5, 5, 300)])
    y = 3.0 + 0.5 * X[:, 0] - 1.5 * X[:, 1] + rng.normal(0, 0.1, 300)
    domain = hb.Domain(features={"a": (0, 10), "b": (-5, 5)}, target=(-20, 20), indicators=False)
    model = hb.LinearRegression(budget=hb.Budget(math.inf), domain=domain).fit(X, y)
    assert model.predict(X) == pytest.approx(X @ model.coef_ + model.intercept_, rel=1e-9)
    assert model.coef_ == pytest.approx([0.5, -1.5], abs=0.05)
    assert model.intercept_ == pytest.approx(3.0, abs=0.1)
