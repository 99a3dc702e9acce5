"""Dual Frank–Wolfe: its steps, its gap, its price, its certified clip, its sparsity, and what it refuses."""

import json
import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hullabaloo.curator import Curator
from hullabaloo.data.source import Rows
from hullabaloo.errors import CalibrationError, CapabilityError, InvalidParameter
from hullabaloo.geometry import (
    BoundedCardinality,
    Cardinality,
    ConcaveCardinality,
    CustomSetFunction,
    L1Ball,
    L1Penalty,
    NoPenalty,
    SquaredL2Penalty,
    SubmodularPenalty,
)
from hullabaloo.geometry.submodular.base import SetFunction
from hullabaloo.geometry.submodular.group_cover import GroupCover, Intervals
from hullabaloo.geometry.submodular.norm import dual_omega, greedy_vertex
from hullabaloo.losses import Huber, Logistic, Pinball, Squared, SquaredTargets
from hullabaloo.noise import TestKey
from hullabaloo.planning.named import solver_from_dict, solver_to_dict
from hullabaloo.privacy import Allowance, Budget, Calibration, Neighbours, NotPrivateEvent
from hullabaloo.solvers import DualFrankWolfeSolver, Plan, Problem, Solution
from hullabaloo.solvers.frank_wolfe.dual_frank_wolfe_rule import STEPS, Polyhedron, residual_bound, weights
from tests.curator.neighbours import facts, random_rows
from tests.solvers.tables import Table, prices, problem, table

KEY = TestKey(bytes(range(32)))
EXACT, PRIVATE = Allowance(Budget(math.inf)), Allowance(Budget(1.0, 1e-6))
SOLVER = DualFrankWolfeSolver()
P = 4
FUNCTIONS: list[SetFunction] = [
    Cardinality(),
    BoundedCardinality(1),
    ConcaveCardinality.power(P, 0.5),
    GroupCover([[0, 1], [1, 2], [3]]),
    Intervals(P),
    CustomSetFunction(lambda members: math.sqrt(len(members)), P),
]


def structured(function: SetFunction, strength: float = 0.05) -> SubmodularPenalty:
    """λΩ with |s_j| ≤ `strength` on K."""
    return SubmodularPenalty(function, strength / function.value(np.arange(P) == 0))


def run(
    data: Table, asked: Problem, allowance: Allowance, *, seed: int = 0, solver: DualFrankWolfeSolver = SOLVER
) -> tuple[Plan, Solution]:
    plan = solver.plan(asked, prices(data, asked), allowance)
    curator = Curator(Rows(data.X, data.Y), plan.queries, key=KEY.derive(seed))  # type: ignore[arg-type]
    return plan, solver.run(asked, plan, curator)


class TargetInference:
    """A curator that answers with given points and keeps what it was asked."""

    def __init__(self, answers: list[np.ndarray]) -> None:
        self.answers, self.asked = answers, []

    def answer(self, name: str, linear: np.ndarray) -> np.ndarray:
        assert name == "output_perturbation"
        self.asked.append(linear.copy())
        return self.answers[len(self.asked) - 1]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: type(f).__name__)
def test_the_steps_are_algorithm_two(function: SetFunction, intercept: bool) -> None:
    """Tests: 001, Equation (13); 001, Algorithm 1; 001, Algorithm 2."""
    data = table(p=P, intercept=intercept)
    penalty = structured(function)
    asked = problem(data, penalty=penalty)
    plan = replace(SOLVER, steps=9).plan(asked, prices(data, asked), PRIVATE)
    rng = np.random.default_rng(0)
    curator = TargetInference([rng.normal(size=P + intercept) for _ in range(9)])
    solution = SOLVER.run(asked, plan, curator)  # type: ignore[arg-type]
    assert len(curator.asked) == 9 == plan.queries[0].count
    s = np.zeros(P)
    for t, (given, w) in enumerate(zip(curator.asked, curator.answers, strict=True)):
        assert given[:P] == pytest.approx(s, abs=1e-15)
        assert np.all(given[P:] == 0.0)
        assert dual_omega(function, given[:P]).value <= penalty.strength * (1.0 + 1e-9)
        assert float(np.linalg.norm(given)) <= plan.queries[0].linear_bound  # type: ignore[attr-defined]
        s = (1.0 - 2.0 / (t + 2)) * s + 2.0 / (t + 2) * penalty.strength * greedy_vertex(function, w[:P])
    trace = solution.trace[0]
    assert trace["dual_point"] == pytest.approx(tuple(s), abs=1e-15)
    gamma = weights(9, plan.settings["peak"])
    mean, dual = gamma @ np.array(curator.answers), gamma @ np.array(curator.asked)
    shrinkage = plan.settings["shrinkage"]
    expected = penalty.prox(mean[:P] + shrinkage * dual[:P], shrinkage)
    assert solution.theta[:P, 0] == pytest.approx(expected, abs=1e-12)
    assert solution.theta[P:, 0] == pytest.approx(mean[P:], abs=1e-12)


