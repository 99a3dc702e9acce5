"""CSV files as tables. `csvformat.py` says what a record is and reads its cells; nothing is guessed."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.file_text import FileText
from hullabaloo.data.numbers import numbers_of
from hullabaloo.data.readers.csvformat import CsvFormat
from hullabaloo.data.table import CELLS, Table, TableSchema


class CsvTable(Table):
    """A CSV file (tabs in ``.tsv``); its columns are read on first use, in one pass.

    ``quoted_line_breaks``: whether a quoted cell may go on in the next line; else a record is one line.
    """

    def __init__(self, path: Path, *, quoted_line_breaks: bool = False) -> None:
        self._path = path
        self._format = CsvFormat("\t" if path.suffix.lower() == ".tsv" else ",", quoted_line_breaks)
        self.quoted_line_breaks = quoted_line_breaks
        with path.open("rb") as file:
            self._names = tuple(map(FileText, self._format.names(next(self._format.records(file), b""))))
        self._columns: list[Sequence[str | None]] | None = None

    def _records(self) -> Iterator[list[str | None]]:
        with self._path.open("rb") as file:
            records = self._format.records(file)
            next(records, None)
            yield from self._format.rows(records, len(self._names))

    @property
    def schema(self) -> TableSchema:
        """See ``Table``."""
        width = len(self._names)
        return TableSchema(self._names, ("unknown",) * width, (CELLS,) * width, from_text=True)

    @property
    def n_rows(self) -> int:
        """See ``Table``."""
        if self._columns is not None:
            return len(self._columns[0])
        return sum(1 for _ in self._records())

    def numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """See ``Table``."""
        read = [numbers_of(self.cells(column)) for column in columns]
        return np.column_stack(read) if read else np.empty((self.n_rows, 0))

    def cells(self, column: int) -> list[Any]:
        """See ``Table``."""
        if self._columns is None:
            rows = list(self._records())
            self._columns = list(zip(*rows, strict=True)) if rows else [()] * len(self._names)
        return list(self._columns[column])
