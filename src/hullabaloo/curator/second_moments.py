"""The second-moments query: noisy sums of squares of every column, in one release."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hullabaloo.curator.exact import ExactSum
from hullabaloo.curator.quantised import PRODUCT_BLOCK, cells_exponent, quantised
from hullabaloo.curator.query import UNIT_ROUNDOFF, NoisySum
from hullabaloo.data.source import Rows
from hullabaloo.privacy import Neighbours

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SecondMomentsQuery(NoisySum):
    """`Σ_i w_i x_ij²` for all columns j, with Gaussian noise.

    **Guarantee.** Precondition: `|x_ij| ≤ b`, `‖x_i‖₂ ≤ B`, `0 ≤ w_i ≤ W`. A contribution `u = w x²` has coordinates in
    `[0, W b²]` and `‖u‖₂² = w² Σ x_j⁴ ≤ W² b² B²`, hence `‖u‖₂ ≤ W min(√p b², bB)`: the add-or-remove sensitivity. Two
    vectors with nonnegative coordinates have `‖u − v‖₂² ≤ ‖u‖₂² + ‖v‖₂²` and coordinates of u − v are within W b²: the
    replace-one sensitivity is `W min(√p b², √2 bB)`. Source: docs/algorithms.md.
    """

    name: ClassVar[str] = "second_moments"

    @property
    def length(self) -> int:
        """p coordinates."""
        return self.facts.width

    @property
    def contribution(self) -> float:
        """`b²`."""
        return self.facts.norm_linf**2

    @property
    def exponent(self) -> int:
        """Exponent of the lattice that rows are rounded to."""
        return cells_exponent(self.facts)

    @property
    def record_sensitivity(self) -> float:
        """The bound of the guarantee; rounding lengthens `√w x` by at most half a cell a coordinate."""
        facts, root = self.facts, math.sqrt(self.facts.max_weight)
        cell = 2.0 ** (self.exponent - 1)
        entry = root * facts.norm_linf + cell
        norm = root * facts.norm_l2 * (1.0 + (self.length + 16) * UNIT_ROUNDOFF) + cell * math.sqrt(self.length)
        pair = math.sqrt(2.0) if self.neighbours is Neighbours.REPLACE_ONE else 1.0
        return min(math.sqrt(self.length) * entry**2, pair * entry * norm)


def exact_second_moments(rows: Rows, query: SecondMomentsQuery) -> Array:
    """The exact sums of squares; PRIVATE."""
    noisy = math.isfinite(query.mu)
    total = ExactSum((query.length,), 2 * query.exponent)
    plain = np.zeros(query.length)
    for start in range(0, rows.Y.shape[0], PRODUCT_BLOCK):
        X, _ = quantised(rows, slice(start, start + PRODUCT_BLOCK), query.exponent if noisy else None)
        block = (
            np.einsum("ij,ij->j", X, X) if isinstance(X, np.ndarray) else np.asarray(X.multiply(X).sum(axis=0)).ravel()
        )
        if noisy:
            total.add(block)
        else:
            plain += block
    return total.value(query.bound) if noisy else plain