def objective(data: Table, asked: Problem, ridge: float, theta: np.ndarray) -> float:
    slopes = P if asked.intercept else None
    losses = asked.loss.value(data.X @ theta, data.Y[:, 0])
    return float(np.mean(losses) + 0.5 * ridge * theta @ theta) + asked.penalty.value(theta[:slopes])


def optimum(data: Table, asked: Problem, ridge: float) -> float:
    """Accelerated proximal gradient, away from the library's solvers."""
    theta = z = np.zeros(data.X.shape[1])
    size = float(np.linalg.eigvalsh(data.X.T @ data.X / data.records)[-1]) + ridge
    for t in range(2000):
        slope = data.X.T @ asked.loss.derivative(data.X @ z, data.Y[:, 0]) / data.records + ridge * z  # type: ignore[arg-type]
        new = asked.regulariser.prox(z - slope / size, 1.0 / size)
        z = new + t / (t + 3.0) * (new - theta)
        theta = new
    return objective(data, asked, ridge, theta)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("function", "loss"),
    [*((function, Squared()) for function in FUNCTIONS[:-1]), (FUNCTIONS[0], Logistic()), (FUNCTIONS[4], Logistic())],
    ids=lambda value: type(value).__name__,
)
def test_without_noise_the_optimum_is_within_the_gap_and_the_gap_within_the_bound(
    function: SetFunction, loss: Any
) -> None:
    """Tests: 001, Equation (12); 001, Theorem 2."""
    data = table(150, P, intercept=True, seed=2)
    if isinstance(loss, Logistic):
        data = replace(data, Y=np.where(data.Y >= 0.1, 1.0, -1.0))
    asked = replace(problem(data, penalty=structured(function)), loss=loss)
    steps = 100 if isinstance(loss, Logistic) else 400
    solver = DualFrankWolfeSolver(steps=steps, ridge=0.1)
    plan, solution = run(data, asked, EXACT, solver=solver)
    trace, best = solution.trace[0], optimum(data, asked, 0.1)
    excess = objective(data, asked, 0.1, solution.theta[:, 0]) - best
    bound = plan.settings["curvature"] * float(np.sum(weights(steps, plan.settings["peak"]) / np.arange(1, steps + 1)))
    assert -1e-9 <= excess <= bound
    if isinstance(loss, Squared):  # then the gap of the mean is that of a point, and the last step only lowers it
        assert excess <= trace["gap_of_mean"] + 1e-9
        assert trace["gap_of_mean"] <= bound
    assert excess < 0.03 * (objective(data, asked, 0.1, np.zeros(P + 1)) - best)


@pytest.mark.slow
def test_the_default_without_noise_is_near_the_penalised_optimum() -> None:
    """Tests: 001, Equation (1)."""
    data = table(300, P, intercept=True, seed=2)
    asked = problem(data, penalty=structured(Intervals(P)))
    plan, solution = run(data, asked, EXACT)
    ridge = plan.settings["ridge"]
    at_zero, best = objective(data, asked, ridge, np.zeros(P + 1)), optimum(data, asked, ridge)
    assert objective(data, asked, ridge, solution.theta[:, 0]) - best <= min(
        solution.trace[0]["gap_of_mean"], 0.01 * at_zero
    )
    assert isinstance(plan.event, NotPrivateEvent)


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize(
    "allowance", [Allowance.gdp(0.3), PRIVATE, Allowance(Budget(1.0, 1e-6), filter="gdp")], ids=str
)
def test_a_plan_costs_the_budget_exactly(neighbours: Neighbours, allowance: Allowance) -> None:
    """Tests: 001, Algorithm 2."""
    data = table(p=P)
    asked = problem(data, neighbours, penalty=structured(Intervals(P)))
    for solver in (SOLVER, DualFrankWolfeSolver(steps=1), DualFrankWolfeSolver(steps=100)):
        spent = solver.plan(asked, prices(data, asked), allowance).event.gdp_mu()
        assert spent == pytest.approx(allowance.mu, rel=1e-6)
        assert spent is not None
        assert spent <= allowance.mu * (1.0 + 2.0**-40)


