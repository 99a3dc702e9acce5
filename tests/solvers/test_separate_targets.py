"""Several targets under a loss of one prediction: the price of all of them, and the answers about each."""

import math
from dataclasses import fields, replace

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.curator import Curator
from hullabaloo.errors import CapabilityError, NotPaidFor
from hullabaloo.losses import Huber, MultinomialLogistic, Squared
from hullabaloo.noise import TestKey
from hullabaloo.planning.named import SOLVERS as NAMED
from hullabaloo.privacy import Allowance, Budget, compose
from hullabaloo.queries import PricedQueries
from hullabaloo.solvers import (
    GradientSolver,
    MomentsSolver,
    ObjectivePerturbationSolver,
    SeparateTargetsSolver,
    Solver,
    separate,
)
from hullabaloo.solvers.gradient.measured_gradient import BRIEF
from hullabaloo.solvers.separate_targets import largest_share
from tests.solvers.tables import Table, problem, table

KEY = TestKey(bytes(range(32)))
DATA: Table = table(2000, targets=3)
TASK = replace(problem(DATA), loss=Huber(0.5))
MENU = PricedQueries(DATA.facts, TASK.neighbours, TASK.records)
ALLOWANCE = Allowance(Budget(2.0, 1e-6))
SOLVERS = [GradientSolver(), ObjectivePerturbationSolver()]


def curator(queries: tuple) -> Curator:
    from hullabaloo.data.source import Rows

    return Curator(Rows(DATA.X, DATA.Y), queries, key=KEY)


def test_only_losses_of_one_prediction_are_taken_apart() -> None:
    assert separate(TASK, GradientSolver())
    assert not separate(replace(TASK, targets=1), GradientSolver())
    assert not separate(replace(TASK, loss=MultinomialLogistic()), GradientSolver())
    assert separate(replace(TASK, loss=Squared()), GradientSolver())
    assert not separate(replace(TASK, loss=Squared()), MomentsSolver())  # which serve all targets


@pytest.mark.few(1)
@pytest.mark.parametrize("inner", SOLVERS, ids=lambda solver: solver.name)
def test_the_plan_uses_the_budget_up_and_no_more(inner) -> None:
    plan = SeparateTargetsSolver(inner).plan(TASK, MENU, ALLOWANCE)
    assert ALLOWANCE.takes(plan.event)
    assert not ALLOWANCE.scaled(0.97).takes(plan.event)
    alone = inner.plan(replace(TASK, targets=1), MENU, ALLOWANCE)
    assert plan.queries == plan.queries[: len(plan.queries) // 3] * 3
    if inner.name == "gradient":
        third = compose(plan.queries[0].event, count=plan.queries[0].count).gdp_mu()
        assert third == pytest.approx(
            compose(alone.queries[0].event, count=alone.queries[0].count).gdp_mu() / math.sqrt(3), rel=0.02
        )


@pytest.mark.parametrize(
    "inner", [SOLVERS[0], pytest.param(SOLVERS[1], marks=pytest.mark.slow)], ids=lambda solver: solver.name
)
def test_every_target_is_learned_and_every_answer_is_paid_for(inner) -> None:
    solver = SeparateTargetsSolver(inner)
    plan = solver.plan(TASK, MENU, Allowance(Budget(20.0, 1e-6)))
    asked = curator(plan.queries)
    theta = solver.run(TASK, plan, asked).theta
    assert theta.shape == (4, 3)
    best = np.linalg.lstsq(DATA.X, DATA.Y, rcond=None)[0]
    for j in range(3):
        assert np.linalg.norm(theta[:, j] - best[:, j]) < 0.5 * np.linalg.norm(best[:, j])
    for j in range(3):  # nothing is left, whoever asks
        with pytest.raises(NotPaidFor, match="all have been given"):
            inner.run(replace(TASK, targets=1), replace(plan, queries=plan.queries), asked.of_target(j))
    assert solver.predicted_risk(TASK, plan) > 0.0


def test_a_budget_larger_than_noise_can_use_is_shared_too() -> None:
    allowance = Allowance(Budget(1e12, 1e-6))
    plan = SeparateTargetsSolver(GradientSolver()).plan(TASK, MENU, allowance)
    assert allowance.takes(plan.event)
    assert plan.event.profile(30.0) > 1e-6  # most of what can be used is


@pytest.mark.parametrize("edge", [1.05, 0.9, 1e-2, 1e-9, 1e-200])
def test_the_largest_share_is_found_however_far_below(edge: float) -> None:
    def search(least: float) -> float | None:
        return largest_share(lambda x: x if x <= edge else None, 1.0, 1.1, shorter=0.85, least=least, fine=1.005)  # type: ignore[return-value, arg-type]

    assert edge / 1.005 <= search(1e-210) <= edge  # type: ignore[operator]
    assert (search(0.1) is None) == (edge < 0.1)


def test_answers_about_different_targets_have_different_noise() -> None:
    """Under one key: the same noise twice would cancel in the difference of two answers."""
    query = MENU.price("gradient", loss=Huber(0.5), clip=0.5, mu=0.1, count=2)
    asked = curator((query,))
    theta = np.zeros(4)
    noise = []
    for j in (0, 1):
        exact = DATA.X.T @ np.clip(-DATA.Y[:, j], -0.5, 0.5) / 2000
        noise.append(asked.of_target(j).answer("gradient", theta) - exact)
    assert np.abs(noise[0] - noise[1]).min() > 1e-6
    with pytest.raises(NotPaidFor):
        asked.answer("gradient", theta)


USUAL = list(NAMED.values())
SWITCHED = [
    replace(one, **{option.name: not getattr(one, option.name)})  # type: ignore[type-var]
    for one in USUAL
    for option in fields(one)  # type: ignore[arg-type]
    if isinstance(getattr(one, option.name), bool)
]


@pytest.mark.filterwarnings("ignore::hullabaloo.errors.NotPrivateWarning")
@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove"])
@pytest.mark.parametrize(
    "solver",
    [pytest.param(one, marks=() if one == BRIEF else pytest.mark.slow) for one in (*USUAL, *SWITCHED)],
    ids=str,
)
def test_whatever_one_target_gives_up_the_next_one_has(solver: Solver, neighbours: str) -> None:
    """Every solver and option that learns one target learns four, or is refused before the charge: steps of classes that gave up what follows counted it from the first target's answers."""
    g = np.random.default_rng(0)
    X, names = g.uniform(-1.0, 1.0, (20_000, 3)), dict.fromkeys("abc", (-1, 1))
    domain = hb.Domain(names, classes=[0, 1, 2, 3], indicators=False, records=len(X))
    model = hb.LogisticRegression(
        domain=domain,
        solver=solver,
        budget=hb.Budget(1e3, 1e-6),
        neighbours=neighbours,
        inference=False,
        test_key=bytes(32),
    )
    try:
        model.fit(X, g.integers(0, 4, len(X)))
    except CapabilityError as error:
        assert "charge" not in str(error) or "Nothing was charged" in str(error)  # noqa: PT017
        return
    assert np.isfinite(model.coef_).all()
