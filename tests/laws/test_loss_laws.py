"""Laws of every exported loss of one prediction: finite differences, convexity, constants never exceeded."""

import itertools
import json
import pickle

import numpy as np
import pytest

from hullabaloo import losses
from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import KernelCode, Loss, Pinball, Poisson, VectorLoss, loss_from_dict
from tests.laws import loss_zoo, zoo

every = pytest.mark.parametrize("loss", loss_zoo.scalar_losses(), ids=zoo.short)
CLIPS = [0.05, 0.5, 3.0, np.inf]
BOUNDS = [(0.0, 0.0), (1.0, 1.0), (3.0, 0.5), (0.1, 20.0)]


def grid(loss, prediction, target):
    z = np.linspace(-prediction, prediction, 41)
    return np.meshgrid(z, np.linspace(loss_zoo.lowest_target(loss, target), target, 31), indexing="ij")


def test_every_exported_loss_has_samples():
    assert set(zoo.exported(losses, Loss)) == set(loss_zoo.SAMPLES)
    assert set(zoo.exported(losses, VectorLoss)) == set(loss_zoo.VECTOR_SAMPLES)


def test_kernel_codes_and_names_are_told_apart():
    found = loss_zoo.scalar_losses() + loss_zoo.vector_losses()
    kinds = {type(loss): (loss.kernel_code, loss.name) for loss in found}
    assert len({code for code, _ in kinds.values()}) == len(kinds) == len({name for _, name in kinds.values()})
    assert {code for code, _ in kinds.values()} == set(KernelCode)


@every
def test_derivatives_agree_with_finite_differences(loss):
    z, y = grid(loss, 3.03, 1.01)
    h = 1e-5
    # Corners of the derivative, and of the pinball loss itself, are few: differences across them say nothing.
    right, left = loss.second_derivative(z + 2 * h, y), loss.second_derivative(z - 2 * h, y)
    even = np.abs(right - left) <= 1e-3 * (right + left)
    even &= np.abs(loss.derivative(z + 2 * h, y) - loss.derivative(z - 2 * h, y)) < 1e-2
    assert even.mean() > 0.95
    slope = (loss.value(z + h, y) - loss.value(z - h, y)) / (2.0 * h)
    np.testing.assert_allclose(loss.derivative(z, y)[even], slope[even], rtol=0.0, atol=2e-9)
    bend = (loss.derivative(z + h, y) - loss.derivative(z - h, y)) / (2.0 * h)
    np.testing.assert_allclose(loss.second_derivative(z, y)[even], bend[even], rtol=0.0, atol=1e-8)


@every
def test_declared_constants_are_never_exceeded(loss):
    """Tests: 000, Section 1.2, Lipschitz continuity; 002, Section 2.2, Lipschitz continuity; 003, Definition 8."""
    for (prediction, target), clip in itertools.product(BOUNDS, CLIPS):
        z, y = grid(loss, prediction, target)
        constants = loss.constants(prediction, target, clip)
        assert clip < np.inf or constants == loss.constants(prediction, target)
        raw = np.abs(loss.derivative(z, y))
        slope, bend = np.minimum(raw, clip), np.where(raw < clip, loss.second_derivative(z, y), 0.0)
        assert slope.max() <= constants.lipschitz * (1.0 + 1e-12)
        assert bend.max() <= constants.smoothness * (1.0 + 1e-12)
        assert bend.min() >= constants.strong_convexity * (1.0 - 1e-12)
        rises = np.diff(np.clip(loss.derivative(z, y), -clip, clip), axis=0) / np.maximum(np.diff(z, axis=0), 1e-300)
        assert rises.max() <= constants.smoothness * (1.0 + 1e-9)
        if prediction > 0.0:
            assert slope.max() >= 0.99 * constants.lipschitz


