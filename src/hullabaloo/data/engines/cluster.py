"""What engines of several machines share: what runs on a worker, what it says, and what is heard of it.

A worker says bytes: of a tally, or a word of `FAULTS`. Nothing that a record could be read from leaves it as an error: an exception would be written
into the logs of the cluster, with its arguments, and sent to whoever asked.
"""

import pickle
import struct
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple, TypeVar, cast

from hullabaloo._version import __version__
from hullabaloo.data.arithmetic import OtherArithmetic, is_usual
from hullabaloo.data.engines import units
from hullabaloo.data.engines.base import Engine, OtherVersion, Part, Parts, Reading, Tally, Task, packed, unpacked
from hullabaloo.data.readers.opening import open_table
from hullabaloo.data.sparse_lists import SparsePart
from hullabaloo.data.table import MEMORY, Table, TableSchema, TornTable
from hullabaloo.data.threads import share_cores
from hullabaloo.errors import CapabilityError

T = TypeVar("T")
PATIENCE = 50.0
"""Seconds without any worker, or without an answer of the scheduler, after which a question is given up."""
POLL = 2.0
_HEAD = struct.Struct("<QQQ")


class Shape(NamedTuple):
    """What is the same in all parts: the names of columns, as the domain declares them, how each is read, and how many columns sparse rows have."""

    names: tuple[str, ...] | None
    kinds: tuple[str, ...]
    width: int | None = None


class TornCluster(TornTable):
    """A cluster failed. What it said is left out: it may quote a record."""

    why = (
        "the cluster that reads it failed or lost too many of its workers. What it said is left out, as it may quote a record; the logs of its workers "
        "tell more. Check that the table can be read there without this library."
    )


class TornPart(TornTable):
    """A part has other columns than the table declares. Which columns, and which part, is not said."""

    why = (
        "one of its parts has other columns than the table declares, or columns of another type. Let all have the same."
    )


class OtherLibrary(TornTable):
    """A worker came that has another version of this library."""

    why = f"a worker has another version of hullabaloo than the {__version__} that is used here. Install the same one on all."


_WORDS = {MemoryError: b"!memory", OtherVersion: b"!version", OtherArithmetic: b"!rounds", TornPart: b"!columns"}
FAULTS = {b"!columns": TornPart, b"!version": OtherLibrary, b"!rounds": OtherArithmetic, b"!failed": TornCluster}


class Remote(Parts):
    """A table in parts that are read, and asked, by the workers of a cluster; counted there, or brought here one after the other."""

    quoted_line_breaks = None
    brings_units = False
    """Whether its engine brings the records of a unit together, by `deal` and `gather`."""

    @abstractmethod
    def engine(self, reading: Reading, keep_bytes: int) -> Engine:
        """What asks its parts, for one fit."""


class RemoteFrame(Remote):
    """A dataframe of an engine, from which workers can make others.

    Attributes:
        width: of sparse rows (`SparseLists`), how many columns they have.
    """

    width: int | None = None
    brings_units = True

    def check_workers(self) -> None:
        """Refuse where none can be asked, or one has another version of the library; before anything is charged.

        Raises:
            CapabilityError: so it is.
        """

    @abstractmethod
    def arrow(self) -> Any:
        """The Arrow schema of all its columns."""

    @abstractmethod
    def mapped(self, work: Callable[[Table], dict[str, Any]], names: Sequence[str] | None, keep: Sequence[str]) -> Any:
        """A dataframe of the engine, lazily: of each part's columns of these names, those to keep beside what a public function makes of its rows."""

    @abstractmethod
    def write(self, frame: Any, place: str) -> None:
        """Have workers write such a dataframe as a folder of Parquet files."""


# ---- on a worker: no error leaves -----------------------------------------------------------------------------------


def said(work: Callable[[], T]) -> T | bytes:
    """What some work gives; where it fails, a word."""
    try:
        return work()
    except Exception as error:
        return next((word for kind, word in _WORDS.items() if isinstance(error, kind)), b"!failed")


def sound(found: T | bytes) -> T:
    """What `said` gave, where it was no word.

    Raises:
        TornTable: it was one.
    """
    if isinstance(found, bytes):
        raise FAULTS.get(found, TornCluster)
    return found


def opened(frame: Any, shape: Shape) -> Table:
    """A part of the table, of the columns that it was declared to have.

    Raises:
        TornPart: it has others.
    """
    table, (names, kinds, width) = open_table(frame), Shape(*shape)
    found: Any = table.schema.names
    if kinds_of(table.schema) != kinds or (names is not None and found != names):
        raise TornPart
    return table if width is None else SparsePart(cast(Any, table), width)


def kinds_of(schema: TableSchema) -> tuple[str, ...]:
    """How each column is read: numbers of different sizes are read alike, truths and numbers are not."""
    return tuple(
        f"{kind} {'bool' in declared.lower()}" for kind, declared in zip(schema.kinds, schema.types, strict=True)
    )


def read(frame: Any, reading: bytes, shape: Shape, task: bytes | None = None) -> Part | bytes:
    """One part, encoded; or what it adds up to. PRIVATE."""
    part: Part | bytes = said(lambda: unpacked(reading)[0].part(opened(frame, shape)))
    return part if task is None else ask(task, part)


