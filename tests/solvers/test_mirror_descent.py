"""Noisy mirror descent: its bounds hold with the stated constants, its price is the budget, over every set and loss."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from hullabaloo.curator import Curator
from hullabaloo.data.source import Rows
from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.geometry import (
    Box,
    ElasticNetPenalty,
    HasMirrorMap,
    L1Ball,
    L2Ball,
    NuclearBall,
    Polytope,
    Projectable,
    Simplex,
    SquaredL2Penalty,
)
from hullabaloo.losses import (
    AnyLoss,
    Huber,
    Logistic,
    MultinomialLogistic,
    Pinball,
    Poisson,
    SmoothedHinge,
    Squared,
    SquaredTargets,
    VectorLoss,
)
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Allowance, Budget, Calibration, Neighbours
from hullabaloo.solvers import MirrorDescentSolver, Problem
from hullabaloo.solvers.mirror.mirror_descent import Descent, descend
from hullabaloo.solvers.mirror.mirror_rule import (
    ALIKE,
    EXACT_STEPS,
    Block,
    Rule,
    Step,
    best,
    candidates,
    composite,
    fixed,
    lipschitz,
    potential,
    settled,
    smooth,
    strongly_convex,
)
from tests.laws import zoo
from tests.laws.clipped_loss import clipped_value
from tests.laws.mirror_norms import dual_norm
from tests.solvers.tables import Table, prices, problem, solve, table

SETS = [L1Ball(0.4), L2Ball(0.5), Box(-0.2, 0.3), Simplex(0.7)]
LOSSES: list[AnyLoss] = [Squared(), Huber(0.3), Logistic(), SmoothedHinge(0.5), Pinball(0.3), Poisson()]
DRAWS = 200
FALSE_ALARM = math.sqrt(
    math.log(1e6) / (2 * DRAWS)
)  # Hoeffding: a mean of DRAWS numbers in [0, 1] is that far up once in 1e6


class NumpyAnswers:
    """A curator of tests: the mean clipped gradient by numpy, with noise of a seeded generator."""

    def __init__(self, X, Y, loss, clip, sigma=0.0, seed=0):
        self.X, self.Y, self.loss, self.clip, self.sigma = X, Y, loss, clip, sigma
        self.rng, self.asked = np.random.default_rng(seed), 0

    def answer(self, name, theta):
        assert name == "gradient"
        self.asked += 1
        if isinstance(self.loss, VectorLoss):
            slope = self.loss.derivative(self.X @ theta, self.Y)
            size = np.linalg.norm(slope, axis=1)
            slope = slope * np.minimum(1.0, self.clip / np.maximum(size, 1e-300))[:, None]
        else:
            slope = np.clip(self.loss.derivative(self.X @ theta, self.Y[:, 0]), -self.clip, self.clip)
        gradient = self.X.T @ slope / len(self.Y)
        return gradient + self.sigma * self.rng.standard_normal(gradient.shape)


def tables_for(loss, *, n=300, p=4, intercept=True, targets=3, seed=0):
    vector = isinstance(loss, VectorLoss)
    data = table(n, p, intercept=intercept, targets=targets if vector else 1, seed=seed)
    Y = data.Y
    if isinstance(loss, Logistic | SmoothedHinge):
        Y = np.where(Y >= 0.0, 1.0, -1.0)
    elif isinstance(loss, Poisson):
        Y = np.abs(Y)
    elif isinstance(loss, MultinomialLogistic):
        Y = np.where(np.arange(targets) == Y.argmax(axis=1)[:, None], 1.0, -1.0)
    return Table(data.X, np.ascontiguousarray(Y), data.facts)


def asked_of(data, loss, **options) -> Problem:
    return replace(problem(data, **options), loss=loss)


def objective(data, asked, theta, clip=math.inf):
    """The mean loss (clipped for scalar losses) plus the penalty."""
    loss = asked.loss
    slopes = theta[: asked.dimension - asked.intercept].ravel()
    if isinstance(loss, VectorLoss):
        assert clip >= loss.constants(10.0, math.sqrt(asked.targets)).lipschitz
        return float(np.mean(loss.value(data.X @ theta, data.Y))) + asked.penalty.value(slopes)
    z, y = data.X @ theta[:, 0], data.Y[:, 0]
    values = clipped_value(loss, clip, z, y) if math.isfinite(clip) else loss.value(z, y)
    return float(np.mean(values)) + asked.penalty.value(slopes)


def feasible(asked, flat):
    """The projection of a flattened θ onto the set and the intercept's interval."""
    cut = (asked.dimension - asked.intercept) * asked.targets
    return np.concatenate([asked.constraint.project(flat[:cut]), np.clip(flat[cut:], *asked.loss.intercept_bounds)])


