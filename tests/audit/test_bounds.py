"""Lower bounds of what errors prove: exact values, coverage, and both directions."""

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from hullabaloo.audit.bounds import Errors, best_threshold, direction, epsilon_at, upper
from hullabaloo.privacy import gdp_epsilon


@pytest.mark.parametrize(("events", "trials"), [(0, 10), (3, 50), (40, 100)])
@pytest.mark.parametrize("alarm", [0.05, 1e-8])
def test_an_upper_bound_is_the_rate_at_which_so_few_events_are_just_unlikely(
    events: int, trials: int, alarm: float
) -> None:
    assert binom.cdf(events, trials, upper(events, trials, alarm)) == pytest.approx(alarm, rel=1e-6)


def test_all_events_leave_every_rate_open() -> None:
    assert upper(10, 10, 0.05) == 1.0


def test_the_bound_of_mu_is_exceeded_as_rarely_as_it_says() -> None:
    """Of a Gaussian mechanism with the best attack: over the binomial law of the errors, exactly."""
    mu, runs, alarm = 1.7, 400, 0.05
    rate = norm.cdf(-mu / 2.0)
    above = sum(
        binom.pmf(wrong, 2 * runs, rate) for wrong in range(2 * runs) if Errors(wrong, 0, runs, runs).mu(alarm) > mu
    )
    assert 0.02 <= above <= alarm


def test_the_bound_of_mu_depends_on_all_errors_alone_where_tables_are_as_frequent() -> None:
    assert Errors(10, 0, 100, 100).mu(0.05) == Errors(5, 5, 100, 100).mu(0.05) > 0.0
    assert 0.0 < Errors(5, 5, 90, 110).mu(0.05) < Errors(5, 5, 100, 100).mu(0.05)
    assert Errors(50, 50, 100, 100).mu(0.05) == 0.0
    assert Errors(90, 110, 90, 110).mu(0.05) == 0.0


def test_the_bound_of_epsilon_is_that_of_the_inequality_and_of_its_mirror_image() -> None:
    delta, alarm = 1e-3, 0.05
    found = Errors(2, 30, 100, 100)
    false, missed = upper(2, 100, 0.025), upper(30, 100, 0.025)
    assert found.epsilon(delta, alarm) == pytest.approx(math.log((1.0 - missed - delta) / false))
    assert Errors(30, 2, 100, 100).epsilon(delta, alarm) == found.epsilon(delta, alarm)
    assert Errors(50, 50, 100, 100).epsilon(delta, alarm) == 0.0
    assert Errors(0, 100, 100, 100).epsilon(delta, alarm) == 0.0


def test_epsilon_of_mu() -> None:
    assert epsilon_at(0.0, 1e-6) == 0.0
    assert epsilon_at(1.0, 1e-6) == gdp_epsilon(1.0, 1e-6)


def test_a_threshold_is_chosen_where_it_proves_most() -> None:
    first, second = np.linspace(-3.0, 1.0, 200), np.linspace(0.0, 4.0, 200)
    found = best_threshold(first, second, 0.0, 0.05)
    assert Errors.of(first, second, found).epsilon(0.0, 0.05) >= Errors.of(first, second, 0.5).epsilon(0.0, 0.05)
    assert best_threshold(np.zeros(1), np.ones(1), 0.0, 0.05) in (0.0, 1.0)


def test_a_direction_tells_samples_apart_whatever_their_scales() -> None:
    rng = np.random.default_rng(0)
    scales = np.array([1.0, 1000.0])
    first, second = (scales * rng.normal(size=(500, 2)) + shift for shift in (np.zeros(2), np.array([2.0, 0.0])))
    along = direction(first, second)
    assert abs(along[0]) > 100.0 * abs(along[1])
    assert np.all(np.isfinite(direction(np.ones((5, 3)), np.ones((5, 3)))))
