"""Open anything a user may pass as a table, and describe its declared schema without reading a value."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hullabaloo.data.readers.arrow import ArrowTable
from hullabaloo.data.readers.csvfile import CsvTable
from hullabaloo.data.readers.dense import ArrayTable, ListTable
from hullabaloo.data.readers.parquet import ParquetTable
from hullabaloo.data.readers.sparse import SparseTable
from hullabaloo.data.table import Table, TableSchema
from hullabaloo.errors import SchemaError

__all__ = ["Table", "TableSchema", "describe_table", "open_column", "open_table"]

_INPUTS = (
    "a NumPy array, a SciPy sparse matrix, a dataframe (pandas, Polars, PyArrow or another that narwhals knows), or "
    "the path of a .parquet or .csv file or of a folder of Parquet files; JSON Lines are opened by hb.scan(path, columns=[…]), in a shell with --columns; records in dicts make a dataframe, pandas.DataFrame([record, …])"
)

WHOLE = (
    "A table that is read in parts was to be read whole. Fits by sums over records, private bounds, evaluation and predictions take such a table; searches, "
    "streams and row-by-row methods need it in memory: pass the path of the file, or the table itself. Nothing was charged."
)


def open_table(table: Any, *, quoted_line_breaks: bool = False) -> Table:  # noqa: PLR0911 - a table of types, one line each
    """Open a table for reading; raises ``SchemaError`` for what is none.

    ``quoted_line_breaks``: whether a quoted cell of a CSV file may hold line breaks. ``Domain.open`` passes on what it declares.
    """
    if isinstance(table, Table):
        return table
    if isinstance(table, str | Path):
        return _open_path(Path(table), quoted_line_breaks)
    if isinstance(table, np.ndarray):
        return ArrayTable(table)
    if isinstance(table, list | tuple):
        return ListTable(table)
    module = type(table).__module__
    if module.startswith("scipy.sparse"):
        return SparseTable(table)
    if module.startswith("pyarrow"):
        return _open_arrow(table)
    from hullabaloo.data.readers.frames import open_frame

    frame = open_frame(table)
    if frame is not None:
        return frame
    if hasattr(table, "__array__"):
        return open_table(np.asarray(table))
    raise SchemaError(f"A table of type {type(table).__name__} was passed, which no reader opens. Pass {_INPUTS}.")


def open_column(values: Any, what: str, *, quoted_line_breaks: bool = False) -> Table:
    """Open a target, weight or unit given apart from the table: one value, or one row, for each record."""
    if type(values).__module__.startswith("scipy.sparse"):
        raise SchemaError(f"The {what} is sparse, which has no meaning here. Pass a dense array: {what}.toarray().")
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.names is None:
        return ArrayTable(values[:, None])
    if isinstance(values, np.ndarray) and values.ndim not in {1, 2}:
        raise SchemaError(f"The {what} has {values.ndim} dimensions; it needs one value (or one row) for each record.")
    if type(values).__module__.startswith("pyarrow") and not hasattr(values, "schema"):
        import pyarrow as pa

        return _open_arrow(pa.table({what: values}))
    from hullabaloo.data.readers.frames import is_lazy, open_frame

    if is_lazy(values):
        raise SchemaError(
            f"The {what} is a lazy dataframe: it would be collected apart from the table, and which of its rows belongs to which record "
            "is not said. Collect it, or name its column in the table."
        )
    if hasattr(values, "__array__") and not hasattr(values, "dtype"):
        frame = open_frame(values)  # a dataframe keeps its names
        return frame if frame is not None else open_column(np.asarray(values), what)
    return open_table(values, quoted_line_breaks=quoted_line_breaks)


def check_records(table: Table, quoted_line_breaks: bool) -> None:
    """Refuse a table whose records are others than those declared: of a CSV file, lines, or what quotes make of lines."""
    if table.quoted_line_breaks in {None, quoted_line_breaks}:
        return
    took, declared = ("may", "may not") if table.quoted_line_breaks else ("may not", "may")
    raise SchemaError(
        f"The table was read from a CSV file whose quoted cells {took} hold line breaks, and the domain declares that they {declared}: its "
        f"records are others. Declare Domain(..., quoted_line_breaks={bool(table.quoted_line_breaks)}), or open the file with quoted_line_breaks={quoted_line_breaks}."
    )


def _open_path(path: Path, quoted_line_breaks: bool) -> Table:
    try:
        there = path.exists()
    except OSError:  # a text that no file may be named by
        there = False
    if not there:
        raise SchemaError(f"There is no file {path}. Pass {_INPUTS}.")
    suffix = path.suffix.lower()
    if suffix in {".csv", ".tsv", ".txt"}:
        return CsvTable(path, quoted_line_breaks=quoted_line_breaks)
    if suffix in {".parquet", ".pq"} or path.is_dir():
        return ParquetTable(path)
    raise SchemaError(f"{path} is neither .csv, .tsv nor .parquet, so how to read it is not known. Pass {_INPUTS}.")


def _open_arrow(table: Any) -> Table:
    import pyarrow as pa

    if not isinstance(table, pa.Table | pa.RecordBatch):
        raise SchemaError(
            f"A {type(table).__name__} of PyArrow is not a table whose cells are at hand: reading it may fail because of one. Pass a "
            "pyarrow.Table (its read_all() or to_table()), or the path of a Parquet file or folder."
        )
    return ArrowTable(table)


def describe_table(table: Any, *, count: bool = True) -> TableSchema:
    """The declared schema of a table: names, types and, unless ``count`` is off, the number of records.

    Reads no value, but for a CSV file, which is read to count its records.
    """
    opened = open_table(table)
    schema = opened.schema
    return replace(schema, n_rows=opened.n_rows) if count else schema
