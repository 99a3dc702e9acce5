"""Laws of every exported convex set."""

import itertools
import json
import math
import pickle

import numpy as np
import pytest

from hullabaloo import geometry
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import ConvexSet, HasFaces, HasGauge, HasVertices, Projectable, set_from_dict
from hullabaloo.geometry.numerics import euclidean_norm
from hullabaloo.geometry.width import simulated_width
from tests.laws import zoo
from tests.laws.public import public
from tests.sampling import sampled


def over(*capabilities, dimensions=zoo.DIMENSIONS):
    """The law holds for every sample that has the capabilities; fast, for one of each kind."""
    return sampled("body, p", zoo.sets(*capabilities, dimensions=dimensions), zoo.kind, ids=zoo.short)


every = over()
projectable = over(Projectable)
ROUNDING = 1e-12


def size(body, p):
    return body.max_norm(2, p)


def test_every_exported_set_has_samples():
    assert set(zoo.exported(geometry, ConvexSet)) == set(zoo.SET_SAMPLES)


def test_nothing_with_a_body_is_overridden():
    for name in public(geometry):
        kind = getattr(geometry, name)
        if not isinstance(kind, type):
            continue
        for base in kind.__mro__[1:]:
            if not base.__module__.startswith("hullabaloo"):
                continue
            for member, value in vars(base).items():
                if not member.startswith("__") and callable(value) and member in vars(kind):
                    assert getattr(value, "__isabstractmethod__", False), f"{name} overrides {base.__name__}.{member}"


@every
def test_vertex_agrees_with_support_and_beats_every_member(body, p):
    everyone = np.array(zoo.members(body, p))
    for g in zoo.points(p, seed=1):
        s = body.vertex(g)
        slack = ROUNDING * size(body, p) * euclidean_norm(g)
        assert body.contains(s)
        assert float(s @ -g) == pytest.approx(body.support(-g), rel=1e-12, abs=slack)
        assert float(s @ g) <= float((everyone @ g).min()) + slack
        assert np.array_equal(s, body.vertex(g.copy()))


@every
def test_support_is_sublinear(body, p):
    vectors = zoo.points(p, seed=2)[11:]
    for g, h in itertools.pairwise(vectors):
        assert body.support(g + h) <= body.support(g) + body.support(h) + 1e-10 * size(body, p) * (
            euclidean_norm(g) + euclidean_norm(h)
        )
        assert body.support(3.0 * g) == pytest.approx(3.0 * body.support(g), rel=1e-12)


@every
def test_no_member_exceeds_the_radii(body, p):
    for q in (1, 2, math.inf):
        largest = max(float(np.linalg.norm(theta, q)) for theta in zoo.members(body, p))
        assert largest <= body.max_norm(q, p) * (1.0 + 1e-12)
    with pytest.raises(InvalidParameter, match="1, 2 and infinity"):
        body.max_norm(3, p)


@over(dimensions=(1, 2, 4))
def test_the_radii_are_attained(body, p):
    """Tests: 003, Definition 2."""
    corners = [np.array(g, dtype=float) for g in itertools.product([-1, 0, 1], repeat=p)]
    for q in (1, 2, math.inf):
        vertices = [body.vertex(g) for g in corners]
        if isinstance(body, HasVertices):
            vertices += [body.vertex_at(i, p) for i in range(body.vertex_count(p))]
        largest = max(float(np.linalg.norm(s, q)) for s in vertices)
        assert largest == pytest.approx(body.max_norm(q, p), rel=1e-12)


@pytest.mark.few(10)
@every
def test_gaussian_width_agrees_with_simulation(body, p):
    """Tests: 000, Section 1.2, Gaussian width; 002, Section 2.2, Gaussian width; 003, Definition 3."""
    width = body.gaussian_width(p)
    assert width.low <= width.value <= width.high
    seen = simulated_width(
        body.support, p, size(body, p), generator=np.random.default_rng(3), draws=400, failure=1e-8
    )  # false alarm ≤ 1e-8 for each of fewer than 200 samples
    assert seen.low <= width.high
    assert width.low <= seen.high


@every
def test_start_is_the_member_nearest_to_zero(body, p):
    start = body.start(p)
    assert body.contains(start)
    for theta in zoo.members(body, p):
        assert float(start @ (theta - start)) >= -ROUNDING * size(body, p) ** 2


@every
def test_membership_is_not_vacuous(body, p):
    far = body.start(p) + 10.0 * (1.0 + size(body, p))
    assert not body.contains(far)


@every
def test_plain_data_pickle_and_hash_give_an_equal_set(body, p):
    assert set_from_dict(json.loads(json.dumps(body.to_dict()))) == body
    assert pickle.loads(pickle.dumps(body)) == body
    assert hash(pickle.loads(pickle.dumps(body))) == hash(body)


@every
def test_not_a_number_is_refused_and_nothing_is_written_to_arguments(body, p):
    for wrong in (np.full(p, np.nan), np.full(p, np.inf), np.zeros((p, 1))):
        for method in (body.support, body.vertex, body.contains):
            with pytest.raises(InvalidParameter):
                method(wrong)
    g = np.random.default_rng(0).standard_normal(p)
    g.flags.writeable = False
    body.vertex(g), body.support(g), body.contains(g)


