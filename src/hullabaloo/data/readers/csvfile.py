r"""CSV: what a line is, what a record is, and what its cells are. Every reader of the format reads it by this one parser.

- A **line** ends with a line feed, or with the file. A carriage return before that end belongs to it; any other is a character.
  Bytes that are no UTF-8 become U+FFFD; a byte-order mark at its beginning is left out. The first line names the columns.
- A **record** is one line, and a quote that it leaves open ends with it, so that no record reaches into another. Only where
  `quoted_line_breaks` is declared does a quote that is left open go on in the next line: records are then as parsed, and one whose
  writer closes no quote takes the lines after it with it. A blank line is a record only where there is one column.
- A **cell** that begins with a quote is what stands before the next lone quote, where two quotes are one, and after that whatever
  comes before the separator, as it is; every other cell is what stands before the separator, quotes and all. A record too short lacks
  its last cells, surplus ones are ignored. Cells have no type; the domain's grammars read them.

Every text has cells, and nothing but the text decides about them: Python's own `csv` module agrees wherever it does not raise, but
it stops at a long cell, by a limit that the whole process shares, and at a carriage return.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from hullabaloo.compiled import Wholes
from hullabaloo.data.numbers import numbers_of
from hullabaloo.data.readers.csv_kernels import Bytes, find_cells, find_numbers
from hullabaloo.data.records import RecordTable
from hullabaloo.data.table import Table, TableSchema, cells_schema
from hullabaloo.errors import SchemaError

_READ = 1 << 22
_ENDS = (b"\n", b"\r\n", b"\r", b"")
BLANK = frozenset(mark + end for mark in (b"", "\ufeff".encode()) for end in _ENDS)
"""Every blank line."""


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """How one file is written.

    Attributes:
        separator: the one character between cells.
        quoted_line_breaks: whether a quoted cell may go on in the next line.
    """

    separator: str = ","
    quoted_line_breaks: bool = False

    def goes_on(self, line: bytes, within: bool) -> bool:
        """Whether the record goes on after this line; `within` says that the line before left a quote open."""
        if not self.quoted_line_breaks or b'"' not in line:
            return within
        return self.cells('"' * within + text_of(line))[1]

    def records(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """The records of a whole file, that of the column names first, each with its line feeds."""
        held: list[bytes] = []
        within = False
        for line in lines:
            held.append(line)
            within = self.goes_on(line, within)
            if not within:
                yield b"".join(held)
                held = []
        if held:
            yield b"".join(held)

    def names(self, record: bytes) -> tuple[str, ...]:
        """The column names in the first record.

        Raises:
            SchemaError: it is blank, or lines seem to end with a carriage return alone.
        """
        text = text_of(record)
        if not text:
            raise SchemaError(
                "The CSV file has no line of column names. Its first line has to name the columns, as the domain's features are matched by name."
            )
        if "\r" in text:
            raise SchemaError(
                "The first line of the CSV file holds a carriage return that no line feed follows. Lines end with a line feed here, so the "
                "whole file may be one line. Write it with line feeds; nothing was read or spent."
            )
        return tuple(name.strip() for name in self.cells(text)[0])

    def rows(self, records: Iterable[bytes], width: int) -> Iterator[list[str | None]]:
        """The cells of each record, `width` of them; blank lines are left out where there are several columns."""
        lacking: list[str | None] = [None] * width
        for record in records:
            if record not in BLANK or width == 1:
                found: list[str | None] = [*self.cells(text_of(record))[0]]
                yield found if len(found) == width else [*found, *lacking][:width]

    def cells(self, text: str) -> tuple[list[str], bool]:
        """The cells of a record, and whether its last quote is open.

        Where there is no quote, no cell begins with one, and what is between separators is a cell.
        """
        if '"' not in text:
            return text.split(self.separator), False
        match = _cell_of(self.separator)
        cells: list[str] = []
        place = 0
        while True:
            found = match(text, place)
            assert found is not None  # every text begins with a cell, if an empty one
            quoted, close, rest, plain = found.groups()
            cells.append(plain if quoted is None else quoted.replace('""', '"') + (rest or ""))
            place = found.end() + 1
            if place > len(text):
                return cells, quoted is not None and close is None


def text_of(record: bytes) -> str:
    """The text of a line or record, without its end and mark."""
    return record.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "replace").removeprefix("\ufeff")


@lru_cache(maxsize=8)
def _cell_of(separator: str) -> Callable[[str, int], re.Match[str] | None]:
    """The match of one cell; possessive, so that its time is linear in the text whatever that holds."""
    other = re.escape(separator)
    return re.compile(rf'"((?:[^"]++|"")*+)(?:(")([^{other}]*+))?+|([^{other}]*+)').match


class CsvPart(Table):
    """Lines of a CSV file, as bytes and the places of their cells."""

    def __init__(self, text: Bytes, spans: Wholes, schema: TableSchema, separator: str) -> None:
        self._text, self._spans, self._format = text, spans, CsvFormat(separator)
        self.schema, self.n_rows, self.quoted_line_breaks = schema, len(spans), False

    def _numbers(self, column: int) -> NDArray[np.float64]:
        out, unsure = np.empty(self.n_rows), np.empty(self.n_rows, dtype=np.int64)
        spans = np.ascontiguousarray(self._spans[:, column])
        rows = unsure[: find_numbers(self._text, spans, out, unsure)]
        out[rows] = numbers_of(self._cells(spans[rows]))
        return out

    def cells(self, column: int) -> list[Any]:
        """See ``Table``."""
        return self._cells(self._spans[:, column])

    def _cells(self, spans: Wholes) -> list[Any]:
        text, found = self._text.data, list[Any]()
        for start, stop in spans.tolist():
            cell = None if start < 0 else str(text[start : stop if stop >= 0 else -stop - 1], "utf-8", "replace")
            found.append(cell if cell is None or stop >= 0 else self._format.cells(cell)[0][0])
        return found


class CsvTable(Table):
    """A CSV file (tabs in ``.tsv``); its columns are read on first use, in one pass.

    ``quoted_line_breaks``: whether a quoted cell may go on in the next line; else a record is one line.
    """

    def __init__(self, path: Any, *, quoted_line_breaks: bool = False) -> None:
        self._path = path
        self._format = CsvFormat("\t" if path.suffix.lower() == ".tsv" else ",", quoted_line_breaks)
        self.quoted_line_breaks = quoted_line_breaks
        with path.open("rb") as file:
            names = self._format.names(next(self._format.records(file), b""))
        self.schema = cells_schema(names, len(names), from_text=True)

    def parts_of(self, names: Sequence[str] | None, rows: int) -> Iterator[Table]:
        """Parts of at most so many records."""
        with self._path.open("rb") as file:
            next(self._format.records(file), None)
            yield from self._joined(file, rows) if self.quoted_line_breaks else self._lines(file, rows)

    def _joined(self, file: BinaryIO, rows: int) -> Iterator[Table]:
        records = self._format.rows(self._format.records(file), len(self.schema.types))
        while held := list(islice(records, rows)):
            yield RecordTable(
                [*zip(*held, strict=True)], self.schema.names, len(held), from_text=True, quoted_line_breaks=True
            )

    def _lines(self, file: BinaryIO, rows: int) -> Iterator[Table]:
        width, size, held, last = len(self.schema.types), _READ, b"", False
        most = max(1, min(rows, _READ // width))
        while not last:
            more = file.read(size)
            held, last = held + more, not more  # a store may give less than was asked for
            text, start = np.frombuffer(held, dtype=np.uint8), 0
            while start < len(held):
                spans = np.empty((most, width, 2), dtype=np.int64)
                count, taken = find_cells(text[start:], ord(self._format.separator), last, spans)
                if count:
                    yield CsvPart(text[start:], spans[:count].copy(), self.schema, self._format.separator)
                start += taken
                if count < most:
                    break
            held, size = held[start:], size if start else 2 * size  # a line longer than what was read

    @cached_property
    def _parts(self) -> list[Table]:
        return list(self.parts_of(None, _READ))

    @property
    def n_rows(self) -> int:  # type: ignore[override]  # none is counted before it is asked for
        """See ``Table``; counted part by part where nothing was read, so that counting holds one of them."""
        return sum(part.n_rows for part in vars(self).get("_parts") or self.parts_of(None, _READ))

    def _numbers(self, column: int) -> NDArray[np.float64]:
        return np.concatenate([np.zeros(0), *(part.numbers([column])[:, 0] for part in self._parts)])

    def cells(self, column: int) -> list[Any]:
        """See ``Table``."""
        return [cell for part in self._parts for cell in part.cells(column)]
