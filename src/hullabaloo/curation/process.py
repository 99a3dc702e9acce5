"""What every stream has behind it: a process that takes encoded records and releases at public positions, and its exact state."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType

from hullabaloo.data.source import Rows
from hullabaloo.durable.sealed import Snapshot
from hullabaloo.privacy import Event, Schedule
from hullabaloo.release import Release


class Process(ABC):
    """Takes encoded records in their order and releases at the schedule's positions.

    Noise of a step is drawn when its last record is taken, once; `released` may be read any number of times, at no cost. A process
    belongs to the operating-system process that made it and refuses to be copied or pickled.
    """

    schedule: Schedule
    # what all releases up to the horizon cost together; charged before the first record is read
    event: Event
    # for the state file, JSON-ready, beside what the stream says of itself: of plans that a later version may not come to by itself
    public: Mapping[str, object] = MappingProxyType({})

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("A stream under way holds private records or their sums and cannot be pickled or copied.")

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
        """Take records; never more than are left of the horizon (the caller has checked). Never raises because of a value.

        Where the domain declares a unit, `rows.unit` says whose each is, and the first `records_per_unit` of each count, over all calls.
        """

    @abstractmethod
    def released(self) -> Release | None:
        """The model of the last completed step; None before the first. Post-processing of what was drawn: free, deterministic."""

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """Everything needed to go on, bit for bit. PRIVATE."""

    @abstractmethod
    def restore(self, snapshot: Snapshot) -> None:
        """Go on from a snapshot of the same public configuration (the caller has compared fingerprints)."""
