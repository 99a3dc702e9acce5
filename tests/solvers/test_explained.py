"""Noise-corrected R²: right on average, and within its own error."""

from dataclasses import replace

import numpy as np
import pytest

from hullabaloo.solvers import explained, solve_moments
from tests.solvers.tables import least_squares, noisy_moments, problem, table


@pytest.mark.slow
@pytest.mark.parametrize("intercept", [False, True])
def test_it_estimates_the_r2_that_the_released_model_really_has(intercept: bool) -> None:
    """400 releases; the mean is within six standard errors and 0.01 (the choice of the ridge is not corrected for)."""
    data = table(2000, 5, intercept=intercept)
    rng = np.random.default_rng(0)
    y = data.Y[:, 0]
    base = float(np.var(y)) if intercept else float(np.mean(y**2))
    gaps, errors = [], []
    for _ in range(400):
        moments = noisy_moments(data, 10.0, rng)
        solution = solve_moments(moments, problem(data))
        theta = solution.theta[:, 0]
        found = explained(moments, theta, data.facts, target=0, ridge=solution.trace[0]["ridge"])
        gaps.append(found.r2 - (1.0 - float(np.mean((y - data.X @ theta) ** 2)) / base))
        errors.append(found.standard_error)
    assert abs(np.mean(gaps)) < 6.0 * np.std(gaps) / np.sqrt(len(gaps)) + 0.01
    assert np.mean(np.abs(gaps) < 1.96 * np.array(errors)) > 0.9


def test_without_noise_it_is_the_usual_r2() -> None:
    data = table(500, 4, intercept=True)
    moments = noisy_moments(data, 0.0, np.random.default_rng(0))
    theta = least_squares(data)[:, 0]
    found = explained(moments, theta, data.facts, target=0, ridge=0.0)
    usual = 1.0 - np.mean((data.Y[:, 0] - data.X @ theta) ** 2) / np.var(data.Y[:, 0])
    assert found.r2 == pytest.approx(usual, abs=1e-12)


def test_where_noise_drowns_the_variance_there_is_no_number() -> None:
    data = table(50, 4)
    moments = noisy_moments(data, 1e4, np.random.default_rng(1))
    found = explained(moments, np.zeros(4), data.facts, target=0, ridge=1e8)
    assert np.isnan(found.r2) == np.isinf(found.standard_error)


def test_it_does_not_depend_on_a_nominal_number_of_records() -> None:
    """A table of which a fifteenth of the declared records counts has the same R² and error; hidden by noise, none."""
    data = table(500, 4, intercept=True)
    whole = noisy_moments(data, 0.0, np.random.default_rng(0))
    theta = least_squares(data)[:, 0] + 0.1
    asked = {"facts": data.facts, "target": 0, "ridge": 0.0}
    part = {name: getattr(whole, name) / 15.0 for name in ("gram", "cross", "square")}
    thin = replace(whole, **part, records=15.0 * whole.records)
    expected, found = explained(whole, theta, **asked), explained(thin, theta, **asked)
    assert (found.r2, found.standard_error) == pytest.approx((expected.r2, expected.standard_error), rel=1e-9)
    assert explained(replace(whole, counted=True), theta, **asked).r2 == pytest.approx(expected.r2, rel=1e-9)
    hidden = explained(replace(thin, sigma=thin.records / thin.scale_x**2 / 30.0), theta, **asked)
    assert np.isnan(hidden.r2)
    assert np.isinf(hidden.standard_error)
