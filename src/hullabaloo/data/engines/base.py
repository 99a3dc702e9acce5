"""The seam between a fit and whatever reads its records: parts of a table, a public question, and an exact sum that parts can be merged to.

    part of the table ── `Reading` ──► `Part` ── `Task` ──► `Tally` ── `merged` ──► `Tally` of the whole table

An engine is whatever does this, anywhere, any number of times: all of it is a function of records and public facts, without randomness. What it
is handed (`packed`) holds no key, no budget and no noise. These are drawn and charged once, where the fit was called.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Protocol

import numpy as np

from hullabaloo._version import __version__
from hullabaloo.data import schema
from hullabaloo.data.arithmetic import OtherArithmetic, is_usual
from hullabaloo.data.columns import encoded_by_columns
from hullabaloo.data.encoding import Encoding
from hullabaloo.data.source import Rows
from hullabaloo.data.table import Table, TableSchema

View = Callable[[Rows], Rows]
"""A public map of single rows: a function of a module, or `functools.partial` of one, so that it can be sent."""
_MASK = (1 << 64) - 1


class Asked(Protocol):
    """A public question, as it is sent to where rows are (`curator/asked.py`)."""

    @property
    def by_columns(self) -> bool:
        """Whether rows may lie in memory column by column."""

    def state(self, rows: Rows) -> Any:
        """What the rows of a part add up to, exactly. PRIVATE."""

    def merge(self, states: Sequence[Any]) -> Any:
        """What all of them add up to, in whichever order. PRIVATE."""

    def dump(self, state: Any) -> bytes:
        """The sum as bytes. PRIVATE."""

    def load(self, state: bytes) -> Any:
        """The sum that these bytes are of; they are read as numbers, and nothing in them is run. PRIVATE."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Part:
    """Encoded rows, their number, the sum of their hashes, and how many bytes they take. PRIVATE."""

    rows: Rows
    count: int
    checksum: int
    size: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tally:
    """What rows add up to, and the same three numbers. PRIVATE."""

    state: Any
    count: int
    checksum: int
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """How parts of a table become rows: the same for all questions of a fit; public.

    Attributes:
        encoding: the public map.
        target: the names of the target's columns, or None for those that the domain declares.
        once: whether one question is all that is asked, so that nothing need be kept or compared.
        sparse: whether rows are sparse.
    """

    encoding: Encoding
    target: Any = None
    once: bool = False
    sparse: bool = False

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The columns that are read, by name; None for all."""
        used = self.encoding.feature_names_in
        others = schema.role_columns(self.encoding.domain, self.target)
        return None if used is None else tuple(dict.fromkeys((*used, *others)))

    def part(self, table: Table, *, by_columns: bool = False) -> Part:
        """The rows of one part of the table; `by_columns`: X may be Fortran-contiguous. PRIVATE.

        Raises:
            TypeError: the domain declares a unit, whose records may lie in other parts, too (`engines/units.py`).
        """
        if self.encoding.domain.unit is not None:
            raise TypeError("records of one unit may lie in several parts")
        rows = encoded_by_columns(self.encoding, table, self.target)
        if rows is None:
            return part_of(self.encoding.encode(table, self.target), once=self.once)
        return part_of(rows if by_columns else replace(rows, X=np.ascontiguousarray(rows.X)), once=self.once)

    def nothing(self) -> Part:
        """No rows: what a table without any part is."""
        facts = self.encoding.facts
        weight, offset = (np.zeros(0) if one else None for one in (facts.weighted, self.encoding.offset is not None))
        return part_of(Rows(np.zeros((0, facts.width)), np.zeros((0, len(facts.targets))), weight, offset))


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What is asked of every part, through which views, one after the other; public."""

    views: tuple[View, ...]
    asked: Asked

    @np.errstate(all="ignore")
    def tally(self, part: Part, *, hold: bool = False) -> Tally:
        """What one part adds up to; `hold`: its rows as a matrix shows them may stay in memory beside them, where they take no more. PRIVATE."""
        rows = part.rows
        for view in self.views:
            rows = view(rows)
        found = Tally(self.asked.state(rows), part.count, part.checksum, part.size)
        if not hold or getattr(rows.X, "nbytes", part.size + 1) > part.size:
            part.rows.held.pop("turned", None)  # lengths stay: 8 bytes a record
        return found

    def merged(self, tallies: Iterable[Tally]) -> Tally:
        """What all of them add up to; one at least. PRIVATE."""
        return reduce(self._both, tallies)

    def _both(self, one: Tally, other: Tally) -> Tally:
        state = self.asked.merge([one.state, other.state])
        return Tally(state, one.count + other.count, (one.checksum + other.checksum) & _MASK, one.size + other.size)


class Parts(Protocol):
    """What can be read in parts."""

    schema: TableSchema
    quoted_line_breaks: bool | None

    @property
    def n_rows(self) -> int:
        """The number of records; may take a pass."""

    def parts_of(self, names: Sequence[str] | None, rows: int) -> Iterator[Table]:
        """The parts, of at most so many records, from the beginning; only columns of these names where that is possible."""


class Engine(Protocol):
    """Reads a table's parts wherever they are, whenever it is asked, and may keep them encoded there in between."""

    def map_reduce(self, task: Task) -> Tally:
        """What all parts add up to: `task.merged` of `task.tally` of each. PRIVATE."""


def packed(*public: Any) -> bytes:
    """What is sent to where parts are read: readings and tasks, with the version of this library. Public.

    Raises:
        pickle.PicklingError, TypeError, AttributeError: code of somebody's own that cannot be sent.
    """
    return pickle.dumps((__version__, *public))


def unpacked(data: bytes) -> tuple[Any, ...]:
    """What was sent, where sums have the bits that they have elsewhere.

    Raises:
        OtherArithmetic, OtherVersion: they may not.
    """
    if not is_usual():
        raise OtherArithmetic
    version, *public = pickle.loads(data)
    if version != __version__:
        raise OtherVersion
    return tuple(public)


class OtherVersion(Exception):
    """A worker has another version of this library."""


def part_of(rows: Rows, *, once: bool = False) -> Part:
    """The rows with what tells them from others; those that are read `once` are compared with none. PRIVATE."""
    X = rows.X
    size = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return Part(rows, rows.Y.shape[0], 0 if once else hashed(rows), size + rows.Y.nbytes)


def hashed(rows: Rows) -> int:
    """The sum of a hash of each row, modulo 2^64: the same for rows in any order. PRIVATE."""
    from hullabaloo.data.parts_kernels import add_hashes

    X, hashes = rows.X, np.zeros(rows.Y.shape[0], dtype=np.uint64)
    if not isinstance(X, np.ndarray):  # what the hashes of its cells add up to stands for a row
        cells = np.zeros(X.data.size, dtype=np.uint64)
        add_hashes(np.column_stack([X.indices.astype(np.uint64), X.data.view(np.uint64)]), np.uint64(7), cells)
        X = np.diff(np.append(np.uint64(0), np.cumsum(cells))[X.indptr])
    for number, part in enumerate((X, rows.Y, rows.weight, rows.offset)):
        if part is not None:
            words = np.asarray(part if part.ndim == 2 else part[:, None], order="A")
            add_hashes(words.view(np.uint64), np.uint64(2 * number + 1), hashes)
    return int(hashes.sum(dtype=np.uint64))
