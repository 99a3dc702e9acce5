"""Group and nuclear balls and penalties: other sets as special cases, other algorithms, refusals."""

import math

import numpy as np
import pytest

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import (
    GroupBall,
    GroupPenalty,
    L1Ball,
    L1Penalty,
    L2Ball,
    NuclearBall,
    NuclearPenalty,
    measured_width,
)


@pytest.mark.parametrize("seed", range(3))
def test_groups_of_one_make_the_l1_ball_and_one_group_the_l2_ball(seed):
    v = 3.0 * np.random.default_rng(seed).standard_normal(30)
    single, whole = [[j] for j in range(30)], [range(30)]
    for alike, other in ((GroupBall(single, 2.0), L1Ball(2.0)), (GroupBall(whole, 2.0), L2Ball(2.0))):
        assert alike.project(v) == pytest.approx(other.project(v), abs=1e-14)
        assert alike.vertex(v) == pytest.approx(other.vertex(v), abs=1e-14)
        assert alike.support(v) == pytest.approx(other.support(v), rel=1e-14)
        assert alike.gauge(v) == pytest.approx(other.gauge(v), rel=1e-14)
        assert alike.gaussian_width(30).value == pytest.approx(other.gaussian_width(30).value, rel=1e-11)
        assert all(alike.max_norm(q, 30) == pytest.approx(other.max_norm(q, 30)) for q in (1, 2, math.inf))
    assert GroupPenalty(single, 0.3).prox(v, 2.0) == pytest.approx(L1Penalty(0.3).prox(v, 2.0), abs=1e-14)


@pytest.mark.parametrize("shape", [(40, 1), (1, 40)])
def test_a_single_row_or_column_makes_the_l2_ball(shape):
    v = np.random.default_rng(0).standard_normal(40)
    alike, other = NuclearBall(2.0, shape[1]), L2Ball(2.0)
    assert alike.project(v) == pytest.approx(other.project(v), abs=1e-14)
    assert alike.vertex(v) == pytest.approx(other.vertex(v), abs=1e-14)
    assert alike.gaussian_width(40) == other.gaussian_width(40)
    assert alike.mirror_map(40).range == other.mirror_map(40).range


def test_diagonal_matrices_follow_the_l1_ball():
    d = np.array([3.0, -1.0, 0.5, -0.2])
    ball, penalty = NuclearBall(1.5, 4), NuclearPenalty(0.4, 4)
    assert ball.project(np.diag(d).ravel()) == pytest.approx(np.diag(L1Ball(1.5).project(d)).ravel(), abs=1e-14)
    assert penalty.prox(np.diag(d).ravel(), 1.0) == pytest.approx(np.diag(L1Penalty(0.4).prox(d, 1.0)).ravel())
    assert ball.gauge(np.diag(d).ravel()) == pytest.approx(np.abs(d).sum() / 1.5)


def test_blocks_keep_their_digits_at_any_scale():
    ball = GroupBall([[0, 1], [2, 3]], 5.0)
    assert ball.project(np.array([3e300, -4e300, 1.0, 0.0])) == pytest.approx([3.0, -4.0, 0.0, 0.0], rel=1e-15)
    assert ball.project(np.array([3e300, 0.0, 0.0, 3e300])) == pytest.approx([2.5, 0.0, 0.0, 2.5], rel=1e-15)
    tiny = np.array([3e-300, -4e-300, 0.0, 0.0])
    assert np.array_equal(ball.project(tiny), tiny)
    assert ball.gauge(tiny) == pytest.approx(1e-300, rel=1e-14)
    assert not np.signbit(ball.project(np.array([-50.0, 0.0, -1e-3, 0.0]))[1:]).any()


def test_vertices_of_zero_are_fixed():
    assert np.array_equal(GroupBall([[2], [1, 0]], 2.0).vertex(np.zeros(3)), [0.0, 0.0, -2.0])
    assert np.array_equal(GroupBall([[2, 1], [0]], 2.0).vertex(np.zeros(3)), [0.0, -2.0, 0.0])
    assert np.array_equal(NuclearBall(2.0, 2).vertex(np.zeros(4)), [-2.0, 0.0, 0.0, 0.0])


