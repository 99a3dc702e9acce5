import json
import math

import numpy as np
import pytest

from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.geometry import (
    Box,
    ConvexSet,
    ElasticBall,
    ElasticNetPenalty,
    GroupBall,
    GroupPenalty,
    HasElasticForm,
    HasMirrorMap,
    HasVertices,
    L1Ball,
    L1Penalty,
    L2Ball,
    LpBall,
    NoPenalty,
    NuclearBall,
    NuclearPenalty,
    PenaltyWithFreeIntercept,
    Polytope,
    Projectable,
    Simplex,
    SquaredL2Penalty,
    VerticesWithIntercept,
    WithIntercept,
    penalty_from_dict,
    penalty_from_text,
    require,
    set_from_dict,
    set_from_text,
    with_intercept,
)
from hullabaloo.geometry.numerics import increasing_root


def test_a_set_that_has_everything_is_not_talked_about():
    require(L1Ball(1.0), [HasVertices, Projectable, HasMirrorMap])
    require(L1Ball(1.0), [])


def test_a_mismatch_is_one_sentence_with_the_remedy():
    with pytest.raises(CapabilityError) as refused:
        require(L2Ball(1.0), [HasVertices], "The Frank–Wolfe solver")
    assert str(refused.value) == (
        "The Frank–Wolfe solver was given L2Ball(radius=1.0), which lacks a list of finitely many vertices, and its "
        "steps rely on that; use L1Ball or Polytope or Simplex, or another solver."
    )
    with pytest.raises(CapabilityError, match="use L1Ball or Polytope or Simplex"):
        require(Box(0.0, 1.0), [HasVertices, Projectable])
    with pytest.raises(CapabilityError, match="use ElasticNetPenalty or L1Penalty"):
        require(PenaltyWithFreeIntercept(L1Penalty(1.0)), [HasElasticForm])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("l1:2", L1Ball(2.0)),
        (" l2:0.5 ", L2Ball(0.5)),
        ("box:-1,1", Box(-1.0, 1.0)),
        ("simplex", Simplex()),
        ("simplex:3", Simplex(3.0)),
        ("lp:1.5,2", LpBall(1.5, 2.0)),
        ("elastic:0.5,2", ElasticBall(0.5, 2.0)),
        ("nuclear:2,3", NuclearBall(2.0, 3)),
        ("group:1.5;0-2;3,5;4", GroupBall([[0, 1, 2], [3, 5], [4]], 1.5)),
        ("polytope:0,0;1,0;0,-1.5", Polytope([[0.0, 0.0], [1.0, 0.0], [0.0, -1.5]])),
    ],
)
def test_sets_of_the_command_line(text, expected):
    assert set_from_text(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("none", NoPenalty()),
        ("l1:0.1", L1Penalty(0.1)),
        ("l2:1e-3", SquaredL2Penalty(1e-3)),
        ("elastic:0.1,0.5", ElasticNetPenalty(0.1, 0.5)),
        ("group:0.1;0-1;2", GroupPenalty([[0, 1], [2]], 0.1)),
        ("nuclear:0.1,2", NuclearPenalty(0.1, 2)),
    ],
)
def test_penalties_of_the_command_line(text, expected):
    assert penalty_from_text(text) == expected


