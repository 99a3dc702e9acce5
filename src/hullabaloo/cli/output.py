"""How commands speak: tables and sentences for people, or one JSON object for scripts; and how they keep what was charged for.

Results go to standard output, progress to standard error. With `--json` standard output carries exactly one object and
standard error stays empty. Progress has no length that depends on records: a spinner, or a bar over public steps.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import category

from rich import box
from rich.console import Console, ConsoleOptions
from rich.panel import Panel
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from hullabaloo.codec import plain
from hullabaloo.errors import HullabalooError

if TYPE_CHECKING:
    from hullabaloo.release import PrivacyStatement

PLAIN_WIDTH = 120  # where the output is not a terminal
ORDER = "Charging, reading, drawing noise"
NOTHING = "Nothing was read or spent."


class NotSaved(HullabalooError, OSError):
    """A release could not be written where it was asked for."""


class PlainConsole(Console):
    """A console that writes characters that are no printable ones as their escapes; markup in texts is not interpreted."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(highlight=False, markup=False, **settings)

    def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As rich renders it, escape sequences and other controls inside of texts made visible."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else visible(text), style, control)


def visible(text: str) -> str:
    """The text with an escape in place of every character that is neither printable nor a blank or a line break.

    >>> visible("age\\x1b[2J")
    'age\\\\x1b[2J'
    """
    return "".join(c if c == "\n" or c.isprintable() or category(c) == "Zs" else ascii(c)[1:-1] for c in text)


class Verbatim(str):
    """Text to copy, such as a command: never broken into lines."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Output:
    """What one command says; `as_json` chooses the listener."""

    command: str
    as_json: bool

    def result(self, data: Mapping[str, Any], *shown: Any, ok: bool = True) -> None:
        """End a command: print `data` as JSON, or what is `shown` to people (None is not); not `ok` where its exit code says that something is wrong."""
        if self.as_json:
            print(in_json({"ok": ok, "command": self.command, **data}))
            return
        console = PlainConsole(width=None if sys.stdout.isatty() else PLAIN_WIDTH)  # wide, so that tables are not cut
        for one in (one for one in shown if one is not None):
            console.print(Text(one) if isinstance(one, str) else one, soft_wrap=isinstance(one, Verbatim))

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Show that something takes time, and nothing about how much of it is done."""
        console = PlainConsole(stderr=True)
        with console.status(what) if console.is_terminal and not self.as_json else nullcontext():
            yield

    @contextmanager
    def steps(self, what: str, total: int) -> Iterator[Callable[[], None]]:
        """A bar over a number of steps that is public before any record is read; gives a function to advance it."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

        console = PlainConsole(stderr=True)
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        off = self.as_json or not console.is_terminal
        with Progress(*columns, console=console, transient=True, disable=off) as bar:
            task = bar.add_task(what, total=total)
            yield lambda: bar.advance(task)


def in_json(told: Mapping[str, Any]) -> str:
    """An object in one line, as `codec.plain` writes it; what it leaves as it is, as its text."""
    return json.dumps(plain(told), allow_nan=False, ensure_ascii=False, default=str)


def table(head: Sequence[str], body: Sequence[Sequence[Any]], *, left: int = 1) -> Table:
    """A table whose first `left` columns are text and the others numbers."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(head):
        made.add_column(name, justify="left" if i < left else "right", overflow="fold")
    for line in body:
        made.add_row(*map(_cell, line))
    return made


def facts(named: Mapping[str, Any]) -> Table:
    """Names and values below each other."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    for name, value in named.items():
        grid.add_row(name, _cell(value))
    return grid


def _cell(value: Any) -> Text:
    return value if isinstance(value, Text) else Text(str(value))


def save(place: Path | None, write: Callable[[Path], Any], what: str, again: str) -> None:
    """Write it, if a place was named; where that fails, rescue it. `what` was done, and what would cost the budget `again`, in words."""
    if place is None:
        return
    try:
        write(place)
    except OSError as error:
        rescue = Path(tempfile.mkdtemp(prefix="hullabaloo-")) / place.name
        write(rescue)
        raise NotSaved(
            f"{what}, but {place} could not be written ({error.strerror}). It was saved as {rescue} instead; move the file from there "
            f"rather than {again} again, which would cost the budget a second time."
        ) from None


def guarantee(statement: "PrivacyStatement", of: str = "this release guarantees") -> Panel:
    """The privacy statement in a frame: green, yellow when nothing counts the release, red when nothing is protected."""
    colour = "red" if not statement.private else "yellow" if statement.ledger is None else "green"
    text = Text("\n").join(Text(f"{line[:1].upper()}{line[1:]}.") for line in statement.lines())
    return Panel(text, title=f"What {of}", title_align="left", border_style=colour)


def left(terms: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str | None]:
    """What remains of a dataset's budget, for scripts and as a sentence; nothing where nothing was charged. See `build.terms`."""
    if terms["ledger"] is None:
        return None, None
    found = terms["ledger"].remaining(terms["dataset"])
    return found.to_dict(), f"Left for dataset {terms['dataset']!r}: {found.sentence}"
