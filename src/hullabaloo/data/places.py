"""Where files that are read in parts lie: JSON Lines by their path, and whatever `fsspec` opens by its address."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from hullabaloo.data.given import names_of
from hullabaloo.data.table import Table, cells_schema
from hullabaloo.errors import SchemaError


class RemotePath:
    """A file or folder by its address, as far as readers ask about a path. What its store says when it fails may hold passwords, and is left out."""

    def __init__(self, address: str) -> None:
        try:
            from fsspec.core import url_to_fs
            from pyarrow.fs import FSSpecHandler, PyFileSystem
        except ImportError:
            raise SchemaError(
                "Reading from an address needs fsspec and pyarrow, which are not installed. Install them with: pip install 'hullabaloo[remote]'"
            ) from None
        failed = False
        try:
            self._store, self._path = url_to_fs(address)
            there = self._store.exists(self._path)
        except Exception:
            failed, there = True, False
        if failed or not there:
            raise SchemaError(
                "There is nothing at the address that was passed, or its store cannot be opened. What it said is left out, as it may hold a password: "
                "open the address with fsspec to see it. Nothing was read or charged."
            )
        self.filesystem = PyFileSystem(FSSpecHandler(self._store))
        self.suffix = PurePosixPath(self._path).suffix

    def __str__(self) -> str:
        return str(self._path)

    def is_dir(self) -> bool:
        """Whether it is a folder."""
        return bool(self._store.isdir(self._path))

    def open(self, mode: str) -> Any:
        """The file."""
        return self._store.open(self._path, mode)


class JsonLines:
    """A JSON Lines file: every line is a record, by the rule of `data/sources/json_lines.py`."""

    quoted_line_breaks: bool | None = None

    def __init__(self, path: Path | RemotePath, columns: Sequence[str] | None) -> None:
        if columns is None:
            raise SchemaError(
                "A JSON Lines file declares no columns, and to look them up in its records would tell of them. Pass hb.scan(path, columns=['age', 'cost'])."
            )
        self._path, self._names = path, names_of(columns, "columns")
        self.schema = cells_schema(self._names, len(self._names))
        with self._file():
            pass

    def _file(self) -> BinaryIO:
        try:
            file: BinaryIO = self._path.open("rb")
        except FileNotFoundError:
            raise SchemaError("There is no such JSON Lines file. Pass its path; nothing was read or charged.") from None
        return file

    @property
    def n_rows(self) -> int:
        """The number of lines; takes a pass."""
        with self._file() as file:
            return sum(1 for _ in file)

    def parts_of(self, names: Sequence[str] | None, rows: int) -> Iterator[Table]:
        """Parts of at most so many records."""
        from hullabaloo.data.sources.json_lines import table_of_lines

        with self._file() as file:
            while lines := list(islice(file, rows)):
                yield table_of_lines(lines, self._names)
