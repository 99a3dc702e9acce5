"""The spread query: the noisy second moments of centred records, each shortened to a public length."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hullabaloo.curator.exact import magic_number
from hullabaloo.curator.moments import exact_products, isometric
from hullabaloo.curator.quantised import BITS
from hullabaloo.curator.query import UNIT_ROUNDOFF, NoisySum
from hullabaloo.curator.step_kernels import shortened_rows
from hullabaloo.data.source import Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.privacy import Neighbours

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
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

    @property
    def size(self) -> int:
        """q, the number of columns but for the constant one."""
        return self.facts.width - self.facts.intercept

    @property
    def length(self) -> int:
        """`q(q + 1)/2` isometric coordinates."""
        return self.size * (self.size + 1) // 2

    @property
    def contribution(self) -> float:
        """1 bounds every isometric coordinate, but for rounding."""
        return self.stretch**2

    @property
    def exponent(self) -> int:
        """Exponent of the lattice of `√w t`: an entry is at most 2^21 cells."""
        return math.frexp(math.sqrt(self.facts.max_weight))[1] - BITS

    @property
    def stretch(self) -> float:
        """`1 + η`."""
        moved = math.sqrt(self.size) * 2.0 ** (self.exponent - 1)
        return 1.0 + moved / math.sqrt(self.facts.max_weight) + (self.size + 32) * UNIT_ROUNDOFF

    @property
    def record_sensitivity(self) -> float:
        """`√2 W` (replace-one) or W (add-or-remove), rounding included."""
        copies = math.nextafter(math.sqrt(2.0), 2.0) if self.neighbours is Neighbours.REPLACE_ONE else 1.0
        return copies * self.stretch**2 * self.facts.max_weight


def exact_spread(rows: Rows, query: SpreadQuery, centre: Array, reach: float) -> Array:
    """The exact isometric coordinates of the sum, diagonal first, then the upper triangle by rows; PRIVATE."""
    centre = np.ascontiguousarray(centre, dtype=np.float64)
    if centre.shape != (query.size,) or not np.all(np.isfinite(centre)) or not 0.0 < reach < math.inf:
        raise InvalidParameter(
            f"The spread of {query.size} columns was asked around a centre of shape {centre.shape} within {reach!r}. Pass one "
            "finite number for each column but the constant one, and a positive finite length."
        )
    root, magic = np.zeros(0) if rows.weight is None else np.sqrt(rows.weight), magic_number(query.exponent)

    def fill(part: slice, out: Array) -> None:
        X = rows.X[part]
        X = X if isinstance(X, np.ndarray) else X.toarray()
        shortened_rows(X, root[part], centre, np.ones(query.size), reach, magic, out)

    total = exact_products(rows.Y.shape[0], query.size, query.exponent, fill)
    return np.clip(isometric(total), -query.bound, query.bound)