@pytest.mark.slow
def test_with_little_noise_it_comes_near_the_optimum() -> None:
    """Tests: 001, Theorem 4."""
    data = table(200, P, seed=5)
    data = replace(data, X=np.tile(data.X, (200, 1)), Y=np.tile(data.Y, (200, 1)))
    asked = problem(data, penalty=structured(Cardinality(), 0.02))
    plan, solution = run(data, asked, Allowance.gdp(20.0))
    best = optimum(data, asked, 0.0)
    found = objective(data, asked, 0.0, solution.theta[:, 0])
    assert found - best < 0.1 * (objective(data, asked, 0.0, np.zeros(P)) - best)
    assert plan.settings["steps"] in STEPS


def test_columns_without_signal_are_left_out() -> None:
    """Half of the columns say nothing: most of them are exactly 0; with thresholds at the noise some 1 % pass."""
    rng = np.random.default_rng(6)
    data = table(20_000, 2, seed=6)
    X = np.column_stack([data.X, rng.uniform(-1, 1, (20_000, 18))]) / math.sqrt(19.0)
    names = tuple(f"x{j}" for j in range(20))
    data = replace(data, X=np.ascontiguousarray(X), facts=replace(data.facts, columns=names, norm_l1=5.0))
    data = replace(data, Y=np.clip(4.0 * X[:, :1] + 0.1 * rng.normal(size=(20_000, 1)), -1.0, 1.0))
    asked = problem(data, penalty=SubmodularPenalty(Cardinality(), 0.005))
    kept = run(data, asked, PRIVATE, seed=1)[1].theta[:, 0] != 0.0
    assert kept[0]
    assert np.mean(kept[2:]) < 0.4


@pytest.mark.parametrize("peak", [1, 3, 8])
def test_weights_keep_the_condition_of_the_proof(peak: int) -> None:
    gamma = weights(8, peak)
    assert gamma.sum() == pytest.approx(1.0)
    assert np.all(np.diff(gamma / np.arange(1, 9)) <= 1e-15)
    if peak == 8:
        assert float(np.sum(gamma / np.arange(1, 9))) == pytest.approx(2.0 / 9.0)


@pytest.mark.parametrize("offset", [0.0, 0.7])
@pytest.mark.parametrize("weight", [1.0, 2.5])
def test_no_residual_reaches_the_certified_clip(offset: float, weight: float) -> None:
    """At w(s) for s as long as allowed, along the data too, for extreme tables: and one that comes within a factor 2 of it."""
    about = facts(3, norm_l2=1.0, max_weight=weight, offset=offset)
    rng, closest = np.random.default_rng(7), 0.0
    for ridge in (1e-3, 0.05, 1.0, 30.0):
        for largest in (0.0, 0.2, 3.0):
            asked = Problem(
                Squared(),
                3,
                False,
                2.0,
                1.0,
                1.0,
                1,
                25,
                Neighbours.REPLACE_ONE,
                offset_bound=offset,
                max_weight=weight,
            )
            bound = residual_bound(asked, largest, ridge)
            tables = [random_rows(rng, 25, about, extreme=extreme) for extreme in (False, True)]
            tables.append(
                Rows(
                    np.tile([[1.0, 0.0, 0.0]], (25, 1)) * 1e-3,
                    np.ones((25, 1)),
                    np.full(25, weight),
                    np.full(25, -offset),
                )
            )
            for rows in tables:
                w = np.ones(25) if rows.weight is None else rows.weight
                o = np.zeros(25) if rows.offset is None else rows.offset
                system = (rows.X * w[:, None]).T @ rows.X / 25 + ridge * np.eye(3)
                for _ in range(6):
                    s = rng.normal(size=3)
                    s *= largest / np.linalg.norm(s)
                    if rng.random() < 0.5:
                        s = -largest * rows.X[0] / max(float(np.linalg.norm(rows.X[0])), 1e-300)
                    theta = np.linalg.solve(system, rows.X.T @ (w * (rows.Y[:, 0] - o)) / 25 - s)
                    residual = float(np.abs(rows.X @ theta + o - rows.Y[:, 0]).max())
                    assert residual <= bound
                    closest = max(closest, residual / bound)
    assert closest > 0.5


