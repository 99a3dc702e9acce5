"""Rehearsals: the noise of a mean over few rows is that of the declared number, and the risk is measured from the optimum."""

import math

import numpy as np
import pytest

from hullabaloo.fit import rehearsal
from hullabaloo.planning.choose import exact, prospects
from hullabaloo.planning.rehearse import stages
from hullabaloo.privacy import Allowance, Neighbours
from hullabaloo.solvers import Problem
from tests.solvers.tables import menu, problem, table

DATA = table(50, 4, intercept=True)


def asked(n: int) -> Problem:
    return problem(DATA, Neighbours.REPLACE_ONE, records=n)


def test_a_resized_query_has_the_noise_of_the_mean() -> None:
    full = menu(DATA, asked(80_000)).moments(mu=0.3, target_scale=1.0)
    small = full.resized(800)
    assert small.sigma / 800 == pytest.approx(full.sigma / 80_000, rel=1e-6)
    free = menu(DATA, asked(80_000)).moments(mu=math.inf, target_scale=1.0).resized(800)
    assert free.sigma == 0.0


def test_without_noise_nothing_is_lost_and_a_constant_loses() -> None:
    pose = asked(5_000)
    for stage in stages(pose, exact(pose, menu(DATA, pose)), rehearsal(DATA.facts)):
        best = stage.optimum
        assert stage.constant > best
        moved = np.zeros((pose.dimension, 1))
        assert stage.excess(moved) >= -1e-12


def test_more_records_are_expected_to_help() -> None:
    def lost(n: int) -> float:
        pose = asked(n)
        return prospects(pose, menu(DATA, pose), Allowance.gdp(0.2), rehearsal(DATA.facts))[0].lost

    assert lost(1_000_000) < 0.05 < lost(300)


def test_a_rehearsal_is_repeatable() -> None:
    pose = asked(1_000)
    first = prospects(pose, menu(DATA, pose), Allowance.gdp(0.2), rehearsal(DATA.facts))
    again = prospects(pose, menu(DATA, pose), Allowance.gdp(0.2), rehearsal(DATA.facts))
    assert [one.risk for one in first] == [one.risk for one in again]
