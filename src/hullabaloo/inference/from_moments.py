"""Estimates of the least-squares coefficients, or of a ridge's, that the noisy moments of a release hold.

What a release's moments tell of the records is independent of the set or penalty that its coefficients were held by. So the intervals
are about the least-squares coefficients of the population, whatever shrinking, thresholding or projecting did to the
released ones; only a quadratic penalty that was asked for belongs to the question, and the intervals are about its optimum.

Sampling errors are those of errors alike for all records (homoskedastic): fourth moments, which a sandwich needs, are not released.
"""

import math

import numpy as np
import numpy.typing as npt

from hullabaloo.data import Encoding
from hullabaloo.inference.debiased import Debiased, Equations
from hullabaloo.inference.fitted import Array, FittedModel
from hullabaloo.inference.refit import kept_columns
from hullabaloo.privacy.answers import NoisyMoments
from hullabaloo.solvers.moments.explained import HIDDEN
from hullabaloo.solvers.moments.moments import quadratic_weights

SEEN = 1.5
"""An indicator of missing values stays in the question when its share is so many times the spectral radius of the noise."""
LEAST_COUNT = 0.2
"""Fewer than this share of the declared records are not reckoned with where they are within `HIDDEN` deviations of noise."""


def debiased(model: FittedModel, moments: NoisyMoments, target: int) -> tuple[Debiased, float]:
    """The unshrunk estimate of one target's coefficients, and the residual variance with its own noise's deviation added."""
    n, ridge, facts = moments.records, asked_ridge(model), model.encoding.facts
    gram, basis, exact = question(model, moments)
    cross = np.ascontiguousarray(moments.cross[:, target])

    def solved(sampling: Array) -> Debiased:
        noise = (moments.gram_noise, moments.cross_noise)
        return Debiased(Equations(gram + np.diag(ridge), cross, *noise, sampling, basis, exact_corner=exact))

    first = solved(np.zeros_like(gram))
    theta, square = first.theta, float(moments.square[target, target])
    optimism = float(np.sum(first.inverse * first.noise))
    freedom = max(n - basis.shape[1], 1.0)
    left = float(square - 2.0 * theta @ cross + theta @ gram @ theta) + optimism
    variance = min(max(left, 0.0), facts.max_weight) * n / freedom
    least = max(min(LEAST_COUNT * facts.max_weight, HIDDEN * moments.gram_noise), 1e-12)
    share = max(moments.mean_weight(facts.intercept, facts.weighted), least)
    pull = ridge * theta
    copies = facts.records_per_unit * facts.max_weight  # records of a unit may be alike; E w² ≤ W E w
    values, vectors = np.linalg.eigh(gram)
    varied = (vectors * np.maximum(values, 0.0)) @ vectors.T  # no direction's errors vary by less than nothing
    found = solved(copies * ((variance * varied + np.outer(pull, pull)) / share) / n)
    of_cross = 2.0 * moments.cross_noise * math.sqrt(theta @ theta)
    doubt = math.hypot(moments.square_noise, of_cross, moments.gram_noise * theta @ theta)
    return found, (variance + doubt) / share


def question(model: FittedModel, moments: NoisyMoments) -> tuple[Array, Array, bool]:
    """The released Gram, the subspace that is asked about, and whether the Gram's last entry is known: of the constant where records are counted."""
    gram, exact = moments.gram.copy(order="C"), model.encoding.facts.intercept and moments.counted
    if exact:
        gram[-1, -1] = 1.0
    return gram, subspace(model, gram, moments.gram_noise), exact


def asked_ridge(model: FittedModel) -> Array:
    """Weights of the quadratic penalty that the model was asked for, (p,); zeros where it was none or has corners."""
    facts = model.encoding.facts
    squares = quadratic_weights(model.penalty, facts.width - facts.intercept, facts.intercept)
    return np.zeros(facts.width) if squares is None else squares


def subspace(model: FittedModel, gram: Array, noise: float) -> Array:
    """Orthonormal columns (p, r): the coefficients that the question is about.

    Left out are columns that a refit left out, indicators of missing values too rare to be told from none, and the directions in which
    encoded columns always add up to the same (all levels of a category, and the constant): there the coefficients of least norm
    are meant, as everywhere else in the library. Without noise directions without variance are left out likewise.
    """
    encoding, width = model.encoding, model.encoding.facts.width
    kept = np.zeros(width, dtype=bool)
    kept[kept_columns(encoding, model.release.plan.get("refit", {}).get("features"))] = True
    if noise == 0.0:
        places = np.flatnonzero(kept)
        values, vectors = np.linalg.eigh(gram[np.ix_(places, places)])
        basis = np.zeros((width, places.size))
        basis[places] = vectors
        return basis[:, values > 1e-10 * max(float(values[-1]), 1e-300)]
    edge = SEEN * noise * math.sqrt(2.0 * width)
    for place in indicators(encoding):
        kept[place] &= bool(gram[place, place] >= edge)
    fixed = [np.where(kept, direction, 0.0) for direction in constants(encoding, kept)]
    basis = np.eye(width)[:, kept]
    if len(fixed) < 2:
        return basis
    null = np.stack([direction - fixed[0] for direction in fixed[1:]], axis=1)[kept]
    full, _ = np.linalg.qr(null, mode="complete")
    return np.asarray(basis @ full[:, null.shape[1] :], dtype=np.float64)


def indicators(encoding: Encoding) -> list[int]:
    """Places of the columns that say that a value is missing."""
    if encoding.layout is None:
        return []
    places = [one.indicator for one in encoding.layout.numeric] + [one.missing for one in encoding.layout.onehot]
    return [place for place in places if place >= 0]


def constants(encoding: Encoding, kept: npt.NDArray[np.bool_]) -> list[Array]:
    """Sums of encoded columns, as 0/1 vectors (p,), that are 1 in every record with known levels."""
    width, found = encoding.facts.width, []
    if encoding.facts.intercept:
        found.append(np.eye(width)[-1])
    for block in encoding.layout.onehot if encoding.layout is not None else ():
        if len(block.levels) == len(block.all_levels) and kept[list(block.columns)].all():
            direction = np.zeros(width)
            direction[[*block.columns, *([block.missing] if block.missing >= 0 else [])]] = 1.0
            found.append(direction)
    return found
