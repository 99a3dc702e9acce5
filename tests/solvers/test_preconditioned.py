"""The preconditioned gradient: within its budget, near the optimum where the plain gradient is not, and within its sets."""

import math
from collections import Counter
from dataclasses import replace
from itertools import chain, pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

import hullabaloo as hb
from hullabaloo.curator import Curator
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import Box, ConvexSet, L1Ball, L1Penalty, L2Ball, LpBall, Penalty, SquaredL2Penalty
from hullabaloo.losses import Huber, Logistic, Loss, Poisson, SmoothedHinge, Squared
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Allowance, Neighbours
from hullabaloo.solvers import GradientSolver, PreconditionedGradientSolver, Problem
from hullabaloo.solvers.gradient import released_curvature
from hullabaloo.solvers.gradient.coordinates import Coordinates
from hullabaloo.solvers.gradient.descent import Descent
from hullabaloo.solvers.gradient.schedule import GradientSchedule
from tests.solvers.tables import Table, least_squares, prices, problem, solve, table

SETS = [L1Ball(0.3), L2Ball(0.2), Box(-0.1, 0.3)]
SOLVER = PreconditionedGradientSolver()


def classes(n: int = 8_000, p: int = 6, *, seed: int = 3) -> Table:
    """Two classes of ill-conditioned records: columns of falling width, coefficients that grow as fast."""
    rng = np.random.default_rng(seed)
    width = 2.0 ** -np.arange(p)
    U = rng.uniform(-1.0, 1.0, (n, p))
    theta = rng.choice([-1.0, 1.0], p) * 2.0
    y = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-U @ theta)), 1.0, -1.0)
    X = np.column_stack([0.3 + 0.6 * U * width, np.ones(n)])
    facts = RowFacts(tuple(f"x{j}" for j in range(p + 1)), True, p + 1.0, math.sqrt(p + 1.0), 1.0, ("y",))
    return Table(np.ascontiguousarray(X), y[:, None], facts)


def share(data: Table, theta: np.ndarray) -> float:
    """How much of the gain of the truth over a constant is kept, by log-loss."""
    from benchmarks.share_kept import logistic

    def loss(at: np.ndarray) -> float:
        return float(np.logaddexp(0.0, -data.Y[:, 0] * (data.X @ at)).mean())

    best = loss(logistic(data.X, data.Y[:, 0]))
    return (math.log(2.0) - loss(theta)) / (math.log(2.0) - best)


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("mu", [0.0275, 0.2367, 2.0])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_plan_costs_at_most_the_budget_and_nearly_all_of_it(
    neighbours: Neighbours, mu: float, intercept: bool
) -> None:
    data = table(intercept=intercept)
    asked = problem(data, neighbours)
    spent = SOLVER.plan(asked, prices(data, asked), Allowance.gdp(mu)).event.gdp_mu()
    assert spent is not None
    assert mu * (1.0 - 1e-6) <= spent <= mu * (1.0 + 2.0**-40)


@pytest.mark.slow
def test_it_keeps_far_more_of_an_ill_conditioned_table_than_the_plain_gradient_at_the_same_budget() -> None:
    """Shares of 3 draws with fixed keys: 0.998 against 0.36 when this was written."""
    data = classes()
    asked = replace(problem(data), loss=Logistic())
    ours, plain = (
        np.mean([share(data, solve(one, data, asked, 0.5, seed).theta[:, 0]) for seed in range(3)])
        for one in (SOLVER, GradientSolver())
    )
    assert ours > 0.97
    assert plain < 0.6


@pytest.mark.parametrize("intercept", [False, True])
def test_with_little_noise_it_comes_near_the_optimum(intercept: bool) -> None:
    data = table(20_000, 4, intercept=intercept)
    theta = solve(SOLVER, data, problem(data), 3.0).theta[:, 0]
    excess = np.mean((data.X @ (theta - least_squares(data)[:, 0])) ** 2)
    assert excess < 5e-3 * np.mean(data.Y**2)


@pytest.mark.parametrize("loss", [Logistic(), Huber(0.5), SmoothedHinge(0.5)], ids=lambda loss: loss.name)
def test_every_loss_of_classes_is_lowered(loss: Loss) -> None:
    data = classes(4_000, 3)
    theta = solve(SOLVER, data, replace(problem(data), loss=loss), 1.0).theta[:, 0]
    found, nothing = (float(loss.value(data.X @ at, data.Y[:, 0]).mean()) for at in (theta, 0.0 * theta))
    assert found < 0.9 * nothing


