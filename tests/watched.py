"""A table whose readers are seen."""

from typing import Any

from hullabaloo.data import Table


class Watched(Table):
    """A table that counts how often a value of it is read."""

    def __init__(self, inner: Table) -> None:
        self.inner, self.read = inner, 0

    @property
    def schema(self) -> Any:
        return self.inner.schema

    @property
    def n_rows(self) -> int:
        return self.inner.n_rows

    def numbers(self, columns: Any) -> Any:
        self.read += 1
        return self.inner.numbers(columns)

    def cells(self, column: int) -> Any:
        self.read += 1
        return self.inner.cells(column)
