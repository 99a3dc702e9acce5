"""What one answer of a curator tells somebody who knows both tables: its exact law under either, by the noise that its query states."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax, ndtri

from hullabaloo.data import Rows
from hullabaloo.erm.objective_perturbation import ObjectivePerturbationQuery
from hullabaloo.geometry import NoPenalty
from hullabaloo.selection.choice import Choice
from hullabaloo.selection.quantiles import QuantilesQuery

Array = npt.NDArray[np.float64]
Pair = tuple[Array, Array]  # of the two tables


@dataclass(frozen=True, slots=True, eq=False)
class PrivacyLoss:
    """One answer, or a run of answers of one query.

    Attributes:
        name: the query's.
        loss: `log p₁(answer)/p₀(answer)`, the evidence for the second table; NaN where the law is not known in closed form.
        realised: how far apart the two laws are, in the measure of `allowed`; the largest of several answers.
        allowed: what the query's event lets one answer be: μ of a Gaussian release, ε of another.
        rho: how far apart they are in all, as ρ of zero-concentrated privacy.
        draws: the noise, as numbers that are independent and standard normal if it is what the query states.
        shift: the difference of the exact answers in the coordinates of `draws`; empty where the law is not Gaussian.
        choice_score: of a choice, how likely a candidate was chosen, less its mean, within ±1; and the variance of that.
    """

    name: str
    loss: float
    realised: float
    allowed: float
    rho: float
    draws: Array = field(default_factory=lambda: np.zeros(0))
    shift: Array = field(default_factory=lambda: np.zeros(0))
    choice_score: tuple[float, float] = (0.0, 0.0)


def gaussian(name: str, allowed: float, answer: Array, exact: Pair, truth: int, each: bool) -> PrivacyLoss:
    """A Gaussian release in units of its noise; `each`: one release a coordinate."""
    shift = exact[1] - exact[0]
    square = float(shift @ shift)
    loss = float(shift @ (answer - 0.5 * (exact[0] + exact[1])))
    realised = float(np.max(np.abs(shift), initial=0.0)) if each else math.sqrt(square)
    return PrivacyLoss(name, loss, realised, allowed, 0.5 * square, answer - exact[truth], shift)


def laplace(name: str, allowed: float, answer: Array, exact: Pair, truth: int) -> PrivacyLoss:
    """A Laplace release in units of its scale."""

    first, second = (np.abs(answer - x) for x in exact)
    realised = float(np.sum(np.abs(exact[1] - exact[0])))
    noise = answer - exact[truth]
    draws = -np.sign(noise) * ndtri(0.5 * np.exp(-np.abs(noise)))
    return PrivacyLoss(name, float(np.sum(first - second)), realised, allowed, 0.5 * realised**2, draws)


def chosen(query: Choice | QuantilesQuery, answer: int, scores: Pair, excluded: Any, truth: int) -> PrivacyLoss:
    """A private choice: of range ε₀ by the exponential mechanism, of loss at most ε₀ by permute-and-flip."""
    kept = np.ones(scores[0].size, dtype=bool) if excluded is None else ~np.asarray(excluded)
    once = isinstance(query, Choice) and query.once
    rate = query.epsilon / (2.0 * query.sensitivity)
    logs = [(flipped if once else log_softmax)(rate * one[kept]) for one in scores]
    place = int(np.count_nonzero(kept[:answer]))
    losses = logs[1] - logs[0]
    realised = float(np.max(np.abs(losses)) if once else np.ptp(losses))
    rho = realised**2 / (2.0 if once else 8.0)
    score = _choice_score(logs[truth], place)
    return PrivacyLoss(query.name, float(losses[place]), realised, query.event.pure_epsilon(), rho, choice_score=score)


def _choice_score(logs: Array, place: int) -> tuple[float, float]:
    """How likely the choice was, on a logarithmic scale cut off at e^-3 of the likeliest: less its mean, within ±1; and its variance."""
    chances, likely = np.exp(logs), np.maximum(logs - logs.max(), -3.0)
    apart = likely - float(chances @ likely)
    widest = float(np.max(np.abs(apart)))
    if widest < 1e-6:
        return 0.0, 0.0
    return float(apart[place]) / widest, float(chances @ apart**2) / widest**2


def flipped(scores: Array) -> Array:
    """Log-probabilities of permute-and-flip, `q_i ∫ Π_{j≠i} (1 − t q_j) dt` over [0, 1], `q = exp(score − max)`.

    Candidates come in a random order, as if at independent uniform times t; the first whose coin of chance q_j shows heads is taken.
    The integrand is a polynomial: Gauss-Legendre is exact up to 128 candidates, and to rounding beyond.
    """
    q = np.exp(scores - scores.max())
    nodes, weights = np.polynomial.legendre.leggauss(64)
    factors = np.log1p(-np.outer(0.5 * (nodes + 1.0), q))
    others = np.exp(factors.sum(axis=1, keepdims=True) - factors)
    return np.asarray(scores - scores.max() + np.log(0.5 * weights @ others))


def has_law(query: ObjectivePerturbationQuery, tables: Sequence[Rows]) -> bool:
    """Whether `perturbed` knows the law of an answer: not of several coefficients, with a set, a penalty, weights or offsets."""
    plain = query.facts.width == 1 and query.feasible is None and isinstance(query.penalty, NoPenalty)
    return plain and all(rows.weight is None and rows.offset is None for rows in tables)


def perturbed(query: ObjectivePerturbationQuery, tables: Sequence[Rows], answer: Array, truth: int) -> PrivacyLoss:
    """A perturbed minimiser of one coefficient: `b = −(λθ + Σ clip(φ'(xθ, y)) x)` is normal, and known once θ is.

    `log p₁(θ) − log p₀(θ)` is that of the normal densities of b, and of how fast b moves with θ. How far apart the laws are has no simple
    measure. The faint noise on the minimiser is left out: it can only hide, and moves the ratio by a part of it that is as faint.
    """
    if not has_law(query, tables):
        return PrivacyLoss(query.name, math.nan, math.nan, math.nan, math.nan)
    theta, drawn, logs = float(answer[0]), [], []
    for rows in tables:
        x, y = rows.X[:, 0], rows.Y[:, 0]
        slope, bend = query.loss.derivative(x * theta, y), query.loss.second_derivative(x * theta, y)
        pull = float(np.clip(slope, -query.clip, query.clip) @ x)
        speed = query.ridge + float(np.sum(np.where(np.abs(slope) < query.clip, bend, 0.0) * x * x))
        drawn.append(-(query.ridge * theta + pull) / query.sigma)
        logs.append(-0.5 * drawn[-1] ** 2 + math.log(speed))
    return PrivacyLoss(query.name, logs[1] - logs[0], 0.0, 0.0, 0.0, np.array([drawn[truth]]))
