"""Parquet files, one or a folder of them, as one table: a cell is read as its own file declares it, whatever others do.

A folder has one schema for all its files. PyArrow takes it from the first and casts the others, so that a value decides
whether the cast, and with it a fit, fails. Here each file keeps its own types, and the folder declares what follows from
all footers together: a column whose types read a cell alike (any number, any text) is that; one whose types do not, or
that some file lacks, is refused where it is needed, before anything is charged. A folder within it that is named ``key=text`` (Hive's partitions)
is a column of text, whatever other folders say.

Before the charge the footers are read, and checked to point into their files. A page that is damaged shows when it is read:
a failure of the machine, whose message says nothing of it (``terms.machine_failures``).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.readers.arrow import floats, kind_of, objects, type_name
from hullabaloo.data.table import CELLS, NUMBER, REFUSED, Table, TableSchema, TornTable, hidden
from hullabaloo.errors import SchemaError, bare, library

_NULL = "__HIVE_DEFAULT_PARTITION__"
_MARKS = 4, 8  # bytes before the first page; bytes behind the footer
_ARROWS = "__filename", "__fragment_index", "__batch_index", "__last_in_fragment"
"""Names of columns that PyArrow adds to every file that it reads: it reads none that has one of them."""


@dataclass(frozen=True, slots=True, eq=False)
class ParquetFile:
    """One file: PyArrow's fragment of it, the schema that it declares, the records of each row group, and what names of its folders declare (``key=text``)."""

    fragment: Any
    schema: Any
    sizes: tuple[int, ...]
    keys: tuple[tuple[str, str], ...] = ()

    def batches(self, part: Any, names: Sequence[str], most: int | None = None) -> Iterator[Any]:
        """The record batches of a part of the file, under its own types; names that it has not exactly once are left out."""
        import pyarrow as pa
        from pyarrow import dataset

        found, keys = Counter(self.schema.names), dict(self.keys)
        columns = {name: dataset.field(name) for name in names if found[name] == 1 and name not in keys}
        held = dataset.ParquetFragmentScanOptions(pre_buffer=self.fragment.filesystem.type_name != "local")
        # With two batches ahead PyArrow holds two thirds of what it does with four, in as many seconds (row groups of 131 072 records, `benchmarks/scan.py`).
        size = {"fragment_scan_options": held, "batch_readahead": 2} | ({} if most is None else {"batch_size": most})
        with _reading():
            if not any(group.num_rows for group in part.row_groups):
                return  # Arrow fails on no records where a name is there twice
            for batch in part.to_batches(schema=self.fragment.physical_schema, columns=columns, **size):
                for name, text in keys.items():
                    if name in names and found[name] == 1:
                        cell = pa.scalar(None if text == _NULL else text, pa.string())
                        batch = batch.append_column(name, pa.repeat(cell, batch.num_rows))  # noqa: PLW2901
                yield batch


class ParquetTable(Table):
    """A Parquet file, or a folder of them in the order of their paths."""

    def __init__(self, path: Any) -> None:
        self.files = _files(path)
        self.schema = _joint([file.schema for file in self.files])
        self.n_rows = sum(sum(file.sizes) for file in self.files)  # from the footers

    def _parts(self, columns: Sequence[int], most: int | None = None) -> Iterator["ParquetPart"]:
        """The batches of all files, of at most so many records; raises where there are not as many records as their footers say."""
        names = [(self.schema.names or ())[column].revealed() for column in columns]
        for file in self.files:
            count = 0
            for batch in file.batches(file.fragment, names, most):
                count += batch.num_rows
                yield ParquetPart(batch, self.schema)
            if count != sum(file.sizes):
                raise TornTable

    def parts_of(self, names: Sequence[str] | None, rows: int) -> Iterator["ParquetPart"]:
        """Parts of at most so many records, of these columns or all."""
        found = enumerate(self.schema.names or ())
        yield from self._parts([place for place, name in found if names is None or name in set(names)], rows)

    def numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """See ``Table``."""
        found = [part.numbers(columns) for part in self._parts(columns)] if columns else []
        return np.concatenate(found) if found else np.empty((self.n_rows, len(columns)))

    def cells(self, column: int) -> list[Any]:
        """See ``Table``."""
        return [cell for part in self._parts([column]) for cell in part.cells(column)]


class ParquetPart(Table):
    """A record batch of one file, under the schema of its folder; None is no records."""

    def __init__(self, batch: Any, schema: TableSchema) -> None:
        self._batch = batch
        self.schema = schema
        self.n_rows = 0 if batch is None else int(batch.num_rows)

    def arrow(self, column: int) -> Any:
        """A column as Arrow holds it."""
        import pyarrow as pa

        name = (self.schema.names or ())[column].revealed()
        place = -1 if self._batch is None else self._batch.schema.get_field_index(name)
        return pa.nulls(self.n_rows) if place < 0 else self._batch.column(place)

    def _numbers(self, column: int) -> NDArray[np.float64]:
        return floats(self.arrow(column))

    def cells(self, column: int) -> list[Any]:
        """See ``Table``."""
        return objects(self.arrow(column))


