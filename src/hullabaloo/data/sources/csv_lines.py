"""Records of a CSV file, of one that grows, or of standard input.

The records are those that `hullabaloo fit` finds in the same file, read by the same parser: `data/readers/csvfile.py` says what they are.
Of a line that comes through a pipe the first 64 MiB count (`lines.py`), and a quoted cell is at its end with the line that takes its record to as many.
"""

from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from time import sleep

from hullabaloo.data.given import names_of
from hullabaloo.data.readers.csvfile import BLANK, CsvFormat
from hullabaloo.data.records import RecordTable
from hullabaloo.data.sources import lines
from hullabaloo.data.sources.base import PAUSE, Gap, Mark, Portion
from hullabaloo.data.sources.lines import LineSource
from hullabaloo.data.table import Table, TableSchema, cells_schema
from hullabaloo.errors import InvalidParameter, SchemaError


class CsvSource(LineSource):
    """A CSV file, or standard input ("-"); a tab stands between cells where the path ends in .tsv, else a comma.

    Args:
        path: the file, or "-".
        follow: wait for more at the end of the file, until the reading is stopped.
        columns: only these columns are read; None reads all.
        quoted_line_breaks: what the domain of the stream declares: whether a quoted cell may go on in the next line.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        follow: bool = False,
        columns: Collection[str] | None = None,
        quoted_line_breaks: bool = False,
    ) -> None:
        if not isinstance(quoted_line_breaks, bool):
            raise InvalidParameter(f"quoted_line_breaks={quoted_line_breaks!r} was given. Pass True or False.")
        super().__init__(path, follow=follow)
        self._format = CsvFormat("\t" if str(path).lower().endswith(".tsv") else ",", quoted_line_breaks)
        self._columns = None if columns is None else names_of(columns, "columns")
        self._names: tuple[str, ...] | None = None
        self._count = self._size = 0  # lines of the queue that are of a record begun, and their bytes
        self._within = False  # whether a quote is open after them

    @property
    def schema(self) -> TableSchema:  # type: ignore[override]  # it may have to be waited for
        """The names in the first line; waits for it where it is still to be written."""
        names = self._header()
        return cells_schema(names, len(names), from_text=True)

    def empty(self) -> Table:
        """See `StreamSource`."""
        names = self._header()
        return self._made([()] * len(names), names, 0)

    def _header(self) -> tuple[str, ...]:
        if self._names is None:
            while not (found := self._records(1)) and not self._lines.ended:
                sleep(PAUSE)
            names = self._format.names(found[0] if found else b"")
            if self._columns is not None and not set(names) & set(self._columns):
                wanted = ", ".join(map(repr, sorted(self._columns)[:20]))
                raise SchemaError(  # of which nothing is said but that: the line may be a record
                    f"The first line of the CSV file names none of the columns that are to be read ({wanted}), so it may be a record, and is not shown. Write a line of "
                    "column names before the records, with the separator between them that the records have (a comma, in a .tsv file a tab). Nothing was read or spent."
                )
            self._names = names
            self._kept = [i for i, name in enumerate(names) if self._columns is None or name in self._columns]
            self._first = self._lines.offset
        return self._names

    def _find(self, mark: Mark, continues: bool) -> bool:
        self._header()
        self._start_record()
        return super()._find(mark, continues)

    def _rewind(self, start: int) -> int:
        self._header()
        self._start_record()
        return super()._rewind(start)

    def _next(self, most: int) -> Portion | Gap:
        blank = len(self._header()) == 1
        while found := self._records(most):
            kept = found if blank else [record for record in found if record not in BLANK]
            if kept:
                return Portion(len(kept), partial(self._table, kept))
        return Gap.END if self._lines.ended else Gap.IDLE

    def _records(self, most: int) -> list[bytes]:
        """Up to `most` complete records, blank lines included, taken off the queue; one whose rest may still come stays there."""
        if not self._format.quoted_line_breaks:
            return self._lines.take(most)
        found: list[bytes] = []
        while not found:
            more = self._lines.peek(self._count, max(most, self._count))
            for line in more:
                self._count, self._size = self._count + 1, self._size + len(line)
                endless = self._size >= lines.LONGEST and not self._lines.seekable
                self._within = self._format.goes_on(line, self._within) and not endless
                if not self._within:
                    found.append(self._whole())
                    if len(found) == most:
                        break
            if not more:
                return [self._whole()] if self._count and self._lines.ended else found
        return found

    def _whole(self) -> bytes:
        record = b"".join(self._lines.take(self._count))
        self._start_record()
        return record

    def _start_record(self) -> None:
        self._count, self._size, self._within = 0, 0, False

    def _table(self, records: Sequence[bytes]) -> RecordTable:
        names = self._header()
        columns = list(zip(*self._format.rows(records, len(names)), strict=True))
        return self._made([columns[i] for i in self._kept], [names[i] for i in self._kept], len(records))

    def _made(self, columns: Sequence[Sequence[str]], names: Sequence[str], count: int) -> RecordTable:
        broken = self._format.quoted_line_breaks
        return RecordTable(columns, names, count, from_text=True, quoted_line_breaks=broken)
