"""What solvers take from a public table: no sensitivity rests on it, a right one is confirmed, and a wrong one is left behind."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hullabaloo.curator import CentredGradientQuery, Curator
from hullabaloo.curator.views import turned_rows
from hullabaloo.data.source import Rows
from hullabaloo.losses import Logistic, Loss, Poisson, Squared
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Allowance, Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.release.public_table import learned
from hullabaloo.solvers import AdaptiveGradientSolver, PreconditionedGradientSolver, Problem
from hullabaloo.solvers.gradient.coordinates import Coordinates
from hullabaloo.solvers.gradient.public_start import LEVELS, PARTS, confirmed_level
from hullabaloo.solvers.public import PublicTable
from tests.curator.neighbours import facts, pairs
from tests.solvers.tables import Table, prices, problem, table

SOLVERS = (AdaptiveGradientSolver(), PreconditionedGradientSolver())


def hostile(rng: np.random.Generator, width: int) -> Iterator[PublicTable]:
    """Public tables of whatever an encoding lets through, with models of whatever size."""
    for size in (0.0, 1e-300, 1e-3, 1.0, 1e6, 1e150):
        X = np.column_stack([rng.choice([-1.0, 0.0, 1.0], (30, width - 1)), np.ones(30)])
        y = rng.choice([0.0, 1.0], (30, 1))
        yield PublicTable(f"{size}", X, y, None, size * rng.normal(size=(width, 1)))
    yield PublicTable("constant", np.ones((30, width)), np.ones((30, 1)), None, np.ones((width, 1)))


class Asked:
    """Answers without noise about two neighbours, and how far apart these are in units of the stated sensitivity."""

    def __init__(self, left: Rows, right: Rows, query: CentredGradientQuery) -> None:
        self.pair, self.query, self.far = (left, right), query, 0.0

    def projected(self, matrix: np.ndarray) -> "Asked":
        self.pair = tuple(turned_rows(one, np.ascontiguousarray(matrix)) for one in self.pair)  # type: ignore[assignment]
        return self

    def answer(self, name: str, *given: Any, **named: Any) -> np.ndarray:
        assert name == self.query.name
        question = self.query.question(*given, **named)
        left, right = (self.query.exact(one, *question) for one in self.pair)
        self.far = max(self.far, float(np.linalg.norm(left - right)) / self.query.sensitivity)
        return self.query.read(left, *question)


@pytest.mark.few(3)
@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("loss", [Squared(), Logistic(), Poisson()], ids=lambda one: one.name)
def test_no_public_table_moves_a_check_by_more_than_its_sensitivity(relation: Neighbours, loss: Loss) -> None:
    rng, about = np.random.default_rng(5), replace(facts(6), intercept=True)
    query = CentredGradientQuery(about.restricted(1), relation, 20, LEVELS + PARTS, 0.5, loss)
    posed = Problem(loss, 6, True, about.norm_l1, about.norm_l2, about.norm_linf, 1, 20, relation)
    for public in hostile(rng, 6):
        for left, right in pairs(rng, relation, about, rounds=4):
            asked = Asked(left, right, query)
            view = Coordinates(rng.uniform(-1.0, 1.0, 5), 1.0, 1.0, True)
            level = confirmed_level(replace(posed, public=public), asked, view, 0.01, 1.0, 1.0)  # type: ignore[arg-type]
            assert level is None or np.isfinite(level)
            assert asked.far <= 1.0


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda one: one.name)
@pytest.mark.parametrize("intercept", [True, False])
def test_whatever_is_public_plans_cost_the_same_and_end_in_numbers(solver: Any, intercept: bool) -> None:
    data, rng = table(n=500, intercept=intercept), np.random.default_rng(6)
    plain, events = problem(data), set()
    for public in hostile(rng, data.X.shape[1]):
        posed = replace(plain, public=public)
        plan = solver.plan(posed, prices(data, posed), Allowance.gdp(0.3))
        events.add(round(plan.event.gdp_mu(), 12))
        curator = Curator(Rows(data.X, data.Y), plan.queries, key=TestKey(bytes(32)))
        assert np.isfinite(solver.run(posed, plan, curator).theta).all()
    assert len(events) == 1
    assert 0.3 * (1.0 - 1e-6) <= events.pop() <= 0.3 * (1.0 + 1e-9)


def made(solver: Any, data: Table, public: PublicTable | None, mu: float, draws: int) -> np.ndarray:
    """Mean excess of the loss over that of least squares."""
    posed = replace(problem(data), public=public)
    plan = solver.plan(posed, prices(data, posed), Allowance.gdp(mu))
    best = np.linalg.lstsq(data.X, data.Y[:, 0], rcond=None)[0]
    keys = (TestKey(bytes(32)).derive(draw + 1) for draw in range(draws))
    found = [solver.run(posed, plan, Curator(Rows(data.X, data.Y), plan.queries, key=key)) for key in keys]
    return np.array([np.mean((data.X @ (one.theta[:, 0] - best)) ** 2) for one in found])


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda one: one.name)
def test_a_right_table_helps_and_a_wrong_one_does_little_harm(solver: Any) -> None:
    """Columns of uneven scale, and targets that they tell. Fixed keys: nothing here is left to chance."""
    data, rng = table(p=8, n=6_000, intercept=True), np.random.default_rng(7)
    scale = np.append(np.geomspace(1.0, 0.1, 8), 1.0)
    data.X[:] *= scale
    data.Y[:, 0] = data.X @ (0.25 / scale) + 0.01 * rng.normal(size=6_000)
    X, y = data.X[:500], data.Y[:500]
    right = learned(Squared(), X, y, intercept=True)
    turned = learned(Squared(), X, -y, intercept=True)
    large = replace_theta(right, 30.0)
    shuffled = learned(Squared(), X, rng.permutation(y), intercept=True)
    without = np.median(made(solver, data, None, 0.03, 9))
    assert np.median(made(solver, data, right, 0.03, 9)) <= 0.5 * without
    constant = float(np.var(data.Y))
    for wrong in (turned, large, shuffled):
        assert np.median(made(solver, data, wrong, 0.03, 9)) <= without + 0.05 * constant


def replace_theta(one: PublicTable, times: float) -> PublicTable:
    return PublicTable(f"{one.digest} {times}", one.X, one.Y, one.offset, times * one.theta)


def test_a_model_that_does_not_gain_what_it_promises_is_told_from_one_that_does() -> None:
    """With hardly any noise the right model starts at its own level, as seen from the centre; one four times as long, or turned round, does not start."""
    data = table(n=4_000, intercept=True)
    right = learned(Squared(), data.X, data.Y, intercept=True)
    posed = problem(data)
    one = PricedQueries(data.facts, posed.neighbours, posed.records).restricted(1)
    query = one.price("centred_gradient", loss=posed.loss, mu=1e3, count=LEVELS + PARTS)
    for times, stands in ((1.0, True), (4.0, False), (-1.0, False)):
        view = Coordinates(data.X[:, :-1].mean(axis=0), 1.0, 1.0, True)
        curator = Curator(Rows(data.X, data.Y), (query,), key=TestKey(bytes(32)))
        asked = replace(posed, public=replace_theta(right, times))
        level = confirmed_level(asked, curator, view, 1e-6, 1.0, 1.0)  # type: ignore[arg-type]
        assert (level is not None) == stands
        assert level is None or level == pytest.approx(data.Y.mean(), abs=0.01)
