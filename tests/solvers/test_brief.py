"""Steps of classes along the released covariance, asked before anything is whitened: the model where they suffice by their own word.

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
from hullabaloo.errors import NotPaidFor
from hullabaloo.losses import Huber, Logistic
from hullabaloo.noise import TestKey
from hullabaloo.planning.choose import LABORIOUS, choose
from hullabaloo.planning.context import PlanContext
from hullabaloo.planning.named import SOLVERS
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.release.rehearsal import rehearsal
from hullabaloo.solvers import Plan, Problem, SeparateTargetsSolver, Solver, WithInference
from hullabaloo.solvers.gradient.brief import SUFFICES, bent
from hullabaloo.solvers.gradient.measured_gradient import BRIEF
from hullabaloo.solvers.gradient.schedule import FINE_BINS
from tests.solvers.tables import Array, Table, prices, problem

KEY, FULL = TestKey(bytes(32)), SOLVERS[LABORIOUS]
BELIEVED, DOUBTED, HIDDEN = ("full", "ends", "half", "few"), ("rare", "far", "weak", "skewed"), ("narrow", "unseen")
SLOW = "tails"
"""Tables on which steps suffice beside the noise of ten million records, on which they may, and which hide a direction; and one of which they would leave 0.02, as the records that decide its covariance are sure of their class."""
P, N = 12, 3_000


def table(kind: str, n: int = N, p: int = P) -> Table:
    """Numbers within [−1, 1], a constant column, and two classes whose log-odds along them have a deviation of 2."""
    rng = np.random.default_rng(0)
    X, slopes = rng.uniform(-1.0, 1.0, (n, p)), np.linspace(-1.0, 1.0, p)
    if kind == "ends":
        X = np.sign(X)
    if kind == "half":
        X *= 0.5
    if kind == "few":
        slopes[2:] = 0.0
    if kind == "skewed":
        X = 2.0 * rng.beta(0.5, 3.0, (n, p)) - 1.0
    if kind == SLOW:
        X = np.where(rng.random((n, 1)) < 0.05, np.sign(X), 0.1 * X)
    if kind == "narrow":
        X[:, 0] *= 0.002
    if kind == "unseen":
        X[:, 1] = 0.0
    odds = X @ slopes
    odds = (odds - odds.mean()) / odds.std() * {"far": 8.0, "weak": 0.3, SLOW: 20.0}.get(kind, 2.0) - 4.0 * (
        kind == "rare"
    )
    y = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-odds)), 1.0, -1.0)
    names = tuple(f"x{j}" for j in range(p + 1))
    facts = RowFacts(names, True, p + 1.0, math.sqrt(p + 1.0), 1.0, ("y",))
    return Table(np.column_stack([X, np.ones(n)]), y[:, None], facts)


def posed(data: Table, records: int, neighbours: Neighbours = Neighbours.REPLACE_ONE, **about: Any) -> Problem:
    return replace(problem(data, records=records), loss=Logistic(), neighbours=neighbours, **about)


def planned(data: Table, solver: Solver, asked: Problem) -> Plan:
    return solver.plan(asked, prices(data, asked), Allowance(Budget(1.0, 1e-9)))


class Counted:
    """A curator's answers, counted by name."""

    def __init__(self, curator: Any, asked: Counter[str]) -> None:
        self.curator, self.asked = curator, asked

    def projected(self, matrix: Array) -> "Counted":
        self.asked["whitened"] += 1
        return Counted(self.curator.projected(matrix), self.asked)

    def give_up(self, count: int) -> None:
        self.curator.give_up(count)

    def answer(self, name: str, *given: Any, **named: Any) -> Any:
        self.asked[name] += 1
        return self.curator.answer(name, *given, **named)


