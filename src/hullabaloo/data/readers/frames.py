"""Dataframes of any library that narwhals knows (pandas, Polars, Modin, ...) as tables.

Which way a column is read follows from its declared type, never from whether a faster way failed: that, a value decides.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.numbers import numbers_of
from hullabaloo.data.readers.arrow import ArrowTable, check_container, floats, kind_of, objects, texts
from hullabaloo.data.table import CELLS, NUMBER, REFUSED, Table, TableSchema, hidden
from hullabaloo.errors import SchemaError, bare

_DOUBLED = (
    "The dataframe's columns cannot be told apart: a name occurs twice. Columns are matched by name, so rename them."
)
_FAILED = (
    "The lazy dataframe could not be collected. Its query runs outside the domain's rules, so a value may have stopped it, "
    "and what it says is not shown as it may quote that value. Nothing was charged. Collect it beforehand where records may be "
    "seen, and pass text columns as text: the domain reads every cell without failing."
)
_CELLS = (nw.String, nw.Object, nw.Categorical, nw.Enum)


class FrameTable(Table):
    """A dataframe whose cells are at hand. How a column is read follows from its declared type alone."""

    def __init__(self, frame: Any) -> None:
        self._frame: Any = frame
        self._types = frame.collect_schema()
        self._names = list(self._types)
        named = all(isinstance(name, str) for name in self._names)  # pandas numbers columns that have no names
        self.n_rows = int(frame.shape[0])
        # Types in a word: whether objects are text, and which categories occur, only values could tell; the rest may be names of fields or of zones.
        texts = nw.String | nw.Object
        self.schema = TableSchema(
            hidden(self._names if named else None),
            tuple(
                "Text" if isinstance(dtype, texts) else self._word(name, dtype) for name, dtype in self._types.items()
            ),
            tuple(self._kind(name, dtype) for name, dtype in self._types.items()),
        )

    def parts_of(self, names: Sequence[str] | None, rows: int) -> Iterator["FrameTable"]:
        """Parts of at most so many records, of all columns."""
        for start in range(0, self.n_rows, rows):
            yield FrameTable(self._frame[start : start + rows])

    def _word(self, name: Any, dtype: Any) -> str:
        """The word for a type; that of categories is their own where they are short floats."""
        native = self._native(name).dtype
        levels = getattr(native, "pyarrow_dtype", getattr(getattr(native, "categories", None), "dtype", None))
        short = re.search(r"\b(?:half)?float(?:16|32)?\b", str(levels), re.IGNORECASE)
        return short[0] if short else type(dtype).__name__

    def _kind(self, name: Any, dtype: Any) -> str:
        native = self._native(name)
        held = _arrow(native)
        if held is not None:
            if kind_of(held.type) != REFUSED:
                check_container(held)
            return kind_of(held.type)
        if dtype.is_numeric() or dtype == nw.Boolean or (dtype == nw.Unknown and _is_sparse(native.dtype)):
            return NUMBER
        nothing = dtype == nw.Unknown and str(native.dtype) == "Null"  # Polars' type of a column of nulls
        return CELLS if nothing or isinstance(dtype, _CELLS) else REFUSED

    def _series(self, name: Any) -> Any:
        return self._frame.get_column(name)

    def _native(self, name: Any) -> Any:
        return nw.to_native(self._series(name))

    def _numbers(self, column: int) -> NDArray[np.float64]:
        return self._floats(column) if self.schema.kinds[column] == NUMBER else numbers_of(self.cells(column))

    def _floats(self, column: int) -> NDArray[np.float64]:
        name = self._names[column]
        series, native = self._series(name), self._native(name)
        held = _arrow(native)
        if held is not None:
            return floats(held)
        if isinstance(self._types[name], nw.Decimal):
            return numbers_of(self.cells(column))
        with np.errstate(all="ignore"):
            if not series.implementation.is_pandas_like():
                return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
            if _is_sparse(native.dtype):
                return _dense(native.array)
            return np.asarray(native.to_numpy(dtype="float64", na_value=np.nan), dtype=np.float64)

    def arrow(self, column: int) -> Any:
        """A column as Arrow holds it; None where something else does."""
        return _arrow(self._native(self._names[column]))

    def cells(self, column: int) -> list[Any]:
        """See ``Table``. Text that Arrow or Polars holds may not be UTF-8, so it is decoded here.

        A code of pandas that stands for no category is missing: pandas checks none where it is told not to, and then stops at it.
        """
        name = self._names[column]
        series, native = self._series(name), self._native(name)
        if _arrow(native) is not None:
            return _objects(native)
        if series.implementation.is_pandas() and isinstance(self._types[name], nw.Categorical | nw.Enum):
            levels = _objects(native.array.categories)
            return [levels[code] if 0 <= code < len(levels) else None for code in native.array.codes.tolist()]
        if series.implementation.is_polars() and isinstance(self._types[name], nw.String | nw.Categorical | nw.Enum):
            import polars as pl

            return texts(native.cast(pl.String).cast(pl.Binary).to_list())
        return list(series.to_list())


def _arrow(native: Any) -> Any:
    """The array in which Arrow holds a column of pandas; None where something else does."""
    dtype = native.dtype
    held = hasattr(dtype, "pyarrow_dtype") or getattr(dtype, "storage", None) == "pyarrow"
    return native.array.__arrow_array__() if held else None


def _objects(native: Any) -> list[Any]:
    """The cells of a column of pandas, or its categories."""
    held = _arrow(native)
    return list(native.tolist()) if held is None else objects(held)


def _is_sparse(dtype: Any) -> bool:
    """Whether it is pandas' type of a column of numbers that are mostly one value."""
    return str(dtype).startswith(("Sparse[float", "Sparse[int", "Sparse[uint", "Sparse[bool"))


