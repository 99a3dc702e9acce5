"""Coordinate descent: the poster's algorithm and bounds, the optimum without noise, one price for every table, its own scales."""

import json
import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet, LogisticRegression

from hullabaloo.curator import Curator
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.geometry import (
    Box,
    ElasticNetPenalty,
    GroupPenalty,
    L1Ball,
    L1Penalty,
    SeparablePenalty,
    SquaredL2Penalty,
)
from hullabaloo.losses import Huber, Logistic, Loss, MultinomialLogistic, Pinball, Poisson, SmoothedHinge, Squared
from hullabaloo.noise import TestKey
from hullabaloo.planning.theory.coordinate_bounds import (
    convex_bound,
    strongly_convex_bound,
    updates_that_halve,
    weighted_noise,
)
from hullabaloo.privacy import Allowance, Budget, Calibration, Neighbours
from hullabaloo.privacy.answers import Descent
from hullabaloo.queries import PricedQueries
from hullabaloo.solvers import CoordinateDescentSolver, GradientSolver
from hullabaloo.solvers.coordinate.coordinate_rule import Schedule, measured
from tests.solvers.tables import Array, Table, prices, problem, solve, table

LOSSES = (Squared(), Huber(0.3), Logistic(), SmoothedHinge(0.5), Poisson())
PENALTIES = (None, L1Penalty(0.02), SquaredL2Penalty(0.1), ElasticNetPenalty(0.05, 0.5), Box(-0.1, 0.15))
KEY = TestKey(bytes(32))


def made_for(loss: Loss, *, intercept: bool = False) -> Table:
    data = table(600, 5, intercept=intercept, seed=3)
    if isinstance(loss, Logistic | SmoothedHinge):
        data.Y = np.where(data.Y > 0.1, 1.0, -1.0)
    if isinstance(loss, Poisson):
        data.Y = np.abs(data.Y)
    return data


def posed(data: Table, loss: Loss, restraint: Any, relation: Neighbours = Neighbours.REPLACE_ONE) -> Any:
    box = isinstance(restraint, Box)
    asked = problem(data, relation, constraint=restraint if box else None, penalty=None if box else restraint)
    return replace(asked, loss=loss)


def objective(data: Table, asked: Any, theta: Array) -> float:
    return float(np.mean(asked.loss.value(data.X @ theta, data.Y[:, 0]))) + asked.regulariser.value(theta)


@pytest.mark.few(6)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("restraint", PENALTIES, ids=str)
@pytest.mark.parametrize("intercept", [False, True])
def test_without_noise_it_is_at_the_optimum(loss: Loss, restraint: Any, intercept: bool) -> None:
    """A point from which no step of proximal gradient leads away, which for a convex objective is a minimiser."""
    data = made_for(loss, intercept=intercept)
    asked = posed(data, loss, restraint)
    theta = solve(CoordinateDescentSolver(), data, asked, math.inf).theta[:, 0]
    slope = data.X.T @ loss.derivative(data.X @ theta, data.Y[:, 0]) / len(data.Y)
    to = asked.regulariser.prox(theta - slope, 1.0) if asked.feasible is None else asked.feasible.project(theta - slope)
    assert np.abs(theta - to).max() < 1e-8


def test_without_noise_it_agrees_with_scikit_learn() -> None:
    """Tests: 004, Problem statement."""
    data = made_for(Squared(), intercept=True)
    known = ElasticNet(alpha=0.02, l1_ratio=0.5, tol=1e-14, max_iter=100_000).fit(data.X[:, :-1], data.Y[:, 0])
    asked = posed(data, Squared(), ElasticNetPenalty(0.02, 0.5))
    theta = solve(CoordinateDescentSolver(), data, asked, math.inf).theta[:, 0]
    assert theta == pytest.approx(np.append(known.coef_, known.intercept_), abs=1e-8)
    assert 0 < np.count_nonzero(theta[:-1]) < 5
    classes = made_for(Logistic(), intercept=True)
    regression = LogisticRegression(C=1.0 / (0.1 * 600), tol=1e-12, max_iter=10_000).fit(
        classes.X[:, :-1], classes.Y[:, 0]
    )
    theta = solve(
        CoordinateDescentSolver(), classes, posed(classes, Logistic(), SquaredL2Penalty(0.1)), math.inf
    ).theta[:, 0]
    assert theta == pytest.approx(np.append(regression.coef_, regression.intercept_), abs=1e-6)


