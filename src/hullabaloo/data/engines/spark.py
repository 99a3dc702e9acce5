"""Spark: executors read, keep and ask the parts of a dataframe by `mapInArrow`, so that Spark Connect works, too. One job for each question.

What fits is kept encoded, one binary cell a record, in the executors' memory alone; what they lose is encoded again.
"""

import contextlib
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from functools import partial
from inspect import signature
from typing import Any
from uuid import uuid4

import numpy as np

from hullabaloo.data.engines import cluster, units
from hullabaloo.data.engines.base import Part, Reading, Tally, Task, part_of, unpacked
from hullabaloo.data.engines.cluster import RemoteFrame, unheard
from hullabaloo.data.readers.arrow import schema_of
from hullabaloo.data.source import Rows
from hullabaloo.data.table import Table
from hullabaloo.errors import CapabilityError, SchemaError

LARGE = 1 << 20
"""Bytes of a sum from which those of all parts are added up by executors,"""
FEW = 8
"""so many of them, before they are sent to the driver."""
_SAID, _ROW, _PIECE = "said binary", "row binary", "bucket long, piece binary"
Parts = Callable[[Iterator[Any]], Iterator[Part]]
"""From record batches to parts of the table, on an executor."""


class SparkFrame(RemoteFrame):
    """A Spark dataframe, by the executors of its session."""

    def __init__(self, frame: Any) -> None:
        if not hasattr(frame, "mapInArrow") or not hasattr(frame, "schema"):
            raise SchemaError(
                f"A {type(frame).__name__} of Spark is no dataframe that is at rest. Pass a pyspark.sql.DataFrame."
            )
        # Spark looks names up without regard to case, and takes dots and backticks apart.
        self._names = {f"c{place}": name for place, name in enumerate(unheard(lambda: frame.columns))}
        self._frame = unheard(lambda: frame.toDF(*self._names))
        self.schema = schema_of(self.arrow())
        self.check_workers()

    def check_workers(self) -> None:
        """See `RemoteFrame`."""
        why, found = "", []
        try:
            session = self._frame.sparkSession
            rows = _collected(session, lambda: session.range(1).mapInArrow(_version, _SAID))
            found = [row[0].decode() for row in rows]
        except Exception as error:
            why = type(error).__name__
        if why:
            raise CapabilityError(
                f"A Spark table is read by the executors of its session, and they could not be asked ({why}). Check that the session runs, and that "
                "hullabaloo is installed on each. Nothing was charged or read."
            )
        cluster.check_versions(found)

    @property
    def n_rows(self) -> int:
        """See `Remote`."""
        return int(unheard(lambda: _collected(self._frame.sparkSession, self._frame.groupBy().count)[0][0]))

    def parts_of(self, names: Sequence[str] | None, rows: int) -> Iterator[Table]:
        """See `Remote`."""
        import pyarrow as pa

        shape = self.shape(names)
        brought = unheard(lambda: self._chosen(names).mapInArrow(partial(_as_file, shape), _SAID).toLocalIterator())
        while (row := unheard(lambda: next(brought, None))) is not None:
            table = pa.ipc.open_stream(pa.py_buffer(row[0])).read_all()
            for start in range(0, table.num_rows, rows):
                yield cluster.opened(table.slice(start, rows), shape)

    def engine(self, reading: Reading, keep_bytes: int) -> "SparkEngine":
        """See `Remote`."""
        kept = keep_bytes if self.width is None else -1  # a kept cell is a whole row
        return SparkEngine(self._chosen(reading.columns), self.shape(reading.columns), reading, kept)

    def mapped(self, work: Any, names: Sequence[str] | None, keep: Sequence[str]) -> Any:
        """See `RemoteFrame`."""
        import pyarrow as pa
        from pyspark.sql.pandas.types import from_arrow_type
        from pyspark.sql.types import StructField, StructType

        frame, shape, declared = self._chosen(names), self.shape(names), self.arrow(names)
        mapped = partial(_mapped, cluster.sent(work), shape, list(keep))
        (empty,) = mapped(iter([pa.RecordBatch.from_pylist([], declared)]))
        made = [StructField(one.name, from_arrow_type(one.type)) for one in list(empty.schema)[len(keep) :]]
        kept = frame.toDF(*(shape.names or ())).schema
        return frame.mapInArrow(mapped, StructType([*(kept[name] for name in keep), *made]))

    def write(self, frame: Any, place: str) -> None:
        """See `RemoteFrame`."""
        unheard(lambda: frame.write.parquet(place))

    def shape(self, names: Sequence[str] | None) -> cluster.Shape:
        """What each part has to have."""
        declared = self.arrow(names)
        return cluster.Shape(tuple(declared.names), cluster.kinds_of(schema_of(declared)), self.width)

    def arrow(self, names: Sequence[str] | None = None) -> Any:
        """See `RemoteFrame`."""
        import pyarrow as pa
        from pyspark.sql.pandas.types import to_arrow_schema

        # Spark 4.0 knows no zone.
        zone: Any = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
        declared = unheard(lambda: to_arrow_schema(self._chosen(names).schema, **zone))
        return pa.schema([one.with_name(self._names[one.name]) for one in declared])

    def _chosen(self, names: Sequence[str] | None) -> Any:
        """The columns that are read, called by their places."""
        wanted = frozenset(names or () if self.width is None else ())
        chosen = [place for place, name in self._names.items() if name in wanted]
        return self._frame.select(*chosen) if chosen else self._frame