def test_unclipped_answers_are_those_of_least_squares() -> None:
    data = table(400, P, intercept=True)
    asked = problem(data, penalty=structured(Cardinality(), 0.3))
    plan = DualFrankWolfeSolver(unclipped=True, steps=5, ridge=0.1).plan(asked, prices(data, asked), PRIVATE)
    query: Any = plan.queries[0]
    assert query.clip == pytest.approx(residual_bound(asked, Polyhedron.of(asked).largest, 0.1))
    kept = query.kept_work(Rows(data.X, data.Y))
    n, p = data.X.shape
    for s in (np.zeros(p), np.array([0.3, -0.3, 0.3, 0.3, 0.0])):
        exact = np.linalg.solve(data.X.T @ data.X / n + 0.1 * np.eye(p), data.X.T @ data.Y[:, 0] / n - s)
        assert float(np.linalg.norm(kept.minimiser(n * s) - exact)) <= query.distance * (1.0 + 1e-9)
    clipped = DualFrankWolfeSolver(unclipped=False, steps=5, ridge=0.1).plan(asked, prices(data, asked), PRIVATE)
    assert clipped.settings["sigma"] < plan.settings["sigma"]
    assert clipped.settings == replace(SOLVER, steps=5, ridge=0.1).plan(asked, prices(data, asked), PRIVATE).settings


@pytest.mark.parametrize("function", FUNCTIONS[:-1], ids=lambda f: type(f).__name__)
def test_plans_are_quick_and_plain_data(function: SetFunction) -> None:
    data = table(p=P, intercept=True)
    asked = problem(data, penalty=structured(function))
    SOLVER.plan(asked, prices(data, asked), PRIVATE)
    start = time.process_time()
    plan = SOLVER.plan(asked, prices(data, asked), PRIVATE)
    assert time.process_time() - start < 0.2  # a few milliseconds, on a machine of our own
    assert json.loads(json.dumps(plan.to_dict()))["settings"]["steps"] == plan.settings["steps"]
    assert 0.0 < SOLVER.predicted_risk(asked, plan) < 10.0


def test_what_is_predicted_falls_with_records_and_budget() -> None:
    data = table(p=P)
    asked = problem(data, penalty=structured(Intervals(P)))
    risks = []
    for records in (1e3, 1e4, 1e5):
        for mu in (0.1, 1.0):
            of = replace(asked, records=int(records))
            risks.append(SOLVER.predicted_risk(of, SOLVER.plan(of, prices(data, of), Allowance.gdp(mu))))
    assert risks[0] > risks[1] > risks[3] > risks[5]
    assert risks[0] > risks[2] > risks[4]


def test_an_l1_penalty_is_that_of_the_cardinality() -> None:
    data = table(p=P)
    found = [
        run(data, problem(data, penalty=penalty), PRIVATE)[1].theta
        for penalty in (L1Penalty(0.1), structured(Cardinality(), 0.1))
    ]
    assert np.array_equal(*found)


@pytest.mark.parametrize("p", [0, P])
def test_without_columns_or_strength_it_is_a_mean_of_minimisers(p: int) -> None:
    data = table(p=max(p, 1), intercept=True)
    if p == 0:
        slim = replace(data.facts, columns=data.facts.columns[-1:], norm_l1=1.0, norm_l2=1.0)
        data = replace(data, X=np.ascontiguousarray(data.X[:, -1:]), facts=slim)
    asked = problem(data, penalty=L1Penalty(0.1 if p == 0 else 0.0))
    plan, solution = run(data, asked, PRIVATE)
    assert plan.queries[0].linear_bound == 0.0  # type: ignore[attr-defined]
    assert solution.theta.shape == (p + 1, 1)
    assert np.isfinite(solution.theta).all()


def test_any_callable_of_sets_will_do() -> None:
    data = table(p=P)
    asked = problem(data, penalty=structured(FUNCTIONS[-1]))
    theta = run(data, asked, PRIVATE)[1].theta
    alike = run(data, problem(data, penalty=structured(ConcaveCardinality.power(P, 0.5))), PRIVATE)[1].theta
    assert theta.shape == (P, 1)
    assert SOLVER.plan(asked, prices(data, asked), PRIVATE).queries[0].count in STEPS
    assert np.isfinite(alike).all()


def test_options_are_checked_and_kept_as_text() -> None:
    solver = DualFrankWolfeSolver(steps=np.int64(12), ridge=np.float64(0.5), unclipped=np.bool_(True))  # type: ignore[arg-type]
    written = solver_to_dict(solver)
    assert solver_from_dict(json.loads(json.dumps(written))) == solver
    for wrong in ({"steps": 0}, {"steps": 2.5}, {"ridge": 0.0}, {"ridge": math.inf}, {"unclipped": 1}):
        with pytest.raises(InvalidParameter):
            DualFrankWolfeSolver(**wrong)  # type: ignore[arg-type]


