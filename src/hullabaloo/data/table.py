"""What a reader gives: the declared schema of a table, and its columns as numbers or as cells."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

NUMBER = "number"  # a declared number or bool: read as float64, a null is missing
CELLS = "cells"  # text or Python objects: read cell by cell by the domain's own rules
REFUSED = "refused"  # a declared type that no rule converts


@dataclass(frozen=True, slots=True)
class TableSchema:
    """The declared schema of a table: what can be known without reading a value.

    ``names`` is None where columns have no names; ``types`` are the declared types as the source writes them
    ("unknown" in a CSV file); ``kinds`` says how each is read; ``n_rows`` is the number of records, or None when it
    was not asked for. Under add-or-remove neighbours ``n_rows`` is private. A list of rows is ``unbounded``: it declares
    no columns, so ``types`` and ``kinds`` are empty, and any position may be asked for. How long its rows are, records tell.
    """

    names: tuple[str, ...] | None
    types: tuple[str, ...]
    kinds: tuple[str, ...]
    n_rows: int | None = None
    unbounded: bool = False

    @property
    def width(self) -> int | None:
        """Number of columns; None where none is declared, and the domain has to say it."""
        return None if self.unbounded else len(self.types)

    def column(self, position: int) -> tuple[str, str]:
        """The declared type of a column, and how it is read."""
        return ("unknown", CELLS) if self.unbounded else (self.types[position], self.kinds[position])


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
