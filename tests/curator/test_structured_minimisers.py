"""Minimiser queries with norms of set functions: real neighbours, certified distances, refusals before anything is charged."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls

from hullabaloo.curator import Curator
from hullabaloo.data.source import Rows
from hullabaloo.erm import optimise as inner
from hullabaloo.erm.objective_perturbation import ObjectivePerturbationQuery
from hullabaloo.erm.output_perturbation import OutputPerturbationQuery
from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import (
    BoundedCardinality,
    ConcaveCardinality,
    CustomSetFunction,
    NoPenalty,
    PenaltyWithFreeIntercept,
    SetFunction,
    SubmodularBall,
    SubmodularPenalty,
    SubmodularPolyhedron,
    omega,
    with_intercept,
)
from hullabaloo.geometry.submodular.group_cover import GroupCover, Intervals
from hullabaloo.losses import Logistic
from hullabaloo.privacy import Neighbours
from tests.curator.neighbours import facts, join, pairs, random_rows
from tests.curator.test_minimisers import LOSSES, minimizer, perturbed, squeezed

FUNCTIONS: dict[str, SetFunction] = {
    "largest": BoundedCardinality(1),
    "sorted l1": ConcaveCardinality([1.0, 0.5, 0.25]),
    "groups": GroupCover([[0, 1], [2]]),
    "overlapping groups": GroupCover([[0, 1], [1, 2]], [1.0, 0.7]),
    "tree": GroupCover.tree([-1, 0, 0]),
    "intervals": Intervals(3),
}
SHAPES: dict[str, tuple[Any, Any]] = {
    **{f"{name}, penalty": (None, SubmodularPenalty(function, 0.02)) for name, function in FUNCTIONS.items()},
    **{f"{name}, ball": (SubmodularBall(function, 0.3), NoPenalty()) for name, function in FUNCTIONS.items()},
}


@pytest.mark.few(8)
@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("name", SHAPES)
def test_neighbours_minimisers_are_within_the_sensitivity(relation: Neighbours, name: str) -> None:
    """Tables that differ in one record, half of them in an extreme one, under every loss."""
    feasible, penalty = SHAPES[name]
    about, n, zero = facts(3, norm_l2=1.0), 21, np.zeros(3)
    for loss, clip in LOSSES:
        query = minimizer(about, relation, n, loss=loss, clip=clip, feasible=feasible, penalty=penalty, ridge=0.02)
        for one, other in pairs(np.random.default_rng(1), relation, about, rounds=2):
            points = [query.kept_work(squeezed(rows, loss)).minimiser(zero) for rows in (one, other)]
            assert float(np.linalg.norm(points[0] - points[1])) <= query.sensitivity


@pytest.mark.few(5)
@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("name", [name for name in SHAPES if name.endswith("penalty")])
def test_the_sensitivity_is_nearly_attained(relation: Neighbours, name: str) -> None:
    """Common records hold θ at the penalty's edge, where it is linear; one extreme record then moves it by nearly the whole bound."""
    about, n, ridge = facts(3, norm_l2=1.0), 10, 1e3
    penalty = SHAPES[name][1]
    linear = 10.0 * np.array(
        [3.0, -2.0, 1.0]
    )  # far inside one order of magnitudes, so that the penalty's slope is constant
    query = minimizer(about, relation, n, ridge=ridge, clip=0.5, penalty=penalty, linear_bound=100.0)
    common = Rows(np.zeros((n - 1, 3)), np.zeros((n - 1, 1)))
    x = np.array([[0.6, 0.0, 0.8]])
    one = join(common, Rows(x, np.ones((1, 1))))
    other = common if relation is Neighbours.ADD_OR_REMOVE else join(common, Rows(x, -np.ones((1, 1))))
    points = [query.kept_work(rows).minimiser(n * linear) for rows in (one, other)]
    assert float(np.linalg.norm(points[0] - points[1])) == pytest.approx(query.sensitivity, rel=2e-3)


