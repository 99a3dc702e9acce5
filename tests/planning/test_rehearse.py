"""Rehearsals: the noise of a mean over few rows is that of the declared number, and the risk is measured from the optimum."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hullabaloo.geometry import Intervals, NoPenalty, SubmodularPenalty
from hullabaloo.losses import Logistic
from hullabaloo.planning.choose import exact, forecasts
from hullabaloo.planning.context import PlanContext
from hullabaloo.planning.forecasts import Rehearsals, objective
from hullabaloo.planning.named import SOLVERS
from hullabaloo.planning.synthetic import SCENARIOS, synthetic_table
from hullabaloo.privacy import Allowance, Neighbours
from hullabaloo.release.rehearsal import rehearsal
from hullabaloo.solvers import Problem
from tests.solvers.tables import prices, problem, table

DATA = table(50, 4, intercept=True)


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
    rehearsals = Rehearsals(pose, exact(pose, prices(DATA, pose)), rehearsal(DATA.facts), {})
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
        return forecasts(PlanContext(pose, prices(DATA, pose), Allowance.gdp(0.2), rehearsal(DATA.facts)))[0].lost

    assert lost(1_000_000) < 0.05 < lost(300)


def test_a_rehearsal_is_repeatable(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: SOLVERS[name] for name in ("moments", "preconditioned_gradient", "greedy_selection")}
    monkeypatch.setattr("hullabaloo.planning.choose.SOLVERS", few)
    pose = asked(1_000)
    first = forecasts(PlanContext(pose, prices(DATA, pose), Allowance.gdp(0.2), rehearsal(DATA.facts)))
    again = forecasts(PlanContext(pose, prices(DATA, pose), Allowance.gdp(0.2), rehearsal(DATA.facts)))
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
