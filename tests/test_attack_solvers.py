"""What was found by attacking the solvers of coordinates: what would be refused after the charge is refused before it."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.curator import GradientQuery
from hullabaloo.errors import HullabalooError, InvalidParameter
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Allowance, Event, GaussianEvent
from hullabaloo.solvers import Plan, Problem, QueryPrices, Solver
from hullabaloo.solvers.gradient.gradient import GradientSolver

KEY = TestKey(bytes(32))
COORDINATES = ["coordinate_descent", "greedy_selection", "greedy_coordinate_descent"]
rng = np.random.default_rng(0)
X = rng.uniform(-1.0, 1.0, (2000, 3))
Y = np.clip(X @ [0.3, -0.2, 0.0] + 0.1 + 0.05 * rng.normal(size=2000), -1.0, 1.0)


@pytest.mark.few(1)
@pytest.mark.parametrize("budget", [hb.Budget.zcdp(500.0), hb.Budget.gdp(100.0), hb.Budget(2000.0, 1e-6)], ids=repr)
def test_constants_with_laplace_noise_stay_within_generous_budgets(budget: hb.Budget) -> None:
    """A large μ is more than its ε by far: ½ε² may exceed ½μ², and rounding of Φ made ε infinite, which is no privacy."""
    domain = hb.Domain(features={"a": (-1, 1)}, target=(-1, 1))
    solver = hb.CoordinateDescentSolver(constants="laplace")
    model = hb.LinearRegression(budget=budget, domain=domain, solver=solver, test_key=KEY)
    assert budget.admits(model.fit(X[:, :1], Y).statement_.event)


def unpaid(model: hb.LinearRegression | hb.LinearSVC, url: str, *table: object) -> None:
    """A fit is refused in a sentence, and nothing is charged."""
    ledger = hb.Ledger(url)
    ledger.create("people", hb.Budget(1.0, 1e-6))
    model.set_params(ledger=ledger, dataset="people")
    with pytest.raises(HullabalooError, match="between 2\\^-100 and 2\\^100"):
        model.fit(*table)
    assert not ledger.charges("people")


@pytest.mark.parametrize("clip", [1e-61, 1e61, 1e-300, 1e300])
def test_clips_that_no_update_takes_cost_nothing(clip: float, tmp_path: Path) -> None:
    domain = hb.Domain(features={"a": (-1, 1)}, target=(-1, 1))
    solver = hb.CoordinateDescentSolver(clip=clip)
    model = hb.LinearRegression(budget=hb.Budget(1.0, 1e-6), domain=domain, solver=solver)
    unpaid(model, f"sqlite:///{tmp_path}/ledger.db", X[:, :1], Y)


@pytest.mark.few(4)
@pytest.mark.parametrize("solver", COORDINATES)
@pytest.mark.parametrize("largest", [1e100, 1e70, 1e-70, 5e-324])
def test_weights_of_any_size_are_taken_in_one_unit(solver: str, largest: float) -> None:
    """Updates take no weights of 10^70, and none does: they are over half their bound, whose half may be 0."""

    def theta(weight: float) -> np.ndarray:
        domain = hb.Domain(features={"a": (-1, 1)}, target={"y": (-1, 1)}, weight=("w", weight))
        table = pd.DataFrame({"a": X[:, 0], "y": Y, "w": np.where(Y > 0.0, weight, 0.0)})
        model = hb.LinearRegression(budget=hb.Budget(1.0, 1e-6), domain=domain, solver=solver, test_key=KEY)
        return model.fit(table).release_.theta

    assert np.array_equal(theta(largest), theta(2.0))


@pytest.mark.parametrize("solver", COORDINATES)
def test_smoothing_that_no_update_takes_costs_nothing(solver: str, tmp_path: Path) -> None:
    domain = hb.Domain(features={"a": (-1, 1)}, classes=[0, 1])
    model = hb.LinearSVC(budget=hb.Budget(1.0, 1e-6), domain=domain, solver=solver, smoothing=1e70)
    unpaid(model, f"sqlite:///{tmp_path}/ledger.db", X[:, :1], (Y > 0.0).astype(int))


@pytest.mark.few(1)
@pytest.mark.parametrize("solver", [hb.GreedySelectionSolver(selected=2), hb.GreedyCoordinateDescentSolver(steps=6)])
@pytest.mark.parametrize("largest", [0.01, 1.0, 100.0])
def test_greedy_steps_know_how_much_records_weigh(solver: Solver, largest: float) -> None:
    """Steps of one over the curvature of records that count once went 100 times too far where they count 100 times."""
    domain = hb.Domain(features=dict.fromkeys("abc", (-1, 1)), target={"y": (-1, 1)}, weight=("w", largest))
    table = pd.DataFrame(X, columns=list("abc")).assign(y=Y, w=largest)
    budget = hb.Budget(10.0, 1e-6)
    model = hb.LinearRegression(budget=budget, domain=domain, solver=solver, test_key=KEY).fit(table)
    assert abs(model.intercept_ - 0.1) < 0.1
    assert np.mean((model.predict(table) - Y) ** 2) < 0.3 * np.var(Y)


@pytest.mark.parametrize("solver", COORDINATES)
def test_steps_that_noise_makes_tiny_end_in_a_release(solver: str) -> None:
    """Weights of 10^30 are taken, and noise that is 10^34 times what usual steps stand, once charged, is no reason to stop."""
    domain = hb.Domain(features={"a": (-1, 1)}, target={"y": (-1, 1)}, weight=("w", 1.2e30))
    table = pd.DataFrame({"a": X[:60, 0], "y": Y[:60], "w": 1.0})
    model = hb.LinearRegression(budget=hb.Budget(1e-3, 1e-9), domain=domain, solver=solver, test_key=KEY)
    assert np.isfinite(model.fit(table).release_.theta).all()


@dataclass(frozen=True, slots=True)
class _Cheap(GradientQuery):
    """A query that states less than it costs."""

    @property
    def event(self) -> Event:
        return GaussianEvent(1e6)


@dataclass(frozen=True)
class _Liar(Solver):
    """A solver of a user's own that buys what the menu does not sell."""

    lie: str
    name = "gradient"
    run = GradientSolver.run  # type: ignore[assignment]
    predicted_risk = GradientSolver.predicted_risk  # type: ignore[assignment]

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        plan = GradientSolver().plan(problem, prices, allowance)
        query = plan.queries[0]
        assert isinstance(query, GradientQuery)
        if self.lie == "event":
            fields = (query.facts, query.neighbours, query.records, query.count, 100.0, query.loss, query.clip)
            return replace(plan, queries=(_Cheap(*fields),))
        if self.lie == "bounds":
            return replace(plan, queries=(replace(query, facts=replace(query.facts, norm_l2=1e-3)),))
        return replace(plan, queries=(replace(query, records=10 * query.records),))


@pytest.mark.parametrize("lie", ["event", "bounds", "records"])
def test_a_solver_of_ones_own_buys_from_the_menu_alone(tmp_path: Path, lie: str) -> None:
    ledger = hb.Ledger(f"sqlite:///{tmp_path / 'own.db'}")
    ledger.create("d", hb.Budget(1.0, 1e-6))
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (200, 2)), rng.uniform(-1, 1, 200)
    domain = hb.Domain(features={"a": (-1, 1), "b": (-1, 1)}, target=(-1, 1))
    model = hb.LinearRegression(
        budget=hb.Budget(1.0, 1e-6), domain=domain, solver=_Liar(lie), ledger=ledger, dataset="d"
    )
    with pytest.raises(InvalidParameter, match="not made by the prices"):
        model.fit(X, y)
    assert not list(ledger.charges("d"))
