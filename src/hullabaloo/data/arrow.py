"""Arrow tables and Parquet files (a file or a folder of files) as tables, read batch by batch."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.file_text import hidden
from hullabaloo.data.numbers import numbers_of
from hullabaloo.data.table import CELLS, NUMBER, REFUSED, Table, TableSchema, TornTable
from hullabaloo.errors import SchemaError


def kind_of(dtype: Any) -> str:
    """How a column of an Arrow type is read."""
    from pyarrow import types

    if types.is_dictionary(dtype):
        return CELLS if kind_of(dtype.value_type) != REFUSED else REFUSED
    if types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype) or types.is_boolean(dtype):
        return NUMBER
    text = types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype)
    return CELLS if text or types.is_null(dtype) else REFUSED


@contextmanager
def reading() -> Iterator[None]:
    """Around all that reads a file: PyArrow's errors quote bytes, values and the names of a folder's files."""
    import pyarrow as pa

    try:
        yield
    except TornTable:
        raise
    except (pa.ArrowException, OSError, UnicodeError):
        raise TornTable from None


class ArrowTable(Table):
    """An Arrow table, record batch or dataset."""

    def __init__(self, source: Any, *, from_text: bool = False) -> None:
        self._source = source
        self._from_text = from_text  # a part of a text file, and the names are its first line

    @property
    def schema(self) -> TableSchema:
        """See ``Table``."""
        fields = list(self._source.schema)
        return TableSchema(
            hidden(field.name for field in fields),
            tuple(str(field.type) for field in fields),
            tuple(kind_of(field.type) for field in fields),
            from_text=self._from_text,
        )

    @property
    def n_rows(self) -> int:
        """See ``Table``."""
        with reading():
            return int(self._source.count_rows() if hasattr(self._source, "count_rows") else self._source.num_rows)

    def _batches(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """The arrays of the columns, batch by batch, in the table's order."""
        if hasattr(self._source, "to_batches") and not hasattr(self._source, "num_columns"):
            from pyarrow import dataset

            names = [self._source.schema.field(c).name for c in columns]
            selected = {str(i): dataset.field(name) for i, name in enumerate(names)}
            with reading():
                for batch in self._source.to_batches(columns=selected):
                    yield [batch.column(i) for i in range(len(names))]
        else:
            yield [self._source.column(c) for c in columns]

    def numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """See ``Table``."""
        out = np.empty((self.n_rows, len(columns)))
        start = 0
        for arrays in self._batches(columns):
            stop = start + len(arrays[0]) if arrays else start
            for j, array in enumerate(arrays):
                out[start:stop, j] = _floats(array)
            start = stop
        return out

    def cells(self, column: int) -> list[Any]:
        """See ``Table``."""
        return [cell for (array,) in self._batches([column]) for cell in _objects(array)]


def _floats(array: Any) -> NDArray[np.float64]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind_of(array.type) != NUMBER:
        return numbers_of(_objects(array))
    if pa.types.is_boolean(array.type):
        array = pc.cast(array, pa.uint8())
    try:
        values = pc.fill_null(pc.cast(array, pa.float64(), safe=False), np.nan)
        return np.asarray(values.to_numpy(), dtype=np.float64) if _chunked(values) else _plain(values)
    except pa.ArrowException:
        return numbers_of(_objects(array))


def _chunked(array: Any) -> bool:
    return hasattr(array, "chunks")


def _plain(array: Any) -> NDArray[np.float64]:
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.float64)


def _objects(array: Any) -> list[Any]:
    """Cells as Python objects; text that is not UTF-8 (Parquet does not check) is decoded leniently from its bytes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        array = pc.cast(array, array.type.value_type)
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type) or pa.types.is_string_view(array.type):
        try:
            return list(array.to_pylist())
        except UnicodeDecodeError:
            binary = pa.large_binary() if pa.types.is_large_string(array.type) else pa.binary()
            return [None if c is None else c.decode("utf-8", "replace") for c in pc.cast(array, binary).to_pylist()]
    return list(array.to_pylist())


def parquet_dataset(path: Path) -> Any:
    """PyArrow's dataset of a Parquet file or folder; the message of a failure says nothing of what the file holds."""
    try:
        from pyarrow import dataset
    except ImportError:
        raise SchemaError(
            "Reading a Parquet file needs pyarrow, which is not installed. Install it with: "
            "pip install 'hullabaloo[parquet]'"
        ) from None
    try:
        return dataset.dataset(path, format="parquet")
    except Exception:  # reason: the reader's own error may quote bytes of the file
        raise SchemaError(
            f"The file {path} cannot be read as Parquet. Check that it is a complete Parquet file."
        ) from None


def open_parquet(path: Path) -> ArrowTable:
    """Open a Parquet file or folder."""
    return ArrowTable(parquet_dataset(path))
