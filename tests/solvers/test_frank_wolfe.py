"""Private Frank–Wolfe: its steps, its price in every filter, its bound, its sparsity, and what it refuses."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from hullabaloo.curator import Curator
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.geometry import Box, ConvexSet, GroupBall, L1Ball, L1Penalty, L2Ball, NuclearBall, Polytope, Simplex
from hullabaloo.losses import Huber, Logistic, Loss, Pinball, Poisson, SmoothedHinge, Squared, SquaredTargets
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Allowance, Budget, Calibration, Neighbours, PermuteAndFlipEvent, SelectionEvent
from hullabaloo.solvers import FrankWolfeSolver, Plan, Problem, Solution
from hullabaloo.solvers.frank_wolfe.frank_wolfe import descend
from hullabaloo.solvers.frank_wolfe.frank_wolfe_rule import Iterates
from tests.solvers.tables import Table, prices, problem, table

KEY = TestKey(bytes(range(32)))
CORNERS = Polytope(np.random.default_rng(0).normal(0.0, 0.3, (9, 4)))
GROUPS = GroupBall(((0, 1), (2, 3)), 0.4)
SETS: list[ConvexSet] = [L1Ball(0.5), Simplex(0.4), CORNERS, L2Ball(0.3), Box(-0.1, 0.3), GROUPS]
PRIVATE = Allowance(Budget(1.0, 1e-6))
NONE = Allowance(Budget(math.inf))
SOLVER = FrankWolfeSolver()


def run(
    data: Table, asked: Problem, allowance: Allowance, seed: int = 0, solver: FrankWolfeSolver = SOLVER
) -> tuple[Plan, Solution]:
    plan = solver.plan(asked, prices(data, asked), allowance)
    curator = Curator(Rows(data.X, data.Y), plan.queries, key=KEY.derive(seed))  # type: ignore[arg-type]
    return plan, solver.run(asked, plan, curator)


def objective(data: Table, loss: Loss, theta: np.ndarray) -> float:
    return float(np.mean(loss.value(data.X @ theta, data.Y)))


def bound(plan: Plan) -> float:
    return Iterates(**plan.settings).risk


def optimum(data: Table, asked: Problem, steps: int = 1000) -> float:
    """Accelerated projected gradient, away from the library's solvers."""
    assert asked.feasible is not None
    theta = z = asked.feasible.start(data.X.shape[1])
    size = np.linalg.eigvalsh(data.X.T @ data.X / data.records)[-1] * asked.loss.constants(3.0, 1.0).smoothness
    for t in range(steps):
        slope = data.X.T @ asked.loss.derivative(data.X @ z, data.Y[:, 0]) / data.records  # type: ignore[arg-type]
        new = asked.feasible.project(z - slope / size)
        z = new + t / (t + 3.0) * (new - theta)
        theta = new
    return objective(data, asked.loss, theta[:, None])  # type: ignore[arg-type]


def test_the_steps_are_the_papers() -> None:
    """θ_{t+1} = (1 − μ_t)θ_t + μ_t s_t with μ_t = 2/(t+2), t = 1 … T: the weight of s_t is 2(t+1)/((T+1)(T+2)).

    Tests: 000, Algorithm 1; 000, Algorithm 2; 002, Algorithm 3; 002, Algorithm 4.
    """
    steps = 7
    asked: list[np.ndarray] = []

    def towards(theta: np.ndarray) -> np.ndarray:
        asked.append(theta)
        return np.eye(steps + 1)[len(asked)]

    weights = descend(np.eye(steps + 1)[0], towards, steps=steps)
    expected = [2.0 * (t + 1) / ((steps + 1) * (steps + 2)) for t in range(steps + 1)]
    assert weights == pytest.approx(expected)
    assert len(asked) == steps


@pytest.mark.few(1)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("body", SETS, ids=str)
@pytest.mark.parametrize("form", ["auto", "general"])
def test_without_noise_the_gap_closes_as_the_bound_says(intercept: bool, body: ConvexSet, form: str) -> None:
    """Tests: 000, Theorem 2.2; 002, Theorem 5.2."""
    data = table(300, 4, intercept=intercept)
    asked = problem(data, constraint=body)
    solver = FrankWolfeSolver(form=form)  # type: ignore[arg-type]
    plan, solution = run(data, asked, NONE, solver=solver)
    excess = objective(data, Squared(), solution.theta) - optimum(data, asked)
    assert -1e-9 <= excess <= min(bound(plan), 2e-3)
    assert asked.feasible is not None
    assert asked.feasible.contains(solution.theta[:, 0])
    assert "no noise" in plan.reason


