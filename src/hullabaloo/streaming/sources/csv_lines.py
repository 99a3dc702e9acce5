"""Records of a CSV file, of one that grows, or of standard input.

The records are those that `hullabaloo fit` finds in the same file (`data/csvfile.py`): UTF-8, commas (tabs in ``.tsv``), the first
line names the columns, quotes after RFC 4180, so that a quoted cell may hold line breaks and its record is complete when the
quote is closed. A line too short lacks its last cells, surplus cells are ignored, a blank line is a record only where there is
one column. A record whose quote is never closed takes the lines after it with it, there as here; where no cell holds a line break,
`one_line` makes every line a record of its own, and such a quote spoils no other.
"""

import csv
import sys
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import sleep

from hullabaloo.data.arrow import ArrowTable
from hullabaloo.data.given import names_of
from hullabaloo.data.table import Table, TableSchema
from hullabaloo.errors import InvalidParameter, SchemaError
from hullabaloo.streaming.records import RecordTable, cells_schema
from hullabaloo.streaming.sources.base import PAUSE, Gap, Mark, Portion
from hullabaloo.streaming.sources.line_source import LineSource

_BLANK = {b"\n", b"\r\n", b"\r"}
FEW = 192  # lines for which calling PyArrow does not pay
# Texts that no grammar of numbers knows, often written for a missing number.
MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "?", "-"]


