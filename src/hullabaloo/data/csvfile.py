"""CSV files as tables, by one fixed parser that guesses nothing.

UTF-8 (a byte-order mark is skipped, undecodable bytes become U+FFFD), comma (tab for ``.tsv``), quotes after RFC 4180
as Python's ``csv`` reads them, first line the column names. A record is what this parser gives: a row too short
lacks its last cells, surplus cells are ignored, and a blank line is a record only where there is one column. Cells
have no type; the domain's grammars read them. Neighbouring *files* are files that differ in one such record: a writer
that leaves a quote open joins records, here and in every other CSV parser.
"""

import csv
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.file_text import FileText
from hullabaloo.data.numbers import numbers_of
from hullabaloo.data.table import CELLS, Table, TableSchema
from hullabaloo.errors import SchemaError


class CsvTable(Table):
    """A CSV file; its columns are read on first use, in one pass."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._open() as lines:
            self._names = tuple(FileText(name.strip()) for name in next(lines, []))
        if not self._names:
            raise SchemaError(
                "The CSV file has no line of column names. Its first line has to name the columns, as the domain's "
                "features are matched by name."
            )
        self._columns: list[Sequence[str | None]] | None = None

    @contextmanager
    def _open(self) -> Iterator[Iterator[list[str]]]:
        # A long cell is a value, and values never raise. The limit is the process's: set back, it would stop other threads.
        csv.field_size_limit(sys.maxsize)
        with self._path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            yield csv.reader(file, delimiter="\t" if self._path.suffix.lower() == ".tsv" else ",")

    def _records(self) -> Iterator[list[str]]:
        with self._open() as lines:
            next(lines, None)
            for row in lines:
                if row or len(self._names) == 1:
                    yield row

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
        out = np.empty((self.n_rows, len(columns)))
        for j, column in enumerate(columns):
            out[:, j] = numbers_of(self.cells(column))
        return out

    def cells(self, column: int) -> list[Any]:
        """See ``Table``."""
        if self._columns is None:
            width = len(self._names)
            lacking: list[str | None] = [None] * width
            rows = [row[:width] if len(row) >= width else (row + lacking)[:width] for row in self._records()]
            self._columns = list(zip(*rows, strict=True)) if rows else [()] * width
        return list(self._columns[column])
