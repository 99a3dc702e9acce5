"""Greedy solvers: exactness without noise, what is found with it, what is charged, and what is refused."""

import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import OrthogonalMatchingPursuit

import hullabaloo as hb
from hullabaloo.curator import Curator
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.errors import CalibrationError, CapabilityError, InvalidParameter
from hullabaloo.geometry import (
    Box,
    ElasticNetPenalty,
    GroupBall,
    GroupPenalty,
    L1Ball,
    L1Penalty,
    L2Ball,
    Simplex,
    SquaredL2Penalty,
)
from hullabaloo.losses import Huber, Logistic, Loss, MultinomialLogistic, Poisson, SmoothedHinge, Squared
from hullabaloo.noise import TestKey
from hullabaloo.planning.named import solver_from_dict
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.solvers import (
    GreedyCoordinateDescentSolver,
    GreedySelectionSolver,
    Plan,
    Problem,
    Solution,
    Solver,
)
from hullabaloo.solvers.coordinate.greedy_selection import cut_down
from hullabaloo.solvers.gradient.histogram import evened

RELATIONS = list(Neighbours)
FREE = Allowance(Budget(math.inf))
SELECT, DESCEND = GreedySelectionSolver(), GreedyCoordinateDescentSolver()
SUPPORT = (3, 11, 24)


def facts(p: int, intercept: bool = False) -> RowFacts:
    names = (*(f"x{j}" for j in range(p)), *(["1"] * intercept))
    return RowFacts(names, intercept, float(p + intercept), math.sqrt(p + intercept), 1.0, ("y",))


