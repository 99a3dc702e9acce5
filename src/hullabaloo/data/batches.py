"""Arrow record batches from whatever gives them anew: functions, queries, datasets, dataframes that wait or are at hand."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import narwhals as nw
from narwhals.dependencies import is_pandas_like_dataframe

from hullabaloo.data.readers.arrow import ArrowTable, schema_of
from hullabaloo.data.table import Table, TornTable, sealed
from hullabaloo.errors import HullabalooError, SchemaError, library

CHUNK = 65_536


class TornSource(TornTable):
    """A function or query failed while it gave batches. What it said is left out: it may quote a record."""

    why = "the function, query or dataset that gives its batches failed. What it said is left out, as it may quote a record; go through all batches without this library to see it."


class TornSchema(TornTable):
    """A batch is none, or of other columns than the first. Which columns, and which batch, is not said."""

    why = "what gives its batches gave one of another schema than the first, or something that is no record batch. Let all have the same columns, of the same names, order and types."


END = object()


class Batches:
    """Arrow record batches from a function that gives them, or what has them, anew whenever it is called."""

    quoted_line_breaks: bool | None = None

    def __init__(self, batches: Callable[[], Any]) -> None:
        self._batches = batches
        source = unheard(batches, called=True)
        declared = unheard(lambda: _schema_of(source))
        if declared is None:
            raise SchemaError(
                "A function was to give Arrow record batches whenever it is called, and gave something else. Return a pyarrow.RecordBatchReader, a "
                "dataset's to_batches(), a query of DuckDB, or an iterator of record batches, a new one at each call. Of pandas, "
                "pyarrow.Table.from_pandas(frame, schema=schema): without a schema a cell would decide about types."
            )
        self.declared, self.schema = declared, schema_of(declared)

    @property
    def n_rows(self) -> int:
        """How many records there are; takes a pass."""
        return sum(part.n_rows for part in self.parts_of(None, CHUNK))

    def parts_of(self, names: Sequence[str] | None, rows: int) -> Iterator[Table]:
        """Parts of at most so many records."""
        batches = unheard(lambda: _iterator(self._batches()))
        while (batch := unheard(lambda: _arrow(next(batches, END)))) is not END:
            if batch is None or not batch.schema.equals(self.declared, check_metadata=False):
                raise TornSchema
            for start in range(0, batch.num_rows, rows):
                yield unheard(partial(ArrowTable, batch.slice(start, rows)))


def giver_of(source: Any) -> Callable[[], Any] | None:
    """What gives the batches of a source whenever it is called; None of what is none, or gives the same iterator twice.

    Raises:
        SchemaError: it can be read once, or PyArrow is not there.
    """
    pa = library("pyarrow", "hullabaloo[parquet]", "Reading a table in parts")
    dataset = library("pyarrow.dataset", "hullabaloo[parquet]", "Reading a table in parts")
    if isinstance(source, pa.RecordBatchReader):
        raise SchemaError(
            "A pyarrow.RecordBatchReader can be read once, and a table in parts is read anew for each question. Pass a function that returns a "
            "new one at each call, such as lambda: dataset.scanner().to_reader()."
        )
    if isinstance(source, dataset.Dataset) or hasattr(source, "__arrow_c_stream__"):
        return lambda: source
    lazy: Any = nw.from_native(source, pass_through=True) if not callable(source) else None
    if isinstance(lazy, nw.LazyFrame) and lazy.implementation.is_polars():
        return partial(_collected, source)
    if callable(source) or not isinstance(source, Iterable):
        return source if callable(source) else None
    # Not as `called`: what its first batch fails by may be a record's doing
    again = unheard(lambda: iter(source) is not (new := iter(source)) and _arrow(next(new, None)) is not None)
    return (lambda: source) if again else None


def _collected(lazy: Any) -> Iterator[Any]:
    """The batches of a lazy frame of Polars, after an empty one that declares their columns."""
    yield lazy.collect_schema().to_frame()
    yield from lazy.collect_batches(chunk_size=CHUNK)


def _schema_of(source: Any) -> Any:
    import pyarrow as pa

    declared = getattr(_stream(source), "schema", None)
    if declared is None:
        declared = getattr(_arrow(next(iter(source), None)), "schema", None)
    return declared if isinstance(declared, pa.Schema) else None


def _iterator(source: Any) -> Iterator[Any]:
    source = _stream(source)
    return iter(source.to_batches() if hasattr(source, "to_batches") else source)


def _stream(source: Any) -> Any:
    """What can be streamed as a reader of batches; everything else as it is."""
    import pyarrow as pa

    known = isinstance(source, pa.RecordBatchReader) or not _declares(source)
    return source if known else pa.RecordBatchReader.from_stream(source)


def _arrow(batch: Any) -> Any:
    """An Arrow table or batch; that of a dataframe that declares its types; None for anything else."""
    import pyarrow as pa

    if batch is END or isinstance(batch, pa.RecordBatch | pa.Table):
        return batch
    return pa.table(batch) if _declares(batch) else None


def _declares(given: Any) -> bool:
    """Whether it gives Arrow's C stream of types that it declares; those of pandas are taken from cells, so that one would decide whether a table is read.

    Raises:
        SchemaError: it declares a name that the stream cannot hold. A name of C ends at a NUL: Arrow cuts it off there, and Polars ends the process.
    """
    if not hasattr(given, "__arrow_c_stream__") or is_pandas_like_dataframe(given):
        return False
    declared = repr(getattr(given, "schema", None))
    if "\0" in declared or "\\x00" in declared:
        raise SchemaError(
            "A declared name, of a column, field or level, has a NUL character in it (or \\x00, which stands for one), and batches cut names off there. Rename it, or leave the column out. Nothing is released; a charge that was made stays."
        )
    return True


@sealed
def unheard(ask: Callable[[], Any], *, called: bool = False) -> Any:
    """What somebody's reader or query gives; what it says when it fails may quote a record, so nothing of that goes on, not as a context either.

    Raises:
        SchemaError: it failed when it was `called`, for the first time and before any batch; of what type its error was is said, where that is a module's.
        MemoryError: in words of this library.
        TornSource: it failed.
    """
    try:
        return ask()
    except (HullabalooError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # reason: a panic of Polars is no Exception
        failed = type(error)
    if called:
        # A name that is written down in a module.
        fixed = getattr(sys.modules.get(failed.__module__), failed.__name__, None) is failed
        raise SchemaError(
            f"The function or query that is to give record batches raised {failed.__name__ if fixed else 'an error'} when it was called, before any "
            "batch. What it said is left out, as it may quote a record; call it without this library to see it. Nothing was charged or read."
        )
    raise TornSource