@contextmanager
def _reading() -> Iterator[None]:
    """Around all that reads a file: PyArrow's errors quote bytes, values and the names of a folder's files."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, UnicodeError):
        bare(TornTable())


def _files(path: Any) -> tuple[ParquetFile, ...]:
    """The files with what their footers declare.

    Raises:
        SchemaError: PyArrow is not there, or a file is no complete Parquet file; nothing of what it holds is told.
    """
    arrow = library("pyarrow", "hullabaloo[parquet]", "Reading a Parquet file")
    dataset = library("pyarrow.dataset", "hullabaloo[parquet]", "Reading a Parquet file")
    found: list[ParquetFile] | None = None
    with suppress(Exception):  # reason: the reader's own error may quote bytes of the file
        # Under no schema, as PyArrow's own of a folder would have each name once.
        given = {"format": "parquet", "schema": arrow.schema([]), "filesystem": getattr(path, "filesystem", None)}
        found = [_opened(path, fragment) for fragment in dataset.dataset(str(path), **given).get_fragments()]
    if found is None:
        where = f"A file of the folder {path}, all of whose files are read," if path.is_dir() else f"The file {path}"
        raise SchemaError(
            f"{where} cannot be read as Parquet. Check that it is a complete Parquet file; others are given one by one."
        )
    if not found:
        raise SchemaError(f"The folder {path} holds no file. Pass the path of a Parquet file, or of a folder of them.")
    if any(name in _ARROWS for file in found for name in file.schema.names):
        raise SchemaError(
            f"The Parquet table {path} has a column of a name that PyArrow, which reads it, keeps for its own: {', '.join(_ARROWS)}. Rename it."
        )
    return tuple(found)


def _opened(path: Any, fragment: Any) -> ParquetFile:
    """Read a footer; raises where it points outside of its file."""
    import pyarrow as pa

    metadata, before, behind = fragment.metadata, *_MARKS
    end = fragment.filesystem.get_file_info(fragment.path).size - behind
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    for group in groups:
        if group.num_rows < 0:
            raise ValueError(path)
        for number in range(group.num_columns):
            chunk = group.column(number)
            start = min(chunk.dictionary_page_offset or chunk.data_page_offset, chunk.data_page_offset)
            if group.num_rows and not before <= start <= start + chunk.total_compressed_size <= end:
                raise ValueError(path)
    folders = fragment.path.removeprefix(str(path)).split("/")[:-1]
    keys = tuple((unquote(key), unquote(text)) for key, mark, text in (one.partition("=") for one in folders) if mark)
    schema = fragment.physical_schema
    for key, _ in keys:
        schema = schema.append(pa.field(key, pa.string()))
    return ParquetFile(fragment, schema, tuple(group.num_rows for group in groups), keys)


def _joint(schemas: Sequence[Any]) -> TableSchema:
    """What all files of a folder declare together."""
    names = list(schemas[0].names)
    for schema in schemas[1:]:
        names += (Counter(schema.names) - Counter(names)).elements()  # a name that one file has twice is there twice
    fields = [{field.name: field.type for field in schema} for schema in schemas]
    found = {name: _column([types.get(name) for types in fields]) for name in set(names)}
    return TableSchema(hidden(names), tuple(found[name][0] for name in names), tuple(found[name][1] for name in names))


def _column(types: Sequence[Any]) -> tuple[str, str]:
    """The declared type of a column and how it is read; None is the type in a file that lacks it. In how many files is not told: folders may be made by records."""
    words = {"no such column" if dtype is None else type_name(dtype) for dtype in types}
    kinds = {REFUSED if dtype is None else kind_of(dtype) for dtype in types}
    alike = REFUSED not in kinds and len({_family(dtype) for dtype in types} - {"null"}) < 2
    kind = REFUSED if not alike else NUMBER if kinds == {NUMBER} else CELLS
    if len(words) == 1:
        return next(iter(words)), kind
    return ", ".join(f"{word} in some files" for word in sorted(words)), kind


def _family(dtype: Any) -> str:
    """Types of one family read a cell alike: a number is the same number and has the same label in each."""
    from pyarrow import types

    if types.is_dictionary(dtype):
        return _family(dtype.value_type)
    if types.is_null(dtype):
        return "null"
    if types.is_boolean(dtype):
        return "bool"
    return "number" if kind_of(dtype) == NUMBER else "text"
