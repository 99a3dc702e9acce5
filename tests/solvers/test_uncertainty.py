"""Errors of coefficients: the noise's covariance by simulation, and the coverage of intervals."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hullabaloo.solvers import solve_moments
from hullabaloo.solvers.moments.shrinkage import normalised
from hullabaloo.solvers.moments.uncertainty import _noise_covariance
from tests.solvers.tables import Table, least_squares, noisy_moments, problem, table


@pytest.mark.slow
def test_the_covariance_of_the_noise_in_the_normal_equations() -> None:
    """20 000 draws; entries within six standard errors of a variance, about 6 %."""
    data = table(100, 3)
    rng = np.random.default_rng(0)
    theta = np.array([0.5, -0.3, 0.8])
    gram, cross = data.X.T @ data.X / 100, data.X.T @ data.Y[:, 0] / 100
    draws, facts = [], None
    for _ in range(20_000):
        moments = noisy_moments(data, 2.0, rng)
        facts = normalised(moments, 0, False)
        draws.append(facts.cross - cross - (facts.gram - gram) @ theta)
    assert facts is not None
    expected = _noise_covariance(facts, theta)
    assert np.cov(np.array(draws).T) == pytest.approx(expected, abs=0.06 * expected.max())


def coverage(
    data: Table, truth: np.ndarray, sigma: float, draws: int, rng: np.random.Generator, *, resample: bool
) -> float:
    asked, hits, total = problem(data), 0, 0
    for _ in range(draws):
        sample = data
        if resample:
            rows = rng.integers(0, data.records, data.records)
            sample = Table(data.X[rows], data.Y[rows], data.facts)
        solution = solve_moments(noisy_moments(sample, sigma, rng), asked)
        assert solution.privacy_covariance is not None
        assert solution.sampling_covariance is not None
        variance = np.diagonal(solution.privacy_covariance[0]).copy()
        if resample:
            variance += np.diagonal(solution.sampling_covariance[0])
        hits += int(np.sum(np.abs(solution.theta[:, 0] - truth) <= 1.96 * np.sqrt(variance)))
        total += truth.size
    return hits / total


@pytest.mark.slow
def test_privacy_errors_cover_the_non_private_fit() -> None:
    """300 draws of 4 coefficients where noise is moderate: at least 93 %, 95 less three standard errors."""
    data = table(4000, 4)
    rng = np.random.default_rng(1)
    assert coverage(data, least_squares(data)[:, 0], 8.0, 300, rng, resample=False) > 0.93


@pytest.mark.slow
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("sigma", [0.5, 4.0, 12.0])
def test_intervals_cover_the_population_coefficients(intercept: bool, sigma: float) -> None:
    """Tables resampled from a population, fresh noise: 1500 draws; at least 94 %."""
    data = table(6000, 5, intercept=intercept, seed=7)
    rng = np.random.default_rng(2)
    assert coverage(data, least_squares(data)[:, 0], sigma, 1500, rng, resample=True) > 0.94


@pytest.mark.parametrize("counted", [True, False])
def test_the_parts_behave(counted: bool) -> None:
    """Also where the number of records is hidden: without an intercept, too, records that count alike have a mean weight of 1."""
    data = table(4000, 4)
    rng = np.random.default_rng(3)
    moments = replace(
        noisy_moments(data, 0.0, rng), counted=counted, scale_x=2.0
    )  # rows may be twice as long as they are
    exact = solve_moments(moments, problem(data))
    assert exact.privacy_covariance is not None
    assert exact.sampling_covariance is not None
    assert np.abs(exact.privacy_covariance).max() < 1e-18
    residual = float(np.mean((data.Y - data.X @ least_squares(data)) ** 2))
    classical = residual * np.linalg.inv(data.X.T @ data.X)
    assert exact.sampling_covariance[0] == pytest.approx(classical, rel=1e-9)
    noisy = solve_moments(noisy_moments(data, 8.0, rng), problem(data))
    assert noisy.privacy_covariance is not None
    assert np.all(np.diagonal(noisy.privacy_covariance[0]) > 0.0)
    assert math.isfinite(float(np.abs(noisy.privacy_covariance).max()))
