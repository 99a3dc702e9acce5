"""The automatic choice: public facts alone, moments where they cost little."""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.errors import CalibrationError, InvalidParameter
from hullabaloo.geometry import ConvexSet, HasVertices, L1Ball, SquaredL2Penalty
from hullabaloo.noise import TestKey
from hullabaloo.planning.choose import LONG, best_of, choose, forecasts, passed_over
from hullabaloo.planning.context import PlanContext
from hullabaloo.planning.favours import ADAPTIVE, QUIET, noise, weights
from hullabaloo.planning.forecasts import Forecast, Rehearsed
from hullabaloo.planning.named import solver_named
from hullabaloo.planning.synthetic import SyntheticTable
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.release.planned import plan_context, prepare
from hullabaloo.release.planner import planned_task
from hullabaloo.release.rehearsal import rehearsal
from hullabaloo.solvers import Plan, Problem, Solution, Solver, WithInference
from tests.solvers.tables import prices, problem, table


def chosen(n: int, mu: float, *, p: int = 8, targets: int = 1, name: str = "auto") -> tuple[str, str]:
    data = table(20, p, targets=targets)
    asked = problem(data, Neighbours.ADD_OR_REMOVE, records=n)
    solver, plan = choose(PlanContext(asked, prices(data, asked), Allowance.gdp(mu), rehearsal), name)
    assert solver.name == plan.solver
    return plan.solver, plan.reason


def test_the_solver_follows_the_budget() -> None:
    assert chosen(5_000, 0.1)[0] != "moments"
    assert chosen(300, math.inf)[0] == "moments"
    assert chosen(300, math.inf, targets=2)[0] == "moments"


def test_a_choice_is_a_function_of_public_facts_and_its_reason_is_said() -> None:
    found = chosen(300, 0.1)
    assert found == chosen(300, 0.1)
    assert "synthetic tables" in found[1]
    assert "one after the other" in chosen(5_000, 0.1, targets=2)[1]


def test_without_rehearsal_the_formulas_decide() -> None:
    data = table(20, 8)
    asked = problem(data, Neighbours.ADD_OR_REMOVE, records=5_000)
    solver, plan = choose(PlanContext(asked, prices(data, asked), Allowance.gdp(0.1)), "auto")
    assert "formulas" in plan.reason
    assert solver.name == plan.solver


def test_a_named_solver_is_taken_at_its_word() -> None:
    assert chosen(300, 0.0275, name="moments")[0] == "moments"
    assert chosen(100_000, 0.2367, name="gradient")[0] == "gradient"
    assert chosen(300, 0.1, targets=2, name="gradient")[0] == "gradient"
    with pytest.raises(InvalidParameter, match="'auto', 'moments', 'gradient'"):
        chosen(300, 0.1, name="newton")


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("records", [10**9, 10**11])
def test_a_solver_whose_noise_no_lattice_resolves_does_not_stop_the_choice(
    neighbours: Neighbours, records: int
) -> None:
    """Of so many records sums are up to 2^40 times as large as the noise of some answers; others can still be bought."""
    data = table(20, 4, intercept=True)
    asked = problem(data, neighbours, records=records)
    allowance = Allowance.gdp(1.0)
    able = forecasts(PlanContext(asked, prices(data, asked), allowance))
    assert any(isinstance(one.refusal, CalibrationError) for one in able)
    solver, plan = choose(PlanContext(asked, prices(data, asked), allowance), "auto")
    assert solver.name == plan.solver
    assert allowance.takes(plan.event)


@pytest.mark.parametrize("penalty", [None, SquaredL2Penalty(0.1)])
@pytest.mark.parametrize("records", [30, 10**6])
def test_a_stiff_ridge_is_left_out_where_noise_is_low_and_nothing_else_shrinks(penalty: Any, records: int) -> None:
    """Of the squared loss in four columns λ/σ is above a half at every budget."""
    data = table(20, 4, intercept=True)
    asked = problem(data, records=records, penalty=penalty)
    able = forecasts(PlanContext(asked, prices(data, asked), Allowance(Budget(1.0, 1e-12))))
    (ridged,) = [one for one in able if one.name == "objective_perturbation"]
    low = noise(asked, prices(data, asked), Allowance(Budget(1.0, 1e-12))) <= QUIET
    assert low == (records > 30)
    assert (ridged.plan is None) == (low and penalty is None)
    assert "by name" in str(ridged.refusal) or ridged.plan is not None


