"""Errors of coefficients computed from noisy moments, split into what sampling and what privacy adds.

With `θ = G⁻¹b`, the noises E of G and e of b move θ, to first order, by `G⁻¹(e − Eθ)`, whose covariance is known:

    cov(e − Eθ) = t² I + ½s²(‖θ‖² I + θθᵀ).

Sampling adds `(ρ²/n) G⁻¹` with ρ² the residual variance, estimated without the noise's optimism (homoskedastic: fourth
moments, which a sandwich needs, are not released). Coefficients are shrunk for a smaller risk; intervals are meant for the
least-squares coefficients all the same, so what shrinking moved is added in quadrature: for a centre moved by d,
`P(|d + ξ| ≤ 1.96 √(d² + τ²)) ≥ 0.95` for every d when ξ ~ N(0, τ²). Coverage is simulated in the tests.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hullabaloo.privacy.answers import NoisyMoments
from hullabaloo.solvers.moments.shrinkage import Normalised, RidgePath, normalised

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """Covariances of one target's coefficients, each (p, p), on the unit domain.

    `privacy` holds the noise's first-order effect and the square of the shift that shrinking made; `sampling` the
    homoskedastic covariance of least squares.
    """

    privacy: Array
    sampling: Array


def least_squares_errors(moments: NoisyMoments, target: int, intercept: bool, theta: Array, squares: Array) -> Errors:
    """Errors of `theta` as an estimate of `argmin ½θᵀGθ − bᵀθ + ½Σ squares_j θ_j²`.

    Args:
        moments: the release.
        target: which target.
        intercept: whether the last column is the constant.
        theta: the released coefficients, (p,).
        squares: weights of a quadratic penalty that belongs to the question asked, (p,); zeros for least squares.
    """
    scale = moments.scale_x
    facts = normalised(moments, target, intercept)
    facts.gram[np.diag_indices(len(theta))] += squares / scale**2
    path = RidgePath(facts, free_intercept=intercept)
    inverse = path.inverse(path.floor)
    unshrunk = inverse @ facts.cross
    shift = unshrunk - theta * scale
    spread = _smaller(unshrunk, theta * scale)
    noise = _noise_covariance(facts, spread)
    residual = residual_variance(moments, target, theta)
    return Errors(
        privacy=(inverse @ noise @ inverse + np.outer(shift, shift)) / scale**2,
        sampling=residual / moments.records * inverse / scale**2,
    )


def residual_variance(moments: NoisyMoments, target: int, theta: Array) -> float:
    """Mean of (y − ⟨x, θ⟩)² by the released moments, kept inside what targets in [−1, 1] allow."""
    value = moments.square[target, target] - 2.0 * theta @ moments.cross[:, target] + theta @ moments.gram @ theta
    return float(min(max(value, 1e-6), 1.0))


def _smaller(a: Array, b: Array) -> Array:
    """The shorter of two vectors: noise inflates the unshrunk coefficients, and θ's size sets the noise of Eθ."""
    return a if float(a @ a) <= float(b @ b) else b


def _noise_covariance(facts: Normalised, theta: Array) -> Array:
    s2, t2 = facts.gram_noise**2, facts.cross_noise**2
    covariance = (t2 + 0.5 * s2 * float(theta @ theta)) * np.eye(len(theta)) + 0.5 * s2 * np.outer(theta, theta)
    if facts.intercept:
        covariance[-1, -1] -= (1.0 - facts.corner**2) * s2 * theta[-1] ** 2
    return covariance
