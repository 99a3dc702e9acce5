"""The exact optimum without noise: what every estimator gives at ε = ∞."""

import numpy as np
import numpy.typing as npt

from hullabaloo.data.source import Rows
from hullabaloo.erm.minimisation import Family
from hullabaloo.erm.newton import newton, with_momentum
from hullabaloo.erm.objective import Objective, euclidean
from hullabaloo.erm.quantile_program import quantile_optimum
from hullabaloo.losses import Pinball

Array = npt.NDArray[np.float64]

_ROUNDS = 20
_BURST = 500
_LEAST = 1e-18
"""A fall of the mean objective that is none. Where classes can be told apart without error, or columns tell every zero count,
there is no minimiser, and the objective falls for ever, by some factor a step."""


def optimum(rows: Rows, family: Family, linear: Array) -> Array:
    """The minimiser to some 1e-9 of its size; NOT PRIVATE."""
    if isinstance(family.loss, Pinball):
        return quantile_optimum(rows, family, linear)
    return settled(family.objective(rows, linear), np.zeros(family.coordinates))


def settled(objective: Objective, start: Array) -> Array:
    """Newton steps and bursts of proximal steps with momentum, until neither moves the point."""
    local, _ = newton(objective, objective.shape.proximal(start, 1.0), 0.0, _LEAST)
    smooth = objective.shape.kinks is not None and not objective.shape.kinks.any()
    for _ in range(_ROUNDS):
        before = local.theta
        moved = with_momentum(objective, local, _BURST).theta
        local, _ = newton(objective, moved, 0.0, _LEAST)
        still = smooth and np.array_equal(local.theta, moved)  # no Newton step was worth taking
        if still or euclidean(local.theta - before) <= 1e-10 * euclidean(before):
            break
    return local.theta
