"""Moments that are asked for first, and are the model where their own release says that noise has cost it next to nothing.

Keys and seeds are fixed, and so is every number here: no test fails by chance.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.audit.neighbouring_tables import solver_of
from hullabaloo.curator import Curator
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.geometry import ConvexSet, L1Ball, L1Penalty, L2Ball, NoPenalty, Penalty, SquaredL2Penalty
from hullabaloo.losses import Huber
from hullabaloo.noise import TestKey
from hullabaloo.planning.choose import LABORIOUS, choose
from hullabaloo.planning.context import PlanContext
from hullabaloo.planning.named import SOLVERS
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.privacy.answers import NoisyMoments
from hullabaloo.release.rehearsal import rehearsal
from hullabaloo.solvers import MomentsSolver, Problem, Solution, Solver, solve_moments
from hullabaloo.solvers.gradient.coordinates import symmetric
from hullabaloo.solvers.gradient.schedule import GradientSchedule
from hullabaloo.solvers.moments.moments import (
    CELLS,
    ENOUGH,
    FIRST,
    STEPS,
    MomentsFirstSolver,
    hidden_share,
    may_suffice,
    stepped,
)
from hullabaloo.solvers.score.with_inference import WithInference
from tests.solvers.tables import Array, Table, prices, problem

SOLVER = MomentsFirstSolver(LABORIOUS, SOLVERS[LABORIOUS])
STEPPING = replace(SOLVER, shares=STEPS)
BOTH = (SOLVER, STEPPING)
HELD: tuple[tuple[ConvexSet | None, Penalty], ...] = (
    (None, NoPenalty()),
    (L1Ball(0.3), NoPenalty()),
    (None, L1Penalty(0.02)),
)
"""Nothing, a set and a penalty that take a part of the slopes away."""
TOLD = WithInference(SOLVERS[LABORIOUS], 0.6).after_moments()
KEY = TestKey(bytes(32))
N, P = 4_000, 6
BELIEVED, HIDDEN = ("full", "half", "mixed"), ("narrow", "unseen", "common", "constant")
"""Tables by how their columns lie in their bounds, where moments of many records are believed, and where they never are."""


def table(kind: str, n: int = N, p: int = P, seed: int = 0) -> Table:
    """Numbers within [−1, 1], a constant column, and a target of which they explain some 60 %."""
    rng = np.random.default_rng(seed)
    X, slopes = rng.uniform(-1.0, 1.0, (n, p)), np.linspace(-1.0, 1.0, p) / math.sqrt(p)
    if kind == "half":
        X *= 0.5
    if kind == "mixed":
        X *= np.geomspace(1.0, 0.3, p)
    if kind == "narrow":  # with half of the signal
        X[:, 0] *= 0.003
        slopes[0] = math.sqrt(p - 1.0) / math.sqrt(p) / 0.003
    if kind == "unseen":
        X[:, 1] = 0.0
    if kind == "common":
        X = 0.999 * X[:, :1] + 0.001 * X
    if kind == "constant":
        X[:, 2] = 0.4
    if kind == "aside":  # records far from the middle of their bounds, where the level is beyond its own
        X, slopes = 0.75 + 0.25 * X, np.ones(p)
    part = X @ slopes
    part -= part.mean() * (kind == "aside")
    y = 0.3 * part / max(float(part.std()), 1e-9) + 0.25 * rng.normal(size=n)
    names = tuple(f"x{j}" for j in range(p + 1))
    facts = RowFacts(names, True, p + 1.0, math.sqrt(p + 1.0), 1.0, ("y",))
    return Table(np.column_stack([X, np.ones(n)]), np.clip(y, -1.0, 1.0)[:, None], facts)


class Counted:
    """A curator's answers, counted by name."""

    def __init__(self, curator: Any, asked: Counter[str]) -> None:
        self.curator, self.asked = curator, asked

    def projected(self, matrix: Array) -> "Counted":
        return Counted(self.curator.projected(matrix), self.asked)

    def give_up(self, count: int) -> None:
        self.curator.give_up(count)

    def answer(self, name: str, *given: Any, **named: Any) -> Any:
        self.asked[name] += 1
        return self.curator.answer(name, *given, **named)


