"""The objective perturbation solver: its price, its accuracy where there is budget, its harmlessness where there is none."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hullabaloo.curator import Curator
from hullabaloo.errors import CalibrationError, CapabilityError
from hullabaloo.geometry import Box, L1Ball, L1Penalty, L2Ball, Simplex
from hullabaloo.losses import Huber, Logistic, Loss, Pinball, Poisson, SmoothedHinge, Squared
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Allowance, Budget, Calibration, Neighbours, epsilon_of
from hullabaloo.solvers import ObjectivePerturbationSolver, Plan, Problem
from hullabaloo.solvers.perturbation.objective_perturbation import typical
from tests.solvers.tables import Table, prices, problem, table

SOLVER = ObjectivePerturbationSolver()


def labelled(data: Table, loss: Loss) -> Table:
    if isinstance(loss, Squared | Huber):
        return data
    return replace(data, Y=np.abs(data.Y) if isinstance(loss, Poisson) else np.where(data.Y >= 0.0, 1.0, -1.0))


def solved(data: Table, asked: Problem, allowance: Allowance, draw: int = 0) -> tuple[Plan, Any]:
    from hullabaloo.data.source import Rows

    plan = SOLVER.plan(asked, prices(data, asked), allowance)
    curator = Curator(Rows(data.X, data.Y), plan.queries, key=TestKey(bytes(32)).derive(draw))  # type: ignore[arg-type]
    return plan, SOLVER.run(asked, plan, curator).theta[:, 0]


def best(data: Table, loss: Loss) -> np.ndarray:
    from scipy.optimize import minimize

    found = minimize(lambda t: np.mean(loss.value(data.X @ t, data.Y[:, 0])), np.zeros(data.X.shape[1]), tol=1e-12)
    return np.asarray(found.x)


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize(
    "epsilon", [pytest.param(0.1, marks=pytest.mark.slow), 1.0, pytest.param(4.0, marks=pytest.mark.slow)]
)
@pytest.mark.few(1)
def test_a_plan_costs_the_budget(neighbours: Neighbours, epsilon: float) -> None:
    data = table(2000)
    asked, allowance = problem(data, neighbours), Allowance(Budget(epsilon, 1e-6))
    event = SOLVER.plan(asked, prices(data, asked), allowance).event
    assert allowance.takes(event)
    assert epsilon_of(event, 1e-6) == pytest.approx(epsilon, rel=0.02)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "loss", [Squared(), Logistic(), Huber(0.5), SmoothedHinge(0.5), Poisson()], ids=lambda loss: loss.name
)
@pytest.mark.parametrize("intercept", [False, True])
def test_with_little_noise_it_comes_near_the_optimum(loss: Loss, intercept: bool) -> None:
    data = labelled(table(20_000, 3, intercept=intercept), loss)
    _, theta = solved(data, replace(problem(data), loss=loss), Allowance(Budget(8.0, 1e-6)))
    y, zero = data.Y[:, 0], np.zeros(data.X.shape[1])
    risk = [float(np.mean(loss.value(data.X @ t, y))) for t in (theta, best(data, loss), zero)]
    assert risk[0] - risk[1] < 0.03 * (risk[2] - risk[1])


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_without_signal_it_harms_little(neighbours: Neighbours) -> None:
    """Targets of noise alone, at budgets where a perturbed minimiser without the rule would be useless."""
    data = table(500, 12, signal=0.0)
    for epsilon in (0.03, 0.3):
        harm = []
        for draw in range(6):
            _, theta = solved(data, problem(data, neighbours), Allowance(Budget(epsilon, 1e-6)), draw)
            harm.append(float(np.mean((data.X @ theta - data.Y[:, 0]) ** 2)) / float(np.mean(data.Y**2)) - 1.0)
        assert np.mean(harm) < 1.0


@pytest.mark.few(2)
@pytest.mark.parametrize("constraint", [L1Ball(0.3), L2Ball(0.2), Box(-0.1, 0.3), Simplex(0.5)], ids=str)
@pytest.mark.parametrize("intercept", [False, True])
def test_the_result_is_in_the_set(constraint: Any, intercept: bool) -> None:
    data = table(intercept=intercept)
    asked = problem(data, constraint=constraint)
    assert asked.feasible is not None
    for epsilon in (0.1, 5.0):
        assert asked.feasible.contains(solved(data, asked, Allowance(Budget(epsilon, 1e-6)))[1])


def test_zeros_of_an_l1_penalty_are_zeros() -> None:
    data = table(20_000, 6)
    _, theta = solved(data, problem(data, penalty=L1Penalty(0.05)), Allowance(Budget(3.0, 1e-6)))
    assert 0 < np.count_nonzero(theta) < 6


def test_the_noise_is_what_the_curvature_makes_of_it() -> None:
    """Repeated answers around their mean: each of 3 standard deviations from 60 draws, false alarm below 1e-6."""
    data = table(4000, 3)
    asked, allowance = problem(data), Allowance(Budget(2.0, 1e-6))
    answers = np.array([solved(data, asked, allowance, draw)[1] for draw in range(60)])
    plan, _ = solved(data, asked, allowance)
    curved = data.X.T @ data.X * typical(asked.loss)[0] + plan.settings["ridge"] * np.eye(3)
    spread = np.linalg.inv(curved) * plan.settings["sigma"]
    predicted = np.sqrt(np.diag(spread @ spread) + plan.settings["output_sigma"] ** 2)
    ratio = answers.std(axis=0, ddof=1) / predicted
    assert np.all((ratio > 0.6) & (ratio < 1.6))
    assert SOLVER.predicted_risk(asked, plan) > 0.0


@pytest.mark.slow
def test_the_papers_calibration_states_its_real_cost() -> None:
    """Tests: 002, Algorithm 2."""
    data = table()
    asked = problem(data)
    plan = SOLVER.plan(asked, prices(data, asked), Allowance(Budget(1.0, 1e-6), calibration=Calibration.PAPER))
    query: Any = plan.queries[0]
    assert query.noise_multiplier == pytest.approx(math.sqrt(2.0 * math.log(1e6)))
    assert "as printed" in plan.reason
    assert epsilon_of(plan.event, 1e-6) > 1.5


def test_what_it_cannot_do_is_refused_with_the_remedy() -> None:
    """Tests: 002, Remark 2."""
    data, private = table(), Allowance(Budget(1.0, 1e-6))
    asked = problem(data)
    with pytest.raises(CapabilityError, match="output_perturbation"):
        SOLVER.plan(asked, prices(data, asked), Allowance.gdp(math.inf))
    with pytest.raises(CapabilityError, match="mirror_descent"):
        SOLVER.plan(replace(asked, loss=Pinball(0.5)), prices(data, asked), private)
    with pytest.raises(CapabilityError, match="one target"):
        SOLVER.plan(replace(asked, targets=2), prices(data, asked), private)
    for refused in (Allowance.gdp(0.2), Allowance(Budget(1.0, 1e-6), filter="gdp")):
        with pytest.raises(CalibrationError):
            SOLVER.plan(asked, prices(data, asked), refused)