def test_without_noise_it_crosses_a_narrow_valley() -> None:
    """Two columns that are nearly one, far from zero."""
    rng = np.random.default_rng(8)
    X = 0.6 + 0.01 * rng.normal(size=(500, 1)) + 0.003 * rng.normal(size=(500, 2))
    Y = X @ [[3.0], [-2.0]] + 0.01 * rng.normal(size=(500, 1))
    data = Table(
        np.column_stack([X, np.ones(500)]), Y, RowFacts(("a", "b", "1"), True, 3.0, math.sqrt(3.0), 1.0, ("y",))
    )
    theta = solve(CoordinateDescentSolver(), data, problem(data), math.inf).theta
    assert theta == pytest.approx(np.linalg.lstsq(data.X, Y, rcond=None)[0], abs=1e-8)


@pytest.mark.few(9)
@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("constants", ["gaussian", "laplace", "declared"])
@pytest.mark.parametrize("mu", [0.0275, 0.2367, 2.0])
def test_a_plan_costs_at_most_the_budget_and_nearly_all_of_it(relation: Neighbours, constants: str, mu: float) -> None:
    """Tests: 004, Take home, no amplification."""
    for order in ("uniform", "cyclic", "importance"):
        for intercept in (False, True):
            data = table(intercept=intercept)
            asked = problem(data, relation)
            solver = CoordinateDescentSolver(order=order, constants=constants)
            plan = solver.plan(asked, prices(data, asked), Allowance.gdp(mu))
            spent = plan.event.gdp_mu()
            assert spent is not None
            assert mu * (1.0 - 1e-6) <= spent <= mu * (1.0 + 2.0**-40)


@pytest.mark.parametrize("constants", ["gaussian", "laplace", "declared"])
def test_a_budget_of_epsilon_and_delta_admits_its_plan(constants: str) -> None:
    data = table(intercept=True)
    asked, allowance = problem(data), Allowance(Budget(1.0, 1e-5))
    plan = CoordinateDescentSolver(constants=constants).plan(asked, prices(data, asked), allowance)
    assert allowance.takes(plan.event)


def quiet(plan: Any) -> list[Any]:
    """The plan's questions, answered without noise."""
    return [replace(query, mu=math.inf) for query in plan.queries]


def test_it_is_the_posters_algorithm_line_by_line() -> None:
    """T rounds from the average, K uniform updates, γ_j = 1/M_j, C_j = C √(M_j/tr M), against a loop over records and coordinates.

    Tests: 004, DP-CD.
    """
    data = made_for(Squared())
    asked = posed(data, Squared(), ElasticNetPenalty(0.02, 0.5))
    solver = CoordinateDescentSolver(order="uniform", rounds=3, updates=14, clip=0.3)
    plan = solver.plan(asked, prices(data, asked), Allowance.gdp(1.0))
    assert [(query.name, query.count) for query in plan.queries] == [("second_moments", 1), ("coordinate_gradient", 42)]
    theta = solver.run(asked, plan, Curator(Rows(data.X, data.Y), quiet(plan))).theta[:, 0]  # type: ignore[arg-type]

    n, y, schedule = len(data.Y), data.Y[:, 0], Schedule(**plan.settings)
    M = np.array([float(column @ column) / n for column in data.X.T])
    M = np.maximum(M, schedule.moment_noise)
    C = [0.3 * math.sqrt(M[j] / sum(M)) for j in range(5)]
    average = np.zeros(5)
    for t in range(3):
        point, points = average.copy(), []
        for j in schedule.coordinates(M, t):
            partials = [np.clip((data.X[i] @ point - y[i]) * data.X[i, j], -C[j], C[j]) for i in range(n)]
            v = point[j] - sum(partials) / n / M[j]
            shrunk = math.copysign(max(abs(v) - 0.01 / M[j], 0.0), v)
            point[j] = shrunk / (1.0 + 0.01 / M[j])
            points.append(point.copy())
        average = np.mean(points, axis=0)
    assert theta == pytest.approx(average, abs=1e-9)


