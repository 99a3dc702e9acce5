"""The shape that a set function promises, given back to a minimiser that faint noise was added to: public post-processing.

Minimisers with Ω have exact zeros, and coefficients of exactly equal magnitude; the faint noise on what the curator releases hides both. Its
coordinates are within `ZERO` standard deviations, but for a chance of 2e-9 each. What is so small was zero, or may as well be. And
the prox of Ω at the weight that takes every vector of such noise to 0, `ZERO·σ·Ω*(1, …, 1)` (Ω* does not fall with magnitudes), ties again what was tied,
moving nothing by more than noise of that size did. It keeps zeros: no magnitude grows in it.
"""

import math

import numpy as np

from hullabaloo.geometry import SetFunction, SubmodularBall, SubmodularPenalty, SubmodularPolyhedron, dual_omega
from hullabaloo.geometry.submodular.norm import prox
from hullabaloo.solvers.base import Array, Problem

ZERO = 6.0
"""Coefficients within so many standard deviations of the faint noise are the zeros they were."""


def structure_of(problem: Problem) -> SetFunction | None:
    """The set function that shapes the coefficients, if any."""
    if isinstance(problem.constraint, SubmodularBall):
        return problem.constraint.function
    if isinstance(problem.penalty, SubmodularPenalty) and problem.penalty.strength > 0.0:
        return problem.penalty.function
    return None


def restored(problem: Problem, function: SetFunction, theta: Array, sigma: float) -> Array:
    """θ with the zeros and ties that it had before noise of σ."""
    head = theta[: theta.size - problem.intercept]
    if not head.size:
        return theta
    kept = np.where(np.abs(head) > ZERO * sigma, head, 0.0)
    return np.append(prox(function, kept, _weight(function, head.size, sigma)), theta[head.size :])


def faint_reach(problem: Problem, sigma: float) -> float:
    """At least the expected distance that noise of σ, what rounding hides beside it and its undoing move a minimiser."""
    function, slopes = structure_of(problem), problem.dimension - problem.intercept
    moved = sigma * (1.0 + math.sqrt(problem.dimension))
    if function is None or not slopes:
        return moved
    longest = SubmodularPolyhedron(function, 1.0).max_norm(2.0, slopes)
    return moved + ZERO * sigma * math.sqrt(slopes) + _weight(function, slopes, sigma) * longest


def _weight(function: SetFunction, p: int, sigma: float) -> float:
    return ZERO * sigma * dual_omega(function, np.ones(p)).value