def test_counts_with_exposures_find_their_rate_and_its_slope() -> None:
    """Rates of 3 % around slopes of ±1, exposures over a factor 50: the level and the slope come near the truth."""
    rng = np.random.default_rng(9)
    n = 40_000
    U, offset = rng.uniform(-1.0, 1.0, (n, 2)), rng.uniform(-2.0, 2.0, n)
    truth = np.array([1.0, -1.0, math.log(0.03) - 1.0])
    X = np.column_stack([U, np.ones(n)])
    y = np.minimum(rng.poisson(4.0 * np.exp(X @ truth + offset)), 4) / 4.0
    facts = RowFacts(("a", "b", "i"), True, 3.0, math.sqrt(3.0), 1.0, ("y",), offset_bound=2.0)
    data = Table(np.ascontiguousarray(X), y[:, None], facts)
    asked = replace(problem(data), loss=Poisson(), offset_bound=2.0)
    plan = SOLVER.plan(asked, prices(data, asked), Allowance.gdp(1.0))
    rows = Rows(data.X, data.Y, None, offset)
    theta = SOLVER.run(asked, plan, Curator(rows, plan.queries, key=TestKey(bytes(32)))).theta[:, 0]  # type: ignore[arg-type]
    assert theta == pytest.approx(truth, abs=0.25)


@pytest.mark.few(1)
@pytest.mark.parametrize("constraint", SETS, ids=str)
def test_the_result_is_feasible_at_every_noise(constraint: object) -> None:
    data = table(intercept=True)
    asked = problem(data, constraint=constraint)  # type: ignore[arg-type]
    assert asked.feasible is not None
    for mu in (1e-3, 0.1, 3.0):
        assert asked.feasible.contains(solve(SOLVER, data, asked, mu).theta[:, 0])


def test_a_set_is_met_in_the_metric_of_the_preconditioner() -> None:
    """Near the constrained optimum of least squares, which projecting the free one does not give."""
    rng = np.random.default_rng(4)
    n = 30_000
    U = rng.normal(size=(n, 1)) @ np.ones((1, 2)) + 0.3 * rng.normal(size=(n, 2))
    U = np.clip(0.3 * U, -1.0, 1.0)
    y = np.clip(U @ np.array([1.0, -0.6]) + 0.02 * rng.normal(size=n), -1.0, 1.0)
    facts = RowFacts(("a", "b"), False, 2.0, math.sqrt(2.0), 1.0, ("y",))
    data = Table(np.ascontiguousarray(U), y[:, None], facts)
    asked = problem(data, constraint=Box(0.0, 0.8))
    best = float(U[:, 0] @ y / (U[:, 0] @ U[:, 0]))  # the second coefficient is held at 0
    assert 0.0 < best < 0.8
    theta = solve(SOLVER, data, asked, 3.0).theta[:, 0]
    assert theta == pytest.approx([best, 0.0], abs=0.05)


def test_penalties_are_those_of_the_mean_loss() -> None:
    data = table(20_000, 4, intercept=True)
    theta = solve(SOLVER, data, problem(data, penalty=L1Penalty(10.0)), 1.0).theta[:, 0]
    assert np.all(theta[:-1] == 0.0)
    free, held = (
        solve(SOLVER, data, problem(data, penalty=penalty), 3.0).theta[:-1, 0]
        for penalty in (SquaredL2Penalty(1e-9), SquaredL2Penalty(0.5))
    )
    assert np.linalg.norm(held) < 0.7 * np.linalg.norm(free)


def test_what_the_prox_left_at_zero_is_zero_in_the_columns_own_coordinates() -> None:
    data = classes()
    for strength in (0.03, 0.1):
        asked = replace(problem(data, penalty=L1Penalty(strength)), loss=Logistic())
        theta = solve(SOLVER, data, asked, 3.0).theta[:-1, 0]
        assert (theta == 0.0).any()
        assert (np.abs(theta[theta != 0.0]) > 1e-8).all()