class SparkEngine:
    """Asks the parts; encoded ones stay with the executors from the second question on, where all of them need no more than `keep` bytes. PRIVATE."""

    def __init__(self, frame: Any, shape: cluster.Shape, reading: Reading, keep: int) -> None:
        self._frame, self._reading, self._keep = frame, reading, keep
        self._sent, self._fits = cluster.sent(reading), False
        self._parts: Parts = partial(_read, self._sent, shape)
        self._units = reading.encoding.domain.unit is not None
        if self._units:
            asked = str(unheard(lambda: frame.sparkSession.conf.get("spark.sql.shuffle.partitions", "")))
            number = int(asked) if asked.isdecimal() else 200
            deal = partial(_deal, self._sent, shape, 4 * number)
            self._frame = unheard(lambda: frame.mapInArrow(deal, _PIECE).repartition(number, "bucket"))
            self._parts = partial(_bring, self._sent)

    def map_reduce(self, task: Task) -> Tally:
        """See `Engine`."""
        sent, nothing = cluster.sent(task), task.tally(self._reading.nothing())
        question = partial(self._question, sent, large=len(task.asked.dump(nothing.state)) > LARGE)
        said = [bytes(row[0]) for row in unheard(lambda: _collected(self._frame.sparkSession, question))]
        tally = cluster.heard(task, cluster.add(sent, said)) if said else nothing
        self._fits = tally.size <= self._keep
        return tally

    def _question(self, task: bytes, *, large: bool) -> Any:
        if self._fits:
            self._keep_encoded()
        asked = self._frame.mapInArrow(partial(_ask, task, self._parts), _SAID)
        return asked.repartition(FEW).mapInArrow(partial(_add, task), _SAID) if large else asked

    def _keep_encoded(self) -> None:
        from pyspark import StorageLevel

        encode = (partial(_gather, self._sent), _PIECE) if self._units else (partial(_encode, self._parts), _ROW)
        self._frame = unheard(lambda: self._frame.mapInArrow(*encode).persist(StorageLevel.MEMORY_ONLY))
        self._parts = self._parts if self._units else partial(_kept, self._sent)
        self._fits, self._keep = False, -1
        weakref.finalize(self, _forget, self._frame)


def _collected(session: Any, frame: Callable[[], Any]) -> list[Any]:
    """Rows of a dataframe of the session; its job is taken back where the call is interrupted, and where no executor is left for `PATIENCE` seconds, for whom Spark waits without an end.

    A thread of its own asks for them, as Spark's JVM hears what a thread calls after it has answered what it called before: one that was interrupted could
    not take its job back. The client of Spark Connect takes back what is interrupted; of its executors the server alone knows.
    """
    context, tag, found = getattr(session, "sparkContext", None), f"hullabaloo-{uuid4().hex}", Future[list[Any]]()
    if context is None:
        return list(frame().collect())
    from pyspark import InheritableThread

    inside, seen = context._jsc.sc(), time.monotonic()
    InheritableThread(_collect, args=(context, frame, tag, found), daemon=True).start()
    try:
        while not wait([found], cluster.POLL).done:
            if inside.isLocal() or inside.getExecutorMemoryStatus().size() > 1:  # the driver counts as one
                seen = time.monotonic()
            elif time.monotonic() - seen > cluster.PATIENCE:
                raise cluster.TornCluster
        return found.result()
    finally:
        _take_back(context, tag, found)


def _collect(context: Any, frame: Callable[[], Any], tag: str, found: "Future[list[Any]]") -> None:
    try:
        context.addJobTag(tag)
        found.set_result(list(frame().collect()))
    except BaseException as error:
        found.set_exception(error)


def _take_back(context: Any, tag: str, found: "Future[list[Any]]") -> None:
    """Cancel what has not ended until it is gone, as Spark knows nothing yet of a job that it is still planning; given up after `PATIENCE` seconds."""
    late = time.monotonic() + cluster.PATIENCE
    while not found.done() and time.monotonic() < late:
        with contextlib.suppress(Exception):  # the session may have ended
            context.cancelJobsWithTag(tag)
        wait([found], cluster.POLL / 20)


def _forget(frame: Any) -> None:
    with contextlib.suppress(Exception):  # the session may have ended
        frame.unpersist()


