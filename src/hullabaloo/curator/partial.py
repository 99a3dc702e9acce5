"""The partial query: the noisy sum of one coordinate's clipped derivatives."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, final

from hullabaloo.curator.query import NoisySum
from hullabaloo.curator.threads import CELLS
from hullabaloo.losses import Loss
from hullabaloo.privacy import Neighbours


@final
@dataclass(frozen=True, slots=True)
class PartialQuery(NoisySum):
    """`Σ_i w_i clip(φ'_i x_ij / C, ±1)` of one coordinate j, `φ'_i = φ'(⟨x_i, θ⟩ + o_i, y_i)`, with Gaussian noise.

    **Guarantee.** Precondition: `0 ≤ w_i ≤ W` (enforced by the domain's encoding); j, C > 0 and θ are functions of earlier
    releases. A contribution is a number within ±W whatever the record, j, C and θ are: so each of them may be chosen anew for
    every answer at the same noise and price. An undefined derivative, or an absent cell, counts as 0. Replacing a record
    moves the sum by at most `2W`, adding or removing one by at most W. Clipping comes before the weight, and rounding to the
    nearest double is monotone, so no rounding lengthens a contribution but that to the lattice, by at most half a
    cell: charged. The sum is exact. A record's prediction is moved by the same public increments as every other's,
    so a contribution depends on its record alone. Source: docs/algorithms.md; Mangold, Bellet, Salmon and Tommasi (2022), in
    units of each coordinate's clip and with Gaussian-DP accounting.
    """

    loss: Loss

    name: ClassVar[str] = "partial"
    key_label: ClassVar[str] = "partial"
    length = 1
    contribution = 1.0

    @property
    def exponent(self) -> int:
        """Exponent of the lattice of contributions: the largest is below `2^37` cells."""
        return math.frexp(self.facts.max_weight)[1] - CELLS

    @property
    def record_sensitivity(self) -> float:
        """`2W` (replace-one) or W (add-or-remove), rounding included."""
        largest = self.facts.max_weight + 2.0 ** (self.exponent - 1)
        return largest * (2.0 if self.neighbours is Neighbours.REPLACE_ONE else 1.0)

    def to_dict(self) -> dict[str, Any]:
        """The query with its loss."""
        return {**super(PartialQuery, self).to_dict(), "loss": self.loss.to_dict()}
