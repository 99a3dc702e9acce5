"""Arrow tables and record batches as tables. How a column is read follows from its declared type alone."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.numbers import numbers_of
from hullabaloo.data.table import CELLS, NUMBER, REFUSED, Table, TableSchema, hidden
from hullabaloo.errors import SchemaError, bare


def kind_of(dtype: Any) -> str:
    """How a column of an Arrow type is read."""
    from pyarrow import types

    if types.is_dictionary(dtype):
        return CELLS if kind_of(dtype.value_type) != REFUSED else REFUSED
    if types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype) or types.is_boolean(dtype):
        return NUMBER
    return CELLS if _is_text(dtype) or types.is_null(dtype) else REFUSED


def type_name(dtype: Any) -> str:
    """An Arrow type in a word of Arrow's own, a dictionary of short floats in theirs: what follows it may hold names of fields, zones or levels."""
    found = re.match(r"(?:dictionary<values=(?=(?:half)?float,))?([a-z0-9_]+)", str(dtype))
    return found[1] if found else "unknown"


def _is_text(dtype: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype))


def check_container(array: Any, *, full: bool = False) -> None:
    """Refuse an array whose buffers are too short, or whose offsets point outside of them: Arrow's own functions trust both.

    Whether bytes are text, and places lie in their dictionary, is a cell's: read by rule, never refused.

    Raises:
        SchemaError: the container is broken.
    """
    import pyarrow as pa

    plain = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    for chunk in array.chunks if hasattr(array, "chunks") else [array]:
        try:
            if pa.types.is_dictionary(chunk.type):
                chunk.indices.validate()
                check_container(chunk.dictionary)
            else:
                chunk.validate(full=full)
            if chunk.type in plain:
                chunk.view(plain[chunk.type]).validate(full=True)
        except pa.ArrowException:  # its words hold numbers of the container's
            bare(
                SchemaError(
                    "The Arrow table is broken: a column's buffers do not hold what its type and length say. Nothing is released; a charge that was made stays. "
                    "Build it again with PyArrow's own functions; its validate(full=True) finds such faults."
                )
            )


def schema_of(declared: Any) -> TableSchema:
    """What an Arrow schema declares."""
    types = [field.type for field in declared]
    names = hidden(field.name for field in declared)
    return TableSchema(names, tuple(map(type_name, types)), tuple(map(kind_of, types)))


class ArrowTable(Table):
    """An Arrow table or record batch; raises ``SchemaError`` for a broken container."""

    def __init__(self, source: Any) -> None:
        for column in source.columns:
            if kind_of(column.type) != REFUSED:
                check_container(column)
        self.arrow, self.n_rows = source.column, int(source.num_rows)
        self.schema = schema_of(source.schema)

    def _numbers(self, column: int) -> NDArray[np.float64]:
        return floats(self.arrow(column))

    def cells(self, column: int) -> list[Any]:
        """See ``Table``."""
        return objects(self.arrow(column))


def floats(array: Any) -> NDArray[np.float64]:
    """The numbers of an array or chunked array; null is NaN.

    Integers, floats and bools are cast by Arrow, which rounds as Python does and never fails. Decimals are not, as its
    cast may be the next float64 and not the nearest.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if array.type == pa.float64() and not array.null_count:
        return _numpy(array)
    if kind_of(array.type) != NUMBER or pa.types.is_decimal(array.type):
        return numbers_of(objects(array))
    if pa.types.is_boolean(array.type):
        array = pc.cast(array, pa.uint8())
    array = pc.cast(array, pa.float64(), safe=False)
    return _numpy(pc.fill_null(array, np.nan) if array.null_count else array)


def objects(array: Any) -> list[Any]:
    """The cells of an array or chunked array as Python objects; null is None."""
    chunks = array.chunks if hasattr(array, "chunks") else [array]
    return [cell for chunk in chunks for cell in _cells(chunk)]


def _cells(array: Any) -> list[Any]:
    """Text is decoded from its bytes, since Parquet does not check that it is UTF-8; a place outside a dictionary is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        levels: list[Any] = _cells(array.dictionary)
        places = _numpy(pc.fill_null(pc.cast(array.indices, pa.int64(), safe=False), -1)).tolist()
        return [levels[place] if 0 <= place < len(levels) else None for place in places]
    if _is_text(array.type):
        return texts(pc.cast(array, pa.large_binary()).to_pylist())
    return list(array.to_pylist())


def texts(cells: list[Any]) -> list[Any]:
    """Bytes as text, whether they are UTF-8 or not."""
    return [None if cell is None else cell.decode("utf-8", "replace") for cell in cells]


def _numpy(array: Any) -> NDArray[Any]:
    return np.asarray(array.to_numpy() if hasattr(array, "chunks") else array.to_numpy(zero_copy_only=False))
