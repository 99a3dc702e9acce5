"""The spread query: the noisy second moments of centred records, each shortened to a public length."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hullabaloo.curator.exact import ExactSum, magic_number
from hullabaloo.curator.given import number, numbers
from hullabaloo.curator.moments import isometric, products_of, symmetric
from hullabaloo.curator.quantised import BITS
from hullabaloo.curator.query import UNIT_ROUNDOFF, Array, NoisySum
from hullabaloo.curator.step_kernels import shortened_rows
from hullabaloo.data.source import Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.privacy import Neighbours


@dataclass(frozen=True)
class SpreadQuery(NoisySum):
    """`Σ_i w_i t_i t_iᵀ`, `t = (x_s − m) · min(1/R, 1/‖x_s − m‖₂)`, the constant column left out, in isometric coordinates.

    Diagonal entries get N(0, σ²), each off-diagonal pair one draw N(0, σ²/2) used twice (as in `MomentsQuery`). The noise of
    the matrix in the units of x is R²σ: where records lie within R of a centre that is much less than their declared bound.

    **Guarantee.** Precondition: `0 ≤ w_i ≤ W` (enforced by the domain's encoding); m and R > 0 are functions of earlier
    releases. `‖t‖₂ ≤ 1` whatever the record, m and R are, so each of them may be chosen anew for every answer. *Add-or-remove*:
    `‖w ttᵀ‖_F = w‖t‖² ≤ W`. *Replace-one*: `‖w ttᵀ − v ssᵀ‖_F² = w²‖t‖⁴ + v²‖s‖⁴ − 2wv⟨t,s⟩² ≤ 2W²`. A record on the centre,
    or at a distance that overflows, counts as 0. `√w t` is rounded to a lattice (quantised.py), which with the float rounding
    of lengths and products lengthens it to at most `√W(1 + η)`, charged as `(1 + η)²`; products of lattice points are exact in
    doubles and summed exactly. Source: docs/second-order.md.
    """

    name: ClassVar[str] = "spread"
    key_label: ClassVar[str] = "spread"

    @cached_property
    def size(self) -> int:
        """q, the number of columns but for the constant one."""
        return self.facts.width - self.facts.intercept

    @cached_property
    def length(self) -> int:
        """`q(q + 1)/2` isometric coordinates."""
        return self.size * (self.size + 1) // 2

    @cached_property
    def contribution(self) -> float:
        """1 bounds every isometric coordinate, but for rounding."""
        return self.stretch**2

    @cached_property
    def exponent(self) -> int:
        """Exponent of the lattice of `√w t`: an entry is at most 2^21 cells."""
        return math.frexp(math.sqrt(self.facts.max_weight))[1] - BITS

    @cached_property
    def stretch(self) -> float:
        """`1 + η`."""
        moved = math.sqrt(self.size) * 2.0 ** (self.exponent - 1)
        return 1.0 + moved / math.sqrt(self.facts.max_weight) + (self.size + 32) * UNIT_ROUNDOFF

    @cached_property
    def record_sensitivity(self) -> float:
        """`√2 W` (replace-one) or W (add-or-remove), rounding included."""
        copies = math.nextafter(math.sqrt(2.0), 2.0) if self.neighbours is Neighbours.REPLACE_ONE else 1.0
        return copies * self.stretch**2 * self.facts.max_weight

    def question(self, *, centre: Any, reach: Any) -> tuple[Array, float]:
        """m and R."""
        point, longest = numbers(centre), number(reach)
        if point.shape != (self.size,) or not np.all(np.isfinite(point)) or not 0.0 < longest < math.inf:
            raise InvalidParameter(
                f"The spread of {self.size} columns was asked around a centre of shape {point.shape} within {longest!r}. Pass one "
                "finite number for each column but the constant one, and a positive finite length."
            )
        return point, longest

    def partial(self, rows: Rows, centre: Array, reach: float) -> ExactSum:  # noqa: D102
        root, magic = np.zeros(0) if rows.weight is None else np.sqrt(rows.weight), magic_number(self.exponent)

        def fill(part: slice, out: Array) -> None:
            X = rows.X[part]
            X = X if isinstance(X, np.ndarray) else X.toarray()
            shortened_rows(X, root[part], centre, np.ones(self.size), reach, magic, out)

        return products_of(rows.Y.shape[0], self.size, self.exponent, fill)

    def total(self, state: Any) -> Array:  # noqa: D102
        return np.clip(isometric(state.value(math.inf)), -self.bound, self.bound)

    def read(self, noisy: Array, centre: Array, reach: float) -> Array:  # noqa: D102
        return symmetric(noisy, self.size) * (reach**2 / self.records)
