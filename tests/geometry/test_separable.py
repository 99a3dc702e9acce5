"""Sums over coordinates: which penalties and sets are, and their one-dimensional proximal steps."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from hullabaloo.curator.coordinate_gradient_kernels import prox_at
from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.geometry import (
    Box,
    ElasticNetPenalty,
    GroupPenalty,
    L1Ball,
    L1Penalty,
    NoPenalty,
    Penalty,
    PenaltyWithFreeIntercept,
    SeparableForm,
    SeparablePenalty,
    SquaredL2Penalty,
    separable_form,
    with_intercept,
)

PENALTIES: list[Penalty] = [NoPenalty(), L1Penalty(0.3), SquaredL2Penalty(0.7), ElasticNetPenalty(0.5, 0.4)]


class HuberLike(SeparablePenalty):
    """½ w_j max(|t| − 1, 0)²: flat near 0, one weight a coordinate."""

    strong_convexity = 0.0
    weights = (1.0, 2.0, 3.0, 4.0)

    def value(self, theta: np.ndarray) -> float:
        return 0.5 * float(np.dot(self.weights, np.maximum(np.abs(theta) - 1.0, 0.0) ** 2))

    def prox_at(self, j: int, v: float, step: float) -> float:
        strength = step * self.weights[j]
        return v if abs(v) <= 1.0 else (v + math.copysign(strength, v)) / (1.0 + strength)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "huber-like"}


def _objective(penalty: Penalty, j: int, v: float, step: float, t: float) -> float:
    return penalty.value(np.where(np.arange(4) == j, t, 0.0)) + (t - v) ** 2 / (2.0 * step)


@pytest.mark.parametrize("penalty", [*PENALTIES, HuberLike()], ids=lambda penalty: type(penalty).__name__)
@pytest.mark.parametrize("box", [None, Box(-0.5, 0.25), Box((-1.0, 0.0, -2.0, 0.5), (1.0, 0.5, -1.0, 2.0))])
def test_the_prox_minimises_in_each_coordinate(penalty: Penalty, box: Box | None) -> None:
    rng = np.random.default_rng(1)
    form = separable_form(penalty, box, 4)
    for _ in range(5):
        v, step = rng.normal(0.0, 2.0, 4), 10.0 ** rng.uniform(-1.0, 1.0, 4)
        found = form.prox(v, step)
        for j in range(4):
            assert form.prox_at(j, float(v[j]), float(step[j])) == found[j]
            objective = partial(_objective, penalty, j, float(v[j]), float(step[j]))
            low, high = max(float(form.lower[j]), -10.0), min(float(form.upper[j]), 10.0)
            best = minimize_scalar(objective, bounds=(low, high), method="bounded", options={"xatol": 1e-10}).fun
            assert low <= found[j] <= high
            assert objective(float(found[j])) <= best + 1e-9


@pytest.mark.parametrize("penalty", [*PENALTIES, HuberLike()], ids=lambda penalty: type(penalty).__name__)
def test_without_a_box_it_is_the_prox_of_the_penalty(penalty: Penalty) -> None:
    v = np.array([2.0, -0.1, -3.0, 0.4])
    assert separable_form(penalty, None, 4).prox(v, 0.6) == pytest.approx(penalty.prox(v, 0.6))


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: type(penalty).__name__)
def test_kernels_take_the_same_step(penalty: Penalty) -> None:
    rng = np.random.default_rng(2)
    form = separable_form(penalty, Box(-1.0, 0.5), 3)
    parts = (form.kinks.copy(), form.curvatures.copy(), form.lower.copy(), form.upper.copy())
    for _ in range(50):
        j, v, step = int(rng.integers(3)), float(rng.normal()), float(10.0 ** rng.uniform(-2.0, 2.0))
        assert prox_at(parts, j, v, step) == form.prox_at(j, v, step)


@pytest.mark.parametrize("penalty", [L1Penalty(0.3), HuberLike()], ids=["l1", "own"])
def test_an_intercept_is_left_alone_but_for_its_own_bounds(penalty: Penalty) -> None:
    form = separable_form(PenaltyWithFreeIntercept(penalty), with_intercept(Box(-1.0, 1.0), -8.0, 8.0), 5)
    assert list(form.upper) == [1.0, 1.0, 1.0, 1.0, 8.0]
    far = form.prox(np.full(5, 20.0), 0.1)
    assert list(far) == [1.0, 1.0, 1.0, 1.0, 8.0]
    near = form.prox(np.full(5, 0.02), 0.1)
    assert near[4] == 0.02 == form.prox_at(4, 0.02, 0.1)
    only = separable_form(PenaltyWithFreeIntercept(penalty), with_intercept(Box(-1.0, 1.0), -8.0, 8.0), 1)
    assert (only.lower[0], only.upper[0], only.kinks[0]) == (-8.0, 8.0, 0.0)


def test_what_ties_coordinates_together_is_refused() -> None:
    with pytest.raises(CapabilityError, match="no sum over coordinates"):
        separable_form(GroupPenalty(((0, 1), (2,)), 1.0), None, 3)
    for tied in (L1Ball(1.0), with_intercept(L1Ball(1.0), -1.0, 1.0)):
        with pytest.raises(CapabilityError, match="depend on the others"):
            separable_form(NoPenalty(), tied, 3)
    with pytest.raises(InvalidParameter, match="Box of 2 coordinates"):
        separable_form(NoPenalty(), Box((0.0, 0.0), (1.0, 1.0)), 3)


def test_a_form_is_four_vectors_of_one_length() -> None:
    ones, free = np.ones(2), np.full(2, math.inf)
    assert SeparableForm(ones, ones, -free, free).dimension == 2
    for wrong in (
        (np.ones(3), ones, -free, free),
        (-ones, ones, -free, free),
        (free, ones, -free, free),
        (np.full(2, math.nan), ones, -free, free),
        (ones, ones, ones, -ones),
        (ones, ones, np.full(2, math.nan), free),
        (np.ones((2, 1)), np.ones((2, 1)), -np.ones((2, 1)), np.ones((2, 1))),
    ):
        with pytest.raises(InvalidParameter):
            SeparableForm(*wrong)
    with pytest.raises(ValueError, match="read-only"):
        SeparableForm(ones, ones, -free, free).kinks[0] = 2.0
