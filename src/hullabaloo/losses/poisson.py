"""The Poisson loss e^z − yz of counts."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from hullabaloo.losses.base import Array, KernelCode, Loss, LossConstants
from hullabaloo.losses.checks import bounds, curvature_bound, exponential


@final
@dataclass(frozen=True, slots=True)
class Poisson(Loss):
    """φ(z, y) = e^z − yz for y ≥ 0, the negative log-likelihood of a count with mean e^z, but for a term without z.

    On the unit domain y is a count divided by its declared upper bound, in [0, 1], and e^z its mean in that unit. On |z| ≤ Z:
    |φ'| ≤ max(e^Z, Y), φ'' ≤ e^Z. With the derivative clipped to [−c, c], φ'' = e^z only where e^z ≤ c + y: the
    clipped loss is smooth with constant c + Y for every z.

    >>> float(Poisson().value(0.0, 1.0))
    1.0
    """

    kind = "poisson"

    name = "poisson"
    kernel_code = KernelCode.POISSON
    kernel_parameter = 0.0
    # [−16, 8]: the best constant is `log(mean y / mean e^offset)`
    intercept_bounds = -16.0, 8.0

    def value(self, z: Array, y: Array) -> Array:
        """`e^z − yz`; infinite where a double cannot hold it."""
        with np.errstate(over="ignore"):
            return np.exp(z) - np.multiply(y, z)

    def derivative(self, z: Array, y: Array) -> Array:
        """`e^z − y`."""
        with np.errstate(over="ignore"):
            return np.exp(z) - y

    def second_derivative(self, z: Array, y: Array) -> Array:
        """`e^z`."""
        with np.errstate(over="ignore"):
            bend: Array = np.exp(z)
        return np.broadcast_to(bend, np.broadcast_shapes(np.shape(z), np.shape(y))).copy()

    def constants(self, prediction_bound: float, target_bound: float, clip: float = math.inf) -> LossConstants:
        """Lipschitz max(e^Z, Y − e^{−Z}), smooth with e^Z (at most c + Y with a clip c), strongly convex with e^{−Z}."""
        size, targets, clip = bounds(prediction_bound, target_bound, clip)
        highest, lowest = exponential(size), exponential(-size)
        whole = LossConstants(max(highest, targets - lowest), min(highest, clip + targets), lowest)
        return whole.clipped(clip)

    def unclipped_range(self, clip: float, y: Array) -> tuple[Array, Array]:
        """`log(y − c) ≤ z ≤ log(y + c)`; no lower end where y ≤ c."""
        low = np.subtract(y, clip)
        lower: Array = np.where(low > 0.0, np.log(np.where(low > 0.0, low, 1.0)), -np.inf)
        upper: Array = np.log(np.add(y, clip))
        return lower, upper

    def curvature(self, prediction_bound: float) -> float:
        """4Z²e^Z."""
        return curvature_bound(self, prediction_bound)
