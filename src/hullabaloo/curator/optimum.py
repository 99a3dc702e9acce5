"""The exact optimum without noise: what every estimator gives at ε = ∞."""

import numpy as np
import numpy.typing as npt

from hullabaloo.curator.minimisation import Family
from hullabaloo.curator.newton import newton, with_momentum
from hullabaloo.curator.objective import Objective, euclidean
from hullabaloo.curator.quantile_program import quantile_optimum
from hullabaloo.data.source import Rows
from hullabaloo.losses import Pinball

Array = npt.NDArray[np.float64]

_ROUNDS = 20
_BURST = 500


def optimum(rows: Rows, family: Family, linear: Array) -> Array:
    """The minimiser to some 1e-9 of its size; NOT PRIVATE."""
    if isinstance(family.loss, Pinball):
        return quantile_optimum(rows, family, linear)
    return settled(family.objective(rows, linear), np.zeros(family.coordinates))


def settled(objective: Objective, start: Array) -> Array:
    """Newton steps and bursts of proximal steps with momentum, until neither moves the point."""
    local, _ = newton(objective, objective.shape.proximal(start, 1.0), 0.0)
    for _ in range(_ROUNDS):
        before = local.theta
        local = with_momentum(objective, local, _BURST)
        local, _ = newton(objective, local.theta, 0.0)
        if euclidean(local.theta - before) <= 1e-10 * euclidean(before):
            break
    return local.theta
