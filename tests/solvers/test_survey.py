"""Intercepts that a walk seen from the centre has driven out of their bounds."""

import numpy as np
import pytest

from hullabaloo.geometry import L1Ball
from hullabaloo.solvers import Problem
from hullabaloo.solvers.gradient.survey import held
from tests.solvers.tables import problem, table

CENTRE = np.array([0.6, -0.6, 0.0, 0.0])


def asked(radius: float | None) -> Problem:
    return problem(table(p=3, intercept=True), constraint=None if radius is None else L1Ball(radius))


@pytest.mark.parametrize("last", [-3.0, -1.2, 1.5])
def test_an_intercept_comes_back_and_the_prediction_at_the_centre_stays(last: float) -> None:
    theta = np.array([0.5, -0.5, 0.2, last])
    kept = held(asked(20.0), theta, CENTRE)
    assert kept[-1] == np.clip(last, -1.0, 1.0)
    assert kept[:3] @ CENTRE[:3] + kept[-1] == pytest.approx(theta[:3] @ CENTRE[:3] + last, abs=1e-12)
    assert kept[2] == theta[2], "what is at a right angle to the centre is not touched"
    small = held(asked(0.5), theta, CENTRE)
    assert np.abs(small[:3]).sum() <= 0.5 + 1e-12
    assert abs(small[-1]) <= 1.0


def test_nothing_moves_without_need() -> None:
    theta = np.array([0.5, -0.5, 0.2, 0.9])
    assert np.array_equal(held(asked(20.0), theta, CENTRE), theta)
    far = np.array([0.5, -0.5, 0.2, 9.0])
    assert np.array_equal(held(asked(None), far, CENTRE), far)
    assert np.array_equal(held(asked(20.0), far, np.zeros(4)), [0.5, -0.5, 0.2, 1.0])
