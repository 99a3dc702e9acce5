"""A solver by name that the private constant holds up: within its budget, hardly ever worse than the constant, and a model that is better is kept.

Keys are fixed, and so is every number here: no test fails by chance.
"""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.curator import Curator
from hullabaloo.data.source import Rows
from hullabaloo.geometry import Box, ConvexSet, L1Ball, L2Ball, Simplex
from hullabaloo.losses import Squared
from hullabaloo.model_selection.candidates import contend
from hullabaloo.noise import TestKey
from hullabaloo.planning.choose import LABORIOUS, SPARSE, choose, floored, forecasts
from hullabaloo.planning.context import PlanContext
from hullabaloo.planning.favours import QUIET, noise
from hullabaloo.planning.named import SOLVERS
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.privacy.schedule import Schedule
from hullabaloo.queries import PricedQueries
from hullabaloo.release.planned import prepare
from hullabaloo.release.rehearsal import rehearsal
from hullabaloo.solvers import MomentsSolver, Plan, Problem, Solution, Solver
from hullabaloo.solvers.floored import AMPLE, HARDY, HOPELESS, FlooredSolver, pulled
from hullabaloo.streaming.refits import planned
from tests.sampling import sampled
from tests.solvers.tables import Table, prices, problem, table

DRAWS = 7
MIXED = ("frank_wolfe", "objective_perturbation", "greedy_coordinate_descent")
"""What takes other noise than Gaussian: its cost and the look's do not add up as squares."""
NAMES = (
    "gradient",
    "mirror_descent",
    "output_perturbation",
    "coordinate_descent",
    "adaptive_gradient",
    "preconditioned_gradient",
    "subspace_descent",
    *MIXED,
)
PLAIN = (
    "gradient",
    "mirror_descent",
    "output_perturbation",
    "coordinate_descent",
    "frank_wolfe",
    "objective_perturbation",
)
"""What neither measures nor looks for evidence."""
IN_SETS = ("mirror_descent", "frank_wolfe")
BALL = L1Ball(2.0)


def targets(data: Table, spread: float, signal: float, seed: int = 1) -> Table:
    """The same rows, with targets that vary by `spread` around 0.4, `signal` of it along the first columns."""
    rng = np.random.default_rng(seed)
    part = data.X[:, 0] - data.X[:, 1]
    y = signal * (part - part.mean()) / part.std() + (1.0 - signal**2) ** 0.5 * rng.normal(size=data.records)
    return Table(data.X, np.clip(0.4 + spread * y[:, None], -1.0, 1.0), data.facts)


def taken(data: Table, asked: str | Solver, allowance: Allowance, constraint: ConvexSet | None = None) -> Any:
    posed = problem(data, constraint=constraint)
    return posed, *choose(PlanContext(posed, prices(data, posed), allowance, rehearsal, held=True), asked)


def runs(data: Table, posed: Any, solver: Solver, plan: Plan) -> list[Solution]:
    rows = Rows(data.X, data.Y)
    return [
        solver.run(posed, plan, Curator(rows, plan.queries, key=TestKey(bytes(32)).derive(f"floor {draw}")))
        for draw in range(DRAWS)
    ]


def lost(data: Table, found: list[Solution]) -> float:
    """The median of mean squared errors."""
    return float(np.median([np.mean((data.Y - data.X @ one.theta) ** 2) for one in found]))


@pytest.mark.few(5)
@sampled("name,neighbours", product(NAMES, Neighbours), kind=lambda case: case[0])
def test_a_plan_costs_the_budget(name: str, neighbours: Neighbours) -> None:
    """Within it, at budgets of three kinds and under filters; the two answers along the line come last."""
    data = table(4_000, 6, intercept=True)
    plain = [Budget(0.2, 1e-8), Budget.gdp(0.06), Budget.zcdp(0.002)]
    allowances = [Allowance(budget) for budget in (plain[:1] if name == "objective_perturbation" else plain)]
    allowances += [Allowance(plain[0], rule) for rule in ("basic", "renyi")]
    for allowance in allowances:
        posed = problem(data, neighbours, constraint=BALL if name in IN_SETS else None)
        for brief, count in ((False, 2), (True, 1)):
            plan = FlooredSolver(name, SOLVERS[name], 0.1, brief).plan(posed, prices(data, posed), allowance)
            assert allowance.takes(plan.event)
            looks = [(query.name, query.count) for query in plan.queries[-2:]]
            assert looks == [("norm_histogram", count), ("centred_gradient", count)]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", NAMES)