class Told:
    """One answer of moments, whatever the records are, and none to anything else."""

    def __init__(self, moments: NoisyMoments) -> None:
        self.moments = moments

    def answer(self, name: str, *given: Any, **named: Any) -> Any:
        assert name == "moments"
        assert not given
        assert not named
        return self.moments


def planned(
    data: Table, allowance: Allowance, neighbours: Neighbours, records: int, solver: Solver = SOLVER, **held: Any
) -> tuple[Problem, Any]:
    posed = problem(data, neighbours, records=records, **held)
    return posed, solver.plan(posed, prices(data, posed), allowance)


def ran(
    data: Table, posed: Problem, plan: Any, draw: int, solver: Solver = SOLVER
) -> tuple[Solution, Counter[str], Counter[str]]:
    """The plan of many records carried out on few at the same noise of means; what was asked, and what was bought."""
    queries = tuple(query.resized(data.records) for query in plan.queries)
    small, asked, bought = replace(posed, records=data.records), Counter[str](), Counter[str]()
    for query in queries:
        bought[query.name] += query.count
    curator = Counted(Curator(Rows(data.X, data.Y), queries, key=KEY.derive(draw)), asked)
    return solver.run(small, replace(plan, queries=queries), curator), asked, bought  # type: ignore[arg-type]


def held_loss(data: Table, constraint: ConvexSet | None, penalty: Penalty) -> Callable[[Array], float]:
    """What a θ loses of what the best slopes in the set and beside the penalty explain, it included; these by plain proximal steps, apart from the library's own solvers of quadratics."""
    y, n = data.Y[:, 0], data.records
    gram, cross, best = data.X.T @ data.X / n, data.X.T @ y / n, np.zeros(data.X.shape[1])
    step = 1.0 / float(np.linalg.eigvalsh(gram)[-1])
    for _ in range(1_000):
        best = best - step * (gram @ best - cross)
        best[:-1] = penalty.prox(best[:-1], step) if constraint is None else constraint.project(best[:-1])  # type: ignore[attr-defined]

    def objective(one: Array) -> float:
        return 0.5 * float(one @ gram @ one) - float(cross @ one) + penalty.value(one[:-1])

    least, level = objective(best), -0.5 * float(y.mean()) ** 2
    return lambda theta: (objective(theta) - least) / (level - least)


def lost(data: Table, theta: Array) -> float:
    """Of what the best slopes explain."""
    best = np.linalg.lstsq(data.X, data.Y[:, 0], rcond=None)[0]
    least, found = (float(np.mean((data.Y[:, 0] - data.X @ one) ** 2)) for one in (best, theta))
    return (found - least) / (float(data.Y.var()) - least)


@pytest.mark.parametrize(("solver", "neighbours"), list(product(BOTH, Neighbours)))
def test_a_plan_costs_the_budget_and_pays_for_both(solver: MomentsFirstSolver, neighbours: Neighbours) -> None:
    """Within it, at budgets of three kinds and under filters: moments and their steps at their shares, then the other solver's whole plan."""
    data = table("full")
    allowances = [Allowance(one) for one in (Budget(0.5, 1e-8), Budget.gdp(0.2), Budget.zcdp(0.02))]
    for allowance in [*allowances, *(Allowance(Budget(0.5, 1e-8), rule) for rule in ("basic", "renyi"))]:
        posed, plan = planned(data, allowance, neighbours, N, solver)
        assert allowance.takes(plan.event)
        whole = plan.event.gdp_mu()
        assert 0.999 * allowance.mu <= whole <= allowance.mu
        first = plan.queries[: len(solver.shares)]
        names = ["moments", "norm_histogram", "centred_gradient", "centred_gradient"]
        assert [one.name for one in first] == names[: len(first)]
        for one, share in zip(first, solver.shares, strict=True):
            assert one.count == 1
            assert one.event.gdp_mu() == pytest.approx(allowance.mu * math.sqrt(share))
        alone = SOLVERS[LABORIOUS].plan(posed, prices(data, posed), allowance)
        rest = [(one.name, one.count) for one in plan.queries[len(first) :]]
        assert rest == [(one.name, one.count) for one in alone.queries]


