"""What noise alone does to slopes of classes: known exactly for linear walks, and taken back where nothing speaks for more.

Keys are fixed, and so is every number here: no test fails by chance.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from hullabaloo.data.source import RowFacts
from hullabaloo.geometry import L2Ball
from hullabaloo.losses import Logistic
from hullabaloo.planning.synthetic import SILENCE, synthetic_table
from hullabaloo.privacy import Allowance
from hullabaloo.release.rehearsal import rehearsal
from hullabaloo.solvers import PreconditionedGradientSolver
from hullabaloo.solvers.gradient.schedule import GradientSchedule
from hullabaloo.solvers.gradient.walk_noise import EVIDENT, UNBENT, credible, noise_moves, pace
from hullabaloo.solvers.public import PublicTable
from tests.solvers.tables import Array, Table, prices, problem, solve

SOLVER, Q = PreconditionedGradientSolver(), 10


def classes(rate: float, apart: float, n: int = 10_000) -> Table:
    """Classes whose means are so many deviations apart, along three of ten columns."""
    rng = np.random.default_rng(4)
    rare = rng.random(n) < rate
    X = np.clip(0.25 * (rng.normal(size=(n, Q)) + np.outer(rare, apart * (np.arange(Q) < 3))), -1.0, 1.0)
    facts = RowFacts(tuple(map(str, range(Q + 1))), True, Q + 1.0, math.sqrt(Q + 1.0), 1.0, ("y",))
    return Table(np.column_stack([X, np.ones(n)]), np.where(rare, 1.0, -1.0)[:, None], facts)


def found(data: Table, *, mu: float = 0.05, **about: object) -> Array:
    """(4, n) predictions of four keys."""
    asked = replace(problem(data), loss=Logistic(), **about)  # type: ignore[arg-type]
    return np.array([(data.X @ solve(SOLVER, data, asked, mu, key).theta)[:, 0] for key in range(4)])


def published(data: Table) -> PublicTable:
    """With a model, which slopes may start from."""
    return PublicTable("a", data.X, data.Y, None, np.random.default_rng(5).normal(size=(Q + 1, 1)))


@pytest.mark.parametrize("steps", [1, 7, 40])
@pytest.mark.parametrize("burn", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("memory", [0.0, 0.8])
def test_what_noise_moves_is_that_of_the_walk_itself(steps: int, burn: float, memory: float) -> None:
    step, curvature, first = 0.6, 0.7, int(steps * burn)

    def walk(start: float, noise: Array) -> tuple[float, float]:
        x, speed, points = start, 0.0, []
        for one in noise:
            speed = memory * speed - step * (curvature * x + one)
            x += speed
            points.append(x)
        return x, float(np.mean(points[first:]))

    ends = np.array([walk(0.0, one) for one in np.eye(steps)])
    expected = [*(ends**2).sum(axis=0), walk(1.0, np.zeros(steps))[1]]
    assert noise_moves(steps, burn, step, memory, curvature) == pytest.approx(expected, rel=1e-9)


def test_slopes_of_noise_alone_are_drawn_back_and_others_are_not() -> None:
    """Of 4 000 draws of the noise that is reckoned with 1 in 50 at most is left as it was, and 0.15 of their squares; slopes that are as long as `EVIDENT` deviations allow are left, and shorter ones are drawn back in proportion."""
    data = classes(0.05, 0.0)
    path = GradientSchedule(**SOLVER.plan(problem(data), prices(data, problem(data)), Allowance.gdp(0.1)).settings)
    about = path, 1.2, 0.1, (0.4, 0.3), (5.0, 20.0)
    moved = [
        noise_moves(steps, burn, *pace(path, steps, far, 1.2, False)[:2], UNBENT * 0.1)
        for steps, burn, far in ((path.first, path.burn_first, 5.0), (path.second, path.burn, 20.0))
    ]
    variance = path.noise**2 * path.steps * (0.3**2 * moved[1][1] + (0.4 * moved[1][2]) ** 2 * moved[0][0])
    draws = math.sqrt(variance) * np.random.default_rng(1).normal(size=(4_000, Q))
    kept = np.array([credible(one, *about) for one in draws])
    assert np.mean(kept == 1.0) < 0.02
    assert np.sum((kept[:, None] * draws) ** 2) < 0.15 * np.sum(draws**2)
    longest = math.sqrt((Q + EVIDENT * math.sqrt(2.0 * Q)) * variance)
    along = draws[0] / np.linalg.norm(draws[0])
    assert credible(1.001 * longest * along, *about) == 1.0
    size = 0.999 * longest
    assert credible(size * along, *about) == pytest.approx(1.0 - (Q - 2) * variance / size**2)
    assert credible(np.zeros(Q), *about) == credible(draws[0, :2], *about) == 1.0


def test_a_rare_class_without_a_signal_costs_little_of_the_constants_loss() -> None:
    """A class of 2 %: in the mean of four keys less than 0.65 times as much above the best constant's loss as where streams go on as they were begun, and at most 0.06 of it."""
    data = classes(0.02, 0.0)
    share = float(np.mean(data.Y > 0.0))
    constant = -share * math.log(share) - (1.0 - share) * math.log(1.0 - share)
    now, before = (
        float(np.mean(np.logaddexp(0.0, -data.Y[:, 0] * found(data, once=once)))) / constant - 1.0
        for once in (True, False)
    )
    assert now < 0.06
    assert now < 0.65 * before


@pytest.mark.parametrize(
    ("data", "about"),
    [
        (classes(0.02, 0.0), {"constraint": L2Ball(3.0)}),  # which may not hold 0
        (classes(0.02, 0.0), {"public": published(classes(0.02, 0.0, 30))}),
        (classes(0.3, 1.5), {}),
        (classes(0.05, 1.5), {"mu": 0.2}),
    ],
    ids=["a set", "a start", "a signal", "a signal of a rare class"],
)
def test_slopes_that_speak_for_themselves_are_left(data: Table, about: dict[str, object]) -> None:
    now, before = (found(data, once=once, **about) for once in (True, False))  # type: ignore[arg-type]
    assert np.array_equal(now, before)


def test_rehearsals_compare_slopes_as_walks_leave_them() -> None:
    """Choices rest on what was measured so: a fit by itself is tried out as one of a stream, to the bit."""
    data = classes(0.05, 0.0)
    asked = replace(problem(data), loss=Logistic())
    plan, table = SOLVER.plan(asked, prices(data, asked), Allowance.gdp(0.02)), synthetic_table(asked, SILENCE, 2_000)
    one, other = (rehearsal(replace(asked, once=once), SOLVER, plan, table, 1).theta for once in (True, False))
    assert np.array_equal(one, other)