def test_orders_are_public_and_importance_follows_the_constants() -> None:
    data = table()
    asked = problem(data)
    constants = np.array([1.0, 4.0, 4.0, 16.0])
    for order, wanted in (
        ("uniform", np.ones(4)),
        ("importance", np.array([1.0, 2.0, 2.0, 4.0])),
        ("cyclic", np.ones(4)),
    ):
        solver = CoordinateDescentSolver(order=order, rounds=2, updates=10_000)
        schedule = Schedule(**solver.plan(asked, prices(data, asked), Allowance.gdp(1.0)).settings)
        first, second = (schedule.coordinates(constants, t) for t in (0, 1))
        shares = np.bincount(first, minlength=4) / first.size
        assert shares == pytest.approx(wanted / wanted.sum(), abs=5.0 * math.sqrt(0.25 / 10_000))
        assert np.array_equal(first, schedule.coordinates(constants, 0))
        assert np.array_equal(first, second) == (order == "cyclic")


class Scripted:
    """A curator of made-up answers, which writes down what it was asked."""

    def __init__(self, seed: int, squares: float = 1.0) -> None:
        self.rng, self.squares, self.asked = np.random.default_rng(seed), squares, []

    def centred(self, centre: Any) -> "Scripted":
        self.asked.append(("centred",))
        return self

    def answer(self, name: str, *given: Any, **named: Any) -> Any:
        if name == "coordinate_gradient":
            self.asked.append((name, tuple(named["order"])))
            assert np.all(named["clips"] > 0.0)
            assert np.all(named["steps"] > 0.0)
            theta = 3.0 * self.rng.normal(size=given[0].size)
            return Descent(theta, theta, self.rng.normal(size=len(named["order"])))
        self.asked.append((name,))
        return self.squares * self.rng.normal(size=5)


@pytest.mark.parametrize("order", ["uniform", "cyclic"])
@pytest.mark.parametrize("constants", ["gaussian", "laplace", "declared"])
def test_what_is_asked_depends_on_the_plan_alone(order: str, constants: str) -> None:
    """Whatever the answers are, absurd ones included, the same questions come, and as many as were bought."""
    data = table(intercept=True)
    asked = problem(data)
    solver = CoordinateDescentSolver(order=order, constants=constants)
    plan = solver.plan(asked, prices(data, asked), Allowance.gdp(0.3))
    transcripts = []
    for seed, squares in enumerate((1.0, 1e3, 1e-9)):
        curator = Scripted(seed, squares)
        theta = solver.run(asked, plan, curator).theta  # type: ignore[arg-type]
        assert np.all(np.isfinite(theta))
        transcripts.append(curator.asked)
    assert transcripts[0] == transcripts[1] == transcripts[2]
    counts = {query.name: query.count for query in plan.queries}
    assert counts["coordinate_gradient"] == sum(
        len(one[1]) for one in transcripts[0] if one[0] == "coordinate_gradient"
    )
    assert [one[0] for one in transcripts[0] if one[0] not in ("coordinate_gradient", "centred")] == [
        query.name for query in plan.queries if query.name != "coordinate_gradient"
    ]


@pytest.mark.parametrize("constants", ["gaussian", "laplace"])
def test_a_released_constant_is_at_least_its_noise(constants: str) -> None:
    """Tests: 004, Estimating constants privately."""
    data = table(intercept=True)
    for relation in Neighbours:
        asked = problem(data, relation)
        plan = CoordinateDescentSolver(constants=constants).plan(asked, prices(data, asked), Allowance.gdp(0.05))
        schedule = Schedule(**plan.settings)
        assert schedule.moment_noise == pytest.approx(plan.queries[1].sigma / asked.records)  # type: ignore[attr-defined]
        for seed in range(20):
            _, found = measured(asked, schedule, Scripted(seed))  # type: ignore[arg-type]
            assert np.all(found[:-1] >= schedule.smoothness * schedule.moment_noise)
            assert 0.1 <= found[-1] <= 4.0


