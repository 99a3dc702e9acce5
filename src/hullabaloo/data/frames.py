"""Dataframes of any library that narwhals knows (pandas, Polars, Modin, ...) as tables.

Which way a column is read follows from its declared type, never from whether a faster way failed: that, a value decides.
"""

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.numbers import numbers_of
from hullabaloo.data.table import CELLS, NUMBER, REFUSED, Table, TableSchema
from hullabaloo.errors import SchemaError

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
        self._schema = TableSchema(
            tuple(self._names) if named else None,
            tuple(_type_name(dtype) for dtype in self._types.values()),
            tuple(self._kind(name, dtype) for name, dtype in self._types.items()),
        )

    @property
    def schema(self) -> TableSchema:
        """See ``Table``."""
        return self._schema

    def _kind(self, name: Any, dtype: Any) -> str:
        native = self._native(name).dtype
        if _is_arrow(native):
            from hullabaloo.data.arrow import check_container, kind_of

            found = kind_of(native.pyarrow_dtype)
            if found != REFUSED:
                check_container(self._native(name).array.__arrow_array__())
            return found
        if dtype.is_numeric() or dtype == nw.Boolean or (dtype == nw.Unknown and _is_sparse(native)):
            return NUMBER
        nothing = dtype == nw.Unknown and str(native) == "Null"  # Polars' type of a column of nulls
        return CELLS if nothing or isinstance(dtype, _CELLS) else REFUSED

    def _series(self, name: Any) -> Any:
        return self._frame.get_column(name)

    def _native(self, name: Any) -> Any:
        return nw.to_native(self._series(name))

    @property
    def n_rows(self) -> int:
        """See ``Table``."""
        return int(self._frame.shape[0])

    def numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """See ``Table``."""
        kinds = self._schema.kinds
        out = np.empty((self.n_rows, len(columns)))
        for j, column in enumerate(columns):
            out[:, j] = self._floats(column) if kinds[column] == NUMBER else numbers_of(self.cells(column))
        return out

    def _floats(self, column: int) -> NDArray[np.float64]:
        name = self._names[column]
        series, native = self._series(name), self._native(name)
        if isinstance(self._types[name], nw.Decimal):
            return numbers_of(self.cells(column))
        with np.errstate(all="ignore"):
            if not series.implementation.is_pandas_like():
                return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
            if _is_arrow(native.dtype):
                from hullabaloo.data.arrow import floats

                return floats(native.array.__arrow_array__())
            if _is_sparse(native.dtype):
                return np.asarray(native.array.to_dense(), dtype=np.float64)
            return np.asarray(native.to_numpy(dtype="float64", na_value=np.nan), dtype=np.float64)

    def cells(self, column: int) -> list[Any]:
        """See ``Table``."""
        name = self._names[column]
        native = self._native(name)
        if _is_arrow(native.dtype):
            from hullabaloo.data.arrow import objects

            return objects(native.array.__arrow_array__())
        return list(self._series(name).to_list())


def _is_arrow(dtype: Any) -> bool:
    """Whether it is pandas' type of a column that Arrow holds, whose text may not be UTF-8."""
    return hasattr(dtype, "pyarrow_dtype")


def _is_sparse(dtype: Any) -> bool:
    """Whether it is pandas' type of a column of numbers that are mostly one value."""
    return str(dtype).startswith(("Sparse[float", "Sparse[int", "Sparse[uint", "Sparse[bool"))


def _type_name(dtype: Any) -> str:
    """The declared type in a word: whether objects are text, and which categories occur, only values could tell.

    What else a type says of itself may be names of fields or of zones.
    """
    return "Text" if isinstance(dtype, nw.String | nw.Object) else type(dtype).__name__


def open_frame(native: Any) -> Table | None:
    """The table of a dataframe or series, or None when it is none that narwhals knows.

    A lazy one is collected here, before anything is charged. **Guarantee.** A record is a row of the query's result; that the
    query ends, and which types it gives, is outside of the guarantee, as it is where it runs before it is passed.
    """
    try:
        frame: Any = nw.from_native(native, allow_series=True, pass_through=True)
    except Exception:  # reason: each library has an error of its own for names that occur twice
        raise SchemaError(_DOUBLED) from None
    if isinstance(frame, nw.Series):
        frame = frame.to_frame() if frame.name is not None else frame.alias("").to_frame()
    if isinstance(frame, nw.LazyFrame):
        frame = _collected(frame)
    if not isinstance(frame, nw.DataFrame):
        return None
    if frame.implementation.is_pyarrow():
        from hullabaloo.data.arrow import ArrowTable

        return ArrowTable(nw.to_native(frame))
    try:
        return FrameTable(frame)
    except SchemaError:
        raise
    except Exception:  # reason: each library has an error of its own for names that occur twice
        raise SchemaError(_DOUBLED) from None


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
        raise SchemaError(_FAILED) from None
