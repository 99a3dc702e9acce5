"""The prox of any set function, against closed forms, and how the search ends."""

import numpy as np
import pytest

from hullabaloo.geometry import ConcaveCardinality, CustomSetFunction, GroupCover, Intervals, SubmodularBall
from hullabaloo.geometry.submodular import norm
from hullabaloo.geometry.submodular.norm import minimum_norm_prox, prox


class Counted:
    """The value of a set function as a callable, and how often it was called."""

    def __init__(self, function, p):
        self.function, self.p, self.calls = function, p, 0

    def __call__(self, columns):
        self.calls += 1
        return self.function.value(np.isin(np.arange(self.p), list(columns)))


def as_custom(function, p):
    return CustomSetFunction(Counted(function, p), p, check=False)


CLOSED = [
    lambda p: ConcaveCardinality.power(p, 0.5),
    lambda p: Intervals(),
    lambda p: GroupCover.grid(5, p // 5),
    lambda p: GroupCover.tree([(j + 1) // 2 - 1 for j in range(p)]),
]


@pytest.mark.parametrize("closed", CLOSED, ids=["root", "intervals", "grid", "tree"])
@pytest.mark.parametrize("weight", [0.003, 0.03, 0.3])
def test_it_agrees_with_closed_forms(closed, weight):
    p = 30
    function = closed(p)
    v = np.random.default_rng(0).normal(size=p)
    assert prox(as_custom(function, p), v, weight) == pytest.approx(function.prox(v, weight), abs=1e-13)


@pytest.mark.parametrize("closed", CLOSED, ids=["root", "intervals", "grid", "tree"])
def test_balls_of_any_function_agree_with_closed_forms(closed):
    p = 20
    function = closed(p)
    v = np.random.default_rng(1).normal(size=p)
    for radius in (0.5, 10.0):
        known = SubmodularBall(function, radius).project(v)
        assert SubmodularBall(as_custom(function, p), radius).project(v) == pytest.approx(known, abs=1e-12)


def test_equal_and_single_and_zero_entries():
    function = as_custom(Intervals(), 6)
    assert prox(function, np.zeros(6), 1.0).tolist() == [0.0] * 6
    assert prox(function, np.full(6, -3.0), 0.1) == pytest.approx(Intervals().prox(np.full(6, -3.0), 0.1))
    one = as_custom(Intervals(), 1)
    assert prox(one, np.array([-2.0]), 0.5) == pytest.approx([-1.5])
    assert prox(one, np.array([1e300]), 0.5) == pytest.approx([1e300])
    assert prox(function, np.ones(6), 1e6).tolist() == [0.0] * 6


def test_a_search_that_starts_from_an_answer_nearby_is_shorter():
    p, rng = 40, np.random.default_rng(2)
    t = np.abs(rng.normal(size=p))
    cold = as_custom(Intervals(), p)
    _, corral = minimum_norm_prox(cold, t, 0.02)
    assert corral.weights.min() > 0.0
    assert corral.weights.sum() == pytest.approx(1.0)
    before = cold.function.calls
    expected, _ = minimum_norm_prox(cold, t, 0.0201)
    afresh = cold.function.calls - before
    warm, _ = minimum_norm_prox(cold, t, 0.0201, corral)
    assert warm == pytest.approx(expected, abs=1e-13)
    assert cold.function.calls - before - afresh < 0.5 * afresh


def test_the_number_of_steps_is_bounded_and_the_gap_stated(monkeypatch):
    """With the criteria out of reach the search still ends, and what it gives is optimal along its order."""
    p = 12
    t = np.abs(np.random.default_rng(3).normal(size=p))
    function = as_custom(Intervals(), p)
    exact, _ = minimum_norm_prox(function, t, 0.05)
    function.function.calls = 0
    monkeypatch.setattr(norm, "_GAP", -1.0)
    found, corral = minimum_norm_prox(function, t, 0.05)
    assert function.function.calls <= (20 * p + 201) * p
    x = corral.weights @ (0.05 * corral.vertices - t)
    above = np.maximum(0.0, -x)
    assert np.sum((found - exact) ** 2) <= above @ above - found @ found + 1e-13
