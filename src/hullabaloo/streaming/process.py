"""What every stream has behind it: a process that takes encoded records and releases at public positions, and its exact state."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hullabaloo.data.source import Rows
from hullabaloo.privacy import Event
from hullabaloo.privacy.schedule import Schedule
from hullabaloo.release import Release


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


class Process(ABC):
    """Takes encoded records in their order and releases at the schedule's positions.

    Noise of a step is drawn when its last record is taken, once; `released` may be read any number of times, at no cost. A process
    belongs to the operating-system process that made it and refuses to be copied or pickled.
    """

    schedule: Schedule

    @property
    @abstractmethod
    def event(self) -> Event:
        """What all releases up to the horizon cost together; charged before the first record is read."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Names everything public that exact sums and noise depend on: a saved state goes on under no other."""

    @property
    @abstractmethod
    def position(self) -> int:
        """Records taken."""

    @abstractmethod
    def take(self, rows: Rows) -> None:
        """Take records; never more than are left of the horizon (the caller has checked). Never raises because of a value."""

    @abstractmethod
    def released(self) -> Release | None:
        """The model of the last completed step; None before the first. Post-processing of what was drawn: free, deterministic."""

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """Everything needed to go on, bit for bit. PRIVATE."""

    @abstractmethod
    def restore(self, snapshot: Snapshot) -> None:
        """Go on from a snapshot of the same public configuration (the caller has compared fingerprints)."""
