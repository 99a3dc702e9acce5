"""Balls of l_q norms and elastic balls: limits, other algorithms, refusals."""

import math

import numpy as np
import pytest

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import ElasticBall, L1Ball, L2Ball, LpBall
from hullabaloo.geometry.numerics import power_norm


@pytest.mark.parametrize("p", [1, 3, 200])
def test_elastic_balls_lie_between_l1_and_l2(p):
    """Tests: 002, Section 3.2, interpolation norms."""
    rng = np.random.default_rng(p)
    for alpha, other in ((0.0, L1Ball(0.7)), (1.0, L2Ball(0.7))):
        body = ElasticBall(alpha, 0.7)
        for v in (rng.standard_normal(p), rng.standard_cauchy(p), 1e300 * rng.standard_normal(p)):
            assert body.project(v) == pytest.approx(other.project(v), abs=1e-14)
            assert body.support(v) == pytest.approx(other.support(v), rel=1e-14)
            assert body.vertex(v) == pytest.approx(other.vertex(v), abs=1e-14)
        assert body.gaussian_width(p).value == pytest.approx(other.gaussian_width(p).value, rel=1e-11)


@pytest.mark.parametrize("alpha", [1e-12, 1e-4, 0.3, 0.9999, 1.0 - 1e-12])
@pytest.mark.parametrize("scale", [1.0, 1e8, 1e300])
def test_elastic_projections_are_optimal_at_any_scale(alpha, scale):
    rng = np.random.default_rng(1)
    body = ElasticBall(alpha, 2.0)
    for v in (rng.standard_normal(50), rng.standard_cauchy(50), np.ones(50), np.round(2.0 * rng.standard_normal(50))):
        u = body.project(scale * 5.0 * v)
        apart = scale * 5.0 * v - u
        assert body.gauge(u) == pytest.approx(1.0, rel=1e-13)
        assert body.support(apart) - float(apart @ u) <= 1e-12 * np.linalg.norm(apart / scale) * scale


@pytest.mark.parametrize("exponent", [1.01, 1.2, 1.5, 1.9, 1.999])
def test_points_of_lq_balls_obey_holder_with_equality(exponent):
    rng = np.random.default_rng(2)
    body = LpBall(exponent, 3.0)
    for g in (
        rng.standard_normal(20),
        1e300 * rng.standard_normal(20),
        1e-300 * rng.standard_normal(20),
        np.eye(20)[3],
    ):
        s = body.vertex(g)
        assert power_norm(s, exponent) == pytest.approx(3.0, rel=1e-13)
        assert float(s @ -g) == pytest.approx(3.0 * power_norm(g, body.dual_exponent), rel=1e-12)


@pytest.mark.parametrize("exponent", [1.01, 1.2, 1.5, 1.9, 1.999])
@pytest.mark.parametrize("scale", [1.0, 1e8, 1e300])
def test_projections_onto_lq_balls_are_optimal_at_any_scale(exponent, scale):
    rng = np.random.default_rng(3)
    body = LpBall(exponent, 0.5)
    for v in (rng.standard_normal(50), rng.standard_cauchy(50), np.ones(50), np.eye(50)[7]):
        u = body.project(scale * v)
        apart = scale * v - u
        assert power_norm(u, exponent) == pytest.approx(0.5, rel=1e-13)
        assert body.support(apart) - float(apart @ u) <= 1e-11 * scale * np.linalg.norm(v)


def test_lq_balls_approach_the_l1_and_the_l2_ball():
    v = np.random.default_rng(4).standard_normal(20)
    assert LpBall(1.0 + 1e-4, 1.0).project(v) == pytest.approx(L1Ball(1.0).project(v), abs=5e-3)
    assert LpBall(2.0 - 1e-9, 1.0).project(v) == pytest.approx(L2Ball(1.0).project(v), abs=1e-8)
    assert LpBall(1.0 + 1e-6, 1.0).gaussian_width(20).value == pytest.approx(
        L1Ball(1.0).gaussian_width(20).value, rel=1e-5
    )
    assert LpBall(2.0 - 1e-9, 1.0).gaussian_width(20).value == pytest.approx(L2Ball(1.0).gaussian_width(20).value)


@pytest.mark.parametrize(
    ("exponent", "sentence"),
    [
        (1.0, r"it is 1.0; use L1Ball\(radius\)"),
        (2, r"it is 2; use L2Ball\(radius\)"),
        (math.inf, r"it is inf; use Box\(-radius, radius\)"),
        (0.5, "the set would not be convex"),
        (3.0, "no potential of small range is known"),
        (math.nan, "must be a finite number"),
        (-math.inf, "must be a finite number"),
        ("1.5", "must be a finite number"),
        (True, "must be a finite number"),
    ],
)
def test_exponents_of_other_sets_are_refused_with_their_names(exponent, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        LpBall(exponent, 1.0)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan, math.inf, None, "0.5", True])
def test_shares_that_are_none_are_refused(wrong):
    with pytest.raises(InvalidParameter, match="The alpha of an ElasticBall"):
        ElasticBall(wrong, 1.0)


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, math.inf, None, "1"])
def test_radii_that_are_none_are_refused(wrong):
    with pytest.raises(InvalidParameter, match="The radius of an ElasticBall"):
        ElasticBall(0.5, wrong)
    with pytest.raises(InvalidParameter, match="The radius of an LpBall"):
        LpBall(1.5, wrong)