@pytest.mark.few(7)
@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("kind", BELIEVED + HIDDEN)
def test_it_asks_for_moments_alone_or_for_all_that_was_bought(kind: str, neighbours: Neighbours) -> None:
    """Never for more than was charged, and which of both follows from the moments: where a direction is hidden the others are asked, too."""
    data, seen = table(kind), set()
    for records in (10**4, 10**8):
        posed, plan = planned(data, Allowance(Budget(1.0, 1e-9)), neighbours, records)
        for draw in range(3):
            found, asked, bought = ran(data, posed, plan, draw)
            enough = found.trace[-1]["moments enough"]
            assert asked == (Counter({"moments": 1}) if enough else bought)
            assert (found.moments is not None) == enough
            seen.add((records, enough))
    assert seen >= {(10**4, False), (10**8, kind in BELIEVED)}
    assert (10**8, kind in HIDDEN) not in seen


@pytest.mark.few(7)
@pytest.mark.parametrize("held", range(3))
@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("kind", BELIEVED + HIDDEN)
def test_steps_are_asked_where_moments_are_not_enough(kind: str, neighbours: Neighbours, held: int) -> None:
    """Moments alone, they and one histogram and two gradients, or all that was bought; and where a direction is hidden the other solver's questions, too."""
    data, seen = table(kind), set()
    constraint, penalty = HELD[held]
    first = Counter({"moments": 1, "norm_histogram": 1, "centred_gradient": 2})
    for records in (10**5, 10**6, 10**8):
        of = {"constraint": constraint, "penalty": penalty}
        posed, plan = planned(data, Allowance(Budget(1.0, 1e-9)), neighbours, records, STEPPING, **of)
        found, asked, bought = ran(data, posed, plan, 0, STEPPING)
        told = found.trace[-1]
        if told["moments enough"]:
            assert asked == Counter({"moments": 1})
            assert "steps enough" not in told
        else:
            assert asked == (first if told["steps enough"] else bought)
        assert (found.moments is not None) == told["moments enough"]
        if constraint is not None:
            assert constraint.contains(found.theta[:-1, 0], 1e-9)
        seen.add(told["moments enough"] or told["steps enough"])
    assert (True in seen) == (kind in BELIEVED)


def test_what_is_released_where_moments_suffice_is_a_function_of_them() -> None:
    """Of the answer alone: no other question is asked, and the model is the one that moments by name make of it."""
    data = table("full")
    posed, plan = planned(data, Allowance(Budget(1.0, 1e-9)), Neighbours.REPLACE_ONE, 10**8)
    queries = tuple(query.resized(N) for query in plan.queries)
    moments = Curator(Rows(data.X, data.Y), queries, key=KEY).answer("moments")
    small = replace(posed, records=N)
    found = SOLVER.run(small, replace(plan, queries=queries), Told(moments))  # type: ignore[arg-type]
    assert found.trace[-1] == {"moments enough": True}
    assert np.array_equal(found.theta, solve_moments(moments, small).theta)


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[pytest.mark.slow] * (kind != "half")) for kind in BELIEVED + HIDDEN],
)
def test_a_claim_is_true(kind: str) -> None:
    """What is believed has lost no more than is claimed: the mean over draws exceeds that of the claims by no more than a tenth and five standard errors (a false alarm in three million), at noises from where nothing is believed to where all is."""
    data, draws = table(kind, 2_000), 60
    believed = 0
    for records in (10**5, 3 * 10**5, 10**6, 10**7, 10**9):
        posed, plan = planned(data, Allowance(Budget(1.0, 1e-9)), Neighbours.REPLACE_ONE, records)
        query, small = plan.queries[0].resized(data.records), replace(posed, records=data.records)
        over = []
        for draw in range(draws):
            moments = Curator(Rows(data.X, data.Y), (query,), key=KEY.derive(draw)).answer("moments")
            found = solve_moments(moments, small)
            if (claim := hidden_share(found)) <= ENOUGH:
                over.append(lost(data, found.theta[:, 0]) - 1.1 * claim)
        if len(over) > 5:
            assert np.mean(over) <= 5.0 * np.std(over) / math.sqrt(len(over)), records
        believed += len(over)
    assert (believed > 0) == (kind in BELIEVED)


