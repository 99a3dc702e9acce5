"""Encoded rows that are never held whole: made anew from their table, part by part, for every question."""

import os
from contextlib import suppress
from time import monotonic
from typing import Any

from hullabaloo.data import schema
from hullabaloo.data.encoding import Encoding
from hullabaloo.data.engines.base import Asked, Engine, Reading, Task, View
from hullabaloo.data.scan import ScannedTable
from hullabaloo.data.source import Rows
from hullabaloo.errors import HullabalooError, SchemaError


class ChangedTable(HullabalooError):
    """A table that is read in parts gave other records than before. Which, and how many, is not said."""

    def __init__(self) -> None:
        super().__init__(
            "The table that is read in parts gave other records than when it was first read, so nothing is released; a charge that was made stays. "
            "Keep the files, or the result of the query, as they are until the fit has ended."
        )


class Progress:
    """Says on standard error how many of a plan's questions have been asked of the table, and for how long: nothing else, as all else is of records.

    It is written by the operating system's own call: nobody's code is run where exact sums are.
    """

    def __init__(self, questions: int) -> None:
        self._questions, self._asked, self._begun = questions, 0, monotonic()

    def another(self) -> None:
        """One more was asked."""
        self._asked += 1
        said = f"{self._asked} of at most {self._questions} questions asked of the table, {monotonic() - self._begun:.0f} s\n"
        with suppress(OSError):
            os.write(2, said.encode())


class PartedRows:
    """The rows of a table in parts, as an engine reads them for each question. PRIVATE, as all about them is.

    **Guarantee.** A part is what `Encoding.encode` makes of some of the records, so a row is a function of its record alone; sums over parts are
    exact (`curator/exact.py`), hence those of the whole table, whatever the parts are, wherever they are read, and in whichever order they come. Before an
    answer to any question but the first is made, the number of rows and the sum of their hashes are compared with those of the first; the number with
    that which was counted beforehand, where it is public.

    Args:
        engine: what reads and asks the parts.
        width: the number of encoded columns.
        counted: the number of rows where it is known, so that the first question is compared, too.
        progress: what says how many questions have been asked.
        once: whether a second question is refused, as rows that are read once have no hashes.
    """

    __slots__ = ("_counted", "_engine", "_once", "_progress", "_seen", "_views", "width")

    def __init__(
        self, engine: Engine, width: int, counted: int | None, progress: Progress | None, *, once: bool
    ) -> None:
        self._engine, self.width, self._counted, self._progress, self._once = engine, width, counted, progress, once
        self._views: tuple[View, ...] = ()
        self._seen: list[tuple[int, int]] = []  # one for all views

    def __repr__(self) -> str:
        return "PartedRows(private)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("Private rows cannot be pickled or copied.")

    def total(self, asked: Asked) -> Any:
        """What the rows, as the view shows them, add up to. PRIVATE.

        Raises:
            ChangedTable: the records are others than those of the first time.
        """
        if self._once and self._seen:
            raise TypeError("one question was said to be all")
        tally = self._engine.map_reduce(Task(self._views, asked))
        if self._counted not in (None, tally.count):
            raise ChangedTable
        if not self._seen:
            self._seen.append((tally.count, tally.checksum))
        elif self._seen[0] != (tally.count, tally.checksum):
            raise ChangedTable
        if self._progress is not None:
            self._progress.another()
        return tally.state

    def seen(self, view: View, width: int) -> "PartedRows":
        """The same rows through a public map of single rows."""
        other = PartedRows(self._engine, width, self._counted, self._progress, once=self._once)
        other._views, other._seen = (*self._views, view), self._seen
        return other


def check_parts(encoding: Encoding, table: Any, y: Any, weight: Any) -> None:
    """Refuse, of a table that is read in parts, units and columns given apart, and workers that cannot be asked; reads no value."""
    source, domain = encoding.domain.open(table, parts=True), encoding.domain
    if not source.parted:
        return
    if getattr(source, "sparse_columns", None) not in (None, encoding.n_features_in):
        raise SchemaError(
            "The table of sparse rows has columns beside its lists that the domain gives no role, or the domain declares features. Declare row_norm= alone, and a "
            "target, weight or unit for each other column; or leave the others out of the table. Nothing was charged."
        )
    if domain.unit is not None and not getattr(source, "brings_units", False):
        raise SchemaError(
            f"The domain declares the unit {domain.unit!r}, whose records may lie in several parts of a table that is read in parts. Pass "
            "hb.scan(…, cache='folder'), in a shell --cache folder, where they are brought together, or a table in memory. Nothing was charged."
        )
    if weight is not None or (y is not None and not schema.target_columns(domain, y)):
        raise SchemaError(
            "A target or weight was given apart from a table that is read in parts, so which of its rows belongs to which record is not said. "
            "Name its column: declare target={'column': (lo, hi)}, or pass y='column'. Nothing was charged."
        )
    if (frame := getattr(source, "frame", None)) is not None:
        frame.check_workers()


def rows_of(
    encoding: Encoding, table: Any, y: Any = None, weight: Any = None, *, counted: int | None = None, questions: int = 0
) -> Rows | PartedRows:
    """What `Encoding.encode` gives, or, of a table that is read in parts, rows that are made anew for every question. PRIVATE.

    `counted` is the number of rows where it is public, `questions` how many were bought; 0 where that is not said.
    """
    source = encoding.domain.open(table, parts=True)
    if not source.parted:
        return encoding.encode(source, y, weight=weight)
    assert isinstance(source, ScannedTable)
    progress = Progress(questions) if source.verbose else None
    names = schema.target_columns(encoding.domain, y)
    target = None if y is None else names[0] if isinstance(y, str) else names
    reading = Reading(encoding, target, once=questions == 1, sparse=source.sparse_columns is not None)
    return PartedRows(source.engine(reading), encoding.facts.width, counted, progress, once=reading.once)
