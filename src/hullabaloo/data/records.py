"""Records that come one by one, as mappings from feature to value: gathered as columns, read by the domain's own rules."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.file_text import FileText, hidden
from hullabaloo.data.numbers import numbers_of
from hullabaloo.data.table import CELLS, Table, TableSchema

Names = Sequence[str] | Sequence[FileText] | None


def cells_schema(names: Names, width: int, *, from_text: bool = False) -> TableSchema:
    """Columns without declared types: their cells are read one by one, by the domain's rules."""
    return TableSchema(hidden(names), ("unknown",) * width, (CELLS,) * width, from_text=from_text)


@final
class RecordTable(Table):
    """Columns of Python cells, with names where they have some; `from_text`: a line of a text file."""

    def __init__(
        self,
        columns: Sequence[Sequence[Any]],
        names: Names,
        rows: int,
        *,
        from_text: bool = False,
        quoted_line_breaks: bool | None = None,
    ) -> None:
        self.quoted_line_breaks = quoted_line_breaks
        self._columns = columns
        self._names = names
        self._rows = rows
        self._from_text = from_text

    @property
    def schema(self) -> TableSchema:
        """See `Table`."""
        return cells_schema(self._names, len(self._columns), from_text=self._from_text)

    @property
    def n_rows(self) -> int:
        """See `Table`."""
        return self._rows

    def numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """See `Table`."""
        out = np.empty((self._rows, len(columns)))
        for place, column in enumerate(columns):
            out[:, place] = numbers_of(list(self._columns[column]))
        return out

    def cells(self, column: int) -> list[Any]:
        """See `Table`."""
        return list(self._columns[column])


def table_of(records: Sequence[tuple[Any, ...]], names: tuple[str, ...] | None, width: int) -> RecordTable:
    """A table of records that have `width` cells each."""
    columns = list(zip(*records, strict=True)) if records else [()] * width
    return RecordTable(columns, names, len(records))