def test_what_is_asked_depends_on_the_plan_alone() -> None:
    """The same numbers of the same questions of two tables that have nothing in common."""
    asked_of = []
    for data in (table(600, 4, intercept=True), table(600, 4, intercept=True, signal=-1.0, seed=5)):
        asked = problem(data)
        plan = SOLVER.plan(asked, prices(data, asked), Allowance.gdp(0.5))
        curator = _Counting(Curator(Rows(data.X, data.Y), plan.queries, key=TestKey(bytes(32))))  # type: ignore[arg-type]
        SOLVER.run(asked, plan, curator)  # type: ignore[arg-type]
        asked_of.append(curator.asked)
        counted = Counter(chain.from_iterable([query.name] * query.count for query in plan.queries))
        assert Counter(curator.asked) == counted
    assert asked_of[0] == asked_of[1]


class _Counting:
    def __init__(self, curator: Curator, asked: list[str] | None = None) -> None:
        self.curator, self.asked = curator, [] if asked is None else asked

    def projected(self, matrix: np.ndarray) -> "_Counting":
        return _Counting(self.curator.projected(matrix), self.asked)

    def answer(self, name: str, *given: object, **named: object) -> object:
        self.asked.append(name)
        return self.curator.answer(name, *given, **named)


def test_it_refuses_what_it_cannot_do() -> None:
    data = table()
    asked = problem(data)
    with pytest.raises(CapabilityError, match="exact optimum"):
        SOLVER.plan(asked, prices(data, asked), Allowance.gdp(math.inf))
    several = problem(table(targets=2))
    with pytest.raises(CapabilityError, match="one target"):
        SOLVER.plan(several, prices(table(targets=2), several), Allowance.gdp(1.0))
    both = problem(data, constraint=LpBall(1.5, 1.0), penalty=L1Penalty(0.1))
    with pytest.raises(CapabilityError, match="together"):
        SOLVER.plan(both, prices(data, both), Allowance.gdp(1.0))
    wide: Problem = replace(asked, dimension=5_000)
    with pytest.raises(CapabilityError, match="between 1 and 2,000"):
        SOLVER.plan(wide, prices(data, asked), Allowance.gdp(1.0))
    long: Problem = replace(asked, records=10**12 // asked.dimension**2 + 1)
    with pytest.raises(CapabilityError, match="1,000,000,000,000 products"):
        SOLVER.plan(long, prices(data, asked), Allowance.gdp(1.0))
    SOLVER.plan(replace(long, records=long.records - 1), prices(data, asked), Allowance.gdp(1.0))


def test_predictions_fall_as_the_budget_grows() -> None:
    data = table(5_000, 6, intercept=True)
    asked = problem(data)
    risks = []
    for mu in (0.01, 0.1, 1.0):
        plan = SOLVER.plan(asked, prices(data, asked), Allowance.gdp(mu))
        risks.append(SOLVER.predicted_risk(asked, plan))
    assert risks[0] > risks[1] > risks[2] > 0.0


def test_quiet_tables_get_a_second_phase_more_room_and_more_travel() -> None:
    quiet, loud = (
        GradientSchedule(**SOLVER.plan(problem(data), prices(data, problem(data)), Allowance.gdp(0.5)).settings)
        for data in (table(50_000, 4, intercept=True), table(200, 4, intercept=True))
    )
    assert quiet.late > loud.late == 0
    assert quiet.late_reach > loud.reach
    assert quiet.around > loud.around == 1.0
    assert quiet.floor(1.0, 4) < loud.floor(1.0, 4)
    assert quiet.travel(0.5, 0.7, late=True) == quiet.late_reach / quiet.smoothness
    flat = replace(quiet, ridge=0.1)
    for late, reach, noise in ((False, flat.reach, flat.noise), (True, flat.late_reach, flat.result_noise)):
        over = 0.1 * math.sqrt(flat.smoothness) * 0.5 * noise * 0.7
        assert flat.travel(0.5, 0.7, late=late) == pytest.approx(reach / over)  # each phase by its own noise


class Overheard:
    """A curator whose questions about gradients are kept by their clips."""

    def __init__(self, curator: Curator, clips: list[float]) -> None:
        self.curator, self.clips = curator, clips

    def answer(self, name: str, *given: object, **named: object) -> object:
        if name == "centred_gradient":
            self.clips.append(float(named["clip_norm"]))  # type: ignore[arg-type]
        return self.curator.answer(name, *given, **named)

    def projected(self, matrix: np.ndarray) -> "Overheard":
        return Overheard(self.curator.projected(matrix), self.clips)


def test_the_second_phase_never_cuts_shorter_than_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long gradients of few records hide in the noise of its histogram: a clip read off it may be far too short."""
    monkeypatch.setattr(Descent, "unbiased_clip", lambda *_: 1e-3)
    data = classes()
    asked = replace(problem(data), loss=Logistic())
    plan = SOLVER.plan(asked, prices(data, asked), Allowance.gdp(1.0))
    path, clips = GradientSchedule(**plan.settings), list[float]()
    assert path.late
    curator = Curator(Rows(data.X, data.Y), plan.queries, key=TestKey(bytes(32)))  # type: ignore[arg-type]
    SOLVER.run(asked, plan, Overheard(curator, clips))  # type: ignore[arg-type]
    first = clips[path.opening + path.first]
    assert min(clips[-path.late :]) >= first * (1.0 - 1e-12)


def alike_columns() -> tuple[Table, np.ndarray]:
    """A number by columns that nearly add up to one, some rare; and the target."""
    rng = np.random.default_rng(11)
    U = 0.1 * rng.normal(size=(30_000, 6)) + 0.3 * rng.normal(size=(30_000, 1))
    U = np.clip(np.column_stack([U, rng.random((30_000, 2)) < (0.3, 0.01)]), -1.0, 1.0)
    z = U @ np.array([1.0, -1.0, 0.5, 0.0, 0.3, -0.4, 0.4, -0.5])
    y = np.clip(z + 0.3 * rng.normal(size=len(U)), -1.0, 1.0)
    facts = RowFacts(tuple(f"x{j}" for j in range(9)), True, 9.0, 3.0, 1.0, ("y",))
    return Table(np.column_stack([U, np.ones(len(U))]), y[:, None], facts), y


@pytest.mark.slow
@pytest.mark.parametrize("loss", [Squared(), Huber(0.5)], ids=str)
def test_a_released_curvature_takes_few_passes_as_near_the_optimum_as_many(
    monkeypatch: pytest.MonkeyPatch, loss: Squared | Huber
) -> None:
    """Of columns that nearly add up to one, some rare: less than half of the gradients, and no more loss than 25 steps alike leave. Keys are fixed."""
    data, y = alike_columns()
    asked = replace(problem(data), loss=loss)

    def lost(mu: float) -> tuple[float, int]:
        """Mean loss over four keys, and the number of gradients."""
        plan = SOLVER.plan(asked, prices(data, asked), Allowance.gdp(mu))
        losses = []
        for key in range(4):
            curator = Curator(Rows(data.X, data.Y), plan.queries, key=TestKey(bytes(32)).derive(key))  # type: ignore[arg-type]
            losses.append(float(loss.value(data.X @ SOLVER.run(asked, plan, curator).theta[:, 0], y).mean()))
        return float(np.mean(losses)), sum(query.count for query in plan.queries if query.name == "centred_gradient")

    few, passes = lost(3.0)
    loud = GradientSchedule(**SOLVER.plan(asked, prices(data, asked), Allowance.gdp(0.1)).settings)
    monkeypatch.setattr(released_curvature, "FAINT", 0.0)
    many, more = lost(3.0)
    constant = float(loss.value(np.full(len(y), 0.0), y).mean())
    assert passes <= 10 < 0.5 * more
    assert few - many < 1e-3 * (constant - many)
    assert loud.bend_noise == 0.0


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("h", "mu", "skewed", "most"),
    [
        (0.1, 3.0, False, 2e-3),
        (0.25, 3.0, False, 2e-3),
        (0.35, 3.0, False, 2e-3),
        (0.1, 0.5, True, 0.02),
        (0.25, 0.5, True, 0.02),
    ],
)
def test_whatever_the_threshold_of_a_huber_loss_it_comes_near_the_optimum(
    h: float, mu: float, skewed: bool, most: float
) -> None:
    """Of residuals that mostly lie beyond h, whose curvature is a fraction of its bound; and of skewed columns and a target near an end of its range, where the level is farther off than h. Keys are fixed."""
    rng, loss, n, p = np.random.default_rng(5), Huber(h), 20_000, 20 if skewed else 4
    if skewed:
        U = np.clip(0.01 * rng.lognormal(0.0, 1.2, (n, p)) - 1.0, -1.0, 1.0)
        y = np.clip(2.0 * (U + 1.0) @ rng.normal(size=p) / math.sqrt(p) - 0.8 + 0.06 * rng.normal(size=n), -1.0, 1.0)
    else:
        U = np.clip(rng.normal(size=(n, p)) * (0.3, 0.3, 0.3, 0.1), -1.0, 1.0)
        y = np.clip(U @ (0.7, -0.5, 0.3, 1.0) + 0.4 * rng.uniform(-1.0, 1.0, n), -1.0, 1.0)
    facts = RowFacts(tuple(f"x{j}" for j in range(p + 1)), True, p + 1.0, math.sqrt(p + 1.0), 1.0, ("y",))
    data = Table(np.column_stack([U, np.ones(n)]), y[:, None], facts)
    whole = np.linalg.cholesky(np.linalg.inv(data.X.T @ data.X / n))

    def mean(theta: np.ndarray) -> float:
        return float(loss.value(data.X @ theta, y).mean())

    def slope(at: np.ndarray) -> np.ndarray:
        return whole.T @ (data.X.T @ loss.derivative(data.X @ whole @ at, y)) / n

    level = np.append(np.zeros(p), np.median(y))
    best = minimize(lambda at: mean(whole @ at), np.linalg.solve(whole, level), jac=slope, options={"gtol": 1e-7}).fun
    found = [solve(SOLVER, data, replace(problem(data), loss=loss), mu, seed).theta[:, 0] for seed in range(2)]
    assert max(map(mean, found)) - best < most * (mean(level) - best)


@pytest.mark.slow
@pytest.mark.parametrize("loss", [Squared(), Huber(0.5)], ids=str)
@pytest.mark.parametrize(
    ("constraint", "penalty"),
    [
        (L1Ball(0.3), None),
        (L2Ball(0.5), None),
        (Box(-0.1, 0.3), None),
        (None, L1Penalty(0.003)),
        (None, SquaredL2Penalty(0.01)),
    ],
    ids=str,
)
def test_steps_by_a_released_curvature_meet_sets_and_penalties(
    loss: Loss, constraint: ConvexSet | None, penalty: Penalty | None
) -> None:
    """Beside the many projected steps of an earlier version: a fifth of the passes, and of two keys' excess no more. Keys are fixed."""
    data, y = alike_columns()
    asked = replace(problem(data, constraint=constraint, penalty=penalty), loss=loss)

    def ended(asked: Problem, mu: float) -> tuple[float, int]:
        """The mean objective, and the number of gradients."""
        plan, values = SOLVER.plan(asked, prices(data, asked), Allowance.gdp(mu)), []
        for key in range(2):
            theta = solve(SOLVER, data, asked, mu, key).theta[:, 0]
            assert asked.feasible is None or asked.feasible.contains(theta)
            values.append(float(loss.value(data.X @ theta, y).mean()) + (penalty.value(theta[:-1]) if penalty else 0.0))
        return float(np.mean(values)), sum(one.count for one in plan.queries if one.name == "centred_gradient")

    least = ended(asked, 1e4)[0]
    (few, passes), (many, more) = ended(asked, 3.0), ended(replace(asked, earlier=7), 3.0)
    assert passes < 0.2 * more
    assert few - least < many - least + 1e-7
    assert few - least < 1e-3 * (float(loss.value(np.full(len(y), y.mean()), y).mean()) - least)


@pytest.mark.parametrize("size", [2, 14, 50, 256])
@pytest.mark.parametrize("noise", [1e-9, 1e-6, 1e-5])
def test_steps_by_a_released_curvature_leave_less_than_noise(size: int, noise: float) -> None:
    """Steps `M⁻¹g` of a quadratic, its curvatures from `FLAT` to 1 and M as far off as its noise: so many as are planned leave less than s√q, and are paid for in full."""
    left, level = released_curvature.floor(noise, size), noise * math.sqrt(size)
    steps = released_curvature.newton_steps(noise, size, level)
    curvature = np.linspace(released_curvature.FLAT, 1.0, 50)
    assert (np.abs(1.0 - curvature / (curvature + left)) ** steps).max() <= level
    shares = released_curvature.newton_shares(steps - released_curvature.FIRST_NEWTON)
    assert sum(shares) == pytest.approx(1.0)
    assert shares[-1] == max(shares) > 0.4


@pytest.mark.slow
@pytest.mark.parametrize("key", range(3))
def test_a_curvature_that_grows_on_the_way_is_raised(key: int) -> None:
    """That of a rare class among skewed columns: by the one that was released, raised nowhere, these keys end 2.5, 1.7 and 13 standard errors off."""
    from benchmarks.consistency import distance

    off, mean, _ = distance("rare class, mixed columns", "preconditioned_gradient", 50.0, key)
    assert off < 1.2
    assert mean == pytest.approx(1.0, abs=0.01)


def test_a_raised_curvature_fits_a_steeper_step_and_is_nowhere_lower() -> None:
    """Of any step and change of the gradient, without and against curvature too."""
    rng = np.random.default_rng(2)
    for size in (1, 3, 20):
        root, step = rng.normal(size=(size, size)), rng.normal(size=size)
        bend = root @ root.T + 0.1 * np.eye(size)
        for times in (-1.0, 0.0, 0.5, 1.0, 7.0):
            change = times * bend @ step
            found = released_curvature.raised(bend, step, change)
            assert step @ found @ step == pytest.approx(max(times, 1.0) * (step @ bend @ step))
            assert np.linalg.eigvalsh(found - bend)[0] > -1e-9 * np.abs(found).max()
        assert np.array_equal(released_curvature.raised(bend, 0.0 * step, step), bend)


@pytest.mark.parametrize("two_values", [True, False])
@pytest.mark.parametrize("narrow", [300, pytest.param(100, marks=pytest.mark.slow)])
def test_a_column_of_which_few_records_are_far_out_is_not_lost_as_the_budget_grows(
    narrow: int, two_values: bool
) -> None:
    """One record of a thousand so many times as far out as the others, and with them a tenth of the gain: what shortening hides of the curvature lies in one direction.

    Spread over all of them, it let steps go up to 7 times too far: 0.85 and 0.32 of the gain at μ = 1 and 2.5. Keys are fixed.
    """
    rng, n = np.random.default_rng(5), 40_000
    U = np.clip(0.3 * rng.normal(size=(n, 5)), -1.0, 1.0)
    U[:, 4] = np.clip(np.where(rng.random(n) < 0.001, 0.5, 0.5 / narrow) * rng.normal(size=n), -1.0, 1.0)
    mean = U @ [0.5, -0.3, 0.2, 0.0, 0.12 / U[:, 4].std()]
    values = np.where(rng.random(n) < 0.5 + 0.5 * np.clip(mean, -1.0, 1.0), 1.0, -1.0)
    y = values if two_values else np.clip(mean + 0.3 * rng.normal(size=n), -1.0, 1.0)
    facts = RowFacts(tuple(f"x{j}" for j in range(6)), True, 6.0, math.sqrt(6.0), 1.0, ("y",))
    data = Table(np.column_stack([U, np.ones(n)]), y[:, None], facts)
    least = np.mean((y - data.X @ np.linalg.lstsq(data.X, y, rcond=None)[0]) ** 2)

    def kept(mu: float, key: int) -> float:
        theta = solve(SOLVER, data, replace(problem(data), loss=Squared()), mu, key).theta[:, 0]
        return float((y.var() - np.mean((y - data.X @ theta) ** 2)) / (y.var() - least))

    found = [np.mean([kept(mu, key) for key in range(2)]) for mu in (1.0, 2.5, 12.0)]
    assert min(found) > 0.9
    assert all(later > earlier - 0.02 for earlier, later in pairwise(found))


def rare_levels(n: int = 30_000) -> Table:
    """Two classes by six numbers, two of which are nearly alike, and levels of 1 in 10 to 1 in 1 000 records."""
    rng = np.random.default_rng(7)
    U = np.clip(0.3 * rng.normal(size=(n, 6)), -1.0, 1.0)
    U[:, 1] = np.clip(U[:, 0] + 0.03 * rng.normal(size=n), -1.0, 1.0)
    U = np.column_stack([U, rng.random((n, 4)) < (0.1, 0.01, 0.003, 0.001)])
    odds = U @ np.append([1.0, 1.0, -2.0, 1.0, 0.0, 1.0], [1.0, -1.0, 2.0, 2.0]) - 2.0
    y = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-odds)), 1.0, -1.0)
    facts = RowFacts(tuple(f"x{j}" for j in range(11)), True, 11.0, math.sqrt(11.0), 1.0, ("y",))
    return Table(np.column_stack([U, np.ones(n)]), y[:, None], facts)


