"""Dask: partitions are read, kept encoded and asked by the workers of a `distributed.Client`. One map and one tree of additions for each question.

A lost worker's parts are read again by others: all that runs there is a function of the table and of public facts.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np

from hullabaloo.data.engines import cluster
from hullabaloo.data.engines.base import Reading, Tally, Task
from hullabaloo.data.engines.cluster import RemoteFrame, TornCluster, unheard
from hullabaloo.data.readers.opening import open_table
from hullabaloo.data.table import Table
from hullabaloo.errors import CapabilityError, InvalidParameter, SchemaError, library

FAN = 8
"""Tallies that are added up at once: the tree is shallow, and a worker holds few of them."""
BUCKETS = 64
"""Parts of a table with units at most, after the one shuffle: each has to fit a worker, and the shuffle has so many tasks for each part before it."""


class DaskFrame(RemoteFrame):
    """A Dask dataframe, by the workers of a client."""

    def __init__(self, frame: Any, client: Any = None) -> None:
        if not hasattr(frame, "to_delayed") or not hasattr(getattr(frame, "_meta", None), "columns"):
            raise SchemaError(
                "A Dask collection was given that is no dataframe. Name the columns of an array, as many as it has: hb.scan(array, columns=[...])."
            )
        self._client, self.schema = connected(client), open_table(frame._meta).schema
        # A part of them that misses a cell is none of NumPy's bools: whether it was read, a record would decide.
        self._frame = frame.astype(dict.fromkeys(frame._meta.select_dtypes("bool").columns, "boolean"))

    @property
    def n_rows(self) -> int:
        """See `Remote`."""
        return unheard(lambda: int(result(self._client, self._frame[list(self._frame.columns[:1])].shape[0])))

    def parts_of(self, names: Sequence[str] | None, rows: int) -> Iterator[Table]:
        """See `Remote`."""
        shape = self.shape(names)
        for part in unheard(self._chosen(names).to_delayed):
            frame = unheard(lambda part=part: result(self._client, part))  # type: ignore[misc]
            for start in range(0, max(len(frame), 1), rows):
                yield unheard(lambda: cluster.opened(frame.iloc[start : start + rows], shape))  # noqa: B023 - at once

    def engine(self, reading: Reading, keep_bytes: int) -> "DaskEngine":
        """See `Remote`."""
        frame, shape = self._chosen(reading.columns), self.shape(reading.columns)
        return unheard(lambda: DaskEngine(self._client, frame.map_partitions(_floats), shape, reading, keep_bytes))

    def mapped(self, work: Any, names: Sequence[str] | None, keep: Sequence[str]) -> Any:
        """See `RemoteFrame`."""
        frame, given = self._chosen(names), (cluster.sent(work), self.shape(names), list(keep))
        return frame.map_partitions(_mapped, *given, meta=_mapped(frame._meta, *given))

    def write(self, frame: Any, place: str) -> None:
        """See `RemoteFrame`."""
        unheard(lambda: result(self._client, frame.to_parquet(place, write_index=False, compute=False)))

    def arrow(self) -> Any:
        """See `RemoteFrame`."""
        import pyarrow as pa

        return unheard(lambda: pa.Schema.from_pandas(self._frame._meta, preserve_index=False))

    def _chosen(self, names: Sequence[str] | None) -> Any:
        every = names is None or self.schema.names is None or self.width is not None
        return self._frame if every else self._frame[list(names or ())]

    def shape(self, names: Sequence[str] | None) -> cluster.Shape:
        """What each part has to have."""
        schema = unheard(lambda: open_table(self._chosen(names)._meta).schema)
        named = names is not None and schema.names is not None and self.width is None
        return cluster.Shape(tuple(names or ()) if named else None, cluster.kinds_of(schema), self.width)


def _floats(part: Any) -> Any:
    """NumPy's whole numbers as the floats that they are in a part that misses one: else whose records the others of a part are, one record would decide."""
    plain = [name for name, kind in part.dtypes.items() if isinstance(kind, np.dtype) and kind.kind in "iu"]
    return part.astype(dict.fromkeys(plain, float))