def subgradient(function: SetFunction, theta: np.ndarray, g: np.ndarray) -> float:
    """The distance of −g from ∂Ω(θ), the hull of those greedy vertices, over all orders and signs, that attain Ω(θ)."""
    p, vertices = theta.size, []
    for order in itertools.permutations(range(p)):
        gains = function.gains(np.array(order))
        for signs in itertools.product((-1.0, 1.0), repeat=p):
            s = np.zeros(p)
            s[list(order)] = np.array(signs) * gains
            vertices.append(s)
    V = np.unique(np.array(vertices), axis=0)
    size = float((V @ theta).max())
    assert size == pytest.approx(omega(function, theta), rel=1e-12)
    held = V[V @ theta >= size * (1.0 - 1e-12)].T
    heavy = 1e6  # weights are to add up to 1
    weights, _ = nnls(np.vstack([held, heavy * np.ones(held.shape[1])]), np.append(-g, heavy))
    return float(np.linalg.norm(held @ (weights / weights.sum()) + g))


@pytest.mark.few(5)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("logistic", [False, True])
def test_a_penalised_minimiser_is_as_near_as_stated(name: str, logistic: bool) -> None:
    """By the subdifferential, written out vertex by vertex: `λ‖θ − θ*‖ ≤ dist(0, ∂F(θ))`."""
    about, rng, function, n = facts(3, norm_l2=1.0), np.random.default_rng(3), FUNCTIONS[name], 30
    loss, clip = LOSSES[1] if logistic else LOSSES[0]
    for strength in (0.002, 0.02, 0.1):
        penalty = SubmodularPenalty(function, strength)
        query = perturbed(about, Neighbours.REPLACE_ONE, n, loss=loss, clip=clip, ridge=0.3, penalty=penalty)
        rows, b = squeezed(random_rows(rng, n, about), loss), 0.3 * rng.normal(size=3)
        theta = query.near(rows, b)
        d = np.clip(loss.derivative(rows.X @ theta, rows.Y[:, 0]), -clip, clip)
        smooth = rows.X.T @ d + 0.3 * theta + b
        apart = subgradient(function, theta, smooth / (n * strength)) * n * strength / 0.3
        assert query.distance < 1e-5
        assert apart <= query.distance + 1e-11, (apart, query.distance)


