"""Records of a JSON Lines file, of one that grows, or of standard input.

Every line is one record, whatever it holds: a line that is no JSON object, and a blank one, is a record whose cells are all missing.
A key that a line lacks is a missing cell, other keys are ignored, of a key that occurs twice the last counts, and a list or an
object is a missing value. Numbers are numbers, texts are read by the domain's rules.
"""

import json
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hullabaloo.data.arrow import ArrowTable
from hullabaloo.data.given import names_of
from hullabaloo.data.table import Table, TableSchema
from hullabaloo.streaming.records import RecordTable, cells_schema
from hullabaloo.streaming.sources.base import Gap, Portion
from hullabaloo.streaming.sources.line_source import LineSource

FEW = 192  # lines for which calling PyArrow does not pay


class JsonLinesSource(LineSource):
    """A JSON Lines file, or standard input ("-").

    Args:
        path: the file, or "-".
        columns: the keys to read; they are declared, not looked up in the records.
        follow: wait for more at the end of the file, until the reading is stopped.
        numeric: keys that are declared as numbers, which PyArrow then parses. It changes the speed and no record.
    """

    def __init__(
        self, path: str | Path, columns: Sequence[str], *, follow: bool = False, numeric: Collection[str] = ()
    ) -> None:
        super().__init__(path, follow=follow, universal=False)
        self._names = names_of(columns, "columns")
        self._numeric = frozenset(names_of(numeric, "columns"))

    @property
    def schema(self) -> TableSchema:
        """The declared keys."""
        return cells_schema(self._names, len(self._names))

    def _next(self, most: int) -> Portion | Gap:
        self._lines.fetch(most)
        lines = self._lines.peek(most)
        if not lines:
            return Gap.END if self._lines.ended else Gap.IDLE
        self._lines.drop(len(lines))
        return Portion(len(lines), partial(self._table, lines))

    def _table(self, lines: Sequence[bytes]) -> Table:
        found = self._arrow(lines) if len(lines) >= FEW else None
        if found is not None:
            return found
        objects = [record(line) for line in lines]
        return RecordTable([[_cell(one.get(name)) for one in objects] for name in self._names], self._names, len(lines))

    def _arrow(self, lines: Sequence[bytes]) -> Table | None:
        """The table by PyArrow's parser; None where it cannot, or could, read another than the plain parser.

        Where it succeeds on lines that all begin with an opening brace and end with a closing one, each line is one object: an object
        that went on in the next line would need a comma or a closing brace there, and every line holds at least one of as many.
        """
        if not all(line[:1] == b"{" and line.rstrip()[-1:] == b"}" for line in lines):
            return None
        try:
            import pyarrow as pa
            from pyarrow import json as fast
        except ImportError:
            return None
        schema = pa.schema([(name, pa.float64() if name in self._numeric else pa.string()) for name in self._names])
        text = b"".join(lines)
        try:
            table = fast.read_json(
                pa.BufferReader(text),
                fast.ReadOptions(use_threads=False, block_size=len(text) + 1),
                fast.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
            )
        except (pa.ArrowException, UnicodeError):
            return None
        return ArrowTable(table) if table.num_rows == len(lines) and table.schema.names == list(self._names) else None


def record(line: bytes) -> dict[str, Any]:
    """The object in a line; an empty one where there is none. Never raises."""
    text = line.decode("utf-8", "replace").removeprefix("\ufeff")
    try:
        found = json.loads(text)
    except Exception:  # reason: whatever a line holds, it is a record, and no message may quote it
        try:
            found = json.loads(text, parse_int=float)  # a whole number too long for Python
        except Exception:  # reason: as above
            return {}
    return found if isinstance(found, dict) else {}


def _cell(value: object) -> object:
    return None if isinstance(value, dict | list) else value
