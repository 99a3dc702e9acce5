"""The automatic choice: public facts alone, moments where they cost little."""

import math

import pytest

from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.planning.choose import choose
from hullabaloo.privacy import Allowance, Neighbours
from tests.solvers.tables import menu, problem, table


def chosen(n: int, mu: float, *, p: int = 8, targets: int = 1, name: str = "auto") -> tuple[str, str]:
    data = table(20, p, targets=targets)
    asked = problem(data, Neighbours.ADD_OR_REMOVE, records=n)
    solver, plan = choose(asked, menu(data, asked), Allowance.gdp(mu), name)
    assert solver.name == plan.solver
    return plan.solver, plan.reason


def test_moments_where_noise_is_small_and_gradient_where_it_matters() -> None:
    assert chosen(300, 0.0275)[0] == "gradient"
    assert chosen(100_000, 0.2367)[0] == "moments"
    assert chosen(300, math.inf)[0] == "moments"
    assert chosen(300, 0.0275, targets=2)[0] == "moments"


def test_the_reason_is_said() -> None:
    for n in (300, 100_000):
        assert "reference table" in chosen(n, 0.1)[1]
    assert "2 targets" in chosen(300, 0.1, targets=2)[1]


def test_a_named_solver_is_taken_at_its_word() -> None:
    assert chosen(300, 0.0275, name="moments")[0] == "moments"
    assert chosen(100_000, 0.2367, name="gradient")[0] == "gradient"
    with pytest.raises(CapabilityError, match="one target"):
        chosen(300, 0.1, targets=2, name="gradient")
    with pytest.raises(InvalidParameter, match="'auto', 'moments', 'gradient'"):
        chosen(300, 0.1, name="newton")
