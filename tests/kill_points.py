"""Deterministic kill points: a forked process ends itself, as by SIGKILL, at the n-th line that an operation runs.

How to use it. An operation is a function of no arguments that does one durable thing and returns what JSON can hold:

    total = kill_points.count(operation)              # lines that one whole run passes, in a process of its own
    for point in kill_points.spread(total, 50):       # every one: spread(total)
        ended = kill_points.killed_at(point, operation)
        ...                                           # in the parent: what holds now? ended.returned => it is there

Lines of the library's own files count, and with `of=kill_points.WITH_DATABASE` those of SQLAlchemy's engine and of the drivers
in Python too. Everything else (imports, first calls) is warm, because the process is forked from this one; so call the operation
once before, or a count holds lines that later runs do not pass. A child that ends by itself before its point says so (`returned` or
`raised`); it writes to nothing but what the operation writes to. A child that takes too long is an AssertionError.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import sqlalchemy

import hullabaloo

LIBRARY = (str(Path(hullabaloo.__file__).parent) + os.sep,)
WITH_DATABASE = (
    *LIBRARY,
    str(Path(sqlalchemy.__file__).parent / "engine") + os.sep,
    str(Path(sqlalchemy.__file__).parents[1] / "psycopg") + os.sep,
)
SECONDS = 30
"""After which a child that neither ended nor was killed counts as hung."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended.

    Attributes:
        killed: it was killed at its point, in the middle.
        returned: the operation returned; `value` is what it gave.
        raised: the class and the message of what it raised; "" for nothing.
        at: the file and line of the kill.
        lines: how many traced lines it passed.
    """

    killed: bool = False
    returned: bool = False
    value: Any = None
    raised: str = ""
    at: str = ""
    lines: int = 0


def count(operation: Callable[[], Any], *, of: tuple[str, ...] = LIBRARY) -> int:
    """How many points a run has; the run is a whole one, in a process of its own."""
    whole = killed_at(0, operation, of=of)
    assert whole.returned, whole.raised
    return whole.lines


def spread(total: int, wanted: int | None = None) -> list[int]:
    """Points 1 … total, or about so many of them, evenly, with the first and the last."""
    if wanted is None or wanted >= total:
        return list(range(1, total + 1))
    return sorted({1 + round(step * (total - 1) / (wanted - 1)) for step in range(wanted)})


def killed_at(point: int, operation: Callable[[], Any], *, of: tuple[str, ...] = LIBRARY) -> Ended:
    """Run the operation in a fork that is killed when it comes to its `point`-th line; 0 for never."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        try:
            os.close(reader)
            _run(point, operation, of, writer)
        finally:
            os._exit(70)
    os.close(writer)
    with open(reader, "rb") as pipe:
        told = [json.loads(line) for line in pipe]
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == -signal.SIGKILL and told and "at" in told[-1]:
        return Ended(killed=True, **told[-1])
    assert status == 0, f"the child of point {point} ended with {status} after {told}"
    return Ended(**told[-1])


def _run(point: int, operation: Callable[[], Any], of: tuple[str, ...], writer: int) -> None:
    passed = 0

    def line(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal passed
        if event == "line":
            passed += 1
            if passed == point:
                tell({"at": f"{frame.f_code.co_filename}:{frame.f_lineno}", "lines": passed})
                os.kill(os.getpid(), signal.SIGKILL)
        return line

    def call(frame: FrameType, event: str, _: Any) -> Any:
        return line if frame.f_code.co_filename.startswith(of) else None

    def tell(what: dict[str, Any]) -> None:
        os.write(writer, json.dumps(what).encode() + b"\n")

    sys.settrace(call)
    try:
        value = operation()
    except Exception as error:  # reason: whatever comes out is for the parent to judge
        sys.settrace(None)
        tell({"raised": f"{type(error).__name__}: {error}", "lines": passed})
    else:
        sys.settrace(None)
        tell({"returned": True, "value": value, "lines": passed})
    os._exit(0)
