"""The moments solver: exact without noise, careful with it, one release for many models."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import Box, ElasticNetPenalty, L1Ball, L1Penalty, L2Ball, NoPenalty, Simplex, SquaredL2Penalty
from hullabaloo.privacy import Allowance, Neighbours
from hullabaloo.quadratic import minimise_quadratic
from hullabaloo.solvers import MomentsSolver, solve_moments
from tests.solvers.tables import least_squares, noisy_moments, prices, problem, solve, table

SETS = [None, L1Ball(0.3), L2Ball(0.2), Box(-0.1, 0.3), Simplex(0.5)]
PENALTIES = [NoPenalty(), L1Penalty(0.02), SquaredL2Penalty(0.1), ElasticNetPenalty(0.05, 0.5)]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("constraint", SETS, ids=str)
def test_without_noise_it_is_the_constrained_optimum(intercept: bool, constraint: object) -> None:
    data = table(intercept=intercept)
    asked = problem(data, constraint=constraint)  # type: ignore[arg-type]
    theta = solve(MomentsSolver(), data, asked, math.inf).theta[:, 0]
    n = data.records
    best = minimise_quadratic(data.X.T @ data.X / n, data.X.T @ data.Y[:, 0] / n, feasible=asked.feasible).theta
    assert theta == pytest.approx(best, abs=1e-9)
    if constraint is None:
        assert theta == pytest.approx(least_squares(data)[:, 0], abs=1e-9)


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
def test_without_noise_it_is_the_penalised_optimum(penalty: object) -> None:
    data = table(intercept=True)
    asked = problem(data, penalty=penalty)  # type: ignore[arg-type]
    theta = solve(MomentsSolver(), data, asked, math.inf).theta[:, 0]
    n, rng = data.records, np.random.default_rng(0)

    def value(point: np.ndarray) -> float:
        return 0.5 * float(np.mean((data.Y[:, 0] - data.X @ point) ** 2)) + asked.regulariser.value(point)

    assert n == 400
    for _ in range(50):
        assert value(theta) <= value(theta + rng.normal(0.0, 1e-3, theta.size)) + 1e-12


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_a_plan_costs_exactly_the_budget(neighbours: Neighbours) -> None:
    data = table()
    asked = problem(data, neighbours)
    plan = MomentsSolver().plan(asked, prices(data, asked), Allowance.gdp(0.2367))
    spent = plan.event.gdp_mu()
    assert spent is not None
    assert spent <= 0.2367
    assert spent == pytest.approx(0.2367, rel=1e-6)


def test_with_little_noise_it_is_close_to_the_optimum_and_shrinks_with_much() -> None:
    data = table(20_000, 4)
    asked = problem(data)
    close = solve(MomentsSolver(), data, asked, 1.0).theta[:, 0]
    assert np.linalg.norm(close - least_squares(data)[:, 0]) < 0.02
    gone = solve(MomentsSolver(), data, asked, 1e-4)
    assert np.all(gone.theta == 0.0)


@pytest.mark.parametrize("constraint", SETS[1:], ids=str)
def test_the_result_is_feasible_at_every_noise(constraint: object) -> None:
    data = table(intercept=True)
    asked = problem(data, constraint=constraint)  # type: ignore[arg-type]
    assert asked.feasible is not None
    for mu in (1e-4, 0.1, 10.0):
        assert asked.feasible.contains(solve(MomentsSolver(), data, asked, mu).theta[:, 0])


def test_several_targets_come_from_one_release_and_equal_their_own_fits() -> None:
    data = table(3000, 4, targets=3)
    moments = noisy_moments(data, 3.0, np.random.default_rng(0))
    together = solve_moments(moments, problem(data))
    assert together.theta.shape == (4, 3)
    alone = solve_moments(moments.subset([0, 1, 2, 3], [1]), problem(table(3000, 4)))
    assert together.theta[:, 1] == pytest.approx(alone.theta[:, 0])


def test_a_ridge_of_the_users_counts_towards_the_noises() -> None:
    data = table(2000, 4)
    moments = noisy_moments(data, 10.0, np.random.default_rng(0))
    plain = solve_moments(moments, problem(data))
    ridge = plain.trace[0]["ridge"]
    same = solve_moments(moments, problem(data, penalty=SquaredL2Penalty(0.5 * ridge)))
    assert same.theta == pytest.approx(plain.theta, rel=1e-9)
    more = solve_moments(moments, problem(data, penalty=SquaredL2Penalty(10.0 * ridge)))
    assert np.linalg.norm(more.theta) < np.linalg.norm(plain.theta)


def test_predictions_of_risk_and_noise_are_ordered() -> None:
    data = table(5000, 4)
    asked, solver = problem(data), MomentsSolver()
    plans = [solver.plan(asked, prices(data, asked), Allowance.gdp(mu)) for mu in (0.01, 0.1, 1.0, math.inf)]
    risks = [solver.predicted_risk(asked, plan) for plan in plans]
    assert risks == sorted(risks, reverse=True)
    assert risks[-1] == 0.0
    gram = data.X.T @ data.X / data.records
    noise = [solver.predicted_noise(asked, plan, gram).max() for plan in plans]
    assert noise == sorted(noise, reverse=True)
    assert noise[-1] == 0.0


def test_the_predicted_noise_is_what_a_release_shows() -> None:
    """Within a factor 2 of simulation: the size of coefficients, which enters it, is the reference table's."""
    data = table(50_000, 4)
    asked, solver = problem(data), MomentsSolver()
    plan = solver.plan(asked, prices(data, asked), Allowance.gdp(1.0))
    expected = solver.predicted_noise(asked, plan, data.X.T @ data.X / data.records)
    draws = np.array([solve(solver, data, asked, 1.0, seed).theta[:, 0] for seed in range(40)])
    ratio = draws.std(axis=0) / expected
    assert np.all((ratio > 0.5) & (ratio < 2.0))


def test_other_losses_are_refused_with_the_remedy() -> None:
    data = table()
    other = replace(problem(data), loss=SimpleNamespace(name="other"))  # type: ignore[arg-type]
    with pytest.raises(CapabilityError, match="solver='auto'"):
        MomentsSolver().plan(other, prices(data, other), Allowance.gdp(1.0))


def test_less_caution_is_forecast_to_lose_no_more() -> None:
    """A least `risk + c · doubt` has a risk that does not fall as c grows, and half of the signal is lost where nothing is learned."""
    data = table()
    asked = problem(data)
    for mu in np.geomspace(1e-3, 10.0, 25):
        least, usual = (
            solver.predicted_risk(asked, solver.plan(asked, prices(data, asked), Allowance.gdp(mu)))
            for solver in (MomentsSolver(above_mean=True), MomentsSolver())
        )
        assert 0.0 < least <= usual * (1.0 + 1e-12)
