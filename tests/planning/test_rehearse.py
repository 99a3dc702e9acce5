"""Rehearsals: the noise of a mean over few rows is that of the declared number, and the risk is measured from the optimum."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hullabaloo
from hullabaloo.curator import Curator, Query
from hullabaloo.curator.centred_gradient import CentredGradientQuery
from hullabaloo.data import Rows
from hullabaloo.errors import NotPaidFor
from hullabaloo.geometry import Intervals, NoPenalty, SquaredL2Penalty, SubmodularPenalty
from hullabaloo.losses import Huber, Logistic, MultinomialLogistic
from hullabaloo.noise import TestKey
from hullabaloo.planning.choose import exact, forecasts
from hullabaloo.planning.context import PlanContext
from hullabaloo.planning.forecasts import Rehearsals, objective
from hullabaloo.planning.named import SOLVERS
from hullabaloo.planning.synthetic import SCENARIOS, SyntheticTable, synthetic_table
from hullabaloo.privacy import Allowance, Neighbours
from hullabaloo.queries import QUERIES
from hullabaloo.release.rehearsal import _Steps, rehearsal
from hullabaloo.solvers import Problem
from tests.solvers.tables import prices, problem, table

DATA = table(50, 4, intercept=True)
SOURCE = Path(hullabaloo.__file__).parent


def asked(n: int) -> Problem:
    return problem(DATA, Neighbours.REPLACE_ONE, records=n)


def test_a_resized_query_has_the_noise_of_the_mean() -> None:
    full = prices(DATA, asked(80_000)).price("moments", mu=0.3, target_scale=1.0)
    small = full.resized(800)
    assert small.sigma / 800 == pytest.approx(full.sigma / 80_000, rel=1e-6)
    free = prices(DATA, asked(80_000)).price("moments", mu=math.inf, target_scale=1.0).resized(800)
    assert free.sigma == 0.0


def test_without_noise_nothing_is_lost_and_a_constant_loses() -> None:
    pose = asked(5_000)
    rehearsals = Rehearsals(pose, exact(pose, prices(DATA, pose)), rehearsal, {})
    for stage in map(rehearsals.stage, rehearsals.scenarios):
        best = stage.optimum
        assert stage.constant > best
        moved = np.zeros((pose.dimension, 1))
        assert objective(stage.problem, stage.table, moved) - stage.optimum >= -1e-12


@pytest.mark.slow
def test_more_records_are_expected_to_help(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: SOLVERS[name] for name in ("moments", "gradient")}
    monkeypatch.setattr("hullabaloo.planning.choose.SOLVERS", few)

    def lost(n: int) -> float:
        pose = asked(n)
        return forecasts(PlanContext(pose, prices(DATA, pose), Allowance.gdp(0.2), rehearsal))[0].lost

    assert lost(1_000_000) < 0.05 < lost(300)


def test_a_rehearsal_is_repeatable(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: SOLVERS[name] for name in ("moments", "preconditioned_gradient", "greedy_selection")}
    monkeypatch.setattr("hullabaloo.planning.choose.SOLVERS", few)
    pose = asked(1_000)
    first = forecasts(PlanContext(pose, prices(DATA, pose), Allowance.gdp(0.2), rehearsal))
    again = forecasts(PlanContext(pose, prices(DATA, pose), Allowance.gdp(0.2), rehearsal))
    assert [one.risk for one in first] == [one.risk for one in again]


def test_targets_that_share_nothing_are_penalised_one_by_one() -> None:
    """A norm of as many columns as one target has; the intercept of each is free."""
    penalty = SubmodularPenalty(Intervals(4), 0.3)
    pose = replace(asked(1_000), loss=Logistic(), targets=3, penalty=penalty)
    rows = synthetic_table(pose, SCENARIOS[0], 40)
    theta = np.arange(15.0).reshape(5, 3)
    apart = [objective(replace(pose, targets=1), replace(rows, Y=rows.Y[:, [j]]), theta[:, [j]]) for j in range(3)]
    assert objective(pose, rows, theta) == pytest.approx(sum(apart), rel=1e-12)
    plain = replace(pose, penalty=NoPenalty())
    added = objective(pose, rows, theta) - objective(plain, rows, theta)
    assert added == pytest.approx(sum(penalty.value(column) for column in theta[:-1].T.copy()))


def test_predictions_that_are_learned_together_have_free_intercepts() -> None:
    """All of them, not the last alone."""
    pose = replace(asked(1_000), loss=MultinomialLogistic(), targets=3, penalty=SquaredL2Penalty(0.3))
    rows = synthetic_table(pose, SCENARIOS[0], 40)
    theta = np.arange(15.0).reshape(5, 3)
    added = objective(pose, rows, theta) - objective(replace(pose, penalty=NoPenalty()), rows, theta)
    assert added == pytest.approx(pose.penalty.value(theta[:-1].ravel()))


@pytest.mark.parametrize("view", ["whole", "one target", "columns", "matrix", "offset"])
def test_steps_of_a_rehearsal_are_those_about_records(view: str) -> None:
    """Whatever they are asked through, at whatever point, centre and length: the same sums and the same noise of the key, in the order in which answers are given, and noise of the query's law."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-1.0, 1.0, (300, 4)), np.ones(300)])
    Y = rng.uniform(-1.0, 1.0, (300, 2))
    rows = Rows(X, Y, offset=rng.uniform(-1.0, 1.0, 300) if view == "offset" else None)
    p = 3 if view == "columns" else 5
    facts = replace(DATA.facts, columns=tuple("abcde"), targets=("u", "v"))
    facts = facts.restricted(2) if view == "columns" else facts

    def asked(mu: float, kind: type) -> Any:
        query: Any = CentredGradientQuery(facts, Neighbours.REPLACE_ONE, 300, 400, mu, Huber(0.4))
        object.__setattr__(query, "__class__", kind)
        curator = Curator(rows, [query], key=TestKey(bytes(32)))
        if view == "columns":
            return query, [curator.restricted([0, 2])]
        if view == "matrix":
            return query, [curator.projected(turn)]
        return query, [curator.of_target(k) for k in (1, 0, 1)] if view == "one target" else [curator]

    turn = rng.normal(size=(5, 5))
    (exact, plain), (_, tried) = asked(0.5, CentredGradientQuery), asked(0.5, _Steps)
    for weights in (1.0, 2.5, 1.0, rng.uniform(0.5, 2.0, p)):
        theta, centre = rng.normal(size=p), np.append(rng.uniform(-0.5, 0.5, p - 1), 0.0)
        about = {"centre": centre, "intercept_weight": weights, "clip_norm": float(rng.uniform(0.1, 1.0))}
        for one, other in zip(plain, tried, strict=True):
            same = one.answer("centred_gradient", theta, **about), other.answer("centred_gradient", theta, **about)
            assert same[0] == pytest.approx(same[1], abs=1e-9 * exact.sigma)
    query, (one, *_) = asked(0.5, _Steps)
    about = {"centre": np.zeros(p), "intercept_weight": 1.0, "clip_norm": 0.5}
    drawn = np.array([one.answer("centred_gradient", np.zeros(p), **about) for _ in range(400)]) * 300 / 0.5
    assert np.linalg.norm(drawn.std(axis=0)) == pytest.approx(query.sigma * math.sqrt(p), rel=0.1)
    with pytest.raises(NotPaidFor):
        one.answer("centred_gradient", np.zeros(p), **about)


