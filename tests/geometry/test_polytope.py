"""Polytopes: other sets as special cases, exact programs, refusals."""

import math

import numpy as np
import pytest

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import Box, L1Ball, Polytope, Simplex, measured_width
from hullabaloo.geometry.polytope import nearest_in_hull


def cross(p, radius):
    return Polytope(np.concatenate([radius * np.eye(p), -radius * np.eye(p)]))


@pytest.mark.few(6)
@pytest.mark.parametrize("p", [1, 2, 5, 40])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6, 1e200])
def test_projection_agrees_with_sets_known_by_formulas(p, size):
    rng = np.random.default_rng(p)
    pairs = [(cross(p, 1.5), L1Ball(1.5)), (Polytope(2.0 * np.eye(p)), Simplex(2.0))]
    if p <= 5:
        corners = np.array(np.meshgrid(*[[-1.0, 2.0]] * p)).reshape(p, -1).T
        pairs.append((Polytope(corners), Box(-1.0, 2.0)))
    for hull, body in pairs:
        for v in (rng.standard_normal(p), rng.standard_cauchy(p), np.ones(p)):
            u, apart = hull.project(size * v), size * v - hull.project(size * v)
            if size <= 1e6:  # far away ties in the direction are decided by its rounding
                assert u == pytest.approx(body.project(size * v), abs=1e-14 * (100.0 + np.linalg.norm(apart)))
            assert hull.support(apart) - float(apart @ u) <= 1e-12 * (1.0 + np.linalg.norm(apart / size) * size)
            assert hull.support(v) == pytest.approx(body.support(v), rel=1e-13)
        u = body.project(rng.standard_normal(p))
        assert hull.gauge(3.0 * u) == pytest.approx(body.gauge(3.0 * u), rel=1e-9)


def test_gauge_is_infinite_off_the_cone():
    triangle = Polytope([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    assert triangle.gauge(np.array([3.0, 1.0, 0.0])) == pytest.approx(3.0)
    assert triangle.gauge(np.array([-1.0, 1.0, 0.0])) == math.inf
    assert triangle.gauge(np.array([1.0, 1.0, 1e-3])) == math.inf
    assert triangle.gauge(np.zeros(3)) == 0.0
    assert Polytope([[0.0, 0.0]]).gauge(np.array([1.0, 0.0])) == math.inf


def test_points_given_twice_or_inside_change_nothing():
    rng = np.random.default_rng(0)
    plain = rng.standard_normal((6, 3))
    padded = np.concatenate([plain, plain, rng.dirichlet(np.ones(6), size=20) @ plain])
    for v in 2.0 * rng.standard_normal((50, 3)):
        assert Polytope(padded).project(v) == pytest.approx(Polytope(plain).project(v), abs=1e-12)
        assert Polytope(padded).gauge(v) == pytest.approx(Polytope(plain).gauge(v), rel=1e-9)


@pytest.mark.parametrize(("k", "p"), [(300, 5), (40, 200), (500, 60)])
def test_the_certificate_of_the_projection_is_met(k, p):
    rng = np.random.default_rng(k)
    points = rng.standard_normal((k, p)) + 0.5
    for target in (np.zeros(p), 3.0 * rng.standard_normal(p), points.mean(axis=0)):
        weight = nearest_in_hull(points, target)
        u = weight @ points
        assert weight.min() >= 0.0
        assert weight.sum() == pytest.approx(1.0, abs=1e-12)
        size = np.linalg.norm(points, axis=1).max()
        gap = float((points @ (target - u)).max() - u @ (target - u))
        assert gap <= 1e-12 * size * (size + np.linalg.norm(target - u))


def test_nearly_flat_hulls_are_projected_onto():
    rng = np.random.default_rng(1)
    flat = np.concatenate([rng.standard_normal((30, 2)), 1e-9 * rng.standard_normal((30, 4))], axis=1)
    body = Polytope(flat)
    for v in rng.standard_normal((30, 6)):
        u = body.project(v)
        assert float((flat @ (v - u)).max() - u @ (v - u)) <= 1e-11


def test_widths_of_equal_distances_are_exact_and_others_bounded():
    assert Polytope(np.eye(6)).gaussian_width(6).value == pytest.approx(Simplex().gaussian_width(6).value, rel=1e-6)
    body = Polytope(np.random.default_rng(2).standard_normal((200, 3)))
    bound = body.gaussian_width(3)
    seen = measured_width(body, 3, generator=np.random.default_rng(3), draws=4000)
    assert seen.high - seen.low < bound.high - bound.low
    assert bound.low <= seen.value <= bound.high
    many = Polytope(np.random.default_rng(4).standard_normal((2500, 3))).gaussian_width(3)
    assert many.low < many.high < 2.0 * many.low * 3.0


@pytest.mark.parametrize(
    ("vertices", "sentence"),
    [
        ([], "k ≥ 1 points"),
        (np.zeros((0, 3)), "k ≥ 1 points"),
        (np.zeros((3, 0)), "k ≥ 1 points"),
        ([1.0, 2.0], "k ≥ 1 points"),
        (np.zeros((2, 2, 2)), "k ≥ 1 points"),
        ([[0.0], [math.nan]], "Vertex 1 of the Polytope holds a NaN"),
        (
            [[math.inf, 0.0], [0.0, 0.0]],
            "Vertex 0 of the Polytope holds a NaN or an infinity; give finite vertices",
        ),
        ([[0.0, 1.0], [1.0]], "not a table of numbers"),
        ("ab", "not a table of numbers"),
        (None, "k ≥ 1 points"),
    ],
)
def test_what_spans_no_polytope_is_refused(vertices, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        Polytope(vertices)


def test_a_polytope_keeps_its_own_copy():
    points = np.eye(2)
    body = Polytope(points)
    points[0, 0] = 7.0
    assert body == Polytope([[1, 0], [0, 1]])
    assert body != Polytope([[0, 1], [1, 0]])
    assert repr(body) == "Polytope(2 vertices in R^2)"
    with pytest.raises(ValueError, match="read-only"):
        body.vertices[0, 0] = 7.0
    body.vertex_at(0, 2)[0] = 7.0
    assert body.vertices[0, 0] == 1.0
    with pytest.raises(InvalidParameter, match="the set has 2"):
        body.project(np.zeros(3))
    with pytest.raises(InvalidParameter, match="as the set's bounds are"):
        body.start(3)