@pytest.mark.parametrize("name", ["coordinate_descent", "greedy_selection"])
def test_a_solver_by_name_gives_way_where_its_noise_alone_loses_all_there_is(name: str) -> None:
    """By public facts: not its class, not where the budget suffices, and not without an intercept."""
    data = table(20, 8, intercept=True)

    def plan(n: int, asked: str | Solver = name, **about: Any) -> Plan:
        posed = problem(data, records=n)
        context = PlanContext(posed, prices(data, posed), Allowance.gdp(0.03), rehearsal)
        return choose(context, asked, **about)[1]

    drowned = plan(100)
    assert (drowned.solver, drowned.queries) == ("constant", plan(100, "constant").queries)
    assert f"the noise of {name!r} alone would lose more than any model could gain" in drowned.reason
    for one in (plan(100, solver_named(name)), plan(100, floor=False), plan(10_000)):
        assert one.solver == name
    domain = hb.Domain(features=dict.fromkeys("abcd", (-1, 1)), target=(-1, 1), indicators=False)
    X, y = np.tile([0.5, -0.5], (60, 2)), np.full(60, 0.3)
    about: dict[str, Any] = {"domain": domain, "budget": hb.Budget(0.1, 1e-5), "test_key": TestKey(bytes(32))}
    model = hb.LinearRegression(solver=name, **about).fit(X, y)
    assert model.release_.plan["solver"] == "constant"
    assert not model.coef_.any()
    whole = hb.LinearRegression(solver=name, fit_intercept=False, **about).fit(X, y)
    assert whole.release_.plan["solver"] == name


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_over_an_l1_ball_of_more_columns_than_records_auto_takes_the_constant(
    neighbours: Neighbours, weighted: bool
) -> None:
    """Also where weights are declared, or records without a target count for nothing."""
    data = table(20, 640, intercept=True)
    facts = replace(data.facts, norm_l1=641.0, norm_l2=math.sqrt(641.0), weighted=weighted)
    asked = problem(data, neighbours, constraint=L1Ball(5.0), records=300)
    posed = replace(asked, norm_l1=641.0, norm_l2=facts.norm_l2, weighted=weighted)
    allowance = Allowance(hb.Budget(0.1, 1.0 / 300**2))
    _, plan = choose(PlanContext(posed, PricedQueries(facts, neighbours, 300), allowance, rehearsal), "auto")
    assert plan.solver == "constant"


@pytest.mark.slow
def test_beside_inference_the_whole_run_decides() -> None:
    """At the whole budget; nothing that selects columns, which the step after it moves; of what is taken the plan uses the budget up."""
    data = table(20, 4, intercept=True)
    posed, allowance, perform = problem(data, records=50_000), Allowance.gdp(0.3), rehearsal
    asked, tried = WithInference("auto"), set()

    def spy(problem: Problem, solver: Solver, plan: Plan, rows: SyntheticTable, draw: int) -> Solution:
        if draw:  # not the optimum
            tried.add(solver)
            assert plan.event.gdp_mu() == pytest.approx(0.3, rel=0.1)
        return perform(problem, solver, plan, rows, draw)

    solver, plan = choose(PlanContext(posed, prices(data, posed), allowance, spy), asked)
    assert isinstance(solver, WithInference)
    assert all(isinstance(one, WithInference) != (one.name == "moments") for one in tried)
    assert {getattr(one, "solver", one).name for one in tried} >= {"preconditioned_gradient", "moments"}
    assert all(getattr(one, "solver", one).name != "greedy_selection" for one in tried)
    assert plan == replace(solver.plan(posed, prices(data, posed), allowance), reason=plan.reason)
    assert "expected to keep" in plan.reason


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    "declared", [{"row_norm": 1.0}, {"features": dict.fromkeys("abcd", (-1, 1))}], ids=["rows", "columns"]
)
def test_loud_noise_takes_the_favour_from_rows_of_which_a_norm_alone_is_declared(
    declared: Any, intercept: bool
) -> None:
    domain = hb.Domain(**declared, target=(-1, 1), indicators=False)
    for n in (500, 50_000):
        about: dict[str, Any] = dict.fromkeys(("p", "loss", "set", "penalty"), None) | {"fit_intercept": intercept}
        about |= {"domain": domain, "budget": hb.Budget(0.1, 1e-6), "neighbours": "replace-one"}
        about |= {"p": 4} if "row_norm" in declared else {}
        task, encoding = planned_task("a test", n, **about)
        posed = plan_context(task, encoding, n)
        found = weights(*posed.facts)
        assert (found["adaptive_gradient"] < 1.0) is (n == 500 and "row_norm" in declared and not intercept)