def optimum(data, asked, clip):
    """The least objective of 600 projected (sub)gradient steps of decreasing length, best point kept."""
    answers = NumpyAnswers(data.X, data.Y, asked.loss, clip)
    flat = feasible(asked, np.zeros(asked.dimension * asked.targets))
    least, shape = math.inf, (asked.dimension, asked.targets)
    for t in range(600):
        theta = flat.reshape(shape)
        least = min(least, objective(data, asked, theta, clip))
        gradient = answers.answer("gradient", theta if isinstance(asked.loss, VectorLoss) else theta[:, 0]).ravel()
        gradient[: (asked.dimension - asked.intercept) * asked.targets] += (
            asked.penalty.strong_convexity * flat[: (asked.dimension - asked.intercept) * asked.targets]
        )
        flat = feasible(asked, flat - 2.0 / math.sqrt(4.0 + t) * gradient)
    return least


def mirrored(p):
    """(set, potential) for every sample of an exported bounded set of R^p, with both potentials where it has two."""
    found = []
    for body, size in zoo.sets(dimensions=(p,)):
        if math.isfinite(body.max_norm(2.0, size)):
            own = [potential(body, size, euclidean=False)] if isinstance(body, HasMirrorMap) else []
            plain = [potential(body, size, euclidean=True)] if isinstance(body, Projectable) else []
            found += [(body, mirror) for mirror in own + [one for one in plain if one not in own]]
    return found


def one_of_each(pairs):
    """All samples but one of each set and potential are for the long tests."""
    kinds, params = set(), []
    for body, mirror in pairs:
        marks = [pytest.mark.slow] if (kind := (type(body), type(mirror))) in kinds else []
        kinds.add(kind)
        params.append(pytest.param(body, mirror, marks=marks))
    return params


@pytest.mark.parametrize(("body", "mirror"), mirrored(7), ids=zoo.short)
@pytest.mark.parametrize("count", [1, 30])
@pytest.mark.few(10)
def test_regret_against_any_gradients_is_within_the_bound(body, mirror, count):
    """`(1/N) Σ ⟨g_t, θ_t − θ*⟩ ≤ R G √(2/N)` for gradients that always point at where the iterate is.

    Tests: 002, Algorithm 1; 002, Claim 3.3.
    """
    rng = np.random.default_rng(1)
    seen = []

    def oracle(theta):
        g = np.sign(theta) + rng.standard_normal(theta.size)
        seen.append((theta.copy(), g / dual_norm(mirror, g)))
        return seen[-1][1]

    block = Block(0, 7, mirror, 1.0, math.inf)
    bound = lipschitz([block], count, 0.0)
    mean = descend([block], oracle, bound.steps, count=count, with_start=True)
    last = (count + 1) * mean - sum(theta for theta, _ in seen)  # θ_N, at which nothing was asked
    g = rng.standard_normal(7)
    seen.append((last, g / dual_norm(mirror, g)))
    total = sum(g for _, g in seen)
    regret = sum(float(g @ theta) for theta, g in seen) - float(total @ body.vertex(total))
    assert body.contains(mean, 1e-6)
    assert regret / (count + 1) <= bound.risk * (1.0 + 1e-9) + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(("body", "mirror"), one_of_each(mirrored(5)), ids=zoo.short)
def test_with_noise_the_expected_risk_is_within_the_bound(body, mirror):
    """A linear loss: excess of the mean point over 200 runs, in [0, range of the loss]; false alarm 1e-6 (Hoeffding).

    Tests: 002, Theorem 3.2.
    """
    rng = np.random.default_rng(2)
    g = rng.standard_normal(5)
    g /= dual_norm(mirror, g)
    low, span = float(g @ body.vertex(g)), body.support(g) + body.support(-g)
    block, count = Block(0, 5, mirror, 1.0, 0.0), 12
    for rule, with_start in ((lipschitz, True), (smooth, False)):
        bound = rule([block], count, 0.3 / block.noise)
        excess = [
            float(g @ descend([block], lambda _: g + 0.3 / block.noise * rng.standard_normal(5), bound.steps,
                              count=count, with_start=with_start)) - low
            for _ in range(DRAWS)
        ]  # fmt: skip
        assert np.mean(excess) <= bound.risk + FALSE_ALARM * span


