"""Encoded rows and the public facts about them: what the room with the data hands to the curator."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hullabaloo.errors import InvalidParameter

MOST_PER_UNIT = 1 << 15
"""Records of a unit up to which what they contribute together is summed exactly (`curator/exact.py`)."""


@dataclass(frozen=True, slots=True)
class RowFacts:
    """Public facts of every encoded row, in the unit domain; they follow from the declared domain alone.

    Numeric columns lie in [−1, 1], a categorical's one-hot columns have norm ≤ 1, and the intercept column, when there
    is one, is the last column and equals 1. The norms bound ``‖x‖`` of an encoded row *including* that column. Rows are
    ``weighted`` where the domain declares a weight or a unit; a declared weight is over half its bound, so that ``max_weight`` is 2. ``offset_bound`` bounds
    the magnitude of a record's known offset (the logarithm of its exposure), 0 where there is none.

    **Guarantee.** Precondition: the row was made by ``Encoding.encode`` of the same encoding. Claim: ``‖x‖_q`` is at most
    the number that ``norm_q`` is rounded from (by a few units of 2^-53, which sensitivities charge) and ``|y_j| ≤ 1``,
    whatever the cells held. Proof: ``data/layout.py`` (structure) and ``data/kernels.py`` (clipping).
    """

    columns: tuple[str, ...]
    intercept: bool
    norm_l1: float
    norm_l2: float
    norm_linf: float
    targets: tuple[str, ...]
    max_weight: float = 1.0
    records_per_unit: int = 1
    weighted: bool = False
    offset_bound: float = 0.0

    @property
    def alike(self) -> bool:
        """Whether every row counts once: none carries a declared weight, or a 0 for being beyond its unit's share."""
        return not self.weighted and self.max_weight == 1.0 and self.records_per_unit == 1

    @property
    def width(self) -> int:
        """Number of encoded columns, the intercept included."""
        return len(self.columns)

    def restricted(self, count: int) -> "RowFacts":
        """The facts of rows seen through any ``count`` of their columns, and through the intercept, last, if there is one.

        **Guarantee.** Claim: whichever distinct columns they are, ``‖·‖_q`` of such a row is at most the result's ``norm_q``. Proof: its
        entries are some of the row's, so its norms are at most the row's; ``count`` of them are at most ``norm_linf``
        each and the intercept is 1, so ``‖·‖₁ ≤ count·b + 1`` and ``‖·‖₂ ≤ √(count·b² + 1)`` (without the 1 where there is none).
        """
        slopes = self.width - self.intercept
        if not 0 <= count <= slopes:
            raise InvalidParameter(
                f"A view of {count!r} columns was asked, but rows have {slopes} beside the intercept. Ask for as many at most."
            )
        largest, constant = self.norm_linf, float(self.intercept)
        return replace(
            self,
            columns=(*(f"column {number}" for number in range(count)), *self.columns[slopes:]),
            norm_l1=min(self.norm_l1, count * largest + constant),
            norm_l2=min(self.norm_l2, math.sqrt(count * largest**2 + constant)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The private encoded rows. Every number is finite and inside the declared bounds; no row was ever dropped.

    ``X`` is (n, p) float64, C-contiguous (Fortran-contiguous where that was asked for) or a ``scipy.sparse.csr_array``; ``Y`` is (n, k) with each target scaled into
    [−1, 1]; ``weight`` is (n,) in [0, max_weight], or None where every row counts once. A record beyond its
    unit's share has weight 0. ``offset`` is (n,), added to every prediction of the record, or None. ``unit`` is (n,),
    the number of each record's unit, by first record, or None where a unit has one record at most; in a stream (n, 4), its hash.
    ``held`` is what questions have made of these rows (`kept`); other rows begin without.
    """

    X: Any
    Y: NDArray[np.float64]
    weight: NDArray[np.float64] | None = None
    offset: NDArray[np.float64] | None = None
    unit: NDArray[np.int64] | None = None
    held: dict[str, tuple[Any, ...]] = field(default_factory=dict, init=False)

    @property
    def width(self) -> int:
        """The number of encoded columns."""
        return int(self.X.shape[1])

    def kept(self, name: str, place: Any, make: Callable[[], Any]) -> Any:
        """What was made under the name at this place, or is made now; that of another place is given back first. PRIVATE."""
        found = self.held.pop(name, ())  # nobody else finds it meanwhile, who may ask for another place
        if found[:1] != (place,):
            found = ()
            found = place, make()
        self.held[name] = found
        return found[1]

    def __repr__(self) -> str:
        return "Rows(private)"
