"""Records of a Parquet file, or of a folder of them, row group by row group.

What was taken is told again by bytes, as in files of lines: of each file that was begun its footer, then those of each row group that was
begun, whole. So what is read a second time is what was taken, to the end of a row group, and nothing of files and groups that come later.
"""

import os
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from hullabaloo.data.given import names_of, path_of
from hullabaloo.data.readers.parquet import ParquetPart, ParquetTable
from hullabaloo.data.sources.base import BATCH, Gap, Mark, Portion, SourceLost, StreamSource
from hullabaloo.data.sources.prefix import Prefix, goes_on, identity, is_same
from hullabaloo.data.table import Table, TableSchema
from hullabaloo.errors import InvalidParameter, bare


class ParquetSource(StreamSource):
    """A Parquet file, or a folder of them in the order of their names. Any position is found by the row groups' sizes.

    Args:
        path: the file or folder. It holds all its records from the beginning: a Parquet file does not grow.
        columns: only these columns are read; None reads all.
    """

    def __init__(self, path: str | Path, *, columns: Collection[str] | None = None) -> None:
        self._path = path_of(path)
        if not self._path.exists():
            raise InvalidParameter(f"There is no file {path} to read from. Check the path; nothing was read or spent.")
        table = ParquetTable(self._path)
        self.schema = table.schema  # of the files together
        self._kept = self.schema if columns is None else _of(self.schema, names_of(columns, "columns"))
        self._groups = [(file, group) for file in table.files for group in file.fragment.split_by_row_group()]
        self._sizes: list[int] = [size for file in table.files for size in file.sizes]
        self._bytes = [ranges for file in table.files for ranges in _ranges(file.fragment)]
        self._rewind(0)

    def empty(self) -> Table:
        """See `StreamSource`; the declared types are the file's."""
        return ParquetPart(None, self.schema)

    def _identity(self) -> dict[str, Any]:
        return identity(self._path, os.stat(self._path))

    def _find(self, mark: Mark, continues: bool) -> bool:
        known, row = self._identity(), mark.place.get("row")
        if type(row) is not int or row < 0:
            return False
        taken = Prefix.proved(mark.place, lambda into: self._add(range(self._begun(row)), into))
        if not goes_on(mark, self._path, same=is_same(mark, known), proved=taken is not None, continues=continues):
            return False
        self._rewind(row, taken)
        if self._row < row:
            raise self._shorter(mark.position)
        return True

    def _rewind(self, start: int, taken: Prefix | None = None) -> int:
        self._entered, self._taken = self._begun(start), taken or Prefix()
        if taken is None:
            self._add(range(self._entered), self._taken)
        self._pieces = self._read(start)
        self._rest: Any = None
        self._row: int = min(start, sum(self._sizes))
        return self._row

    def _begun(self, row: int) -> int:
        """How many row groups hold a record before a row, or lie before one that does."""
        firsts = [0, *accumulate(self._sizes)][: len(self._sizes)]
        return max(
            (k + 1 for k, (first, size) in enumerate(zip(firsts, self._sizes, strict=True)) if size and first < row),
            default=0,
        )

    def _add(self, groups: range, into: Prefix) -> None:
        """Add the bytes of row groups, and before a file's first its footer."""
        for number in groups:
            path, ranges = self._bytes[number]
            try:
                with open(path, "rb") as file:
                    for start, stop in ranges:
                        file.seek(start)
                        rest = stop - start
                        while rest > 0 and (block := file.read(min(rest, 1 << 20))):
                            into.add(block)
                            rest -= len(block)
            except OSError:
                bare(self._broken())

    def _place(self) -> Mapping[str, Any]:
        return {"row": self._row, **self._identity(), **self._taken.facts()}

    def _read(self, start: int) -> Iterator[Any]:
        """The record batches from a row on; whole row groups before it are not read."""
        for number, ((file, group), size) in enumerate(zip(self._groups, self._sizes, strict=True)):
            if size <= start:
                start -= size
                continue
            self._add(range(self._entered, number + 1), self._taken)
            self._entered = max(self._entered, number + 1)
            for batch in file.batches(group, [name.revealed() for name in self._kept.names or ()], BATCH):
                skipped = min(start, batch.num_rows)
                start -= skipped
                if batch.num_rows > skipped:
                    yield batch.slice(skipped)

    def _next(self, most: int) -> Portion | Gap:
        if self._rest is None:
            try:
                self._rest = next(self._pieces, None)
            except Exception:  # reason: what a damaged file makes its library say may quote it
                bare(self._broken())
        if self._rest is None:
            return Gap.END
        found = self._rest.slice(0, most)
        self._rest = self._rest.slice(most) if self._rest.num_rows > most else None
        self._row += found.num_rows
        return Portion(found.num_rows, partial(ParquetPart, found, self._kept))

    def _broken(self) -> SourceLost:
        return SourceLost(
            f"The Parquet file {self._path} could not be read any further: it was replaced or is damaged. What came before has "
            "been taken. Restore the file and run the command again."
        )


def _ranges(fragment: Any) -> list[tuple[str, list[tuple[int, int]]]]:
    """For each row group of a file its path and where its bytes lie; with the first of them the footer's, which come before."""
    metadata, ends = fragment.metadata, [0]
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        chunks = [group.column(j) for j in range(group.num_columns)]
        stops = [
            min(one.dictionary_page_offset or one.data_page_offset, one.data_page_offset) + one.total_compressed_size
            for one in chunks
        ]
        ends.append(max([ends[-1], *stops]))
    found = [[pair] for pair in pairwise(ends)]
    for first in found[:1]:
        first.insert(0, (ends[-1], os.stat(fragment.path).st_size))
    return [(fragment.path, ranges) for ranges in found]


def _of(schema: TableSchema, kept: Collection[str]) -> TableSchema:
    names = schema.names or ()
    places = [place for place, name in enumerate(names) if name in kept]
    types, kinds = (tuple(column[place] for place in places) for column in (schema.types, schema.kinds))
    return TableSchema(tuple(names[place] for place in places), types, kinds)
