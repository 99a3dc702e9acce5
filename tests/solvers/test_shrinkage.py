"""The noise-aware ridge: unbiased, honest about its error, silent without noise, zero without signal."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hullabaloo.geometry import L1Penalty, Penalty, SquaredL2Penalty
from hullabaloo.solvers.moments.moments import solve_moments
from hullabaloo.solvers.moments.shrinkage import INFINITE, SLOPELESS, Normalised, RidgePath, choose_ridge, normalised
from tests.solvers.tables import noisy_moments, problem, table


def model(facts: Normalised, strength: float, *, free: bool, spared: np.ndarray | None = None) -> np.ndarray:
    """`(G̃ + λD)⁻¹b̃`, D the identity but for a 0 at a free intercept or along `spared`."""
    ridged = np.eye(len(facts.cross)) - (0.0 if spared is None else np.outer(spared, spared))
    ridged[-1, -1] -= free
    return np.linalg.solve(facts.gram + strength * ridged, facts.cross)


@pytest.mark.slow
@pytest.mark.parametrize(("intercept", "free"), [(False, False), (True, False), (True, True)])
def test_the_estimated_risk_is_unbiased_and_knows_its_error(intercept: bool, free: bool) -> None:
    """1 500 draws. False alarm below 1e-6: six standard errors of the mean; the spread within a quarter, fourteen of its own."""
    data = table(300, 3, intercept=intercept)
    rng = np.random.default_rng(1)
    scale, n = data.facts.norm_l2, data.records
    gram, cross = data.X.T @ data.X / n / scale**2, data.X.T @ data.Y[:, 0] / n / scale
    ridge = np.array([0.05])
    gaps, spreads, estimates = [], [], []
    for _ in range(1500):
        facts = normalised(noisy_moments(data, 4.0, rng), 0, intercept)
        path = RidgePath(facts, free_intercept=free)
        risk, spread = path.risk(ridge)
        theta = model(facts, ridge[0], free=free)
        gaps.append(risk[0] - (0.5 * theta @ gram @ theta - cross @ theta))
        spreads.append(spread[0])
        estimates.append(risk[0])
    gaps = np.array(gaps)
    assert abs(gaps.mean()) < 6.0 * gaps.std() / math.sqrt(len(gaps)) + 1e-6
    assert np.median(spreads) == pytest.approx(np.std(estimates), rel=0.25)


def test_the_mean_is_kept_where_slopes_cannot_be_learned() -> None:
    """A model must not fall far behind the constant: 200 tables without signal about a mean of 0.6, fixed seeds."""
    rng = np.random.default_rng(7)
    worse = []
    for seed in range(200):
        data = table(300, 6, intercept=True, signal=0.0, seed=seed)
        Y = np.clip(0.6 + data.Y, -1.0, 1.0)
        moments = replace(noisy_moments(type(data)(data.X, Y, data.facts), 6.0, rng), counted=True)
        facts = normalised(moments, 0, True)
        ridge = choose_ridge(facts)
        theta = model(facts, ridge.strength, free=ridge.free_intercept) / data.facts.norm_l2
        worse.append(float(np.mean((data.X @ theta - Y[:, 0]) ** 2)) / float(Y.var()))
    assert np.median(worse) < 1.03
    assert np.mean(worse) < 1.1


@pytest.mark.slow
@pytest.mark.parametrize("free", [False, True])
def test_the_error_of_the_difference_to_a_constant_is_known(free: bool) -> None:
    """That of f̂ less f̂ of the mean alone, on 1 500 draws: the stated deviation is within a quarter of what is seen, and well below that of f̂ itself."""
    data = table(300, 3, intercept=True)
    data = type(data)(data.X, np.clip(0.6 + 0.3 * data.Y, -1.0, 1.0), data.facts)
    rng, ridge, told, seen, alone = np.random.default_rng(1), np.array([0.05]), [], [], []
    for _ in range(1500):
        facts = normalised(noisy_moments(data, 1.0, rng), 0, True)
        path, means = RidgePath(facts, free_intercept=free), RidgePath(facts, free_intercept=True)
        level = means.middle / means.corner
        risk, spread = path.risk(ridge, level)
        told.append(spread[0])
        seen.append(risk[0] - means.risk(np.array([SLOPELESS]))[0][0])
        alone.append(path.risk(ridge)[1][0])
    assert np.median(told) == pytest.approx(np.std(seen), rel=0.25)
    assert np.median(told) < 0.7 * np.median(alone)


@pytest.mark.slow
def test_slopes_that_are_noise_do_not_pass_for_better_than_the_mean() -> None:
    """200 tables without signal, fixed seeds, whose columns stand far off their centres and so tell the mean, too: compared with 0 they seem to explain much."""
    rng = np.random.default_rng(7)
    lost: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(200):
        data = table(300, 6, intercept=True, signal=0.0, seed=seed)
        X = np.column_stack([(0.9 + 0.1 * data.X[:, :-1]) / math.sqrt(6.0), data.X[:, -1]])
        Y = np.clip(0.8 + 0.2 * data.Y, -1.0, 1.0)
        facts = normalised(noisy_moments(type(data)(X, Y, data.facts), 6.0, rng), 0, True)
        for above_mean, found in lost.items():
            ridge = choose_ridge(facts, above_mean=above_mean)
            theta = model(facts, ridge.strength, free=ridge.free_intercept, spared=ridge.spared) / data.facts.norm_l2
            found.append(float(np.mean((X @ theta - Y[:, 0]) ** 2)))
    assert np.mean(lost[True]) < 0.7 * np.mean(lost[False])


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [60.0, 120.0])
def test_a_mean_that_noise_half_hides_is_kept_in_part(sigma: float) -> None:
    """Of 200 tables without signal, fixed seeds, whose means are spread over the range, what is lost is near the least that any rule can lose, V N/(V + N) in the mean for noise N: all or nothing loses 1.8 and 2.3 times that."""
    rng, lost = np.random.default_rng(11), []
    for seed in range(200):
        data = table(300, 6, intercept=True, signal=0.0, seed=seed)
        Y = np.clip(rng.uniform(-0.85, 0.85) + 0.1 * data.Y, -1.0, 1.0)
        moments = replace(noisy_moments(type(data)(data.X, Y, data.facts), sigma, rng), counted=True)
        theta = solve_moments(moments, problem(data), above_mean=True).theta[:, 0]
        lost.append(float(np.mean((data.X @ theta - Y[:, 0]) ** 2) - Y.var()))
    spread, noise = 0.85**2 / 3.0, moments.cross_noise**2
    assert np.mean(lost) < 1.7 * spread * noise / (spread + noise)


@pytest.mark.slow
def test_a_mean_that_all_columns_tell_has_less_noise_than_that_of_the_intercept_alone() -> None:
    """Columns far off their centres, 800 tables without signal, fixed seeds, means spread over the range: less than 0.85 of what the best rule on the intercept's own sum loses on the same draws.

    It loses 0.65, 4.5 standard errors of the difference below: a false alarm below 1e-5. With a ridge along that direction, too, 0.95 to 1.1.
    """
    rng, lost, best = np.random.default_rng(11), [], []
    for seed in range(800):
        data = table(300, 6, intercept=True, signal=0.0, seed=seed)
        X = np.column_stack([0.95 + 0.05 * data.X[:, :-1], data.X[:, -1]])
        Y = np.clip(rng.uniform(-0.85, 0.85) + 0.1 * data.Y, -1.0, 1.0)
        far = type(data)(X, Y, replace(data.facts, norm_l1=7.0, norm_l2=math.sqrt(7.0)))
        moments = replace(noisy_moments(far, 20.0, rng), counted=True)
        theta = solve_moments(moments, problem(far), above_mean=True).theta[:, 0]
        kept = 1.0 / (1.0 + moments.cross_noise**2 / (0.85**2 / 3.0))
        lost.append(float(np.mean((X @ theta - Y[:, 0]) ** 2) - Y.var()))
        best.append((kept * moments.cross[-1, 0] - float(Y.mean())) ** 2)
    assert np.mean(lost) < 0.85 * np.mean(best)


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [4.0, 15.0])
def test_the_risk_along_the_first_eigenvector_is_not_estimated_too_low(sigma: float) -> None:
    """On 1 000 draws, within six standard errors, a false alarm below 1e-8; it may be too high, as noise turns that vector."""
    data = table(300, 3, intercept=True)
    rng, scale, n = np.random.default_rng(1), data.facts.norm_l2, data.records
    gram, cross = data.X.T @ data.X / n / scale**2, data.X.T @ data.Y[:, 0] / n / scale
    for strength in (0.05, SLOPELESS):
        gaps = []
        for _ in range(1000):
            facts = normalised(noisy_moments(data, sigma, rng), 0, True)
            path = RidgePath(facts, free_intercept=False, spare=True)
            ridge = path.floor + strength
            theta = model(facts, ridge, free=False, spared=path.spared)
            gaps.append(path.risk(np.array([ridge]))[0][0] - (0.5 * theta @ gram @ theta - cross @ theta))
        assert np.mean(gaps) > -6.0 * np.std(gaps) / math.sqrt(len(gaps))


@pytest.mark.parametrize("penalty", [None, SquaredL2Penalty(0.01), L1Penalty(1e-9)])
def test_nothing_is_added_along_the_spared_direction(penalty: Penalty | None) -> None:
    """The model is the path's own, `(G̃ + λ(I − qqᵀ))⁻¹b̃`, and the penalty comes on top."""
    rng, spared = np.random.default_rng(2), 0
    for seed in range(20):
        data = table(300, 3, intercept=True, seed=seed)
        data = type(data)(np.abs(data.X), data.Y, data.facts)
        moments = noisy_moments(data, 6.0, rng)
        facts, scale = normalised(moments, 0, True), moments.scale_x
        ridge = choose_ridge(facts, above_mean=True)
        if ridge.spared is None:
            continue
        spared += 1
        own = 0.01 if isinstance(penalty, SquaredL2Penalty) else 0.0
        own *= np.diag([1.0, 1.0, 1.0, 0.0]) / scale**2
        expected = model(replace(facts, gram=facts.gram + own), ridge.strength, free=False, spared=ridge.spared)
        theta = solve_moments(moments, problem(data, penalty=penalty), above_mean=True).theta[:, 0]
        assert theta == pytest.approx(expected / scale, rel=1e-4, abs=1e-7)
    assert spared >= 5


