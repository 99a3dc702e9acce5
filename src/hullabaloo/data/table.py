"""What a reader gives: the declared schema of a table, and its columns as numbers or as cells.

A file without a line of names has its first record there, so a column's name may be a record: it can be compared with what was declared, and
not be shown. What messages, logs and reports may quote is what the caller declared or passed, which is the same text wherever the two are equal.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import wraps
from inspect import signature
from typing import Any, NoReturn, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.numbers import numbers_of
from hullabaloo.errors import HullabalooError

NUMBER = "number"  # a declared number or bool: read as float64, a null is missing
CELLS = "cells"  # text or Python objects: read cell by cell by the domain's own rules
REFUSED = "refused"  # a declared type that no rule converts

OTHER = "of another kind"
_SIZED = (
    "int", "uint", "float", "complex", "decimal", "date", "time", "datetime", "timestamp", "duration", "timedelta"
)  # fmt: skip
TYPES = frozenset((
    "unknown", "no such column", "bool", "boolean", "string", "str", "text", "bytes", "binary", "object", "null", "void", "half",
    "halffloat", "double", "float", "enum", "category", "categorical", "decimal", "interval", "period", "list",
    "array", "struct", "map", "union", "dictionary", "extension", "sparse", "large_string", "large_binary",
    "string_view", "binary_view", "stringdtype", "large_list", "list_view", "large_list_view", "fixed_size_list",
    "fixed_size_binary", "dense_union", "sparse_union", "run_end_encoded", "month_day_nano_interval",
)) | {f"{word}{size}" for word in _SIZED for size in ("", 8, 16, 32, 64, 128, 256)}  # fmt: skip
"""The words for declared types. What a file writes may hold names of fields, values of a dictionary, a time zone or a text of its own."""


def type_word(declared: str) -> str:
    """The word of `TYPES` that a declared type begins with, spelled as the source spells it.

    >>> type_word("struct<Anna Meier: int64>"), type_word("Float64"), type_word("[('Anna', '<i4')]")
    ('struct', 'Float64', 'of another kind')
    >>> type_word("int64 in some files, string in some files")
    'int64 in some files, string in some files'
    """
    several = [re.fullmatch(r"(no such column|\w+)( in some files)", part, re.ASCII) for part in declared.split(", ")]
    if None not in several:  # of a folder of files
        return ", ".join(_word(part[1]) + part[2] for part in several if part)
    word = re.match(r"\w*", declared, re.ASCII)
    return _word(word[0] if word else "")


def _word(word: str) -> str:
    return word if word.lower() in TYPES else OTHER


SHOWN = "(a text of the table, not shown)"


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


@dataclass(frozen=True, slots=True)
class TableSchema:
    """The declared schema of a table: what can be known without reading a value.

    ``names`` is None where columns have no names, and no text that could be shown otherwise; ``types`` are words of
    ``TYPES`` for the declared types ("unknown" in a CSV file); ``kinds`` says how each is read; ``n_rows`` is the number of
    records, or None when it was not asked for. Under add-or-remove neighbours ``n_rows`` is private. A list of rows is
    ``unbounded``: it declares no columns, so ``types`` and ``kinds`` are empty, and any position may be asked for. How long its
    rows are, records tell. ``from_text`` says that the names are a line of a text file, which may be a record, so that no
    release is given them.
    """

    names: tuple[FileText, ...] | None
    types: tuple[str, ...]
    kinds: tuple[str, ...]
    n_rows: int | None = None
    unbounded: bool = False
    from_text: bool = False
    matched: dict[tuple[str, ...], list[int]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _places: dict[object, list[int]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Keep what a file wrote out of ``types``, and out of ``names`` what could be formatted."""
        if not set(map(type, self.names or ())) <= {FileText}:
            raise TypeError("The names of a table's columns are FileText, so that no message can hold one.")
        words = {declared: type_word(declared) for declared in set(self.types)}
        object.__setattr__(self, "types", tuple(map(words.__getitem__, self.types)))

    @property
    def width(self) -> int | None:
        """Number of columns; None where none is declared, and the domain has to say it."""
        return None if self.unbounded else len(self.types)

    def column(self, position: int) -> tuple[str, str]:
        """The declared type of a column, and how it is read."""
        return ("unknown", CELLS) if self.unbounded else (self.types[position], self.kinds[position])

    def named(self, name: str) -> list[int]:
        """The positions of the columns that have a name."""
        if not self._places:  # found once: wide tables stay fast
            for place, one in enumerate(self.names or ()):
                self._places.setdefault(one, []).append(place)
        return self._places.get(name, [])


