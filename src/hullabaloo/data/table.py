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
    was not asked for. Under add-or-remove neighbours ``n_rows`` is private.
    """

    names: tuple[str, ...] | None
    types: tuple[str, ...]
    kinds: tuple[str, ...]
    n_rows: int | None = None

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.types)


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
