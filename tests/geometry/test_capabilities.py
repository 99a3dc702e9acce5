import json
import math

import numpy as np
import pytest

from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.geometry import (
    Box,
    ConvexSet,
    ElasticNetPenalty,
    HasElasticForm,
    HasMirrorMap,
    HasVertices,
    L1Ball,
    L1Penalty,
    L2Ball,
    NoPenalty,
    Projectable,
    Simplex,
    SquaredL2Penalty,
    WithIntercept,
    explain_missing,
    penalty_from_dict,
    penalty_from_text,
    require,
    set_from_dict,
    set_from_text,
    with_free_intercept,
    with_intercept,
)
from hullabaloo.geometry.roots import increasing_root


def test_a_set_that_has_everything_is_not_talked_about():
    assert explain_missing(L1Ball(1.0), [HasVertices, Projectable, HasMirrorMap]) is None
    require(L1Ball(1.0), [])


def test_a_mismatch_is_one_sentence_with_the_remedy():
    sentence = explain_missing(L2Ball(1.0), [HasVertices], "The Frank–Wolfe solver")
    assert sentence == (
        "The Frank–Wolfe solver was given L2Ball(radius=1.0), which lacks a list of finitely many vertices, and its "
        "steps rely on that; use L1Ball or Polytope or Simplex, or another solver."
    )
    with pytest.raises(CapabilityError, match="use L1Ball or Polytope or Simplex"):
        require(Box(0.0, 1.0), [HasVertices, Projectable])
    with pytest.raises(CapabilityError, match="use ElasticNetPenalty or L1Penalty"):
        require(with_free_intercept(L1Penalty(1.0)), [HasElasticForm])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("l1:2", L1Ball(2.0)),
        (" l2:0.5 ", L2Ball(0.5)),
        ("box:-1,1", Box(-1.0, 1.0)),
        ("simplex", Simplex()),
        ("simplex:3", Simplex(3.0)),
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
    ],
)
def test_penalties_of_the_command_line(text, expected):
    assert penalty_from_text(text) == expected


@pytest.mark.parametrize("text", ["", "l3:1", "l1", "l1:", "l1:a", "l1:1,2", "box:1", "l1:-1", "l1:nan", "box:2,1"])
def test_text_that_names_no_set_is_refused(text):
    with pytest.raises(InvalidParameter):
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
    penalty = with_free_intercept(L1Penalty(1.0))
    assert penalty.value(np.array([1.0, -2.0, 50.0])) == 3.0
    assert np.array_equal(penalty.prox(np.array([1.5, -0.2, 50.0]), 1.0), [0.5, 0.0, 50.0])


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