def test_where_a_target_hardly_varies_no_name_is_much_worse_than_the_constant(name: str) -> None:
    """By at most 0.07 of its loss, 0.06 as measured, where the solvers alone lose up to 6.4 times as much: targets of a spread of 0.1, without a signal, at ε = 0.1."""
    data = targets(table(5_000, 8, intercept=True), 0.1, 0.0)
    allowance = Allowance(Budget(0.1, 1.0 / data.records**2))
    posed, solver, plan = taken(data, name, allowance, BALL if name in IN_SETS else None)
    assert isinstance(solver, FlooredSolver)
    assert plan.solver == solver.name == name
    level = taken(data, "constant", allowance)
    assert lost(data, runs(data, posed, solver, plan)) <= 1.07 * lost(data, runs(data, *level))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("records", "name", "held_up", "by_itself"),
    [pytest.param(6_000, LABORIOUS, 1.13, 1.2, marks=pytest.mark.slow), (3_000, HARDY, 1.26, 1.4)],
)
def test_a_brief_look_tells_noise_from_models(records: int, name: str, held_up: float, by_itself: float) -> None:
    """Steps in 30 columns at ε = 0.1, whitened, and adaptive of few records: without a signal in a target of a spread of 0.06 they lose so many times what the constant does, held up and alone; with one they are kept. "auto" has it so."""
    data = table(records, 30, intercept=True)
    allowance, posed, alone = Allowance(Budget(0.1, 1.0 / data.records**2)), problem(data), SOLVERS[name]
    about = posed, prices(data, posed), allowance
    plain = alone.plan(*about)
    held, plan = floored(PlanContext(*about), alone, plain, brief=True)
    assert isinstance(held, FlooredSolver)
    assert held.brief
    empty, real = targets(data, 0.06, 0.0), targets(data, 0.3, 0.95)
    level = lost(empty, runs(empty, *taken(empty, "constant", allowance)))
    assert lost(empty, runs(empty, posed, held, plan)) <= held_up * level
    assert lost(empty, runs(empty, posed, alone, plain)) >= by_itself * level
    assert all(found.trace[-1]["held up"] == 1.0 for found in runs(real, posed, held, plan))


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_moments_of_wide_rows_lose_little_more_than_the_constant(neighbours: Neighbours) -> None:
    """The norm of a row is 5, which makes the mean in the moments five times as noisy as the constant: the same targets, at most 1.05 of the constant's loss, alone more than 1.08."""
    data = targets(table(6_000, 8, intercept=True), 0.1, 0.0)
    data = replace(data, facts=replace(data.facts, norm_l2=5.0))
    posed, allowance = problem(data, neighbours), Allowance(Budget(0.1, 1.0 / data.records**2))
    about = posed, prices(data, posed), allowance
    level = lost(data, runs(data, posed, *choose(PlanContext(*about), "constant")))
    alone = MomentsSolver(above_mean=True)
    held, plan = floored(PlanContext(*about), alone, alone.plan(*about))
    assert isinstance(held, FlooredSolver)
    assert lost(data, runs(data, posed, held, plan)) <= 1.05 * level
    assert lost(data, runs(data, posed, alone, alone.plan(*about))) > 1.08 * level


def test_what_is_held_up_would_fall() -> None:
    """The same table, the solver's class passed: it is taken at its word, and worse."""
    data = targets(table(5_000, 8, intercept=True), 0.1, 0.0)
    allowance = Allowance(Budget(0.1, 1.0 / data.records**2))
    for name in ("output_perturbation", "gradient"):
        posed, solver, plan = taken(data, SOLVERS[name], allowance)
        assert solver is SOLVERS[name]
        level = taken(data, "constant", allowance)
        assert lost(data, runs(data, posed, solver, plan)) > 1.05 * lost(data, runs(data, *level))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gradient", "mirror_descent", "coordinate_descent"])
def test_a_model_that_is_better_is_kept(name: str) -> None:
    """Targets that fill their range, 0.8 of their variance explained: at most 0.04 of it is lost beside the solver alone."""
    data = targets(table(8_000, 6, intercept=True), 0.2, 0.9)
    allowance = Allowance(Budget(0.1, 1.0 / data.records**2))
    constraint = BALL if name in IN_SETS else None
    posed, solver, plan = taken(data, name, allowance, constraint)
    assert isinstance(solver, FlooredSolver)
    found = runs(data, posed, solver, plan)
    bare = taken(data, SOLVERS[name], allowance, constraint)
    assert lost(data, found) <= lost(data, runs(data, *bare)) + 0.04 * float(data.Y.var())


