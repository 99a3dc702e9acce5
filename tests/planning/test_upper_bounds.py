"""What plans lose at most: real runs lose less, and no bound stands beside a plan for which its theorem does not hold."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.curator import Curator
from hullabaloo.data.source import Rows
from hullabaloo.geometry import Box, L1Ball, L2Ball, SquaredL2Penalty
from hullabaloo.losses import Huber, Logistic, Squared
from hullabaloo.noise import TestKey
from hullabaloo.planning.forecasts import Forecast
from hullabaloo.planning.theory.upper_bounds import UpperBound, upper_bounds
from hullabaloo.privacy import Allowance, Budget
from hullabaloo.solvers import (
    CoordinateDescentSolver,
    FrankWolfeSolver,
    GradientSolver,
    MirrorDescentSolver,
    ObjectivePerturbationSolver,
)
from tests.solvers.tables import Table, prices, problem, solve, table

GIVEN = Allowance(Budget(1.0, 1e-6))
UNIFORM = CoordinateDescentSolver(order="uniform", constants="declared", rounds=1, clip=3.0)


def bound_of(data: Table, asked: Any, solver: Any) -> UpperBound | None:
    plan = solver.plan(asked, prices(data, asked), GIVEN)
    found = upper_bounds(asked, [Forecast(solver, plan)])
    return found[0] if found else None


CASES: dict[str, tuple[Any, Any, Any, Any]] = {
    "mirror descent": (MirrorDescentSolver(clip=2.0), Squared(), L1Ball(0.5), None),
    "mirror descent, ridge": (MirrorDescentSolver(clip=2.0), Squared(), L2Ball(0.5), SquaredL2Penalty(0.5)),
    "Frank-Wolfe, vertices": (FrankWolfeSolver(clip=2.0), Squared(), L1Ball(0.5), None),
    "Frank-Wolfe, gradients": (FrankWolfeSolver(clip=2.0), Squared(), L2Ball(0.5), None),
    "objective perturbation": (ObjectivePerturbationSolver(), Huber(0.5), L1Ball(0.5), None),
    "coordinate descent": (UNIFORM, Logistic(), Box(-0.5, 0.5), None),
}


LONG = ("mirror descent, ridge",)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in CASES])
def test_runs_lose_less(name: str) -> None:
    """Mean of four runs; bounds are a multiple of what is lost here."""
    solver, loss, body, penalty = CASES[name]
    data = table(3000, 5)
    if isinstance(loss, Logistic):
        data.Y = np.where(data.Y > 0.0, 1.0, -1.0)
    asked = replace(problem(data, constraint=body, penalty=penalty), loss=loss)
    bound = bound_of(data, asked, solver)
    assert bound is not None
    assert not bound.clipped

    def risk(theta: np.ndarray) -> float:
        return float(np.mean(loss.value(data.X @ theta, data.Y[:, 0]))) + asked.regulariser.value(theta)

    best = solve(MirrorDescentSolver(clip=4.0), data, asked, math.inf).theta[:, 0]
    lost = []
    for seed in range(4):
        plan = solver.plan(asked, prices(data, asked), GIVEN)
        curator = Curator(Rows(data.X, data.Y), plan.queries, key=TestKey(bytes(32)).derive(seed))  # type: ignore[arg-type]
        theta = solver.run(asked, plan, curator).theta[:, 0]
        lost.append(risk(theta))
    assert np.mean(lost) - risk(best) < bound.value
    assert 0.0 < bound.noise <= bound.value


def test_no_bound_stands_where_its_theorem_does_not_hold() -> None:
    data, wide = table(3000, 5), table(3000, 5, intercept=True)
    data.Y = np.where(data.Y > 0.0, 1.0, -1.0)
    boxed = replace(problem(data, constraint=Box(-0.5, 0.5)), loss=Logistic())
    for solver in (
        replace(UNIFORM, order="cyclic"),
        replace(UNIFORM, constants="gaussian"),
        replace(UNIFORM, rounds=2),
        replace(UNIFORM, clip=1.0),  # a coordinate may have a derivative of 1, and C_j is 1/√5
        GradientSolver(),
    ):
        assert bound_of(data, boxed, solver) is None
    free = replace(problem(wide, constraint=L1Ball(0.5)), loss=Logistic())
    assert bound_of(wide, free, FrankWolfeSolver()) is None  # intercepts within 8, steps that see 2 of it
    near = bound_of(wide, free, MirrorDescentSolver())
    assert near is not None
    assert near.size == 2.0
    assert bound_of(wide, replace(free, loss=Squared()), FrankWolfeSolver()) is not None


def test_what_is_clipped_is_said() -> None:
    data = table(3000, 5)
    asked = problem(data, constraint=L1Ball(0.5))
    for clip, clipped in ((1.0, True), (1.5, False)):  # |φ'| ≤ ½ + 1
        bound = bound_of(data, asked, MirrorDescentSolver(clip=clip))
        assert bound is not None
        assert bound.clipped is clipped


@pytest.mark.usefixtures("unrehearsed")
def test_price_prints_the_bounds_of_its_plan() -> None:
    domain = hb.Domain({f"x{j}": (-1, 1) for j in range(3)}, target=(-1, 1), records=20_000, indicators=False)
    about: dict[str, Any] = {"domain": domain, "budget": hb.Budget(1.0, 1e-9), "constraint": hb.L1Ball(1.0)}
    said = hb.LinearRegression(**about, solver="mirror_descent", fit_intercept=False).price(
        20_000
    )  # inference takes half
    (bound,) = said.upper_bounds
    assert bound.solver == "mirror_descent"
    assert f"≤ {bound.value:.2g}*" in str(said)
    assert f"≥ {said.lower_bounds[0].value:.2g}" in str(said)
    assert said.to_dict()["upper_bounds"][0]["value"] == bound.value
    free = hb.LinearRegression(domain=domain, budget=hb.Budget(1.0, 1e-9), solver="gradient").price(20_000)
    assert free.upper_bounds == ()
    assert "(≤)" not in str(free)


def test_stream_plans_say_what_theorems_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hullabaloo.streaming.refits._best", lambda *_: "moments")  # whichever solver they are of
    about: dict[str, Any] = {"horizon": 2_000_000, "every": 1_000_000, "p": 700, "budget": hb.Budget(1.0, 1e-9)}
    held = hb.streaming.plan(**about, set=hb.L2Ball(1.0), fit_intercept=False)
    found = {bound.source[-3:]: bound for way in held.ways for bound in way.bounds}
    assert {"4.2", "3.1"} <= found.keys()
    for bound in found.values():
        way = next(way for way in held.ways if way.name == bound.way)
        assert len(bound.values) == len(held.positions)
        assert all(risk < value <= bound.trivial for risk, value in zip(way.risk, bound.values, strict=True))
        assert list(bound.values) == sorted(bound.values, reverse=True)
        assert " ".join(bound.cells()[2].split()[1:]) in str(held)
    assert held.to_dict()["ways"][0]["bounds"]
