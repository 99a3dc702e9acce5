"""Tables that are read in parts, anew for every question, and never held whole: files larger than memory, results of queries."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol, final

from hullabaloo.data.engines.base import Engine, Reading
from hullabaloo.data.engines.cluster import Remote
from hullabaloo.data.engines.local import Local
from hullabaloo.data.readers.arrow import ArrowTable, kind_of, type_name
from hullabaloo.data.readers.csvfile import CsvTable
from hullabaloo.data.readers.opening import WHOLE, open_table
from hullabaloo.data.readers.parquet import ParquetTable
from hullabaloo.data.table import MEMORY, Table, TableSchema, TornTable, hidden
from hullabaloo.errors import InvalidParameter, SchemaError

BATCH = 65_536
KEEP = 2**30
MOST = 2**24
"""Records of a part at most: its sums stay exact, and a part of a hundred columns within 13 GB."""


class Parts(Protocol):
    """What can be read in parts."""

    schema: TableSchema
    quoted_line_breaks: bool | None

    @property
    def n_rows(self) -> int: ...  # noqa: D102
    def parts_of(self, names: Sequence[str] | None, rows: int) -> Iterator[Table]: ...  # noqa: D102


@final
class ScannedTable(Table):
    """A table in parts of at most so many records; by `hb.scan`."""

    parted = True

    def __init__(self, source: Parts, batch_rows: int, keep_bytes: int) -> None:
        self._source, self._batch, self.keep_bytes = source, batch_rows, keep_bytes
        self.schema, self.quoted_line_breaks = source.schema, source.quoted_line_breaks

    @property
    def n_rows(self) -> int:  # type: ignore[override]  # none is counted before it is asked for
        """See ``Table``; of a CSV file or a query it takes a pass."""
        return self._source.n_rows

    def parts(self, names: Sequence[str] | None = None) -> Iterator[Table]:
        """The parts, from the beginning; only columns of these names are read where the format allows it."""
        yield from self._source.parts_of(names, self._batch)

    def engine(self, reading: Reading) -> Engine:
        """What reads the parts and asks them, for one fit."""
        if isinstance(self._source, Remote):
            return self._source.engine(reading, self.keep_bytes)
        return Local(partial(self.parts, reading.columns), reading, self.keep_bytes)

    def cells(self, column: int) -> list[Any]:
        """Refused, as ``Domain.open`` refuses it."""
        raise SchemaError(WHOLE)


class TornSource(TornTable):
    """A function or query failed while it gave batches. What it said is left out: it may quote a record."""

    why = (
        "the function, query or dataset that gives its batches failed. What it said is left out, as it may quote a record; go through all "
        "batches without this library to see it."
    )


class TornSchema(TornTable):
    """A batch is none, or of other columns than the first. Which columns, and which batch, is not said."""

    why = (
        "what gives its batches gave one of another schema than the first, or something that is no record batch. Let all have the same columns, of "
        "the same names, order and types."
    )


_END = object()


class _Batches:
    """Arrow record batches from a function that gives them anew whenever it is called."""

    quoted_line_breaks: bool | None = None

    def __init__(self, batches: Callable[[], Any]) -> None:
        self._batches = batches
        source = _unheard(batches, called=True)
        declared = _unheard(lambda: _schema_of(source))
        fields = None if declared is None or not _is_arrow(declared) else list(declared)
        if fields is None:
            raise SchemaError(
                "A function was to give Arrow record batches whenever it is called, and gave something else. Return a pyarrow.RecordBatchReader, a "
                "dataset's to_batches(), or an iterator of record batches, a new one at each call."
            )
        self._arrow = declared
        self.schema = TableSchema(
            hidden(field.name for field in fields),
            tuple(type_name(field.type) for field in fields),
            tuple(kind_of(field.type) for field in fields),
        )

    @property
    def n_rows(self) -> int:
        return sum(part.n_rows for part in self.parts_of(None, MOST))

    def parts_of(self, names: Sequence[str] | None, rows: int) -> Iterator[Table]:
        batches = _unheard(lambda: _iterator(self._batches()))
        while (batch := _unheard(lambda: next(batches, _END))) is not _END:
            if not _is_arrow(batch) or not batch.schema.equals(self._arrow, check_metadata=False):
                raise TornSchema
            for start in range(0, batch.num_rows, rows):
                yield _unheard(partial(ArrowTable, batch.slice(start, rows)))


def _schema_of(source: Any) -> Any:
    declared = getattr(source, "schema", None)
    return declared if declared is not None else getattr(next(iter(source), None), "schema", None)


def _iterator(source: Any) -> Iterator[Any]:
    return iter(source.to_batches() if hasattr(source, "to_batches") else source)


def _unheard(ask: Callable[[], Any], *, called: bool = False) -> Any:
    """What somebody's reader or query gives; what it says when it fails may quote a record, so nothing of that goes on, not as a context either.

    Raises:
        SchemaError: it failed when it was `called`, for the first time and before any batch; of what type its error was is said, where that is a module's.
        MemoryError: in words of this library.
        TornSource: it failed.
    """
    try:
        return ask()
    except Exception as error:
        failed = type(error)
    if issubclass(failed, MemoryError):
        raise MemoryError(MEMORY)
    if called:
        fixed = (
            getattr(sys.modules.get(failed.__module__), failed.__name__, None) is failed
        )  # a name that is written down in a module
        raise SchemaError(
            f"The function or query that is to give record batches raised {failed.__name__ if fixed else 'an error'} when it was called, before any "
            "batch. What it said is left out, as it may quote a record; call it without this library to see it. Nothing was charged or read."
        )
    raise TornSource


def _is_arrow(thing: Any) -> bool:
    return type(thing).__module__.startswith("pyarrow")


def scan(
    source: str | Path | Callable[[], Iterable[Any]] | Any,
    *,
    batch_rows: int = BATCH,
    keep_bytes: int = KEEP,
    quoted_line_breaks: bool = False,
    client: Any = None,
) -> ScannedTable:
    """A table that `fit`, `predict` and `evaluate` read in parts, anew for every question, so that memory does not grow with its records.

    A fit by the same solver gives the same bits as of the table in memory, whatever the parts are and in whichever order they come. Methods that are sums over
    records can be fitted so: moments and the gradient methods; "auto" chooses among them. What the library cannot see, such as joins,
    windows, limits or de-duplication in a query, lies outside the guarantee: a record is a row of the *result*.

    Args:
        source: the path of a Parquet file, of a folder of them, or of a CSV file; a pyarrow dataset; a Dask or Spark dataframe, which the workers of
            its cluster read and ask (docs/cluster.md); or a function without arguments that returns Arrow record batches (a reader, or an
            iterator), the same ones at each call, in any order: for example ``lambda: connection.sql("select …").fetch_record_batch()`` of DuckDB.
        batch_rows: records of a part, at most 2^24.
        keep_bytes: how much memory encoded rows may take: a table that needs no more (8 bytes for each record and encoded column) is read once
            and kept; a larger one is read anew for each question of the plan, of which moments ask one and gradients a hundred.
        quoted_line_breaks: as the domain declares it, of a CSV file.
        client: whose workers read a Dask dataframe: a ``distributed.Client`` or the address of a scheduler; the one in use where none is given.

    Raises:
        CapabilityError: the workers of a cluster cannot be asked.
        SchemaError: there is no such file, or something else was given. No value was read.

    Example:
        >>> import pyarrow as pa, hullabaloo as hb
        >>> batch = pa.record_batch({"a": [0.0, 1.0] * 500, "y": [1.0, 3.0] * 500})
        >>> domain = hb.Domain({"a": (0, 1)}, target={"y": (0, 4)}, indicators=False)
        >>> model = hb.LinearRegression(budget=hb.Budget(1.0, 1e-6), domain=domain).fit(hb.scan(lambda: iter([batch, batch])))
        >>> model.statement_.records
        2000
    """
    if isinstance(batch_rows, bool) or not isinstance(batch_rows, int) or not 1 <= batch_rows <= MOST:
        raise InvalidParameter(f"A part was to have {batch_rows!r} records. Pass a whole number from 1 to {MOST:,}.")
    if isinstance(keep_bytes, bool) or not isinstance(keep_bytes, int) or keep_bytes < 0:
        raise InvalidParameter(
            f"keep_bytes={keep_bytes!r} was asked. It is the number of bytes that encoded rows may take in memory: pass 0 or a positive whole number."
        )
    if isinstance(source, str | Path):
        table = open_table(source, quoted_line_breaks=quoted_line_breaks)
        assert isinstance(table, ParquetTable | CsvTable)
        return ScannedTable(table, batch_rows, keep_bytes)
    if _is_arrow(source) and hasattr(source, "to_batches"):
        return ScannedTable(_Batches(lambda: source), batch_rows, keep_bytes)
    if isinstance(source, Remote):
        return ScannedTable(source, batch_rows, keep_bytes)
    if type(source).__module__.startswith("dask."):
        from hullabaloo.data.engines.dask import DaskFrame

        return ScannedTable(DaskFrame(source, client), batch_rows, keep_bytes)
    if type(source).__module__.startswith("pyspark.sql."):
        from hullabaloo.data.engines.spark import SparkFrame

        return ScannedTable(SparkFrame(source), batch_rows, keep_bytes)
    if callable(source):
        return ScannedTable(_Batches(source), batch_rows, keep_bytes)
    raise SchemaError(
        f"A {type(source).__name__} cannot be read in parts again and again. Pass the path of a Parquet or CSV file, a pyarrow dataset, or a function "
        "that returns Arrow record batches whenever it is called."
    )
