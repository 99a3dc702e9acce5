"""Constants of a loss with its derivative clipped, which is convex again: closed forms, and by its value."""

import math

import numpy as np
import pytest

from hullabaloo.losses import Huber, Logistic, Pinball, Poisson, SmoothedHinge, Squared
from tests.laws.clipped_loss import clipped_value

LOSSES = [Squared(), Logistic(), SmoothedHinge(0.3), Poisson(), Pinball(0.7), Huber(0.9)]


def test_a_clipped_squared_loss_is_hubers():
    z, y = np.meshgrid(np.linspace(-9.0, 9.0, 181), np.linspace(-1.0, 1.0, 21), indexing="ij")
    np.testing.assert_allclose(clipped_value(Squared(), 0.4, z, y), Huber(0.4).value(z, y), atol=1e-14)
    assert Squared().constants(3.0, 1.0, 0.4) == Huber(0.4).constants(3.0, 1.0)


@pytest.mark.parametrize("loss", [Logistic(), SmoothedHinge(0.3), Pinball(0.7), Huber(0.9)])
def test_a_clip_beyond_every_derivative_changes_nothing(loss):
    assert loss.constants(3.0, 1.0, 1.0) == loss.constants(3.0, 1.0)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("clip", [0.02, 0.4, 0.9])
def test_its_value_is_the_integral_of_the_clipped_derivative(loss, clip):
    """And rises by no more than the declared constants."""
    z = np.linspace(-8.0, 8.0, 3201)
    constants = loss.constants(8.0, 1.0, clip)
    for y in (0.0, 0.5, 1.0):
        slope = np.clip(loss.derivative(z, np.float64(y)), -clip, clip)
        integral = np.concatenate([[0.0], np.cumsum(0.5 * (slope[1:] + slope[:-1]) * np.diff(z))])
        value = clipped_value(loss, clip, z, np.float64(y))
        np.testing.assert_allclose(value - value[0], integral, atol=1e-2 * clip)
        inside = np.abs(loss.derivative(z, np.float64(y))) <= clip
        np.testing.assert_allclose(value[inside], loss.value(z, np.float64(y))[inside], rtol=1e-14)
        assert np.abs(np.diff(value)).max() <= constants.lipschitz * np.diff(z).max() * (1.0 + 1e-9)
        assert np.diff(value, 2).min() >= -1e-13
        assert np.diff(value, 2).max() <= constants.smoothness * np.diff(z).max() ** 2 + 1e-12


def test_poisson_is_a_line_beyond_the_crossing():
    crossing = math.log(1.5)
    far = clipped_value(Poisson(), 0.5, np.array([800.0]), np.array([1.0]))
    assert far == pytest.approx(1.5 - crossing + 0.5 * (800.0 - crossing), rel=1e-14)
    assert Poisson().constants(math.inf, 1.0, 0.5).smoothness == 1.5
