"""The objective of a loss of several predictions at once, θ being a matrix flattened by rows."""

import math
from typing import final

import numpy as np
import numpy.typing as npt

from hullabaloo.data.source import Rows
from hullabaloo.erm.objective import Local, Objective
from hullabaloo.erm.shape import Shape
from hullabaloo.losses import VectorLoss

Array = npt.NDArray[np.float64]
_BLOCK = 1 << 12


@final
class VectorObjective(Objective):
    """`F` for θ of shape (p, k), in plain doubles throughout.

    Sums go block by block: each coordinate of the gradient errs by at most some `(4096 + N/4096 + p) u` of the sum of its
    terms' sizes, which is enough for distances of `1e-6 L/λ` up to a thousand million rows.
    """

    def __init__(
        self, rows: Rows, loss: VectorLoss, clip: float, *, squares: Array, linear: Array, shape: Shape
    ) -> None:
        self.X, self.Y, self.loss, self.clip = rows.X, rows.Y, loss, clip
        self.weight = None if rows.weight is None else rows.weight[:, None]
        self.offset = None if rows.offset is None else rows.offset[:, None]
        self.squares, self.linear, self.shape = squares, linear, shape

    def image(self, move: Array) -> Array:  # noqa: D102
        product: Array = self.X @ move.reshape(self.X.shape[1], -1)
        return product

    def predictions(self, theta: Array) -> Array:  # noqa: D102
        z = self.image(theta)
        return z if self.offset is None else z + self.offset

    def at(self, theta: Array, z: Array) -> Local:  # noqa: D102
        second = self.loss.second_derivative(z, self.Y)
        if self.weight is not None:
            second = second * self.weight[:, :, None]
        return Local(theta, z, self._gradient(theta, z), second)

    def hessian(self, local: Local) -> Array:  # noqa: D102
        p, k = self.X.shape[1], self.Y.shape[1]
        total = np.zeros((p, k, p, k))
        for start in range(0, len(self.Y), _BLOCK):
            part = slice(start, start + _BLOCK)
            X = self.X[part] if isinstance(self.X, np.ndarray) else self.X[part].toarray()
            for a in range(k):
                for b in range(a, k):
                    product = X.T @ (X * local.second[part, a, b][:, None])
                    total[:, a, :, b] += product
                    if a != b:
                        total[:, b, :, a] += product
        matrix: Array = total.reshape(p * k, p * k)
        matrix[np.diag_indices(p * k)] += self.squares
        return 0.5 * (matrix + matrix.T)

    def curve(self, local: Local, direction: Array) -> Array:  # noqa: D102
        bent = np.einsum("iab,ib->ia", local.second, self.image(direction))
        return np.asarray(self.X.T @ bent).ravel() + self.squares * direction

    def slope_along(self, local: Local, move: Array, length: float, image: Array) -> float:  # noqa: D102
        data = float(np.sum(self._slopes(local.z + length * image) * image))
        return data + float((self.squares * (local.theta + length * move) + self.linear) @ move)

    def careful_gradient(self, theta: Array, low: Array) -> tuple[Array, Array]:  # noqa: D102
        point = theta + low
        return self._gradient(point, self.predictions(point)), np.zeros_like(theta)

    def _slopes(self, z: Array, part: slice = slice(None)) -> Array:
        slopes = self.loss.derivative(z, self.Y[part])
        if math.isfinite(self.clip):
            size = np.sqrt(np.sum(slopes**2, axis=1, keepdims=True))
            slopes = slopes * np.minimum(1.0, self.clip / np.maximum(size, 1e-300))
        return slopes if self.weight is None else slopes * self.weight[part]

    def _gradient(self, theta: Array, z: Array) -> Array:
        total = np.zeros((self.X.shape[1], self.Y.shape[1]))
        for start in range(0, len(self.Y), _BLOCK):
            part = slice(start, start + _BLOCK)
            total += np.asarray(self.X[part].T @ self._slopes(z[part], part))
        return total.ravel() + self.squares * theta + self.linear
