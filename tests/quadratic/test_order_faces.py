"""Quadratics with structured norms: optimality conditions by the dual norm, which the solver never computes, at ill-conditioned ones too."""

from typing import Any

import numpy as np
import pytest

from hullabaloo.geometry import (
    BoundedCardinality,
    Cardinality,
    ConcaveCardinality,
    CustomSetFunction,
    L1Penalty,
    PenaltyWithFreeIntercept,
    SubmodularBall,
    SubmodularPenalty,
    dual_omega,
    omega,
    with_intercept,
)
from hullabaloo.geometry.submodular.group_cover import GroupCover, Intervals
from hullabaloo.quadratic import Status, minimise_quadratic
from hullabaloo.quadratic.order_faces import Blocks

FUNCTIONS: dict[str, Any] = {
    "largest": lambda p: BoundedCardinality(1),
    "three largest": lambda p: BoundedCardinality(3),
    "sorted l1": lambda p: ConcaveCardinality.power(p, 0.5),
    "groups": lambda p: GroupCover([range(start, min(start + 3, p)) for start in range(0, p, 3)]),
    "overlapping groups": lambda p: GroupCover([range(start, min(start + 4, p)) for start in range(0, p, 2)]),
    "tree": lambda p: GroupCover.tree([(j - 1) // 2 if j else -1 for j in range(p)]),
    "intervals": Intervals,
    "callable": lambda p: CustomSetFunction(lambda members: len(members) ** 0.5, p),
}


def quadratic(p: int, condition: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A, and the b of a θ on the second quarter of the columns."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(p, p)))[0]
    gram = turn @ np.diag(np.geomspace(1.0, 1.0 / condition, p)) @ turn.T
    theta = np.zeros(p)
    theta[p // 4 : p // 2] = rng.choice([-1.0, 1.0], p // 2 - p // 4)
    return 0.5 * (gram + gram.T), gram @ theta + 0.02 * rng.normal(size=p)


@pytest.mark.few(7)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("condition", [10.0, 1e5])
def test_the_residual_slope_is_a_subgradient(name: str, condition: float) -> None:
    """θ is optimal if and only if q = b − Aθ has `Ω*(q) ≤ λ` and `⟨q, θ⟩ = λΩ(θ)`; on a ball, `⟨q, θ⟩ = rΩ*(q)` and `Ω(θ) ≤ r`."""
    p = 12
    function = FUNCTIONS[name](p)
    gram, cross = quadratic(p, condition)
    top = dual_omega(function, cross).value
    for share in (0.02, 0.3):
        solved = minimise_quadratic(gram, cross, penalty=SubmodularPenalty(function, share * top))
        assert solved.status is Status.CONVERGED
        q, size = cross - gram @ solved.theta, omega(function, solved.theta)
        assert dual_omega(function, q).value <= share * top * (1.0 + 1e-9)
        assert float(q @ solved.theta) == pytest.approx(share * top * size, rel=1e-9)
        ball = minimise_quadratic(gram, cross, feasible=SubmodularBall(function, 0.9 * size))
        q = cross - gram @ ball.theta
        assert omega(function, ball.theta) == pytest.approx(0.9 * size, rel=1e-9)
        assert float(q @ ball.theta) == pytest.approx(0.9 * size * dual_omega(function, q).value, rel=1e-7)


def test_a_strong_penalty_leaves_nothing_and_a_large_ball_everything() -> None:
    gram, cross = quadratic(9, 10.0)
    function = Intervals(9)
    top = dual_omega(function, cross).value
    assert not minimise_quadratic(gram, cross, penalty=SubmodularPenalty(function, 1.001 * top)).theta.any()
    free = minimise_quadratic(gram, cross, feasible=SubmodularBall(function, 1e3)).theta
    assert free == pytest.approx(np.linalg.solve(gram, cross), rel=1e-9)


@pytest.mark.parametrize("columns", [1, 2])
def test_free_coordinates_are_solved_for(columns: int) -> None:
    gram, cross = quadratic(9, 100.0)
    function = FUNCTIONS["groups"](9 - columns)
    top = dual_omega(function, cross[:-columns]).value
    penalty = PenaltyWithFreeIntercept(SubmodularPenalty(function, 0.2 * top), columns)
    q = cross - gram @ (theta := minimise_quadratic(gram, cross, penalty=penalty).theta)
    assert q[-columns:] == pytest.approx(np.zeros(columns), abs=1e-11)
    assert dual_omega(function, q[:-columns]).value <= 0.2 * top * (1.0 + 1e-9)
    assert float(q @ theta) == pytest.approx(penalty.value(theta), rel=1e-9)
    body = with_intercept(SubmodularBall(function, 0.5 * omega(function, theta[:-columns])), -0.1, 0.1, columns)
    held = minimise_quadratic(gram, cross, feasible=body)
    assert held.status is Status.CONVERGED
    assert np.abs(held.theta[-columns:]).max() <= 0.1


def test_the_norm_of_the_cardinality_is_solved_as_the_l1_norm() -> None:
    gram, cross = quadratic(9, 10.0)
    for wrap in (lambda penalty: penalty, PenaltyWithFreeIntercept):
        found = [minimise_quadratic(gram, cross, penalty=wrap(one)).theta for one in (SubmodularPenalty(Cardinality(), 0.02), L1Penalty(0.02))]  # fmt: skip
        assert np.array_equal(*found)


def test_blocks_are_what_the_norm_is_linear_on() -> None:
    """Ω at a point of the same order, signs and ties is the inner product with its slope; sums and spreads are adjoint."""
    function = FUNCTIONS["overlapping groups"](7)
    theta = np.array([2.0, -2.0, 0.0, 1.0, 3.0, -1.0, 0.0, 5.0])  # the last is free
    blocks = Blocks.of(function, theta, 1)
    assert blocks.count == 4
    assert blocks.number.tolist() == [1, 1, -1, 2, 0, 2, -1, 3]
    other = np.array([2.5, -2.5, 0.0, 0.1, 9.0, -0.1, 0.0, -1.0])
    assert omega(function, other[:-1]) == pytest.approx(float(blocks.slope @ other))
    v, values = np.arange(8.0), np.array([1.0, -2.0, 3.0, 0.5])
    assert float(blocks.summed(v) @ values) == pytest.approx(float(v @ blocks.spread(values)))
