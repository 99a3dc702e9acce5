"""Norms of set functions under the general solvers: zeros and ties given back, the exact optimum, and everything that can run does."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hullabaloo.curator import Curator
from hullabaloo.data.source import Rows
from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import (
    BoundedCardinality,
    CustomSetFunction,
    SetFunction,
    SubmodularBall,
    SubmodularPenalty,
    dual_omega,
    omega,
)
from hullabaloo.geometry.submodular.group_cover import GroupCover, Intervals
from hullabaloo.noise import TestKey
from hullabaloo.planning.named import solver_named
from hullabaloo.privacy import Allowance, Budget
from hullabaloo.solvers import ObjectivePerturbationSolver, OutputPerturbationSolver, Solution, Solver
from hullabaloo.solvers.perturbation.objective_perturbation import ZERO, faint_reach, restored, structure_of
from tests.solvers.tables import Table, prices, problem, table

P = 12
FUNCTIONS: dict[str, SetFunction] = {
    "groups": GroupCover([range(0, 3), range(3, 6), range(6, 9), range(9, 12)]),
    "overlapping groups": GroupCover([range(start, start + 4) for start in range(0, 10, 2)]),
    "tree": GroupCover.tree([(j - 1) // 2 if j else -1 for j in range(P)]),
    "intervals": Intervals(P),
    "three largest": BoundedCardinality(3),
}
SUPPORTS = {"groups": [3, 4, 5], "overlapping groups": [0, 1], "tree": [0, 1, 3], "intervals": [5, 6, 7], "three largest": [2, 9]}  # fmt: skip


def made(name: str, *, n: int = 20_000, intercept: bool = False) -> tuple[Table, np.ndarray]:
    """Directions all over the sphere, and a θ on a support of the structure."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, P))
    X /= np.linalg.norm(X, axis=1)[:, None]
    theta = np.zeros(P)
    theta[SUPPORTS[name]] = [1.5, -1.5, 1.0][: len(SUPPORTS[name])]
    y = np.clip(X @ theta + 0.1 * rng.normal(size=n) + 0.2 * intercept, -1.0, 1.0)
    X = np.column_stack([X, np.ones(n)]) if intercept else X
    return replace(table(20, P, intercept=intercept), X=np.ascontiguousarray(X), Y=y[:, None]), theta


def solved(solver: Solver, data: Table, allowance: Allowance, draw: int = 0, **shape: Any) -> tuple[Solution, Any]:
    asked = problem(data, **shape)
    plan = solver.plan(asked, prices(data, asked), allowance)
    curator = Curator(Rows(data.X, data.Y), plan.queries, key=TestKey(bytes(32)).derive(draw))  # type: ignore[arg-type]
    return solver.run(asked, plan, curator), plan


def shapes(name: str, data: Table, theta: np.ndarray) -> list[dict[str, Any]]:
    function = FUNCTIONS[name]
    pull = dual_omega(function, data.X[:, :P].T @ data.Y[:, 0] / data.records).value
    penalty, ball = SubmodularPenalty(function, 0.15 * pull), SubmodularBall(function, 0.8 * omega(function, theta))
    return [{"penalty": penalty}, {"constraint": ball}]


@pytest.mark.few(1)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "three largest"])
def test_supports_come_back_from_under_the_noise(name: str, intercept: bool) -> None:
    """The perturbed minimiser has exact zeros, what is released of it has not: they are given back, and with them the support."""
    data, theta = made(name, intercept=intercept)
    for shape in shapes(name, data, theta):
        found = solved(ObjectivePerturbationSolver(), data, Allowance(Budget(8.0, 1e-6)), **shape)[0].theta[:P, 0]
        assert np.flatnonzero(found).tolist() == SUPPORTS[name], shape
        exact = solved(OutputPerturbationSolver(), data, Allowance.gdp(math.inf), **shape)[0].theta[:P, 0]
        assert np.flatnonzero(exact).tolist() == SUPPORTS[name], shape
        assert found == pytest.approx(exact, abs=0.1)


