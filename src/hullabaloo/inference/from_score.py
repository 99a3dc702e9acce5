"""One Newton step from released coefficients, by a noisy gradient there: what the solver left, shrank or never reached is taken out.

With `g̃` the noisy mean gradient at the released θ̂, the coefficients θ* at which the population's gradient vanishes satisfy
`g̃ = −H̄(θ* − θ̂) + noise`, H̄ the mean curvature on the way. H̄ is that of normal records with the released second moments, so it
carries their noise times the mean of φ'': these are the noisy equations of `inference/debiased.py` for `θ* − θ̂`, and their intervals, by the curvature where the step ends, are honest for whatever was released as θ̂.

Weighted second moments `E[h(⟨x, θ⟩) xxᵀ]` of records whose first and second moments alone are known, taken as normal.

Given `z = ⟨x, θ⟩`, normal records are `x = m + c(z − μ)/σ² +` a part without z, `c = Cov(x, z)`; so with `v = (z − μ)/σ`

    E[h xxᵀ] = E[h] (C + mmᵀ) + E[h v] (mcᵀ + cmᵀ)/σ + E[h (v² − 1)] ccᵀ/σ²,

one-dimensional integrals, taken by Gauss and Hermite's rule. The curvature of a smooth loss over real records is near this:
its weight h varies slowly, and only how far z spreads matters much.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hullabaloo.inference.debiased import Debiased, Equations
from hullabaloo.inference.fitted import Array, FittedModel
from hullabaloo.inference.from_moments import asked_ridge, question
from hullabaloo.losses import AnyLoss, Huber, Logistic, Poisson
from hullabaloo.privacy.answers import NoisyMoments
from hullabaloo.solvers.moments.with_moments import point_of_scores

Weight = Callable[[Array], Array]

NODES = 24


@dataclass(frozen=True, slots=True, eq=False)
class NormalRows:
    """Records with the mean `mean` and the second moments `gram`; the mean is 0 where it is not known."""

    mean: Array
    gram: Array

    @classmethod
    def of(cls, gram: Array, intercept: bool) -> "NormalRows":
        """From second moments whose last column, with an intercept, holds the means."""
        if not intercept:
            return cls(np.zeros(gram.shape[0]), gram)
        return cls(gram[:, -1] / max(float(gram[-1, -1]), 1e-12), gram)

    def spread(self, theta: Array) -> tuple[float, float, Array]:
        """Mean and deviation of z, and c."""
        middle = float(self.mean @ theta)
        along = self.gram @ theta - self.mean * middle
        return middle, float(np.sqrt(max(float(theta @ along), 0.0))), np.asarray(along, dtype=np.float64)

    def expected(self, theta: Array, weight: Weight) -> float:
        """`E h(z)`."""
        nodes, shares = _rule()
        middle, deviation, _ = self.spread(theta)
        return float(shares @ weight(middle + deviation * nodes))

    def weighted(self, theta: Array, weight: Weight) -> Array:
        """`E[h(z) xxᵀ]`, (p, p)."""
        nodes, shares = _rule()
        middle, deviation, along = self.spread(theta)
        h = shares * weight(middle + deviation * nodes)
        flat = float(h.sum()) * self.gram
        if deviation < 1e-9:
            return np.asarray(flat, dtype=np.float64)
        c = along / deviation
        mixed = np.outer(self.mean, c)
        return np.asarray(
            flat + float(h @ nodes) * (mixed + mixed.T) + float(h @ (nodes**2 - 1.0)) * np.outer(c, c), dtype=np.float64
        )


def _rule() -> tuple[Array, Array]:
    nodes, shares = np.polynomial.hermite_e.hermegauss(NODES)
    return nodes, shares / shares.sum()


@dataclass(frozen=True, slots=True, eq=False)
class Likelihood:
    """Of one loss: the mean of φ'' and of φ'² given z, at the true coefficients.

    Attributes:
        bend: `E[φ'' | z]`.
        square: `E[φ'² | z]`.
    """

    bend: Weight
    square: Weight


def likelihood(loss: AnyLoss, rows: NormalRows, theta: Array, square: float, cross: Array) -> Likelihood:
    """What the loss makes of records at θ, from the moments `square = E y²` and `cross = E xy` where it needs them.

    Logistic: chances `1/(1 + e^{−z})`. Poisson: the variance is a multiple of the mean, told by the moments. Huber: normal residuals of the
    moments' variance.
    """
    if isinstance(loss, Logistic):
        return Likelihood(_chance_variance, _chance_variance)
    if isinstance(loss, Poisson):
        mean = rows.expected(theta, _rate)
        spread = square - rows.expected(theta, _rate_squared)
        factor = min(max(spread / max(mean, 1e-12), 1e-6), 1.0)
        return Likelihood(_rate, lambda z: factor * _rate(z))
    if isinstance(loss, Huber):
        from scipy.special import ndtr

        variance = square - 2.0 * float(theta @ cross) + float(theta @ rows.gram @ theta)
        deviation = float(np.sqrt(min(max(variance, 1e-6), 1.0)))
        cut = float(loss.h) / deviation
        inside = 2.0 * float(ndtr(cut)) - 1.0
        density = float(np.exp(-0.5 * cut**2) / np.sqrt(2.0 * np.pi))
        pull = deviation**2 * (inside - 2.0 * cut * density + cut**2 * (1.0 - inside))
        return Likelihood(lambda z: np.full_like(z, inside), lambda z: np.full_like(z, pull))
    raise NotImplementedError(
        f"the curvature of the loss {loss.name} is not known from moments"
    )  # callers ask of these alone


def _chance_variance(z: Array) -> Array:
    small = np.exp(-np.abs(z))
    return np.asarray(small / (1.0 + small) ** 2, dtype=np.float64)


def _rate(z: Array) -> Array:
    return np.asarray(np.exp(np.minimum(z, 30.0)), dtype=np.float64)


def _rate_squared(z: Array) -> Array:
    return np.asarray(np.exp(np.minimum(2.0 * z, 60.0)), dtype=np.float64)


ROUNDS = 6
FARTHEST = 2.0
"""The curvature is followed along the step until predictions have moved by this much on average; further it tells nothing."""
_PLACES, _SHARES = (0.112701665379258, 0.5, 0.887298334620742), (5 / 18, 8 / 18, 5 / 18)


def stepped(model: FittedModel, moments: NoisyMoments, scores: Array, noise: float, target: int) -> Debiased:
    """The debiased estimate of one target's coefficients, under a loss that `likelihood` knows."""
    at, loss = point_of_scores(model.release.trace, model.release.theta), model.loss
    start = np.ascontiguousarray(at[:, target])
    gram, basis, exact = question(model, moments)
    rows, ridge = NormalRows.of(gram, model.encoding.facts.intercept), asked_ridge(model)
    square, cross = float(moments.square[target, target]), np.ascontiguousarray(moments.cross[:, target])

    def step(gram: Array, cross: Array, level: float, sampling: Array, origin: Array) -> Debiased:
        noises = (level * moments.gram_noise, noise)
        return Debiased(Equations(gram + np.diag(ridge), cross, *noises, sampling, basis, origin, start, exact))

    moved, nothing, level = np.zeros_like(start), np.zeros_like(gram), 0.0
    for _ in range(ROUNDS):
        moved = moved * min(1.0, FARTHEST / max(rows.spread(moved)[1], 1e-12))
        there = likelihood(loss, rows, start + moved, square, cross)
        along = [(start + place * moved, part) for place, part in zip(_PLACES, _SHARES, strict=True)]
        bend = sum((part * rows.weighted(point, there.bend) for point, part in along), nothing)
        level = math.fsum(part * rows.expected(point, there.bend) for point, part in along)
        moved = step(bend, -(scores[:, target] + ridge * start), level, nothing, start).moved
    end = start + moved
    near = start + moved * min(1.0, FARTHEST / max(rows.spread(moved)[1], 1e-12))
    there = likelihood(loss, rows, near, square, cross)
    pull = ridge * end
    sampling = (rows.weighted(near, there.square) + np.outer(pull, pull)) / moments.records
    return step(rows.weighted(near, there.bend), np.zeros_like(start), level, sampling, end)
