"""The automatic choice: public facts alone, moments where they cost little."""

import math

import pytest

from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.planning.choose import best_of, choose, passed_over
from hullabaloo.planning.forecasts import Forecast
from hullabaloo.planning.named import solver_named
from hullabaloo.privacy import Allowance, Neighbours
from hullabaloo.release.rehearsal import rehearsal
from tests.solvers.tables import prices, problem, table


def chosen(n: int, mu: float, *, p: int = 8, targets: int = 1, name: str = "auto") -> tuple[str, str]:
    data = table(20, p, targets=targets)
    asked = problem(data, Neighbours.ADD_OR_REMOVE, records=n)
    solver, plan = choose(asked, prices(data, asked), Allowance.gdp(mu), name, rehearsal(data.facts))
    assert solver.name == plan.solver
    return plan.solver, plan.reason


def test_the_solver_follows_the_budget() -> None:
    assert chosen(5_000, 0.1)[0] != "moments"
    assert chosen(300, math.inf)[0] == "moments"
    assert chosen(300, 0.0275, targets=2)[0] == "moments"


def test_the_reason_is_said() -> None:
    for n in (300, 100_000):
        assert "synthetic tables" in chosen(n, 0.1)[1]
    assert "the one solver that can" in chosen(300, 0.1, targets=2)[1]


def test_a_choice_is_a_function_of_public_facts() -> None:
    assert chosen(5_000, 0.1) == chosen(5_000, 0.1)


def test_without_rehearsal_the_formulas_decide() -> None:
    data = table(20, 8)
    asked = problem(data, Neighbours.ADD_OR_REMOVE, records=5_000)
    solver, plan = choose(asked, prices(data, asked), Allowance.gdp(0.1), "auto")
    assert "formulas" in plan.reason
    assert solver.name == plan.solver


def test_a_named_solver_is_taken_at_its_word() -> None:
    assert chosen(300, 0.0275, name="moments")[0] == "moments"
    assert chosen(100_000, 0.2367, name="gradient")[0] == "gradient"
    with pytest.raises(CapabilityError, match="one target"):
        chosen(300, 0.1, targets=2, name="gradient")
    with pytest.raises(InvalidParameter, match="'auto', 'moments', 'gradient'"):
        chosen(300, 0.1, name="newton")


@pytest.mark.parametrize(("more", "taken"), [(0.005, "gradient"), (0.02, "output_perturbation")])
def test_of_equally_good_solvers_the_one_of_the_simpler_tier_is_taken(more: float, taken: str) -> None:
    data = table(400, 3)
    asked = problem(data)
    found = []
    for name, predicted in (("output_perturbation", 1.0), ("gradient", 1.0 + more)):
        solver = solver_named(name)
        found.append(Forecast(solver, solver.plan(asked, prices(data, asked), Allowance.gdp(0.3)), predicted=predicted))
    assert [one.tier for one in found] == [2, 1]
    best = best_of(found, {})
    assert best.solver.name == taken
    assert ("within 1%" in passed_over(best, found, {})) is (taken == "gradient"), (
        "the first line is not taken, and it is said why"
    )


def test_a_solver_that_is_favoured_over_the_first_line_is_said_to_be() -> None:
    asked = problem(data := table(400, 3))
    spent = prices(data, asked), Allowance.gdp(0.3)
    found = [
        Forecast(solver_named(name), solver_named(name).plan(asked, *spent), predicted=predicted)
        for name, predicted in (("gradient", 1.0), ("adaptive_gradient", 1.5))
    ]
    weights = {"adaptive_gradient": 2.0}
    best = best_of(found, weights)
    assert "By its line gradient does better, but adaptive_gradient is counted as 2 times better" in passed_over(
        best, found, weights
    )
    assert passed_over(best_of(found, {}), found, {}) == ""