@projectable
def test_projection_obeys_the_variational_inequality(body, p):
    for theta in zoo.points(p, seed=4):
        u = body.project(theta)
        assert body.contains(u)
        apart = theta - u
        slack = ROUNDING * max(size(body, p), 1e-300) * (euclidean_norm(apart) + size(body, p))
        assert body.support(apart) - float(apart @ u) <= slack
        assert u is not theta


@projectable
def test_projection_is_idempotent(body, p):
    for theta in zoo.points(p, seed=5):
        u = body.project(theta)
        assert np.abs(body.project(u) - u).max() <= 1e-14 * size(body, p)


@projectable
def test_projection_keeps_members(body, p):
    for theta in zoo.members(body, p):
        assert np.abs(body.project(theta) - theta).max() <= 1e-13 * size(body, p)


@projectable
def test_projection_is_firmly_nonexpansive(body, p):
    vectors = [v for v in zoo.points(p, seed=6) if np.abs(v).max() < 1e6]
    for v, w in itertools.pairwise(vectors):
        move, shift = v - w, body.project(v) - body.project(w)
        assert float(shift @ shift) <= float(shift @ move) + 1e-11 * (1.0 + float(move @ move) + size(body, p) ** 2)


@projectable
def test_moreau_remainder_is_the_prox_of_the_support_function(body, p):
    rng = np.random.default_rng(7)
    for v in zoo.points(p, seed=7)[11:14]:
        w = v - body.project(v)

        def objective(x, v=v):
            return 0.5 * float((x - v) @ (x - v)) + body.support(x)

        least = objective(w)
        for scale in (1e-3, 0.1, 1.0):
            other = w + scale * rng.standard_normal(p)
            assert least <= objective(other) + 1e-10 * (1.0 + abs(least))


@over(Projectable, HasFaces)
def test_small_moves_within_the_face_stay_in_the_set(body, p):
    rng = np.random.default_rng(8)
    for theta in (body.project(v) for v in zoo.points(p, seed=8)):
        face = body.face(theta)
        move = np.where(face.free, rng.standard_normal(p), 0.0)
        if face.normal is not None and face.free.any():
            normal = np.where(face.free, face.normal, 0.0)
            move -= normal * (normal @ move) / (normal @ normal)
        inside = np.abs(theta[theta != 0.0]).min(initial=size(body, p))
        if isinstance(body, geometry.Box):
            gaps = np.minimum(theta - np.asarray(body.lower), np.asarray(body.upper) - theta)[face.free]
            inside = gaps.min(initial=1.0)
        elif isinstance(body, geometry.L1Ball) and face.normal is None:
            inside = (body.radius - np.abs(theta).sum()) / p
        step = 0.5 * max(inside, 0.0) / max(np.abs(move).max(), 1.0)
        assert body.contains(theta + step * move)
        assert body.contains(theta - step * move)


@over(HasVertices)
def test_listed_vertices_are_the_vertices(body, p):
    """Tests: 000, Fact 2.3; 002, Fact 5.3."""
    count = body.vertex_count(p)
    listed = np.array([body.vertex_at(i, p) for i in range(min(count, 50))])
    g = np.random.default_rng(9).standard_normal(p)
    scores = body.vertex_scores(g)
    assert scores.shape == (count,)
    assert listed @ g == pytest.approx(scores[:50])
    assert np.array_equal(body.vertex_at(int(scores.argmin()), p), body.vertex(g))
    assert scores.max() == pytest.approx(body.support(g))
    for wrong in (-1, count):
        with pytest.raises(InvalidParameter):
            body.vertex_at(wrong, p)


@over(HasGauge)
def test_gauge_scales_membership(body, p):
    """Tests: 002, Section 2.2, Minkowski norm; 003, Definition 6."""
    for theta in zoo.members(body, p)[:: 6 if isinstance(body, geometry.Polytope) else 1]:
        gauge = body.gauge(theta)
        assert 0.0 <= gauge <= 1.0 + 1e-12
        assert body.gauge(5.0 * theta) == pytest.approx(5.0 * gauge, rel=1e-12)
        if gauge > 0.0:
            assert body.contains(theta / gauge)
            assert not body.contains(theta / gauge * 1.001, tolerance=1e-6) or body.gauge(theta / gauge) < 1.0


@over(HasGauge, Projectable)
def test_gauge_and_support_are_dual(body, p):
    """Tests: 001, Section 2, gauge."""
    for theta in zoo.points(p, seed=10)[11:]:
        g = np.random.default_rng(10).standard_normal(p)
        gauge, support = body.gauge(theta), body.support(g)
        if math.isfinite(gauge):
            assert float(theta @ g) <= gauge * support + 1e-10 * gauge * size(body, p) * euclidean_norm(g)
        u = body.project(theta)
        normal = theta - u
        if body.support(normal) > 1e-9 * euclidean_norm(normal) * size(body, p) > 0.0:  # equality on the boundary
            assert body.gauge(u) * body.support(normal) == pytest.approx(float(u @ normal), rel=1e-9)
