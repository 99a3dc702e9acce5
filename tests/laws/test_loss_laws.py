"""Laws of every exported loss: finite differences, convexity, constants never exceeded."""

import json
import pickle

import numpy as np
import pytest

from hullabaloo import losses
from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import KernelCode, Loss, loss_from_dict
from tests.laws import zoo

every = pytest.mark.parametrize("loss", zoo.all_losses(), ids=zoo.short)
bounds = pytest.mark.parametrize(("prediction", "target"), [(0.0, 0.0), (1.0, 1.0), (3.0, 0.5), (0.1, 20.0)])


def grid(prediction, target):
    z, y = np.linspace(-prediction, prediction, 41), np.linspace(-target, target, 31)
    return np.meshgrid(z, y, indexing="ij")


def test_every_exported_loss_has_samples():
    assert set(zoo.exported(losses, Loss)) == set(zoo.LOSS_SAMPLES)


def test_kernel_codes_and_names_are_told_apart():
    found = zoo.all_losses()
    kinds = {type(loss): (loss.kernel_code, loss.name) for loss in found}
    assert len({code for code, _ in kinds.values()}) == len(kinds) == len({name for _, name in kinds.values()})
    assert all(isinstance(code, KernelCode) for code, _ in kinds.values())


@every
def test_derivatives_agree_with_finite_differences(loss):
    z, y = grid(2.03, 1.01)
    h = 1e-5
    slope = (loss.value(z + h, y) - loss.value(z - h, y)) / (2.0 * h)
    assert loss.derivative(z, y) == pytest.approx(slope, abs=1e-9)
    bend = (loss.derivative(z + h, y) - loss.derivative(z - h, y)) / (2.0 * h)
    assert loss.second_derivative(z, y) == pytest.approx(bend, abs=1e-8)


@every
@bounds
def test_declared_constants_are_never_exceeded_and_are_reached(loss, prediction, target):
    z, y = grid(prediction, target)
    constants = loss.constants(prediction, target)
    slope, bend = np.abs(loss.derivative(z, y)), loss.second_derivative(z, y)
    assert slope.max() <= constants.lipschitz * (1.0 + 1e-12)
    assert bend.max() <= constants.smoothness * (1.0 + 1e-12)
    assert bend.min() >= constants.strong_convexity * (1.0 - 1e-12)
    assert slope.max() >= 0.5 * constants.lipschitz
    assert loss.curvature(prediction) >= 4.0 * prediction**2 * bend.max() * (1.0 - 1e-12)


@every
def test_loss_is_convex_in_the_prediction(loss):
    rng = np.random.default_rng(0)
    a, b, y, t = rng.uniform(-3, 3, 500), rng.uniform(-3, 3, 500), rng.uniform(-1, 1, 500), rng.uniform(0, 1, 500)
    above = t * loss.value(a, y) + (1 - t) * loss.value(b, y)
    assert (loss.value(t * a + (1 - t) * b, y) <= above + 1e-12).all()
    assert (loss.value(b, y) >= loss.value(a, y) + loss.derivative(a, y) * (b - a) - 1e-12).all()


@every
def test_shapes_broadcast(loss):
    z, y = np.zeros((4, 1)), np.ones(3)
    for method in (loss.value, loss.derivative, loss.second_derivative):
        assert np.shape(method(z, y)) == (4, 3)


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