@pytest.mark.few(2)
@pytest.mark.parametrize("held", range(3))
@pytest.mark.parametrize("kind", [*BELIEVED, *HIDDEN, "aside"])
def test_a_claim_after_steps_is_true(kind: str, held: int) -> None:
    """As that of moments, and of these in a set and beside a penalty, too, with a fifth for what two steps leave that is not reckoned."""
    data, draws = table(kind, 2_000), 40
    constraint, penalty = HELD[held]
    believed, loss = Counter[str](), held_loss(data, constraint, penalty)
    for records in (10**5, 2 * 10**5, 10**6, 10**7):
        of = {"constraint": constraint, "penalty": penalty}
        posed, plan = planned(data, Allowance(Budget(1.0, 1e-9)), Neighbours.REPLACE_ONE, records, STEPPING, **of)
        queries, small = tuple(one.resized(data.records) for one in plan.queries), replace(posed, records=data.records)
        path = GradientSchedule(**plan.settings)
        over: dict[str, list[float]] = {"moments": [], "steps": []}
        for draw in range(draws):
            curator = Curator(Rows(data.X, data.Y), queries, key=KEY.derive(draw))
            found = solve_moments(curator.answer("moments"), small)
            after, claim = stepped(found, small, path, queries[1 : len(STEPS)], curator)
            for name, model, share in (("moments", found, hidden_share(found)), ("steps", after, claim)):
                if share <= ENOUGH:
                    over[name].append(loss(model.theta[:, 0]) - 1.2 * share)
        for name, excess in over.items():
            believed[name] += len(excess)
            if len(excess) > 5:
                assert np.mean(excess) <= 5.0 * np.std(excess) / math.sqrt(len(excess)), (name, records)
    if kind == "aside" and held:  # a set and a penalty may draw the level back
        return
    assert (believed["steps"] > 1) == (kind in BELIEVED)  # what is never there is above r by chance, of one draw here


def test_whether_they_are_asked_for_is_public() -> None:
    """Of squares of one target alone, of numbers that may fill rows, of records that count once each, where nothing holds coefficients, and many records."""
    data = table("full")
    posed = problem(data, records=10**6)
    allowance = Allowance(Budget(1.0, 1e-9))

    def asked(**other: Any) -> bool:
        return may_suffice(replace(posed, **other), prices(data, posed), allowance)

    assert asked()
    assert asked(neighbours=Neighbours.ADD_OR_REMOVE)
    refused: list[dict[str, Any]] = [
        {"norm_l2": 0.9 * posed.norm_l2}, {"loss": Huber(0.1)}, {"targets": 2}, {"constraint": L2Ball(1.0)}, {"penalty": SquaredL2Penalty(0.1)},
        {"records_per_unit": 2}, {"max_weight": 2.0}, {"weighted": True}, {"offset_bound": 1.0}, {"intercept": False},
    ]  # fmt: skip
    assert not any(asked(**one) for one in refused)
    few = problem(data, records=2_000)
    assert not may_suffice(few, prices(data, few), allowance)
    for one in [*refused, {}]:  # with steps also where coefficients are held; of many cells alone
        assert may_suffice(replace(posed, **one), prices(data, posed), allowance, STEPS) == (
            set(one) <= {"constraint", "penalty"}
        )
    small = problem(data, records=math.ceil(CELLS / posed.dimension) - 1)
    assert not may_suffice(small, prices(data, small), Allowance(Budget(10.0, 1e-9)), STEPS)
    loud = Allowance(Budget(0.001, 1e-9))
    assert not may_suffice(posed, prices(data, posed), loud, STEPS)


