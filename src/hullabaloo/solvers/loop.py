"""The one loop of all iterative solvers: step count and averaging live here, once."""

from collections.abc import Callable
from enum import StrEnum

import numpy as np

from hullabaloo.geometry import Projectable, prox_within, require, require_within
from hullabaloo.losses import VectorLoss
from hullabaloo.solvers.base import Array, Problem


class Averaging(StrEnum):
    """Which iterates make the result."""

    LAST = "last"
    ALL = "all"
    SECOND_HALF = "second half"


def iterate(start: Array, step: Callable[[int, Array], Array], *, steps: int, averaging: Averaging) -> Array:
    """Apply `θ_{t+1} = step(t, θ_t)` exactly `steps` times and combine the iterates θ_1 … θ_steps.

    The number of steps is public and never depends on an iterate: there is no early stop.
    """
    theta = start.copy()
    first = {Averaging.LAST: steps - 1, Averaging.ALL: 0, Averaging.SECOND_HALF: steps // 2}[averaging]
    total = np.zeros_like(theta)
    for t in range(steps):
        theta = step(t, theta)
        if t >= first:
            total += theta
    return np.asarray(total / (steps - first), dtype=np.float64)


def proximal(problem: Problem, point: Array, step: float) -> Array:
    """`argmin ψ(u) + ‖u − point‖²/(2 step)` over C, the intercept left out; the plan saw to it that it is known."""
    if problem.constraint is not None:
        return prox_within(problem.penalty, problem.constraint, point, step)
    return problem.penalty.prox(point, step)


def require_proximal(problem: Problem, who: str) -> None:
    """Refuse a set without a projection, and a penalty beside it where the prox of both together is not known.

    Raises:
        CapabilityError: as above.
    """
    if problem.constraint is not None:
        require(problem.constraint, [Projectable], who)
        slopes = problem.slopes * (problem.targets if isinstance(problem.loss, VectorLoss) else 1)
        require_within(problem.penalty, problem.constraint, slopes, who)
