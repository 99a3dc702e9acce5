"""Lower bounds are below what the private solvers reach, scale as their sources say, and speak of no problem outside their class."""

import math
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hullabaloo.data.source import RowFacts
from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.geometry import Box, ElasticNetPenalty, L1Ball, L1Penalty, L2Ball, Simplex, SquaredL2Penalty
from hullabaloo.losses import Huber, Logistic, Pinball, Poisson, SmoothedHinge, Squared
from hullabaloo.planning.theory.lower_bounds import (
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
from hullabaloo.privacy import Allowance, Budget, Neighbours, objective_noise_multiplier
from hullabaloo.queries import PricedQueries
from hullabaloo.solvers import FrankWolfeSolver, MirrorDescentSolver, OutputPerturbationSolver, Problem
from hullabaloo.solvers.frank_wolfe.frank_wolfe_rule import Iterates
from hullabaloo.solvers.perturbation.objective_perturbation import clip_for, smoothness_of
from hullabaloo.solvers.perturbation.output_bounds import perturbed_rise, projected_rise, ridge_rise
from tests.solvers.tables import problem, table


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
    """Tests: 000, Theorem 3.1; 002, Theorem 5.8."""
    tau = 0.001
    assert tau + 4 * tau**2 + 3 * CODE_CONSTANT == pytest.approx(1.1 * tau)
    m = code_size(10**9)
    assert m / math.log(m) * (1 + m**2) == pytest.approx(1e9)
    ratios = [lasso_reduction(n).value / lasso_rate(n).value for n in (10**6, 10**9, 10**12)]
    assert max(ratios) < 1.2 * min(ratios)  # the same rate; the constants differ
    assert lasso_reduction(10**9).explicit
    assert not lasso_rate(10**9).explicit


def test_rates_have_the_slopes_of_their_sources():
    """Tests: 000, Theorem 1.2; 002, Theorem 1.3."""
    l2 = [l2_ball(n, 16, 1.0, lipschitz=1.0, radius=1.0).value for n in (1000, 4000)]
    assert l2[0] / l2[1] == pytest.approx(4.0)
    assert l2_ball(1000, 64, 1.0, lipschitz=1.0, radius=1.0).value == pytest.approx(2 * l2[0])
    assert l2_ball(1, 10_000, 1.0, lipschitz=2.0, radius=3.0).value == 6.0
    curved = [strongly_convex(n, 16, 1.0, lipschitz=1.0, strength=0.5, radius=9.0).value for n in (1000, 2000)]
    assert curved[0] / curved[1] == pytest.approx(4.0)


def named(asked: Problem, epsilon: float = 1.0, delta: float = 1e-6) -> list[str]:
    return [one.name for one in lower_bounds(asked, epsilon, delta)]


def test_the_two_tables_of_a_squared_loss_lose_what_is_worked_out_by_hand():
    """φ = ½(z − y)², |z| ≤ h ≤ 1: between y = ±1 the two losses' sum is least at 0, 1, and (1 − h)²/2 is the least of each."""
    asked = problem(table(), constraint=L1Ball(0.25))
    told = two_points(asked.records, 1.0, 1e-6, lipschitz=1.0, radius=1.0).value
    assert lower_bounds(asked, 1.0, 1e-6)[0].value == pytest.approx(told * (0.25 - 0.25**2 / 2), rel=1e-6)
    far = lower_bounds(replace(asked, constraint=L1Ball(1e6)), 1.0, 1e-6)[0].value
    assert far == pytest.approx(told * 0.5, rel=1e-6)  # a prediction beyond the target serves nobody


def test_over_wide_sets_no_bound_says_more_than_a_model_that_knows_nothing_loses():
    """The two tables of straight losses, L r apart, were printed for losses that are not straight: at radius 100 a hundred times ½."""
    asked = problem(table(n=1), constraint=L2Ball(100.0))
    assert two_points(1, 0.01, 1e-9, lipschitz=1.0, radius=100.0).value > 40.0
    assert 0.2 < max(one.value for one in lower_bounds(asked, 0.01, 1e-9)) <= 0.5


def rows_of(asked: Problem, columns: int, **options: Any) -> Problem:
    """Rows of so many cells within ±1 and no shorter."""
    norms = {"norm_l1": float(columns), "norm_l2": math.sqrt(columns), "norm_linf": 1.0}
    return replace(asked, dimension=columns, **(norms | options))


def test_the_lasso_bound_is_shown_where_its_own_hard_table_may_be_and_nowhere_else():
    n = 50
    columns = math.ceil(1000 * code_size(n) ** 2)
    asked = rows_of(problem(table(n=n), constraint=L1Ball(1.0)), columns)
    both = ["two tables", "l1 ball, lasso", "l1 ball, the proof's constant"]
    assert named(asked, 0.1, 1e-9) == both
    assert named(asked, 0.05, 1e-9) == both
    assert named(asked, 0.1, 1.0 / n) == both[:2]
    for beside in (
        rows_of(asked, columns - 1),
        replace(asked, norm_l2=1.0),
        replace(asked, norm_l1=math.sqrt(columns)),
        replace(asked, norm_linf=0.9),
        replace(asked, constraint=L1Ball(2.0)),
        replace(asked, intercept=True),
        replace(asked, loss=Logistic()),
        replace(asked, neighbours=Neighbours.ADD_OR_REMOVE),
        replace(asked, max_weight=0.5),
    ):
        assert named(beside, 0.1, 1e-9) == both[:1]
    assert named(asked, 0.11, 1e-9) == named(asked, 0.1, 0.1) == both[:1]
    assert named(replace(asked, offset_bound=1.0), 0.1, 1e-9) == named(replace(asked, targets=2), 0.1, 1e-9) == []


def test_no_bound_is_above_theorem_4_1_for_short_rows():
    """The lasso bound of rows within ±1 said of rows of length 1 that nobody beats 1.33e-7; objective perturbation loses half of it."""
    n, p, epsilon, delta = 10**9, 50, 1.0, 1e-6
    asked = rows_of(problem(table(), constraint=L1Ball(1.0)), p, records=n, norm_l1=math.sqrt(p), norm_l2=1.0)
    most = theorem_4_1(asked, Allowance(Budget(epsilon, delta)))
    assert most < 7e-8 < lasso_rate(n).value
    assert all(one.value < most for one in lower_bounds(asked, epsilon, delta))


def test_rates_of_straight_losses_are_shown_where_a_loss_is_straight():
    """A hinge, a pinball loss and Huber's are, as long as no prediction reaches their bend; a squared and a logistic loss nowhere."""
    asked = rows_of(problem(table(), constraint=L2Ball(0.2)), 4)
    rates = ["l2 ball", "coordinate-wise"]
    straight = (SmoothedHinge(0.5), Pinball(0.3), Huber(0.5))
    for loss in straight:
        assert named(replace(asked, loss=loss))[1:] == rates
        assert named(replace(asked, loss=loss, constraint=Box(-0.1, 0.1))) == rates[1:]
        assert named(replace(asked, loss=loss, constraint=Box(0.0, 0.1))) == []
        assert named(replace(asked, loss=loss, constraint=L2Ball(2.0)))[1:] == []
        assert named(replace(asked, loss=loss, intercept=True))[1:] == []
        assert (
            named(replace(asked, loss=loss), epsilon=1.1)[1:] == named(replace(asked, loss=loss), delta=0.1)[1:] == []
        )
        assert named(replace(asked, loss=loss, norm_l2=1.0))[1:] == rates[:1]
    for loss in (Squared(), Logistic(), Poisson(), Huber(0.9)):
        assert named(replace(asked, loss=loss))[1:] == []
    value = lower_bounds(replace(asked, loss=Pinball(0.3)), 1.0, 1e-6)[1].value
    assert value == pytest.approx(l2_ball(asked.records, 4, 1.0, lipschitz=0.7 * 2.0, radius=0.2).value)


def test_rates_with_a_ridge_are_shown_where_the_hard_minimisers_lie_inside():
    """Tests: 002, Remark 7."""
    asked = rows_of(problem(table(), penalty=SquaredL2Penalty(10.0)), 4, loss=Huber(0.5))
    both = ["l2 ball, strongly convex", "coordinate-wise, strongly convex"]
    assert named(replace(asked, constraint=L2Ball(0.1))) == both
    assert named(replace(asked, constraint=L2Ball(0.09))) == []
    assert named(asked) == named(replace(asked, constraint=Box(-0.05, 0.05))) == both[1:]
    assert named(replace(asked, penalty=SquaredL2Penalty(1.0))) == []  # minimisers so far out that the loss is bent
    assert (
        named(replace(asked, penalty=L1Penalty(0.1)))
        == named(replace(asked, penalty=ElasticNetPenalty(10.0, 0.5)))
        == []
    )
    nothing = 0.5 * (0.5 * 2.0) ** 2 / 10.0  # L²/(2λ), what zero loses at most
    assert all(
        one.value <= nothing for one in lower_bounds(replace(asked, records=1, constraint=L2Ball(9.0)), 1.0, 1e-6)
    )


def test_which_bounds_speak_of_a_problem():
    """Tests: 002, Table 1."""
    data = table()
    assert named(problem(data, constraint=L1Ball(1.0))) == ["two tables"]
    assert named(problem(data, constraint=L2Ball(1.0))) == ["two tables"]
    assert named(problem(data, constraint=L2Ball(1.0), penalty=SquaredL2Penalty(0.1))) == []
    assert named(problem(data, constraint=Simplex())) == named(problem(data)) == []
    with pytest.raises(InvalidParameter, match="positive finite ε"):
        two_points(5, math.inf, 0.0, lipschitz=1.0, radius=1.0)


LOSSES = (Squared(), Logistic(), Huber(0.1), Huber(1.0), SmoothedHinge(0.1), Pinball(0.3))


def any_problem(rng: np.random.Generator) -> tuple[Problem, Budget]:
    """Sets, losses, norms, n, p, ε and δ over all their ranges; rows that fill a box and rows that do not."""
    p, r = int(rng.integers(1, 50)), float(10 ** rng.uniform(-2, 2))
    cell, boxed, intercept = float(10 ** rng.uniform(-2, 1)), bool(rng.integers(2)), bool(rng.integers(2))
    l1, l2 = (p * cell, math.sqrt(p) * cell) if boxed else (math.sqrt(p) * cell, cell)
    asked = replace(
        problem(table(n=5)),
        dimension=p + intercept,
        intercept=intercept,
        norm_l1=l1 + intercept,
        norm_l2=math.hypot(l2, intercept),
        norm_linf=max(cell, float(intercept)),
        loss=LOSSES[rng.integers(len(LOSSES))],
        records=int(10 ** rng.uniform(0, 9)),
        neighbours=list(Neighbours)[rng.integers(2)],
        constraint=(L1Ball(r), L2Ball(r), Box(-r, r))[rng.integers(3)],
    )
    return asked, Budget(float(10 ** rng.uniform(-2, 1)), float(10 ** rng.uniform(-12, -3)))


def theorem_4_1(asked: Problem, allowance: Allowance) -> float:
    """Objective perturbation's bound over a set, the best of a few ridges."""
    body, p, clip = asked.feasible, asked.dimension, clip_for(asked)
    assert body is not None
    width, size, found = body.gaussian_width(p).high, body.max_norm(2.0, p), []
    for curvature in (0.1, 0.01):
        ridge = smoothness_of(asked, clip) / curvature
        sigma = objective_noise_multiplier(allowance, curvature, asked.neighbours) * clip * asked.norm_l2
        noise = perturbed_rise(sigma, ridge, asked.records, width=width, coordinates=p)
        found.append(noise + ridge_rise(ridge / asked.records, size))
    return min(found)


def stated(asked: Problem, budget: Budget, *, thorough: bool) -> dict[str, float]:
    """What the library says that its own methods lose at most on the problem, and what the model zero does."""
    assert asked.constraint is not None
    ends = np.array([-1.0, 1.0])
    least = 0.0  # of every loss here
    found = {"zero": float(asked.loss.value(np.zeros(2), ends).max()) - least}
    names = tuple(f"x{j}" for j in range(asked.dimension))
    facts = RowFacts(names, asked.intercept, asked.norm_l1, asked.norm_l2, asked.norm_linf, ("y",))
    prices, allowance = PricedQueries(facts, asked.neighbours, asked.records), Allowance(budget)
    with suppress(CapabilityError):
        plan = FrankWolfeSolver(form="general").plan(asked, prices, allowance)
        found["Frank-Wolfe"] = Iterates(**plan.settings).risk
    with suppress(CapabilityError):
        plan = OutputPerturbationSolver().plan(asked, prices, allowance)
        sigma, ridge, clip = (float(plan.settings[name]) for name in ("sigma", "ridge", "clip"))
        assert asked.feasible is not None
        width = asked.feasible.gaussian_width(asked.dimension).high
        rise = projected_rise(sigma, lipschitz=clip, norm=asked.norm_l2, width=width, coordinates=asked.dimension)
        found["output perturbation"] = rise + ridge_rise(ridge, asked.feasible.max_norm(2.0, asked.dimension))
    if thorough:
        mirror = MirrorDescentSolver()
        found["mirror descent"] = mirror.predicted_risk(asked, mirror.plan(asked, prices, allowance))
        with suppress(CapabilityError):
            found["objective perturbation"] = theorem_4_1(asked, allowance)
    return found


def compare(count: int, *, thorough: bool) -> int:
    """How many bounds were shown for so many problems; none is above what any method is known to reach."""
    rng, shown = np.random.default_rng(11), 0
    for _ in range(count):
        asked, budget = any_problem(rng)
        assert budget.delta is not None
        bounds = lower_bounds(asked, budget.epsilon, budget.delta)
        shown += len(bounds)
        if bounds:
            most = stated(asked, budget, thorough=thorough)
            assert all(one.value < most[name] for one in bounds for name in most), (asked, budget, bounds, most)
    return shown


def test_no_lower_bound_is_above_an_upper_bound_of_the_same_problem():
    assert compare(60, thorough=False) > 30


@pytest.mark.slow
def test_no_lower_bound_is_above_an_upper_bound_of_the_same_problem_in_full():
    assert compare(250, thorough=True) > 150


def test_coordinate_wise_rates_are_those_of_the_poster():
    """√p ‖w*‖₂‖L‖₂/(nε) and p‖L‖₂²/(λn²ε²), at most what any method reaches.

    Tests: 004, Lower bound, convex; 004, Lower bound, strongly convex.
    """
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
