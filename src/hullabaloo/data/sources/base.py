"""`StreamSource`: records in their order, as batches of tables, from any position on."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from threading import Event
from typing import Any, Self, final

from hullabaloo.data.records import RecordTable
from hullabaloo.data.table import Table, TableSchema
from hullabaloo.errors import HullabalooError, as_whole

BATCH = 4096  # records of a batch at most
PAUSE = 0.05  # seconds between two looks at a source that has nothing new


class SourceChanged(HullabalooError):
    """A source is no longer the one whose records were taken: it is refused."""


class SourceLost(SourceChanged, OSError):
    """A source cannot be read any more: the machine or the network failed, or a file is damaged."""


@dataclass(frozen=True, slots=True, repr=False)
class Mark:
    """A place in a source. PRIVATE: a byte offset says how long records are, and key and tag confirm a guess of them.

    Attributes:
        position: the records before it.
        place: where they end, JSON-ready, in the source's own terms (a byte offset, a row, an entry's id); which source it is; of files, by
            what their bytes up to there are told again (`Prefix`).
    """

    position: int
    place: Mapping[str, Any] = field(default_factory=dict)

    @property
    def origin(self) -> int:
        """The position of the source's first record: 0 where the stream began with it."""
        found = self.place.get("origin", 0)
        return found if type(found) is int else 0

    @property
    def unproved(self) -> bool:
        """Whether it says nothing that its source could be told by: as versions wrote it that kept nothing of a file."""
        return not {"tag", "id"} & self.place.keys()

    def __repr__(self) -> str:
        return f"Mark(position={self.position})"


@dataclass(frozen=True, slots=True, repr=False)
class Batch:
    """Some records that follow each other. PRIVATE.

    Attributes:
        table: the records; `open_table` opens it.
        count: how many they are.
        position: how many records came before.
        start: the furthest place to read this batch again from, at its beginning or a little before it.
        mark: the same for the records after it.
    """

    table: Table
    count: int
    position: int
    start: Mark
    mark: Mark

    def __repr__(self) -> str:
        return f"Batch(position={self.position}, count={self.count})"


@dataclass(frozen=True, slots=True)
class Portion:
    """Records as a source found them; `table` makes their table, so that records that are skipped are not converted."""

    count: int
    table: Callable[[], Table]


class Gap(Enum):
    """Why a source gives no records."""

    IDLE = "nothing new so far"
    END = "nothing more"


class StreamSource(ABC):
    """Records from somewhere, in their order, each exactly once; what a record holds never raises and never drops it.

    A source is read by one reader, once or from several positions in turn. Those of files and of Redis can be read again from any
    position; a pipe cannot.
    """

    schema: TableSchema
    """The names and declared types of the columns, without reading a record."""
    can_wait = False
    """Whether records that were there before may still be on their way: in a pipe they may, in a file they may not."""

    def empty(self) -> Table:
        """A table of these columns without records, for what is checked and paid before the first is read."""
        schema = self.schema
        return RecordTable([()] * len(schema.types), schema.names, 0, from_text=schema.from_text)

    @final
    def batches(
        self,
        start: int = 0,
        mark: Mark | None = None,
        *,
        cut: Callable[[int], int] | None = None,
        stop: Event | None = None,
        continues: bool = False,
    ) -> Iterator[Batch]:
        """The records from position `start` on, until there are no more or `stop` is set.

        Args:
            start: the records to leave out, taken before.
            mark: a mark of an earlier reading of this very source, not behind `start`; without one the records left out are counted
                from the first. Of a file the bytes before it are read again: others than were taken are refused.
            cut: for a position, the next one at which a batch has to end (a release); None cuts by size only.
            stop: ends the reading soon after it was set, between two records.
            continues: the source's first record follows the `start` records taken from elsewhere: none is left out, but those behind
                a mark in this very source.

        Raises:
            SourceChanged: the source holds fewer records than were taken, or was rewritten, replaced or cut off meanwhile.
        """
        said = "Records were asked from the position {!r} on, and a position is a whole number from 0 on. Pass start=0, say."
        start = as_whole(start, said, 0, 2**63 - 1)
        stop = Event() if stop is None else stop
        if mark is not None and mark.position <= start and self._find(mark, continues):
            position, origin = mark.position, mark.origin
        else:
            position, origin = self._rewind(0 if continues else start), start if continues else 0
            position, mark = (start if continues else position), None

        def there() -> Mark | None:
            place = self._place()
            return None if place is None else Mark(position, {**place, "origin": origin})

        mark = there() or Mark(position) if mark is None else mark
        while not stop.is_set():
            until = (
                start if position < start else position + BATCH if cut is None else min(position + BATCH, cut(position))
            )
            if until <= position:
                return
            found = self._next(min(until - position, BATCH))
            if isinstance(found, Gap):
                if position < start and (found is Gap.END or not self.can_wait):
                    raise self._shorter(start)
                if found is Gap.END:
                    return
                stop.wait(PAUSE)
                continue
            before, position = position, position + found.count
            first, mark = mark, there() or mark
            if before >= start:
                yield Batch(found.table(), found.count, before, first, mark)

    def close(self) -> None:  # noqa: B027 - most sources hold nothing open
        """Let go of files and connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def _find(self, mark: Mark, continues: bool) -> bool:
        """Go to a mark, if it is one of this very source; says whether it was.

        Raises:
            SourceChanged: this source should be the one, and what was taken from it is not in it as it was.
        """

    @abstractmethod
    def _rewind(self, start: int) -> int:
        """Go to the record at `start` or, where that takes counting, to the first; gives the position reached."""

    @abstractmethod
    def _next(self, most: int) -> Portion | Gap:
        """Up to `most` records from here on, those that are there; does not wait."""

    @abstractmethod
    def _place(self) -> Mapping[str, Any] | None:
        """Where the reading stands; None when it would not be found again (an unfinished line)."""

    def _shorter(self, start: int) -> SourceChanged:
        return SourceChanged(
            f"The stream has taken {start:,} records, and the source holds fewer. It is another one, or was replaced or cut off. "
            "Nothing was taken from it. Pass the source whose first records were taken; a source that begins where the stream "
            "left off has to be named as such (--continues)."
        )