@pytest.mark.parametrize(("more", "taken"), [(0.005, "gradient"), (0.02, "output_perturbation")])
def test_of_equally_good_solvers_the_one_of_the_simpler_tier_is_taken(more: float, taken: str) -> None:
    data = table(400, 3)
    asked = problem(data)
    found = []
    for name, predicted in (("output_perturbation", 1.0), ("gradient", 1.0 + more)):
        solver = solver_named(name)
        found.append(Forecast(solver, solver.plan(asked, prices(data, asked), Allowance.gdp(0.3)), predicted=predicted))
    assert [one.tier for one in found] == [2, 1]
    best = best_of(found, {})
    assert best.solver.name == taken
    assert ("within 1%" in passed_over(best, found, {})) is (taken == "gradient"), (
        "the first line is not taken, and it is said why"
    )


@pytest.mark.parametrize("mu", [0.1, 0.3, 1.0])
def test_within_a_point_whitened_steps_take_the_place_of_more_adaptive_ones(mu: float) -> None:
    """Whatever both lose, by whatever favour: where the whitened plan is of fewer passes, and nowhere else; and it is said."""
    asked, rng = problem(data := table(400, 3)), np.random.default_rng(3)
    plans = {name: solver_named(name).plan(asked, prices(data, asked), Allowance.gdp(mu)) for name in ADAPTIVE}
    fewer, swapped = (
        sum(q.count for q in plans[ADAPTIVE[1]].queries) < sum(q.count for q in plans[ADAPTIVE[0]].queries),
        0,
    )
    for _ in range(200):
        lost, favour = rng.uniform(0.0, 0.05, 2), dict(zip(ADAPTIVE, rng.choice([1.0, 2.0, 3.0], 2), strict=True))
        found = [
            Forecast(solver_named(name), plans[name], rehearsed=(one,), silent=one)
            for name, share in zip(ADAPTIVE, lost, strict=True)
            for one in [Rehearsed("made up", share, share, share, 1.0)]
        ]
        adaptive, whitened = (one.expected / favour[one.name] for one in found)
        best = best_of(found, favour)
        assert (best.name == ADAPTIVE[1]) == (whitened < adaptive or (fewer and whitened <= adaptive + 0.01))
        swap = best.name == ADAPTIVE[1] and whitened > adaptive and best.expected > found[0].expected
        assert ("within a point" in passed_over(best, found, favour)) == swap
        swapped += swap
    assert (swapped > 10) == fewer == (mu > 0.2)


def test_a_solver_that_is_favoured_over_the_first_line_is_said_to_be() -> None:
    asked = problem(data := table(400, 3))
    spent = prices(data, asked), Allowance.gdp(0.3)
    found = [
        Forecast(solver_named(name), solver_named(name).plan(asked, *spent), predicted=predicted)
        for name, predicted in (("gradient", 1.0), ("adaptive_gradient", 1.5))
    ]
    weights = {"adaptive_gradient": 2.0}
    best = best_of(found, weights)
    assert "By its line gradient does better, but adaptive_gradient is counted as 2 times better" in passed_over(
        best, found, weights
    )
    assert passed_over(best_of(found, {}), found, {}) == ""