@pytest.mark.few(1)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("body", SETS, ids=str)
def test_without_noise_the_gap_closes_as_the_bound_says(loss, body):
    data = tables_for(loss)
    asked = asked_of(data, loss, constraint=body)
    solver = MirrorDescentSolver()
    plan = solver.plan(asked, prices(data, asked), Allowance.gdp(math.inf))
    answers = NumpyAnswers(data.X, data.Y, loss, plan.settings["clip"])
    theta = solver.run(asked, plan, answers).theta
    excess = objective(data, asked, theta, plan.settings["clip"]) - optimum(data, asked, plan.settings["clip"])
    assert answers.asked == plan.settings["steps"] == EXACT_STEPS
    assert -1e-3 < excess <= solver.predicted_risk(asked, plan)
    assert excess < 0.02


@pytest.mark.few(1)
@pytest.mark.parametrize("loss", [MultinomialLogistic(), SquaredTargets()], ids=str)
@pytest.mark.parametrize("body", SETS[:3], ids=str)
@pytest.mark.parametrize("intercept", [False, True])
def test_matrices_are_sets_of_their_flattened_slopes(loss, body, intercept):
    data = tables_for(loss, intercept=intercept)
    asked = asked_of(data, loss, constraint=body)
    solver = MirrorDescentSolver(clip=12.0)
    plan = solver.plan(asked, prices(data, asked), Allowance.gdp(math.inf))
    theta = solver.run(asked, plan, NumpyAnswers(data.X, data.Y, loss, 12.0)).theta
    assert theta.shape == (asked.dimension, 3)
    assert body.contains(theta[:4].ravel(), 1e-6)
    excess = objective(data, asked, theta, 12.0) - optimum(data, asked, 12.0)
    assert -1e-3 < excess <= solver.predicted_risk(asked, plan)
    assert excess < 0.02


@pytest.mark.slow
def test_low_rank_models_over_the_nuclear_ball():
    """Tests: 002, Equation (16)."""
    loss = SquaredTargets()
    data = tables_for(loss, intercept=True)
    asked = asked_of(data, loss, constraint=NuclearBall(0.5, 3))
    solver = MirrorDescentSolver(clip=12.0)
    plan = solver.plan(asked, prices(data, asked), Allowance.gdp(math.inf))
    theta = solver.run(asked, plan, NumpyAnswers(data.X, data.Y, loss, 12.0)).theta
    assert np.linalg.svd(theta[:4], compute_uv=False).sum() <= 0.5 * (1.0 + 1e-6)
    excess = objective(data, asked, theta, 12.0) - optimum(data, asked, 12.0)
    assert -1e-3 < excess <= solver.predicted_risk(asked, plan)


@pytest.mark.slow
@pytest.mark.parametrize("intercept", [False, True])
def test_a_polytope_is_walked_on_the_weights_of_its_vertices(intercept):
    """Tests: 002, Equation (14)."""
    rng = np.random.default_rng(3)
    body = Polytope(tuple(map(tuple, 0.6 * rng.standard_normal((9, 4)))))
    data = table(2000, 4, intercept=intercept)
    asked = problem(data, constraint=body)
    own = potential(body, 4, euclidean=False)
    assert own.start().size == 9
    solver = MirrorDescentSolver()
    plan = solver.plan(asked, prices(data, asked), Allowance.gdp(1.0))
    weighted = replace(plan, settings=dict(plan.settings) | {"euclidean": False})
    for one in (plan, weighted):
        curator = Curator(Rows(data.X, data.Y), one.queries, key=TestKey(bytes(32)))
        theta = solver.run(asked, one, curator).theta
        assert body.contains(theta[:4, 0], 1e-6)
        excess = objective(data, asked, theta, 1.0) - optimum(data, asked, 1.0)
        assert -1e-3 < excess < 0.02


