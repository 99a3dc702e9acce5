"""The live half of a stream: records are taken in order, saved before anything of them is shown, and read at no cost.

**Guarantee.** Claim: what `read` gives is a function of released steps alone, and every step that it shows was saved first. Proof: a
step is shown only while nothing is unsaved (`_ready`), and `_save` clears that mark only after the journal's commit returned; what
is kept in memory after a failed commit is the process itself, whose noise was drawn once, so a retry shows the same step.
"""

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np

from hullabaloo.curation.process import Process
from hullabaloo.data import Encoding, Rows, table_of
from hullabaloo.data.engines.units import hashes_of
from hullabaloo.data.readers.dense import cell_of
from hullabaloo.data.sources.base import Mark
from hullabaloo.data.table import sealed
from hullabaloo.durable.sealed import Snapshot
from hullabaloo.errors import InvalidParameter, NotReleased, StreamMoved
from hullabaloo.forks import this_process
from hullabaloo.release import Release, found

BUFFER = 1024
"""Records that may wait before they are taken together."""

_FOREIGN = (
    "This stream was opened by another operating-system process, and a fork of it has a copy of its exact sums: two copies that go on "
    "would release the same records twice. Use the stream where it was opened; for predictions elsewhere pass on stream.model_at(), which holds released numbers only."
)
_CLOSED = "This stream was closed. What it released can still be read; to go on, open it again from its state file, or fit anew."
_BROKEN = (
    "This stream was interrupted while it took records, so its sums may hold a part of them. It takes and shows no more: open it again "
    "from its state file, which holds the last saved step."
)


def encoded(encoding: Encoding, table: Any, y: Any, weight: Any, unit: Any = None) -> Rows:
    """The records of a stream, whose each is as its hash, where the domain declares a unit. PRIVATE."""
    if encoding.domain.unit is None:
        return encoding.encode(table, y, weight=weight)
    rows, owners = encoding.owned(table, y, weight=weight, unit=unit)
    assert owners is not None
    return replace(rows, unit=hashes_of(owners).view(np.int64))