def test_the_point_lies_in_the_set() -> None:
    """Between two members; and what is kept is between nothing and all."""
    data, ball = targets(table(5_000, 6, intercept=True), 0.2, 0.9), L1Ball(0.05)
    posed, solver, plan = taken(data, "mirror_descent", Allowance(Budget(0.2, 1e-8)), ball)
    assert isinstance(solver, FlooredSolver)
    for found in runs(data, posed, solver, plan):
        assert np.abs(found.theta[:-1]).sum() <= 0.05 * (1.0 + 1e-12)
        assert 0.0 <= found.trace[-1]["held up"] <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAIN)
def test_a_narrower_target_is_held_up_at_a_larger_budget(name: str) -> None:
    """Noise that a target which fills its range hardly feels drowns one that varies a fifth as much as above, at ten times the budget: a hundredth of it holds names up. At most 1.05 of the constant's loss, where they lose 1.5 to 40 times as much alone."""
    data = targets(table(5_000, 8, intercept=True), 0.02, 0.0)
    allowance, constraint = Allowance(Budget(1.0, 1.0 / data.records**2)), BALL if name in IN_SETS else None
    posed, solver, plan = taken(data, name, allowance, constraint)
    assert isinstance(solver, FlooredSolver)
    assert solver.share == AMPLE
    assert noise(posed, prices(data, posed), allowance) < QUIET
    level = lost(data, runs(data, *taken(data, "constant", allowance)))
    assert lost(data, runs(data, posed, solver, plan)) <= 1.05 * level
    alone = lost(data, runs(data, *taken(data, SOLVERS[name], allowance, constraint)))
    assert alone >= 1.5 * level


def test_it_is_bought_where_noise_may_drown_a_narrow_target() -> None:
    """Of solvers by name; not of the greedy selection, which needs its budget; of moments and those that look for evidence themselves only where noise is not low."""
    some, many = (table(n, 8, intercept=True) for n in (4_000, 60_000))
    allowance = Allowance(Budget(0.1, 1e-9))
    assert isinstance(taken(some, "gradient", allowance)[1], FlooredSolver)
    assert taken(many, "gradient", Allowance(Budget(3.0, 1e-9)))[1] is SOLVERS["gradient"]
    assert taken(many, HARDY, Allowance(Budget(1.0, 1e-9)))[1] is SOLVERS[HARDY]
    for who, asked in product((HARDY, LABORIOUS), ("less", "more")):
        data = table({"less": 6_000, "more": 12_000}[asked], 30, intercept=True)
        about = problem(data), prices(data, problem(data)), allowance
        found = floored(PlanContext(*about), SOLVERS[who], SOLVERS[who].plan(*about), brief=True)[0]
        assert isinstance(found, FlooredSolver) == (who == LABORIOUS or asked == "less")
    assert not isinstance(taken(some, SPARSE, allowance)[1], FlooredSolver)
    assert isinstance(taken(some, "moments", allowance)[1], FlooredSolver)
    assert not isinstance(taken(many, "moments", Allowance(Budget(3.0, 1e-9)))[1], FlooredSolver)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", MIXED)
def test_costs_that_do_not_add_up_as_squares_use_a_budget_up_too(name: str) -> None:
    """Within it, and no longer within 0.999 of its ε: at once, as the solver plans beside the look's own cost."""
    data = table(4_000, 6, intercept=True)
    posed = problem(data, constraint=BALL if name in IN_SETS else None)
    allowance, less = Allowance(Budget(0.2, 1e-8)), Allowance(Budget(0.1998, 1e-8))
    plan = FlooredSolver(name, SOLVERS[name], 0.1).plan(posed, prices(data, posed), allowance)
    assert allowance.takes(plan.event)
    assert not less.takes(plan.event)


@pytest.mark.parametrize("budget", [Budget(0.2, 1e-8), Budget.gdp(0.06), Budget.zcdp(0.002)], ids=str)
def test_a_budget_is_used_up(budget: Budget) -> None:
    """To rounding, as by the solver alone: nothing worth another fit is left."""
    data, allowance = table(4_000, 6, intercept=True), Allowance(budget)
    posed = problem(data)
    plan = FlooredSolver("gradient", SOLVERS["gradient"], 0.1).plan(posed, prices(data, posed), allowance)
    assert plan.event.gdp_mu() == pytest.approx(allowance.mu, rel=1e-9)


DOMAIN = hb.Domain(features=dict.fromkeys("abc", (-1, 1)), target=(-1, 1), indicators=False, records=4_000)
SMALL = hb.Budget(0.2, 1e-8)