def test_auto_takes_it_by_itself_alone() -> None:
    """Beside inference, too; not in streams and searches, which share budgets by plans of their own, and not by name."""
    data = table("full")
    for records, taken, words in ((5 * 10**5, SOLVER, ""), (10**6, STEPPING, " and 2 gradients along them")):
        posed = problem(data, records=records)
        context = PlanContext(posed, prices(data, posed), Allowance(Budget(1.0, 1e-9)), rehearsal, held=True)
        solver, plan = choose(context, "auto")
        assert solver == taken
        assert f"moments{words}, which are the model" in plan.reason
    for other, name in ((replace(context, held=False), "auto"), (context, LABORIOUS), (context, "moments")):
        assert not isinstance(choose(other, name)[0], MomentsFirstSolver)
    told, plan = choose(context, WithInference("auto", 0.6))
    assert told == TOLD
    assert "moments, which are the model" in plan.reason
    for other, name in ((replace(context, held=False), "auto"), (context, LABORIOUS)):
        assert choose(other, WithInference(name, 0.6))[0] == WithInference(SOLVERS[LABORIOUS], 0.6)
    few = replace(posed, records=4_000)
    hopeless = PlanContext(few, prices(data, few), Allowance(Budget(1.0, 1e-9)), held=True)
    assert not may_suffice(*hopeless.facts)
    alone, plain = choose(hopeless, WithInference("auto", 0.6))  # what it was without them, to the bit
    assert alone == WithInference(alone.solver, 0.6)  # type: ignore[attr-defined]
    assert plain.queries == alone.plan(*hopeless.facts).queries


@pytest.mark.few(1)
@pytest.mark.parametrize(("wide", "enough"), [(1.0, True), (6.0, False)])
def test_a_fit_says_which_of_both_happened(wide: float, enough: bool) -> None:
    """Price, plan and summary; where moments suffice the release is theirs, and serves refits."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, (60_000, 12))
    y = np.clip(X @ np.linspace(-0.5, 0.5, 12) + rng.normal(0.0, 0.3, len(X)), -2.0, 2.0)
    domain = hb.Domain(dict.fromkeys("abcdefghijkl", (-wide, wide)), target=(-2.0 * wide, 2.0 * wide), indicators=False)
    model = hb.LinearRegression(domain=domain, budget=hb.Budget(3.0, 1e-9), inference=False, test_key=KEY)
    price = model.price(len(X))
    assert price.solver == LABORIOUS
    assert "moments, which are the model" in price.reason
    planned = hb.plan(n=len(X), domain=domain, budget=model.budget)
    assert planned.chosen == LABORIOUS
    assert all("moments are asked for first" in str(one) for one in (price, planned))
    model.fit(X, y)
    assert model.release_.trace[-1] == {"moments enough": enough}
    assert model.release_.plan["solver"] == (MomentsSolver.name if enough else LABORIOUS)
    said = "asked for first, and enough" if enough else "asked for first, were not enough"
    assert said in str(model.summary())
    assert model.release_.statement.event.gdp_mu() == pytest.approx(Allowance(model.budget).mu, rel=1e-3)
    assert model.release_.plan["queries"][0]["name"] == "moments"
    assert (model.release_.plan["settings"] == {}) is enough  # those of a walk that was not taken are nobody's
    if enough:
        assert np.count_nonzero(model.refit(features=["a", "b"]).release_.theta[:-1]) == 2


@pytest.mark.parametrize(
    ("model", "wide", "said"),
    [
        (hb.LinearRegression(), 2.0, "two gradients along moments, asked for first, were enough"),
        pytest.param(
            hb.Lasso(),
            2.0,
            "two gradients along moments, asked for first, were enough",
            marks=pytest.mark.slow,
        ),
        pytest.param(hb.Ridge(), 1.0, "moments, asked for first, and enough", marks=pytest.mark.slow),
        (
            hb.Lasso(penalty=hb.L1Penalty(0.001)),
            30.0,
            "two gradients along moments, asked for first, were not enough",
        ),
    ],
)
def test_a_fit_of_many_cells_says_which_of_three_happened(model: Any, wide: float, said: str) -> None:
    """Price, plan and summary; steps' moments are not those of the model, and serve no refit."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, (320_000, 12))
    y = np.clip(X @ np.linspace(-0.5, 0.5, 12) + rng.normal(0.0, 0.3, len(X)), -2.0, 2.0)
    domain = hb.Domain(dict.fromkeys("abcdefghijkl", (-wide, wide)), target=(-2.0 * wide, 2.0 * wide), indicators=False)
    model.set_params(domain=domain, budget=hb.Budget(1.0, 1e-9), inference=False, test_key=KEY)
    price = model.price(len(X))
    assert "moments and 2 gradients along them, which are the model" in price.reason
    assert "two gradients along them" in str(price)
    model.fit(X, y)
    assert said in str(model.summary())
    assert model.release_.statement.event.gdp_mu() == pytest.approx(Allowance(model.budget).mu, rel=1e-3)
    told = model.release_.trace[-1]
    assert (model.release_.plan["settings"] == {}) is any(told.values())
    assert model.release_.plan["solver"] == (MomentsSolver.name if told["moments enough"] else LABORIOUS)
    assert (model.release_.moments is not None) is told["moments enough"]


