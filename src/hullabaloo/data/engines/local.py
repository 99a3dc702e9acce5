"""Parts that are read in this process, one after the other."""

from collections.abc import Callable, Iterator
from typing import final

from hullabaloo.data.engines.base import Part, Reading, Tally, Task
from hullabaloo.data.table import Table


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
        return task.merged(map(task.tally, self._kept or self._parts()))

    def _parts(self) -> Iterator[Part]:
        held, kept, nothing = 0, list[Part](), True
        for table in self._tables():
            part = self._reading.part(table)
            nothing, held = False, held + part.size
            kept = [*kept, part] if held <= self._keep else []
            yield part
        if nothing:
            yield self._reading.nothing()
        self._kept = kept