def drawn(n: int = 4_000) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    return rng.uniform(-1, 1, (n, 3)), np.clip(0.1 * rng.normal(size=n), -1, 1)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["gradient", "output_perturbation"])
def test_who_asked_for_a_name_reads_that_it_was_held_up_by_how_much_and_how_to_have_it_alone(name: str) -> None:
    model = hb.LinearRegression(budget=SMALL, domain=DOMAIN, solver=name, test_key=TestKey(bytes(32)))
    assert "the private constant holds the model up" in str(model.price(n=4_000))
    model.fit(*drawn())
    kept = model.release_.trace[-1]["held up"]
    assert 0.0 <= kept <= 1.0
    assert dict(model.summary().header)["Solver"] == f"{name} ({kept:.0%} kept; held up by the constant)"
    assert "held up by the constant" in model.release_.plan["reason"]
    for said in (str(model.price(n=4_000)), str(model.summary())):
        assert "whatever it is, pass " in " ".join(said.split())
    alone = hb.LinearRegression(budget=SMALL, domain=DOMAIN, solver=SOLVERS[name], test_key=TestKey(bytes(32)))
    alone.fit(*drawn())
    assert "held up" not in f"{alone.release_.plan['reason']} {alone.summary()} {alone.price(n=4_000)}"


def test_moments_are_held_up_and_so_are_their_refits() -> None:
    """One release of moments, which serves refits and errors; refits are held up as far as the fit is, and the class passed as solver= compares with 0 and buys nothing beside."""
    for inference in ("auto", False):
        known: dict[str, Any] = {
            "budget": SMALL,
            "domain": DOMAIN,
            "inference": inference,
            "test_key": TestKey(bytes(32)),
        }
        model = hb.LinearRegression(solver="moments", **known).fit(*drawn())
        names = [query["name"] for query in model.release_.plan["queries"]]
        assert names.count("moments") == 1
        assert names[-2:] == ["norm_histogram", "centred_gradient"]
        assert model.release_.plan["settings"]["above_mean"]
        for again in (model.refit(), model.refit().refit()):
            assert np.array_equal(again.coef_, model.coef_)
            assert again.intercept_ == model.intercept_
        told, part = model.release_.trace[-1], model.refit(features=["a", "c"])
        assert part.coef_[1] == 0.0
        assert part.release_.trace[-1] == told
        alone = hb.LinearRegression(solver=SOLVERS["moments"], **known).fit(*drawn())
        assert [query["name"] for query in alone.release_.plan["queries"]] == ["moments"]
        assert not alone.release_.plan["settings"]["above_mean"]
        assert np.array_equal(alone.refit().coef_, alone.coef_)


MADE: dict[str, dict[str, Any]] = {
    "again": {},
    "of some": {"features": ["a", "b"]},
    "of none": {"features": []},
    "selected": {"selection": "fdr"},
    "bounded": {"selection": "bound"},
    "penalised": {"penalty": hb.L1Penalty(0.02)},
    "selected of some": {"features": ["a", "b"], "selection": "fdr"},
}


@pytest.mark.parametrize("how", MADE)
def test_every_further_model_of_a_release_is_held_up_as_far_as_the_fit_is(how: str) -> None:
    """What is kept is put in the place of what the second look said: none, a part, all. Selected models were left as they were, with an intercept against 0, up to 19 times as far off as the constant."""
    (X, y), level = drawn(), 1e-300 if how == "bounded" else 0.1
    about: dict[str, Any] = {"budget": hb.Budget(0.6, 1e-8), "domain": DOMAIN, "solver": "moments"}
    model = hb.Lasso(penalty=hb.L1Penalty(0.001), selection_level=level, test_key=TestKey(bytes(32)), **about)
    release = model.fit(X, np.clip(y + 0.5 * X[:, 0] + 0.2, -1, 1)).release_
    constant, thetas = 0.15, []
    for kept in (0.0, 0.25, 1.0):
        model.release_ = replace(release, trace=({"held up": kept, "constant": constant},))
        made = model.refit(**MADE[how]).release_
        assert made.trace[-1] == model.release_.trace[-1]
        thetas.append(made.theta[:, 0])
    none, some, whole = thetas
    assert np.array_equal(none, [0.0, 0.0, 0.0, constant])
    assert some == pytest.approx(0.75 * none + 0.25 * whole)
    assert whole[:-1].any() == (how not in ("of none", "bounded"))


