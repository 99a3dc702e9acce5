"""Facts of single sets: closed forms, other algorithms, refusals."""

import math

import numpy as np
import pytest

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import Box, L1Ball, L2Ball, Simplex


def by_sorting(v, radius):
    """Projection onto the simplex by sorting all coordinates."""
    ordered = np.sort(v)[::-1]
    sums = np.cumsum(ordered) - radius
    count = np.flatnonzero(ordered * np.arange(1, v.size + 1) > sums)[-1] + 1
    return np.maximum(v - sums[count - 1] / count, 0.0)


@pytest.mark.few(6)
@pytest.mark.parametrize("p", [1, 2, 3, 10, 1000, 20_000])
@pytest.mark.parametrize("radius", [1e-3, 1.0, 50.0])
def test_threshold_agrees_with_sorting(p, radius):
    rng = np.random.default_rng(p)
    for v in (rng.standard_normal(p), rng.standard_cauchy(p), np.round(3.0 * rng.standard_normal(p)), np.arange(p) / p):
        near = 1e-10 * (1.0 + np.abs(v).max())
        assert np.abs(Simplex(radius).project(v) - by_sorting(v, radius)).max() <= near
        if np.abs(v).sum() > radius:
            expected = np.sign(v) * by_sorting(np.abs(v), radius)
            assert np.abs(L1Ball(radius).project(v) - expected).max() <= near


def test_threshold_survives_inputs_made_to_drop_one_coordinate_a_pass():
    # depth k lies above the threshold of the first k by an excess that grows like k!, so that each pass drops one only
    depth, excess = [0.0], 1e-15
    for k in range(1, 19):
        excess *= 1.01 * max(1.0, (k + 1) * (k - 1) / k)
        depth.append((1.0 + sum(depth)) / k + min(excess, 1.0) - (1.0 if k == 1 else 0.0))
    for v in (-np.array(depth), -np.array(depth[::-1]), np.repeat(-np.array(depth), 50)):
        assert Simplex().project(v) == pytest.approx(by_sorting(v, 1.0), abs=1e-12)


def test_projection_of_huge_vectors_keeps_every_digit():
    v = np.array([1e300, 1e300, -1e300, 1.0])
    assert L1Ball(3.0).project(v) == pytest.approx([1.0, 1.0, -1.0, 0.0], abs=0.0)
    assert Simplex(3.0).project(v) == pytest.approx([1.5, 1.5, 0.0, 0.0], abs=0.0)
    assert L2Ball(5.0).project(np.array([3e300, -4e300])) == pytest.approx([3.0, -4.0], rel=1e-15)
    assert np.array_equal(L1Ball(1.0).project(np.array([1e308, 0.0])), [1.0, 0.0])


def test_projection_leaves_no_negative_zeros():
    u = L1Ball(1.0).project(np.array([-5.0, -1e-3, 0.0, 1e-3]))
    assert not np.signbit(u[1:]).any()


def test_ties_are_shared_and_vertices_of_zero_are_fixed():
    assert np.array_equal(L1Ball(2.0).project(np.array([3.0, -3.0])), [1.0, -1.0])
    for body in (L1Ball(2.0), L2Ball(2.0)):
        assert np.array_equal(body.vertex(np.zeros(3)), [-2.0, 0.0, 0.0])
    assert np.array_equal(Simplex(2.0).vertex(np.zeros(3)), [2.0, 0.0, 0.0])
    assert np.array_equal(Box(-1.0, 2.0).vertex(np.zeros(2)), [-1.0, -1.0])
    assert np.array_equal(L1Ball(1.0).vertex(np.array([1.0, -2.0, 2.0])), [0.0, 1.0, 0.0])  # the first of ties


def test_integers_and_strided_vectors_are_taken():
    assert np.array_equal(L1Ball(1).project(np.array([3, 0])), [1.0, 0.0])
    assert np.array_equal(Simplex().project(np.arange(10.0)[::-2]), [1.0, 0.0, 0.0, 0.0, 0.0])


def test_box_bounds():
    assert Box(-1, 1).dimension is None
    assert Box([-1, 0], 2) == Box((-1.0, 0.0), (2.0, 2.0))
    assert Box(np.array([0.0, 1.0]), np.array([1.0, 1.0])).dimension == 2
    assert Box((0.0, 1.0), 4.0).max_norm(2, 2) == pytest.approx(math.sqrt(32.0))
    with pytest.raises(InvalidParameter, match="coordinate 1 has"):
        Box((0.0, 2.0), (1.0, 1.0))
    with pytest.raises(InvalidParameter, match="2 coordinates and the upper bound 3"):
        Box((0.0, 0.0), (1.0, 1.0, 1.0))
    with pytest.raises(InvalidParameter, match="the set has 2"):
        Box((0.0, 0.0), 1.0).project(np.zeros(3))
    with pytest.raises(InvalidParameter, match="as the set's bounds are"):
        Box((0.0, 0.0), 1.0).max_norm(1, 3)
    for wrong in (math.inf, math.nan, "1", (), None, (0.0, math.nan)):
        with pytest.raises(InvalidParameter):
            Box(wrong, 1.0)


@pytest.mark.few(8)
@pytest.mark.parametrize("kind", [L1Ball, L2Ball, Simplex])
@pytest.mark.parametrize("wrong", [0.0, -1.0, math.inf, math.nan, "2", None, True])
def test_radii_that_are_none_are_refused(kind, wrong):
    with pytest.raises(InvalidParameter, match=rf"The radius of an? {kind.__name__} must be"):
        kind(wrong)


@pytest.mark.parametrize("p", [0, -1])
def test_a_dimension_below_one_is_refused(p):
    for body in (L1Ball(1.0), L2Ball(1.0), Box(0.0, 1.0), Simplex()):
        with pytest.raises(InvalidParameter, match="at least 1"):
            body.start(p)
        with pytest.raises(InvalidParameter, match="at least 1"):
            body.gaussian_width(p)


def test_gauge_of_boxes_and_simplex():
    assert Box(-1.0, 2.0).gauge(np.array([-3.0, 3.0])) == 3.0
    assert Box(0.0, 2.0).gauge(np.array([-1.0, 0.0])) == math.inf
    assert Box(1.0, 2.0).gauge(np.array([3.0, 2.0])) == 1.5
    assert Box(1.0, 2.0).gauge(np.array([3.0, 1.0])) == math.inf
    assert Box(-2.0, -1.0).gauge(np.array([-3.0, -2.0])) == 1.5
    assert Simplex(2.0).gauge(np.array([1.0, 3.0])) == 2.0
    assert Simplex(2.0).gauge(np.array([-1e-9, 3.0])) == math.inf
    assert L1Ball(2.0).gauge(np.zeros(2)) == 0.0


def test_the_table_of_mirror_maps():
    power = L1Ball(3.0).mirror_map(1000)
    k = 2.0 * math.log(1000.0)
    assert power.exponent == pytest.approx(k / (k - 1.0))
    assert power.range == pytest.approx(9.0 * (k - 1.0) / 2.0)
    assert L1Ball(3.0).mirror_map(2).exponent == 2.0
    assert Simplex(3.0).mirror_map(1000).range == pytest.approx(9.0 * math.log(1000.0))
    assert L2Ball(3.0).mirror_map(1000).range == 4.5
    assert Box(1.0, 2.0).mirror_map(10).range == pytest.approx(15.0)
