"""How commands speak: tables and sentences for people, or one JSON object for scripts.

Results go to standard output, progress to standard error. With `--json` standard output carries exactly one object and
standard error stays empty. Progress has no length that depends on records: a spinner, or a bar over public steps.
"""

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from hullabaloo.cli.printing import PlainConsole

PLAIN_WIDTH = 120  # where the output is not a terminal


class Verbatim(str):
    """Text to copy, such as a command: never broken into lines."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Voice:
    """The voice of one command; `as_json` chooses the listener."""

    command: str
    as_json: bool

    def result(self, data: Mapping[str, Any], *shown: Any, ok: bool = True) -> None:
        """End a command: print `data` as JSON, or what is to be shown to people; not `ok` where its exit code says that something is wrong."""
        if self.as_json:
            print(json.dumps({"ok": ok, "command": self.command, **plain(data)}, allow_nan=False, ensure_ascii=False))
            return
        console = self.console
        for one in shown:
            console.print(Text(one) if isinstance(one, str) else one, soft_wrap=isinstance(one, Verbatim))

    @property
    def console(self) -> PlainConsole:
        """Standard output for people; wide where it is no terminal, so that tables are not cut."""
        return PlainConsole(width=None if sys.stdout.isatty() else PLAIN_WIDTH)

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Show that something takes time, and nothing about how much of it is done."""
        console = PlainConsole(stderr=True)
        if self.as_json or not console.is_terminal:
            yield
            return
        with console.status(what):
            yield

    @contextmanager
    def steps(self, what: str, total: int) -> Iterator[Callable[[], None]]:
        """A bar over a number of steps that is public before any record is read; gives a function to advance it."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

        console = PlainConsole(stderr=True)
        if self.as_json or not console.is_terminal:
            yield lambda: None
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(what, total=total)
            yield lambda: bar.advance(task)


def plain(value: Any) -> Any:
    """JSON-ready: infinities and NaN become null, tuples and arrays lists, whatever else its text."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str | int) or value is None:
        return value
    items = value.tolist() if hasattr(value, "tolist") else value
    return (
        [plain(one) for one in items]
        if isinstance(items, Sequence)
        else plain(items)
        if items is not value
        else str(value)
    )


def table(head: Sequence[str], body: Sequence[Sequence[Any]], *, title: str | None = None, left: int = 1) -> Table:
    """A table whose first `left` columns are text and the others numbers."""
    from rich import box

    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for i, name in enumerate(head):
        made.add_column(name, justify="left" if i < left else "right", overflow="fold")
    for line in body:
        made.add_row(*[one if isinstance(one, Text) else Text(str(one)) for one in line])
    return made


def facts(pairs: Sequence[tuple[str, Any]]) -> Table:
    """Names and values below each other."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    for name, value in pairs:
        grid.add_row(name, value if isinstance(value, Text) else Text(str(value)))
    return grid
