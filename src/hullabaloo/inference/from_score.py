"""One Newton step from released coefficients, by a noisy gradient there: what the solver left, shrank or never reached is taken out.

With `g̃` the noisy mean gradient at the released θ̂, the coefficients θ* at which the population's gradient vanishes satisfy
`g̃ = −H̄(θ* − θ̂) + noise`, H̄ the mean curvature on the way. H̄ is that of normal records with the released second moments
(`inference/normal_rows.py`), so it carries their noise times the mean of φ'': these are the noisy equations of `inference/debiased.py` for
`θ* − θ̂`, and their intervals, by the curvature where the step ends, are honest for whatever was released as θ̂.
"""

import math

import numpy as np

from hullabaloo.inference.debiased import Debiased, Equations
from hullabaloo.inference.fitted import Array, FittedModel
from hullabaloo.inference.from_moments import asked_ridge, subspace
from hullabaloo.inference.normal_rows import NormalRows, likelihood
from hullabaloo.privacy.answers import NoisyMoments

ROUNDS = 6
FARTHEST = 2.0
"""The curvature is followed along the step until predictions have moved by this much on average; further it tells nothing."""
_PLACES, _SHARES = (0.112701665379258, 0.5, 0.887298334620742), (5 / 18, 8 / 18, 5 / 18)


def stepped(model: FittedModel, moments: NoisyMoments, scores: Array, noise: float, target: int) -> Debiased:
    """The debiased estimate of one target's coefficients, under a loss that `likelihood` knows."""
    encoding, start = model.encoding, np.ascontiguousarray(model.release.theta[:, target])
    loss, intercept = model.loss, encoding.facts.intercept
    gram, exact = moments.gram.copy(order="C"), intercept and moments.counted
    if exact:
        gram[-1, -1] = 1.0
    rows, ridge = NormalRows.of(gram, intercept), asked_ridge(model)
    basis = subspace(model, gram, moments.gram_noise)
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