# ---- on an executor: functions of record batches, pickled with what they are given ------------------------------------


def _batch(**columns: list[Any]) -> Any:
    import pyarrow as pa

    kinds = {name: pa.int64() if name == "bucket" else pa.binary() for name in columns}
    return pa.RecordBatch.from_pydict(columns, pa.schema(kinds))


def _named(shape: cluster.Shape, batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    return (pa.RecordBatch.from_arrays(batch.columns, list(shape.names or ())) for batch in batches)


def _mapped(work: bytes, shape: cluster.Shape, keep: list[str], batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    for batch in _named(shape, batches):
        made = cluster.applied(work, batch, shape)
        columns = [*map(batch.column, keep), *map(pa.array, made.values())]
        yield pa.RecordBatch.from_arrays(columns, [*keep, *made])


def _version(batches: Iterator[Any]) -> Iterator[Any]:
    for _ in batches:
        yield _batch(said=[cluster.version().encode()])


def _as_file(shape: cluster.Shape, batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    for batch in _named(shape, batches):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as out:
            out.write_batch(batch)
        yield _batch(said=[sink.getvalue().to_pybytes()])


def _read(reading: bytes, shape: cluster.Shape, batches: Iterator[Any]) -> Iterator[Part]:
    """Parts of the table as it is. PRIVATE."""
    own: Reading = unpacked(reading)[0]
    return (own.part(cluster.opened(batch, shape)) for batch in _named(shape, batches))


def _kept(reading: bytes, batches: Iterator[Any]) -> Iterator[Part]:
    """Parts of the table as `_encode` wrote it. PRIVATE."""
    import pyarrow.compute as pc

    nothing = unpacked(reading)[0].nothing().rows
    width, several = nothing.X.shape[1], nothing.Y.shape[1]
    ends = np.cumsum([width, several, nothing.weight is not None, nothing.offset is not None])
    for batch in batches:
        cells = batch.column(0)
        if not pc.all(pc.equal(pc.binary_length(cells), 8 * int(ends[-1]))).as_py():
            raise cluster.FAULTS.get(cells[0].as_py(), cluster.TornCluster)
        table = np.frombuffer(b"".join(cells.to_pylist())).reshape(-1, ends[-1])
        X, Y, weight, offset, _ = (np.ascontiguousarray(part) for part in np.split(table, ends, axis=1))
        yield part_of(Rows(X, Y, weight[:, 0] if weight.size else None, offset[:, 0] if offset.size else None))


def _deal(reading: bytes, shape: cluster.Shape, buckets: int, batches: Iterator[Any]) -> Iterator[Any]:
    """What may count of a table with units, a piece for each bucket that has any. PRIVATE."""
    for batch in _named(shape, batches):
        dealt = cluster.deal(reading, batch, shape, buckets)
        filled = [bucket for bucket, piece in enumerate(dealt) if not bucket or len(piece) > units.EMPTY]
        yield _batch(bucket=filled, piece=[dealt[bucket] for bucket in filled])


def _bring(reading: bytes, batches: Iterator[Any]) -> Iterator[Part]:
    """The rows that count of the buckets on this executor. PRIVATE."""
    yield cluster.sound(cluster.bring(reading, _found(batches)))


def _gather(reading: bytes, batches: Iterator[Any]) -> Iterator[Any]:
    """The same as one piece. PRIVATE."""
    yield _batch(bucket=[0], piece=[cluster.gather(reading, _found(batches))])


def _found(batches: Iterator[Any]) -> Iterator[bytes]:
    return (piece for batch in batches for piece in batch.column("piece").to_pylist())


def _encode(parts: Parts, batches: Iterator[Any]) -> Iterator[Any]:
    """Encoded records, one cell each: columns, targets, weight and offset. PRIVATE."""
    found = parts(batches)
    while (part := cluster.said(lambda: next(found, None))) is not None:
        if isinstance(part, bytes):
            yield _batch(row=[part])
            return
        rows = part.rows
        extra = [one[:, None] for one in (rows.weight, rows.offset) if one is not None]
        words = np.hstack([rows.X, rows.Y, *extra])
        yield _batch(row=words.view(f"V{8 * words.shape[1]}").ravel().tolist())


def _ask(task: bytes, parts: Parts, batches: Iterator[Any]) -> Iterator[Any]:
    """What the parts on this executor add up to: one cell, or none where there is no part. PRIVATE."""
    word = cluster.total(task, lambda: parts(batches))
    if word:
        yield _batch(said=[word])


def _add(task: bytes, batches: Iterator[Any]) -> Iterator[Any]:
    """What several of them add up to. PRIVATE."""
    words = [cell for batch in batches for cell in batch.column(0).to_pylist()]
    if words:
        yield _batch(said=[cluster.add(task, words)])
