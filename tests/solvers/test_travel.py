"""The public rule of the noisy gradient: a function of public facts, with the harm that it promises."""

import math

import numpy as np
import pytest

from hullabaloo.data.source import RowFacts
from hullabaloo.losses import Squared
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.solvers import Problem
from hullabaloo.solvers.gradient.travel import (
    BOLD,
    CAREFUL,
    FEWEST_STEPS,
    MOST_STEPS,
    ProjectedSchedule,
    boldness,
    onward,
    projected_schedule,
)


def planned(
    n: int, p: int, mu: float, relation: Neighbours = Neighbours.REPLACE_ONE, *, norm: float = 1.0, intercept: bool = False,
    max_weight: float = 1.0,
) -> ProjectedSchedule:  # fmt: skip
    facts = RowFacts(tuple(map(str, range(p))), intercept, p, norm, 1.0, ("y",), max_weight=max_weight)
    asked = Problem(Squared(), p, intercept, float(p), norm, 1.0, 1, n, relation)
    return projected_schedule(asked, PricedQueries(facts, relation, n), mu)


@pytest.mark.few(8)
@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("n", [20, 500, 20_000, 10_000_000])
@pytest.mark.parametrize("mu", [0.0275, 0.2367, 2.0])
def test_noise_alone_never_does_more_harm_than_promised(n: int, mu: float, relation: Neighbours) -> None:
    path = planned(n, 10, mu, relation)
    assert FEWEST_STEPS <= path.steps <= MOST_STEPS
    whole_careful = path.steps * (path.warmup_step * path.sigma / path.scale) ** 2
    assert whole_careful <= CAREFUL**2 * (1 + 1e-6)
    main_step = path.variance + (path.steps - path.first) * (path.main_step * path.sigma / path.scale) ** 2
    assert main_step <= (BOLD**2 + CAREFUL**2) * (1 + 1e-6)
    assert path.warmup_step <= path.main_step <= 2.0
    assert 0.5 <= path.clip <= 2.0


def test_it_scales_as_it_should() -> None:
    add, replace = (planned(3000, 10, 0.2, relation) for relation in (Neighbours.ADD_OR_REMOVE, Neighbours.REPLACE_ONE))
    travel = [path.main_step * (path.steps - path.first) for path in (add, replace)]
    assert travel[0] == pytest.approx(2.0 * travel[1], rel=0.02)
    assert add.main_step <= 1.0  # room for twice the declared number of records
    longer = planned(3000, 10, 0.2, norm=7.0)
    assert longer.steps == replace.steps
    assert longer.main_step == pytest.approx(replace.main_step, rel=1e-6)
    assert longer.scale == 7.0


def test_leftover_accuracy_widens_the_clip() -> None:
    clips = [planned(n, 10, 0.2367).clip for n in (1000, 100_000, 100_000_000)]
    assert clips[0] == 0.5
    assert clips == sorted(clips)
    assert clips[-1] == pytest.approx(2.0)


def test_an_intercept_has_its_own_step_and_a_wider_clip() -> None:
    path = planned(3000, 10, 0.2, norm=3.0, intercept=True)
    assert path.clip == 1.0
    assert path.scale == pytest.approx(math.sqrt(8.0))
    assert 0.0 < path.middle <= 0.5
    assert path.main_step + path.middle <= 2.0
    assert planned(3000, 10, 0.2).middle == 0.0


def test_heavy_weights_shorten_the_steps() -> None:
    assert planned(3000, 10, 0.2, max_weight=4.0).main_step <= 0.5 * (1 + 1e-6)


def test_boldness_needs_evidence() -> None:
    path = planned(3000, 10, 0.2)
    assert path.signal_weight(10.0, 10) == 0.0
    assert path.signal_weight(10.0 + 2.0 * math.sqrt(20.0), 10) == 0.0
    assert 0.0 < path.signal_weight(30.0, 10) < path.signal_weight(1e4, 10) < 1.0
    assert path.signal_weight(0.0, 0) == 0.0
    assert path.later(0.0) == path.warmup_step
    assert path.later(1.0) == path.main_step


def test_evidence_without_signal_is_at_most_chi_square() -> None:
    """2000 paths on a table without signal: the mean of q is at most p, plus six standard errors."""
    rng = np.random.default_rng(0)
    p = 6
    path = planned(500, p, 0.2367)
    scales = np.linspace(0.02, 0.3, p)
    theta = np.zeros((2000, p))
    for _ in range(path.first):
        theta -= path.warmup_step * (theta * scales + path.sigma * rng.normal(size=theta.shape))
    q = (theta**2).sum(axis=1) / path.variance
    assert q.mean() <= p + 6.0 * math.sqrt(2.0 * p / 2000)
    assert np.mean([path.signal_weight(value, p) > 0.0 for value in q]) < 0.06


@pytest.mark.parametrize("p", [1, 9, 60])
@pytest.mark.parametrize(("careful", "eager"), [(0.3, 4.0), (0.5, 12.0), (0.6, 4.0)])
def test_what_is_left_along_the_model_speaks_for_going_on_and_nothing_else_does(
    p: int, careful: float, eager: float
) -> None:
    """Noise alone is taken for a signal in at most P(z > 1) = 0.159 of fits; 4 000 draws, false alarm below 1e-6 by Hoeffding's bound."""
    rng = np.random.default_rng(p)
    model, about = rng.normal(size=p), (careful, eager)
    noise = rng.normal(scale=3.0, size=(4_000, p))
    found = np.array([onward(careful, one, 9.0, model, *about) for one in noise])
    assert found.min() == careful
    assert np.mean(found > careful) <= 0.159 + 0.042
    ahead = 3.0 * math.sqrt(2.0) * model / np.linalg.norm(model)
    for size in (1e-9, 1.0, 1e9):  # how long the model is says nothing
        assert onward(careful, -ahead, 9.0, size * model, *about) == 1.0
        assert onward(0.7, ahead, 9.0, size * model, *about) == 0.7  # it points back
    assert boldness(-ahead, 9.0, 0.5, *about) == careful or p == 1  # the same in no known direction
    assert onward(0.7, -ahead, 9.0, np.zeros(p), *about) == 0.7
