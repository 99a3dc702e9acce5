"""Printing for people: whatever a name or a level holds, a terminal shows it and does not obey it."""

from collections.abc import Iterable
from typing import Any
from unicodedata import category

from rich.console import Console, ConsoleOptions
from rich.segment import Segment


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
    if text.isprintable():
        return text
    return "".join(
        one if one == "\n" or one.isprintable() or category(one) == "Zs" else ascii(one)[1:-1] for one in text
    )
