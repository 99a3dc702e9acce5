"""Some columns of one or several tables of the same records, under names of their own, as one table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.file_text import hidden
from hullabaloo.data.table import Table, TableSchema


class ChosenColumns(Table):
    """Columns given as (name, table, place); the first table's records are those of all."""

    def __init__(self, columns: Sequence[tuple[str, Table, int]]) -> None:
        self._columns = tuple(columns)
        self.quoted_line_breaks = self._columns[0][1].quoted_line_breaks if self._columns else None

    @property
    def schema(self) -> TableSchema:
        """See ``Table``."""
        found = [table.schema.column(place) for _, table, place in self._columns]
        return TableSchema(
            names=hidden(name for name, _, _ in self._columns),
            types=tuple(declared for declared, _ in found),
            kinds=tuple(kind for _, kind in found),
        )

    @property
    def n_rows(self) -> int:
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