@pytest.mark.slow
def test_a_released_curvature_of_classes_takes_half_the_passes_as_near_the_optimum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Beside the plan of an earlier version, which streams that it began go on with; the means of four keys lose less. Keys are fixed."""
    data = rare_levels()
    asked = replace(problem(data), loss=Logistic())

    def lost(asked: Problem) -> tuple[float, int]:
        """Share of the gain over four keys, and the number of gradients."""
        plan = SOLVER.plan(asked, prices(data, asked), Allowance.gdp(3.0))
        found = [share(data, solve(SOLVER, data, asked, 3.0, seed).theta[:, 0]) for seed in range(4)]
        return 1.0 - float(np.mean(found)), sum(one.count for one in plan.queries if one.name == "centred_gradient")

    (few, passes), (many, more) = lost(asked), lost(replace(asked, earlier=8))
    assert passes < 0.6 * more
    assert few < many
    assert few < 2e-3


@pytest.mark.parametrize("steepest", [0.3, 1.0, 1.5])
@pytest.mark.parametrize("flattest", [0.01, 0.1, 1.0])
def test_a_walk_before_a_curvature_ends_lower_whatever_the_curvatures_and_the_cut(
    monkeypatch: pytest.MonkeyPatch, flattest: float, steepest: float
) -> None:
    """Of quadratics up to the room that is left above the estimate, gradients cut or not: a tenth of the excess at most, where steps that keep their speed may end with six times as much."""
    data = rare_levels(20_000)
    asked = replace(problem(data), loss=Logistic())
    path = GradientSchedule(**SOLVER.plan(asked, prices(data, asked), Allowance.gdp(3.0)).settings)
    curved = path.smoothness * steepest * np.append(np.geomspace(flattest, 1.0, 10), 1.0)
    view = Coordinates(np.zeros(10), 3.0, 1.0, True, np.eye(10), np.ones(10))
    for cut in (math.inf, 1.0, 0.3, 0.1, 0.03):

        def gradient(_: Descent, point: np.ndarray, __: float, cut: float = cut) -> np.ndarray:
            whole = curved * (point - 1.0)
            return whole * min(1.0, cut / max(float(np.linalg.norm(whole)), 1e-300))

        monkeypatch.setattr(Descent, "gradient", gradient)
        descent = Descent(asked, path, view, None, None)  # type: ignore[arg-type]
        point, _, _ = descent.walk(np.zeros(11), path.first, 1.0, math.inf, 0.0, 1.0)
        assert curved @ (point - 1.0) ** 2 < 0.1 * curved.sum()


@pytest.mark.few(1)
@pytest.mark.parametrize("steep", [1.0, 8.0])
def test_steps_go_farther_where_classes_separate(monkeypatch: pytest.MonkeyPatch, steep: float) -> None:
    """Where they nearly do more is kept and chances are nearer to right; classes that overlap are fitted as before. Keys are fixed."""
    from benchmarks.share_kept import calibration

    rng = np.random.default_rng(5)
    U = rng.uniform(-1.0, 1.0, (6_000, 8))
    y = np.where(rng.random(len(U)) < 1.0 / (1.0 + np.exp(-steep * U.sum(axis=1))), 1.0, -1.0)
    facts = RowFacts(tuple(f"x{j}" for j in range(9)), True, 9.0, 3.0, 1.0, ("y",))
    data = Table(np.column_stack([U, np.ones(len(U))]), y[:, None], facts)
    asked = replace(problem(data), loss=Logistic())
    plan = SOLVER.plan(asked, prices(data, asked), Allowance.gdp(0.2))

    def draws() -> np.ndarray:
        curators = (Curator(Rows(data.X, data.Y), plan.queries, key=TestKey(bytes([d]) * 32)) for d in range(2))
        found = [SOLVER.run(asked, plan, one).theta[:, 0] for one in curators]
        return np.array([[share(data, one), calibration(data.X @ one, y)[1]] for one in found])

    now = draws()
    monkeypatch.setattr(Descent, "farther", lambda *_: 1.0)
    before = draws()
    if steep == 1.0:
        assert np.array_equal(now, before)
    else:
        assert (now[:, 0] > before[:, 0] + 0.005).all()
        assert (now[:, 1] < before[:, 1] - 0.1).all()
        assert (now[:, 1] > 1.0).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["adaptive_gradient", "preconditioned_gradient"])
def test_costs_far_below_their_bound_are_not_drowned_by_noise_in_units_of_it(name: str) -> None:
    """Targets of a standard deviation of 0.7 % of their declared range: R² had been −0.44 and −0.18 in the mean of these keys."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-1.0, 1.0, (10_000, 40))
    y = rng.gamma(2.0, 2.0, 10_000) * np.exp(0.5 * X[:, :4].sum(axis=1))
    domain = hb.Domain(
        features=dict.fromkeys([f"x{j}" for j in range(40)], (-1, 1)), target=(0, 1000), indicators=False
    )
    lost = []
    for seed in range(5):
        key = TestKey(bytes([seed] * 32))
        model = hb.LinearRegression(
            domain=domain, budget=hb.Budget(1.0, 1e-9), solver=name, inference=False, test_key=key
        )
        lost.append(float(np.mean((y - model.fit(X, y).predict(X)) ** 2) / np.var(y)))
    assert np.mean(lost) < 0.95