def test_declared_constants_are_free_and_those_of_the_domain() -> None:
    data = table()
    asked = replace(problem(data), norm_linf=0.5, loss=Logistic())
    plan = CoordinateDescentSolver(constants="declared").plan(asked, prices(data, asked), Allowance.gdp(0.05))
    assert [query.name for query in plan.queries] == ["coordinate_gradient"]
    _, found = measured(asked, Schedule(**plan.settings), Scripted(0))  # type: ignore[arg-type]
    assert np.all(found == 0.25 * 0.25)


def utility(
    data: Table, solver: CoordinateDescentSolver, penalty: Any, mu: float, draws: int
) -> tuple[Array, Schedule]:
    """Excess objective of each draw, at noise that no clip has touched, and the schedule."""
    asked = posed(data, Squared(), penalty)
    plan = solver.plan(asked, prices(data, asked), Allowance.gdp(mu))
    best = objective(data, asked, solve(CoordinateDescentSolver(), data, asked, math.inf).theta[:, 0])
    found = [objective(data, asked, solve(solver, data, asked, mu, seed).theta[:, 0]) - best for seed in range(draws)]
    return np.array(found), Schedule(**plan.settings)


def test_the_convex_bound_holds_in_simulation_and_says_something() -> None:
    """Tests: 004, Utility, convex."""
    data = made_for(Squared())
    solver = CoordinateDescentSolver(order="uniform", constants="declared", rounds=1, updates=60, clip=5.0)
    excess, schedule = utility(data, solver, L1Penalty(0.01), 3.0, 300)
    M = np.ones(5)
    asked = posed(data, Squared(), L1Penalty(0.01))
    best = solve(CoordinateDescentSolver(), data, asked, math.inf).theta[:, 0]
    gap = objective(data, asked, np.zeros(5)) - objective(data, asked, best)
    sigma = schedule.sigma * schedule.clips(M, intercept=False)
    bound = convex_bound(gap, float(M @ best**2), sigma, M, 60)
    assert excess.mean() + 5.0 * excess.std() / math.sqrt(300) < bound < 10.0 * excess.mean()
    posted = 1.5 * M.size * max(gap, float(M @ best**2)) / 60 + weighted_noise(sigma, M)  # 3pR_M²/(2K) + S
    assert bound <= posted


@pytest.mark.slow
def test_the_strongly_convex_bound_holds_in_simulation_and_says_something() -> None:
    """Tests: 004, Utility, strongly convex."""
    data, strong = made_for(Squared()), 0.5  # ψ alone: M = 1, μ_M = 0.5
    updates = updates_that_halve(5, strong)
    assert updates == 30
    solver = CoordinateDescentSolver(order="uniform", constants="declared", rounds=3, updates=updates, clip=5.0)
    excess, schedule = utility(data, solver, SquaredL2Penalty(strong), 3.0, 300)
    asked = posed(data, Squared(), SquaredL2Penalty(strong))
    best = solve(CoordinateDescentSolver(), data, asked, math.inf).theta[:, 0]
    gap = objective(data, asked, np.zeros(5)) - objective(data, asked, best)
    sigma = schedule.sigma * schedule.clips(np.ones(5), intercept=False)
    bound = strongly_convex_bound(gap, sigma, np.ones(5), 3, updates, strong)
    assert excess.mean() + 5.0 * excess.std() / math.sqrt(300) < bound < 50.0 * excess.mean()
    assert bound <= gap / 2**3 + 2.0 * weighted_noise(sigma, np.ones(5)) + 1e-12
    without = strongly_convex_bound(gap, 0.0 * sigma, np.ones(5), 3, updates, strong)
    assert without == pytest.approx(gap / 8)  # 2^T, not the 2T of the poster's plain text


def scaled_table(scales: Array, seed: int = 5) -> Table:
    """Independent columns on very different parts of their declared ranges, all of the same use."""
    rng = np.random.default_rng(seed)
    p = scales.size
    X = np.clip(rng.normal(size=(10_000, p)), -3.0, 3.0) / 3.0
    Y = np.clip(X @ rng.choice([-0.4, 0.4], size=(p, 1)) + 0.2 * rng.normal(size=(10_000, 1)), -1.0, 1.0)
    facts = RowFacts(tuple(f"x{j}" for j in range(p)), False, float(p), math.sqrt(p), 1.0, ("y",))
    return Table(np.ascontiguousarray(X * scales), Y, facts)