def test_a_sparse_truth_is_recovered_exactly_where_it_is_a_vertex() -> None:
    rng = np.random.default_rng(1)
    X = rng.choice([-1.0, 1.0], (200, 30))
    facts = RowFacts(tuple(map(str, range(30))), False, 30.0, math.sqrt(30.0), 1.0, ("y",))
    data = Table(X, 0.5 * X[:, [7]], facts)
    asked = problem(data, constraint=L1Ball(0.5))
    theta = run(data, asked, NONE, solver=FrankWolfeSolver(steps=400))[1].theta[:, 0]
    assert theta == pytest.approx(0.5 * np.eye(30)[7], abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("loss", [Huber(0.5), Logistic(), SmoothedHinge(0.5), Poisson(), Squared()], ids=str)
@pytest.mark.parametrize("form", ["auto", "general"])
def test_smooth_losses_all(loss: Loss, form: str) -> None:
    data = table(6000, 4, intercept=True)
    y = data.Y
    if isinstance(loss, Logistic | SmoothedHinge):
        y = np.where(y > 0.2, 1.0, -1.0)
    elif isinstance(loss, Poisson):
        y = 0.5 * (1.0 + y)
    data = Table(data.X, y, data.facts)
    asked = replace(problem(data, constraint=L1Ball(1.0)), loss=loss)
    constant = min(
        objective(data, loss, np.vstack([np.zeros((4, 1)), [[b]]])) for b in np.linspace(*loss.intercept_bounds, 97)
    )
    solver = FrankWolfeSolver(form=form)  # type: ignore[arg-type]
    plan, solution = run(data, asked, Allowance(Budget(8.0, 1e-6)), solver=solver)
    assert PRIVATE.scaled(8.0).takes(plan.event)
    found, best = objective(data, loss, solution.theta), optimum(data, asked)
    assert best - 1e-6 <= found <= best + 0.35 * (constant - best)


@pytest.mark.few(3)
@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("filter_name", [None, "basic", "gdp", "renyi"])
@pytest.mark.parametrize("form", ["auto", "general"])
def test_a_plan_costs_what_is_allowed_and_nearly_all_of_it(
    neighbours: Neighbours, filter_name: str | None, form: str
) -> None:
    data = table(400, 4)
    asked = problem(data, neighbours, constraint=L1Ball(0.5), records=20_000)
    allowance = Allowance(Budget(1.0, 1e-6), filter_name)
    solver = FrankWolfeSolver(form=form)  # type: ignore[arg-type]
    plan = solver.plan(asked, prices(data, asked), allowance)
    assert allowance.takes(plan.event)
    assert not allowance.scaled(0.98).takes(plan.event)
    assert json.loads(json.dumps(plan.to_dict()))["solver"] == "frank_wolfe"


@pytest.mark.parametrize("budget", [Budget.gdp(0.5), Budget.zcdp(0.05), Budget(1.0, 0.0)], ids=repr)
def test_budgets_of_every_kind(budget: Budget) -> None:
    data = table(400, 4)
    asked = problem(data, constraint=L1Ball(0.5), records=20_000)
    plan = SOLVER.plan(asked, prices(data, asked), Allowance(budget))
    assert budget.admits(plan.event)
    assert plan.queries[0].count == plan.settings["steps"] >= 1


def test_a_lone_selection_is_by_permute_and_flip_where_that_is_no_dearer() -> None:
    data = table(400, 4)
    asked = problem(data, constraint=L1Ball(0.1))
    lone = FrankWolfeSolver(steps=1)
    for allowance, kind in (
        (Allowance(Budget(1.0, 0.0)), PermuteAndFlipEvent),
        (Allowance(Budget(1.0, 1e-6)), PermuteAndFlipEvent),
        (Allowance.gdp(0.2), SelectionEvent),
    ):
        plan, solution = run(data, asked, allowance, solver=lone)
        assert isinstance(plan.queries[0].event, kind)
        assert allowance.takes(plan.event)
        assert np.count_nonzero(solution.theta) == 1


def test_the_result_has_at_most_one_slope_a_step_and_lies_in_the_set() -> None:
    rng = np.random.default_rng(2)
    X = rng.uniform(-1.0, 1.0, (800, 300))
    facts = RowFacts(tuple(map(str, range(300))), False, 300.0, math.sqrt(300.0), 1.0, ("y",))
    data = Table(X, np.clip(X[:, [3]] - 0.5 * X[:, [5]], -1.0, 1.0), facts)
    asked = problem(data, constraint=L1Ball(1.0))
    plan, solution = run(data, asked, PRIVATE, solver=FrankWolfeSolver(steps=60))
    steps = plan.settings["steps"]
    assert 0 < np.count_nonzero(solution.theta) <= steps < 300
    assert solution.trace[0] == {"step": steps, "nonzero": np.count_nonzero(solution.theta)}
    assert L1Ball(1.0).contains(solution.theta[:, 0])


@pytest.mark.parametrize("body", [L1Ball(0.5), L2Ball(0.3)], ids=str)
def test_expected_excess_risk_is_below_the_bound(body: ConvexSet) -> None:
    """Clip 1.5 clips nothing here, so that the bound is about the squared loss itself; mean of 6 runs.

    Tests: 000, Theorem 1.1; 000, Theorem 2.6; 000, Corollary 2.7; 000, Remark 2; 002, Theorem 1.2; 002, Theorem 5.5.
    Tests: 002, Theorem 5.6; 002, Corollary 5.7; 002, Remark 6; 002, Theorem B.2.
    """
    data = table(2000, 4)
    asked = problem(data, constraint=body)
    best, solver = optimum(data, asked), FrankWolfeSolver(clip=1.5)
    for mu in (0.05, 0.5):
        runs = [run(data, asked, Allowance.gdp(mu), seed, solver) for seed in range(6)]
        excess = np.mean([objective(data, Squared(), one[1].theta) for one in runs]) - best
        assert 0.0 < excess < bound(runs[0][0])


def test_the_slope_error_of_a_selection_is_below_its_bound() -> None:
    """λ ln V, for scores of every shape: equal ones, one winner, a ladder.

    Tests: 000, Theorem 2.5.
    """
    for scores in (np.zeros(40), np.eye(40)[0] * 3.0, np.linspace(0.0, 9.0, 40), -np.geomspace(1e-3, 50.0, 40)):
        for temperature in (0.01, 1.0, 30.0):
            weight = np.exp((scores - scores.max()) / temperature)
            error = float((scores.max() - scores) @ weight / weight.sum())
            assert error <= temperature * math.log(40)


def test_more_budget_and_more_records_promise_less_risk() -> None:
    data = table(400, 4, intercept=True)
    for form in ("auto", "general"):
        solver = FrankWolfeSolver(form=form)  # type: ignore[arg-type]
        risks = []
        for mu, n in ((0.02, 1000), (0.1, 10_000), (0.5, 100_000), (math.inf, 100_000)):
            asked = problem(data, Neighbours.ADD_OR_REMOVE, constraint=L1Ball(0.5), records=n)
            plan = solver.plan(asked, prices(data, asked), Allowance.gdp(mu))
            risks.append(solver.predicted_risk(asked, plan))
        assert risks == sorted(risks, reverse=True)
        assert np.all(np.isfinite(risks))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "epsilon"), [(20_000, 0.1), (2000, 1.0), (20_000, 1.0)])
