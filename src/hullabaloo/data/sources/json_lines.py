"""Records of a JSON Lines file, of one that grows, or of standard input.

Every line is one record, whatever it holds, and is decoded by itself, by one decoder. **The rule**, a function of the line's bytes:

- A line ends with a line feed; of one that comes through a pipe the first 64 MiB count (`lines.py`). Bytes that are no UTF-8 become U+FFFD, and a byte-order mark at its beginning is left out.
- The line is one object as RFC 8259 writes it, blanks around it allowed, or it is nothing: a line that is no object, a blank one, and
  one in which anything follows the object are records whose cells are all missing. So is a line whose lists and objects nest more
  than `DEEPEST` deep.
- Beside the RFC's numbers `NaN` (missing), `Infinity` and `-Infinity` (out of range, like 1e999) are read; `Inf`, `-Inf`, `-NaN` and
  all other words are no JSON, wherever they stand.
- A key that a line lacks is a missing cell, other keys are ignored, of a key that occurs twice the last counts, and a list or an
  object is a missing value. Numbers are numbers, texts (lone surrogates too) are read by the domain's rules. A whole number of more
  than `DIGITS` digits stays the text that it is written as, which those rules read as out of range.

Neither of the interpreter's limits can decide about a record: on digits, because `DIGITS` is the least that it can be set to; on nesting,
because a batch is begun only where the stack has room for twice `DEEPEST`, whatever the records hold.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, BinaryIO

from hullabaloo.data.given import names_of
from hullabaloo.data.records import RecordTable
from hullabaloo.data.sources.base import Gap, Portion
from hullabaloo.data.sources.lines import LineSource
from hullabaloo.data.table import Table, cells_schema
from hullabaloo.errors import SchemaError

DEEPEST = 64
"""Levels of lists and objects in a line, the line's own object included."""
DIGITS = 640

_TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_BRACKET = re.compile(rb"[\[{\]}]")
_NESTED = {dict, list}
_STEP = {b"[": 1, b"{": 1, b"]": -1, b"}": -1}


class JsonLinesSource(LineSource):
    """A JSON Lines file, or standard input ("-").

    Args:
        path: the file, or "-".
        columns: the keys to read; they are declared, not looked up in the records.
        follow: wait for more at the end of the file, until the reading is stopped.
    """

    def __init__(self, path: str | Path, columns: Sequence[str], *, follow: bool = False) -> None:
        super().__init__(path, follow=follow)
        self._names = names_of(columns, "columns")
        self.schema = cells_schema(self._names, len(self._names))

    def _next(self, most: int) -> Portion | Gap:
        lines = self._lines.take(most)
        if not lines:
            return Gap.END if self._lines.ended else Gap.IDLE
        return Portion(len(lines), partial(table_of_lines, lines, self._names))


class JsonLines:
    """A JSON Lines file that is read in parts, by its `Path` or `RemotePath`."""

    quoted_line_breaks: bool | None = None

    def __init__(self, path: Any, columns: Sequence[str] | None) -> None:
        if columns is None:
            raise SchemaError(
                "A JSON Lines file declares no columns, and to look them up in its records would tell of them. Pass hb.scan(path, columns=['age', 'cost']), in a shell --columns age,cost."
            )
        self._path, self._names = path, names_of(columns, "columns")
        self.schema = cells_schema(self._names, len(self._names))
        with self._file():
            pass

    def _file(self) -> BinaryIO:
        try:
            return self._path.open("rb")  # type: ignore[no-any-return]
        except FileNotFoundError:
            raise SchemaError("There is no such JSON Lines file. Pass its path; nothing was read or charged.") from None

    @property
    def n_rows(self) -> int:
        """The number of lines; takes a pass."""
        with self._file() as file:
            return sum(1 for _ in file)

    def parts_of(self, names: Sequence[str] | None, rows: int) -> Iterator[Table]:
        """Parts of at most so many records."""
        with self._file() as file:
            while lines := list(islice(file, rows)):
                yield table_of_lines(lines, self._names)


def table_of_lines(lines: Sequence[bytes], names: Sequence[str]) -> RecordTable:
    """The table of these keys of the objects in lines."""
    objects = records(lines)
    columns = [[None if type(cell := one.get(name)) in _NESTED else cell for one in objects] for name in names]
    return RecordTable(columns, names, len(lines))


def records(lines: Sequence[bytes]) -> list[dict[str, Any]]:
    """The object in each line, by the rule above; an empty one where there is none.

    Raises:
        RecursionError: the caller left too little of the interpreter's stack, whatever the lines hold.
    """
    _decoded("[" * (2 * DEEPEST) + "1" + "]" * (2 * DEEPEST))
    return list(map(_record, lines))


def _record(line: bytes) -> dict[str, Any]:
    if _too_deep(line):
        return {}
    try:
        found = _decoded(line.decode("utf-8", "replace").removeprefix("\ufeff"))
    except ValueError:  # it is no JSON, and no message may quote it
        return {}
    return found if isinstance(found, dict) else {}


def _too_deep(line: bytes) -> bool:
    """Whether brackets nest more than `DEEPEST` deep; in a line that is JSON, those outside of texts."""
    if line.count(b"[") + line.count(b"{") <= DEEPEST:
        return False
    steps = map(_STEP.__getitem__, _BRACKET.findall(_TEXT.sub(b"", line)))
    return max(accumulate(steps), default=0) > DEEPEST


def _whole(digits: str) -> int | str:
    return int(digits) if len(digits) <= DIGITS else digits


_decoded = json.JSONDecoder(parse_int=_whole).decode
