"""A text that came with a table, such as a column's name: it can be compared with what was declared, and not be shown.

A file without a line of names has its first record there, so such a text may be a record. What messages, logs and reports may quote is
what the caller declared or passed, which is the same text wherever the two are equal.
"""

from collections.abc import Iterable
from typing import NoReturn, final

SHOWN = "(a text of the table, not shown)"


@final
class FileText:
    """A text of a table: equal to, and hashed like, the same `str`, which it is not.

    Formatted, printed or represented it is `SHOWN`; it cannot be joined, added, sliced, measured, ordered, copied or pickled.

    >>> name = FileText("Anna Meier")
    >>> name == "Anna Meier", name in {"Anna Meier"}, f"the column {name}"
    (True, True, 'the column (a text of the table, not shown)')
    """

    __slots__ = ("__text",)

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError("A text of a table is made of a str.")
        self.__text = str(text)

    def revealed(self) -> str:
        """The text itself. Every file that calls this is listed in `tests/laws/test_texts.py`, with the reason."""
        return self.__text

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FileText):
            return self.__text == other.__text
        return self.__text == other if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.__text)

    def __repr__(self) -> str:
        return SHOWN

    def __format__(self, how: str) -> str:
        return SHOWN

    def __reduce_ex__(self, _: object) -> NoReturn:
        raise TypeError("A text of a table is never copied or pickled: it may be a record.")


def hidden(names: Iterable[str | FileText] | None) -> tuple[FileText, ...] | None:
    """The names of a table's columns; None where they have none."""
    return None if names is None else tuple(name if isinstance(name, FileText) else FileText(name) for name in names)