def test_ties_come_back_from_under_the_noise() -> None:
    """Ω of the largest magnitude draws coefficients to one magnitude."""
    data, _ = made("three largest")
    penalty = SubmodularPenalty(BoundedCardinality(1), 0.02)
    found, plan = solved(ObjectivePerturbationSolver(), data, Allowance(Budget(8.0, 1e-6)), penalty=penalty)
    size = np.abs(found.theta[:, 0])
    assert np.sum(size == size.max()) >= 2
    assert plan.settings["output_sigma"] > 0.0


@pytest.mark.few(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_given_back_is_what_was_there(name: str) -> None:
    """Faint noise on a vector of the structure: zeros and signs stay, nothing moves further than is reckoned with."""
    data, theta = made(name, n=20)
    function, sigma = FUNCTIONS[name], 1e-6
    asked = problem(data, penalty=SubmodularPenalty(function, 0.1))
    assert structure_of(asked) is function
    assert structure_of(problem(data, penalty=SubmodularPenalty(function, 0.0))) is None
    rng = np.random.default_rng(0)
    moved = []
    for _ in range(200):
        found = restored(asked, function, theta + sigma * rng.normal(size=P), sigma)
        assert np.array_equal(np.sign(found), np.sign(theta))
        moved.append(float(np.linalg.norm(found - theta)))
        assert not restored(asked, function, sigma * np.clip(rng.normal(size=P), -ZERO, ZERO), sigma).any()
    assert 0.0 < np.mean(moved) <= faint_reach(asked, sigma)


RUNS = {
    "moments": (True, True),
    "gradient": (True, True),
    "adaptive_gradient": (True, True),
    "preconditioned_gradient": (True, True),
    "mirror_descent": (False, True),
    "frank_wolfe": (False, True),
    "objective_perturbation": (True, True),
    "output_perturbation": (True, True),
    "dual_frank_wolfe": (True, False),
}
"""Whether the solver takes Ω as a penalty, and as a set."""


@pytest.mark.few(1)
@pytest.mark.parametrize("solver", RUNS)
@pytest.mark.parametrize("name", ["groups", "intervals"])
def test_every_general_solver_takes_the_structure(solver: str, name: str) -> None:
    data, theta = made(name, n=2_000, intercept=True)
    for able, shape in zip(RUNS[solver], shapes(name, data, theta), strict=True):
        if not able:
            with pytest.raises(CapabilityError):
                solved(solver_named(solver), data, Allowance(Budget(3.0, 1e-6)), **shape)
            continue
        found = solved(solver_named(solver), data, Allowance(Budget(3.0, 1e-6)), **shape)[0].theta[:P, 0]
        assert np.isfinite(found).all()
        if "constraint" in shape:
            assert omega(FUNCTIONS[name], found) <= shape["constraint"].radius * (1.0 + 1e-9)


@pytest.mark.few(1)
@pytest.mark.parametrize("shape", ["penalty", "constraint"])
def test_a_callable_is_for_solvers_that_need_no_certificate(shape: str) -> None:
    data, _ = made("intervals", n=500)
    own = CustomSetFunction(lambda members: P - 1.0 + max(members) - min(members) + 1.0 if members else 0.0, P)
    added: Any = {"penalty": SubmodularPenalty(own, 1e-3)} if shape == "penalty" else {"constraint": SubmodularBall(own, 30.0)}  # fmt: skip
    known: Any = {"penalty": SubmodularPenalty(Intervals(P), 1e-3)} if shape == "penalty" else {"constraint": SubmodularBall(Intervals(P), 30.0)}  # fmt: skip
    for solver in (ObjectivePerturbationSolver(), OutputPerturbationSolver()):
        with pytest.raises(CapabilityError, match="GroupCover"):
            solved(solver, data, Allowance(Budget(1.0, 1e-6)), **added)
    found, same = (
        solved(solver_named("gradient"), data, Allowance(Budget(1.0, 1e-6)), **one)[0] for one in (added, known)
    )
    assert found.theta == pytest.approx(same.theta, abs=1e-6)
