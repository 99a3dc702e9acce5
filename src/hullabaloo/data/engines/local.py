"""Parts that are read in this process, and summed by a thread for each core."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from threading import Lock

from threadpoolctl import ThreadpoolController

from hullabaloo.data.engines.base import Part, Reading, Tally, Task
from hullabaloo.data.engines.cache import Cache, SealedPart
from hullabaloo.data.engines.turns import in_turn
from hullabaloo.data.engines.units import Shuffle
from hullabaloo.data.table import Table


class Local:
    """Reads the parts of a table here, anew for each question, unless they can be kept: in memory, and in a folder. PRIVATE.

    Args:
        tables: the parts, from the beginning.
        reading: how they become rows.
        keep: bytes of encoded parts that are kept in memory after the first question, and as they are seen through a matrix where there is room for twice as many;
            none where not all can be, and there is no folder.
        folder: where the others are kept, sealed (`Cache`), and where units are brought together (`Shuffle`).
    """

    __slots__ = ("_cache", "_folder", "_keep", "_kept", "_lock", "_reading", "_size", "_tables")

    def __init__(
        self, tables: Callable[[], Iterator[Table]], reading: Reading, keep: int, folder: Path | None = None
    ) -> None:
        self._tables, self._reading, self._folder = tables, reading, folder
        self._keep = 0 if reading.once else keep
        self._kept: list[Part | SealedPart] = []
        self._cache, self._size, self._lock = None if folder is None or reading.once else Cache(folder), 0, Lock()

    def map_reduce(self, task: Task) -> Tally:
        """See `Engine`."""
        with _blas().limit(limits=1, user_api="blas"):  # a thread of each core is at work here
            return task.merged(self._tallies(task))

    def _tallies(self, task: Task) -> Iterator[Tally]:
        if self._kept:
            yield from in_turn(partial(_asked, task, 2 * self._size <= self._keep), self._kept)
            return
        self._size, kept, complete = 0, list[Part | SealedPart](), True
        for one, tally in in_turn(partial(self._first, task), self._things()):
            complete &= one is not None
            kept = [*kept, one] if complete and one is not None else []
            yield tally
        self._kept = kept

    def _things(self) -> Iterator[Table | Part]:
        if self._reading.encoding.domain.unit is not None and self._folder is not None:
            yield from Shuffle(self._tables, self._reading, self._folder).parts()
            return
        tables = self._tables()
        yield next(tables, self._reading.nothing())
        yield from tables

    def _first(self, task: Task, thing: Table | Part) -> tuple[Part | SealedPart | None, Tally]:
        kept = self._keep > 0 or self._cache is not None
        by_columns = task.asked.by_columns and not kept and not task.views
        part = thing if isinstance(thing, Part) else self._reading.part(thing, by_columns=by_columns)
        return self._held(part) if kept else None, task.tally(part)

    def _held(self, part: Part) -> Part | SealedPart | None:
        with self._lock:
            self._size += part.size
            room = self._size <= self._keep
        return part if room else None if self._cache is None else self._cache.held(part)


@cache
def _blas() -> ThreadpoolController:
    """The libraries that are loaded: looking for them takes milliseconds."""
    return ThreadpoolController()


def _asked(task: Task, hold: bool, held: Part | SealedPart) -> Tally:
    return task.tally(held if isinstance(held, Part) else held.opened(), hold=hold)
