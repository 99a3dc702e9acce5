"""Tables of columns at hand: of records that came one by one, read by the domain's own rules, or chosen from other tables."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.table import Names, Table, TableSchema, cells_schema, hidden


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
        self.schema = cells_schema(names, len(columns), from_text=from_text)
        self.n_rows = rows
        self._columns = columns

    def cells(self, column: int) -> list[Any]:
        """See `Table`."""
        return list(self._columns[column])


def table_of(records: Sequence[tuple[Any, ...]], names: tuple[str, ...] | None, width: int) -> RecordTable:
    """A table of records that have `width` cells each."""
    columns = list(zip(*records, strict=True)) if records else [()] * width
    return RecordTable(columns, names, len(records))


class ChosenColumns(Table):
    """Columns given as (name, table, place); the first table's records are those of all."""

    def __init__(self, columns: Sequence[tuple[str, Table, int]]) -> None:
        self._columns = tuple(columns)
        self.quoted_line_breaks = self._columns[0][1].quoted_line_breaks if self._columns else None
        found = [table.schema.column(place) for _, table, place in self._columns]
        types, kinds = (tuple(one[side] for one in found) for side in (0, 1))
        self.schema = TableSchema(hidden(name for name, _, _ in self._columns), types, kinds)

    @property
    def n_rows(self) -> int:  # type: ignore[override]  # none is counted before it is asked for
        """See ``Table``."""
        return self._columns[0][1].n_rows

    def numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """See ``Table``: each table is asked once."""
        out = np.empty((self.n_rows, len(columns)))
        asked = [self._columns[column][1:] for column in columns]
        for table in {id(table): table for table, _ in asked}.values():
            where = [i for i, (other, _) in enumerate(asked) if other is table]
            out[:, where] = table.numbers([asked[i][1] for i in where])
        return out

    def cells(self, column: int) -> list[Any]:
        """See ``Table``."""
        _, table, place = self._columns[column]
        return table.cells(place)
