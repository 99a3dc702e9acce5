"""The second-moments queries: noisy sums of squares of every column, in one release."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from hullabaloo.curator.exact import PRODUCT_BLOCK, blockwise, cells_exponent, quantised
from hullabaloo.curator.query import UNIT_ROUNDOFF, Array, NoisySum, PureNoisy, State, Sum
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.privacy import Neighbours


class Squares(Sum):
    """`Σ_i w_i x_ij²` for all columns j."""

    tier: ClassVar[int] = 2

    @cached_property
    def length(self) -> int:
        """p coordinates."""
        return self.facts.width

    @cached_property
    def contribution(self) -> float:
        """`b²`."""
        return self.facts.norm_linf**2

    def partial(self, rows: Rows) -> State:  # noqa: D102
        exponent = cells_exponent(self.facts) if self.is_private else None

        def squares(part: slice) -> Array:
            X, _ = quantised(rows, part, exponent)
            if isinstance(X, np.ndarray):
                return np.asarray(np.einsum("ij,ij->j", X, X))
            return np.asarray(X.multiply(X).sum(axis=0)).ravel()

        lattice = None if exponent is None else 2 * exponent
        return blockwise(rows.Y.shape[0], PRODUCT_BLOCK, (self.length,), lattice, squares)


@dataclass(frozen=True)
class SecondMomentsQuery(Squares, NoisySum):
    """`Σ_i w_i x_ij²` for all columns j, with Gaussian noise.

    **Guarantee.** Precondition: `|x_ij| ≤ b`, `‖x_i‖₂ ≤ B`, `0 ≤ w_i ≤ W`. A contribution `u = w x²` has coordinates in
    `[0, W b²]` and `‖u‖₂² = w² Σ x_j⁴ ≤ W² b² B²`, hence `‖u‖₂ ≤ W min(√p b², bB)`: the add-or-remove sensitivity. Two
    vectors with nonnegative coordinates have `‖u − v‖₂² ≤ ‖u‖₂² + ‖v‖₂²` and coordinates of u − v are within W b²: the
    replace-one sensitivity is `W min(√p b², √2 bB)`. Source: docs/algorithms.md.
    """

    name: ClassVar[str] = "second_moments"
    key_label: ClassVar[str] = "second_moments"

    @cached_property
    def stretch(self) -> float:  # type: ignore[override]
        """By which rounding lengthens `x`, or its longest coordinate."""
        entry, norm = rounded_bounds(self.facts)
        return max(entry / self.facts.norm_linf, norm / self.facts.norm_l2)

    @cached_property
    def record_sensitivity(self) -> float:
        """The bound of the guarantee; rounding lengthens `√w x` by at most half a cell a coordinate."""
        entry, norm = rounded_bounds(self.facts)
        pair = math.sqrt(2.0) if self.neighbours is Neighbours.REPLACE_ONE else 1.0
        return min(math.sqrt(self.length) * entry**2, pair * entry * norm)


@dataclass(frozen=True)
class LaplaceSecondMomentsQuery(Squares, PureNoisy):
    """`Σ_i w_i x_ij²` for all columns j, with Laplace noise: pure differential privacy.

    **Guarantee.** Precondition as for `SecondMomentsQuery`. A contribution `u = w x²` has coordinates in `[0, W b²]` and
    `‖u‖₁ = w ‖x‖₂²`, hence `‖u‖₁ ≤ W min(p b², B²)`: the add-or-remove sensitivity. Two vectors with nonnegative coordinates
    have `‖u − v‖₁ ≤ Σ max(u_j, v_j) ≤ min(‖u‖₁ + ‖v‖₁, p max_j(u_j, v_j))`: the replace-one sensitivity is `W min(p b², 2B²)`.
    A unit of m records moves the sum by at most m times that. Rounding of rows to the lattice and of the exact sum to doubles
    is charged. Noise of scale `Δ₁/ε` gives ε (Dwork, McSherry, Nissim and Smith 2006, Theorem 1). Mangold, Bellet, Salmon and
    Tommasi (2022) give each column noise of its own, of scale `b²/ε`, which is ε for each of p columns: divided among them,
    that is this release where `B² = p b²`, and more noise where rows are shorter.

    Attributes:
        epsilon: pure-DP cost of one answer; ∞ means that no noise is drawn.

    Source: 004, Estimating constants privately.
    """

    epsilon: float

    name: ClassVar[str] = "second_moments_laplace"
    key_label: ClassVar[str] = "second_moments_laplace"

    @cached_property
    def sensitivity(self) -> float:
        """l1 sensitivity of the numbers that noise is added to."""
        entry, norm = rounded_bounds(self.facts)
        exact = self.facts.records_per_unit * min(self.length * entry**2, self.copies * norm**2)
        return exact * (1.0 + 8.0 * UNIT_ROUNDOFF) + 8.0 * UNIT_ROUNDOFF * self.bound * self.length


def rounded_bounds(facts: RowFacts) -> tuple[float, float]:
    """Bounds of a coordinate and of the l2 norm of `√w x`, rounded to the lattice by at most half a cell a coordinate."""
    root, cell = math.sqrt(facts.max_weight), 2.0 ** (cells_exponent(facts) - 1)
    norm = root * facts.norm_l2 * (1.0 + (facts.width + 16) * UNIT_ROUNDOFF) + cell * math.sqrt(facts.width)
    return root * facts.norm_linf + cell, norm