@pytest.mark.slow
@pytest.mark.parametrize("free", [False, True])
def test_the_error_of_what_is_next_to_the_mean_is_a_number(free: bool) -> None:
    """Where slopes are next to nothing the difference to the mean is what rounding left of it, and no less than none: 1 500 releases of narrow columns, fixed seed."""
    rng, errors = np.random.default_rng(5), []
    for _ in range(1_500):
        size = np.append(10.0 ** rng.uniform(-4.0, -2.0), 1.0)
        columns, cross = rng.normal(size=(2, 3)), rng.normal(size=2)
        gram = (columns @ columns.T + 1e-3 * np.eye(2)) * np.outer(size, size)
        noise, cross_noise = 10.0 ** rng.uniform(-5.0, -2.0), 10.0 ** rng.uniform(-1.0, 1.0)
        path = RidgePath(Normalised(gram, cross * size, noise, cross_noise, True, 0.0), free_intercept=free)
        level = path.middle / path.corner
        errors.append(path.risk(path.floor + np.append(np.geomspace(1e-6, 1e2, 20), SLOPELESS), level)[1])
    assert np.min(errors) >= 0.0


def test_without_noise_nothing_is_added() -> None:
    facts = normalised(noisy_moments(table(), 0.0, np.random.default_rng(0)), 0, False)
    assert facts.noiseless
    assert choose_ridge(facts).strength == 0.0