def excess_of(solver: Any, data: Table, mu: float, draws: int = 3) -> float:
    best = np.linalg.lstsq(data.X, data.Y, rcond=None)[0]
    found = [
        float(np.mean((data.X @ (solve(solver, data, problem(data), mu, seed).theta - best)) ** 2))
        for seed in range(draws)
    ]
    return float(np.mean(found))


@pytest.mark.slow
def test_it_adapts_to_the_scales_of_columns() -> None:
    """Twice as near as the gradient on raw scales, as near on equal ones."""
    raw, equal = scaled_table(np.geomspace(1.0, 0.05, 8)), scaled_table(np.ones(8))
    ours, theirs = (
        [excess_of(solver, data, 1.0) for data in (raw, equal)]
        for solver in (CoordinateDescentSolver(), GradientSolver())
    )
    assert 2.0 * ours[0] < theirs[0], (ours, theirs)
    assert ours[1] < 1.5 * theirs[1], (ours, theirs)


@pytest.mark.parametrize("mu", [1e-3, 0.1, 3.0])
def test_the_result_is_in_the_box_at_every_noise(mu: float) -> None:
    data = made_for(Squared(), intercept=True)
    asked = posed(data, Squared(), Box(-0.1, 0.15))
    theta = solve(CoordinateDescentSolver(), data, asked, mu).theta[:, 0]
    assert asked.feasible.contains(theta)


def test_a_penalty_of_ones_own_and_zeros_of_the_l1_penalty() -> None:
    class Cubic(SeparablePenalty):
        strong_convexity = 0.0

        def value(self, theta: Array) -> float:
            return float(np.sum(np.abs(theta) ** 3))

        def prox_at(self, j: int, v: float, step: float) -> float:
            return math.copysign((math.sqrt(1.0 + 12.0 * step * abs(v)) - 1.0) / (6.0 * step), v)

        def to_dict(self) -> dict[str, Any]:
            return {}

    data = made_for(Squared(), intercept=True)
    asked = posed(data, Squared(), Cubic())
    theta = solve(CoordinateDescentSolver(), data, asked, math.inf).theta[:, 0]
    slope = data.X.T @ (data.X @ theta - data.Y[:, 0]) / len(data.Y)
    assert slope[:-1] == pytest.approx(-3.0 * theta[:-1] * np.abs(theta[:-1]), abs=1e-8)
    assert slope[-1] == pytest.approx(0.0, abs=1e-8)
    none = solve(CoordinateDescentSolver(), data, posed(data, Squared(), L1Penalty(10.0)), 1.0).theta[:, 0]
    assert np.all(none[:-1] == 0.0)
    assert none[-1] != 0.0


def test_it_refuses_what_it_cannot_do_before_anything_is_charged() -> None:
    data = table()
    asked, allowance = problem(data), Allowance.gdp(1.0)
    for changed, words in (
        ({"loss": Pinball(0.5)}, "jumps"),
        ({"loss": MultinomialLogistic()}, "one target"),
        ({"constraint": L1Ball(1.0)}, "a coefficient's bounds depend on the others"),
        ({"penalty": GroupPenalty(((0, 1), (2, 3)), 0.1)}, "no sum over coordinates"),
    ):
        with pytest.raises(CapabilityError, match=words):
            CoordinateDescentSolver().plan(replace(asked, **changed), prices(data, asked), allowance)
    several = problem(table(targets=2))
    with pytest.raises(CapabilityError, match="one target"):
        CoordinateDescentSolver().plan(several, prices(table(targets=2), several), allowance)
    wrong_numbers = (
        {"rounds": 0},
        {"rounds": "10"},
        {"updates": 2.5},
        {"clip": 0.0},
        {"clip": "a"},
        {"clip": True},
        {"centre": "yes"},
    )
    for wrong in ({"order": "random"}, {"constants": "exact"}, *wrong_numbers):
        with pytest.raises(InvalidParameter, match="pass"):
            CoordinateDescentSolver(**wrong)  # type: ignore[arg-type]


