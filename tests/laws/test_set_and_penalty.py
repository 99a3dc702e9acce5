"""A set and a penalty together: every solver that takes them ends, without noise or with next to none, where SciPy's solver does."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import hullabaloo as hb
from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import (
    Box,
    ElasticNetPenalty,
    GroupPenalty,
    L1Ball,
    L1Penalty,
    L2Ball,
    Simplex,
    SquaredL2Penalty,
)
from hullabaloo.losses import Logistic, Squared
from hullabaloo.noise import TestKey
from hullabaloo.planning.named import SOLVERS
from hullabaloo.privacy import Allowance
from tests.solvers.tables import prices, problem, solve, table

SETS: list[Any] = [Box(-0.1, 0.25), L1Ball(0.35), L2Ball(0.3), Simplex(0.5)]
PENALTIES: list[Any] = [SquaredL2Penalty(0.3), L1Penalty(0.03), ElasticNetPenalty(0.2, 0.2)]
PAIRS: list[Any] = [(body, penalty) for body in SETS for penalty in PENALTIES]
PAIRS.append((L2Ball(0.3), GroupPenalty(((0, 1), (2, 3)), 0.02)))
EXACT = {
    "moments": 1e-7,
    "output_perturbation": 1e-7,
    "coordinate_descent": 1e-6,
    "mirror_descent": 5e-3,
}
"""How near in coefficients they come without noise."""
NOISY = ("gradient", "adaptive_gradient", "preconditioned_gradient", "greedy_coordinate_descent")
REFUSE = {"frank_wolfe", "dual_frank_wolfe", "greedy_selection"}


def data_of(loss: Any, intercept: bool) -> Any:
    data = table(2_000, 4, intercept=intercept, seed=3)
    return replace(data, Y=(data.Y > 0.1).astype(float)) if isinstance(loss, Logistic) else data


def reference(data: Any, asked: Any) -> np.ndarray:
    """By SLSQP on θ = u − w, u, w ≥ 0, so that |θ| = u + w; the intercept alone."""
    body, penalty, q = asked.constraint, asked.penalty, asked.dimension - asked.intercept
    ends = asked.loss.intercept_bounds

    def theta(z: np.ndarray) -> np.ndarray:
        return np.append(z[:q] - z[q : 2 * q], z[2 * q :])

    def value(z: np.ndarray) -> float:
        head, size = theta(z)[:q], z[:q] + z[q : 2 * q]
        if isinstance(penalty, GroupPenalty):
            held = sum(
                penalty.strength * np.sqrt(2.0 * (1e-18 + head[list(g)] @ head[list(g)])) for g in penalty.groups
            )
        else:
            held = penalty.weights[0] * size.sum() + 0.5 * penalty.weights[1] * head @ head
        return 1e2 * (float(np.mean(asked.loss.value(data.X @ theta(z), data.Y[:, 0]))) + held)

    bounds: list[Any] = [(0.0, 1.0)] * (2 * q) + [ends] * asked.intercept
    if isinstance(body, Box):
        limits = [{"type": "ineq", "fun": lambda z: np.append(theta(z)[:q] - body.lower, body.upper - theta(z)[:q])}]
    elif isinstance(body, L2Ball):
        limits = [{"type": "ineq", "fun": lambda z: body.radius**2 - theta(z)[:q] @ theta(z)[:q]}]
    elif isinstance(body, L1Ball):
        limits = [{"type": "ineq", "fun": lambda z: body.radius - z[: 2 * q].sum()}]
    else:
        limits = [{"type": "eq", "fun": lambda z: theta(z)[:q].sum() - body.radius}]
        bounds[q : 2 * q] = [(0.0, 0.0)] * q
    start = np.append(np.full(q, 0.1), np.zeros(q + asked.intercept))
    options = {"maxiter": 2_000, "ftol": 1e-15}
    return theta(minimize(value, start, bounds=bounds, constraints=limits, method="SLSQP", options=options).x)


def posed(data: Any, loss: Any, body: Any, penalty: Any) -> Any:
    return replace(problem(data, constraint=body, penalty=penalty), loss=loss)


@pytest.mark.few(1)
@pytest.mark.parametrize(("body", "penalty"), PAIRS, ids=str)
@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=str)
@pytest.mark.parametrize("intercept", [False, True])
def test_without_noise_they_end_where_scipy_does(body: Any, penalty: Any, loss: Any, intercept: bool) -> None:
    data = data_of(loss, intercept)
    asked = posed(data, loss, body, penalty)
    best = reference(data, asked)
    took = set()
    for name, near in EXACT.items():
        try:
            found = solve(SOLVERS[name], data, asked, np.inf).theta[:, 0]
        except CapabilityError:
            continue
        took.add(name)
        if name == "mirror_descent":
            found, wanted = (
                float(np.mean(loss.value(data.X @ one, data.Y[:, 0]))) + penalty.value(one[:4]) for one in (found, best)
            )
            assert found - wanted < near, name
        else:
            assert found == pytest.approx(best, abs=max(near, 2e-4 if isinstance(penalty, GroupPenalty) else 3e-5)), (
                name
            )  # SLSQP's own precision
    wanted = {"output_perturbation"} | ({"moments"} if isinstance(loss, Squared) else set())
    wanted |= {"mirror_descent"} if isinstance(penalty, SquaredL2Penalty) else set()
    wanted |= {"coordinate_descent"} if isinstance(body, Box) else set()
    assert took == wanted


@pytest.mark.slow
@pytest.mark.parametrize(("body", "penalty"), PAIRS, ids=str)
@pytest.mark.parametrize(
    "names", [(*NOISY, *REFUSE), pytest.param(["objective_perturbation"], marks=pytest.mark.slow)], ids=["most", "slow"]
)
def test_with_little_noise_the_others_come_near_or_refuse_before_the_charge(
    body: Any, penalty: Any, names: Any
) -> None:
    data = data_of(Squared(), True)
    asked = posed(data, Squared(), body, penalty)
    best = reference(data, asked)
    refused: set[str] = set()
    for name in names:
        solver, allowance = SOLVERS[name], Allowance(hb.Budget(100.0, 1e-4))
        try:
            solver.plan(asked, prices(data, asked), allowance)
        except CapabilityError:
            refused.add(name)
            continue
        model = hb.LinearRegression(
            domain=hb.Domain(features=dict.fromkeys("abcd", (-1, 1)), target=(-1, 1), indicators=False),
            constraint=body, penalty=penalty, solver=name, inference=False, budget=hb.Budget(100.0, 1e-4), test_key=TestKey(bytes(32)),
        ).fit(data.X[:, :4], data.Y[:, 0])  # fmt: skip
        assert model.coef_ == pytest.approx(best[:4], abs=0.11 if name == NOISY[-1] else 0.05), (
            name
        )  # greedy steps are few
        assert body.contains(model.coef_, 1e-9)
    assert refused == (REFUSE | (set() if isinstance(body, Box) else {NOISY[-1]})) & set(names)


@pytest.mark.slow
def test_plans_take_both() -> None:
    domain = hb.Domain(features=dict.fromkeys("abcd", (-1, 1)), target=(-1, 1), indicators=False)
    both: dict[str, Any] = {"set": L2Ball(0.4), "penalty": SquaredL2Penalty(0.1)}
    assert hb.plan(n=2_000, domain=domain, budget=hb.Budget(1.0, 1e-6), **both).chosen


def test_estimators_take_both_and_save_them(tmp_path: Any) -> None:
    data = data_of(Squared(), True)
    domain = hb.Domain(features=dict.fromkeys("abcd", (-1, 1)), target=(-1, 1), indicators=False)
    both: dict[str, Any] = {"constraint": L2Ball(0.4), "penalty": SquaredL2Penalty(0.1)}
    asked = {"budget": hb.Budget(3.0, 1e-6), "solver": "gradient", "test_key": TestKey(bytes(32))}
    model = hb.LinearRegression(domain=domain, **asked, **both)
    model.fit(data.X[:, :4], data.Y[:, 0])
    assert np.linalg.norm(model.coef_) <= 0.4 * (1.0 + 1e-9)
    model.save(tmp_path / "model.json")
    again = hb.load(tmp_path / "model.json")
    assert (again.constraint, again.penalty) == (both["constraint"], both["penalty"])
    assert "constraint L2Ball (radius 0.4) and penalty SquaredL2Penalty (strength 0.1)" in json.dumps(
        hb.report.card(model).to_dict(), ensure_ascii=False
    )
    with pytest.raises(CapabilityError, match=r"No solver can do what is asked\. Nothing was charged or read"):
        hb.LinearRegression(
            domain=domain,
            budget=hb.Budget(1.0, 1e-6),
            constraint=hb.GroupBall(((0, 1), (2, 3)), 1.0),
            penalty=L1Penalty(0.1),
        ).fit(data.X[:, :4], data.Y[:, 0])
