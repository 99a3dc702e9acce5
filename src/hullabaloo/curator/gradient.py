"""The gradient query: the noisy mean of clipped per-record gradients of a linear model."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hullabaloo.curator.gradient_kernels import dense_gradient, matrix_gradient, sparse_gradient, sparse_matrix_gradient
from hullabaloo.curator.known import coefficients
from hullabaloo.curator.query import UNIT_ROUNDOFF, Array, NoisySum, State
from hullabaloo.data.source import Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import AnyLoss, VectorLoss

_BLOCK = 1 << 16  # rows that a thread takes at once


@dataclass(frozen=True)
class GradientQuery(NoisySum):
    """`Σ_i w_i clip(φ'(z_i, y_i), ±c) x_i`, `z_i = ⟨x_i, θ⟩ + o_i`, released with Gaussian noise and divided by the count.

    For a loss of k predictions θ is (p, k), and the sum is of `w_i x_i ⊗ clip(∇φ)`, `‖∇φ‖₂` shortened to c.

    **Guarantee.** Precondition: `‖x_i‖₂ ≤ B` and `0 ≤ w_i ≤ W` (enforced by the domain's encoding), θ is a function of
    earlier releases. Every contribution has l2 (Frobenius) norm at most `G = W c B` whatever θ, y, x and the offset o
    are, because the gradient of a linear model's loss is a scalar (a k-vector) times x: `‖x ⊗ g‖_F = ‖x‖₂ ‖g‖₂`. An
    undefined derivative counts as 0. Replacing a record moves the sum by at most `2G`, adding or removing one by at most `G`.
    Computed contributions differ from the formula by float rounding of products, of the row's norm and of the shortened ∇φ
    (together at most a factor `1 + (p + k/2 + 10)u`, charged as `1 + (pk + 16)u`), and by rounding to the lattice (at most
    `√(pk) · pitch/2`); both are charged, and their sum is exact. Clipping φ' is the derivative of a convex loss again.
    Source: docs/algorithms.md; Bassily, Smith and Thakurta (2014).
    """

    loss: AnyLoss
    clip: float

    name: ClassVar[str] = "gradient"
    key_label: ClassVar[str] = "gradient"
    tells: ClassVar[tuple[str, ...]] = ("loss", "clip")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.clip > 0.0 and math.isfinite(self.clip)):
            raise InvalidParameter(
                f"Per-record derivatives need a positive finite clip, but clip = {self.clip!r} was asked. Without it one record could move the gradient without limit."
            )

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Of θ and of the gradient: (p,), or (p, k) for a loss of k predictions."""
        p = self.facts.width
        return (p, len(self.facts.targets)) if isinstance(self.loss, VectorLoss) else (p,)

    @cached_property
    def length(self) -> int:
        """p coordinates, pk for a loss of k predictions."""
        return math.prod(self.shape)

    @cached_property
    def contribution(self) -> float:
        """`c · max|x_ij|`."""
        return self.clip * self.facts.norm_linf

    @cached_property
    def record_sensitivity(self) -> float:
        """`2 W c B` (replace-one) or `W c B` (add-or-remove), rounding included."""
        norm = self.facts.max_weight * self.clip * self.facts.norm_l2 * (1.0 + (self.length + 16) * UNIT_ROUNDOFF)
        norm += math.sqrt(self.length) * 2.0 ** (self.exponent - 1)
        return norm * self.copies

    def question(self, theta: Any) -> tuple[Array]:
        """θ."""
        return (coefficients(theta, self.shape, "a gradient"),)

    def partial(self, rows: Rows, theta: Array) -> State:  # noqa: D102
        if not self.is_private:
            return _float_gradient(rows, self, theta)
        matrix = theta.ndim == 2
        turned = matrix and isinstance(rows.X, np.ndarray)  # each prediction's coefficients in one piece
        theta = np.ascontiguousarray(theta.T if turned else theta, dtype=np.float64)
        settings = (theta, self.clip, *self.kernel)
        dense = matrix_gradient if matrix else dense_gradient, settings
        sparse = sparse_matrix_gradient if matrix else sparse_gradient, settings
        Y = np.ascontiguousarray(rows.Y if matrix else rows.Y[:, 0])
        total = self.added_up(rows, Y, theta.shape, _BLOCK, dense, sparse)
        if turned:
            total.high, total.low = np.ascontiguousarray(total.high.T), np.ascontiguousarray(total.low.T)
        return total


def _float_gradient(rows: Rows, query: GradientQuery, theta: Array) -> Array:
    """The same without noise, hence without rounding to the lattice."""
    with np.errstate(all="ignore"):
        z = np.asarray(rows.X @ theta)
        if rows.offset is not None:
            z = z + (rows.offset[:, None] if z.ndim > 1 else rows.offset)
        if isinstance(query.loss, VectorLoss):
            slope = query.loss.derivative(z, rows.Y)
            slope = np.where(np.isfinite(slope).all(axis=1, keepdims=True), slope, 0.0)
            length = np.linalg.norm(slope, axis=1, keepdims=True)
            slope = slope * (query.clip / np.maximum(length, query.clip))
        else:
            slope = query.loss.derivative(z, rows.Y[:, 0])
            slope = np.clip(np.where(np.isnan(slope), 0.0, slope), -query.clip, query.clip)
    if rows.weight is not None:
        slope = slope * (rows.weight[:, None] if slope.ndim > 1 else rows.weight)
    return np.asarray(rows.X.T @ slope)