@pytest.mark.few(1)
@pytest.mark.parametrize("constraint", [L1Ball(1.0), hb.L2Ball(1.0), hb.Simplex(1.0)], ids=repr)
def test_many_steps_are_tried_out_by_name_alone(constraint: ConvexSet) -> None:
    """Where whitened steps are offered: few steps compete, at whatever budget many do not."""
    data = table(20, 5)
    for mu in (0.03, 0.1, 0.3, 1.0, 3.0, 10.0):
        asked = problem(data, records=50_000, constraint=constraint)
        context = PlanContext(asked, prices(data, asked), Allowance.gdp(mu))
        found = {one.name: one for one in forecasts(context)}
        assert found["preconditioned_gradient"].plan
        for name in ("mirror_descent", "frank_wolfe"):
            steps = choose(context, name)[1].settings["steps"]
            assert (found[name].plan is None) == (steps >= LONG)


@pytest.mark.slow
def test_over_a_set_of_ones_own_that_lists_vertices_frank_wolfe_is_taken() -> None:
    """Such a set has no projection; plans are rehearsed, and without noise Frank–Wolfe comes near the optimum."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2_000, 3))
    y = np.clip(0.5 * X[:, 0] + 0.1 * rng.normal(size=2_000), -1, 1)
    domain = hb.Domain(features=dict.fromkeys("abc", (-1, 1)), target=(-1, 1), indicators=False)
    found = hb.plan(n=2_000, domain=domain, set=Corners(), budget=hb.Budget(5.0, 1e-6))
    assert found.chosen == "frank_wolfe"
    assert found.constant  # rehearsed
    for budget in (hb.Budget(5.0, 1e-6), hb.Budget(math.inf)):
        model = hb.LinearRegression(
            domain=domain, constraint=Corners(), budget=budget, inference=False, test_key=TestKey(bytes(32))
        ).fit(X, y)
        assert model.release_.plan["solver"] == "frank_wolfe"
        assert model.coef_ == pytest.approx([0.5, 0.0, 0.0], abs=0.2 if budget.is_private else 0.01)


@dataclass(frozen=True)
class Corners(ConvexSet, HasVertices):
    """The l1 ball by its list of vertices alone."""

    ball: ClassVar[L1Ball] = L1Ball(1.0)
    dimension = None

    def support(self, g: Any) -> float:
        return self.ball.support(g)

    def vertex(self, g: Any) -> Any:
        return self.ball.vertex(g)

    def contains(self, theta: Any, tolerance: float = 1e-9) -> bool:
        return self.ball.contains(theta, tolerance)

    def max_norm(self, q: float, p: int) -> float:
        return self.ball.max_norm(q, p)

    def gaussian_width(self, p: int) -> Any:
        return self.ball.gaussian_width(p)

    def start(self, p: int) -> Any:
        return np.zeros(p)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "corners"}

    def vertex_count(self, p: int) -> int:
        return 2 * p

    def vertex_at(self, index: int, p: int) -> Any:
        return self.ball.vertex_at(index, p)

    def vertex_scores(self, g: Any) -> Any:
        return self.ball.vertex_scores(g)


@pytest.mark.slow
@pytest.mark.parametrize(("records", "epsilon"), [(18_159, 1.0), (2_000, 0.5), (100_000, 1.0)])
def test_what_a_plan_says_of_auto_is_of_a_fit_without_errors(records: int, epsilon: float) -> None:
    domain = hb.Domain(features=dict.fromkeys("abc", (-1, 1)), target=(-1, 1), indicators=False)
    terms = {"domain": domain, "budget": hb.Budget(epsilon, 1e-9)}
    found = hb.plan(n=records, **terms)
    fit = hb.LinearRegression(inference=False, **terms)
    encoding = fit._encoding(None, None)
    assert prepare(fit._task(encoding), encoding, records).plan.solver == found.chosen
    assert "of a fit without errors" in str(found)
