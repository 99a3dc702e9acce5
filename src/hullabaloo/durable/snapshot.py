"""The whole state of something that goes on: what a state file holds, before it is sealed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Snapshot:
    """The whole state of a process. PRIVATE: it holds exact sums of records; only the state file may hold it.

    Attributes:
        numbers: JSON-ready values (positions, counters); floats survive exactly.
        arrays: named arrays of plain dtypes.
    """

    numbers: Mapping[str, Any]
    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return "Snapshot(<private>)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Snapshot) or dict(self.numbers) != dict(other.numbers):
            return False
        return self.arrays.keys() == other.arrays.keys() and all(
            np.array_equal(self.arrays[name], other.arrays[name]) for name in self.arrays
        )

    __hash__ = None  # type: ignore[assignment]  # holds arrays