def test_the_intercept_is_found_beside_the_slopes():
    data = table(5000, 3, intercept=True)
    asked = problem(data, constraint=L2Ball(1.0))
    theta = solve(MirrorDescentSolver(), data, asked, 1.0).theta[:, 0]
    assert theta[-1] == pytest.approx(0.2, abs=0.04)
    only = Table(
        np.ones((500, 1)), np.full((500, 1), 0.4), replace(data.facts, columns=("one",), norm_l1=1.0, norm_l2=1.0)
    )
    theta = solve(MirrorDescentSolver(), only, problem(only, constraint=L2Ball(1.0)), 2.0).theta
    assert theta[0, 0] == pytest.approx(0.4, abs=0.05)


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("mu", [0.0275, 0.2367, 2.0])
@pytest.mark.parametrize("body", SETS, ids=str)
@pytest.mark.few(4)
def test_a_plan_costs_at_most_the_budget_and_nearly_all_of_it(neighbours, mu, body):
    data = table()
    asked = problem(data, neighbours, constraint=body)
    plan = MirrorDescentSolver().plan(asked, prices(data, asked), Allowance.gdp(mu))
    spent = plan.event.gdp_mu()
    assert spent is not None
    assert spent <= mu * (1.0 + 2.0**-40)
    assert spent == pytest.approx(mu, rel=1e-6)
    assert json.loads(json.dumps(plan.to_dict()))["settings"]["steps"] == plan.queries[0].count


@pytest.mark.few(1)
@pytest.mark.parametrize("body", SETS, ids=str)
@pytest.mark.parametrize("mu", [1e-3, 0.2, 3.0])
def test_private_models_are_feasible_and_within_the_bound(body, mu):
    """Three fits by the curator; their mean excess is an eighth of the bound or less, so chance has no part in this.

    Tests: 002, Theorem 1.1; 002, Theorem 3.2.
    """
    data = table(2000, 5, intercept=True)
    asked = problem(data, constraint=body)
    solver = MirrorDescentSolver()
    plan = solver.plan(asked, prices(data, asked), Allowance.gdp(mu))
    fits = [solve(solver, data, asked, mu, seed).theta for seed in range(3)]
    assert all(asked.feasible.contains(theta[:, 0], 1e-6) for theta in fits)
    least = optimum(data, asked, plan.settings["clip"])
    excess = np.mean([objective(data, asked, theta, plan.settings["clip"]) - least for theta in fits])
    assert excess <= solver.predicted_risk(asked, plan)


def test_a_larger_budget_gives_a_smaller_bound():
    data = table(5000, 4, intercept=True)
    asked, solver = problem(data, constraint=L1Ball(0.5)), MirrorDescentSolver()
    plans = [solver.plan(asked, prices(data, asked), Allowance.gdp(mu)) for mu in (0.003, 0.03, 0.3, math.inf)]
    risks = [solver.predicted_risk(asked, plan) for plan in plans]
    assert risks == sorted(risks, reverse=True)


def test_steps_end_where_optimisation_meets_noise():
    block = Block(0, 3, potential(L2Ball(1.0), 3, euclidean=True), 1.0, math.inf)
    count, bound = best(settled([block], 0.02, 0.0))
    assert bound.optimisation <= bound.noise
    before = lipschitz([block], count - 1, 0.02 * math.sqrt(count - 1))
    assert before.optimisation > before.noise
    assert best(settled([block], 0.0, 0.0))[0] == EXACT_STEPS
    assert best(settled([block], 50.0, 0.0))[0] == 1
    assert best(settled([block], 1e-6, 0.0, 70))[0] == 70
    assert best(settled([block], 1e-6, 0.0))[0] > 10**11  # found by bisection
    curved = replace(block, curvature=1.0)
    for sigma in (1e-2, 1e-4):  # the bounds nearly tie, and the smooth rule needs the root of the gradients
        (slow, plain), (fast, bound) = settled([curved], sigma, 0.0, None)
        assert best(settled([curved], sigma, 0.0)) == (fast, bound)
        assert bound.risk <= (1.0 + ALIKE) * plain.risk
        assert fast <= 2.0 * math.sqrt(slow) + 1
        before = smooth([curved], fast - 1, sigma * math.sqrt(fast - 1))
        assert before.optimisation > before.noise


