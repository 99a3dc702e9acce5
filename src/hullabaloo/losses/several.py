"""Losses of several predictions at once: multinomial logistic, squared."""

import math
from dataclasses import dataclass

import numpy as np

from hullabaloo.losses.base import Array, KernelCode, LossConstants, OfSquares, VectorLoss


@dataclass(frozen=True, slots=True)
class MultinomialLogistic(VectorLoss):
    """φ(z, y) = log Σ_j e^{z_j} − z_c for class c, encoded as y_c = 1 and −1 elsewhere: ‖∇φ‖₂ ≤ √2, ∇²φ ≤ ½ I, Γ = 2Z².

    The probability of class j is `e^{z_j}/Σ e^{z_i}`. ∇φ is those less the indicator `(1 + y)/2`: two points of the
    simplex are at most √2 apart. ∇²φ = diag(s) − ssᵀ, and `vᵀ∇²φ v` is the variance of v_j under s, at most
    `(max v − min v)²/4 ≤ ‖v‖²/2` (Popoviciu).

    >>> import numpy as np
    >>> MultinomialLogistic().derivative(np.zeros((1, 2)), np.array([[1.0, -1.0]])).tolist()
    [[-0.5, 0.5]]
    """

    kind = "multinomial_logistic"
    kernel_code = KernelCode.MULTINOMIAL
    # [−8, 8]: the best constants are `log share_j` less their mean, and e^{−8} of the mean share is one in 2 981
    intercept_bounds = -8.0, 8.0

    def value(self, z: Array, y: Array) -> Array:
        """`log Σ e^{z_j} − ⟨(1 + y)/2, z⟩`, with no overflow."""
        highest = np.max(z, axis=-1, keepdims=True)
        lowered = z - highest
        indicator = 0.5 * (1.0 + np.asarray(y))
        excess = np.log(np.sum(np.exp(lowered), axis=-1)) - np.sum(indicator * lowered, axis=-1)
        return excess + highest[..., 0] * (1.0 - np.sum(indicator, axis=-1))  # type: ignore[no-any-return]

    def derivative(self, z: Array, y: Array) -> Array:
        """Probabilities less the indicator."""
        return _softmax(z) - 0.5 * (1.0 + np.asarray(y))

    def second_derivative(self, z: Array, y: Array) -> Array:
        """diag(s) − ssᵀ of the probabilities s."""
        s = np.broadcast_to(_softmax(z), np.broadcast_shapes(np.shape(z), np.shape(y)))
        return s[..., :, None] * np.eye(s.shape[-1]) - s[..., :, None] * s[..., None, :]

    def _constants(self, size: float, targets: float, clip: float) -> LossConstants:
        """Lipschitz √2, smooth with constant ½, whatever the bounds; y are classes."""
        return LossConstants(lipschitz=math.sqrt(2.0), smoothness=0.5, strong_convexity=0.0)


def _softmax(z: Array) -> Array:
    powers = np.exp(z - np.max(z, axis=-1, keepdims=True))
    return powers / np.sum(powers, axis=-1, keepdims=True)  # type: ignore[no-any-return]


# The squared loss of several targets at once.


@dataclass(frozen=True, slots=True)
class SquaredTargets(OfSquares, VectorLoss):
    """φ(z, y) = ½‖z − y‖₂²: ‖∇φ‖₂ ≤ Z + Y for ‖z‖₂ ≤ Z, ‖y‖₂ ≤ Y, ∇²φ = I, Γ = 4Z².

    >>> import numpy as np
    >>> SquaredTargets().value(np.array([[3.0, 0.0]]), np.array([[1.0, 1.0]])).tolist()
    [2.5]
    """

    kind = "squared_targets"
    kernel_code = KernelCode.SQUARED_TARGETS

    def value(self, z: Array, y: Array) -> Array:
        """½‖z − y‖₂²."""
        return 0.5 * np.sum(np.square(np.subtract(z, y)), axis=-1)  # type: ignore[no-any-return]

    def second_derivative(self, z: Array, y: Array) -> Array:
        """The identity."""
        shape = np.broadcast_shapes(np.shape(z), np.shape(y))
        return np.broadcast_to(np.eye(shape[-1]), (*shape, shape[-1])).copy()
