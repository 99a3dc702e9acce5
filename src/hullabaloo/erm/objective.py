"""The objective that minimiser queries minimise inside the curator, with everything about it that a method may ask."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hullabaloo.curator.known import Array, kernel_of
from hullabaloo.data.source import Rows
from hullabaloo.erm.doubled import dense_doubled, sparse_doubled
from hullabaloo.erm.shape import Shape
from hullabaloo.erm.smooth_kernels import along, slopes
from hullabaloo.geometry.kernels import two_product
from hullabaloo.losses import Loss, VectorLoss

_BLOCK = 1 << 12
_EMPTY = np.zeros(0)


class Objective(ABC):
    """`F(θ) = Σ_i w_i φ_c(⟨x_i, θ⟩ + o_i, y_i) + ½ Σ_j a_j θ_j² + ⟨b, θ⟩ + ψ(θ)` over C; PRIVATE.

    `φ_c` is φ with its derivative clipped. S is everything but ψ and C; `a_j ≥ λ > 0` makes F λ-strongly convex. A matrix θ is
    passed flattened by rows. What depends on a point is computed in plain doubles, but for `careful_gradient`.
    """

    def __init__(self, rows: Rows, clip: float, squares: Array, linear: Array, shape: Shape) -> None:
        self.X: Any = rows.X
        self.clip, self.squares, self.linear, self.shape = clip, squares, linear, shape
        self.weight = _EMPTY if rows.weight is None else rows.weight
        self.offset = _EMPTY if rows.offset is None else rows.offset

    @property
    def dimension(self) -> int:
        """Number of coordinates of θ."""
        return self.linear.size

    def image(self, move: Array) -> Array:
        """What a move adds to the predictions of all records."""
        return self.X @ move  # type: ignore[no-any-return]

    def predictions(self, theta: Array) -> Array:
        """`⟨x_i, θ⟩ + o_i`."""
        z = self.image(theta)
        return z + self.offset if self.offset.size else z

    def slope_along(self, local: "Local", move: Array, length: float, image: Array) -> float:
        """`⟨∇S(θ + t·move), move⟩`, `image` being that of the move."""
        straight = float((self.squares * (local.theta + length * move) + self.linear) @ move)
        return self.data_along(local.z, image, length) + straight

    @abstractmethod
    def data_along(self, z: Array, image: Array, length: float) -> float:
        """The records' part of it."""

    @abstractmethod
    def at(self, theta: Array, z: Array) -> "Local":
        """S around θ, whose predictions are z."""

    @abstractmethod
    def hessian(self, local: "Local") -> Array:
        """`Σ w φ'' x xᵀ + diag(a)`, (p, p)."""

    @abstractmethod
    def curve(self, local: "Local", direction: Array) -> Array:
        """The Hessian times a direction."""

    @abstractmethod
    def careful_gradient(self, theta: Array, low: Array) -> tuple[Array, Array]:
        """∇S at θ + low, as precise as the distance in question needs: a doubled number for each coordinate."""


@dataclass(frozen=True, slots=True, eq=False)
class Local:
    """S at one point: predictions, gradient and the records' `w φ''`, (n,) or (n, k, k)."""

    theta: Array
    z: Array
    gradient: Array
    second: Array