def test_the_width_of_matrices_is_simulated_within_proved_bounds():
    """Tests: 002, Fact 2.3."""
    ball = NuclearBall(2.0, 20)
    bound = ball.gaussian_width(600)
    assert bound.high == pytest.approx(2.0 * (math.sqrt(30) + math.sqrt(20)), rel=0.02)
    seen = measured_width(ball, 600, generator=np.random.default_rng(0), draws=400)
    assert bound.low <= seen.low < seen.value < seen.high <= bound.high
    assert seen.high - seen.low < bound.high - bound.low
    exact = GroupBall([[0, 1], [2]], 2.0).gaussian_width(3)
    assert measured_width(GroupBall([[0, 1], [2]], 2.0), 3, generator=np.random.default_rng(0)) == exact


@pytest.mark.few(10)
@pytest.mark.parametrize("kind", [GroupBall, GroupPenalty])
@pytest.mark.parametrize(
    ("groups", "sentence"),
    [
        ([[0, 1], [1, 2]], r"Column 1 is in groups \[0, 1\], but groups must not overlap"),
        ([[0, 0], [1]], r"Column 0 is in groups \[0, 0\]"),
        ([[0, 1], [3]], r"Column 2 is in no group, though the groups go up to column 3"),
        ([[1]], "Column 0 is in no group"),
        ([[0], []], "Group 1 must be a list of column numbers"),
        ([[0], [1.0]], "Group 1 holds 1.0, but columns are numbered"),
        ([[0], [-1]], "Group 1 holds -1"),
        ([[0], [True]], "Group 1 holds True"),
        ([[0], "1"], "Group 1 must be a list"),
        ([0, 1], "Group 0 must be a list"),
        ([], "The groups must be a list of lists"),
        (None, "The groups must be a list of lists"),
        ("01", "The groups must be a list of lists"),
    ],
)
def test_groups_that_are_no_partition_are_refused(kind, groups, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        kind(groups, 1.0)


def test_groups_from_arrays_and_ranges_are_taken():
    assert GroupBall([np.array([0, 2]), range(1, 2)], 1) == GroupBall(((0, 2), (1,)), 1.0)
    assert GroupBall([[0], [1]], 1.0) != GroupBall([[1], [0]], 1.0)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, None, "2"])
def test_matrices_without_columns_are_refused(wrong):
    for kind in (NuclearBall, NuclearPenalty):
        with pytest.raises(InvalidParameter, match="number of columns of the matrix must be a whole number"):
            kind(1.0, wrong)


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, math.inf, None, "1"])
def test_radii_that_are_none_are_refused(wrong):
    with pytest.raises(InvalidParameter, match="The radius of a GroupBall"):
        GroupBall([[0]], wrong)
    with pytest.raises(InvalidParameter, match="The radius of a NuclearBall"):
        NuclearBall(wrong, 1)


def test_vectors_of_another_size_are_refused():
    with pytest.raises(InvalidParameter, match="the set has 3"):
        GroupBall([[0, 1], [2]], 1.0).project(np.zeros(4))
    with pytest.raises(InvalidParameter, match="the set has 3"):
        GroupPenalty([[0, 1], [2]], 1.0).value(np.zeros(4))
    for call in (NuclearBall(1.0, 2).project, NuclearPenalty(1.0, 2).value):
        with pytest.raises(InvalidParameter, match="3 coordinates are not the rows of a matrix with 2 columns"):
            call(np.zeros(3))
    for call in (NuclearBall(1.0, 2).start, NuclearBall(1.0, 2).gaussian_width, NuclearBall(1.0, 2).mirror_map):
        with pytest.raises(InvalidParameter, match="no multiple of 2"):
            call(3)
