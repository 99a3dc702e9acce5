"""One Newton step from a noisy score: regularised where noise hides the curvature, with the law of what it leaves.

At the coefficients δ* that the step looks for, `b̃ − G̃δ* = e − Eδ*`: b̃ the released score, G̃ the curvature, e and E their noise. For any matrix H
that is a function of G̃ (E is independent of e)

    Hb̃ − δ* = H(e − Eδ*) − (I − HG̃)δ*,

so what H leaves undone is known but for δ*. `H = G̃(G̃² + λI)⁻¹` makes it small where noise lets it (Tikhonov), with
`λ = reg (t² + ½s²qτ²)/τ²`: the ridge of the least mean squared error for δ* of variance τ² in each coordinate, at reg = 1.
"""

from dataclasses import dataclass

import numpy as np

from hullabaloo.privacy.answers import Array, NoisyScore

INFERENCE, PREDICTION = 0.3, 1.0
"""reg: estimates with errors are less biased, and noisier, than the best prediction."""


FARTHEST = 1.0
"""Root mean square of how far predictions may move in a step of a loss that is no quadratic, on the scale of the link: further the curvature tells nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreStep:
    """The step and what it rests on.

    Attributes:
        inverse: H, (q, q).
        step: Hb̃, (q,).
        signal: τ².
        left: I − HG̃ on the subspace of the question, (q, q).
    """

    inverse: Array
    step: Array
    signal: float
    left: Array


def moved(found: NoisyScore, step: Array) -> float:
    """How far predictions move, root mean square: in coordinates in which records are round."""
    return float(np.linalg.norm(found.scale * step))


def score_step(found: NoisyScore, reg: float, basis: Array | None = None) -> ScoreStep:
    """The step within a subspace (orthonormal columns, (q, r); None for all): τ² by what the score is longer than noise, over the curvature."""
    q = found.score.size
    within = np.eye(q) if basis is None else basis
    gram, cross, size = within.T @ found.curvature @ within, within.T @ found.score, within.shape[1]
    values, vectors = np.linalg.eigh(gram)
    curved = float(np.mean(np.maximum(values, 0.0) ** 2)) if size else 1.0
    noise = found.score_noise**2
    signal = max(float(cross @ cross) / max(size, 1), 2.0 * noise) - noise
    signal = max(signal / max(curved, 1e-300), 1e-300)
    spoiled = 0.5 * found.curvature_noise**2 * float(np.sum(found.scale**2)) * float(np.mean(found.scale**2)) * signal
    ridge = reg * (noise + spoiled) / signal
    inner = (vectors * (values / (values**2 + ridge))) @ vectors.T
    inverse = within @ inner @ within.T
    left = within @ within.T - inverse @ found.curvature @ within @ within.T
    return ScoreStep(inverse, inverse @ found.score, signal, left)