@pytest.mark.parametrize("body", [L1Ball(0.01), L2Ball(0.02), Box(-0.01, 0.3), Box(0.2, 0.5), Simplex()], ids=str)
@pytest.mark.parametrize("features", [None, ["a"]])
def test_no_further_model_of_what_is_held_up_leaves_its_set(body: ConvexSet, features: list[str] | None) -> None:
    """Of a set that holds no constant nothing is moved towards one, nor said to be: a point between them is in neither."""
    model = hb.LinearRegression(budget=SMALL, domain=DOMAIN, solver="moments", test_key=TestKey(bytes(32)))
    release, slopes = model.fit(*drawn()).release_, np.arange(len(features or "abc"))
    model.release_ = replace(release, trace=({"held up": 0.3, "constant": 0.1},))
    made = model.refit(constraint=body, features=features).release_
    assert body.contains(made.theta[slopes, 0])
    assert any("held up" in line for line in made.trace) == body.contains(np.zeros(len(slopes)))


def test_auto_takes_the_moments_that_a_fit_by_name_would(monkeypatch: pytest.MonkeyPatch) -> None:
    """So does a plan's line; streams and searches, which plan as before, compare with 0."""
    monkeypatch.setattr("hullabaloo.planning.choose.SOLVERS", {"moments": SOLVERS["moments"]})
    data = table(n=2_000)
    task, allowance = problem(data), Allowance(Budget(1.0, 1e-6))
    about = task, prices(data, task), allowance
    for held in (True, False):
        context = PlanContext(*about, held=held)
        by_name = choose(context, "moments")[0]
        assert choose(context, "auto")[0] == by_name == forecasts(context)[0].solver
        assert by_name.plan(*about).settings["above_mean"] == held


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", Neighbours)
def test_a_name_gives_way_where_the_look_itself_would_drown(neighbours: Neighbours) -> None:
    """Just where a mean of unit contributions has more noise than `HOPELESS`; a class is taken at its word, and streams and searches plan as before."""
    n = 2 if neighbours is Neighbours.REPLACE_ONE else 1
    for records in (500 * n, 2_000 * n):
        facts = hb.Domain(features=dict.fromkeys("abc", (-1, 1)), target=(-1, 1), records=records).encoding().facts
        prices, allowance = PricedQueries(facts, neighbours, records), Allowance(Budget(0.1, 1e-6))
        norms = facts.norm_l1, facts.norm_l2, facts.norm_linf
        task = Problem(Squared(), facts.width, True, *norms, 1, records, neighbours)
        hopeless = noise(task, prices, allowance, 1) > HOPELESS
        assert hopeless == (records < 1_000 * n)
        context = PlanContext(task, prices, allowance, rehearsal, held=True)
        for name in ("gradient", "adaptive_gradient", "greedy_selection"):
            taken = choose(context, name)[0].name
            assert taken == ("constant" if hopeless and name != HARDY else name)
            assert choose(context, SOLVERS[name])[0] is SOLVERS[name]
            assert choose(replace(context, held=False), name)[0].name == name


def test_streams_searches_and_units_are_not_held_up() -> None:
    """Their fits share a budget, or are compared and kept, by plans of their own; and of units with several records no look is known."""
    model = hb.LinearRegression(budget=SMALL, domain=DOMAIN, solver="gradient")
    encoding = DOMAIN.encoding(n_features=3)
    task = model._task(encoding)
    assert isinstance(prepare(task, encoding, 4_000).solver, FlooredSolver)
    refits = planned(task, encoding, Schedule(8_000, 4_000))
    assert [fit.solver for fit in refits.fits] == [SOLVERS["gradient"]] * 2
    (one,) = contend([model], [encoding], [{}], task, None, 0.2, 5_000)
    assert one.fit.solver is SOLVERS["gradient"]
    domain = hb.Domain(
        features=dict.fromkeys("abc", (-1, 1)), target=(-1, 1), records=4_000, unit="person", records_per_unit=2
    )
    encoding = domain.encoding(n_features=3)
    units = hb.LinearRegression(budget=SMALL, domain=domain, solver="gradient")._task(encoding)
    assert prepare(units, encoding, 4_000).solver is SOLVERS["gradient"]


def test_what_was_saved_before_the_constant_was_told_is_not_pulled() -> None:
    """Refits of such a model end in its own numbers, not in an error after they were asked for."""
    theta, start = np.array([0.5, -0.25]), np.array([0.0, 0.75])
    assert np.array_equal(pulled(theta, ({"held up": 0.25},)), theta)
    assert np.array_equal(pulled(theta, ({"held up": 0.25, "constant": 0.75},)), start + 0.25 * (theta - start))
