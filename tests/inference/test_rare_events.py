"""Rare events fitted as numbers: long residuals of one sign carry all that is told, and intervals allow for what shortening takes of them."""

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.noise import TestKey
from hullabaloo.solvers.score.lengths import tail

NAMES, N, FITS = ["a", "b", "c", "d"], 20_000, 14
KINDS = {"classes of 1 %": (0.01, 1.0), "amounts of which 95 % are 0": (0.05, 0.2)}


def drawn(rng: np.random.Generator, rate: float, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of which two have long tails, a 0/1 column of a tenth; events of about `rate`, of gamma sizes where these are below 1."""
    n = 20 * N
    a, b = np.clip(rng.normal(size=n), -6, 6), np.minimum(rng.gamma(2.0, size=n), 30)
    X = np.column_stack([a, b, rng.random(n) < 0.1, np.minimum(rng.exponential(size=n), 30)])
    odds = X @ [0.5, 0.25, 0.6, 0.0] + np.log(rate) - 0.75
    events = rng.random(n) < 1.0 / (1.0 + np.exp(-odds))
    return X, events * (1.0 if size == 1.0 else np.minimum(size * rng.gamma(1.0, size=n), 1.0))


@pytest.mark.slow
def test_slopes_of_rare_events_fitted_as_numbers_are_held() -> None:
    """Of 14 samples each of two populations, ε = 1: seven in eight of the intervals told hold the least-squares slopes, and none is off by as much as twice its half.

    Intervals of 95 % hold fewer than 98 of 112 in one of 1 500 such tests, were they independent. Before events were looked for by their shape three quarters of those of the classes missed, by up to
    a hundred and forty halves: as noise hid the events, gradients were shortened as if they were not there.
    """
    far = []
    for rate, size in KINDS.values():
        rng = np.random.default_rng(11)
        X, y = drawn(rng, rate, size)
        truth = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), y, rcond=None)[0][:-1]
        bounds = {"a": (-6, 6), "b": (0, 30), "c": (0, 1), "d": (0, 30)}
        domain = hb.Domain(features=bounds, target={"y": (0, 1)}, indicators=False)
        for seed in range(FITS):
            rows = rng.integers(0, len(X), N)
            asked = {"budget": hb.Budget(1.0, 1e-9), "test_key": TestKey(bytes(32)).derive(seed)}
            model = hb.LinearRegression(domain=domain, solver="preconditioned_gradient", **asked)
            told = model.fit(X[rows], y[rows]).summary().rows[: len(NAMES)]
            ends = [(row.estimate - true, 0.5 * (row.high - row.low)) for row, true in zip(told, truth, strict=True)]
            far += [abs(off) / half for off, half in ends]
    seen = np.array(far)[np.isfinite(far)]
    assert len(seen) >= 100
    assert np.mean(seen <= 1.0) >= 0.875
    assert seen.max() < 2.0


def test_a_share_of_known_shape_is_found_below_what_single_bins_show() -> None:
    """Events of 1 % spread over bins whose noise is a seventh of that: found within three deviations of its noise, in the mean of 40 histograms; where there are none nothing in most, and never more than 1 %."""
    rng, grid = np.random.default_rng(3), 64.0 * 2.0 ** (-0.5 * np.arange(23, -1, -1.0))
    lengths = np.linalg.norm(rng.normal(size=(100_000, 6)), axis=1)
    noise, shares = 0.0014, []
    for rate in (0.01, 0.0):
        gradients = np.where(rng.random(lengths.size) < rate, 2.0, 0.02) * lengths
        records, seen = (
            np.bincount(np.searchsorted(grid, one), minlength=25) / one.size for one in (lengths, gradients)
        )
        known = tail(records, grid, noise, 0.5)
        noisy = [tail(seen + noise * rng.normal(size=25), grid, noise, 0.5) for _ in range(40)]
        shares.append([one.share_of(2.0, known) for one in noisy])
    assert np.mean(shares[0]) == pytest.approx(0.01, abs=3.0 * 3.0 * noise / np.sqrt(40.0))
    assert np.median(shares[1]) == 0.0
    assert max(shares[1]) < 0.01
