"""What a reader gives: the declared schema of a table, and its columns as numbers or as cells."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.file_text import FileText
from hullabaloo.errors import HullabalooError

NUMBER = "number"  # a declared number or bool: read as float64, a null is missing
CELLS = "cells"  # text or Python objects: read cell by cell by the domain's own rules
REFUSED = "refused"  # a declared type that no rule converts

OTHER = "of another kind"
_SIZED = (
    "int",
    "uint",
    "float",
    "complex",
    "decimal",
    "date",
    "time",
    "datetime",
    "timestamp",
    "duration",
    "timedelta",
)
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
    >>> type_word("int64 in 2 files, string in 1 file")
    'int64 in 2 files, string in 1 file'
    """
    several = [re.fullmatch(r"(no such column|\w+)( in \d+ files?)", part, re.ASCII) for part in declared.split(", ")]
    if None not in several:  # of a folder of files
        return ", ".join(_word(part[1]) + part[2] for part in several if part)
    word = re.match(r"\w*", declared, re.ASCII)
    return _word(word[0] if word else "")


def _word(word: str) -> str:
    return word if word.lower() in TYPES else OTHER


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


class TornTable(HullabalooError, OSError):
    """A table's file cannot be read to its end. What its reader said is left out: it may quote the file, or name others beside it."""

    def __init__(self) -> None:
        super().__init__(
            "The table could not be read to its end: its file, or one in its folder, is damaged, or its disk failed. Repair the file, and "
            "see that it can be read."
        )


class Table(ABC):
    """A table opened for reading. ``schema`` reads no value; the other methods never raise because of one."""

    quoted_line_breaks: bool | None = None
    """Whether a record could go on in the next line of the CSV file that it was read from; None where it was read from none."""

    @property
    @abstractmethod
    def schema(self) -> TableSchema:
        """The declared schema, without the number of rows."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """The number of records; private under add-or-remove neighbours."""

    @abstractmethod
    def numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """(n, k) float64, C-contiguous: the columns at these positions; missing cells are NaN."""

    @abstractmethod
    def cells(self, column: int) -> list[Any]:
        """The cells of one column as Python objects."""


def by_columns(n_rows: int, columns: Sequence[int], read: Callable[[int], NDArray[np.float64]]) -> NDArray[np.float64]:
    """(n, k) float64, C-contiguous: what `read` gives of each column."""
    out = np.empty((n_rows, len(columns)))
    for j, column in enumerate(columns):
        out[:, j] = read(column)
    return out