@every
def test_declared_smoothness_is_reached(loss):
    for (prediction, target), clip in itertools.product([(6.0, 1.0), (1.0, 5.0)], CLIPS):
        constants = loss.constants(prediction, target, clip)
        y = np.linspace(loss_zoo.lowest_target(loss, target), target, 41)
        z, y = np.meshgrid(np.linspace(-prediction, prediction, 2001), y, indexing="ij")
        bend = np.where(np.abs(loss.derivative(z, y)) < clip, loss.second_derivative(z, y), 0.0)
        assert constants.smoothness * (1.0 + 1e-12) >= bend.max()
        assert bend.max() >= 0.9 * constants.smoothness or constants.smoothness == np.inf


@every
def test_curvature_bounds_the_curvature_of_a_mean_loss(loss):
    """Tests: 000, Definition 2.1; 000, Remark 1; 002, Definition 5.1; 002, Remark 4; 002, Remark 5."""
    for prediction in (0.0, 0.5, 2.0):
        z, y = grid(loss, prediction, 1.0)
        gamma = loss.curvature(prediction)
        assert gamma >= 4.0 * prediction**2 * loss.second_derivative(z, y).max() * (1.0 - 1e-12)
        if prediction:
            assert gamma == 4.0 * prediction**2 * loss.constants(prediction, 1.0).smoothness


@every
def test_loss_is_convex_in_the_prediction(loss):
    """Tests: 003, Definition 7."""
    rng = np.random.default_rng(0)
    a, b, t = rng.uniform(-3, 3, 500), rng.uniform(-3, 3, 500), rng.uniform(0, 1, 500)
    y = loss_zoo.targets(loss, 1.0, 500, rng)
    above = t * loss.value(a, y) + (1 - t) * loss.value(b, y)
    assert (loss.value(t * a + (1 - t) * b, y) <= above + 1e-12).all()
    assert (loss.value(b, y) >= loss.value(a, y) + loss.derivative(a, y) * (b - a) - 1e-12).all()


@every
def test_extreme_predictions_are_computed_without_a_warning(loss):
    for size in (40.0, 1e3, 1e6, 1e150):
        z, y = np.meshgrid([-size, size], [loss_zoo.lowest_target(loss, 1.0), 0.0, 0.25, 1.0], indexing="ij")
        found = np.stack([loss.value(z, y), loss.derivative(z, y), loss.second_derivative(z, y)])
        assert not np.isnan(found).any()
        unbounded = isinstance(loss, Poisson) or (loss.name == "squared" and size > 1e153)
        assert unbounded or np.isfinite(found).all()
        if np.isfinite(found).all() and 1e3 <= size <= 1e6:
            inner = loss.value(np.sign(z) * (size - 1.0), y)
            assert np.abs(found[0] - inner) == pytest.approx(np.abs(found[1]), rel=1e-2, abs=1e-9)


@every
def test_intercept_bounds_hold_the_best_constant(loss):
    """The loss of a constant prediction on shares of the extreme targets is smallest inside, for shares of 1 in 250 too."""
    lower, upper = loss.intercept_bounds
    assert -np.inf < lower < 0.0 < upper < np.inf
    z = np.linspace(2.0 * lower, 2.0 * upper, 2001)
    for share in (0.004, 0.3, 0.5, 0.996):
        mean = share * loss.value(z, np.float64(1.0)) + (1.0 - share) * loss.value(
            z, np.float64(loss_zoo.lowest_target(loss, 1.0))
        )
        inside = (z >= lower) & (z <= upper)
        assert mean[inside].min() <= mean.min() + 1e-9


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
            loss.constants(1.0, wrong)
        with pytest.raises(InvalidParameter, match="at or above 0"):
            loss.curvature(wrong)


@every
def test_plain_data_and_pickle_give_an_equal_loss(loss):
    assert loss_from_dict(json.loads(json.dumps(loss.to_dict()))) == loss
    assert pickle.loads(pickle.dumps(loss)) == loss


def test_only_the_pinball_loss_is_not_smooth():
    rough = {type(loss) for loss in loss_zoo.scalar_losses() if loss.constants(1.0, 1.0).smoothness == np.inf}
    assert rough == {Pinball}