def test_an_audit_asks_all_that_is_charged_for() -> None:
    """Where moments would suffice, too: noise of runs that end after them is not that of all runs."""
    domain = hb.Domain(dict.fromkeys("abcdefghijkl", (-1, 1)), target=(-2, 2), indicators=False, records=60_000)
    model = hb.LinearRegression(domain=domain, budget=hb.Budget(3.0, 1e-9), inference=False)
    audited = solver_of(model, 12, 60_000)
    assert audited == replace(SOLVER, enough=-1.0)
    data = table("full")
    posed, plan = planned(data, Allowance(Budget(1.0, 1e-9)), Neighbours.REPLACE_ONE, 10**8)
    found, asked, bought = ran(data, posed, plan, 0, audited)  # type: ignore[arg-type]
    assert asked == bought
    assert found.trace[-1] == {"moments enough": False}
    posed, plan = planned(data, Allowance(Budget(1.0, 1e-9)), Neighbours.REPLACE_ONE, 10**8, STEPPING)
    found, asked, bought = ran(data, posed, plan, 0, replace(STEPPING, enough=-1.0))
    assert asked == bought
    assert found.trace[-1] == {"moments enough": False, "steps enough": False}


@pytest.mark.few(1)
@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_beside_inference_they_take_a_quarter_of_all(neighbours: Neighbours) -> None:
    """Solver and inference buy on the rest what they bought on all, in their old proportion; and the whole is within the budget."""
    data = table("full")
    for share, budget in product((0.3, 0.6, 0.8), (Budget(0.5, 1e-8), Budget.gdp(0.2), Budget.zcdp(0.02))):
        allowance, before = Allowance(budget), WithInference(SOLVERS[LABORIOUS], share)
        posed = problem(data, neighbours, records=10**6)
        facts = posed, prices(data, posed), allowance
        plan, old = before.after_moments().plan(*facts), before.plan(*facts)
        assert allowance.takes(plan.event)
        assert plan.event.gdp_mu() >= 0.98 * allowance.mu
        assert plan.queries[0].name == "moments"
        assert plan.queries[0].event.gdp_mu() == pytest.approx(allowance.mu * math.sqrt(FIRST), rel=0.02)
        assert [one.name for one in plan.queries[1:]] == [one.name for one in old.queries]
        last, wide = plan.settings["score_noise"], old.settings["score_noise"]
        assert last == pytest.approx(wide / math.sqrt(1.0 - FIRST), rel=0.02)


@pytest.mark.few(4)
@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("kind", ["full", "mixed", "narrow", "unseen"])
def test_beside_inference_no_step_is_taken_from_moments_that_suffice(kind: str, neighbours: Neighbours) -> None:
    """What is asked then: both histograms, the score, the spread; else all that was bought."""
    data, seen = table(kind), set()
    for records in (10**4, 10**8):
        posed = problem(data, neighbours, records=records)
        plan = TOLD.plan(posed, prices(data, posed), Allowance(Budget(1.0, 1e-9)))
        found, asked, bought = ran(data, posed, plan, 0, TOLD)
        enough = next(line["moments enough"] for line in found.trace if "moments enough" in line)
        few = Counter({"moments": 1, "norm_histogram": 2, "centred_gradient": 1, "gradient_moments": 1})
        assert asked == (few if enough else bought)
        assert found.moments is None
        assert len(found.scores) == 1
        seen.add(enough)
        if enough:
            assert found.scores[0].shortened == 0.0
    assert seen == ({False} if kind in HIDDEN else {True, False} if kind == "full" else seen)


