"""Encoded rows and the public facts about them: what the room with the data hands to the curator."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class RowFacts:
    """Public facts of every encoded row, in the unit domain; they follow from the declared domain alone.

    Numeric columns lie in [−1, 1], a categorical's one-hot columns have norm ≤ 1, and the intercept column, when there
    is one, is the last column and equals 1. The norms bound ``‖x‖`` of an encoded row *including* that column. Rows are
    ``weighted`` where the domain declares a weight or a unit, even where no weight exceeds 1. ``offset_bound`` bounds
    the magnitude of a record's known offset (the logarithm of its exposure), 0 where there is none.

    **Guarantee.** Precondition: the row was made by ``Encoding.encode`` of the same encoding. Claim: ``‖x‖_q ≤ norm_q``
    (up to a relative 1e-12 of float rounding, which sensitivities add as numeric slack) and ``|y_j| ≤ 1`` for
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


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The private encoded rows. Every number is finite and inside the declared bounds; no row was ever dropped.

    ``X`` is (n, p) float64, C-contiguous or a ``scipy.sparse.csr_array``; ``Y`` is (n, k) with each target scaled into
    [−1, 1]; ``weight`` is (n,) in [0, max_weight], or None where every row counts once. A record beyond its
    unit's share has weight 0. ``offset`` is (n,), added to every prediction of the record, or None.
    """

    X: Any
    Y: NDArray[np.float64]
    weight: NDArray[np.float64] | None = None
    offset: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        return "Rows(private)"