def test_the_predicted_risk_is_what_a_usual_table_shows(n: int, epsilon: float) -> None:
    """Even features, a sparse truth: mean of 3 runs within a factor of 4.

    Tests: 000, Equation (1); 002, Equation (1).
    """
    rng = np.random.default_rng(4)
    X = rng.uniform(-1.0, 1.0, (n, 60))
    facts = RowFacts(tuple(map(str, range(60))), False, 60.0, math.sqrt(60.0), 1.0, ("y",))
    y = X[:, :3] @ [0.25, -0.15, 0.1] + 0.25 * rng.normal(size=n)
    data = Table(X, np.clip(y, -1.0, 1.0)[:, None], facts)
    asked = problem(data, constraint=L1Ball(0.5))
    runs = [run(data, asked, Allowance(Budget(epsilon, 1e-6)), seed) for seed in range(3)]
    excess = np.mean([objective(data, Squared(), one[1].theta) for one in runs]) - optimum(data, asked, 100)
    predicted = SOLVER.predicted_risk(asked, runs[0][0])
    assert excess / 4.0 < predicted < 4.0 * excess
    assert predicted < bound(runs[0][0])


def test_the_number_of_steps_grows_like_n_to_two_thirds() -> None:
    """Tests: 000, Theorem 2.5; 002, Theorem 5.5."""
    data = table(400, 4)
    steps = []
    for n in (10_000, 80_000, 640_000):
        asked = problem(data, Neighbours.ADD_OR_REMOVE, constraint=L1Ball(0.5), records=n)
        plan = FrankWolfeSolver(clip=1.0).plan(asked, prices(data, asked), Allowance.gdp(0.2))
        steps.append(plan.settings["steps"])
    assert steps[1] / steps[0] == pytest.approx(4.0, rel=0.1)
    assert steps[2] / steps[1] == pytest.approx(4.0, rel=0.1)


def test_questions_follow_the_plan_alone() -> None:
    asked = problem(table(500, 4), constraint=L1Ball(0.5))
    plans = [SOLVER.plan(asked, prices(table(500, 4), asked), PRIVATE) for _ in range(2)]
    assert plans[0] == plans[1]
    for signal in (0.0, 1.0):  # the curator refuses a question too many, and the loop asks them all
        data = table(500, 4, signal=signal)
        assert run(data, asked, PRIVATE)[1].theta.shape == (4, 1)


