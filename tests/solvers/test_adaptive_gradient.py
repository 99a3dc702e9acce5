"""The adaptive gradient: within its budget, near the optimum with little noise, and harmless where there is no signal."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import Box, L1Ball, L1Penalty, L2Ball
from hullabaloo.privacy import Allowance, Neighbours
from hullabaloo.solvers import AdaptiveGradientSolver
from tests.solvers.tables import least_squares, prices, problem, solve, table

SETS = [L1Ball(0.3), L2Ball(0.2), Box(-0.1, 0.3)]


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("mu", [0.0275, 0.2367, 2.0])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_plan_costs_at_most_the_budget_and_nearly_all_of_it(
    neighbours: Neighbours, mu: float, intercept: bool
) -> None:
    data = table(intercept=intercept)
    asked = problem(data, neighbours)
    spent = AdaptiveGradientSolver().plan(asked, prices(data, asked), Allowance.gdp(mu)).event.gdp_mu()
    assert spent is not None
    assert spent <= mu * (1.0 + 2.0**-40)
    assert spent >= mu * math.sqrt(1.0 if intercept else 0.92) * (1.0 - 1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize("intercept", [False, True])
def test_with_little_noise_it_comes_near_the_optimum(intercept: bool) -> None:
    data = table(20_000, 4, intercept=intercept)
    theta = solve(AdaptiveGradientSolver(), data, problem(data), 3.0).theta[:, 0]
    excess = np.mean((data.X @ (theta - least_squares(data)[:, 0])) ** 2)
    assert excess < 5e-3 * np.mean(data.Y**2)


@pytest.mark.few(1)
@pytest.mark.parametrize("constraint", SETS, ids=str)
def test_the_result_is_feasible_at_every_noise(constraint: object) -> None:
    data = table(intercept=True)
    asked = problem(data, constraint=constraint)  # type: ignore[arg-type]
    assert asked.feasible is not None
    for mu in (1e-3, 0.1, 3.0):
        assert asked.feasible.contains(solve(AdaptiveGradientSolver(), data, asked, mu).theta[:, 0])


@pytest.mark.slow
def test_a_penalty_is_that_of_the_mean_loss() -> None:
    data = table(20_000, 4, intercept=True)
    asked = problem(data, penalty=L1Penalty(10.0))
    theta = solve(AdaptiveGradientSolver(), data, asked, 1.0).theta[:, 0]
    assert np.all(theta[:-1] == 0.0)


def test_it_refuses_what_it_cannot_do() -> None:
    data = table()
    asked = problem(data)
    with pytest.raises(CapabilityError, match="exact optimum"):
        AdaptiveGradientSolver().plan(asked, prices(data, asked), Allowance.gdp(math.inf))
    several = problem(table(targets=2))
    with pytest.raises(CapabilityError, match="one target"):
        AdaptiveGradientSolver().plan(several, prices(table(targets=2), several), Allowance.gdp(1.0))


def test_predictions_fall_as_the_budget_grows() -> None:
    data = table(5_000, 6, intercept=True)
    asked = problem(data)
    solver = AdaptiveGradientSolver()
    risks = []
    for mu in (0.01, 0.1, 1.0):
        plan = solver.plan(asked, prices(data, asked), Allowance.gdp(mu))
        risks.append(solver.predicted_risk(asked, plan))
    assert risks[0] > risks[1] > risks[2] > 0.0


@pytest.mark.few(1)
@pytest.mark.parametrize("usual", [-0.7, 0.1])
def test_a_skewed_target_keeps_its_mean_though_its_gradients_are_cut(usual: float) -> None:
    rng = np.random.default_rng(46)
    n = 20_000
    X = np.column_stack([rng.uniform(-1.0, 1.0, (n, 3)), np.ones(n)])
    y = usual + 0.8 * (rng.uniform(size=n) < 0.1)  # the mean is 0.08 above the median
    data = replace(table(n, 3, intercept=True), X=X, Y=y[:, None])
    theta = solve(AdaptiveGradientSolver(), data, problem(data), 0.02).theta[:, 0]
    assert abs(float(np.mean(X @ theta)) - float(y.mean())) < 0.045  # without the last steps: 0.066