def ran(data: Table, solver: Solver, asked: Problem, draw: int) -> tuple[Array, dict[str, Any], Counter[str]]:
    """θ, what the trace says, and what was asked."""
    plan, counted = planned(data, solver, asked), Counter[str]()
    queries = tuple(one.resized(data.records) for one in plan.queries)
    curator = Counted(Curator(Rows(data.X, data.Y), queries, key=KEY.derive(draw)), counted)
    found = solver.run(replace(asked, records=data.records), replace(plan, queries=queries), curator)  # type: ignore[arg-type]
    about = {"centre": 0.0 * found.theta[:, 0], "intercept_weight": 1.0}
    for name, more in (
        ("centred_gradient", {"clip_norm": 1.0}),
        ("norm_histogram", {"edges": np.arange(1.0, FINE_BINS)}),
    ):
        with pytest.raises(NotPaidFor):  # or who asks next, such as an inference, would be given what it has not bought
            curator.curator.answer(name, found.theta[:, 0], **about, **more)
    return found.theta[:, 0], found.trace[0], counted


def lost(data: Table) -> Any:
    """What a θ loses of what the best slopes explain; these by Newton's steps, each as long as predictions move by at most 5."""
    X, y = data.X, data.Y[:, 0]
    best, share = np.zeros(X.shape[1]), float(np.mean(y > 0.0))
    for _ in range(60):
        chances = 1.0 / (1.0 + np.exp(-X @ best))
        bend = (X.T * np.maximum(chances * (1.0 - chances), 1e-9)) @ X / len(y) + 1e-9 * np.eye(len(best))
        step = np.linalg.solve(bend, X.T @ (chances - (y > 0.0)) / len(y))
        best -= step * min(1.0, 5.0 / max(float(np.abs(X @ step).max()), 1e-9))

    def objective(one: Array) -> float:
        return float(np.mean(np.logaddexp(0.0, -y * (X @ one))))

    least, level = objective(best), -share * math.log(share) - (1.0 - share) * math.log(1.0 - share)
    return lambda theta: (objective(theta) - least) / (level - least)


