"""The noisy gradient solver: exact without noise, near the optimum with little, harmless without signal."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import Box, L1Ball, L1Penalty, L2Ball, LpBall, NuclearBall, Simplex, SquaredL2Penalty
from hullabaloo.losses import Huber, Logistic, Loss, MultinomialLogistic, SmoothedHinge, SquaredTargets, VectorLoss
from hullabaloo.privacy import Allowance, Neighbours
from hullabaloo.solvers import GradientSolver, MomentsSolver, OutputPerturbationSolver
from hullabaloo.solvers.gradient.gradient import PathLaw
from hullabaloo.solvers.gradient.travel import ProjectedSchedule
from hullabaloo.solvers.reference import Reference
from tests.solvers.tables import Table, least_squares, prices, problem, solve, table

SETS = [None, L1Ball(0.3), L2Ball(0.2), Box(-0.1, 0.3), Simplex(0.5)]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("constraint", SETS, ids=str)
def test_without_noise_it_equals_the_moments_solver(intercept: bool, constraint: object) -> None:
    data = table(intercept=intercept)
    asked = problem(data, constraint=constraint)  # type: ignore[arg-type]
    theta, other = (solve(solver, data, asked, math.inf).theta for solver in (GradientSolver(), MomentsSolver()))
    assert theta == pytest.approx(other, abs=1e-9)


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("mu", [0.0275, 0.2367, 2.0])
def test_a_plan_costs_at_most_the_budget_and_nearly_all_of_it(neighbours: Neighbours, mu: float) -> None:
    data = table()
    asked = problem(data, neighbours)
    spent = GradientSolver().plan(asked, prices(data, asked), Allowance.gdp(mu)).event.gdp_mu()
    assert spent is not None
    assert spent <= mu * (1.0 + 2.0**-40)
    assert spent == pytest.approx(mu, rel=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize("intercept", [False, True])
def test_with_little_noise_it_comes_near_the_optimum(intercept: bool) -> None:
    data = table(20_000, 4, intercept=intercept)
    theta = solve(GradientSolver(), data, problem(data), 3.0).theta[:, 0]
    excess = np.mean((data.X @ (theta - least_squares(data)[:, 0])) ** 2)
    assert excess < 1e-3 * np.mean(data.Y**2)


@pytest.mark.parametrize("constraint", SETS[1:], ids=str)
def test_the_result_is_feasible_at_every_noise(constraint: object) -> None:
    data = table(intercept=True)
    asked = problem(data, constraint=constraint)  # type: ignore[arg-type]
    assert asked.feasible is not None
    for mu in (1e-3, 0.1, 3.0):
        assert asked.feasible.contains(solve(GradientSolver(), data, asked, mu).theta[:, 0])


def classes(n: int, seed: int = 0) -> Table:
    """Three classes of unequal shares, multinomial in the columns."""
    data, rng = table(n, 4, intercept=True, targets=3, seed=seed), np.random.default_rng(seed)
    theta = rng.normal(size=(5, 3)) * 3.0
    winner = np.argmax(data.X @ theta + rng.gumbel(size=(n, 3)), axis=1)
    return Table(data.X, np.where(winner[:, None] == np.arange(3), 1.0, -1.0), data.facts)


def test_several_classes_together_come_near_the_optimum_where_noise_is_low() -> None:
    """97 % of what any point gains over the constant is kept; output perturbation, the other way of a free model, keeps less at any budget."""
    data = classes(4_000)
    asked = replace(problem(data), loss=MultinomialLogistic())
    lost = lambda theta: float(np.mean(asked.loss.value(data.X @ theta, data.Y)))  # noqa: E731
    best = solve(OutputPerturbationSolver(), data, asked, math.inf).theta
    level = np.vstack([np.zeros((4, 3)), np.log(np.mean(data.Y > 0, axis=0))])
    share = lambda theta: (lost(level) - lost(theta)) / (lost(level) - lost(best))  # noqa: E731
    for mu in (1.0, 20.0):
        kept = [share(solve(one, data, asked, mu).theta) for one in (GradientSolver(), OutputPerturbationSolver())]
        assert kept[0] > max(0.97 if mu > 1.0 else 0.85, kept[1])


@pytest.mark.parametrize("loss", [MultinomialLogistic(), SquaredTargets()], ids=str)
def test_of_targets_that_are_learned_together_sets_hold_the_whole_matrix(loss: VectorLoss) -> None:
    """A nuclear ball's projection couples all columns; intercepts are free of it."""
    data = classes(500)
    ball = NuclearBall(0.3, columns=3)
    theta = solve(GradientSolver(), data, replace(problem(data, constraint=ball), loss=loss), 1.0).theta
    assert theta.shape == (5, 3)
    assert ball.contains(theta[:-1].ravel())


@pytest.mark.slow
@pytest.mark.parametrize("penalty", [L1Penalty(0.02), SquaredL2Penalty(0.2)], ids=str)
def test_penalties_are_those_of_the_mean_loss(penalty: object) -> None:
    data = table(20_000, 4, intercept=True)
    asked = problem(data, penalty=penalty)  # type: ignore[arg-type]
    theta, best = (
        solve(solver, data, asked, mu).theta for solver, mu in ((GradientSolver(), 3.0), (MomentsSolver(), math.inf))
    )
    assert theta == pytest.approx(best, abs=0.03)


