"""What sources made of lines have in common."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hullabaloo.data.sources.base import Mark, StreamSource
from hullabaloo.data.sources.lines import Lines


class LineSource(StreamSource):
    """Records in lines of text: a file, a file that grows (`follow`), or standard input ("-")."""

    def __init__(self, path: str | Path, *, follow: bool) -> None:
        self._lines = Lines(path, follow=follow)
        self._first = 0  # where the first record begins
        self.can_wait = not self._lines.seekable

    def _find(self, mark: Mark, continues: bool) -> bool:
        return mark.place.get("kind", self._kind) == self._kind and self._lines.find(mark, continues)

    def _rewind(self, start: int) -> int:
        self._lines.go(self._first)
        return 0

    def _place(self) -> Mapping[str, Any] | None:
        found = self._lines.place()
        return None if found is None else {**found, "kind": self._kind}

    @property
    def _kind(self) -> str:
        return type(self).__name__

    def close(self) -> None:
        """Close the file."""
        self._lines.close()