def table(n: int = 4000, p: int = 40, *, intercept: bool = False, classes: bool = False, seed: int = 0) -> Rows:
    """Columns evenly spread, neighbours correlated, three of them in the target."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, p))
    X[:, 1:] = 0.7 * X[:, 1:] + 0.3 * X[:, :-1]
    y = 0.1 * rng.normal(size=n) + 0.2 * intercept
    for j, coefficient in zip(SUPPORT, (0.7, -0.6, 0.5), strict=True):
        y += coefficient * X[:, j] if j < p else 0.0
    y = np.where(y > 0.1, 1.0, -1.0) if classes else np.clip(y, -1.0, 1.0)
    X = np.column_stack([X, np.ones(n)]) if intercept else X
    return Rows(np.ascontiguousarray(X), y[:, None])


def problem(rows: Rows, *, intercept: bool = False, loss: Loss | None = None, **options: Any) -> Problem:
    about = facts(rows.X.shape[1] - intercept, intercept)
    norms = (about.norm_l1, about.norm_l2, about.norm_linf)
    relation = options.pop("neighbours", Neighbours.REPLACE_ONE)
    return Problem(loss or Squared(), about.width, intercept, *norms, 1, rows.Y.shape[0], relation, **options)


def prices(asked: Problem) -> PricedQueries:
    about = facts(asked.dimension - asked.intercept, asked.intercept)
    return PricedQueries(about, asked.neighbours, asked.records)


def solve(solver: Solver, rows: Rows, asked: Problem, allowance: Allowance, seed: int = 0) -> tuple[Solution, Plan]:
    plan = solver.plan(asked, prices(asked), allowance)
    key = TestKey(bytes(32)).derive(seed)
    return solver.run(asked, plan, Curator(rows, plan.queries, key=key)), plan  # type: ignore[arg-type]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_without_noise_selection_is_orthogonal_matching_pursuit(intercept: bool, sparse: bool) -> None:
    rows = _short(intercept)
    seen = replace(rows, X=sp.csr_array(rows.X)) if sparse else rows
    solver = GreedySelectionSolver(selected=4)
    solution, _ = solve(solver, seen, problem(rows, intercept=intercept), FREE)
    X, y = rows.X, rows.Y[:, 0]
    picked: list[int] = []
    kept = [X.shape[1] - 1] if intercept else []
    theta = np.zeros(X.shape[1])
    theta[kept] = np.linalg.lstsq(X[:, kept], y, rcond=None)[0]
    for _ in range(4):
        scores = np.abs(X.T @ (y - X @ theta))
        scores[picked + kept] = -1.0
        picked.append(int(np.argmax(scores)))
        theta = np.zeros(X.shape[1])
        theta[picked + kept] = np.linalg.lstsq(X[:, picked + kept], y, rcond=None)[0]
    assert solution.trace[0]["selected"] == picked
    assert solution.theta[:, 0] == pytest.approx(theta, abs=1e-6)
    assert np.array_equal(np.flatnonzero(solution.theta[:, 0]), sorted(picked + kept))
    if not intercept:
        theirs = OrthogonalMatchingPursuit(n_nonzero_coefs=4, fit_intercept=False).fit(X / np.linalg.norm(X, axis=0), y)
        assert set(np.flatnonzero(theirs.coef_)) & set(picked)


def _short(intercept: bool) -> Rows:
    rng = np.random.default_rng(7)
    X = rng.uniform(-1.0, 1.0, (500, 12)) @ (np.eye(12) + 0.4 * np.eye(12, k=1)) / 1.4
    y = np.clip(X @ rng.normal(0.0, 0.3, 12) + 0.1 * rng.normal(size=500) + 0.2 * intercept, -1.0, 1.0)
    X = np.column_stack([X, np.ones(500)]) if intercept else X
    return Rows(np.ascontiguousarray(X), y[:, None])


@pytest.mark.few(2)
@pytest.mark.parametrize("loss", [Logistic(), Huber(0.3), SmoothedHinge(0.5), Poisson()], ids=lambda loss: loss.name)
def test_without_noise_the_refit_is_stationary_on_its_support(loss: Loss) -> None:
    rows = table(800, 10, intercept=True, classes=loss.name in ("logistic", "smoothed_hinge"), seed=2)
    if loss.name == "poisson":
        rows = replace(rows, Y=np.abs(rows.Y))
    solution, _ = solve(GreedySelectionSolver(selected=3), rows, problem(rows, intercept=True, loss=loss), FREE)
    theta = solution.theta[:, 0]
    slope = rows.X.T @ loss.derivative(rows.X @ theta, rows.Y[:, 0]) / 800
    kept = [*solution.trace[0]["selected"], 10]
    assert np.abs(slope[kept]).max() < 1e-6
    assert np.count_nonzero(theta) == 4


@pytest.mark.slow
def test_without_noise_greedy_descent_reaches_the_optimum_of_a_penalty() -> None:
    """By what a step would change: the derivative alone is of one size on the whole support of an l1 model."""
    rows = _short(True)
    asked = problem(rows, intercept=True, penalty=L1Penalty(0.01))
    solution, _ = solve(DESCEND, rows, asked, FREE)
    X, y = rows.X, rows.Y[:, 0]

    def value(theta: np.ndarray) -> float:
        return float(0.5 * np.mean((X @ theta - y) ** 2) + 0.01 * np.abs(theta[:-1]).sum())

    theta, size = np.zeros(13), np.linalg.norm(X, 2) ** 2 / 500
    for _ in range(20_000):
        theta = theta - X.T @ (X @ theta - y) / (500 * size)
        theta[:-1] = np.sign(theta[:-1]) * np.maximum(np.abs(theta[:-1]) - 0.01 / size, 0.0)
    assert value(solution.theta[:, 0]) - value(theta) < 1e-7


@pytest.mark.few(1)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("solver", [SELECT, DESCEND], ids=lambda solver: solver.name)
def test_the_support_of_an_easy_table_is_found(solver: Solver, classes: bool, intercept: bool) -> None:
    """At ε = 8 the right scores are more than 25 temperatures above every other: a miss has a probability below 1e-9."""
    rows = table(intercept=intercept, classes=classes)
    loss = Logistic() if classes else Squared()
    solution, plan = solve(solver, rows, problem(rows, intercept=intercept, loss=loss), Allowance(Budget(8.0, 1e-6)))
    picked = solution.trace[0]["selected"]
    assert len(picked) == plan.settings["picks"]
    assert set(SUPPORT) <= set(picked)
    slopes = solution.theta[:40, 0]
    assert set(np.flatnonzero(slopes)) <= set(picked)
    if isinstance(solver, GreedySelectionSolver):
        assert len(set(picked)) == len(picked)
        assert np.count_nonzero(slopes) == len(picked)
        assert set(np.argsort(-np.abs(slopes))[:3]) == set(SUPPORT)


@pytest.mark.slow
def test_greedy_selection_leaves_next_to_nothing_of_a_sparse_signal_among_many_columns() -> None:
    """n = 5000, p = 600, ε = 1, add-or-remove: six draws leave 0.02 or less; a quarter would be far beyond what noise does."""
    rng = np.random.default_rng(5)
    X = np.clip(rng.normal(0.0, 0.33, (5000, 600)), -1.0, 1.0)
    truth = np.zeros(600)
    truth[[10, 200, 500]] = [0.5, -0.5, 0.5]
    rows = Rows(X, np.clip(X @ truth + 0.1 * rng.normal(size=5000), -1.0, 1.0)[:, None])
    asked = problem(rows, neighbours=Neighbours.ADD_OR_REMOVE)
    solution, _ = solve(SELECT, rows, asked, Allowance(Budget(1.0, 1e-6)))
    error = solution.theta[:, 0] - truth
    assert error @ error < 0.25 * truth @ truth


BUDGETS: list[tuple[Budget, str | None]] = [
    (Budget(1.0, 1e-6), None),
    (Budget(0.1, 1e-8), None),
    (Budget(8.0, 1e-5), "basic"),
    (Budget(1.0, 1e-6), "gdp"),
    (Budget(1.0, 1e-6), "renyi"),
    (Budget.gdp(0.5), None),
    (Budget.zcdp(0.02), None),
]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("budget", "rule"), BUDGETS, ids=str)
@pytest.mark.parametrize("solver", [SELECT, DESCEND], ids=lambda solver: solver.name)
@pytest.mark.few(10)
def test_plans_fit_every_kind_of_budget_and_waste_nothing(
    solver: Solver, budget: Budget, rule: str | None, relation: Neighbours
) -> None:
    rows = table(2000, 30, intercept=True)
    asked = problem(rows, intercept=True, neighbours=relation)
    allowance = Allowance(budget, rule)
    plan = solver.plan(asked, prices(asked), allowance)
    assert allowance.takes(plan.event)
    assert not allowance.scaled(0.998).takes(plan.event)


def test_a_plan_depends_on_public_facts_alone() -> None:
    about = facts(40_000, True)
    norms = (about.norm_l1, about.norm_l2, about.norm_linf)
    asked = Problem(Logistic(), 40_001, True, *norms, 1, 10_000, Neighbours.REPLACE_ONE)
    allowance = Allowance(Budget(1.03, 1e-8))
    plan = SELECT.plan(asked, PricedQueries(about, asked.neighbours, 10_000), allowance)
    assert json.loads(json.dumps(plan.to_dict())) == plan.to_dict()
    again = SELECT.plan(asked, PricedQueries(about, asked.neighbours, 10_000), allowance)
    assert again.to_dict() == plan.to_dict()


def test_more_is_selected_where_more_can_be_told_apart() -> None:
    rows = table(400, 200)

    def picks(n: int, epsilon: float, relation: Neighbours = Neighbours.REPLACE_ONE) -> int:
        asked = replace(problem(rows, neighbours=relation), records=n)
        return int(SELECT.plan(asked, prices(asked), Allowance(Budget(epsilon, 1e-9))).settings["picks"])

    assert picks(500, 0.5) < picks(5_000, 0.5) < picks(20_000, 0.5) < picks(20_000, 1.0) <= picks(10**6, 1.0)
    assert picks(20_000, 0.5) < picks(20_000, 0.5, Neighbours.ADD_OR_REMOVE)
    assert picks(100, 0.1) == 2


@pytest.mark.parametrize("solver", [SELECT, DESCEND], ids=lambda solver: solver.name)
def test_questions_are_the_same_whatever_the_data(solver: Solver) -> None:
    """Every answer that is paid for is asked for, on a table without any signal, with one record, or of extremes."""
    full = table(300, 8, intercept=True)
    asked = replace(problem(full, intercept=True), neighbours=Neighbours.ADD_OR_REMOVE)
    plan = solver.plan(asked, prices(asked), Allowance(Budget(2.0, 1e-6)))
    for rows in (full, Rows(full.X[:1], full.Y[:1]), Rows(0.0 * full.X, 0.0 * full.Y), Rows(full.X, np.sign(full.Y))):
        curator = Curator(rows, plan.queries, key=TestKey(bytes(32)))  # type: ignore[arg-type]
        solution = solver.run(asked, plan, curator)
        assert np.all(np.isfinite(solution.theta))
        assert len(solution.trace[0]["selected"]) == plan.settings["picks"]
        counts = dict(curator._Curator__answered)  # type: ignore[attr-defined]
        paid: Counter[tuple[str, int]] = Counter()
        for query in plan.queries:
            paid[query.key_label, query.facts.width] += query.count  # type: ignore[attr-defined]
        assert counts == paid


@pytest.mark.slow
@pytest.mark.parametrize(
    "loss", [Squared(), Logistic(), Huber(0.3), SmoothedHinge(0.5), Poisson()], ids=lambda x: x.name
)
def test_every_loss_is_fitted(loss: Loss) -> None:
    classes = loss.name in ("logistic", "smoothed_hinge")
    rows = table(intercept=True, classes=classes)
    if loss.name == "poisson":
        rows = replace(rows, Y=0.2 + 0.6 * np.abs(rows.Y))
    asked = problem(rows, intercept=True, loss=loss)
    theta = solve(SELECT, rows, asked, Allowance(Budget(8.0, 1e-6)))[0].theta[:, 0]
    y = rows.Y[:, 0]
    grid = np.linspace(-4.0, 2.0, 601)
    constant = min(float(loss.value(np.full(len(y), level), y).mean()) for level in grid)
    fitted = float(loss.value(rows.X @ theta, y).mean())
    assert fitted < constant + (0.02 if loss.name == "poisson" else -0.02)


def test_the_typical_length_of_mostly_empty_rows_is_the_root_mean_square() -> None:
    edges = np.array([0.1, 0.2, 0.4, 0.8])
    uneven, even = np.array([0.8, 0.0, 0.0, 0.01, 0.19]), np.array([0.02, 0.1, 0.76, 0.1, 0.02])
    assert np.array_equal(
        evened(uneven, edges), [0.0, 0.0, 1.0, 0.0, 0.0]
    )  # √(0.8·0.05² + 0.2·0.8²) is between 0.2 and 0.4
    assert np.array_equal(evened(even, edges), even)


@pytest.mark.slow
def test_rare_indicators_in_sparse_rows_are_fitted() -> None:
    rng = np.random.default_rng(11)
    X = (rng.random((6000, 60)) < 0.04).astype(np.float64)
    y = np.where(
        rng.random(6000) < 1.0 / (1.0 + np.exp(-X @ np.append(np.full(5, 4.0), np.zeros(55)) + 1.0)), 1.0, -1.0
    )
    rows = Rows(sp.csr_array(np.column_stack([X, np.ones(6000)])), y[:, None])
    asked = problem(rows, intercept=True, loss=Logistic())
    solver = GreedySelectionSolver(selected=6)
    theta = solve(solver, rows, asked, Allowance(Budget(8.0, 1e-6)))[0].theta[:, 0]
    share = 0.5 * (1.0 + y.mean())
    constant = -share * math.log(share) - (1.0 - share) * math.log(1.0 - share)
    best = float(np.logaddexp(0.0, -y * (X @ np.append(np.full(5, 4.0), np.zeros(55)) - 1.0)).mean())
    fitted = float(np.logaddexp(0.0, -y * (rows.X @ theta)).mean())
    assert fitted < constant - 0.6 * (constant - best)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("options", "inside"),
    [
        ({"constraint": L1Ball(0.4)}, lambda slopes: np.abs(slopes).sum() <= 0.4 + 1e-9),
        ({"constraint": L2Ball(0.2)}, lambda slopes: np.linalg.norm(slopes) <= 0.2 + 1e-9),
        ({"constraint": Box(-0.1, 0.3)}, lambda slopes: slopes.min() >= -0.1 - 1e-12 and slopes.max() <= 0.3 + 1e-12),
        (
            {"constraint": Box(tuple([-0.1] * 20 + [0.0] * 20), 0.3)},
            lambda slopes: slopes[:20].min() >= -0.1 - 1e-12 and slopes[20:].min() >= 0.0,
        ),
        ({"constraint": Simplex(0.5)}, lambda slopes: abs(slopes.sum() - 0.5) < 1e-9 and slopes.min() >= 0.0),
        ({"penalty": L1Penalty(0.3)}, lambda slopes: np.count_nonzero(slopes) == 0),
        ({"penalty": SquaredL2Penalty(2.0)}, lambda slopes: 0.0 < np.abs(slopes).max() < 0.3),
        ({"penalty": ElasticNetPenalty(1.0, 0.3)}, lambda slopes: np.count_nonzero(slopes) == 0),
    ],
)
def test_sets_and_penalties_hold(options: dict[str, Any], inside: Callable[[np.ndarray], bool]) -> None:
    rows = table(intercept=True)
    asked = problem(rows, intercept=True, **options)
    slopes = solve(SELECT, rows, asked, Allowance(Budget(8.0, 1e-6)))[0].theta[:40, 0]
    assert inside(slopes)


def test_a_set_is_cut_down_to_its_points_that_are_zero_elsewhere() -> None:
    box = Box((-1.0, -2.0, 0.0), (1.0, 3.0, 4.0))
    assert cut_down(box, np.array([2, 0])) == Box((0.0, -1.0), (4.0, 1.0))
    assert cut_down(box, None) == Box(-2.0, 4.0)
    assert cut_down(L1Ball(2.0), np.array([1])) == L1Ball(2.0)
    for refused in (Box(0.5, 1.0), GroupBall(((0, 1), (2,)), 1.0)):
        with pytest.raises(CapabilityError, match="Few coordinates"):
            cut_down(refused, np.array([1]))


def test_what_cannot_be_done_is_refused_with_a_remedy() -> None:
    rows = table(300, 6, intercept=True)
    asked = problem(rows, intercept=True)
    private = Allowance(Budget(1.0, 1e-6))
    for solver in (SELECT, DESCEND):
        with pytest.raises(CapabilityError, match="one target"):
            solver.plan(replace(asked, targets=2), prices(asked), private)
        with pytest.raises(CapabilityError, match="one target"):
            solver.plan(replace(asked, loss=MultinomialLogistic(), targets=3), prices(asked), private)  # type: ignore[arg-type]
        with pytest.raises(CalibrationError, match="delta"):
            solver.plan(asked, prices(asked), Allowance(Budget(1.0, 0.0)))
    with pytest.raises(CapabilityError, match="not both"):
        SELECT.plan(replace(asked, constraint=L1Ball(1.0), penalty=L1Penalty(0.1)), prices(asked), private)
    with pytest.raises(CapabilityError, match="does not know"):
        SELECT.plan(replace(asked, penalty=GroupPenalty(((0, 1), (2, 3, 4, 5)), 0.1)), prices(asked), private)
    with pytest.raises(CapabilityError, match="depend on the others"):
        DESCEND.plan(replace(asked, constraint=L1Ball(1.0)), prices(asked), private)
    only = replace(asked, dimension=1)
    with pytest.raises(CapabilityError, match="nothing to choose"):
        SELECT.plan(only, PricedQueries(facts(0, True), asked.neighbours, 300), private)
    for wrong in (0, -1, True, 2.5, "5", [1, 2]):
        with pytest.raises(InvalidParameter, match="whole number"):
            GreedySelectionSolver(selected=wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="whole number"):
            GreedyCoordinateDescentSolver(steps=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("solver", [GreedySelectionSolver(selected=3), GreedyCoordinateDescentSolver(steps=5)])
def test_options_are_plain_values_and_kept(solver: Solver) -> None:
    options = asdict(solver)  # type: ignore[call-overload]
    assert type(solver)(**json.loads(json.dumps(options))) == solver
    rows = table(300, 6)
    asked = problem(rows)
    solution, plan = solve(solver, rows, asked, Allowance(Budget(3.0, 1e-6)))
    assert plan.settings["picks"] == len(solution.trace[0]["selected"]) == (options.get("selected") or options["steps"])
    assert np.isfinite(solution.theta).all()


def test_a_solver_that_was_written_with_the_one_way_that_is_left_is_read() -> None:
    """Models of before hold `curvatures`; the other way, which released all of them at once, is refused with a sentence."""
    written = {"name": "greedy_coordinate_descent", "steps": 5, "curvatures": "chosen"}
    assert solver_from_dict(written) == GreedyCoordinateDescentSolver(steps=5)
    with pytest.raises(InvalidParameter, match="not those that it has in this version"):
        solver_from_dict({**written, "curvatures": "all"})


def test_predictions_fall_with_the_budget_and_stay_below_what_is_to_be_explained() -> None:
    rows = table(300, 500, intercept=True)
    for solver in (SELECT, DESCEND):
        risks = []
        for epsilon in (0.3, 1.0, 3.0):
            asked = replace(problem(rows, intercept=True), records=20_000)
            plan = solver.plan(asked, prices(asked), Allowance(Budget(epsilon, 1e-9)))
            risks.append(solver.predicted_risk(asked, plan))
        assert risks[0] > risks[1] > risks[2] > 0.0
        assert risks[2] < 0.0125


@pytest.mark.slow
def test_price_and_summary_say_that_columns_are_chosen() -> None:
    names = [f"x{j}" for j in range(4)]
    domain = hb.Domain(features=dict.fromkeys(names, (-1, 1)), target=(-2, 2), indicators=False)
    X = np.linspace(-1.0, 1.0, 4_000).reshape(-1, 4)
    for solver, says in (("greedy_selection", True), ("coordinate_descent", False)):
        model = hb.LinearRegression(domain=domain, budget=hb.Budget(1.0, 1e-8), solver=solver, test_key=bytes(32))
        assert ("which columns are chosen is not known" in str(model.price(n=1_000))) is says
        assert ("says little about its column" in model.fit(X, X[:, 0]).summary().note) is says