def test_the_rule_of_the_least_bound_is_taken():
    """Tests: 002, Equation (13)."""
    mirror = potential(L2Ball(1.0), 3, euclidean=True)
    rough, flat = Block(0, 3, mirror, 1.0, math.inf), Block(0, 3, mirror, 1.0, 0.2)
    assert best(settled([rough], 1e-3, 0.0))[1].rule is Rule.LIPSCHITZ
    assert best(settled([flat], 1e-3, 0.0))[1].rule is Rule.SMOOTH
    assert best(settled([rough], 1e-3, 1.0))[1].rule is Rule.STRONGLY_CONVEX
    assert {bound.rule for bound in candidates([flat], 9, 0.1, 1.0)} == {
        Rule.LIPSCHITZ,
        Rule.SMOOTH,
        Rule.STRONGLY_CONVEX,
    }
    for count in (1, 20):  # the rule's own steps minimise the bound among constant steps
        own = lipschitz([rough], count, 0.1)
        sizes = [step.constant for step in own.steps]
        assert fixed([rough], count, 0.1, sizes, Rule.PAPER).risk == pytest.approx(own.risk)
        assert all(fixed([rough], count, 0.1, [f * sizes[0]], Rule.PAPER).risk > own.risk for f in (0.8, 1.25))


def test_on_the_l1_ball_in_many_coordinates_the_own_potential_wins():
    """Tests: 002, Equation (14)."""
    data = table(3000, 4)
    wide = replace(
        problem(data, constraint=L1Ball(1.0)), dimension=2000, norm_l1=2000.0, norm_l2=math.sqrt(2000.0), norm_linf=1.0
    )
    facts = replace(data.facts, columns=tuple(f"x{j}" for j in range(2000)), norm_l2=math.sqrt(2000.0))
    solver, bought = MirrorDescentSolver(), prices(replace(data, facts=facts), wide)
    plan = solver.plan(wide, bought, Allowance.gdp(0.2))
    assert not plan.settings["euclidean"]
    other = solver.plan(replace(wide, constraint=L2Ball(1.0)), bought, Allowance.gdp(0.2))
    assert solver.predicted_risk(wide, plan) < 0.5 * solver.predicted_risk(wide, other)


@pytest.mark.slow
def test_a_strongly_convex_loss_is_learned_at_the_faster_rate():
    """Quantiles with a ridge: the excess falls like ln T/T, within its bound, where the plain rule promises 1/√T.

    Tests: 002, Section 2.2, strong convexity in a function; 002, Theorem A.1; 002, Claim A.2.
    """
    data = tables_for(Pinball(0.3), intercept=False, n=200)
    asked = asked_of(data, Pinball(0.3), constraint=L2Ball(1.0), penalty=SquaredL2Penalty(0.5))
    block = Block(0, 4, potential(L2Ball(1.0), 4, euclidean=True), 0.7 + 0.5, math.inf)
    answers = NumpyAnswers(data.X, data.Y, asked.loss, 1.0)

    def oracle(theta):
        return answers.answer("gradient", theta) + 0.5 * theta

    def excess(count):
        bound = strongly_convex([block], count, 0.0, 0.5)
        mean = descend([block], oracle, bound.steps, count=count, with_start=True)
        gap = objective(data, asked, mean[:, None]) - least
        assert gap <= bound.risk
        return gap

    least = min(optimum(data, asked, 1.0), math.inf)
    fine = descend([block], oracle, [Step(0.0, 0.5)], count=12_000, with_start=True)
    least = min(least, objective(data, asked, fine[:, None]))
    counts = np.array([10, 30, 100, 300, 1000])
    slope = np.polyfit(np.log(counts), np.log([excess(count) for count in counts]), 1)[0]
    assert slope < -0.7


@pytest.mark.slow
@pytest.mark.parametrize(("body", "mirror"), one_of_each(mirrored(5)), ids=zoo.short)
def test_composite_steps_are_within_their_bound_over_every_potential(body, mirror):
    """⟨g, θ⟩ + ΔΨ with noise: mean excess of 200 runs, each in [0, span]; false alarm 1e-6 (Hoeffding).

    Ψ of weights of vertices is of many weights for one point; its least value stands for it there.

    Tests: 002, Theorem 4.1 (2); 002, Remark 3.
    """
    rng, own, count = np.random.default_rng(5), 0.4, 12
    g = rng.standard_normal(5)
    g /= dual_norm(mirror, g)
    block = Block(0, 5, mirror, 1.0, 0.0)
    bound = composite([block], count, 0.3 / block.noise, own)
    start = mirror.start()
    best_state = mirror.step(mirror.eased(start, 1e12), g / own)  # a step from where ∇Ψ is as good as nothing
    low, excess = float(g @ mirror.point(best_state)) + own * mirror.value(best_state), []
    for _ in range(DRAWS):
        mean = descend([block], lambda _: g + 0.3 / block.noise * rng.standard_normal(5), bound.steps, count=count, with_start=True)  # fmt: skip
        potential_of = mirror.value(mean if start.size == 5 else start)
        excess.append(float(g @ mean) + own * potential_of - low)
    span = body.support(g) + body.support(-g) + own * mirror.range
    assert np.mean(excess) <= bound.risk + FALSE_ALARM * span


