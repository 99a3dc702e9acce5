"""Errors of coefficients computed from noisy moments, split into what sampling and what privacy adds.

With `θ = G⁻¹b`, the noises E of G and e of b move θ, to first order, by `G⁻¹(e − Eθ)`, whose covariance is known:

    cov(e − Eθ) = t² I + ½s²(‖θ‖² I + θθᵀ).

Sampling adds `(ρ²/n) G⁻¹` with ρ² the residual variance, estimated without the noise's optimism (homoskedastic: fourth
moments, which a sandwich needs, are not released). Coefficients are shrunk for a smaller risk; intervals are meant for the
least-squares coefficients all the same, so what shrinking moved is added in quadrature: for a centre moved by d,
`P(|d + ξ| ≤ 1.96 √(d² + τ²)) ≥ 0.95` for every d when ξ ~ N(0, τ²). Coverage is simulated in the tests.

`explained` tells how well a model fits, without the optimism of having been fitted to the moments' noise.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hullabaloo.privacy.answers import NoisyMoments
from hullabaloo.solvers.base import Array, Problem
from hullabaloo.solvers.moments.shrinkage import Normalised, RidgePath, normalised

HIDDEN = 3.0
"""A private number of records within so many deviations of its noise is not reckoned with."""


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """Covariances of one target's coefficients, each (p, p), on the unit domain.

    `privacy` holds the noise's first-order effect and the square of the shift that shrinking made; `sampling` the
    homoskedastic covariance of least squares.
    """

    privacy: Array
    sampling: Array


def least_squares_errors(moments: NoisyMoments, target: int, problem: Problem, theta: Array, squares: Array) -> Errors:
    """Errors of `theta` as an estimate of `argmin ½θᵀGθ − bᵀθ + ½Σ squares_j θ_j²`.

    Args:
        moments: the release.
        target: which target.
        problem: whether the last column is the constant, and the bound of a record's weight.
        theta: the released coefficients, (p,).
        squares: weights of a quadratic penalty that belongs to the question asked, (p,); zeros for least squares.
    """
    scale, intercept, heaviest = moments.scale_x, problem.intercept, problem.max_weight
    facts = normalised(moments, target, intercept, heaviest)
    share = facts.gram[-1, -1] * scale**2 if intercept else moments.mean_weight(False, problem.weighted) / heaviest
    facts.gram[np.diag_indices(len(theta))] += squares / scale**2 / heaviest
    path = RidgePath(facts, free_intercept=intercept)
    inverse = path.inverse(path.floor)
    unshrunk = inverse @ facts.cross
    shift = unshrunk - theta * scale
    spread = min(unshrunk, theta * scale, key=lambda a: float(a @ a))  # noise inflates what is not shrunk
    noise = _noise_covariance(facts, spread)
    # Kept inside what targets in [−1, 1] allow; over the mean weight, as of w in [0, W] E w² is at most W E w.
    value = moments.square[target, target] - 2.0 * theta @ moments.cross[:, target] + theta @ moments.gram @ theta
    residual = min(max(value, 1e-6 * heaviest), heaviest) / (max(share, 1e-6) * heaviest)
    return Errors(
        privacy=(inverse @ noise @ inverse + np.outer(shift, shift)) / scale**2,
        sampling=residual / moments.records * inverse / scale**2,
    )


def _noise_covariance(facts: Normalised, theta: Array) -> Array:
    s2, t2 = facts.gram_noise**2, facts.cross_noise**2
    covariance = (t2 + 0.5 * s2 * float(theta @ theta)) * np.eye(len(theta)) + 0.5 * s2 * np.outer(theta, theta)
    if facts.intercept:
        covariance[-1, -1] -= (1.0 - facts.corner**2) * s2 * theta[-1] ** 2 + (1.0 - facts.heard) * t2
    return covariance


@dataclass(frozen=True, slots=True)
class Explained:
    """Noise-corrected fit of one target.

    Attributes:
        r2: 1 − residual/variance; may be negative, as an unbiased estimate of a small number must.
        standard_error: of r2, privacy noise and sampling together; infinite where noise drowns the variance itself.
        residual: mean squared residual, the unit target's square.
        variance: mean squared distance of the target from its mean (from zero without an intercept).
        residual_error: standard error of `residual`; NaN where it is not reckoned.
    """

    r2: float
    standard_error: float
    residual: float
    variance: float
    residual_error: float = math.nan


def explained(moments: NoisyMoments, theta: Array, facts: Any, *, target: int, ridge: float) -> Explained:
    """R² of `theta`, solved from the same `moments` of rows of these facts (`RowFacts`) with the unit-domain ridge `ridge` on the diagonal.

    By Stein's lemma the residual `S̃ − 2b̃ᵀθ + θᵀG̃θ` is too small, on average, by `2t² tr K + s²(tr K ‖θ‖² + θᵀKθ)` with
    `K = (G̃ + ridge)⁻¹` (see `shrinkage`). Sets and penalties leave θ less freedom than K: the correction is then an upper
    bound, on the careful side. Errors by the delta method.

    Where the number of records is private, the released sum of the constant's squares over the nominal number is the share c of it that
    counts, and the variance `S̃ − b̃₀²/c`; nothing is told where noise hides c.
    """
    s2, t2 = moments.gram_noise**2, moments.cross_noise**2
    cross, square = moments.cross[:, target], float(moments.square[target, target])
    size = float(theta @ theta)
    correction = 0.0
    if s2 > 0.0 and size > 0.0:
        values, vectors = np.linalg.eigh(moments.gram)
        inverse = 1.0 / np.maximum(values + ridge, 1e-12)
        trace, along = float(inverse.sum()), float(inverse @ (vectors.T @ theta) ** 2)
        correction = 2.0 * t2 * trace + s2 * (trace * size + along)
    residual = square - 2.0 * float(theta @ cross) + float(theta @ moments.gram @ theta) + correction
    private = facts.intercept and not moments.counted
    share = max(moments.mean_weight(facts.intercept, facts.weighted), 1e-12)
    mean = float(cross[-1]) / share if facts.intercept else 0.0
    variance = square - (share * mean**2 - moments.level * t2 / share if facts.intercept else 0.0)
    if not variance > moments.square_noise or (private and share < HIDDEN * moments.gram_noise):
        return Explained(math.nan, math.inf, residual, variance)
    by_cross = 2.0 * theta / variance
    if facts.intercept:
        by_cross[-1] -= 2.0 * mean * residual / variance**2
    by_square = (residual - variance) / variance**2
    by_share = private * mean**2 * residual / variance**2
    crossed = t2 * float(by_cross @ by_cross)
    noise = (by_square * moments.square_noise) ** 2 + crossed + s2 * (size / variance + by_share) ** 2
    r2 = 1.0 - residual / variance
    part = min(max(r2, 0.0), 1.0)
    sampling = 4.0 * part * (1.0 - part) ** 2 * facts.max_weight / (share * moments.records)
    return Explained(r2, math.sqrt(noise + sampling), residual, variance)