def test_the_total_of_a_small_skewed_table_is_not_that_of_its_cut_residuals() -> None:
    """Noise is 0.0063 here, from 0.006 on no step was for the level alone: the mean over these keys was 0.83 of what was observed (deviation 0.01), and is 0.92 (0.02)."""
    rng = np.random.default_rng(3)
    X = rng.uniform(0.0, 1.0, (2_000, 3))
    y = np.minimum((0.3 + X[:, 0]) * rng.exponential(0.18, 2_000), 1.0)
    domain = hb.Domain(features=dict.fromkeys(["x0", "x1", "x2"], (0, 1)), target=(0, 1), indicators=False)
    totals = []
    for seed in range(1, 9):
        key = TestKey(bytes([seed] * 32))
        model = hb.LinearRegression(
            domain=domain, budget=hb.Budget(1.0, 1e-9), solver=SOLVER, inference=False, test_key=key
        )
        totals.append(float(model.fit(X, y).predict(X).sum() / y.sum()))
    assert 0.875 < np.mean(totals) < 1.05


@pytest.mark.parametrize("steps", [6, 8, 21])
def test_newton_steps_of_the_level_have_the_noise_of_one_answer_of_their_budget(steps: int) -> None:
    """And forget where they start. A deviation of 2 000 draws is 8 % off with chance below 1e-6."""
    rng = np.random.default_rng(2)
    one = SimpleNamespace(
        view=SimpleNamespace(length=1.0),
        path=SimpleNamespace(smoothness=1.0),
        loss=SimpleNamespace(intercept_bounds=(-9.0, 9.0)),
        gradient=lambda point, clip, weight: point + 0.1 * rng.normal(),
    )
    found = [Descent.intercept_alone(one, np.array([start]), steps, 1.0, 1.0, 0.0)[0] for start in [5.0, -5.0] * 1_000]  # type: ignore[arg-type]
    assert np.std(found) == pytest.approx(0.1 / math.sqrt(steps), rel=0.08)
    assert abs(np.mean(found[::2]) - np.mean(found[1::2])) < 0.02


