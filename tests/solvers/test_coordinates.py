"""Coordinates of noisy gradients: whitening, the way there and back, and intercepts that steps have driven out of their bounds."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hullabaloo.geometry import Box, L1Ball, L1Penalty
from hullabaloo.solvers import Problem
from hullabaloo.solvers.gradient.coordinates import Coordinates
from hullabaloo.solvers.gradient.location_scale import PrivateLocationScale
from tests.solvers.tables import problem, table

CENTRE = np.array([0.6, -0.6, 0.0])
PLAIN = Coordinates.plain(PrivateLocationScale(CENTRE, 1.0), intercept=True)


def asked(radius: float | None) -> Problem:
    return problem(table(p=3, intercept=True), constraint=None if radius is None else L1Ball(radius))


def at(theta: np.ndarray) -> np.ndarray:
    """The point whose coefficients are θ."""
    return np.append(theta[:-1], theta[-1] + CENTRE @ theta[:-1])


@pytest.mark.parametrize("last", [-3.0, -1.2, 1.5])
def test_an_intercept_comes_back_and_the_prediction_at_the_centre_stays(last: float) -> None:
    theta = np.array([0.5, -0.5, 0.2, last])
    kept = PLAIN.feasible(asked(20.0), at(theta))
    assert kept[-1] == np.clip(last, -1.0, 1.0)
    assert kept[:3] @ CENTRE + kept[-1] == pytest.approx(theta[:3] @ CENTRE + last, abs=1e-12)
    assert kept[2] == theta[2], "what is at a right angle to the centre is not touched"
    small = PLAIN.feasible(asked(0.5), at(theta))
    assert np.abs(small[:3]).sum() <= 0.5 + 1e-12
    assert abs(small[-1]) <= 1.0


@pytest.mark.parametrize("last", [-3.0, -1.2, 1.5])
def test_an_intercept_of_whitened_records_comes_back_by_the_shortest_way(last: float) -> None:
    """Slopes and the level at the centre share what is cut off, as curvature is alike in u and v; streams begun before leave that level where it is."""
    rng = np.random.default_rng(9)
    root = rng.normal(size=(3, 3)) * [1.0, 0.3, 0.1]
    view = Coordinates.whitened(root @ root.T, PrivateLocationScale(CENTRE, 1.0), 1e-3, intercept=True)
    point = np.append(view.inverse @ [0.5, -0.5, 0.2], last + CENTRE @ [0.5, -0.5, 0.2])
    kept = view.feasible(asked(50.0), point)
    assert kept[-1] == np.clip(last, -1.0, 1.0)
    moved = np.append(view.inverse @ kept[:3], at(kept)[-1]) - point
    assert view.matrix is not None
    normal = np.append(-CENTRE @ view.matrix, 1.0)  # of the points with this intercept: the gradient of v - m'Au
    assert moved == pytest.approx(normal * (moved @ normal) / (normal @ normal), abs=1e-9)
    small = view.feasible(asked(0.5), point)
    assert np.abs(small[:3]).sum() <= 0.5 + 1e-12
    before = view.feasible(replace(asked(50.0), earlier=6), point)
    assert at(before)[-1] == pytest.approx(point[-1], abs=1e-12)
    assert before[-1] == kept[-1]


def test_nothing_moves_without_need() -> None:
    theta, far = np.array([0.5, -0.5, 0.2, 0.9]), np.array([0.5, -0.5, 0.2, 9.0])
    assert PLAIN.feasible(asked(20.0), at(theta)) == pytest.approx(theta, abs=1e-15)
    assert PLAIN.feasible(asked(None), at(far)) == pytest.approx(far, abs=1e-15)
    nowhere = Coordinates.plain(PrivateLocationScale(np.zeros(3), 1.0), intercept=True)
    assert np.array_equal(nowhere.feasible(asked(20.0), far), [0.5, -0.5, 0.2, 1.0])


def test_whitening_makes_the_covariance_the_identity_down_to_its_floor() -> None:
    rng = np.random.default_rng(6)
    root = rng.normal(size=(5, 5)) * 3.0 ** -np.arange(5)
    covariance, centre, floor = root @ root.T - 0.01 * np.eye(5), rng.normal(size=5), 0.02
    view = Coordinates.whitened(covariance, PrivateLocationScale(centre, 1.0), floor, intercept=True)
    assert view.matrix is not None
    values, vectors = np.linalg.eigh(covariance)
    positive = np.maximum(values, 0.0)
    assert np.diag(view.matrix.T @ covariance @ view.matrix)[values > 0.0] == pytest.approx(view.gain[values > 0.0])
    assert view.gain == pytest.approx(positive / (positive + floor))
    assert view.inverse.T * view.gain @ view.inverse == pytest.approx(vectors * positive @ vectors.T)
    assert view.inverse @ view.matrix == pytest.approx(np.eye(5), abs=1e-9)
    point, record = rng.normal(size=6), rng.normal(size=5)
    predicted = view.coefficients(point) @ np.append(record, 1.0)
    assert predicted == pytest.approx(point[:5] @ (view.matrix.T @ (record - centre)) + point[5])
    assert view.inward(view.coefficients(point)) == pytest.approx(point[:5])


def test_the_nearest_point_of_a_set_is_in_the_metric_of_the_coordinates() -> None:
    view = Coordinates.whitened(
        np.array([[1.0, 0.9], [0.9, 1.0]]), PrivateLocationScale(np.zeros(2), 1.0), 1e-9, intercept=False
    )
    nearest = view.nearest(problem(table(p=2), constraint=Box(-2.0, 0.0)), 1.0)
    assert nearest is not None
    assert view.coefficients(nearest(view.inverse @ [1.0, -2.0])) == pytest.approx([0.0, -1.1], abs=1e-6)
    assert view.nearest(problem(table(p=2)), 1.0) is None


@pytest.mark.parametrize("held", [{"constraint": L1Ball(0.4)}, {"penalty": L1Penalty(0.05)}])
@pytest.mark.parametrize("step", [1.0, 1.5])
def test_a_step_by_a_curvature_ends_at_its_least_point_within(held: dict[str, Any], step: float) -> None:
    """No feasible point nearby, of another level or not, has less of `½(v − x)ᵀM(v − x)/step + ψ/w̄`; without a set or a penalty the point stays."""
    rng, weight = np.random.default_rng(3), 0.7
    root = rng.normal(size=(4, 6))
    bend, point = root @ root.T / 6.0, np.append(rng.normal(size=3), 2.0)
    seen = PrivateLocationScale(CENTRE, 1.0, mean_weight=weight)
    view = Coordinates.whitened(weight * np.diag([1.0, 0.2, 0.04]), seen, 1e-3, intercept=True)
    asked = problem(table(p=3, intercept=True), **held)
    found = view.within(asked, point, step, bend)

    def worth(v: np.ndarray) -> float:
        return (v - point) @ bend @ (v - point) / (2.0 * step) + asked.penalty.value(view.coefficients(v)[:3]) / weight

    for size in (1e-3, 1e-1, 1.0):
        for _ in range(50):
            slopes = view.coefficients(found)[:3] + size * rng.normal(size=3)
            slopes = slopes if asked.constraint is None else asked.constraint.project(slopes)
            assert worth(found) <= worth(np.append(view.inverse @ slopes, found[3] + size * rng.normal())) + 1e-9
    assert np.array_equal(view.within(problem(table(p=3, intercept=True)), point, step, bend), point)


@pytest.mark.parametrize("long", [True, False])
def test_the_coordinate_along_the_mean_stands_in_for_a_constant_column(long: bool) -> None:
    rng = np.random.default_rng(7)
    X = np.column_stack([rng.normal(size=(4_000, 3)) * [0.3, 0.1, 0.02] + 0.5 * long, np.full(4_000, 0.2 * long)])
    seen_from = PrivateLocationScale(X.mean(axis=0), 0.3)
    round_ = Coordinates.whitened(np.cov(X.T), seen_from, 1e-6, intercept=False).along(seen_from)
    for view in (round_, Coordinates.along_mean(seen_from, np.eye(4), 0.3, 0.3)):
        assert view.matrix is not None
        assert (view.slopes, view.intercept) == (3, True)
        seen, point = X @ view.matrix, rng.normal(size=4)
        assert X @ view.coefficients(point) == pytest.approx(seen @ point, abs=1e-9)
        assert view.inward(view.coefficients(point)) == pytest.approx(point, abs=1e-6)
        assert np.linalg.matrix_rank(view.matrix) == 4, "no direction is left out"
        assert np.abs(seen.mean(axis=0)[:3]).max() <= 1e-9 * np.abs(view.matrix).max()
        assert np.mean(seen[:, 3] ** 2) <= 1.01
        assert view.linear.intercept is False
    if long:  # the constant column is found: nothing varies along it
        assert round_.matrix is not None
        seen = X @ round_.matrix
        assert seen[:, 3].std() <= 0.01 * seen[:, 3].mean()
