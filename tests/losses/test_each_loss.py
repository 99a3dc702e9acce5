"""What each loss is, at points where it is known by hand."""

import math

import numpy as np
import pytest

from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import (
    Huber,
    Logistic,
    LossConstants,
    MultinomialLogistic,
    Pinball,
    Poisson,
    SmoothedHinge,
    SquaredTargets,
    loss_from_dict,
)


def test_logistic():
    loss = Logistic()
    assert loss.constants(math.inf, 1.0) == LossConstants(1.0, 0.25, 0.0)
    assert loss.constants(math.inf, 1.0, clip=0.5).smoothness == 0.25
    assert loss.constants(math.inf, 1.0, clip=0.25) == LossConstants(0.25, 0.1875, 0.0)
    assert loss.value(np.array([1e3, -1e3]), np.array([1.0, 1.0])).tolist() == [0.0, 1e3]
    assert loss.derivative(np.array([1e3, -1e3]), np.array([1.0, 1.0])).tolist() == [0.0, -1.0]
    assert loss.curvature(3.0) == 9.0


def test_huber():
    loss = Huber(0.5)
    assert loss.constants(2.0, 1.0) == LossConstants(0.5, 1.0, 0.0)
    assert loss.constants(0.2, 0.2) == LossConstants(0.4, 1.0, 1.0)
    assert loss.value(np.array([0.25, -2.0]), np.zeros(2)).tolist() == [0.03125, 0.875]


def test_smoothed_hinge():
    loss = SmoothedHinge(0.5)
    assert loss.constants(5.0, 1.0) == LossConstants(1.0, 1.0, 0.0)
    assert loss.value(np.array([2.0, 1.5, 1.0, 0.5, -1.0]), np.ones(5)).tolist() == [0.0, 0.0, 0.125, 0.5, 2.0]
    assert loss.intercept_bounds == (-1.5, 1.5)


def test_poisson():
    loss = Poisson()
    assert loss.constants(1.0, 1.0).lipschitz == math.e
    assert loss.constants(1.0, 5.0).lipschitz == 5.0 - math.exp(-1.0)
    assert loss.constants(1e6, 1.0) == LossConstants(math.inf, math.inf, 0.0)
    assert loss.constants(1e6, 1.0, clip=0.5) == LossConstants(0.5, 1.5, 0.0)
    assert loss.constants(0.1, 1.0, clip=3.0).smoothness == math.exp(0.1)


def test_pinball():
    loss = Pinball(0.9)
    assert loss.constants(1.0, 1.0) == LossConstants(0.9, math.inf, 0.0)
    assert loss.derivative(np.array([-1.0, 0.0, 1.0]), np.zeros(3)) == pytest.approx([-0.9, 0.0, 0.1])
    assert loss.curvature(1.0) == math.inf
    assert loss.curvature(0.0) == 0.0


def test_losses_of_several_predictions():
    assert MultinomialLogistic().constants(9.0, 2.0) == LossConstants(math.sqrt(2.0), 0.5, 0.0)
    assert MultinomialLogistic().constants(9.0, 2.0, clip=1.0).lipschitz == 1.0
    assert MultinomialLogistic().curvature(2.0) == 8.0
    assert SquaredTargets().constants(2.0, 1.0) == LossConstants(3.0, 1.0, 1.0)
    assert SquaredTargets().constants(2.0, 1.0, clip=2.5) == LossConstants(2.5, 1.0, 0.0)
    two = MultinomialLogistic().value(np.array([[0.7, -0.7]]), np.array([[1.0, -1.0]]))
    assert two == pytest.approx(Logistic().value(np.array([1.4]), np.array([1.0])), rel=1e-14)


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.inf, math.nan, "0.5"])
@pytest.mark.parametrize("kind", [Huber, SmoothedHinge])
def test_widths_that_are_none_are_refused(kind, wrong):
    with pytest.raises(InvalidParameter, match="positive finite number"):
        kind(wrong)


@pytest.mark.parametrize("wrong", [0.0, 1.0, -0.5, math.nan, None])
def test_levels_that_are_none_are_refused(wrong):
    with pytest.raises(InvalidParameter, match="strictly between 0 and 1"):
        Pinball(wrong)
    with pytest.raises(InvalidParameter, match="strictly between 0 and 1"):
        loss_from_dict({"kind": "pinball", "tau": wrong})