class ScalarObjective(Objective):
    """The objective of a loss of one prediction, for the first target; careful gradients are in doubled precision."""

    def __init__(self, rows: Rows, loss: Loss, clip: float, *, squares: Array, linear: Array, shape: Shape) -> None:
        super().__init__(rows, clip, squares, linear, shape)
        self.y = np.ascontiguousarray(rows.Y[:, 0])
        self.code, self.numbers = kernel_of(loss)

    def at(self, theta: Array, z: Array) -> Local:  # noqa: D102
        first, second = np.empty_like(z), np.empty_like(z)
        slopes(z, self.y, self.weight, self.clip, self.code, self.numbers, first, second)
        return Local(theta, z, self.X.T @ first + self.squares * theta + self.linear, second)

    def hessian(self, local: Local) -> Array:  # noqa: D102
        p = self.dimension
        total = np.zeros((p, p))
        root = np.sqrt(local.second)
        for part in blocks(root.size):
            total += product(self.X[part], root[part])
        total[np.diag_indices(p)] += self.squares
        return total

    def curve(self, local: Local, direction: Array) -> Array:  # noqa: D102
        return self.X.T @ (local.second * (self.X @ direction)) + self.squares * direction  # type: ignore[no-any-return]

    def data_along(self, z: Array, image: Array, length: float) -> float:  # noqa: D102
        return float(along(z, image, length, self.y, self.weight, self.clip, self.code, self.numbers))

    def careful_gradient(self, theta: Array, low: Array) -> tuple[Array, Array]:  # noqa: D102
        total, rest = np.zeros(self.dimension), np.zeros(self.dimension)
        for part in blocks(self.y.size):
            X, about = self.X[part], (self.y[part], self.offset[part], self.weight[part])
            block, block_rest = np.zeros(self.dimension), np.zeros(self.dimension)
            tail = (theta, low, self.clip, self.code, self.numbers, block, block_rest)
            if isinstance(X, np.ndarray):
                dense_doubled(X, *about, *tail)
            else:
                sparse_doubled(X.data, X.indices, X.indptr, *about, *tail)
            total, rest = doubled_sum(total, rest, block, block_rest)
        total, rest = doubled_sum(total, rest, *two_product(self.squares, theta))
        total, rest = doubled_sum(total, rest, self.squares * low, np.zeros_like(low))
        return doubled_sum(total, rest, self.linear, np.zeros_like(low))


class VectorObjective(Objective):
    """`F` for θ of shape (p, k), in plain doubles throughout.

    Sums go block by block: each coordinate of the gradient errs by at most some `(4096 + N/4096 + p) u` of the sum of its
    terms' sizes, which is enough for distances of `1e-6 L/λ` up to a thousand million rows.
    """

    def __init__(
        self, rows: Rows, loss: VectorLoss, clip: float, *, squares: Array, linear: Array, shape: Shape
    ) -> None:
        super().__init__(rows, clip, squares, linear, shape)
        self.Y, self.loss = rows.Y, loss
        self.weight, self.offset = self.weight[:, None], self.offset[:, None]

    def image(self, move: Array) -> Array:  # noqa: D102
        return super().image(move.reshape(self.X.shape[1], -1))

    def at(self, theta: Array, z: Array) -> Local:  # noqa: D102
        second = self.loss.second_derivative(z, self.Y)
        if self.weight.size:
            second = second * self.weight[:, :, None]
        return Local(theta, z, self._gradient(theta, z), second)

    def hessian(self, local: Local) -> Array:  # noqa: D102
        p, k = self.X.shape[1], self.Y.shape[1]
        total = np.zeros((p, k, p, k))
        for part in blocks(len(self.Y)):
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

    def data_along(self, z: Array, image: Array, length: float) -> float:  # noqa: D102
        return float(np.sum(self._slopes(z + length * image) * image))

    def careful_gradient(self, theta: Array, low: Array) -> tuple[Array, Array]:  # noqa: D102
        point = theta + low
        return self._gradient(point, self.predictions(point)), np.zeros_like(theta)

    def _slopes(self, z: Array, part: slice = slice(None)) -> Array:
        slopes = self.loss.derivative(z, self.Y[part])
        if math.isfinite(self.clip):
            size = np.sqrt(np.sum(slopes**2, axis=1, keepdims=True))
            slopes = slopes * np.minimum(1.0, self.clip / np.maximum(size, 1e-300))
        return slopes * self.weight[part] if self.weight.size else slopes

    def _gradient(self, theta: Array, z: Array) -> Array:
        total = np.zeros((self.X.shape[1], self.Y.shape[1]))
        for part in blocks(len(self.Y)):
            total += np.asarray(self.X[part].T @ self._slopes(z[part], part))
        return total.ravel() + self.squares * theta + self.linear


def blocks(rows: int, size: int = _BLOCK) -> Iterator[slice]:
    """The rows, so many at a time."""
    return (slice(start, start + size) for start in range(0, rows, size))


def product(X: Any, root: Array) -> Array:
    """`Σ root² x xᵀ`."""
    if isinstance(X, np.ndarray):
        block = X * root[:, None]
        return block.T @ block
    sparse = X.multiply(root[:, None]).tocsr()
    return (sparse.T @ sparse).toarray()  # type: ignore[no-any-return]


def doubled_sum(a: Array, a_low: Array, b: Array, b_low: Array) -> tuple[Array, Array]:
    """The sum of doubled numbers."""
    s = a + b
    t = s - a
    low = ((a - (s - t)) + (b - t)) + (a_low + b_low)
    high = s + low
    return high, low - (high - s)
