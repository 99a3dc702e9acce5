"""The one loop of all iterative solvers: step count, averaging and progress live here, once."""

from collections.abc import Callable
from enum import StrEnum

import numpy as np

from hullabaloo.geometry import Projectable
from hullabaloo.solvers.base import Array, Problem

Progress = Callable[[int, int], None]


class Averaging(StrEnum):
    """Which iterates make the result."""

    LAST = "last"
    ALL = "all"
    SECOND_HALF = "second half"


def iterate(
    start: Array,
    step: Callable[[int, Array], Array],
    *,
    steps: int,
    averaging: Averaging,
    progress: Progress | None = None,
) -> Array:
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
        if progress is not None:
            progress(t + 1, steps)
    return np.asarray(total / (steps - first), dtype=np.float64)


def proximal(problem: Problem, point: Array, step: float) -> Array:
    """`argmin ψ(u) + ‖u − point‖²/(2 step)` over C, the intercept left out; the plan saw to it that only one of both is given."""
    if problem.constraint is not None:
        assert isinstance(problem.constraint, Projectable)  # the plan saw to it
        return problem.constraint.project(point)
    return problem.penalty.prox(point, step)