def test_what_answers_rehearsals_answers_nothing_about_records() -> None:
    """Their noise is known to everybody. Of all classes of queries those that are not for sale are no plan's, whatever a plan's query was made into; and a rehearsal is of a synthetic table alone, which one function makes."""
    kinds, left = list[type](), list[type]([Query])
    while left:
        kinds.append(kind := left.pop())
        left += [one for one in kind.__subclasses__() if one.__module__.startswith("hullabaloo.")]
    shop = prices(DATA, asked(300))
    for kind in {*kinds} - {*QUERIES.values()}:
        query = shop.price("centred_gradient", loss=Logistic(), mu=0.1)
        assert shop.own(query) is not None
        object.__setattr__(query, "__class__", kind)
        assert shop.own(query) is None
    assert _Steps in kinds
    posed, solver = asked(300), SOLVERS["preconditioned_gradient"]
    plan = solver.plan(posed, prices(DATA, posed), Allowance.gdp(1.0))
    assert rehearsal(posed, solver, plan, synthetic_table(posed, SCENARIOS[0], 300), 0).theta.shape == (
        posed.dimension,
        1,
    )
    rows = Rows(DATA.X, DATA.Y)
    for real in (rows, type("Alike", (SyntheticTable,), {})(rows.X, rows.Y, None, np.zeros((1, 1)))):
        with pytest.raises(TypeError, match="of a synthetic table alone"):
            rehearsal(posed, solver, plan, real, 0)
    texts = {str(path.relative_to(SOURCE)): path.read_text() for path in SOURCE.rglob("*.py")}
    assert [name for name, text in texts.items() if "_Steps" in text] == ["release/rehearsal.py"]
    assert [name for name, text in texts.items() if "SyntheticTable(" in text] == ["planning/synthetic.py"]