def deal(reading: bytes, frame: Any, shape: Shape, buckets: int) -> list[bytes]:
    """What may count of one part of a table with units, as a piece for each bucket of units. PRIVATE."""
    found = said(lambda: units.dealt(unpacked(reading)[0], opened(frame, shape), buckets))
    return [found] * buckets if isinstance(found, bytes) else found


def gather(reading: bytes, pieces: Iterable[bytes]) -> bytes:
    """All pieces of some buckets as one: a fault where there is one among them. PRIVATE."""
    faults = list[bytes]()

    def sound() -> Iterator[bytes]:
        for piece in pieces:
            if piece[:1] == b"!":
                faults.append(piece)
                return
            yield piece

    found = said(lambda: units.gathered(unpacked(reading)[0], sound()))
    return faults[0] if faults else found


def bring(reading: bytes, pieces: Iterable[bytes], task: bytes | None = None) -> Part | bytes:
    """The rows of some buckets that count; or what they add up to. PRIVATE."""
    found = gather(reading, pieces)
    part = found if found[:1] == b"!" else said(lambda: units.part(unpacked(reading)[0], found))
    return part if task is None else ask(task, part)


def ask(task: bytes, *parts: Part | bytes) -> bytes:
    """What some parts add up to: the first fault among them where there is one. PRIVATE."""
    fault = next((part for part in parts if isinstance(part, bytes)), None)
    return fault or total(task, lambda: (part for part in parts if isinstance(part, Part)))


def total(task: bytes, parts: Callable[[], Iterator[Part]]) -> bytes:
    """What several parts add up to, read one after the other, by one thread, as an engine has others for other cores; nothing where there is none. PRIVATE."""

    def tally() -> bytes:
        own: Task = unpacked(task)[0]
        found = parts()
        first = next(found, None)
        return b"" if first is None else dumped(own, own.merged(map(own.tally, chain([first], found))))

    share_cores()
    try:
        return said(tally)
    finally:
        share_cores(False)


def add(task: bytes, tallies: Iterable[bytes]) -> bytes:
    """What several parts add up to: the first fault among them where there is one. PRIVATE."""
    words = list(tallies)
    fault = next((word for word in words if word[:1] == b"!"), None)

    def merged() -> bytes:
        own: Task = unpacked(task)[0]
        return dumped(own, own.merged(loaded(own, word) for word in words))

    return said(merged) if fault is None else fault


def applied(work: bytes, frame: Any, shape: Shape) -> dict[str, Any]:
    """What a public function makes of a part, by names.

    Raises:
        TornTable: it failed; nothing that it said is left. Dask writes a failed task's arguments into its logs, as with any other map over a frame.
    """
    return dict(sound(said(lambda: unpacked(work)[0](opened(frame, shape)))))


def version() -> str:
    """Of the library, on a worker, and whether it adds up as others do."""
    return __version__ if is_usual() else f"{__version__} where arithmetic is unusual"


def dumped(task: Task, tally: Tally) -> bytes:
    """A tally as bytes. PRIVATE."""
    return b"=" + _HEAD.pack(tally.count, tally.checksum, tally.size) + task.asked.dump(tally.state)


def loaded(task: Task, data: bytes) -> Tally:
    """The tally that these bytes are of. PRIVATE."""
    return Tally(task.asked.load(data[1 + _HEAD.size :]), *_HEAD.unpack_from(data, 1))


# ---- where the fit was called ---------------------------------------------------------------------------------------


def heard(task: Task, data: bytes) -> Tally:
    """What the cluster said; PRIVATE.

    Raises:
        TornTable: a worker failed; MemoryError: one had too little memory.
    """
    if data == b"!memory":
        raise MemoryError(MEMORY)
    if data[:1] != b"=":
        raise FAULTS.get(data, TornCluster)
    return unheard(lambda: loaded(task, data))


def unheard(work: Callable[[], T]) -> T:
    """What a cluster gives. What it says when it fails may quote a record, so nothing of that goes on, not as a context either.

    Raises:
        TornCluster: it failed.
    """
    try:
        return work()
    except Exception as error:
        fault = type(error) if isinstance(error, TornTable) else TornCluster
    raise fault


def sent(*public: Any) -> bytes:
    """See `base.packed`.

    Raises:
        CapabilityError: something cannot be sent.
    """
    with suppress(pickle.PicklingError, TypeError, AttributeError):
        return packed(*public)
    raise CapabilityError(
        "A loss or a map of your own was to be sent to the workers of a cluster, and Python cannot pickle it. Define it in a module that the workers "
        "can import, or pass a table that is read on this machine."
    )


def check_versions(found: Iterable[Any]) -> None:
    """Refuse workers of another version, before anything is charged."""
    others = sorted(
        {one if isinstance(one, str) and len(one) < 40 else "an unknown one" for one in found} - {__version__}
    )
    if others:
        raise CapabilityError(
            f"The cluster's workers have hullabaloo {', '.join(others)}, and here it is {__version__}: sums could differ. Install the same version on all, and start "
            "them without libraries that change how a processor rounds, flushes or traps numbers. Nothing was charged or read."
        )