def test_options_are_kept_as_json() -> None:
    solver = CoordinateDescentSolver("uniform", "laplace", 2, 30, 0.5, False)
    assert CoordinateDescentSolver(**json.loads(json.dumps(asdict(solver)))) == solver
    arrays = CoordinateDescentSolver("uniform", "laplace", np.int64(2), np.int8(30), np.float32(0.5), np.bool_(False))  # type: ignore[arg-type]
    assert json.dumps(asdict(arrays)) == json.dumps(
        asdict(solver)
    )  # NumPy's numbers, as a search over a grid passes them
    data = table(intercept=True)
    plan = solver.plan(problem(data), prices(data, problem(data)), Allowance.gdp(1.0))
    assert Schedule(**json.loads(json.dumps(dict(plan.settings)))) == Schedule(**plan.settings)


def test_the_posters_calibration_is_its_noise_at_its_real_price() -> None:
    """Tests: 004, Privacy."""
    data = table()
    asked, budget = problem(data), Budget(1.0, 1e-6)
    solver = CoordinateDescentSolver(constants="declared", rounds=2, updates=30, clip=1.0)
    plan = solver.plan(asked, prices(data, asked), Allowance(budget, calibration=Calibration.PAPER))
    (query,) = plan.queries
    assert query.sigma == pytest.approx(math.sqrt(8.0 * 60.0 * math.log(1e6)), rel=1e-9)  # type: ignore[attr-defined]
    assert query.count == 60
    assert plan.settings["order"] == "uniform"
    assert plan.event.gdp_mu() == pytest.approx(2.0 / math.sqrt(8.0 * math.log(1e6)), rel=1e-6)
    assert plan.event.gdp_mu() < Allowance(budget).mu  # type: ignore[operator]
    with pytest.raises(InvalidParameter, match="needs ε and a δ"):
        solver.plan(asked, prices(data, asked), Allowance(Budget.gdp(1.0), calibration=Calibration.PAPER))


def test_predictions_fall_as_the_budget_grows() -> None:
    data = scaled_table(np.geomspace(1.0, 0.2, 6))
    asked, solver = problem(data), CoordinateDescentSolver()
    risks = []
    for mu in (0.02, 0.2, 2.0):
        plan = solver.plan(asked, prices(data, asked), Allowance.gdp(mu))
        risks.append(solver.predicted_risk(asked, plan))
    assert risks[0] > risks[1] > risks[2] > 0.0
    exact = solver.plan(asked, prices(data, asked), Allowance.gdp(math.inf))
    assert solver.predicted_risk(asked, exact) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("least", [1.0, 0.1])
def test_rare_counts_are_found_where_curvature_is_far_below_its_bound(relation: Neighbours, least: float) -> None:
    """A mean of a fiftieth of the declared bound, exposures from `least` to 1: a step of 1/β would be fifty times too short."""
    rng = np.random.default_rng(11)
    X, exposure = rng.uniform(-1.0, 1.0, (20_000, 2)), rng.uniform(least, 1.0, 20_000)
    counts = np.minimum(rng.poisson(np.exp(-1.6 + X @ [0.8, -0.5]) * exposure), 10)
    offset = np.log(exposure) - 0.5 * math.log(least)
    bound = float(np.abs(offset).max()) + 1e-9
    facts = RowFacts(("a", "b", "1"), True, 3.0, math.sqrt(3.0), 1.0, ("y",), offset_bound=bound)
    rows = Rows(np.column_stack([X, np.ones(20_000)]), (counts / 10.0)[:, None], None, offset)
    asked = replace(posed(Table(rows.X, rows.Y, facts), Poisson(), None, relation), offset_bound=bound)

    def fitted(mu: float, seed: int = 0) -> Array:
        plan = CoordinateDescentSolver().plan(asked, PricedQueries(facts, relation, 20_000), Allowance.gdp(mu))
        curator = Curator(rows, plan.queries, key=KEY.derive(seed))  # type: ignore[arg-type]
        return CoordinateDescentSolver().run(asked, plan, curator).theta[:, 0]

    def risk(theta: Array) -> float:
        z = rows.X @ theta + offset
        return float(np.mean(np.exp(z) - rows.Y[:, 0] * z))

    best, constant = fitted(math.inf), np.array([0.0, 0.0, math.log(rows.Y.mean() / np.exp(offset).mean())])
    for seed in range(3):
        assert risk(fitted(0.24, seed)) - risk(best) < 0.1 * (risk(constant) - risk(best))