def test_the_ridged_gram_is_positive_definite_even_where_noise_rules() -> None:
    rng = np.random.default_rng(2)
    data = table(50, 12)
    for sigma in (0.1, 3.0, 100.0):
        facts = normalised(noisy_moments(data, sigma, rng), 0, False)
        ridge = choose_ridge(facts)
        assert np.linalg.eigvalsh(facts.gram + ridge.strength * np.eye(12))[0] > 0.0
        assert ridge.strength >= ridge.floor


def test_without_signal_the_model_is_almost_always_zero() -> None:
    """200 tables of noise: the mean squared error rises by less than 1 % of the target's."""
    rng = np.random.default_rng(3)
    harm, target = 0.0, 0.0
    for seed in range(200):
        data = table(200, 5, signal=0.0, seed=seed)
        facts = normalised(noisy_moments(data, 6.0, rng), 0, False)
        ridge = choose_ridge(facts)
        theta = np.linalg.solve(facts.gram + ridge.strength * np.eye(5), facts.cross)
        harm += float(np.mean((data.X @ theta - data.Y[:, 0]) ** 2 - data.Y[:, 0] ** 2))
        target += float(np.mean(data.Y**2))
    assert harm < 0.01 * target


def test_more_noise_never_calls_for_much_less_ridge() -> None:
    data = table(2000, 5)
    chosen = []
    for sigma in (0.5, 2.0, 8.0, 32.0, 1000.0):
        rng = np.random.default_rng(4)
        draws = [choose_ridge(normalised(noisy_moments(data, sigma, rng), 0, False)).strength for _ in range(15)]
        chosen.append(float(np.median(draws)))
    assert chosen == sorted(chosen)
    assert chosen[-1] == INFINITE


def test_the_constant_columns_entry_is_known_up_to_the_declared_number() -> None:
    data = table(1000, 3, intercept=True)
    rng = np.random.default_rng(5)
    corners = [normalised(noisy_moments(data, 400.0, rng), 0, True) for _ in range(50)]
    entries = np.array([facts.gram[-1, -1] * data.facts.norm_l2**2 for facts in corners])
    assert np.abs(entries - 1.0).max() < 0.35
    assert all(0.0 < facts.corner < 1.0 for facts in corners)
    exact = normalised(noisy_moments(data, 0.0, rng), 0, True)
    assert exact.corner == 1.0
    assert exact.gram[-1, -1] * data.facts.norm_l2**2 == pytest.approx(1.0)
