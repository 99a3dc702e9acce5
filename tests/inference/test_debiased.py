"""Noisy equations: the ends of an interval solve their quadratic, and coverage holds wherever an end is told."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hullabaloo.inference.debiased import Debiased, Equations, likely


def noise(rng: np.random.Generator, p: int, s: float) -> np.ndarray:
    upper = np.triu(rng.normal(size=(p, p)) * s / math.sqrt(2.0), 1)
    return upper + upper.T + np.diag(rng.normal(size=p) * s)


def equations(gram: np.ndarray, cross: np.ndarray, s: float, t: float, sampling: np.ndarray) -> Equations:
    p = cross.size
    return Equations(gram, cross, s, t, sampling, np.eye(p))


def test_one_coefficient_has_fiellers_interval() -> None:
    """At its ends `(b̃ − G̃c)² = q² (t² + s²c² + sampling)`; for one column `½s²(c² + c²) = s²c²`."""
    s, t, sampling, q = 0.05, 0.04, 0.001, 1.96
    found = Debiased(equations(np.array([[0.3]]), np.array([0.2]), s, t, np.array([[sampling]])))
    told = found.intervals(np.eye(1), q)
    for end in (*told.low, *told.high):
        assert (0.2 - 0.3 * end) ** 2 == pytest.approx(q**2 * (t**2 + s**2 * end**2 + sampling), rel=1e-12)
    assert told.estimate == pytest.approx([2.0 / 3.0])
    weak = Debiased(equations(np.array([[0.09]]), np.array([0.2]), s, t, np.array([[sampling]])))
    assert np.isnan(weak.intervals(np.eye(1), q).low).all()  # 0.09 is within 1.96 · 0.05 of nothing


@pytest.mark.slow
@pytest.mark.parametrize("strength", [1.0, 1.5, 4.0])
def test_coverage_as_the_smallest_eigenvalue_nears_the_noise(strength: float) -> None:
    """4 000 draws of 6 coefficients along the weakest direction, its eigenvalue `strength` times the noise's radius.

    Within 92 to 98.5 % (the whole line holds everything): 95 % less five standard errors of a draw's wholly dependent intervals.
    """
    rng, p = np.random.default_rng(0), 6
    values = 0.3 / np.arange(1.0, p + 1.0)
    axes = np.linalg.qr(rng.normal(size=(p, p)))[0]
    gram = axes @ np.diag(values) @ axes.T
    s = values[-1] / strength / math.sqrt(2.0 * p)
    t, theta = s / math.sqrt(2.0), 2.0 * axes[:, -1]
    inside = []
    for _ in range(2_000):
        found = Debiased(
            equations(gram + noise(rng, p, s), gram @ theta + t * rng.normal(size=p), s, t, np.zeros((p, p)))
        )
        told = found.intervals(np.eye(p), 1.959964)
        inside.append(np.mean(np.isnan(told.low) | (told.low <= theta) & (theta <= told.high)))
    assert 0.92 < float(np.mean(inside)) < 0.985


def test_the_estimate_is_free_of_scale() -> None:
    rng = np.random.default_rng(1)
    gram, cross = np.diag([0.5, 0.2, 0.1]) + noise(rng, 3, 0.01), rng.normal(size=3)
    plain = Debiased(equations(gram, cross, 0.01, 0.02, 1e-4 * gram)).intervals(np.eye(3), 2.0)
    larger = Debiased(equations(9.0 * gram, 9.0 * cross, 0.09, 0.18, 81e-4 * gram)).intervals(np.eye(3), 2.0)
    for a, b in ((plain.low, larger.low), (plain.high, larger.high), (plain.estimate, larger.estimate)):
        assert a == pytest.approx(b, rel=1e-9)


def test_what_few_records_may_hide_of_one_coefficient_takes_no_interval_of_the_others() -> None:
    """As a law of errors it goes along with the others, of which 20 and 5 % of it are, and its noise hides where they end; as a bound it makes them longer by no less."""
    way = np.array([0.2, 0.05, 1.0])
    gram, allowed = np.eye(3) + 0.03 * np.outer(way, way), 0.04 * np.outer(way, way)
    plain = replace(
        equations(gram, np.array([0.1, 0.2, 0.0]), 0.2, 0.005, 1e-6 * gram + allowed), left=np.zeros((3, 3))
    )
    law, bound = (Debiased(one).intervals(np.eye(3), 2.0) for one in (plain, replace(plain, allowed=allowed)))
    assert np.isnan(law.low).any()
    assert np.isfinite(bound.low).all()
    assert (bound.high - bound.low >= 4.0 * np.sqrt(np.diag(np.linalg.inv(gram) @ allowed @ np.linalg.inv(gram)))).all()


@pytest.mark.few(1)
@pytest.mark.parametrize("s", [0.02, 0.05, 0.1])
def test_noise_meets_what_the_inverse_leaves_undone(s: float) -> None:
    """Half of the directions have no curvature, and most of θ: the residual `b̃ − G̃θ` is told 0.58 of its mean square or more, as a fixed key of 400 draws shows (it is 0.79 to 1.2 of it with a deviation of 4 %, so that a false alarm is five away); of the estimate alone it is a third or less."""
    rng, p, t = np.random.default_rng(5), 10, 0.02
    h, squares = np.repeat([0.0, 1.0], p // 2), np.diag(np.repeat([1.0, 0.01], p // 2))
    came, told, alone = np.zeros((3, 400))
    for draw in range(400):
        theta, gram = np.sqrt(squares) @ rng.normal(size=p), np.diag(h) + noise(rng, p, s)
        cross, seen = h * theta + t * rng.normal(size=p), likely(gram, s)
        spoiled = (t**2 + 0.5 * s**2 * np.trace(squares)) * np.eye(p)
        inverse = squares @ seen @ np.linalg.inv(seen @ squares @ seen + spoiled)
        undone = np.eye(p) - inverse @ seen
        asked = replace(equations(seen, cross, s, t, np.zeros((p, p))), inverse=inverse)
        came[draw] = np.sum((cross - gram @ theta) ** 2)
        told[draw] = np.trace(Debiased(replace(asked, left=undone @ squares @ undone.T)).noise)
        alone[draw] = np.trace(Debiased(asked).noise)
    assert told.mean() > 0.58 * came.mean() > 1.5 * alone.mean()


def bulk(rng: np.random.Generator, p: int, spread: float) -> np.ndarray:
    """A bulk of eigenvalues around 1, two of them apart, in directions of any kind."""
    values = np.concatenate([rng.uniform(1.0 - spread, 1.0 + spread, p - 2), [0.05, 4.0]])
    axes = np.linalg.qr(rng.normal(size=(p, p)))[0]
    return np.asarray((axes * values) @ axes.T)


@pytest.mark.parametrize("spread", [0.0, 0.3, 0.6])
def test_what_is_likely_of_a_matrix_is_nearer_to_it(spread: float) -> None:
    """Where eigenvectors are of any direction: `E ‖G − Ξ‖²` is less than that of the noise, 0.36 to 0.76 of it with a standard error of 0.01."""
    rng, p, s = np.random.default_rng(3), 16, 0.08
    left = []
    for _ in range(100):
        G = bulk(rng, p, spread)
        left.append(np.sum((G - likely(G + noise(rng, p, s), s)) ** 2))
    assert np.mean(left) < 0.9 * 0.5 * s**2 * p * (p + 1)


def test_without_noise_the_likely_matrix_is_the_released_one() -> None:
    G = bulk(np.random.default_rng(4), 9, 0.0)
    assert likely(G, 0.0) == pytest.approx(G, abs=1e-12)


def test_what_is_likely_turns_with_the_matrix() -> None:
    rng = np.random.default_rng(5)
    released, turned = bulk(rng, 7, 0.5), np.linalg.qr(rng.normal(size=(7, 7)))[0]
    assert likely(turned @ released @ turned.T, 0.1) == pytest.approx(
        turned @ likely(released, 0.1) @ turned.T, abs=1e-10
    )


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_intervals_by_the_likely_matrix_hold_and_are_shorter(spread: float) -> None:
    """One fixed diagonal matrix, and coefficients, which no prior has drawn: 95 % less 2 points, eight standard errors of 400 draws."""
    rng, p, s, t = np.random.default_rng(6), 12, 0.09, 0.02
    gram = np.diag([*np.linspace(1.0 - spread, 1.0 + spread, p - 1), 3.0])
    theta = rng.normal(size=p)
    inside, width, before = [], [], []
    for _ in range(400):
        released, cross = gram + noise(rng, p, s), gram @ theta + t * rng.normal(size=p)
        sampling = np.zeros((p, p))
        told = Debiased(equations(likely(released, s), cross, s, t, sampling)).intervals(np.eye(p), 1.96)
        plain = Debiased(equations(released, cross, s, t, sampling)).intervals(np.eye(p), 1.96)
        inside.append(np.mean((told.low <= theta) & (theta <= told.high)))
        width.append(np.mean(told.high - told.low))
        before.append(np.mean(plain.high - plain.low))
    assert np.mean(inside) > 0.93
    assert np.nanmean(width) < 0.95 * np.nanmean(before)