@pytest.mark.few(1)
@pytest.mark.parametrize("body", [L2Ball(1.0), L1Ball(2.0), NuclearBall(1.2, 2)], ids=str)
def test_several_targets_and_losses_of_several_predictions(body: ConvexSet) -> None:
    data = table(5000, 4, targets=2, intercept=True)
    asked = replace(problem(data, constraint=body), loss=SquaredTargets())
    plan, solution = run(data, asked, Allowance.gdp(2.0))
    assert plan.settings["form"] == "general"
    assert solution.theta.shape == (5, 2)
    left = np.mean(np.sum((data.X @ solution.theta - data.Y) ** 2, axis=1))
    assert left < 0.5 * np.sum(data.Y.var(axis=0))
    with pytest.raises(InvalidParameter, match="form='general'"):
        FrankWolfeSolver(form="polytope").plan(replace(asked, constraint=L1Ball(1.0)), prices(data, asked), PRIVATE)


@pytest.mark.parametrize("body", [L1Ball(0.5), L2Ball(0.3)], ids=str)
def test_the_papers_noise_is_reproduced_and_its_real_cost_is_stated(body: ConvexSet) -> None:
    """Tests: 000, Algorithm 2; 002, Algorithm 5; 002, Theorem B.1."""
    n, epsilon, delta = 20_000, 1.0, 1e-6
    data = table(400, 4)
    asked = problem(data, constraint=body, records=n)
    plan = SOLVER.plan(asked, prices(data, asked), Allowance(Budget(epsilon, delta), None, Calibration.PAPER))
    points = plan.settings["steps"] + 1
    query = plan.queries[0]
    slope = 1.0 + (0.5 if isinstance(body, L1Ball) else 0.3)  # |φ'| ≤ max |⟨x, θ⟩| + 1
    assert query.clip == pytest.approx(slope)  # type: ignore[attr-defined]
    if isinstance(body, L1Ball):
        scale = slope * 0.5 * math.sqrt(8.0 * points * math.log(1.0 / delta)) / (n * epsilon)
        temperature = 2.0 * query.sensitivity / (n * query.epsilon)  # type: ignore[attr-defined]
        assert temperature == pytest.approx(scale, rel=1e-6)
        assert points == round((4.0 * 0.25 * n * epsilon / (slope * 0.5)) ** (2.0 / 3.0))
        assert "Gumbel" in plan.reason
        assert plan.event.profile(epsilon) < 1e-4
    else:
        sigma = math.sqrt(32.0 * points) * slope * math.log(points / delta) / (n * epsilon)
        assert query.sigma / n == pytest.approx(sigma, rel=1e-6)  # type: ignore[attr-defined]
        assert plan.event.profile(epsilon) < delta
    exact = SOLVER.plan(asked, prices(data, asked), Allowance(Budget(epsilon, delta)))
    assert exact.settings["slope_error"] < plan.settings["slope_error"]
    with pytest.raises(InvalidParameter, match="calibration='exact'"):
        SOLVER.plan(asked, prices(data, asked), Allowance(Budget.gdp(1.0), None, Calibration.PAPER))


def test_what_it_cannot_do_is_refused_with_the_remedy() -> None:
    data = table(400, 4)
    sold = prices(data, problem(data))

    def refused(asked: Problem, words: str, solver: FrankWolfeSolver = SOLVER) -> None:
        with pytest.raises(CapabilityError, match=words):
            solver.plan(asked, sold, PRIVATE)

    fine = problem(data, constraint=L1Ball(0.5))
    refused(problem(data), "constraint=L1Ball")
    refused(replace(fine, penalty=L1Penalty(0.1)), "in its place")
    refused(replace(fine, loss=Pinball(0.5)), "mirror_descent")
    refused(replace(fine, targets=2), "one target at a time")
    refused(replace(fine, constraint=L2Ball(1.0)), "list of finitely many vertices", FrankWolfeSolver(form="polytope"))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("form", "typo"),
        ("form", 1),
        ("steps", 0),
        ("steps", 2.5),
        ("steps", True),
        ("clip", 0.0),
        ("clip", math.nan),
        ("clip", "1"),
    ],
)
def test_an_option_that_is_none_is_refused_where_it_is_written(option: str, value: object) -> None:
    with pytest.raises(InvalidParameter, match=f"FrankWolfeSolver was asked with {option}={value!r}; pass"):
        FrankWolfeSolver(**{option: value})  # type: ignore[arg-type]


def test_options_of_numpy_become_plain_numbers() -> None:
    kept = FrankWolfeSolver(clip=np.float64(0.5), steps=np.int64(7))  # type: ignore[arg-type]
    assert (type(kept.clip), type(kept.steps)) == (float, int)
    assert kept == FrankWolfeSolver(clip=0.5, steps=7)
