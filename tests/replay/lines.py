"""Counts the lines of Python that the library runs, apart for what touches records and for all else."""

import inspect
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import hullabaloo
import hullabaloo.data.readers.arrow
import hullabaloo.data.readers.csvfile
import hullabaloo.data.readers.dense
import hullabaloo.data.readers.frames
import hullabaloo.data.readers.sparse
from hullabaloo.curation import parts
from hullabaloo.curator import Curator, StreamCurator
from hullabaloo.data import Encoding, open_table
from hullabaloo.data.readers import opening as readers
from hullabaloo.data.table import Table

SOURCE = str(Path(hullabaloo.__file__).parent)
UNCOUNTED = (SOURCE + "/privacy/", SOURCE + "/compiled.py")
"""Arithmetic on events, which are compared themselves and of which there is much; and what happens once in a process, as imports do."""


def _codes(owner: type) -> Iterator[CodeType]:
    for member in (getattr(one, "func", one) for one in vars(owner).values()):
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if inspect.isfunction(function) and function.__code__.co_filename.startswith(SOURCE):
            yield inspect.unwrap(function).__code__


def _below(owner: type) -> Iterator[type]:
    for one in owner.__subclasses__():
        yield one
        yield from _below(one)


def _touching() -> frozenset[CodeType]:
    found = {code for owner in (Curator, StreamCurator, *_below(Table)) for code in _codes(owner)}
    whole = {Encoding.encode.__code__, open_table.__code__, readers.open_column.__code__, parts.held_out.__code__}
    return frozenset(code for code in found | whole if code.co_name != "schema")


TOUCHING = _touching()
"""Where records are in reach: the curators, the encoding of a table, tables themselves but for their schema, and the parts of a search."""


class Lines:
    """How often each line ran: `outside` of what touches records, with the order in which they did, and `inside`."""

    def __init__(self) -> None:
        self.outside: Counter[tuple[str, int]] = Counter()
        self.inside: Counter[tuple[str, int]] = Counter()
        self.order = 0
        self._depth = self._importing = 0
        self._ours: dict[CodeType, bool] = {}

    @contextmanager
    def counting(self) -> Iterator["Lines"]:
        """Count while this is open."""
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            yield self
        finally:
            sys.settrace(before)

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if self._importing or code.co_name == "<module>":
            self._importing += 1
            return self._imported
        if code in TOUCHING:
            self._depth += 1
            return self._within
        ours = self._ours.get(code)
        if ours is None:
            ours = self._ours[code] = code.co_filename.startswith(SOURCE) and not code.co_filename.startswith(UNCOUNTED)
        return self._line if ours else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self._count(frame)
        return self._line

    def _imported(self, frame: FrameType, event: str, argument: Any) -> Any:
        self._importing -= event == "return"
        return self._imported

    def _within(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self._count(frame)
        elif event == "return":
            self._depth -= 1
        return self._within

    def _count(self, frame: FrameType) -> None:
        place = frame.f_code.co_filename, frame.f_lineno
        if self._depth:
            self.inside[place] += 1
            return
        self.outside[place] += 1
        self.order = hash((self.order, place))


def apart(one: Counter[tuple[str, int]], other: Counter[tuple[str, int]]) -> list[str]:
    """The lines that ran another number of times, as `file:line once twice`."""
    return [
        f"{file.removeprefix(SOURCE)}:{line} {one[file, line]} {other[file, line]}"
        for file, line in sorted(one.keys() | other.keys())
        if one[file, line] != other[file, line]
    ]
