"""Laws of every exported loss of several predictions: finite differences, convexity, constants never exceeded."""

import json
import pickle

import numpy as np
import pytest

from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import loss_from_dict
from tests.laws import loss_zoo, zoo

every = pytest.mark.parametrize("loss", loss_zoo.vector_losses(), ids=zoo.short)
widths = pytest.mark.parametrize("k", [2, 3, 10])


@every
@widths
def test_derivatives_agree_with_finite_differences(loss, k):
    rng = np.random.default_rng(0)
    z, y, h = rng.uniform(-2, 2, (40, k)), loss_zoo.vector_targets(loss, (40, k), rng), 1e-5
    slope, bend = loss.derivative(z, y), loss.second_derivative(z, y)
    assert slope.shape == (40, k)
    assert bend.shape == (40, k, k)
    for j, unit in enumerate(h * np.eye(k)):
        assert slope[:, j] == pytest.approx((loss.value(z + unit, y) - loss.value(z - unit, y)) / (2 * h), abs=2e-9)
        column = (loss.derivative(z + unit, y) - loss.derivative(z - unit, y)) / (2 * h)
        assert bend[:, :, j] == pytest.approx(column, abs=1e-8)


@every
@widths
@pytest.mark.parametrize("clip", [0.3, np.inf])
def test_declared_constants_are_never_exceeded(loss, k, clip):
    rng = np.random.default_rng(1)
    for size in (0.0, 0.1, 1.0, 30.0):
        z = rng.standard_normal((400, k))
        z *= size / np.linalg.norm(z, axis=1, keepdims=True)
        y = loss_zoo.vector_targets(loss, (400, k), rng)
        constants = loss.constants(size, float(np.linalg.norm(y, axis=1).max()), clip)
        slope = loss.derivative(z, y)
        norm = np.linalg.norm(slope, axis=1, keepdims=True)
        assert np.minimum(norm, clip).max() <= constants.lipschitz * (1.0 + 1e-12)
        values = np.linalg.eigvalsh(loss.second_derivative(z, y))
        assert values.max() <= constants.smoothness * (1.0 + 1e-12)
        assert clip < np.inf or values.min() >= constants.strong_convexity - 1e-12
        near = z + 0.1 * rng.standard_normal(z.shape)
        other = loss.derivative(near, y)
        parts = [g * np.minimum(1.0, clip / np.linalg.norm(g, axis=1, keepdims=True)) for g in (slope, other)]
        moved = np.linalg.norm(parts[0] - parts[1], axis=1)
        assert (moved <= constants.smoothness * np.linalg.norm(near - z, axis=1) * (1 + 1e-9)).all()
        assert loss.curvature(size) >= 4.0 * size**2 * values.max() * (1.0 - 1e-12)


@every
def test_declared_constants_are_reached(loss):
    y = np.array([[1.0, -1.0]])
    z = np.array([[-30.0, 30.0]])
    largest = np.linalg.norm(loss.derivative(z, y))
    assert largest >= 0.999 * loss.constants(float(np.linalg.norm(z)), float(np.linalg.norm(y))).lipschitz
    bend = np.linalg.eigvalsh(loss.second_derivative(np.zeros((1, 2)), y)).max()
    assert bend == pytest.approx(loss.constants(1.0, 1.0).smoothness, rel=1e-12)


@every
@widths
def test_loss_is_convex_in_the_predictions(loss, k):
    rng = np.random.default_rng(2)
    a, b, t = rng.uniform(-3, 3, (300, k)), rng.uniform(-3, 3, (300, k)), rng.uniform(0, 1, (300, 1))
    y = loss_zoo.vector_targets(loss, (300, k), rng)
    above = t[:, 0] * loss.value(a, y) + (1 - t[:, 0]) * loss.value(b, y)
    assert (loss.value(t * a + (1 - t) * b, y) <= above + 1e-12).all()
    tangent = loss.value(a, y) + np.sum(loss.derivative(a, y) * (b - a), axis=1)
    assert (loss.value(b, y) >= tangent - 1e-12).all()


@every
@pytest.mark.parametrize("size", [1e3, 1e6])
def test_extreme_predictions_are_computed_without_a_warning(loss, size):
    z = size * np.array([[1.0, -1.0, 0.0], [-1.0, -1.0, -1.0], [0.0, 1.0, 1.0]])
    y = 2.0 * np.eye(3) - 1.0
    for found in (loss.value(z, y), loss.derivative(z, y), loss.second_derivative(z, y)):
        assert np.isfinite(found).all()
    assert np.linalg.norm(loss.derivative(z, y), axis=1).max() <= loss.constants(2.0 * size, 2.0).lipschitz


@every
def test_bounds_that_are_none_are_refused(loss):
    for wrong in (-1.0, float("nan")):
        with pytest.raises(InvalidParameter, match="at or above 0"):
            loss.constants(wrong, 1.0)
        with pytest.raises(InvalidParameter, match="at or above 0"):
            loss.curvature(wrong)


@every
def test_plain_data_and_pickle_give_an_equal_loss(loss):
    assert loss_from_dict(json.loads(json.dumps(loss.to_dict()))) == loss
    assert pickle.loads(pickle.dumps(loss)) == loss
    lower, upper = loss.intercept_bounds
    assert lower == -upper