class StreamBuffer:
    """Takes records for a process, saves through a journal, and keeps the model of the last saved step."""

    def __init__(
        self,
        encoding: Encoding,
        process: Process,
        journal: Any,
        snapshot: Snapshot | None,
        model: Callable[[Release, int], Any],
    ) -> None:
        self.encoding, self.process, self.closed = encoding, process, False
        self._journal, self._make = journal, model
        if snapshot is not None:
            process.restore(snapshot)
        self._schedule = process.schedule
        self._lock = threading.RLock()
        self._owner = this_process()
        self._records: list[tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]] = []
        self._names = encoding.feature_names_in
        self._roles = (None if encoding.domain.weight is None else encoding.domain.weight[0], encoding.domain.unit)
        self._targets = len(encoding.targets)
        self._named = encoding.facts.targets if encoding.domain.targets_named and self._targets > 1 else None
        self._mark: Mark | None = None
        self._model: tuple[int, Any] = (0, None)
        self._saved = process.position
        self._unsaved = self._taking = False
        self._due = self._next()

    def __reduce__(self) -> Any:
        """Refuse to be copied: exact sums stay where they are."""
        raise TypeError("A live stream is never copied or pickled: it holds exact sums of records.")

    @property
    def position(self) -> int:
        """Records taken or waiting."""
        return self.process.position + len(self._records)

    @property
    def mark(self) -> Mark | None:
        """Where the source stood at the last save; PRIVATE."""
        found = self._journal.source
        return None if found is None else Mark(found["position"], found["place"])

    def reading(self, mark: Mark) -> None:
        """Where the source stands when the records that come next are taken; it is saved with them."""
        self._mark = mark

    # ---- taking ---------------------------------------------------------------------------------------------------

    def learn(self, x: Mapping[str, Any], y: Any) -> None:
        """Take one record."""
        with self._held():
            self._ready()
            self._room(1)
            if type(x) is not dict and not isinstance(x, Mapping):
                raise InvalidParameter(
                    f"A record is a mapping from feature to value, such as a dict, but {found(x)} was given. Tables go to partial_fit."
                )
            if self._names is None:
                raise InvalidParameter(
                    "A record with named values was given, and the stream's columns have no names: its domain declares a row_norm "
                    "only, and it was opened by a table without names, or by a text file, whose line of names may be a record. Pass arrays to partial_fit, or declare features by name."
                )
            roles = tuple(None if name is None else x.get(name) for name in self._roles)
            self._records.append((tuple(map(x.get, self._names)), roles, self._target(y)))
            if self.process.position + len(self._records) >= self._due:
                self._flush()

    @sealed
    def take(self, count: int, encode: Callable[[], Rows]) -> None:
        """Take a table of `count` records, or nothing of it."""
        with self._held():
            self._ready()
            self._room(count)
            if count:
                rows = encode()
                self._flush()
                self._absorb(rows)

    def checkpoint(self) -> None:
        """Take what waits, and save also between two releases."""
        with self._held():
            self._ready()
            self._flush()
            if self.process.position != self._saved:
                self._save()

    def close(self) -> None:
        """Save and take no more; a second time, or in another process, nothing. When saving fails and may not later, it stays open."""
        if self._owner != this_process():
            return
        with self._lock:
            if self.closed:
                return
            try:
                if not self._taking:
                    self.checkpoint()
                    self.read()
            except StreamMoved:  # for good
                self._end()
                raise
            self._end()

    def _end(self) -> None:
        self.closed = True
        self._journal.close()

    # ---- reading --------------------------------------------------------------------------------------------------

    def read(self) -> Any:
        """The model of the last completed step; None before the first."""
        if self.closed:
            return self._model[1]
        with self._held():
            if not self.closed:
                self._ready()
                if self._schedule.completed(self.position) > self._schedule.completed(self.process.position):
                    self._flush()
                step = self._schedule.completed(self.process.position)
                if step != self._model[0]:
                    release = self.process.released()
                    assert release is not None
                    self._model = (step, self._make(release, self._schedule.position(step)))
            return self._model[1]

    # ---- inside ---------------------------------------------------------------------------------------------------

    def _held(self) -> AbstractContextManager[Any]:
        """The lock; not in a fork, where it may be held for ever by a thread that is not there."""
        if self._owner != this_process():
            raise NotReleased(_FOREIGN)
        return self._lock

    def _ready(self) -> None:
        """Refuse what must not go on; try again to save what could not be saved."""
        if self.closed:
            raise NotReleased(_CLOSED)
        if self._taking:
            raise NotReleased(_BROKEN)
        if self._unsaved:
            self._save()

    def _room(self, count: int) -> None:
        horizon, position = self._schedule.horizon, self.position
        if horizon is not None and count > horizon - position:
            raise InvalidParameter(
                f"{count} more records were given to a stream with a horizon of {horizon}, of which {position} have been taken. Its noise "
                "was calibrated for so many records before the first was read, so the batch is refused whole: nothing of it was "
                "taken. Begin a new stream with a longer horizon, at a charge of its own; what was released stays."
            )

    def _target(self, y: Any) -> tuple[Any, ...]:
        """The cells of the targets; what cannot be read is missing, as the domain rules."""
        if isinstance(y, Mapping):
            return tuple(map(y.get, self.encoding.facts.targets))
        return tuple(cell_of(y, place) for place in range(self._targets))

    def _next(self) -> int:
        """Where the records that wait are taken: at the last release within reach of the buffer, or when it is full."""
        position = self.process.position
        steps = self._schedule.completed(position + BUFFER)
        return self._schedule.position(steps) if steps > self._schedule.completed(position) else position + BUFFER

    @sealed
    def _flush(self) -> None:
        """Take the records that wait."""
        if not self._records:
            return
        cells, roles, targets = map(list, zip(*self._records, strict=True))
        names = self._names or ()
        given = zip(self._roles, zip(*roles, strict=True), strict=True)
        weight, unit = (
            None if name is None else table_of([(cell,) for cell in cells], None, 1) for name, cells in given
        )
        target = table_of(targets, self._named, self._targets)
        rows = encoded(self.encoding, table_of(cells, names, len(names)), target, weight, unit)
        self._absorb(rows, waiting=True)

    def _absorb(self, rows: Rows, *, waiting: bool = False) -> None:
        before = self._schedule.completed(self.process.position)
        self._taking = True  # an interrupt in between leaves the mark
        self.process.take(rows)
        if waiting:
            self._records = []
        self._unsaved = self._schedule.completed(self.process.position) > before  # before the mark falls
        self._taking = False
        self._due = self._next()
        if self._unsaved:
            self._save()

    @sealed
    def _save(self) -> None:
        self._unsaved = True
        try:
            reached = self._mark if self._mark is not None and self._mark.position <= self.process.position else None
            source = reached and {"position": reached.position, "place": dict(reached.place)}
            self._journal.commit(self.process.snapshot, self.process.position, source)
        except Exception as error:
            error.add_note(
                f"The records up to position {self.process.position} were taken and are not saved, so nothing new of them is shown; "
                "do not pass them again. The next call saves first, with the same noise."
            )
            raise
        self._unsaved = False
        self._saved = self.process.position
