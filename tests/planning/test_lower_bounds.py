"""Lower bounds are below what the private solvers reach, scale as their sources say, and say what they do not know."""

import math
from dataclasses import replace

import pytest

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import Box, L1Ball, L1Penalty, L2Ball, Simplex, SquaredL2Penalty
from hullabaloo.planning.lower_bounds import (
    CODE_CONSTANT,
    code_size,
    coordinate_wise,
    coordinate_wise_strongly_convex,
    l2_ball,
    lasso_rate,
    lasso_reduction,
    lower_bounds,
    strongly_convex,
    two_points,
)
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.solvers import MirrorDescentSolver
from tests.solvers.tables import menu, problem, table


def test_two_points_is_the_exact_risk_of_randomised_response():
    """One record, pure DP: no method beats answering the sign with probability e^ε/(1+e^ε), whose risk 1 − TV is attained."""
    for epsilon in (0.1, 1.0, 3.0):
        wanted = 2.0 / (1.0 + math.exp(epsilon))
        assert two_points(1, epsilon, 0.0, lipschitz=1.0, radius=1.0).value == pytest.approx(wanted)


def test_two_points_scale_like_one_over_n_epsilon():
    base = two_points(10_000, 0.01, 0.0, lipschitz=1.0, radius=1.0).value
    assert two_points(100_000, 0.01, 0.0, lipschitz=1.0, radius=1.0).value == pytest.approx(base / 10)
    assert two_points(10_000, 0.001, 0.0, lipschitz=1.0, radius=1.0).value == pytest.approx(10 * base, rel=0.02)
    assert two_points(10_000, 0.01, 0.0, lipschitz=2.0, radius=3.0).value == pytest.approx(6 * base)
    assert two_points(10_000, 0.01, 1e-6, lipschitz=1.0, radius=1.0).value < base
    halved = two_points(10_000, 0.01, 0.0, lipschitz=1.0, radius=1.0, neighbours=Neighbours.ADD_OR_REMOVE).value
    assert halved == pytest.approx(base / 2, rel=0.02)
    assert two_points(10, 1e-9, 0.0, lipschitz=1.0, radius=1.0).value == pytest.approx(1.0, rel=1e-6)  # k = n
    assert two_points(10, 900.0, 0.0, lipschitz=1.0, radius=1.0).value == 0.0


def test_the_proofs_constant_is_the_one_of_the_papers_inequality():
    tau = 0.001
    assert tau + 4 * tau**2 + 3 * CODE_CONSTANT == pytest.approx(1.1 * tau)
    m = code_size(10**9)
    assert m / math.log(m) * (1 + m**2) == pytest.approx(1e9)
    ratios = [lasso_reduction(n).value / lasso_rate(n).value for n in (10**6, 10**9, 10**12)]
    assert max(ratios) < 1.2 * min(ratios)  # the same rate; the constants differ
    assert lasso_reduction(10**9).explicit
    assert not lasso_rate(10**9).explicit


def test_rates_have_the_slopes_of_their_sources():
    l2 = [l2_ball(n, 16, 1.0, lipschitz=1.0, radius=1.0).value for n in (1000, 4000)]
    assert l2[0] / l2[1] == pytest.approx(4.0)
    assert l2_ball(1000, 64, 1.0, lipschitz=1.0, radius=1.0).value == pytest.approx(2 * l2[0])
    assert l2_ball(1, 10_000, 1.0, lipschitz=2.0, radius=3.0).value == 6.0
    curved = [strongly_convex(n, 16, 1.0, lipschitz=1.0, strength=0.5, radius=9.0).value for n in (1000, 2000)]
    assert curved[0] / curved[1] == pytest.approx(4.0)


@pytest.mark.parametrize("mu", [0.05, 0.2367])
def test_an_explicit_lower_bound_is_below_the_upper_bound_of_the_same_class(mu):
    """The solver's bound holds for every Lipschitz loss over the set, so it cannot be below the lower one."""
    data = table(5000, 4)
    budget = Budget(1.0, 1e-6) if mu > 0.2 else Budget(0.2, 1e-6)
    for body in (L1Ball(1.0), L2Ball(0.5)):
        asked, solver = problem(data, constraint=body), MirrorDescentSolver()
        plan = solver.plan(asked, menu(data, asked), Allowance(budget))
        explicit = [one for one in lower_bounds(asked, *budget.pair) if one.explicit]
        assert explicit
        assert all(0.0 < one.value < solver.predicted_risk(asked, plan) for one in explicit)


def test_which_bounds_speak_of_a_problem():
    data = table()

    def names(**options):
        return [one.name for one in lower_bounds(problem(data, **options), 1.0, 1e-6)]

    assert names(constraint=L1Ball(1.0)) == ["two tables", "l1 ball, lasso", "l1 ball, the proof's constant"]
    assert names(constraint=L1Ball(2.0)) == ["two tables"]
    assert names(constraint=L2Ball(1.0)) == ["two tables", "l2 ball"]
    both = names(constraint=L2Ball(1.0), penalty=SquaredL2Penalty(0.1))
    assert both == ["two tables", "l2 ball", "l2 ball, strongly convex"]
    assert names(constraint=Simplex()) == names() == []
    with pytest.raises(InvalidParameter, match="positive finite ε"):
        two_points(5, math.inf, 0.0, lipschitz=1.0, radius=1.0)


def test_coordinate_wise_rates_are_those_of_the_poster():
    """√p ‖w*‖₂‖L‖₂/(nε) and p‖L‖₂²/(λn²ε²), at most what any method reaches."""
    steep = (3.0, 4.0)
    assert coordinate_wise(1000, 2, 0.5, lipschitz=steep, radius=2.0).value == pytest.approx(math.sqrt(2) * 2 * 5 / 500)
    assert coordinate_wise(1, 2, 0.5, lipschitz=steep, radius=2.0).value == pytest.approx(10.0)
    curved = coordinate_wise_strongly_convex(1000, 2, 0.5, lipschitz=steep, strength=0.1)
    assert curved.value == pytest.approx(2 * 25 / (0.1 * 500**2))
    assert coordinate_wise_strongly_convex(1, 2, 0.5, lipschitz=steep, strength=0.1).value == pytest.approx(125.0)
    alike = coordinate_wise(1000, 9, 1.0, lipschitz=0.5, radius=1.0)
    assert alike.value == coordinate_wise(1000, 9, 1.0, lipschitz=[0.5] * 9, radius=1.0).value
    assert not alike.explicit
    assert not curved.explicit


def test_coordinate_wise_bounds_speak_of_boxes_balls_and_separable_penalties_over_rows_bound_by_column():
    free = replace(problem(table()), norm_l2=2.0)  # 4 columns within ±1, no shorter rows declared

    def names(**options):
        return [one.name for one in lower_bounds(replace(free, **options), 1.0, 1e-6) if "coordinate" in one.name]

    both = ["coordinate-wise", "coordinate-wise, strongly convex"]
    assert names(constraint=Box(-1.0, 1.0)) == both[:1]
    assert names(constraint=L2Ball(1.0), penalty=SquaredL2Penalty(0.1)) == both
    assert names(penalty=SquaredL2Penalty(0.1)) == both[1:]
    assert names(penalty=L1Penalty(0.1)) == names() == names(constraint=L1Ball(1.0)) == []
    assert names(constraint=Box(-1.0, 1.0), norm_l2=1.0) == []
    box = lower_bounds(replace(free, constraint=Box(-0.5, 0.5)), 1.0, 1e-6)[0]
    assert box.value == pytest.approx(math.sqrt(4) * (0.5 * 2) * (1.0 * 2) / free.records)
