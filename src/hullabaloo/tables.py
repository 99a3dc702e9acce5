"""Tables of words, as lines of text and as HTML, and what prints as such."""

import html
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from hullabaloo.errors import library

Cells = Sequence[Sequence[str]]


def text_table(lines: Cells, *, right: bool = False, ruled: bool = False, marks: Sequence[str] = ()) -> list[str]:
    """Lines of cells in columns of one width each, the first line the head.

    Args:
        lines: the head, and the body.
        right: all columns but the first are flush right.
        ruled: dashes are put under the head.
        marks: put before each line.
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    made = []
    for mark, line in zip(marks or [""] * len(lines), lines, strict=True):
        cells = [
            cell.rjust(width) if right and place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        made.append((mark + "  ".join(cells)).rstrip())
    if ruled:
        made.insert(1, "  ".join("-" * width for width in widths))
    return made


def html_table(head: Sequence[str], body: Cells) -> str:
    """The same cells as a table of a page."""
    top = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>" for line in body)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table>"


def html_paragraphs(texts: Iterable[str]) -> str:
    """Texts as paragraphs of a page."""
    return "".join(f"<p>{html.escape(text)}</p>" for text in texts)


def wrapped(texts: Iterable[str]) -> list[str]:
    """Texts in lines of 100 characters."""
    return [textwrap.fill(text, 100, break_on_hyphens=False) for text in texts]


def probability(p: float) -> str:
    """A p-value as tables print it."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


class Printed:
    """What is shown as it prints, in a notebook too."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


class PrintedRows(Printed):
    """The same of records in a table, a row each."""

    __slots__ = ()
    rows: tuple[Any, ...]

    def to_dataframe(self) -> Any:
        """The rows as a pandas dataframe, a column for each slot of a record."""
        pd = library("pandas", "pandas", "A dataframe (str(...) shows the same table)")
        return pd.DataFrame([{name: getattr(row, name) for name in type(row).__slots__} for row in self.rows])