@pytest.mark.parametrize("kind", ["full", "mixed", "common"])
def test_noise_of_whitened_moments_is_within_what_is_told(kind: str) -> None:
    """The form aᵀWᵀEWb of every pair varies by `½ s² (‖Wa‖² ‖Wb‖² + ⟨Wa, Wb⟩²)`, at most by what S E S of deviation `s ‖W‖²` has there; 4 000 draws agree with the first within six standard errors (a false alarm in 10⁸)."""
    X = table(kind).X
    W, s, rng = symmetric(np.linalg.inv(np.linalg.cholesky(np.cov(X[:, :-3].T))).T), 0.1, np.random.default_rng(3)
    told = s * np.linalg.norm(W, 2) ** 2
    q, draws = len(W), 4_000
    E = rng.normal(size=(draws, q, q)) * s / math.sqrt(2.0)
    E = (E + E.transpose(0, 2, 1)) / math.sqrt(2.0)
    for a, b in rng.normal(size=(20, 2, q)):
        within = 0.5 * told**2 * ((a @ a) * (b @ b) + (a @ b) ** 2)
        u, v = W @ a, W @ b
        true = 0.5 * s**2 * ((u @ u) * (v @ v) + (u @ v) ** 2)
        assert np.var(np.einsum("nij,i,j->n", E, u, v)) == pytest.approx(true, rel=6.0 * math.sqrt(2.0 / draws))
        assert true <= within * (1.0 + 1e-12)


@pytest.mark.slow
def test_what_noise_draws_a_step_back_by_is_given_back() -> None:
    """Moments' model and their matrix share their noise: `E E G⁻¹ E θ = ½ s² (tr G⁻¹ + G⁻¹) θ` is what a step from one by the other falls short by.

    A strong slope, 30 draws in which moments were enough: of it the mean distance to exact least squares, in standard errors, is 0 but for its own error of 0.11 (of 134 draws −0.02 ± 0.05; −0.54 ± 0.05 were the step not corrected).
    """
    off, draw = list[float](), 0
    while len(off) < 30:
        rng = np.random.default_rng(draw)
        X = rng.uniform(-1.0, 1.0, (60_000, 12))
        y = X[:, 0] + 0.15 * rng.normal(size=len(X))
        model = hb.LinearRegression(
            domain=hb.Domain(dict.fromkeys("abcdefghijkl", (-1, 1)), target=(-2, 2), indicators=False),
            budget=hb.Budget(2.0, 1e-9), test_key=KEY.derive(draw),
        ).fit(X, y)  # fmt: skip
        draw += 1
        assert draw < 40
        if model.release_.trace[-1]["moments enough"]:
            row, least = model.summary().rows[0], np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), y)[0]
            off.append((row.estimate - least[0]) / row.std_error)
    assert abs(np.mean(off)) < 0.25


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("kind", ["even", "spread", "long", "ends"])
def test_intervals_hold_without_steps(kind: str, neighbours: Neighbours) -> None:
    """30 fits of 12 slopes, of residuals alike, that spread with a column, that are skewed, and of records at the ends of all bounds: at least 88 % hold (less by chance once in 10⁶ at 95 %, were they independent)."""
    names, slopes, held, enough = "abcdefghijkl", np.linspace(-0.5, 0.5, 12), [], []
    domain = hb.Domain(dict.fromkeys(names, (-1, 1)), target=(-4, 4), indicators=False, records=100_000)
    for draw in range(30):
        rng = np.random.default_rng(draw)
        X, noise = rng.uniform(-1.0, 1.0, (100_000, 12)), rng.normal(size=100_000)
        if kind == "ends":
            X[:1_000] = np.sign(X[:1_000])
        if kind == "long":
            noise = rng.exponential(size=len(X)) - 1.0
        noise *= 0.6 * np.abs(X[:, 0]) if kind == "spread" else 0.3
        y = X @ slopes + noise
        model = hb.LinearRegression(
            domain=domain, budget=hb.Budget(3.0, 1e-9), neighbours=str(neighbours), test_key=KEY.derive(draw)
        ).fit(X, y)
        enough += [line["moments enough"] for line in model.release_.trace if "moments enough" in line]
        assert model.release_.plan["solver"] == (MomentsSolver.name if enough[-1] else LABORIOUS)
        rows = model.summary().rows[:12]
        held += [row.low <= true <= row.high for row, true in zip(rows, slopes, strict=True)]
    assert np.mean(enough) > 0.9
    assert np.mean(held) >= 0.88