class CsvSource(LineSource):
    """A CSV file, or standard input ("-").

    Args:
        path: the file, or "-".
        follow: wait for more at the end of the file, until the reading is stopped.
        columns: only these columns are read; None reads all.
        numeric: columns that are declared as numbers, which PyArrow then parses. It changes the speed and no record.
        one_line: a record is one line, whatever quotes it has.
        separator: between cells; None: a tab where the path ends in .tsv, else a comma.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        follow: bool = False,
        columns: Collection[str] | None = None,
        numeric: Collection[str] = (),
        one_line: bool = False,
        separator: str | None = None,
    ) -> None:
        if separator is not None and (
            not isinstance(separator, str) or len(separator) != 1 or separator in '"\r\n\x00'
        ):
            raise InvalidParameter(
                f"separator={separator!r} was given. Pass the one character between the cells of a line, such as ';'; no quote and no line's end."
            )
        if not isinstance(one_line, bool):
            raise InvalidParameter(f"one_line={one_line!r} was given. Pass True or False.")
        super().__init__(path, follow=follow, universal=True)
        csv.field_size_limit(sys.maxsize)  # a long cell is a value, and values never raise
        self._separator = ("\t" if str(path).lower().endswith(".tsv") else ",") if separator is None else separator
        self._columns = None if columns is None else names_of(columns, "columns")
        self._numeric = frozenset(names_of(numeric, "columns"))
        self._one_line = one_line
        self._names: tuple[str, ...] | None = None
        self._stuck = -1  # lines in the queue when they were found to hold no complete record

    @property
    def schema(self) -> TableSchema:
        """The names in the first line; waits for it where it is still to be written."""
        names = self._header()
        return cells_schema(names, len(names), from_text=True)

    def _header(self) -> tuple[str, ...]:
        if self._names is None:
            while not (found := self._parsed(1)) and not self._lines.ended:
                sleep(PAUSE)
            names = [name.strip() for name in found[0]] if found else []
            if not names:
                raise SchemaError(
                    "The CSV file has no line of column names. Its first line has to name the columns, as the domain's "
                    "features are matched by name."
                )
            if self._columns is not None and not set(names) & set(self._columns):
                raise SchemaError(_no_header(self._columns))
            self._names = tuple(names)
            self._kept = [i for i, name in enumerate(names) if self._columns is None or name in self._columns]
            self._first = self._lines.offset
        return self._names

    def _find(self, mark: Mark) -> bool:
        self._header()
        return super()._find(mark)

    def _rewind(self, start: int) -> int:
        self._header()
        return super()._rewind(start)

    def _next(self, most: int) -> Portion | Gap:
        blank = len(self._header()) == 1
        while True:
            self._lines.fetch(most)
            lines = self._lines.peek(most)
            if not lines:
                return Gap.END if self._lines.ended else Gap.IDLE
            if self._one_line or not any(b'"' in line for line in lines):
                self._lines.drop(len(lines))
                kept = lines if blank else [line for line in lines if line not in _BLANK]
                if kept:
                    return Portion(len(kept), partial(self._table, kept))
                continue
            before = self._lines.offset
            rows = [row for row in self._parsed(most) if row or blank]
            if rows:
                return Portion(len(rows), partial(self._cells, rows))
            if self._lines.offset == before:
                return Gap.IDLE

    def _parsed(self, most: int) -> list[list[str]]:
        """Up to `most` complete records, blank lines included, taken off the queue."""
        self._lines.fetch(most)
        if self._lines.queued == self._stuck and not self._lines.ended:
            return []
        rows: list[list[str]] = []
        pulled = used = 0

        def texts() -> Iterator[str]:
            nonlocal pulled
            lines: list[bytes] = []
            while True:
                if pulled == len(lines):
                    wanted = max(most, 2 * pulled)
                    self._lines.fetch(wanted)
                    lines = self._lines.peek(wanted)
                    if pulled == len(lines):
                        if self._lines.ended:
                            return
                        raise _Unfinished
                pulled += 1
                text = lines[pulled - 1].decode("utf-8", "replace")
                yield text.removeprefix("\ufeff") if pulled == 1 and self._lines.offset == 0 else text

        try:
            for row in csv.reader(texts(), delimiter=self._separator):
                used = pulled
                rows.append(row)
                if len(rows) == most:
                    break
        except _Unfinished:
            pass
        self._stuck = -1 if rows else self._lines.queued
        self._lines.drop(used)
        return rows

    def _table(self, lines: Sequence[bytes]) -> Table:
        found = self._arrow(b"".join(lines), len(lines)) if len(lines) >= FEW else None
        return self._cells(list(self._split(lines))) if found is None else found

    def _split(self, lines: Sequence[bytes]) -> Iterator[list[str]]:
        texts = (line.decode("utf-8", "replace") for line in lines)
        if not self._one_line:
            yield from csv.reader(texts, delimiter=self._separator)
            return
        for text in texts:
            yield next(csv.reader([text], delimiter=self._separator), [])

    def _cells(self, rows: Sequence[list[str]]) -> RecordTable:
        names = self._header()
        width = len(names)
        lacking: list[str | None] = [None] * width
        whole = [row if len(row) == width else [*row, *lacking][:width] for row in rows]
        columns = list(zip(*whole, strict=True))
        kept = [names[i] for i in self._kept]
        return RecordTable([columns[i] for i in self._kept], kept, len(rows), from_text=True)

    def _arrow(self, text: bytes, count: int) -> Table | None:
        """The table by PyArrow's parser; None where it cannot, or could, read another than the plain parser."""
        names = self._header()
        odd = b'"' in text or text.count(b"\r") != text.count(b"\r\n")
        if odd or len(names) == 1 or len(set(names)) < len(names):
            return None
        try:
            import pyarrow as pa
            from pyarrow import csv as fast
        except ImportError:
            return None
        chosen = [names[i] for i in self._kept]
        types = {name: pa.float64() if name in self._numeric else pa.string() for name in chosen}
        try:
            table = fast.read_csv(
                pa.BufferReader(text),
                fast.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=names),
                fast.ParseOptions(delimiter=self._separator, quote_char=False),
                fast.ConvertOptions(
                    column_types=types, include_columns=chosen, null_values=MISSING, strings_can_be_null=False
                ),
            )
        except (pa.ArrowException, UnicodeError):
            return None
        return ArrowTable(table, from_text=True) if table.num_rows == count else None


def _no_header(wanted: Collection[str]) -> str:
    """What to say of a first line that names no column asked for. Nothing is said of what it holds: it may be a record."""
    return (
        f"The first line of the CSV file names none of the columns that are to be read ({', '.join(map(repr, sorted(wanted)[:20]))}), so it may "
        "be a record, and is not shown. Write a line of column names before the records, with the separator between them that the records have "
        "(a comma, in a .tsv file a tab). Nothing was read or spent."
    )


class _Unfinished(Exception):
    """The queue ends inside a record whose rest may still come."""
