"""What solvers take from a public table: no sensitivity rests on it, a right one is confirmed, and a wrong one is left behind."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hullabaloo.curator import Curator
from hullabaloo.curator.centred_gradient import CentredGradientQuery
from hullabaloo.curator.norm_histogram import NormHistogramQuery
from hullabaloo.curator.views import turned_rows
from hullabaloo.data.source import Rows
from hullabaloo.losses import Logistic, Loss, Poisson, Squared
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Allowance, Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.release.public_table import learned
from hullabaloo.solvers import AdaptiveGradientSolver, PreconditionedGradientSolver, Problem
from hullabaloo.solvers.gradient.coordinates import Coordinates
from hullabaloo.solvers.gradient.histogram import BINS
from hullabaloo.solvers.gradient.public_start import ASKED, Way, confirmed
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

    def __init__(self, left: Rows, right: Rows, *queries: CentredGradientQuery | NormHistogramQuery) -> None:
        self.pair, self.queries, self.far = (left, right), {one.name: one for one in queries}, 0.0

    def projected(self, matrix: np.ndarray) -> "Asked":
        self.pair = tuple(turned_rows(one, np.ascontiguousarray(matrix)) for one in self.pair)  # type: ignore[assignment]
        return self

    def answer(self, name: str, *given: Any, **named: Any) -> np.ndarray:
        query = self.queries[name]
        question = query.question(*given, **named)
        left, right = (query.exact(one, *question) for one in self.pair)
        self.far = max(self.far, float(np.linalg.norm(left - right)) / query.sensitivity)
        return query.read(left, *question) * (name != "norm_histogram")  # so that derivatives are asked for, too


@pytest.mark.few(3)
@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("loss", [Squared(), Logistic(), Poisson()], ids=lambda one: one.name)
def test_no_public_table_moves_a_check_by_more_than_its_sensitivity(relation: Neighbours, loss: Loss) -> None:
    rng, about = np.random.default_rng(5), replace(facts(6), intercept=True)
    steps = CentredGradientQuery(about.restricted(1), relation, 20, ASKED, 0.5, loss)
    spread = NormHistogramQuery(about.restricted(1), relation, 20, 1, 0.5, loss, BINS)
    posed = Problem(loss, 6, True, about.norm_l1, about.norm_l2, about.norm_linf, 1, 20, relation)
    for public in hostile(rng, 6):
        for left, right in pairs(rng, relation, about, rounds=4):
            asked = Asked(left, right, steps, spread)
            view = Coordinates(rng.uniform(-1.0, 1.0, 5), 1.0, 1.0, True)
            found = confirmed(replace(posed, public=public), asked, view, 1e-9, 0.5, 1.0)  # type: ignore[arg-type]
            assert found is None or np.isfinite(found).all()
            assert asked.far <= 1.0


@pytest.mark.few(1)
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


@pytest.mark.slow
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
    without = np.median(made(solver, data, None, 0.03, 11))
    assert np.median(made(solver, data, right, 0.03, 11)) <= 0.5 * without
    constant = float(np.var(data.Y))
    for wrong in (turned, large, shuffled):
        assert np.median(made(solver, data, wrong, 0.03, 11)) <= without + 0.05 * constant


def replace_theta(one: PublicTable, times: float) -> PublicTable:
    return PublicTable(f"{one.digest} {times}", one.X, one.Y, one.offset, times * one.theta)


def doubted(
    data: Table, right: PublicTable, times: float, asked: Rows | None = None
) -> tuple[tuple[float, float] | None, float]:
    """What is found with hardly any noise of a model so many times as long, and the mean of the public predictions."""
    posed = replace(problem(data), public=replace_theta(right, times))
    one = PricedQueries(data.facts, posed.neighbours, posed.records).restricted(1)
    queries = (
        one.price("norm_histogram", loss=posed.loss, bins=BINS, mu=1e3, count=1),
        one.price("centred_gradient", loss=posed.loss, mu=1e3, count=ASKED),
    )
    view = Coordinates(data.X[:, :-1].mean(axis=0), 1.0, 1.0, True)
    curator = Curator(Rows(data.X, data.Y) if asked is None else asked, queries, key=TestKey(bytes(32)))
    return confirmed(posed, curator, view, 1e-6, 1.0, 1.0), float(data.Y.mean())  # type: ignore[arg-type]


def test_a_model_is_started_from_as_far_as_it_gains() -> None:
    """With hardly any noise: the right one, one turned round, and one four times as long, of which a part that is no longer than right stands; at its own level."""
    data = table(n=4_000, intercept=True)
    right = learned(Squared(), data.X, data.Y, intercept=True)
    for times, least, most in ((1.0, 0.7, 1.0), (4.0, 0.1, 0.25), (-1.0, 0.0, 0.0)):
        found, mean = doubted(data, right, times)
        assert least <= (0.0 if found is None else found[0]) <= most
        assert found is None or found[1] == pytest.approx(mean, abs=0.05)  # the middle of a part tells its end


def test_records_that_lie_elsewhere_confirm_nothing() -> None:
    """Twice as far from the middle, with targets that the model tells all the same."""
    data = table(n=4_000, intercept=True)
    right = learned(Squared(), data.X, data.Y, intercept=True)
    X = data.X.copy()
    X[:, :-1] = 2.0 * X[:, :-1] - X[:, :-1].mean(axis=0)
    assert doubted(data, right, 1.0)[0] is not None
    assert doubted(data, right, 1.0, Rows(X, X @ right.theta))[0] is None


def test_a_check_is_bought_only_where_it_can_tell() -> None:
    """Shares of the budget grow as the square of noise, up to a tenth; beyond, and of a model that says nothing, nothing is asked for."""
    data = table(n=4_000, intercept=True)
    right = learned(Squared(), data.X, data.Y, intercept=True)
    way = Way.of(replace(problem(data), public=right))
    assert way is not None
    dear = [way.check(noise, 0.001, 1.0, residual=True)[0] for noise in np.geomspace(1e-5, 1.0, 12)]
    last = dear.index(0.0)
    assert 0 < last < 12
    assert not any(dear[last:])
    assert max(dear) <= 0.1
    assert way.check(1e-5, 1.0, 1.0, residual=True) == (0.0, 0.0, 0.0)
    assert Way.of(replace(problem(data), public=replace_theta(right, 0.0))) is None
    plain = AdaptiveGradientSolver()
    said = [replace(problem(data), public=one) for one in (None, replace_theta(right, 0.0))]
    plans = [plain.plan(one, prices(data, one), Allowance.gdp(0.3)).to_dict() for one in said]
    assert plans[0] == plans[1]
