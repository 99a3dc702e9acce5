"""Moments that are asked for first, and are the model where their own release says that noise has cost it next to nothing.

Keys and seeds are fixed, and so is every number here: no test fails by chance.
"""

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.audit.neighbouring_tables import solver_of
from hullabaloo.curator import Curator
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.geometry import L2Ball, SquaredL2Penalty
from hullabaloo.losses import Huber
from hullabaloo.noise import TestKey
from hullabaloo.planning.choose import LABORIOUS, choose
from hullabaloo.planning.context import PlanContext
from hullabaloo.planning.named import SOLVERS
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.privacy.answers import NoisyMoments
from hullabaloo.release.rehearsal import rehearsal
from hullabaloo.solvers import MomentsSolver, Problem, Solution, Solver, solve_moments
from hullabaloo.solvers.moments.moments import ENOUGH, FIRST, MomentsFirstSolver, hidden_share, may_suffice
from tests.solvers.tables import Array, Table, prices, problem

SOLVER = MomentsFirstSolver(LABORIOUS, SOLVERS[LABORIOUS])
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
    part = X @ slopes
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


def planned(data: Table, allowance: Allowance, neighbours: Neighbours, records: int) -> tuple[Problem, Any]:
    posed = problem(data, neighbours, records=records)
    return posed, SOLVER.plan(posed, prices(data, posed), allowance)


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


def lost(data: Table, theta: Array) -> float:
    """Of what the best slopes explain."""
    best = np.linalg.lstsq(data.X, data.Y[:, 0], rcond=None)[0]
    least, found = (float(np.mean((data.Y[:, 0] - data.X @ one) ** 2)) for one in (best, theta))
    return (found - least) / (float(data.Y.var()) - least)


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_a_plan_costs_the_budget_and_pays_for_both(neighbours: Neighbours) -> None:
    """Within it, at budgets of three kinds and under filters: moments at their share, then the other solver's whole plan."""
    data = table("full")
    allowances = [Allowance(one) for one in (Budget(0.5, 1e-8), Budget.gdp(0.2), Budget.zcdp(0.02))]
    for allowance in [*allowances, *(Allowance(Budget(0.5, 1e-8), rule) for rule in ("basic", "renyi"))]:
        posed, plan = planned(data, allowance, neighbours, N)
        assert allowance.takes(plan.event)
        whole = plan.event.gdp_mu()
        assert 0.999 * allowance.mu <= whole <= allowance.mu
        assert plan.queries[0].name == "moments"
        assert plan.queries[0].event.gdp_mu() == pytest.approx(allowance.mu * math.sqrt(FIRST))
        alone = SOLVERS[LABORIOUS].plan(posed, prices(data, posed), allowance)
        assert [(one.name, one.count) for one in plan.queries[1:]] == [(one.name, one.count) for one in alone.queries]


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
    [pytest.param(kind, marks=[pytest.mark.slow] * (kind not in ("half", "common"))) for kind in BELIEVED + HIDDEN],
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


def test_auto_takes_it_by_itself_alone() -> None:
    """Not beside inference, not in streams and searches, which share budgets by plans of their own, and not by name."""
    data = table("full")
    posed = problem(data, records=10**6)
    context = PlanContext(posed, prices(data, posed), Allowance(Budget(1.0, 1e-9)), rehearsal(data.facts), held=True)
    solver, plan = choose(context, "auto")
    assert solver == SOLVER
    assert "moments, which are the model" in plan.reason
    for other, name in ((replace(context, held=False), "auto"), (context, LABORIOUS), (context, "moments")):
        assert not isinstance(choose(other, name)[0], MomentsFirstSolver)


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
    assert "moments are asked for first" in str(price)
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
