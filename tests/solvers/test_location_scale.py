"""The mean weight: what all records weigh is no part of a fit, whatever solver, and is not asked where it is known."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from hullabaloo.curator import Curator
from hullabaloo.data.source import Rows
from hullabaloo.noise import TestKey
from hullabaloo.planning.named import solver_named
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.solvers import AdaptiveGradientSolver
from hullabaloo.solvers.gradient.location_scale import LEAST, PrivateLocationScale
from hullabaloo.solvers.gradient.schedule import GradientSchedule
from hullabaloo.solvers.score.with_inference import WithInference
from tests.solvers.tables import Array, Table, least_squares, prices, problem, table

N, LARGEST, BUDGET = 20_000, 5.0, Budget(3.0, 1e-6)
NAMES = ("adaptive_gradient", "preconditioned_gradient", "coordinate_descent", "moments", "objective_perturbation")


@cache
def skewed() -> Table:
    """Columns that lie far from 0, so that a wrong mean weight is a wrong centre."""
    data = table(N, 4, intercept=True)
    data.X[:, :4] = 0.25 * data.X[:, :4] + [0.4, -0.4, 0.3, 0.1]
    return data


def fitted(name: str, weight: float, *, inference: bool, relation: Neighbours = Neighbours.REPLACE_ONE) -> Array:
    """θ where all records weigh so much of `LARGEST`."""
    data = skewed()
    data = replace(data, facts=replace(data.facts, max_weight=LARGEST, weighted=True))
    asked = replace(problem(data, relation), max_weight=LARGEST, weighted=True)
    solver = WithInference(solver_named(name)) if inference else solver_named(name)
    plan = solver.plan(asked, prices(data, asked), Allowance(BUDGET))
    rows = Rows(data.X, data.Y, np.full(N, weight))
    curator = Curator(rows, plan.queries, key=TestKey(bytes(32)))  # type: ignore[arg-type]
    return solver.run(asked, plan, curator).theta[:, 0]


@pytest.mark.slow
@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("inference", [False, True], ids=["alone", "with inference"])
@pytest.mark.parametrize("name", NAMES)
def test_a_common_factor_of_all_weights_leaves_the_fit_as_it_is(
    name: str, inference: bool, relation: Neighbours
) -> None:
    """Fixed key. Of the variance that least squares explain, and of the mean prediction, each weight keeps what noise leaves (of the mean up to 0.004, standard deviation over 16 keys)."""
    data, best = skewed(), least_squares(skewed())[:, 0]
    explained = float(np.var(data.X @ best))
    for weight in (1.0, 3.0, 5.0):
        theta = fitted(name, weight, inference=inference, relation=relation)
        off = data.X @ (theta - best)
        assert abs(off.mean()) < 0.02, weight
        assert np.var(off) < 0.06 * explained, weight


class Told:
    """Answers of one release of means, of a histogram that says nothing."""

    def __init__(self, means: list[float]) -> None:
        self.means = np.array(means)

    def answer(self, name: str, *_: object, **named: object) -> Array:
        return self.means.copy() if name == "means" else np.full(11, 1.0 / 11.0)


def bought(asked: object, means: list[float], noise: float = 0.01) -> PrivateLocationScale:
    return PrivateLocationScale.bought(
        asked, Told(means), bins=11, bound=1.0, likely=0.4, mean_noise=noise, share_noise=0.01
    )  # type: ignore[arg-type]


def test_the_mean_weight_is_read_where_it_is_private_alone() -> None:
    data = skewed()
    plain = problem(data)
    weighted = replace(plain, weighted=True, max_weight=3.0)
    means = [0.9, -0.6, 0.3, 0.0, 2.0]
    assert bought(plain, means).mean_weight == 1.0
    found = bought(weighted, means)
    assert found.mean_weight == 2.0
    assert found.centre == pytest.approx(np.array(means[:4]) / 2.0, rel=1e-3)
    assert (
        bought(weighted, [*means[:4], 7.0]).mean_weight == 7.0
    )  # of units there may be more records than are declared
    assert bought(weighted, [*means[:4], -1.0]).mean_weight == pytest.approx(LEAST * 0.01)
    hidden = problem(data, Neighbours.ADD_OR_REMOVE)
    assert bought(hidden, [*means[:4], 1.5]).mean_weight == 1.5  # half as many again as were declared


def test_weights_of_one_by_another_name_change_nothing_in_a_walk() -> None:
    """A path for records of mean weight 1 is the path; of others noise and stability follow w̄."""
    asked = problem(skewed())
    plan = AdaptiveGradientSolver().plan(asked, prices(skewed(), asked), Allowance(BUDGET))
    path = GradientSchedule(**plan.settings)
    assert path.weighing(asked, 1.0, 1.0) == path
    assert path.weighing(asked, 0.5, 0.8).noise == 2.0 * path.noise
    assert path.weighing(asked, 0.5, 0.8).share_noise == path.share_noise / 0.8
    assert path.weighing(asked, 0.5, 1.0).room == 2.0 * path.room
    assert path.weighing(asked, 2.0, 1.0).room == path.room
