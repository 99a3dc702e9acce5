"""A loss with its derivative clipped: what is minimised when per-record gradients are clipped."""

from dataclasses import dataclass

import numpy as np

from hullabaloo.losses.base import Array, KernelCode, Loss, LossConstants, positive


@dataclass(frozen=True, slots=True)
class ClippedLoss(Loss):
    """The convex loss whose derivative is `clip(φ', ±c)`: φ where |φ'| ≤ c, continued by straight lines of slope ±c.

    With `[l, u]` the interval of z on which |φ'(z, y)| ≤ c (`φ.unclipped_range`), its value is `φ(z̄) + c|z − z̄|`, z̄ the
    point of [l, u] nearest to z. Clipping a squared loss gives Huber's; a logistic loss with c ≥ 1 stays itself.
    Lipschitz with constant c for every z, y; as smooth as φ, and for Poisson smooth with constant c + Y.

    Compiled kernels know it by φ's code; they take the clip beside it (`clipped_at`).

    >>> from hullabaloo.losses import Squared
    >>> float(ClippedLoss(Squared(), 0.5).value(3.0, 1.0))
    0.875
    """

    loss: Loss
    clip: float
    kind = "clipped"

    def __post_init__(self) -> None:
        positive(self.clip, "The clip of a loss's derivative")

    @property
    def name(self) -> str:
        """As φ is named, with the clip."""
        return f"{self.loss.name} clipped at {self.clip:g}"

    @property
    def kernel_code(self) -> KernelCode:
        """φ's."""
        return self.loss.kernel_code

    @property
    def kernel_parameter(self) -> float | Array:
        """φ's."""
        return self.loss.kernel_parameter

    @property
    def intercept_bounds(self) -> tuple[float, float]:
        """φ's."""
        return self.loss.intercept_bounds

    def value(self, z: Array, y: Array) -> Array:
        """`φ(z̄) + c|z − z̄|`."""
        nearest = np.clip(z, *self.loss.unclipped_range(self.clip, y))
        return self.loss.value(nearest, y) + self.clip * np.abs(z - nearest)

    def derivative(self, z: Array, y: Array) -> Array:
        """`clip(φ', ±c)`."""
        return np.clip(self.loss.derivative(z, y), -self.clip, self.clip)

    def second_derivative(self, z: Array, y: Array) -> Array:
        """φ'' where |φ'| < c, else 0."""
        inside = np.abs(self.loss.derivative(z, y)) < self.clip
        return np.where(inside, self.loss.second_derivative(z, y), 0.0)

    def _constants(self, size: float, targets: float, clip: float) -> LossConstants:
        """φ's own at this clip."""
        return self.loss.constants(size, targets, min(clip, float(self.clip)))

    def unclipped_range(self, clip: float, y: Array) -> tuple[Array, Array]:
        """φ's for a clip below this one, else every z."""
        if clip < self.clip:
            return self.loss.unclipped_range(clip, y)
        return np.full(np.shape(y), -np.inf), np.full(np.shape(y), np.inf)


def clipped_at(loss: Loss, clip: float) -> float:
    """The clip that a kernel must use, which knows `loss` by its code alone."""
    return min(clip, clipped_at(loss.loss, float(loss.clip))) if isinstance(loss, ClippedLoss) else clip
