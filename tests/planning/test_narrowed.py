"""Problems of many columns are rehearsed on fewer, at the same noise."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.data.source import RowFacts
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import Box, ConvexSet, GroupPenalty, L1Ball, L1Penalty, NuclearBall
from hullabaloo.losses import Logistic, Loss, Squared
from hullabaloo.planning.choose import best_of, choose, forecasts
from hullabaloo.planning.context import PlanContext
from hullabaloo.planning.favours import weights
from hullabaloo.planning.forecasts import Rehearsals
from hullabaloo.planning.named import SOLVERS
from hullabaloo.planning.narrowed import COLUMNS, JUDGES, WIDE_ROWS, narrowed, share, wide_rows
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.release.rehearsal import rehearsal
from hullabaloo.solvers import Plan, Problem, PublicTable, Solution


def posed(p: int, n: int = 300, norm: float = 1.0, **more: Any) -> tuple[Problem, PricedQueries]:
    """Rows of p cells in [−1, 1] and a norm, and a constant."""
    facts = RowFacts(
        (*(f"x{j}" for j in range(p)), "1"), True, norm * math.sqrt(p) + 1, math.hypot(norm, 1), 1.0, ("y",)
    )
    norms = facts.norm_l1, facts.norm_l2, facts.norm_linf
    made = Problem(Logistic(), facts.width, True, *norms, 1, n, Neighbours.ADD_OR_REMOVE, **more)
    return made, PricedQueries(facts, Neighbours.ADD_OR_REMOVE, n)


@pytest.mark.parametrize("norm", [1.0, 8.0, 60.0])
def test_fewer_columns_have_the_noise_of_all(norm: float) -> None:
    """What plans state of it: that of a gradient and of b over the length of a row; of a covariance, its norm."""
    wide = posed(1_500, norm=norm, public=PublicTable("all columns", *[np.zeros((1, 1))] * 2, None, np.zeros((1, 1))))
    small, menu = narrowed(*wide) or wide
    assert small.dimension == COLUMNS + 1
    assert small.public is None
    assert small.norm_l2 == pytest.approx(min(math.hypot(norm, 1), math.sqrt(COLUMNS + 1)))
    allowance, length = Allowance(Budget(1.0, 1e-6)), small.norm_l2 / wide[0].norm_l2
    for name, query, size in (
        ("gradient", {"loss": small.loss, "clip": 1.0}, length),
        ("preconditioned_gradient", {}, math.sqrt(wide[0].dimension / small.dimension)),
    ):
        spent = allowance.scaled(share(name, wide[0], small)).mu
        kind = "gradient" if name == "gradient" else "covariance"
        noise = wide[1].price(kind, mu=allowance.mu, **query).sigma, menu.price(kind, mu=spent, **query).sigma
        assert noise[1] == pytest.approx(noise[0] * size, rel=0.1)


def test_what_is_made_for_its_own_columns_is_not_narrowed() -> None:
    p = 1_000
    shapes: list[dict[str, Any]] = [
        {"constraint": Box((-1.0,) * p, (1.0,) * p)},
        {"constraint": NuclearBall(1.0, 10)},
        {"penalty": GroupPenalty((tuple(range(p)),), 0.1)},
    ]
    assert all(narrowed(*posed(p, **shape)) is None for shape in shapes)
    assert narrowed(*posed(100)) is None
    assert narrowed(*posed(p, constraint=L1Ball(1.0))) is not None
    assert narrowed(*posed(p, penalty=L1Penalty(0.1))) is not None


def test_rows_hold_the_sampling_error_of_all_columns() -> None:
    """As many columns over rows as half of the columns over all records, within what is affordable; never more rows than records."""
    for p, n in ((1_500, 7_000), (2_800, 4_900), (40_000, 1_200), (700, 300), (700, 10**6)):
        small, _ = narrowed(*posed(p, n)) or posed(p, n)
        rows = wide_rows(small, p)
        assert rows <= min(n, WIDE_ROWS)
        if JUDGES < rows < WIDE_ROWS:
            assert COLUMNS / rows == pytest.approx(0.5 * p / n, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("p", [700, 40_000])
def test_the_choice_is_that_after_all_rehearsals_on_small_tables(p: int) -> None:
    """However many columns there are; the plan is that of all of them, and with next to no budget the constant."""
    problem, prices = posed(p)
    perform, sizes = rehearsal, []

    def watched(posed: Any, solver: Any, plan: Any, rows: Any, draw: int) -> Solution:
        sizes.append(rows.X.shape)
        return perform(posed, solver, plan, rows, draw)

    context = PlanContext(problem, prices, Allowance(Budget(20.0, 1e-6)), watched)
    solver, plan = choose(context, "auto")
    best = best_of(forecasts(context), weights(*context.facts))
    assert (solver, plan) == (best.solver, best.plan)
    assert "wide synthetic tables" in plan.reason
    assert plan.queries == solver.plan(*context.facts).queries
    assert set(sizes) == {(wide_rows(problem, p), COLUMNS + 1)}
    assert choose(replace(context, allowance=Allowance(Budget(0.003, 1e-6)), kept={}), "auto")[0].name == "constant"


@pytest.mark.few(2)
@pytest.mark.parametrize("norm", [1.0, 8.0, 17.3])
@pytest.mark.parametrize("body", [None, L1Ball(5.0)], ids=["free", "l1 ball"])
@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=lambda one: one.name)
def test_the_yardstick_of_wide_rehearsals_is_better_than_no_slopes(
    norm: float, body: ConvexSet | None, loss: Loss
) -> None:
    """With an intercept and without: what every plan is measured against leaves something to gain where there is a signal, unless a set does not let it, and nothing where there is none."""
    for intercept in (True, False):
        problem, prices = posed(700)
        small, _ = narrowed(problem, prices) or (problem, None)
        norms = {"norm_l2": math.hypot(norm, intercept), "dimension": COLUMNS + intercept}
        small = replace(small, loss=loss, intercept=intercept, constraint=body, records=JUDGES, **norms)
        exact = SOLVERS["output_perturbation"], Plan("output_perturbation", ())
        rehearsals = Rehearsals(small, exact, rehearsal, {}, wide=700)
        *told, silent = (rehearsals.stage(scenario) for scenario in rehearsals.scenarios)
        for stage in told:
            assert stage.constant - stage.optimum >= (0.1 * stage.constant if body is None else 0.0)
        assert silent.constant == silent.optimum


@pytest.mark.slow
def test_a_penalty_that_leaves_nothing_is_no_fault() -> None:
    problem, prices = posed(700, penalty=L1Penalty(3.0))
    solver, _ = choose(PlanContext(problem, prices, Allowance(Budget(1.0, 1e-6)), rehearsal), "auto")
    assert solver.name in SOLVERS


def test_the_ratio_of_objective_perturbation_is_its_ridge() -> None:
    problem, prices = posed(700)
    allowance = Allowance(Budget(2.0, 1e-6))
    plan = hb.ObjectivePerturbationSolver(ratio=0.1).plan(problem, prices, allowance)
    smoothness = 0.25 * problem.norm_l2**2
    assert plan.settings["ridge"] == pytest.approx(smoothness / 0.2)
    assert allowance.takes(plan.event)
    assert hb.ObjectivePerturbationSolver().ratio is None
    for wrong in (0.0, -1.0, math.nan, "a", True):
        with pytest.raises(InvalidParameter, match="ratio="):
            hb.ObjectivePerturbationSolver(ratio=wrong)  # type: ignore[arg-type]
