"""The loss whose derivative is clipped: closed forms, agreement with integrals of the clipped derivative."""

import math

import numpy as np
import pytest

from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import (
    ClippedLoss,
    Huber,
    Logistic,
    MultinomialLogistic,
    Pinball,
    Poisson,
    SmoothedHinge,
    Squared,
    clipped_at,
    loss_from_dict,
)

Z, Y = np.meshgrid(np.linspace(-9.0, 9.0, 1801), np.linspace(-1.0, 1.0, 21), indexing="ij")


def test_a_clipped_squared_loss_is_hubers():
    clipped, huber = ClippedLoss(Squared(), 0.4), Huber(0.4)
    np.testing.assert_allclose(clipped.value(Z, Y), huber.value(Z, Y), atol=1e-14)
    assert np.array_equal(clipped.derivative(Z, Y), huber.derivative(Z, Y))
    assert clipped.constants(3.0, 1.0) == huber.constants(3.0, 1.0)


@pytest.mark.parametrize("loss", [Logistic(), SmoothedHinge(0.3), Pinball(0.7), Huber(0.9)])
def test_a_clip_beyond_every_derivative_changes_nothing(loss):
    clipped = ClippedLoss(loss, 1.0)
    assert np.array_equal(clipped.value(Z, Y), loss.value(Z, Y))
    assert np.array_equal(clipped.derivative(Z, Y), loss.derivative(Z, Y))
    assert clipped.constants(3.0, 1.0) == loss.constants(3.0, 1.0)


@pytest.mark.parametrize("loss", [Squared(), Logistic(), SmoothedHinge(0.3), Poisson(), Pinball(0.7), Huber(0.9)])
@pytest.mark.parametrize("clip", [0.02, 0.4, 0.9])
def test_the_value_is_the_integral_of_the_clipped_derivative(loss, clip):
    clipped = ClippedLoss(loss, clip)
    z = np.linspace(-8.0, 8.0, 32001)
    for y in (0.0, 0.5, 1.0):
        slope = np.clip(loss.derivative(z, np.float64(y)), -clip, clip)
        integral = np.concatenate([[0.0], np.cumsum(0.5 * (slope[1:] + slope[:-1]) * np.diff(z))])
        value = clipped.value(z, np.float64(y))
        np.testing.assert_allclose(value - value[0], integral, atol=1e-3 * clip)
        inside = np.abs(loss.derivative(z, np.float64(y))) <= clip
        np.testing.assert_allclose(value[inside], loss.value(z, np.float64(y))[inside], rtol=1e-14)


def test_poisson_is_a_line_beyond_the_crossing():
    clipped = ClippedLoss(Poisson(), 0.5)
    crossing = math.log(1.5)
    far = clipped.value(np.array([800.0]), np.array([1.0]))
    assert far == pytest.approx(1.5 - crossing + 0.5 * (800.0 - crossing), rel=1e-14)
    assert clipped.constants(math.inf, 1.0).smoothness == 1.5


def test_the_smaller_of_two_clips_counts():
    inner = ClippedLoss(Squared(), 0.3)
    for outer in (0.2, 0.3, 0.7):
        twice, once = ClippedLoss(inner, outer), ClippedLoss(Squared(), min(outer, 0.3))
        np.testing.assert_allclose(twice.value(Z, Y), once.value(Z, Y), atol=1e-14)
        assert clipped_at(twice, 5.0) == min(outer, 0.3)
    assert clipped_at(inner, 0.1) == 0.1
    assert clipped_at(Squared(), 5.0) == 5.0
    assert ClippedLoss(Squared(), 0.3).kernel_code == Squared().kernel_code


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.inf, math.nan])
def test_clips_that_are_none_are_refused(wrong):
    with pytest.raises(InvalidParameter, match="positive finite number"):
        ClippedLoss(Squared(), wrong)


def test_a_loss_of_several_predictions_is_not_clipped_alone():
    with pytest.raises(InvalidParameter, match="one prediction"):
        loss_from_dict({"kind": "clipped", "loss": MultinomialLogistic().to_dict(), "clip": 1.0})