@pytest.mark.slow
@pytest.mark.parametrize("body", [Simplex(1.0), L1Ball(1.0), NuclearBall(1.0, 2)], ids=str)
def test_composite_models_gain_the_faster_rate(body):
    """Of `f + ΔΨ` by private noise: excess within the bound at every n, and the bound's noise falls like n^−2, logarithms aside.

    Tests: 002, Theorem A.1; 002, Theorem 4.1 (2).
    """
    own, mu, data = 0.3, 0.1, table(400, 6)
    asked, solver = problem(data, constraint=body), MirrorDescentSolver(composite=own)
    mirror = potential(body, 6, euclidean=False)
    sizes, excess = (500, 1500, 4500), []
    fine = descend(
        [Block(0, 6, mirror, 1.0, math.inf)],
        lambda theta: NumpyAnswers(data.X, data.Y, Squared(), 1.0).answer("gradient", theta),
        [Step(0.0, own, True)],
        count=2000,
        with_start=True,
    )

    def value(theta):
        return objective(data, asked, theta[:, None], 1.0) + own * mirror.value(theta)

    least = value(fine)
    for n in sizes:
        larger = replace(asked, records=n)
        plan = solver.plan(larger, prices(data, larger), Allowance.gdp(mu))
        assert (plan.settings["rule"], plan.settings["euclidean"]) == (Rule.COMPOSITE, False)
        assert plan.event.gdp_mu() == pytest.approx(mu, rel=1e-6)
        runs = [
            solver.run(larger, plan, NumpyAnswers(data.X, data.Y, Squared(), 1.0, plan.settings["sigma"], seed)).theta[:, 0]
            for seed in range(5)
        ]  # fmt: skip
        excess.append(float(np.mean([value(theta) - least for theta in runs])))
        assert excess[-1] <= plan.settings["optimisation"] + plan.settings["noise"]
        assert solver.predicted_risk(larger, plan) <= plan.settings["least"]
    slope = np.polyfit(np.log(sizes), np.log(excess), 1)[0]
    assert slope < -1.5


@pytest.mark.slow
@pytest.mark.parametrize("intercept", [False, True])
def test_a_ridge_is_part_of_what_is_minimised(intercept):
    data = table(8_000, 4, intercept=intercept)
    asked = problem(data, constraint=L2Ball(1.0), penalty=SquaredL2Penalty(0.3))
    solver = MirrorDescentSolver()
    plan = solver.plan(asked, prices(data, asked), Allowance.gdp(3.0))
    assert plan.settings["strength"] == 0.3
    theta = solve(solver, data, asked, 3.0).theta
    ridge = 0.3 * np.diag(np.append(np.ones(4), [0.0] * intercept))
    exact = np.linalg.solve(data.X.T @ data.X / data.records + ridge, data.X.T @ data.Y / data.records)
    assert theta == pytest.approx(exact, abs=0.02)


def test_rows_are_not_clipped_where_the_zero_model_leaves_them():
    """The clip is the largest |φ'| at θ = 0: Huber's loss beyond it, and the exact loss on request."""
    data = table(intercept=True)
    asked = problem(data, constraint=L2Ball(3.0))
    assert MirrorDescentSolver().plan(asked, prices(data, asked), Allowance.gdp(1.0)).settings["clip"] == 1.0
    assert MirrorDescentSolver(clip=2.5).plan(asked, prices(data, asked), Allowance.gdp(1.0)).settings["clip"] == 2.5