@pytest.mark.few(8)
@pytest.mark.parametrize("text", ["", "l3:1", "l1", "l1:", "l1:a", "l1:1,2", "box:1", "l1:-1", "l1:nan", "box:2,1"])
@pytest.mark.parametrize("more", ["", "0,"])
def test_text_that_names_no_set_is_refused(text, more):
    with pytest.raises(InvalidParameter):
        set_from_text(text + more)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("l1:1,2", r"gives 2 numbers, but 'l1' takes 1; write l1:2"),
        ("box:a,1", r"names no set, as 'a,1' cannot be read"),
        ("ball:1", r"as 'ball' is none of l1, l2, lp, box"),
        ("group:1;0-1;1", "must not overlap"),
        ("group:1", "cannot be read"),
        ("group:1;0-;2", "cannot be read"),
        ("nuclear:1,2.5", "number of columns of the matrix must be a whole number"),
        ("polytope:0,0;1", "cannot be read"),
        ("polytope:", "cannot be read"),
        ("lp:1,2", "use L1Ball"),
    ],
)
def test_text_that_is_refused_says_why(text, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        set_from_text(text)


@pytest.mark.parametrize("text", ["", "l1", "l1:-1", "elastic:1", "elastic:1,2", "none:1", "l2:inf"])
def test_text_that_names_no_penalty_is_refused(text):
    with pytest.raises(InvalidParameter):
        penalty_from_text(text)


@pytest.mark.parametrize("data", [{}, {"kind": "ball"}, {"kind": "l1-ball"}, {"kind": "l1-ball", "r": 1.0}])
def test_data_that_describe_no_set_are_refused(data):
    with pytest.raises(InvalidParameter):
        set_from_dict(data)
    with pytest.raises(InvalidParameter):
        penalty_from_dict(data)


def test_an_intercept_is_clipped_alone():
    body = with_intercept(L1Ball(1.0), -0.5, 0.5)
    assert np.array_equal(body.project(np.array([4.0, 0.0, 2.0])), [1.0, 0.0, 0.5])
    assert body.max_norm(1, 3) == 1.5
    assert body.support(np.array([1.0, 2.0, -4.0])) == 4.0
    assert body.project(np.array([9.0])) == [0.5]  # an intercept and nothing else


def test_a_free_intercept_is_left_alone():
    body = with_intercept(Box((0.0, 0.0), 1.0))
    assert body.dimension == 3
    assert np.array_equal(body.project(np.array([4.0, 0.5, -7.0])), [1.0, 0.5, -7.0])
    assert body.support(np.array([1.0, 2.0, 0.0])) == 3.0
    assert body.support(np.array([1.0, 2.0, 0.1])) == math.inf
    assert body.max_norm(2, 3) == math.inf
    assert body.gaussian_width(3).value == math.inf
    assert set_from_dict(json.loads(json.dumps(body.to_dict()))) == body
    with pytest.raises(InvalidParameter, match="unbounded"):
        body.vertex(np.ones(3))
    penalty = PenaltyWithFreeIntercept(L1Penalty(1.0))
    assert penalty.value(np.array([1.0, -2.0, 50.0])) == 3.0
    assert np.array_equal(penalty.prox(np.array([1.5, -0.2, 50.0]), 1.0), [0.5, 0.0, 50.0])


def test_vertices_stand_beside_both_ends_of_the_intercept():
    body = with_intercept(L1Ball(2.0), -1.0, 3.0)
    assert isinstance(body, VerticesWithIntercept)
    listed = [body.vertex_at(i, 3).tolist() for i in range(body.vertex_count(3))]
    heads = [[2.0, 0.0], [0.0, 2.0], [-2.0, 0.0], [0.0, -2.0]]
    assert listed == [[*head, end] for end in (-1.0, 3.0) for head in heads]
    assert body.vertex_scores(np.array([1.0, 2.0, 10.0])).tolist() == [-8, -6, -12, -14, 32, 34, 28, 26]
    assert with_intercept(L1Ball(2.0), 0.5, 0.5).vertex_count(3) == 4
    assert body.vertex_count(1) == 2  # an intercept and nothing else
    for other in (
        with_intercept(L1Ball(2.0)),
        with_intercept(L1Ball(2.0), 0.0),
        with_intercept(L2Ball(2.0), -1.0, 1.0),
    ):
        assert isinstance(other, WithIntercept)
        assert not isinstance(other, HasVertices)
    with pytest.raises(InvalidParameter, match="no vertex number 8"):
        body.vertex_at(8, 3)


def test_several_intercepts():
    body = with_intercept(Simplex(), 0.0, 1.0, 2)
    assert body.vertex_count(4) == 8
    assert [body.vertex_at(i, 4)[2:].tolist() for i in range(0, 8, 2)] == [[0, 0], [1, 0], [0, 1], [1, 1]]
    assert np.array_equal(body.project(np.array([3.0, 0.0, -4.0, 0.5])), [1.0, 0.0, 0.0, 0.5])
    assert not isinstance(with_intercept(L1Ball(1.0), 0.0, 1.0, 17), HasVertices)  # 2^17 corners are not a list
    assert np.array_equal(
        PenaltyWithFreeIntercept(L1Penalty(1.0), 2).prox(np.array([1.5, 9.0, -9.0]), 1.0), [0.5, 9.0, -9.0]
    )
    saved = {"kind": "with-intercept", "body": {"kind": "l1-ball", "radius": 1.0}, "lower": None, "upper": None}
    assert set_from_dict(saved) == with_intercept(L1Ball(1.0))  # as written before there were several
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(InvalidParameter, match="number of intercepts"):
            with_intercept(L1Ball(1.0), columns=wrong)
    with pytest.raises(InvalidParameter, match="3 intercepts, but there are only 2 coordinates"):
        with_intercept(L1Ball(1.0), columns=3).project(np.zeros(2))


def test_an_intercept_beside_what_cannot_hold_one_is_refused():
    with pytest.raises(InvalidParameter, match="is empty"):
        WithIntercept(L1Ball(1.0), 1.0, -1.0)
    with pytest.raises(InvalidParameter, match="is empty"):
        WithIntercept(L1Ball(1.0), math.nan, 1.0)

    class Bare(ConvexSet):
        dimension = support = vertex = contains = max_norm = gaussian_width = start = to_dict = None

    with pytest.raises(CapabilityError, match="cannot be projected onto"):
        with_intercept(Bare())


@pytest.mark.parametrize("root", [1e-12, 0.3, 1.0, 7.0])
def test_roots_are_found_to_the_last_bits(root):
    for function in (lambda x: x - root, lambda x: x**9 - root**9, lambda x: math.atan(1e3 * (x - root))):
        assert increasing_root(function, 0.0, 10.0) == pytest.approx(root, rel=1e-12, abs=1e-15)
    assert increasing_root(lambda x: x + 1.0, 0.0, 1.0) == 0.0
    assert increasing_root(lambda x: x - 2.0, 0.0, 1.0) == 1.0