def _dense(array: Any) -> NDArray[np.float64]:
    """The numbers of a sparse column. An entry at a place that no record has is absent: pandas checks no place where it is told not to."""
    places = np.asarray(array.sp_index.to_int_index().indices, dtype=np.int64)
    values = np.asarray(array.sp_values, dtype=np.float64)
    places, values = places[: values.size], values[: places.size]
    out = np.full(len(array), array.fill_value, dtype=np.float64)
    inside = (places >= 0) & (places < out.size)
    out[places[inside]] = values[inside]
    return out


def open_frame(native: Any) -> Table | None:
    """The table of a dataframe or series, or None when it is none that narwhals knows.

    A lazy one is collected here, before anything is charged. **Guarantee.** A record is a row of the query's result; that the
    query ends, and which types it gives, is outside of the guarantee, as it is where it runs before it is passed.
    """
    try:
        frame: Any = nw.from_native(native, allow_series=True, pass_through=True)
    except Exception:  # reason: each library has an error of its own for names that occur twice
        bare(SchemaError(_DOUBLED))
    if isinstance(frame, nw.Series):
        frame = frame.to_frame() if frame.name is not None else frame.alias("").to_frame()
    if isinstance(frame, nw.LazyFrame):
        frame = _collected(frame)
    if not isinstance(frame, nw.DataFrame):
        return None
    if frame.implementation.is_pyarrow():
        return ArrowTable(nw.to_native(frame))
    try:
        return FrameTable(frame)
    except SchemaError:
        raise
    except Exception:  # reason: each library has an error of its own for names that occur twice
        bare(SchemaError(_DOUBLED))


def is_lazy(native: Any) -> bool:
    """Whether it is a query that has yet to be run."""
    try:
        return isinstance(nw.from_native(native, allow_series=True, pass_through=True), nw.LazyFrame)
    except Exception:  # reason: a name that occurs twice, which `open_frame` refuses
        return False


def _collected(frame: Any) -> Any:
    try:
        return frame.collect()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # reason: a query's error may quote cells; a panic of Polars is no Exception
        pass
    raise SchemaError(_FAILED)
