"""Sparse rows in columns of lists: of each record the numbers of its columns, and its values there."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.readers.arrow import ArrowTable, check_container, floats
from hullabaloo.data.readers.frames import FrameTable
from hullabaloo.data.readers.parquet import ParquetPart
from hullabaloo.data.readers.sparse import SparseTable, csr
from hullabaloo.data.table import NUMBER, Table, TableSchema, hidden
from hullabaloo.errors import SchemaError

NAMES = ("indices", "values")


class SparseLists:
    """Parts whose columns `indices` and `values` are lists, as sparse tables with columns x0, x1, … in their place.

    Args:
        source: the parts.
        schemas: the Arrow schemas that they declare.
        width: how many columns sparse rows have.

    Raises:
        SchemaError: there are no such columns, or not of lists of numbers.
    """

    quoted_line_breaks: bool | None = None

    def __init__(self, source: Any, schemas: Sequence[Any], width: int) -> None:
        self._source, self.width, declared = source, width, source.schema
        if any(len(declared.named(name)) != 1 for name in NAMES) or not _are_lists(schemas):
            raise SchemaError(
                "A table of sparse rows has one column 'indices', lists of the numbers of columns from 0 on, and one column 'values', lists of "
                "as many numbers. This one has not, so its rows cannot be read. Write them so (Dask reads them by dtype_backend='pyarrow'), or leave out sparse=."
            )
        self.schema = _laid_out(declared, width)[0]

    @property
    def n_rows(self) -> int:
        """See `Parts`."""
        return int(self._source.n_rows)

    def parts_of(self, names: Sequence[str] | None, rows: int) -> Iterator[Table]:
        """See `Parts`."""
        for part in self._source.parts_of(None, rows):
            yield SparsePart(part, self.width)


class SparsePart(Table):
    """A part of such a table; columns beside the lists are read one by one.

    A list that is longer than the other one of its record is cut to its length: an entry lacks a place or a value. Of entries see `readers/sparse.py`.
    """

    sparse = True

    def __init__(self, part: ArrowTable | FrameTable | ParquetPart, width: int) -> None:
        self._part, self._width, self.n_rows = part, width, part.n_rows
        self.schema, self._places, self._rest = _laid_out(part.schema, width)

    def _numbers(self, column: int) -> NDArray[np.float64]:
        return self._part.numbers([self._rest[column]])[:, 0]

    def cells(self, column: int) -> list[Any]:
        """See `Table`."""
        return self._part.cells(self._rest[column])

    @np.errstate(all="ignore")
    def rows(self) -> Any:
        """See `SparseTable.rows`."""
        found, lengths = zip(*(_lists(self._part.arrow(place)) for place in self._places), strict=True)
        common = np.minimum(*lengths)
        columns, values = (_cut(one, many, common) for one, many in zip(found, lengths, strict=True))
        inside = np.where((columns >= 0.0) & (columns < self._width) & (columns == np.floor(columns)), columns, -1.0)
        shape, starts = (self.n_rows, self._width), np.append(0, np.cumsum(common))
        return SparseTable(csr(shape, values, inside.astype(np.int64), starts)).rows()


@lru_cache(maxsize=4)
def _laid_out(declared: TableSchema, width: int) -> tuple[TableSchema, list[int], dict[int, int]]:
    """The schema with so many columns in place of the lists, where these are, and where the columns behind them were."""
    places = [declared.named(name)[0] for name in NAMES]
    rest = [place for place in range(len(declared.types)) if place not in places]
    types, kinds = zip(*[("float64", NUMBER)] * width, *map(declared.column, rest), strict=True)
    names = hidden([*(f"x{j}" for j in range(width)), *((declared.names or ())[place] for place in rest)])
    return TableSchema(names, types, kinds), places, dict(enumerate(rest, width))


def _are_lists(schemas: Sequence[Any]) -> bool:
    """Whether both columns are lists of integers or floats in all these Arrow schemas."""
    from pyarrow import types as are

    found = [field.type for schema in schemas for field in schema if field.name in NAMES]
    lists = len(found) == len(NAMES) * len(schemas) and all(are.is_list(one) or are.is_large_list(one) for one in found)
    return lists and all(are.is_integer(one.value_type) or are.is_floating(one.value_type) for one in found)


def _lists(array: Any) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The numbers in such a column, and how many each list has; null is a list of none."""
    import pyarrow.compute as pc

    found = array.combine_chunks() if hasattr(array, "chunks") else array
    check_container(found, full=True)
    return floats(pc.list_flatten(found)), np.asarray(pc.fill_null(pc.list_value_length(found), 0)).astype(np.int64)


def _cut(found: NDArray[np.float64], lengths: NDArray[np.int64], common: NDArray[np.int64]) -> NDArray[np.float64]:
    """The first `common` numbers of each list."""
    if np.array_equal(lengths, common):
        return found
    at = np.arange(found.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return found[at < np.repeat(common, lengths)]