Names = Sequence[str] | Sequence[FileText] | None


def cells_schema(names: Names, width: int, *, from_text: bool = False) -> TableSchema:
    """Columns without declared types: their cells are read one by one, by the domain's rules."""
    return TableSchema(hidden(names), ("unknown",) * width, (CELLS,) * width, from_text=from_text)


_HELD: tuple[Any, ...] = tuple(vars(BaseException)[name] for name in ("__cause__", "__context__", "__traceback__"))
"""By the base class's own means: an error of somebody's own may have others, which would be run where exact numbers lie."""
MEMORY = "The machine has not enough memory for this. A charge that was made stays."
P = ParamSpec("P")
T = TypeVar("T")


def sealed(answer: Callable[P, T]) -> Callable[P, T]:
    """The same answer; an exception leaves it as it is, but without the frames inside and without what it came from; of want of memory in our words, as
    its own tell how many records there are.

    A solver of somebody's own may catch it, and reporters of errors send frames' variables far away.
    """

    @wraps(answer)
    def ask(*given: P.args, **named: P.kwargs) -> T:
        try:
            return answer(*given, **named)
        except BaseException as error:
            fault = MemoryError(MEMORY) if isinstance(error, MemoryError) else error
            for part in _HELD:
                part.__set__(fault, None)
        raise fault

    ask.__signature__ = signature(answer)  # type: ignore[attr-defined]
    del ask.__wrapped__  # which would answer without the seal
    return ask


class TornTable(HullabalooError, OSError):
    """A table's file cannot be read to its end. What its reader said is left out: it may quote the file, or name others beside it."""

    why = (
        "its file, or one in its folder, is damaged, or its disk failed. Repair the file, and see that it can be read."
    )

    def __init__(self) -> None:
        super().__init__(
            f"The table could not be read to its end: {self.why} Nothing is released; a charge that was made stays."
        )


class Table(ABC):
    """A table opened for reading. ``schema`` reads no value; the other methods never raise because of one."""

    schema: TableSchema
    """The declared schema, without the number of rows."""
    n_rows: int
    """The number of records; private under add-or-remove neighbours."""

    sparse: bool = False
    """Whether it gives its rows as a canonical ``csr_array`` (``rows``)."""
    parted: bool = False
    """Whether it is read in parts alone (``data/scan.py``),"""
    keep_bytes: int = 0
    """and how many bytes of its encoded rows may be kept then."""

    quoted_line_breaks: bool | None = None
    """Whether a record could go on in the next line of the CSV file that it was read from; None where it was read from none."""

    def numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """(n, k) float64, C-contiguous: the columns at these positions; missing cells are NaN."""
        out = np.empty((self.n_rows, len(columns)))
        for place, column in enumerate(columns):
            out[:, place] = self._numbers(column)
        return out

    def _numbers(self, column: int) -> NDArray[np.float64]:
        """One column as numbers, where no faster way than cell by cell is known of its type."""
        return numbers_of(self.cells(column))

    def parts(self, names: Sequence[str] | None = None) -> Iterator["Table"]:
        """The parts of a table that is read so."""
        raise NotImplementedError(f"{type(self).__name__} is not read in parts: {names}")

    @abstractmethod
    def cells(self, column: int) -> list[Any]:
        """The cells of one column as Python objects."""