def test_the_papers_noise_is_printed_and_its_real_price_is_stated():
    """Tests: 002, Algorithm 1; 002, Theorem 3.1."""
    data = table(20_000, 5)
    asked = problem(data, constraint=L2Ball(0.5))
    budget = Budget(1.0, 1.0 / 20_000**2)
    paper = Allowance(budget, calibration=Calibration.PAPER)
    with pytest.raises(
        CapabilityError, match=r"passes over the table, about .* max_passes is 10,000. Nothing was charged"
    ):
        MirrorDescentSolver(clip=1.5).plan(asked, prices(data, asked), paper)
    printed = MirrorDescentSolver(clip=1.5, max_passes=None).plan(asked, prices(data, asked), paper)
    count = printed.settings["steps"]
    assert count > 10_000
    assert f"{count:,} passes" in printed.reason
    lipschitz_l2 = 1.5 * data.facts.norm_l2
    sigma = math.sqrt(32 * count) * lipschitz_l2 * math.log(count / budget.pair[1]) / 20_000
    assert printed.queries[0].sigma / 20_000 == pytest.approx(sigma, rel=1e-6)
    exact = MirrorDescentSolver(clip=1.5).plan(asked, prices(data, asked), Allowance(budget))
    per_step = exact.settings["sigma"] / math.sqrt(exact.settings["steps"])
    assert sigma / math.sqrt(count) > 10.0 * per_step
    assert printed.event.gdp_mu() < 0.1 * exact.event.gdp_mu()


def test_the_strongly_convex_preset_is_theorem_a1s():
    """T, σ and steps as printed, with the entropy beside the loss and with a ridge.

    Tests: 002, Theorem A.1.
    """
    data, n = table(300, 5), 300
    delta = 1.0 / n**2
    paper = Allowance(Budget(1.0, delta), calibration=Calibration.PAPER)
    ridge = SquaredL2Penalty(0.2)
    for body, penalty, options in (
        (Simplex(0.5), None, {"composite": 0.2}),
        (L2Ball(0.5), ridge, {"rule": "strongly convex"}),
    ):
        asked = problem(data, constraint=body, penalty=penalty)
        mirror = potential(body, 5, euclidean=penalty is not None)
        count = round(n**2 / (mirror.unit_width.high**2 + 1.0))  # (‖Q‖₂ nε)²/(w(Q)² + ‖Q‖₂²), ‖Q‖₂ = 1
        with pytest.raises(CapabilityError, match=r"max_passes is 10,000\. Nothing was charged"):
            MirrorDescentSolver(**options).plan(asked, prices(data, asked), paper)
        plan = MirrorDescentSolver(**options, max_passes=None).plan(asked, prices(data, asked), paper)
        sigma = math.sqrt(32.0 * count) * 1.5 * math.log(count / delta) / n  # L = |Z| + |Y| = 1.5
        assert plan.settings["steps"] == count
        assert plan.queries[0].sigma / n == pytest.approx(sigma, rel=1e-6)
        step = Descent(**plan.settings).schedule[0]
        assert [step.strength * step.at(t) for t in (1, 4)] == [1 / (1 + step.composite), 1 / (4 + step.composite)]
        assert "Theorem A.1" in plan.reason


def test_a_set_of_one_point_has_the_papers_plan_too():
    data = table(200, 1)
    asked = problem(data, constraint=Simplex(1.0))
    solver, allowance = MirrorDescentSolver(), Allowance(Budget(1.0, 1e-6), calibration=Calibration.PAPER)
    plan = solver.plan(asked, prices(data, asked), allowance)
    assert math.isfinite(solver.predicted_risk(asked, plan))


def test_what_it_cannot_do_is_refused_with_the_remedy():
    data, solver, two = table(), MirrorDescentSolver(), table(targets=2)
    free = problem(data)
    with pytest.raises(CapabilityError, match="Pass constraint=L2Ball"):
        solver.plan(free, prices(data, free), Allowance.gdp(1.0))
    sparse = problem(data, constraint=L2Ball(1.0), penalty=ElasticNetPenalty(0.1, 0.5))
    with pytest.raises(CapabilityError, match="constraint=L1Ball"):
        solver.plan(sparse, prices(data, sparse), Allowance.gdp(1.0))
    several = problem(two, constraint=L2Ball(1.0))
    with pytest.raises(CapabilityError, match="solver='moments'"):
        solver.plan(several, prices(two, several), Allowance.gdp(1.0))
    asked = problem(data, constraint=L2Ball(1.0))
    for options in ({"composite": 0.1, "rule": "smooth"}, {"rule": "strongly convex"}):
        for allowance in (Allowance.gdp(1.0), Allowance(Budget(1.0, 1e-6), calibration=Calibration.PAPER)):
            with pytest.raises(CapabilityError, match="are a rule of their own"):
                MirrorDescentSolver(**options).plan(asked, prices(data, asked), allowance)
    with pytest.raises(InvalidParameter, match="needs ε and a δ above 0"):
        solver.plan(asked, prices(data, asked), Allowance(Budget.gdp(1.0), calibration=Calibration.PAPER))
