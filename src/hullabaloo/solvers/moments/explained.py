"""How well a model fits that was solved from noisy moments, without the optimism of having been fitted to their noise."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hullabaloo.privacy.answers import NoisyMoments
from hullabaloo.solvers.base import Array

HIDDEN = 3.0
"""A private number of records within so many deviations of its noise is not reckoned with."""


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
