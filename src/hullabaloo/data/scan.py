"""Tables that are read in parts, anew for every question, and never held whole: files larger than memory, results of queries."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, cast

from narwhals.dependencies import is_pandas_like_dataframe

from hullabaloo.data.batches import CHUNK, END, Batches, giver_of, unheard
from hullabaloo.data.encoding import WIDEST
from hullabaloo.data.engines.base import Engine, Parts, Reading
from hullabaloo.data.engines.cache import folder_of
from hullabaloo.data.engines.cluster import Remote, RemoteFrame
from hullabaloo.data.engines.local import Local
from hullabaloo.data.readers.csvfile import CsvTable
from hullabaloo.data.readers.opening import WHOLE, open_table
from hullabaloo.data.readers.parquet import ParquetTable
from hullabaloo.data.sources.json_lines import JsonLines
from hullabaloo.data.sparse_lists import SparseLists
from hullabaloo.data.table import Table
from hullabaloo.errors import InvalidParameter, SchemaError, as_whole, is_whole, library

KEEP = 2**30
MOST = 2**24
"""Records of a part at most: its sums stay exact, and a part of a hundred columns within 13 GB."""
FEWER = 2**14
"""The same where units are brought together: of 2 000 000 records of 20 columns (`benchmarks/scan.py`) a fit held 660 MB, and 907 by four times as many, in equal processor seconds (26)."""


class ScannedTable(Table):
    """A table in parts of at most so many records; by `hb.scan`."""

    parted = True

    def __init__(
        self, source: Parts, batch_rows: int, keep_bytes: int, cache: Path | None = None, verbose: bool = False
    ) -> None:
        self._source, self._batch, self.keep_bytes = source, batch_rows, keep_bytes
        self.cache, self.verbose = cache, verbose
        self.schema, self.quoted_line_breaks = source.schema, source.quoted_line_breaks
        self.sparse_columns = source.width if isinstance(source, SparseLists | RemoteFrame) else None
        self.brings_units = source.brings_units if isinstance(source, Remote) else cache is not None

    @property
    def n_rows(self) -> int:  # type: ignore[override]  # none is counted before it is asked for
        """See ``Table``; of a CSV file or a query it takes a pass."""
        return unheard(lambda: self._source.n_rows)  # type: ignore[no-any-return]

    def parts(self, names: Sequence[str] | None = None, most: int = MOST) -> Iterator[Table]:
        """The parts, from the beginning; only columns of these names are read where the format allows it."""
        parts = self._source.parts_of(names, min(self._batch, most))
        while (part := unheard(lambda: next(parts, END))) is not END:
            yield part

    @property
    def frame(self) -> RemoteFrame | None:
        """The dataframe of a cluster; None of a table that is none."""
        return self._source if isinstance(self._source, RemoteFrame) else None

    def engine(self, reading: Reading) -> Engine:
        """What reads the parts and asks them, for one fit."""
        if isinstance(self._source, Remote):
            return self._source.engine(reading, self.keep_bytes)
        most = MOST if reading.encoding.domain.unit is None else FEWER
        return Local(partial(self.parts, reading.columns, most), reading, self.keep_bytes, self.cache)

    def cells(self, column: int) -> list[Any]:
        """Refused, as ``Domain.open`` refuses it."""
        raise SchemaError(WHOLE)


def scan(
    source: Any,
    *,
    batch_rows: int = CHUNK,
    keep_bytes: int = KEEP,
    quoted_line_breaks: bool = False,
    columns: Sequence[str] | None = None,
    cache: str | Path | None = None,
    client: Any = None,
    sparse: int | None = None,
    verbose: bool = False,
) -> ScannedTable:
    """A table that `fit`, `predict` and `evaluate` read in parts, anew for every question, so that memory does not grow with its records.

    A fit by the same solver gives the same bits as of the table in memory, whatever the parts are and in whichever order they come. Methods that are sums over
    records can be fitted so: moments and the gradient methods; "auto" chooses among them. What the library cannot see, such as joins,
    windows, limits, de-duplication, or types that a query takes from cells (of CSV or JSON files: declare them there, or pass the path here), lies outside the
    guarantee: a record is a row of the *result*.

    Args:
        source: the path of a Parquet file, of a folder of them (of hive partitions, too: their keys are columns of text), of a CSV or of a JSON Lines file, or
            its address, such as ``s3://bucket/folder``, where `fsspec` opens it; a query or relation of DuckDB; a lazy frame of Polars; a pyarrow dataset; a dataframe or
            anything else that gives Arrow's C stream; a Dask or Spark dataframe, which the workers of its cluster read and ask (docs/cluster.md), or a Dask array; a list of Arrow record
            batches, or anything that gives the same ones whenever it is iterated over; or a function without arguments that returns them or any of those with batches, the same ones at each call, in any order.
        batch_rows: records of a part, at most 2^24; 2^14 where the domain declares a unit.
        keep_bytes: how much memory encoded rows may take: a table that needs no more (8 bytes for each record and encoded column) is read once
            and kept, one of half as much also as a matrix shows it; a larger one is read anew for each question of the plan, of which moments ask one and gradients a hundred.
        quoted_line_breaks: as the domain declares it, of a CSV file.
        cache: a folder on a local disk for encoded rows beyond those, instead of reading the table anew; they are sealed under a key that is held in memory alone,
            in a file without a name that is gone when the fit or its process ends. A domain with a unit needs one here, to bring each unit's records together; workers of a cluster do so themselves.
        columns: the keys that are read of a JSON Lines file, as its records declare none; the names of the columns of a Dask array.
        client: whose workers read a Dask dataframe or array: a ``distributed.Client`` or the address of a scheduler; the one in use where none is given.
        sparse: of sparse rows, how many columns they have. The table (Parquet, what gives Arrow batches, or a cluster's dataframe) then has the columns ``indices``, lists of numbers of
            columns from 0 on, and ``values``, lists of as many numbers, in place of x0, x1, …, beside those of the target; the domain is one of prepared rows (``row_norm``).
        verbose: say on standard error, after each question, how many of the plan's have been asked, and for how long.

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
    said = f"A part was to have {{!r}} records. Pass a whole number from 1 to {MOST:,}."
    batch_rows = as_whole(batch_rows, said, 1, MOST)
    said = "keep_bytes={!r} was asked. It is the number of bytes that encoded rows may take in memory: pass 0 or a positive whole number."
    keep_bytes = as_whole(keep_bytes, said, 0)
    for name, value in (("verbose", verbose), ("quoted_line_breaks", quoted_line_breaks)):
        if not isinstance(value, bool):
            raise InvalidParameter(f"{name}= was given an object of {type(value).__name__}. Pass True or False.")
    if client is not None and not type(source).__module__.startswith("dask."):
        raise InvalidParameter(
            "client= says whose workers read a Dask dataframe, and another source was given, which no client reads. Leave it out."
        )
    if type(source).__module__.startswith("dask.array") and source.shape[1:] == (len(columns or ()),):
        frames = library("dask.dataframe", "hullabaloo[dask]", "A Dask array")
        source, columns = frames.from_dask_array(source, columns=list(columns or ())), None
    opened = source if isinstance(source, Remote) else _opened(source, quoted_line_breaks, columns, client)
    if columns is not None and not isinstance(opened, JsonLines):
        raise InvalidParameter("columns= names those of JSON Lines or a Dask array, and this is neither. Leave it out.")
    if sparse is not None:
        opened = _sparse(opened, int(sparse) if is_whole(sparse) else sparse)
    if cache is not None and isinstance(opened, Remote):
        raise InvalidParameter(
            "cache= is a folder of this machine, and the table is read by the workers of a cluster, which keep rows in their memory. Leave it out."
        )
    return ScannedTable(opened, batch_rows, keep_bytes, folder_of(cache), verbose)


def _sparse(opened: Any, width: Any) -> SparseLists | RemoteFrame:
    if not is_whole(width, 1, WIDEST) or not isinstance(opened, ParquetTable | Batches | RemoteFrame):
        raise InvalidParameter(
            f"sparse={width!r} was asked. It is how many columns sparse rows have, from 1 to {WIDEST:,}; they are read of Parquet files, Arrow batches, or a dataframe of Dask "
            "or Spark. Pass such a number and source."
        )
    if isinstance(opened, RemoteFrame):
        opened.schema, opened.width = SparseLists(opened, [opened.arrow()], width).schema, width
        return opened
    schemas = [opened.declared] if isinstance(opened, Batches) else [file.schema for file in opened.files]
    return SparseLists(opened, schemas, width)


def _lying(source: str | Path, quoted_line_breaks: bool, columns: Sequence[str] | None) -> Parts:
    place = RemotePath(source) if isinstance(source, str) and "://" in source else Path(source)
    if place.suffix.lower() in {".jsonl", ".ndjson"}:
        return JsonLines(place, columns)
    if isinstance(place, Path):
        return cast(Parts, open_table(place, quoted_line_breaks=quoted_line_breaks))
    lines = place.suffix.lower() in {".csv", ".tsv", ".txt"}
    return CsvTable(place, quoted_line_breaks=quoted_line_breaks) if lines else ParquetTable(place)


def _opened(source: Any, quoted_line_breaks: bool, columns: Sequence[str] | None, client: Any) -> Parts:
    if isinstance(source, str | Path):
        return _lying(source, quoted_line_breaks, columns)
    if type(source).__module__.startswith("dask."):
        from hullabaloo.data.engines.dask import DaskFrame

        return DaskFrame(source, client)
    if type(source).__module__.startswith("pyspark.sql."):
        from hullabaloo.data.engines.spark import SparkFrame

        return SparkFrame(source)
    if is_pandas_like_dataframe(source):
        return cast(Parts, open_table(source))
    giver = giver_of(source)
    if giver is None:
        raise SchemaError(
            f"A source of type {type(source).__name__} cannot be read in parts again and again. Pass the path of a Parquet, CSV or JSON Lines file or of a folder of Parquet files, a pyarrow dataset, a "
            "query of DuckDB, a lazy frame of Polars, a list of Arrow record batches, or a function that returns them whenever it is called."
        )
    return Batches(giver)


class RemotePath:
    """A file or folder by its address, as far as readers ask about a path. What its store says when it fails may hold passwords, and is left out."""

    def __init__(self, address: str) -> None:
        fsspec = library("fsspec.core", "hullabaloo[remote]", "Reading from an address")
        arrow = library("pyarrow.fs", "hullabaloo[remote]", "Reading from an address")
        there = False
        with suppress(Exception):
            self._store, self._path = fsspec.url_to_fs(address)
            there = self._store.exists(self._path)
        if not there:
            raise SchemaError(
                "There is nothing at the address that was passed, or its store cannot be opened. What it said is left out, as it may hold a password: "
                "open the address with fsspec to see it. Nothing was read or charged."
            )
        self.filesystem = arrow.PyFileSystem(arrow.FSSpecHandler(self._store))
        self.suffix = PurePosixPath(self._path).suffix

    def __str__(self) -> str:
        return str(self._path)

    def is_dir(self) -> bool:
        """Whether it is a folder."""
        return bool(self._store.isdir(self._path))

    def open(self, mode: str) -> Any:
        """The file."""
        return self._store.open(self._path, mode)