def _mapped(frame: Any, work: bytes, shape: cluster.Shape, keep: list[str]) -> Any:
    return frame[keep].assign(**cluster.applied(work, frame, shape))


class DaskEngine:
    """Asks the partitions; encoded ones stay in the workers' memory from the second question on, where all of them need no more than `keep` bytes. PRIVATE."""

    def __init__(self, client: Any, frame: Any, shape: cluster.Shape, reading: Reading, keep: int) -> None:
        from dask.delayed import delayed

        self._client, self._keep, self._fits = client, keep, False
        self._kept, self._dealt, self._sent = list[Any](), list[Any](), delayed(cluster.sent(reading))
        mapped = partial(frame.map_partitions, cluster.read, self._sent, shape)
        self._map = partial(mapped, meta=(None, object), enforce_metadata=False)
        if reading.encoding.domain.unit is not None:
            buckets = min(frame.npartitions, BUCKETS)
            deal = partial(delayed(cluster.deal, nout=buckets), self._sent, shape=shape, buckets=buckets)
            self._dealt = [list(one) for one in zip(*map(deal, frame.to_delayed()), strict=True)]

    def map_reduce(self, task: Task) -> Tally:
        """See `Engine`."""
        if self._fits:
            self._kept = unheard(lambda: self._client.persist(self._read(f"parts-{uuid4().hex}")))
        sent = cluster.sent(task)
        try:
            tally = cluster.heard(task, unheard(lambda: self._told(sent, f"question-{uuid4().hex}")))
        except BaseException:
            self._kept.clear()  # workers read what an error still holds
            raise
        self._fits = not self._kept and tally.size <= self._keep
        return tally

    def _read(self, name: str, task: Any = None) -> list[Any]:
        """The parts, or what each adds up to, delayed; from the file on by one task, so that no part is sent from worker to worker."""
        from dask.delayed import delayed

        if self._dealt:
            return [delayed(cluster.bring)(self._sent, pieces, task) for pieces in self._dealt]
        return list(self._map(task, token=name).to_delayed())

    def _told(self, task: bytes, name: str) -> bytes:
        """The tally of all parts. What a few tasks say of kept parts is added up here: a graph, and a sum on a worker, take as long as tasks again."""
        from distributed import futures_of

        shares = self._shares() if self._kept else []
        if not 0 < len(shares) <= FAN:
            return bytes(result(self._client, self._question(task, name, shares)))
        held = {future.key: future for future in futures_of(self._kept)}  # type: ignore[no-untyped-call]
        submit, several = self._client.submit, enumerate(shares)
        asked = [submit(cluster.ask, task, *map(held.get, share), key=f"{name}-{n}") for n, share in several]
        return cluster.add(task, [result(self._client, one) for one in asked])

    def _question(self, task: bytes, name: str, shares: list[list[Any]]) -> Any:
        """The same, delayed: of shares of kept parts, or of all as they are read. Sums are written as a graph, since calls of `delayed` take most of the time of a small question."""
        from dask.delayed import Delayed, delayed
        from dask.highlevelgraph import HighLevelGraph

        public, total = delayed(task, name=name), f"{name}-total"
        before = self._kept or self._read(f"{name}-part", public)
        graph: dict[Any, Any] = {(total, 0, place): (cluster.ask, name, *share) for place, share in enumerate(shares)}
        tallies = list(graph) or [one.key for one in before]
        while not graph or len(tallies) > 1:
            several = [tallies[start : start + FAN] for start in range(0, len(tallies), FAN)]
            tallies = [(total, len(graph), place) for place in range(len(several))]
            graph |= {tally: (cluster.add, name, some) for tally, some in zip(tallies, several, strict=True)}
        whole = HighLevelGraph.from_collections(total, graph, dependencies=[public, *before])
        return Delayed(tallies[0], whole, layer=total)  # type: ignore[no-untyped-call]

    def _shares(self) -> list[list[Any]]:
        """Keys of the kept parts that one task asks."""
        keys, scheduler = [part.key for part in self._kept], self._client.scheduler
        ask = partial(self._client.sync, callback_timeout=cluster.PATIENCE / 5)
        return shares(keys, ask(scheduler.who_has, keys=keys), ask(scheduler.ncores, workers=None))


