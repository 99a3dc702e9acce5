"""Encoded rows that are never held whole: made anew from their table, part by part, for every question."""

from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data import schema
from hullabaloo.data.encoding import Encoding
from hullabaloo.data.records import RecordTable
from hullabaloo.data.source import Rows
from hullabaloo.errors import HullabalooError, SchemaError


class ChangedTable(HullabalooError):
    """A table that is read in parts gave other records than before. Which, and how many, is not said."""

    def __init__(self) -> None:
        super().__init__(
            "The table that is read in parts gave other records than when it was first read, so nothing is released; a charge that was made stays. "
            "Keep the files, or the result of the query, as they are until the fit has ended."
        )


@final
class PartedRows:
    """The rows of a table in parts, read anew for each question; those of a table that needs no more than `keep` bytes are kept. PRIVATE, as all about them is.

    **Guarantee.** A part is what `Encoding.encode` makes of some of the records, so a row is a function of its record alone; sums over parts are
    exact (`curator/exact.py`), hence those of the whole table, whatever the parts are and in whichever order they come. Before an answer
    to any question but the first is made, the number of rows and the sum of their hashes are compared with those of the first; the number of the first with
    that which was counted beforehand, where it is public.

    Args:
        read: encoded parts, from the beginning; at least one, perhaps empty.
        width: the number of encoded columns.
        keep: bytes of encoded parts up to which all of them are kept after the first question.
        counted: the number of rows where it is known, so that the first question is compared, too.
    """

    __slots__ = ("_counted", "_keep", "_read", "_seen", "_views", "_whole", "width")

    def __init__(self, read: Callable[[], Iterator[Rows]], width: int, keep: int, counted: int | None = None) -> None:
        self._read, self.width, self._keep, self._counted = read, width, keep, counted
        self._views: tuple[Callable[[Rows], Rows], ...] = ()
        self._seen: list[tuple[int, int]] = []  # one for all views, as is what is kept
        self._whole: list[Rows] = []

    def __repr__(self) -> str:
        return "PartedRows(private)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("Private rows cannot be pickled or copied.")

    def parts(self) -> Iterator[Rows]:
        """All parts, as the view shows them.

        Raises:
            ChangedTable: after the last part, where the records are others than those of the first time.
        """
        for rows in self._whole or self._encoded():
            for view in self._views:
                rows = view(rows)  # noqa: PLW2901 - one after the other
            yield rows

    def _encoded(self) -> Iterator[Rows]:
        count, checksum, held = 0, 0, 0
        kept: list[Rows] = []
        for rows in self._read():
            count, checksum = count + rows.Y.shape[0], (checksum + hashed(rows)) & ((1 << 64) - 1)
            held += rows.X.nbytes + rows.Y.nbytes
            kept = [*kept, rows] if held <= self._keep else []
            yield rows
        if self._counted not in (None, count):
            raise ChangedTable
        if not self._seen:
            self._seen.append((count, checksum))
            self._whole += kept
        elif self._seen[0] != (count, checksum):
            raise ChangedTable

    def seen(self, view: Callable[[Rows], Rows], width: int) -> "PartedRows":
        """The same rows through a public map of single rows."""
        other = PartedRows(self._read, width, self._keep, self._counted)
        other._views, other._seen, other._whole = (*self._views, view), self._seen, self._whole
        return other


def hashed(rows: Rows) -> int:
    """The sum of a hash of each row, modulo 2^64: the same for rows in any order."""
    from hullabaloo.data.parts_kernels import add_hashes

    n = rows.Y.shape[0]
    extra = [np.zeros(n) if found is None else found for found in (rows.weight, rows.offset)]
    words: list[NDArray[np.float64]] = [rows.X, rows.Y, np.column_stack(extra)]
    hashes = np.zeros(n, dtype=np.uint64)
    for number, part in enumerate(words):
        add_hashes(np.ascontiguousarray(part).view(np.uint64), np.uint64(2 * number + 1), hashes)
    return int(hashes.sum(dtype=np.uint64))


def check_parts(encoding: Encoding, table: Any, y: Any, weight: Any) -> None:
    """Refuse, of a table that is read in parts, units and columns given apart; reads no value."""
    source, domain = encoding.domain.open(table, parts=True), encoding.domain
    if not source.parted:
        return
    if domain.unit is not None:
        raise SchemaError(
            f"The domain declares the unit {domain.unit!r}, whose records may lie in several parts of a table that is read in parts. Pass a table in "
            "memory, or one record for each unit and a domain without it. Nothing was charged."
        )
    if weight is not None or (y is not None and not schema.target_columns(domain, y)):
        raise SchemaError(
            "A target or weight was given apart from a table that is read in parts, so which of its rows belongs to which record is not said. "
            "Name its column: declare target={'column': (lo, hi)}, or pass y='column'. Nothing was charged."
        )


def rows_of(
    encoding: Encoding, table: Any, y: Any = None, weight: Any = None, *, counted: int | None = None
) -> Rows | PartedRows:
    """What `Encoding.encode` gives, or, of a table that is read in parts, rows that are made anew for every question. PRIVATE.

    `counted` is the number of rows where it is public.
    """
    source = encoding.domain.open(table, parts=True)
    if not source.parted:
        return encoding.encode(source, y, weight=weight)
    used = encoding.feature_names_in
    names = None if used is None else (*used, *schema.role_columns(encoding.domain, y))

    def parts() -> Iterator[Rows]:
        nothing = True
        for part in source.parts(names):
            nothing = False
            yield encoding.encode(part, y)
        if nothing:
            yield encoding.encode(RecordTable([()] * len(source.schema.types), source.schema.names, 0), y)

    return PartedRows(parts, encoding.facts.width, source.keep_bytes, counted)
