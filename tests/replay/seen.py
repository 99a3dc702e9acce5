"""Everything that can be seen of one run: what it gives, asks, raises, prints, logs, warns of, writes and leaves, and which lines it runs."""

import gc
import io
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from difflib import ndiff
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hullabaloo.privacy import epsilon_of
from tests.replay.durable import left, touching
from tests.replay.exact import exact
from tests.replay.lines import Lines, apart
from tests.replay.tape import Tape

Work = Callable[[], Mapping[str, Any]]


class _Noon(datetime):
    """A clock that stands still: statements, ledgers and files hold the time."""

    @classmethod
    def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
        return datetime(2026, 1, 1, 12, tzinfo=UTC)


class _Log(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.lines: list[tuple[str, int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append((record.name, record.levelno, record.getMessage()))


_epsilon_of = cache(epsilon_of)
"""Arithmetic on events alone, whose lines are not compared (`UNCOUNTED`)."""


@contextmanager
def still() -> Iterator[None]:
    """Without what differs from run to run whatever the records: the time, and the names of streams and saves."""
    names = count()
    with (
        patch("hullabaloo.release.release.datetime", _Noon),
        patch("hullabaloo.ledger.schema.datetime", _Noon),
        patch("hullabaloo.ledger.chain.fresh_salt", lambda: "5" * 64),
        patch("hullabaloo.durable.journal._fresh", lambda: f"{next(names):032x}"),
        patch("hullabaloo.release.release.epsilon_of", _epsilon_of),  # of the same event again and again
    ):
        yield


def observe(work: Work, tape: Tape, *, replay: bool, folder: Path | None = None, lines: bool = True) -> dict[str, Any]:
    """Run once, recording or replaying the noisy answers, and give all that can be seen, by name."""
    log, out, err, counted = _Log(), io.StringIO(), io.StringIO(), Lines()
    root, level = logging.getLogger(), logging.getLogger().level
    root.addHandler(log)
    root.setLevel(logging.NOTSET)
    seen: dict[str, Any] = {}
    gc.disable()  # what it collects, and when, is the past's
    try:
        with ExitStack() as stack:
            caught = stack.enter_context(warnings.catch_warnings(record=True))
            warnings.simplefilter("always")
            for one in (still(), redirect_stdout(out), redirect_stderr(err)):
                stack.enter_context(one)
            run = stack.enter_context(tape.running(replay=replay))
            touched = stack.enter_context(touching())
            if lines:
                stack.enter_context(counted.counting())
            seen["raised"], shown = _outcome(work)
    finally:
        gc.enable()
        root.removeHandler(log)
        root.setLevel(level)
    seen |= {name: exact(value) for name, value in shown.items()}
    seen |= {"questions": run.questions, "logs": log.lines, "stdout": out.getvalue(), "stderr": err.getvalue()}
    seen["warnings"] = [(one.category.__name__, str(one.message), one.lineno) for one in caught]
    seen["touched"] = touched
    seen |= {f"file {name}": found for name, found in ({} if folder is None else left(folder)).items()}
    seen["lines"], seen["inside"] = counted, counted.inside
    return seen


def _outcome(work: Work) -> tuple[Any, Mapping[str, Any]]:
    try:
        return None, work()
    except Exception as error:  # reason: what is raised is compared
        causes, told = error, []
        while causes is not None:
            told.append((type(causes).__name__, str(causes), getattr(causes, "__notes__", [])))
            causes = causes.__cause__ or causes.__context__
        return told, {}


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """By name, what two runs show differently; empty when nobody could tell them apart."""
    names = [name for name in {**one, **other} if name not in ("lines", "inside")]
    found: dict[str, Any] = {
        name: (one.get(name), other.get(name)) for name in names if one.get(name) != other.get(name)
    }
    if "touched" in found:
        found["touched"] = [
            line for line in ndiff(*(list(map(str, asked)) for asked in found["touched"])) if line[0] != " "
        ]
    lines: Any = apart(one["lines"].outside, other["lines"].outside)
    if not lines and one["lines"].order != other["lines"].order:
        lines = "the same lines in another order"
    return found | ({"lines": lines} if lines else {})