def shares(keys: Sequence[Any], where: Mapping[Any, Sequence[str]], threads: Mapping[str, int]) -> list[list[Any]]:
    """What is kept, as equal numbers for each thread, of those that its worker holds: Dask takes milliseconds for a task. What nobody holds is alone."""
    held: dict[str | None, list[Any]] = {worker: [] for worker in (*threads, None)}
    for key in keys:
        held[next((worker for worker in where[key] if worker in threads), None)].append(key)
    most = {worker: -(-len(keys) // sum(threads.values())) * several for worker, several in threads.items()}
    moved = [key for worker in threads for key in held[worker][most[worker] :]]
    found = [[key] for key in held[None]]
    for worker, several in threads.items():
        own = held[worker][: most[worker]]
        own += [moved.pop() for _ in range(min(len(moved), most[worker] - len(own)))]
        found += [own[n::several] for n in range(min(several, len(own)))]
    return found


def result(client: Any, wanted: Any) -> Any:
    """What a delayed object or a future is, computed by the client's workers; given up where none is left for `PATIENCE` seconds.

    Raises:
        TornCluster: it was given up; anything else: what the cluster raises.
    """
    future, seen = client.compute(wanted), time.monotonic()
    try:
        while time.monotonic() - seen <= cluster.PATIENCE:
            with suppress(TimeoutError):
                return future.result(timeout=cluster.POLL)
            if future.done():
                return future.result(timeout=cluster.PATIENCE)
            if client.status == "running" and _working(client):
                seen = time.monotonic()
        raise TornCluster
    except BaseException:
        future.cancel()
        raise


def _working(client: Any) -> bool:
    """Whether there is a worker; each wait has an end, also where the scheduler never answers.

    Raises:
        TimeoutError: it did not answer.
    """
    return bool(client.sync(client.scheduler.identity, n_workers=1, callback_timeout=cluster.PATIENCE / 5)["workers"])


async def _answer(address: str) -> None:
    """Have a scheduler say who it is: Dask waits without an end for whatever listens there and says nothing."""
    from distributed import Security, rpc

    async with rpc(address, connection_args=Security().get_connection_args("client")) as scheduler:  # type: ignore[no-untyped-call]
        await scheduler.identity(n_workers=1)


def connected(client: Any) -> Any:
    """The client, or one of the address, or the one that is in use; its workers have this library.

    Raises:
        CapabilityError: there is none, or none of its workers can be asked.
    """
    distributed = library("distributed", "hullabaloo[dask]", "A Dask dataframe")
    if client is not None and not isinstance(client, str | distributed.Client):
        raise InvalidParameter(
            f"client= was given {type(client).__name__}. Pass a distributed.Client, or the address of a scheduler."
        )
    why = None
    try:
        if isinstance(client, str):
            # in a thread, as a notebook's own loop is running in this one
            ThreadPoolExecutor(1).submit(asyncio.run, asyncio.wait_for(_answer(client), cluster.PATIENCE / 5)).result()
            client = distributed.Client(client, set_as_default=False, timeout=cluster.PATIENCE / 5)
        client = distributed.get_client() if client is None else client
        if not _working(client):
            client.wait_for_workers(1, timeout=cluster.PATIENCE / 5)
        found = list(client.run(cluster.version, callback_timeout=cluster.PATIENCE / 2).values())
    except Exception as error:
        why = f"its workers could not be asked ({type(error).__name__}). Check its address, that workers run, and that hullabaloo is installed on each"
        if client is None:
            why = "there is no client in use. Start one: client = distributed.Client(), or pass client= one, or the address of a scheduler"
    if why is not None:
        raise CapabilityError(
            f"A Dask table is read by the workers of a client, and {why}. Nothing was charged or read."
        )
    cluster.check_versions(found)
    return client