@pytest.mark.parametrize("size", [0.0, 0.5, 3.0])
def test_the_curvature_is_that_of_normal_records(size: float) -> None:
    """Against Gauss-Hermite quadrature in two dimensions."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    root = np.array([[1.0, 0.0], [-0.5, 0.8]])
    U = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2) @ root.T
    V = np.column_stack([U, np.ones(len(U))])
    point = np.append(size * np.array([0.6, -0.5]), -0.7)
    chances = 1.0 / (1.0 + np.exp(-V @ point))
    share = np.outer(weights, weights).ravel() / weights.sum() ** 2 * chances * (1.0 - chances)
    np.testing.assert_allclose(bent(root @ root.T, point), (V.T * share) @ V, atol=1e-6)


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_a_plan_costs_the_budget_and_no_more_than_it(neighbours: Neighbours) -> None:
    """With the steps that tell whether they suffice; and what is not of its kind is bought as without them."""
    data = table("full")
    asked = posed(data, 10**6, neighbours)
    own, full = (planned(data, solver, asked) for solver in (BRIEF, FULL))
    spent = [plan.event.gdp_mu() for plan in (own, full)]  # type: ignore[attr-defined]
    assert spent[1] * (1.0 - 1e-6) <= spent[0] <= spent[1] * (1.0 + 2.0**-40)
    for other in (
        posed(data, 10**6, weighted=True, max_weight=2.0),
        posed(data, 10**6, offset_bound=1.0),
        posed(data, 2_000),
        replace(asked, loss=Huber(0.5)),
    ):
        one, plain = (planned(data, solver, other) for solver in (BRIEF, FULL))
        assert (one.queries, one.reason) == (plain.queries, plain.reason)


@pytest.mark.parametrize("kind", [*BELIEVED, *DOUBTED, *HIDDEN, SLOW])
def test_brief_steps_lose_no_more_than_the_whole_plan(kind: str) -> None:
    """At most what a claim may leave, in the mean of draws, believed or not; where they suffice nothing is whitened, where a direction is hidden none is taken, and no plan asks for more than it bought."""
    data, draws = table(kind), 4
    share = lost(data)
    for records in (10**6, 10**7):
        asked = posed(data, records)
        found = [(ran(data, BRIEF, asked, draw), ran(data, FULL, asked, draw)) for draw in range(draws)]
        excess = [share(own[0]) - share(full[0]) for own, full in found]
        assert np.mean(excess) <= SUFFICES, (records, excess)
        bought = Counter[str]()
        for one in planned(data, BRIEF, asked).queries:
            bought[one.name] += one.count
        for (_, told, count), _ in found:
            enough = told.get("brief steps enough")
            assert (enough is None) == (kind in HIDDEN)
            assert enough == 1.0 or records < 10**7 or kind not in BELIEVED
            assert not (enough and kind == SLOW)
            if enough:
                assert count["whitened"] == 0 == count["gradient_moments"]
                assert count["centred_gradient"] == 7
            else:
                assert count == {**bought, "whitened": 1}


@pytest.mark.parametrize("kind", ["full", "narrow"])
def test_a_score_after_them_has_the_noise_that_it_bought(kind: str) -> None:
    """Where they suffice the level's own steps are not asked, whose answers a score took for its own."""
    data, mu, asked = table(kind), [], posed(table(kind), 10**7)
    solver = WithInference(solver=BRIEF)  # type: ignore[arg-type]
    plan = planned(data, solver, asked)
    queries = tuple(one.resized(data.records) for one in plan.queries)

    class Heard(Counted):
        def projected(self, matrix: Array) -> "Heard":
            return Heard(self.curator.projected(matrix), self.asked)

        def answer(self, name: str, *given: Any, **named: Any) -> Any:
            if name == "centred_gradient":
                mu.append(self.curator._Curator__next(name)[0].mu)
            return self.curator.answer(name, *given, **named)

    curator = Heard(Curator(Rows(data.X, data.Y), queries, key=KEY), Counter())
    found = solver.run(replace(asked, records=data.records), replace(plan, queries=queries), curator)  # type: ignore[arg-type]
    assert found.trace[0].get("brief steps enough") == (1.0 if kind == "full" else None)
    steps = [one.mu for one in queries if one.name == "centred_gradient"]
    assert mu[-2:] == steps[-2:]


def test_auto_takes_them_for_classes_of_many_cells_alone() -> None:
    """Not by name, in streams and searches, or beside inference; and an audit is of the plan that asks for all."""
    data = table("full")
    for records, taken in ((10**6, BRIEF), (2 * 10**5, FULL)):
        asked = posed(data, records)
        context = PlanContext(asked, prices(data, asked), Allowance(Budget(1.0, 1e-9)), rehearsal, held=True)
        solver, plan = choose(context, "auto")
        assert solver == taken
        assert ("if steps along it alone are not enough" in plan.reason) == (taken == BRIEF)
    context = replace(context, problem=posed(data, 10**6))
    assert choose(context, BRIEF)[0] == BRIEF
    targets = replace(data.facts, targets=("u", "v"))
    several = replace(data, Y=np.repeat(data.Y, 2, axis=1), facts=targets)
    asked = replace(posed(several, 10**6), targets=2)
    context_of_two = replace(context, problem=asked, prices=prices(several, asked))
    assert choose(context_of_two, BRIEF)[0] == SeparateTargetsSolver(FULL)  # type: ignore[arg-type]
    assert choose(context, LABORIOUS)[0] == FULL
    assert choose(replace(context, held=False), "auto")[0] == FULL
    domain = hb.Domain(dict.fromkeys("abcdefghijkl", (-1, 1)), classes=[0, 1], indicators=False)
    model = hb.LogisticRegression(domain=domain, budget=hb.Budget(1.0, 1e-9), inference=False)
    assert solver_of(model, 12, 10**6) == FULL
