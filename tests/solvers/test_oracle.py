"""Mirror descent with the caller's oracle: the bound of noisy gradients, and errors with remedies."""

import math

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.geometry import Box, L1Ball, L2Ball, Simplex, WithIntercept
from hullabaloo.solvers.mirror.mirror_rule import potential

RUNS = 100


@pytest.mark.few(1)
@pytest.mark.parametrize("body", [L1Ball(1.0), L2Ball(1.0), Box(-0.5, 0.5), Simplex()], ids=str)
def test_a_noisy_oracle_reaches_the_stated_risk(body):
    """Mean excess over 100 runs, of a loss of range at most 2√2; false alarm 1e-6 (Hoeffding).

    Tests: 002, Corollary 3.6.
    """
    rng = np.random.default_rng(0)
    aim, steps, noise, p = np.array([0.4, -0.1, 0.3, 0.0, 0.0, 0.2]), 40, 0.3, 6
    aim = body.project(aim)

    def excess():
        theta = hb.mirror_descent(
            lambda theta: (theta - aim) / max(1e-12, np.linalg.norm(theta - aim)) + noise * rng.standard_normal(p),
            body, steps=steps, lipschitz=1.0, noise=noise, dimension=p,
        )  # fmt: skip
        assert body.contains(theta, 1e-6)
        return float(np.linalg.norm(theta - aim))

    mirror = potential(body, p, euclidean=False)
    spread = math.hypot(mirror.unit_width.high, mirror.unit_radius)
    bound = math.sqrt(2.0 * mirror.range / (steps + 1)) * (mirror.unit_radius + noise * spread)
    mean = np.mean([excess() for _ in range(RUNS)])
    assert mean <= bound + 2.0 * math.sqrt(2.0) * math.sqrt(math.log(1e6) / (2 * RUNS))
    assert mean <= bound  # measured at half of it or less


@pytest.mark.slow
def test_sampled_gradients_find_the_least_absolute_deviation():
    """A mini-batch of a nonsmooth loss, the use that the corollary is for.

    Tests: 002, Corollary 3.6.
    """
    rng = np.random.default_rng(1)
    X = rng.choice([-1.0, 1.0], (5000, 8)) / math.sqrt(8)
    y = X @ np.array([0.6, -0.4, 0, 0, 0, 0, 0, 0]) + 0.05 * rng.standard_normal(5000)

    def oracle(theta):
        rows = rng.integers(0, 5000, 20)
        return X[rows].T @ np.sign(X[rows] @ theta - y[rows]) / 20

    theta = hb.mirror_descent(oracle, L1Ball(1.0), steps=4000, lipschitz=1.0, noise=math.sqrt(1 / 20 / 8), dimension=8)
    assert np.abs(X @ theta - y).mean() < 1.25 * np.abs(X @ np.append([0.6, -0.4], np.zeros(6)) - y).mean()


def test_a_set_made_for_its_dimension_needs_no_other_and_the_oracle_may_write_on_its_argument():
    bounds = Box((-1.0, -1.0), (1.0, 1.0))

    def rude(theta):
        g = theta - np.array([0.5, -0.5])
        theta[:] = 7.0
        return g

    assert hb.mirror_descent(rude, bounds, steps=300, lipschitz=3.0) == pytest.approx([0.5, -0.5], abs=0.1)


def test_what_is_missing_is_said_with_the_remedy():
    ask = hb.mirror_descent
    with pytest.raises(InvalidParameter, match="Pass dimension="):
        ask(lambda theta: theta, L1Ball(1.0), steps=3, lipschitz=1.0)
    for broken in ({"steps": 0}, {"lipschitz": 0.0}, {"lipschitz": math.inf}, {"noise": -1.0}, {"noise": math.nan}):
        options = {"steps": 3, "lipschitz": 1.0, "dimension": 2} | broken
        with pytest.raises(InvalidParameter, match="at least one step"):
            ask(lambda theta: theta, L1Ball(1.0), **options)
    with pytest.raises(InvalidParameter, match="one number per coordinate"):
        ask(lambda theta: theta[:1], L1Ball(1.0), steps=3, lipschitz=1.0, dimension=2)
    with pytest.raises(InvalidParameter, match="not finite"):
        ask(lambda theta: theta * math.nan, L1Ball(1.0), steps=3, lipschitz=1.0, dimension=2)
    with pytest.raises(CapabilityError, match="neither a mirror map nor a projection"):
        ask(lambda theta: theta, object(), steps=3, lipschitz=1.0, dimension=2)
    with pytest.raises(InvalidParameter, match="bounded"):
        ask(lambda theta: theta, WithIntercept(L2Ball(1.0)), steps=3, lipschitz=1.0, dimension=3)