def test_without_signal_noise_does_next_to_no_harm() -> None:
    """60 tables of noise: the mean squared error rises by less than 5 % of the target's."""
    harm = []
    for seed in range(60):
        data = table(400, 5, signal=0.0, seed=seed)
        theta = solve(GradientSolver(), data, problem(data), 0.2367, seed).theta
        harm.append(float(np.mean((data.X @ theta - data.Y) ** 2) / np.mean(data.Y**2)))
    assert np.mean(harm) < 1.05


@pytest.mark.slow
def test_an_unbalanced_binary_target_keeps_its_mean() -> None:
    data = table(20_000, 3, intercept=True, signal=0.0)
    y = np.where(np.arange(data.records) % 10 < 3, 1.0, -1.0)
    binary = Table(data.X, y[:, None], data.facts)
    theta = solve(GradientSolver(), binary, problem(binary), 2.0).theta[:, 0]
    assert theta[-1] == pytest.approx(y.mean(), abs=0.1)


def test_evidence_is_traced_and_questions_follow_the_plan_alone() -> None:
    data, quiet = table(3000, 4), table(3000, 4, signal=0.0)
    asked = problem(data)
    plan = GradientSolver().plan(asked, prices(data, asked), Allowance.gdp(0.2367))
    assert plan.queries[0].count == ProjectedSchedule(**plan.settings).steps
    for one in (data, quiet):  # the curator refuses a question too many, and the loop asks them all
        solution = solve(GradientSolver(), one, asked, 0.2367)
        assert set(solution.trace[0]) == {"step", "evidence", "boldness"}
    assert solve(GradientSolver(), data, asked, 0.2367).trace[0]["boldness"] > 0.0


def test_a_declared_number_that_is_half_the_true_one_does_no_damage() -> None:
    data = table(6000, 4)
    theta = solve(GradientSolver(), data, problem(data, Neighbours.ADD_OR_REMOVE, records=3000), 1.0).theta
    assert np.mean((data.X @ theta - data.Y) ** 2) < 0.6 * np.mean(data.Y**2)


def test_the_law_of_the_path_is_what_simulation_shows() -> None:
    """Bias and noise of one eigendirection, 4000 paths: bias within 1 %, standard deviation within 40 %."""
    data = table(2000, 4)
    asked = problem(data)
    path = ProjectedSchedule(**GradientSolver().plan(asked, prices(data, asked), Allowance.gdp(0.3)).settings)
    law = PathLaw.of(path, Reference.of(asked))
    rng = np.random.default_rng(0)
    for eigenvalue in (0.02, 0.1, 0.4):
        theta, total = np.zeros(4000), np.zeros(4000)
        for t in range(path.steps):
            step = path.warmup_step if t < path.first else law.step
            theta -= step * (eigenvalue * (theta - 1.0) + path.sigma * rng.normal(size=theta.size))
            if t >= path.steps - path.averaged:
                total += theta / path.averaged
        values = np.array([eigenvalue])
        assert 1.0 - total.mean() == pytest.approx(law.bias(values)[0], abs=0.02)
        assert total.std() == pytest.approx(math.sqrt(law.variance(values)[0]), rel=0.4)


def test_predictions_of_risk_fall_with_the_budget() -> None:
    data = table(5000, 4, intercept=True)
    asked, solver = problem(data), GradientSolver()
    plans = [solver.plan(asked, prices(data, asked), Allowance.gdp(mu)) for mu in (0.03, 0.3, 3.0, math.inf)]
    risks = [solver.predicted_risk(asked, plan) for plan in plans]
    assert risks == sorted(risks, reverse=True)


def test_what_it_cannot_do_is_refused_with_the_remedy() -> None:
    data = table(targets=2)
    with pytest.raises(CapabilityError, match="solver='moments'"):
        GradientSolver().plan(problem(data), prices(data, problem(data)), Allowance.gdp(1.0))
    one = table()
    both = replace(problem(one), constraint=LpBall(1.5, 1.0), penalty=L1Penalty(0.1))
    with pytest.raises(CapabilityError, match="together"):
        GradientSolver().plan(both, prices(one, both), Allowance.gdp(1.0))


@pytest.mark.slow
@pytest.mark.parametrize("loss", [Logistic(), Huber(0.3), SmoothedHinge(0.5)], ids=lambda one: one.name)
def test_other_losses_come_near_their_optimum_and_are_refused_without_noise(loss: Loss) -> None:
    data = table(20_000, 4, intercept=True)
    signs = np.where(data.Y > 0.1, 1.0, -1.0)
    told = replace(data, Y=signs)
    asked = replace(problem(told), loss=loss)
    with pytest.raises(CapabilityError, match="exact optimum"):
        GradientSolver().plan(asked, prices(told, asked), Allowance.gdp(math.inf))
    theta = solve(GradientSolver(), told, asked, 3.0).theta[:, 0]
    value = float(np.mean(loss.value(told.X @ theta, signs[:, 0])))
    constant = min(float(np.mean(loss.value(np.full(len(signs), c), signs[:, 0]))) for c in np.linspace(-2, 2, 81))
    best = float(np.mean(loss.value(told.X @ _descended(loss, told.X, signs[:, 0]), signs[:, 0])))
    assert value - best < 0.1 * (constant - best)


def _descended(loss: Loss, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    theta = np.zeros(X.shape[1])
    for _ in range(2_000):
        theta = theta - 0.5 / loss.constants(1.0, 1.0).smoothness * X.T @ loss.derivative(X @ theta, y) / len(y)
    return theta