@pytest.mark.few(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_constrained_minimiser_is_as_near_as_stated(name: str) -> None:
    """`λ‖θ − θ*‖² ≤ ⟨∇F(θ), θ − θ*⟩ ≤ ⟨∇F(θ), θ⟩ + rΩ*(∇F(θ))`, and Ω* by all sets."""
    about, rng, function, n = facts(3, norm_l2=1.0), np.random.default_rng(4), FUNCTIONS[name], 30
    sets = [np.array(members) for members in itertools.product((False, True), repeat=3) if any(members)]
    for radius in (0.1, 0.4):
        query = perturbed(about, Neighbours.REPLACE_ONE, n, ridge=0.3, feasible=SubmodularBall(function, radius))
        rows, b = random_rows(rng, n, about), 0.3 * rng.normal(size=3)
        theta = query.near(rows, b)
        assert omega(function, theta) <= radius * (1.0 + 1e-12)
        g = rows.X.T @ np.clip(rows.X @ theta - rows.Y[:, 0], -0.5, 0.5) + 0.3 * theta + b
        dual = max(float(np.abs(g[members]).sum()) / function.value(members) for members in sets)
        gap = float(g @ theta) + radius * dual
        assert gap <= 0.3 * query.distance**2 + 1e-13 * dual * radius + query.distance * 1e-9


@pytest.mark.parametrize("name", ["overlapping groups, penalty", "intervals, ball"])
def test_plain_steps_alone_reach_the_distance(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    feasible, penalty = SHAPES[name]
    about = facts(3, norm_l2=1.0)
    rows = random_rows(np.random.default_rng(5), 25, about)
    query = perturbed(about, Neighbours.REPLACE_ONE, 25, feasible=feasible, penalty=penalty, ridge=2.0)
    b = np.array([1.0, -2.0, 0.5])
    quick = query.near(rows, b)

    def broken(*arguments: Any) -> Any:
        raise ValueError("broken")

    monkeypatch.setattr(inner, "newton", broken)
    assert float(np.linalg.norm(query.near(rows, b) - quick)) <= 2.0 * query.distance


def test_an_iterative_prox_is_refused_before_anything_is_read() -> None:
    """A callable's prox states no error, which a certificate needs; without noise there is nothing to certify."""
    callable_ = CustomSetFunction(lambda members: len(members) ** 0.5, 3)
    about = facts(3, norm_l2=1.0)
    penalty, ball = SubmodularPenalty(callable_, 0.02), SubmodularBall(callable_, 0.3)
    for changes in (
        {"penalty": penalty},
        {"penalty": PenaltyWithFreeIntercept(penalty)},
        {"feasible": ball},
        {"feasible": with_intercept(ball, -2.0, 2.0)},
        {"feasible": SubmodularPolyhedron(callable_, 0.3)},
        {"feasible": with_intercept(SubmodularPolyhedron(callable_, 0.3), -2.0, 2.0)},
    ):
        for made in (minimizer, perturbed):
            with pytest.raises(CapabilityError, match="solver='gradient'"):
                made(about, Neighbours.REPLACE_ONE, 10, **changes)
    query = minimizer(about, Neighbours.REPLACE_ONE, 10, penalty=penalty, mu=math.inf)
    rows = random_rows(np.random.default_rng(6), 10, about)
    other = minimizer(about, Neighbours.REPLACE_ONE, 10, penalty=SubmodularPenalty(ConcaveCardinality.power(3, 0.5), 0.02), mu=math.inf)  # fmt: skip
    assert Curator(rows, [query]).answer("output_perturbation") == pytest.approx(
        Curator(rows, [other]).answer("output_perturbation"), abs=1e-9
    )


@pytest.mark.parametrize("kind", [OutputPerturbationQuery, ObjectivePerturbationQuery])
@pytest.mark.parametrize("name", ["tree, penalty", "groups, ball"])
def test_every_table_is_answered(kind: type, name: str) -> None:
    feasible, penalty = SHAPES[name]
    about, rng = facts(3, norm_l2=1.0), np.random.default_rng(7)
    made = minimizer if kind is OutputPerturbationQuery else perturbed
    query = made(about, Neighbours.ADD_OR_REMOVE, 40, loss=Logistic(), clip=1.0, feasible=feasible, penalty=penalty)
    for rows in (
        Rows(np.zeros((0, 3)), np.zeros((0, 1))),
        Rows(np.zeros((40, 3)), np.ones((40, 1))),
        Rows(1e-160 * rng.normal(size=(40, 3)), np.ones((40, 1))),
        Rows(np.tile([[0.6, 0.8, 0.0]], (40, 1)), np.ones((40, 1))),
        squeezed(random_rows(rng, 2000, about, extreme=True), Logistic()),
    ):
        curator = Curator(rows, [query])
        answer = (
            curator.answer("output_perturbation")
            if kind is OutputPerturbationQuery
            else curator.answer("objective_perturbation")
        )
        assert answer.shape == (3,)
        assert np.isfinite(answer).all()


@pytest.mark.parametrize(
    "function", [GroupCover([[0, 1], [1, 2]], [1e-6, 2e6]), GroupCover.tree([-1, 0, 0], [1e-6, 2e6, 1.0])]
)
def test_groups_whose_weights_are_too_far_apart_are_refused(function: SetFunction) -> None:
    """Projections onto their balls lose their digits, which a distance to the minimiser rests on."""
    for make in (minimizer, perturbed):
        with pytest.raises(CapabilityError, match="weights over 1e12 apart"):
            make(facts(3, norm_l2=1.0), Neighbours.REPLACE_ONE, 20, feasible=SubmodularBall(function, 1.0))