def test_what_it_cannot_do_is_refused_in_sentences() -> None:
    data = table(p=P)
    fine = problem(data, penalty=L1Penalty(0.1))
    for refused, word in (
        (replace(fine, penalty=NoPenalty()), "SubmodularPenalty"),
        (replace(fine, penalty=SquaredL2Penalty(0.1)), "SubmodularPenalty"),
        (replace(fine, constraint=L1Ball(1.0)), "penalty="),
        (replace(fine, targets=2), "one target at a time"),
        (replace(fine, loss=SquaredTargets()), "one prediction"),
        (replace(fine, loss=Pinball(0.5)), "quantiles"),
    ):
        with pytest.raises(CapabilityError, match=word):
            SOLVER.plan(refused, prices(data, refused), PRIVATE)
    for allowance in (PRIVATE, EXACT, Allowance(Budget(1.0, 1e-6), calibration=Calibration.PAPER)):
        with pytest.raises(CapabilityError, match=r"max_passes is 3\. Nothing was charged"):
            replace(SOLVER, max_passes=3).plan(fine, prices(data, fine), allowance)
    with pytest.raises(InvalidParameter, match="needs ε and a δ above 0"):
        SOLVER.plan(fine, prices(data, fine), Allowance(Budget.gdp(1.0), calibration=Calibration.PAPER))
    with pytest.raises(CalibrationError, match="pure"):
        SOLVER.plan(fine, prices(data, fine), Allowance(Budget(1.0, 0.0)))


@pytest.mark.few(2)
@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize(
    ("function", "loss"), [(FUNCTIONS[1], Squared()), (FUNCTIONS[4], Logistic())], ids=lambda one: type(one).__name__
)
def test_the_papers_noise_is_laplaces_and_its_real_cost_is_stated(
    function: SetFunction, loss: Any, neighbours: Neighbours
) -> None:
    """Scale and T to 6 digits; along one coordinate, of an l1 ball as K, scores have the printed scale L₁‖K‖₁√(8T ln(1/δ))/(nε).

    Tests: 001, Algorithm 2; 001, Theorem 3.
    """
    data, ridge = table(2000, P), 0.5
    asked = replace(problem(data, neighbours, penalty=structured(function)), loss=loss)
    delta, n = 1e-6, data.records
    solver = DualFrankWolfeSolver(ridge=ridge)
    plan = solver.plan(asked, prices(data, asked), Allowance(Budget(1.0, delta), calibration=Calibration.PAPER))
    query: Any = plan.queries[0]
    about = Polyhedron.of(asked)
    clip = residual_bound(asked, about.largest, ridge) if isinstance(loss, Squared) else 1.0
    score = about.largest * clip * data.facts.norm_l2 / ridge  # L₁‖K‖₁
    assert plan.settings["clip"] == pytest.approx(clip, rel=1e-9)
    assert query.count == round((4.0 * about.largest**2 / ridge * n / score) ** (2 / 3))
    theirs = score * math.sqrt(8.0 * query.count * math.log(1.0 / delta)) / n
    assert about.largest * query.scale == pytest.approx(theirs, rel=1e-6)
    moved = (2.0 if neighbours is Neighbours.REPLACE_ONE else 1.0) * score / about.largest / n  # l2, of w
    assert query.event.pure_epsilon() == pytest.approx(math.sqrt(P) * moved / query.scale, rel=1e-2)
    assert "Laplace" in plan.reason
    fit = Curator(Rows(data.X, data.Y if isinstance(loss, Squared) else np.sign(data.Y)), plan.queries, key=KEY)  # type: ignore[arg-type]
    assert np.isfinite(solver.run(asked, plan, fit).theta).all()
    assert solver.predicted_risk(asked, plan) > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("loss", [Huber(0.2), Logistic()], ids=lambda loss: loss.name)
def test_other_losses_gain_too(loss: Any) -> None:
    data = table(20_000, P, intercept=True, seed=9)
    if isinstance(loss, Logistic):
        data = replace(data, Y=np.where(data.Y >= 0.2, 1.0, -1.0))
    asked = replace(problem(data, penalty=structured(Intervals(P), 0.005)), loss=loss)
    theta = run(data, asked, Allowance(Budget(4.0, 1e-6)))[1].theta[:, 0]
    best = optimum(data, replace(asked, penalty=NoPenalty()), 0.0)
    of = replace(asked, penalty=NoPenalty())
    left = objective(data, of, 0.0, theta) - best
    assert left < 0.5 * (objective(data, of, 0.0, np.zeros(P + 1)) - best)
