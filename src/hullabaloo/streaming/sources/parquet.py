"""Records of a Parquet file, or of a folder of them, row group by row group."""

import os
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from hullabaloo.data.given import names_of, path_of
from hullabaloo.data.parquet import ParquetPart, ParquetTable
from hullabaloo.data.table import Table, TableSchema
from hullabaloo.errors import InvalidParameter
from hullabaloo.streaming.sources.base import BATCH, Gap, Mark, Portion, SourceChanged, StreamSource


class ParquetSource(StreamSource):
    """A Parquet file, or a folder of them in the order of their names. Any position is found by the row groups' sizes.

    Args:
        path: the file or folder. It holds all its records from the beginning: a Parquet file does not grow.
        columns: only these columns are read; None reads all.
    """

    def __init__(self, path: str | Path, *, columns: Collection[str] | None = None) -> None:
        self._path = path_of(path)
        if not self._path.exists():
            raise InvalidParameter(
                f"There is no file {path} to read records from. Check the path; nothing was read or spent."
            )
        table = ParquetTable(self._path)
        self._schema = table.schema
        self._kept = self._schema if columns is None else _of(self._schema, names_of(columns, "columns"))
        self._groups = [(file, group) for file in table.files for group in file.fragment.split_by_row_group()]
        self._sizes: list[int] = [size for file in table.files for size in file.sizes]
        self._rewind(0)

    @property
    def schema(self) -> TableSchema:
        """The declared columns of the files together; see `ParquetTable`."""
        return self._schema

    def empty(self) -> Table:
        """See `StreamSource`; the declared types are the file's."""
        return ParquetPart(None, self._schema)

    def _identity(self) -> dict[str, int]:
        found = os.stat(self._path)
        return {"device": found.st_dev, "inode": found.st_ino}

    def _find(self, mark: Mark) -> bool:
        identity, row = self._identity(), mark.place.get("row")
        if {name: mark.place.get(name) for name in identity} != identity or not isinstance(row, int):
            return False
        self._rewind(row)
        if self._row < row:
            raise self._shorter(mark.position)
        return True

    def _rewind(self, start: int) -> int:
        self._pieces = self._read(start)
        self._rest: Any = None
        self._row: int = min(start, sum(self._sizes))
        return self._row

    def _place(self) -> Mapping[str, Any]:
        return {"row": self._row, **self._identity()}

    def _read(self, start: int) -> Iterator[Any]:
        """The record batches from a row on; whole row groups before it are not read."""
        for (file, group), size in zip(self._groups, self._sizes, strict=True):
            if size <= start:
                start -= size
                continue
            for batch in file.batches(group, self._kept.names or (), BATCH):
                skipped = min(start, batch.num_rows)
                start -= skipped
                if batch.num_rows > skipped:
                    yield batch.slice(skipped)

    def _next(self, most: int) -> Portion | Gap:
        if self._rest is None:
            try:
                self._rest = next(self._pieces, None)
            except Exception:  # reason: what a damaged file makes its library say may quote it
                raise SourceChanged(
                    f"The Parquet file {self._path} could not be read any further: it was replaced or is damaged. What came before has "
                    "been taken. Restore the file and run the command again."
                ) from None
        if self._rest is None:
            return Gap.END
        found = self._rest.slice(0, most)
        self._rest = self._rest.slice(most) if self._rest.num_rows > most else None
        self._row += found.num_rows
        return Portion(found.num_rows, partial(ParquetPart, found, self._kept))


def _of(schema: TableSchema, kept: Collection[str]) -> TableSchema:
    columns = zip(schema.names or (), schema.types, schema.kinds, strict=True)
    found = [column for column in columns if column[0] in kept]
    names, types, kinds = ([column[at] for column in found] for at in range(3))
    return TableSchema(tuple(names), tuple(types), tuple(kinds))
