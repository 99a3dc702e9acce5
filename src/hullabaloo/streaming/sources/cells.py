"""A batch of records whose columns are lists of cells."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.numbers import numbers_of
from hullabaloo.data.table import CELLS, Table, TableSchema

_PLAIN = {float, int, bool, type(None)}


def cells_schema(names: Sequence[str]) -> TableSchema:
    """Columns without declared types: their cells are read one by one, by the domain's rules."""
    return TableSchema(tuple(names), ("unknown",) * len(names), (CELLS,) * len(names))


class CellTable(Table):
    """Named columns of cells."""

    def __init__(self, names: Sequence[str], columns: Sequence[Sequence[Any]], count: int) -> None:
        self._schema = cells_schema(names)
        self._columns = columns
        self._count = count

    @property
    def schema(self) -> TableSchema:
        """See ``Table``."""
        return self._schema

    @property
    def n_rows(self) -> int:
        """See ``Table``."""
        return self._count

    def numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """See ``Table``."""
        out = np.empty((self._count, len(columns)))
        for j, column in enumerate(columns):
            out[:, j] = _floats(self._columns[column])
        return out

    def cells(self, column: int) -> list[Any]:
        """See ``Table``."""
        return list(self._columns[column])


def _floats(cells: Sequence[Any]) -> NDArray[np.float64]:
    if set(map(type, cells)) <= _PLAIN:
        try:
            return np.array(cells, dtype=np.float64)  # None becomes NaN
        except OverflowError:  # an integer beyond float64
            pass
    return numbers_of(list(cells))
