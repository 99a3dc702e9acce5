"""Dataframes of any library that narwhals knows (pandas, Polars, Modin, ...) as tables."""

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.file_text import hidden
from hullabaloo.data.numbers import numbers_of
from hullabaloo.data.table import CELLS, NUMBER, REFUSED, Table, TableSchema
from hullabaloo.errors import SchemaError

_DOUBLED = (
    "The dataframe's columns cannot be told apart: a name occurs twice. Columns are matched by name, so rename them."
)
_FAILED = (
    "The lazy dataframe could not be collected. Its query runs outside the domain's rules, so a value may have stopped it, "
    "and what it says is not shown as it may quote that value. Collect it beforehand where records may be seen, and pass "
    "text columns as text: the domain reads every cell without failing."
)
_CELLS = (nw.String, nw.Object, nw.Categorical, nw.Enum)


class FrameTable(Table):
    """A dataframe; a lazy one is collected when its values are first needed."""

    def __init__(self, frame: Any) -> None:
        self._frame: Any = frame
        self._schema = frame.collect_schema()
        self._names = list(self._schema)

    @property
    def schema(self) -> TableSchema:
        """See ``Table``."""
        named = all(isinstance(name, str) for name in self._schema)  # pandas numbers columns that have no names
        return TableSchema(
            hidden(self._schema if named else None),
            tuple(_type_name(dtype) for dtype in self._schema.values()),
            tuple(self._kind(name, dtype) for name, dtype in self._schema.items()),
        )

    def _kind(self, name: Any, dtype: Any) -> str:
        if dtype.is_numeric() or dtype == nw.Boolean:
            return NUMBER
        if isinstance(dtype, _CELLS):
            return CELLS
        if dtype == nw.Unknown:
            return self._kind_of_unknown(name)
        return REFUSED

    def _kind_of_unknown(self, name: Any) -> str:
        """Types narwhals has no name for: Polars' null type, and pandas' sparse numbers."""
        native = str(nw.to_native(self._frame).collect_schema()[name] if self._lazy else self._native(name).dtype)
        if native == "Null":
            return CELLS
        return NUMBER if native.startswith(("Sparse[float", "Sparse[int", "Sparse[uint", "Sparse[bool")) else REFUSED

    @property
    def _lazy(self) -> bool:
        return isinstance(self._frame, nw.LazyFrame)

    def _series(self, name: Any) -> Any:
        return self._collected().get_column(name)

    def _collected(self) -> Any:
        if self._lazy:
            try:
                self._frame = self._frame.collect()
            except Exception:  # reason: a query's error may quote cells
                raise SchemaError(_FAILED) from None
        return self._frame

    def _native(self, name: Any) -> Any:
        return nw.to_native(self._series(name))

    @property
    def n_rows(self) -> int:
        """See ``Table``."""
        return int(self._collected().shape[0])

    def numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """See ``Table``."""
        kinds = self.schema.kinds
        out = np.empty((self.n_rows, len(columns)))
        for j, column in enumerate(columns):
            if kinds[column] == NUMBER:
                out[:, j] = self._floats(column)
            else:
                out[:, j] = numbers_of(self.cells(column))
        return out

    def _floats(self, column: int) -> NDArray[np.float64]:
        series = self._series(self._names[column])
        with np.errstate(all="ignore"):
            try:
                if series.implementation.is_pandas_like():
                    native = nw.to_native(series)
                    return np.asarray(native.to_numpy(dtype="float64", na_value=np.nan), dtype=np.float64)
                return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
            except Exception:  # reason: a cast fails as a whole; cell by cell, what cannot be read is missing
                return numbers_of(self.cells(column))

    def cells(self, column: int) -> list[Any]:
        """See ``Table``."""
        series = self._series(self._names[column])
        try:
            return list(series.to_list())
        except Exception:  # reason: for example text that is not UTF-8: cell by cell, what cannot be read is missing
            return [_item(series, i) for i in range(len(series))]


def _type_name(dtype: Any) -> str:
    """The declared type in a word: whether objects are text, and which categories occur, only values could tell."""
    if isinstance(dtype, nw.String | nw.Object):
        return "Text"
    return "Enum" if isinstance(dtype, nw.Enum) else str(dtype)


def _item(series: Any, i: int) -> Any:
    try:
        return series.item(i)
    except Exception:  # reason: what cannot be read is missing, whatever it raises
        return None


def open_frame(native: Any) -> FrameTable | None:
    """The table of a dataframe or series, or None when it is none that narwhals knows."""
    try:
        frame: Any = nw.from_native(native, allow_series=True, pass_through=True)
    except Exception:  # reason: each library has an error of its own for names that occur twice
        raise SchemaError(_DOUBLED) from None
    if isinstance(frame, nw.Series):
        frame = frame.to_frame() if frame.name is not None else frame.alias("").to_frame()
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return None
    try:
        return FrameTable(frame)
    except Exception:  # reason: each library has an error of its own for names that occur twice
        raise SchemaError(_DOUBLED) from None