@pytest.mark.parametrize("steps", [5, 8])
def test_the_second_phase_steps_to_the_level_with_the_noise_of_one_answer(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps of 1.5 with a memory had 1.7 times as much. A deviation of 2 000 draws is 8 % off with chance below 1e-6."""
    data, rng = table(intercept=True), np.random.default_rng(3)
    asked = problem(data)
    path = GradientSchedule(**SOLVER.plan(asked, prices(data, asked), Allowance.gdp(30.0)).settings)
    path = replace(path, late=8, bend_noise=0.0)
    noise = path.late_noise / math.sqrt(0.5 * path.late_shares[0] * steps / sum(path.late_levels(asked.loss)))
    view = Coordinates(np.zeros(4), 1.0, 1.0, True, np.eye(4), np.ones(4))
    monkeypatch.setattr(Descent, "level_clip", lambda *_: 1.0)
    monkeypatch.setattr(
        Descent, "gradient", lambda _, point, *__: point + noise * math.sqrt(steps) * rng.normal(size=5)
    )
    descent = Descent(asked, path, view, None, None)  # type: ignore[arg-type]
    grid, start = np.ones(2), np.append(np.zeros(4), 100.0 * noise)
    found = [descent.late_level(start, grid, grid, steps, 1.0)[-1] for _ in range(2_000)]
    assert np.std(found) == pytest.approx(noise, rel=0.08)
    assert abs(np.mean(found)) < noise
