"""NumPy arrays (plain, object, text, masked, structured) and nested lists as tables."""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.numbers import numbers_of
from hullabaloo.data.table import CELLS, NUMBER, REFUSED, Table, TableSchema, hidden
from hullabaloo.errors import SchemaError

_KINDS = {"f": NUMBER, "i": NUMBER, "u": NUMBER, "b": NUMBER, "O": CELLS, "U": CELLS, "S": CELLS, "T": CELLS}


class ArrayTable(Table):
    """A two-dimensional array, or a one-dimensional structured array whose fields are the columns."""

    def __init__(self, array: NDArray[Any]) -> None:
        # As no other subclass: these may say anything of their shape, and np.matrix has no columns.
        array = (np.ma if isinstance(array, np.ma.MaskedArray) else np).asarray(array)
        names = array.dtype.names
        if array.ndim != (1 if names else 2):
            raise SchemaError(
                f"Expected 2D array, got {array.ndim}D array instead. A table has records as rows and columns "
                f"as features. Reshape your data either using array.reshape(-1, 1) if it has a single feature or array.reshape(1, -1) if it is a single record."
            )
        self._array, self._names, self.n_rows = array, names, int(array.shape[0])
        dtypes = [array.dtype[name] for name in names] if names else [array.dtype] * array.shape[1]
        kinds = tuple(REFUSED if d.subdtype or d.names else _KINDS.get(d.kind, REFUSED) for d in dtypes)
        # NumPy's own names of texts hold the length of the longest cell; the full ones of records hold names of fields.
        texts = {"U": "str", "S": "bytes", "T": "str"}
        self.schema = TableSchema(hidden(names), tuple(texts.get(d.kind, d.name) for d in dtypes), kinds)

    def _column(self, column: int) -> NDArray[Any]:
        return self._array[self._names[column]] if self._names else self._array[:, column]

    def numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """See ``Table``. Several columns may be the caller's memory, which kernels look at once; one alone, which NumPy looks at more often, is a copy."""
        if not self._names and self._array.dtype.kind in "fiub":
            whole = len(columns) > 1 and list(columns) == list(range(self._array.shape[1]))
            return _floats(self._array if whole else self._array[:, list(columns)])
        return super().numbers(columns)

    def _numbers(self, column: int) -> NDArray[np.float64]:
        values = self._column(column)
        return _floats(values) if values.dtype.kind in "fiub" else numbers_of(self.cells(column))

    def cells(self, column: int) -> list[Any]:
        """See ``Table``."""
        values = self._column(column)
        return list((_texts(values) if values.dtype.kind == "U" else values).tolist())


def _texts(values: NDArray[Any]) -> NDArray[Any]:
    """With U+FFFD for what is no character: an array's memory may hold any number, and Python stops at one that is none."""
    out = values.astype(values.dtype.newbyteorder("="), order="C")
    if out.dtype.itemsize:
        codes = np.asarray(out).view(np.uint32)  # of a masked array, its memory
        codes[codes > sys.maxunicode] = 0xFFFD
    return out


def _floats(values: NDArray[Any]) -> NDArray[np.float64]:
    """As C-contiguous float64, masked cells NaN; a number too large for float64 becomes infinite without a warning."""
    with np.errstate(all="ignore"):
        if isinstance(values, np.ma.MaskedArray):
            return np.ascontiguousarray(np.ma.filled(values.astype(np.float64), np.nan))
        return np.ascontiguousarray(values, dtype=np.float64)


class ListTable(Table):
    """A list of records, each a list (or tuple or array) of cells. It declares no columns: the domain says how many there are.

    **Guarantee.** No record is asked what the others are: one that is too short lacks its last cells, surplus cells are
    ignored, and one that is no list is a cell, its first.
    """

    def __init__(self, rows: Sequence[Any]) -> None:
        self._rows, self.n_rows = rows, len(rows)
        self.schema = TableSchema(None, (), (), unbounded=True)

    def cells(self, column: int) -> list[Any]:
        """See ``Table``."""
        return [cell_of(row, column) for row in self._rows]


def cell_of(row: Any, column: int) -> Any:
    """A cell of a record that is a list, tuple or array of cells, or else one cell itself; None is missing."""
    if not issubclass(type(row), list | tuple | np.ndarray):  # isinstance would ask a hostile row what it is
        return row if column == 0 else None
    try:
        return row[column]
    except Exception:  # reason: a row may be too short, and a hostile one raises anything; such a cell is missing
        return None
