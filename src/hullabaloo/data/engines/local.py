"""Parts that are read in this process, and summed by a thread for each core."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeVar, final

from threadpoolctl import threadpool_limits

from hullabaloo.data.engines.base import Part, Reading, Tally, Task
from hullabaloo.data.table import Table
from hullabaloo.data.threads import cores, share_cores

S, T = TypeVar("S"), TypeVar("T")


@final
class Local:
    """Reads the parts of a table here, anew for each question, unless all of them need no more than `keep` bytes. PRIVATE.

    Args:
        tables: the parts, from the beginning.
        reading: how they become rows.
        keep: bytes of encoded parts up to which all of them are kept after the first question.
    """

    __slots__ = ("_keep", "_kept", "_reading", "_tables")

    def __init__(self, tables: Callable[[], Iterator[Table]], reading: Reading, keep: int) -> None:
        self._tables, self._reading, self._keep = tables, reading, keep
        self._kept: list[Part] = []

    def map_reduce(self, task: Task) -> Tally:
        """See `Engine`."""
        with threadpool_limits(1, user_api="blas"):  # a thread of each core is at work here
            return task.merged(self._tallies(task))

    def _tallies(self, task: Task) -> Iterator[Tally]:
        if self._kept:
            yield from in_turn(task.tally, self._kept)
            return
        held, kept, nothing = 0, list[Part](), True
        for part, tally in in_turn(partial(self._both, task), self._tables()):
            nothing, held = False, held + part.size
            kept = [*kept, part] if held <= self._keep else []
            yield tally
        if nothing:
            yield task.tally(self._reading.nothing())
        self._kept = kept

    def _both(self, task: Task, table: Table) -> tuple[Part, Tally]:
        part = self._reading.part(table)
        return part, task.tally(part)


def in_turn(work: Callable[[T], S], things: Iterable[T]) -> Iterator[S]:
    """`map(work, things)` by a thread for each core; the next thing is taken while those before it are worked on, and no more are held."""
    workers, under_way = cores(), deque[Future[S]]()
    if workers == 1:
        yield from map(work, things)
        return
    pool = ThreadPoolExecutor(workers, initializer=share_cores)
    try:
        for thing in things:
            under_way.append(pool.submit(work, thing))
            del thing
            if len(under_way) >= workers:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
