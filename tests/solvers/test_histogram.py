"""Quantiles and means beyond a length, read off a noisy histogram."""

import math

import numpy as np
import pytest

from hullabaloo.solvers.gradient.histogram import (
    edges,
    gradient_quantile,
    gradient_shares,
    mean_beyond,
    quantile,
    tail,
)


def test_quantiles_of_a_clean_histogram_are_interpolated_and_of_noise_are_the_likely_ones() -> None:
    grid = edges(1.0, 10)
    assert grid[-1] == 1.0
    assert grid[1] / grid[0] == pytest.approx(math.sqrt(2.0))
    lengths = np.exp(np.random.default_rng(41).uniform(np.log(0.1), 0.0, 100_000))
    counts = np.bincount(np.searchsorted(grid, lengths), minlength=11) / lengths.size
    for above in (0.1, 0.25, 0.5):
        expected = float(np.quantile(lengths, 1.0 - above))
        assert quantile(counts, grid, 0.0, above=above, likely=0.01) == pytest.approx(expected, rel=0.02)
    noise = np.random.default_rng(42).normal(0.0, 5.0, 11)
    assert quantile(noise, grid, 5.0, above=0.5, likely=0.3) == pytest.approx(0.3, rel=0.1)
    assert quantile(np.eye(11)[10], grid, 0.0, above=0.5, likely=0.3) == grid[-1]
    assert quantile(np.eye(11)[0], grid, 0.0, above=0.5, likely=0.3) == grid[0]


@pytest.mark.parametrize("scale", [0.05, 0.3])
def test_quantiles_of_gradients_follow_the_histogram_and_where_noise_drowns_it_the_likely_length(scale: float) -> None:
    grid = edges(1.0, 10)
    lengths = np.random.default_rng(43).exponential(scale, 200_000)
    shares = np.bincount(np.searchsorted(grid, lengths), minlength=11) / lengths.size
    true = float(np.quantile(lengths, 0.6))
    quiet = gradient_quantile(shares, grid, 0.0, above=0.4, likely=0.15)
    assert quiet == pytest.approx(max(true, float(grid[0])), rel=0.05)
    draws = np.random.default_rng(44).normal(0.0, 0.1, (200, 11))
    far = [
        abs(math.log2(gradient_quantile(shares + noise, grid, 0.1, above=0.4, likely=0.15) / quiet)) for noise in draws
    ]
    plain = [abs(math.log2(quantile(shares + noise, grid, 0.1, above=0.4, likely=0.15) / quiet)) for noise in draws]
    assert np.mean(far) < np.mean(plain)  # all bins together say more than the prior's place
    drowned = gradient_quantile(np.random.default_rng(45).normal(0.0, 50.0, 11), grid, 50.0, above=0.4, likely=0.15)
    assert drowned == pytest.approx(0.15, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["exponential", "half_normal", "lognormal"])
@pytest.mark.parametrize("noise", [0.02, 0.05, 0.1])
def test_where_to_cut_is_told_better_by_shares_that_a_law_holds_up(shape: str, noise: float) -> None:
    """The mean over 300 draws of what a cut c biases and lets in, `E(L − c)₊² + (c/20)²`, at the c that is least by shares less their noise; and clean shares stay. Keys are fixed."""
    rng = np.random.default_rng(46)
    grid, trials = edges(1.0, 13), np.geomspace(0.01, 2.0, 40)
    draw = {
        "exponential": rng.exponential(0.15, 100_000),
        "half_normal": np.abs(rng.normal(0.0, 0.2, 100_000)),
        "lognormal": 0.1 * np.exp(rng.normal(0.0, 0.8, 100_000)),
    }[shape]
    lost = np.array([np.maximum(draw - c, 0.0).mean() ** 2 + (c / 20.0) ** 2 for c in trials])
    shares = np.bincount(np.searchsorted(grid, draw), minlength=14) / draw.size
    assert np.array_equal(gradient_shares(shares, grid, 0.0, 0.25)[0], shares)

    def cut(seen: np.ndarray, hides: float) -> float:
        """What is lost at the cut that these say."""
        above = np.maximum(np.cumsum(np.maximum(seen - hides, 0.0)[::-1])[::-1][1:], 1e-12)
        return float(lost[np.argmin(mean_beyond(above, grid, trials, power=1) ** 2 + (trials / 20.0) ** 2)])

    noisy = shares + rng.normal(0.0, noise, (300, 14))
    held = np.mean([cut(*gradient_shares(one, grid, noise, 0.25)) for one in noisy])
    assert held < np.mean([cut(one, noise) for one in noisy])


def test_means_beyond_a_length_are_those_of_the_records_and_nothing_is_below_its_noise() -> None:
    rng = np.random.default_rng(44)
    grid, lengths = edges(8.0, 24), rng.exponential(0.5, 200_000)
    shares = np.bincount(np.searchsorted(grid, lengths), minlength=25) / lengths.size
    above = tail(shares, 1e-5)
    for at in (0.2, 0.5, 1.5):
        expected = float(np.maximum(lengths - at, 0.0).mean())
        assert mean_beyond(above, grid, at, power=1) == pytest.approx(expected, rel=0.05)
    squares = float((lengths**2).mean())
    assert mean_beyond(above, grid, 0.0, power=2) == pytest.approx(squares, rel=0.05)
    assert mean_beyond(above, grid, 16.0, power=1) < mean_beyond(above, grid, 8.0, power=1) < 1e-3
    noisy = tail(shares + rng.normal(0.0, 1e-3, 25), 1e-3)
    assert np.all(np.diff(noisy) <= 0.0)
    assert noisy[-1] > 0.0
    assert mean_beyond(noisy, grid, 1.0, power=1) == pytest.approx(0.5 * math.exp(-2.0), rel=0.3)
