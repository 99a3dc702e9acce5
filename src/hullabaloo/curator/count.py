"""The count query: how many records there are, where that is private."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hullabaloo.curator.query import Array, NoisySum
from hullabaloo.data.source import Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.privacy import Neighbours


@dataclass(frozen=True)
class CountQuery(NoisySum):
    """The number of records that count (of positive weight, within their unit's share), with Gaussian noise.

    **Guarantee.** Adding or removing a record changes the count by at most 1; so does replacing one whose weight is
    positive by one whose weight is 0. A unit of at most m kept records changes it by at most m. Where every record
    counts and replace-one is the relation, n is public and the query is refused: no budget need be spent on it.
    """

    name: ClassVar[str] = "count"
    key_label: ClassVar[str] = "count"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.neighbours is Neighbours.REPLACE_ONE and self.facts.alike:
            raise InvalidParameter(
                "A private count was asked, but under replace-one neighbours the number of records is public. Use the "
                "length of the table, or choose add-or-remove neighbours if the number must stay hidden."
            )

    length = 1
    record_sensitivity = 1.0

    @cached_property
    def contribution(self) -> float:
        """1 at full weight W, by which the bound is multiplied."""
        return 1.0 / self.facts.max_weight

    def partial(self, rows: Rows) -> npt.NDArray[np.int64]:  # noqa: D102
        return np.array([rows.Y.shape[0] if rows.weight is None else (rows.weight > 0.0).sum()])

    def total(self, state: Any) -> Array:  # noqa: D102
        return np.asarray(state, dtype=np.float64)

    def read(self, noisy: Array) -> float:  # noqa: D102
        return float(noisy[0])
