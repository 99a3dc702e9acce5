"""Lines of bytes from a file, a growing file or a pipe: complete ones only, and where each begins."""

import os
import select
import stat
from collections import deque
from collections.abc import Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from hullabaloo.data.given import path_of
from hullabaloo.data.sources.base import Mark, SourceChanged, StreamSource
from hullabaloo.data.sources.prefix import Prefix, goes_on, identity, is_same
from hullabaloo.errors import InvalidParameter

BLOCK, LONGEST = 1 << 20, 1 << 26
"""Bytes that are read at once, and those of a line from a pipe that are kept, and of all lines for a batch."""
STANDARD_INPUT = "-"


class Lines:
    """A queue of complete lines, each with the line feed that ends it, filled from a file descriptor; it never waits.

    A line that its writer has not finished is no line, until the end of a source that is not followed: there the last line may lack
    its end. Of a line from a pipe, which may never end, what it has beyond `LONGEST` bytes is passed over.
    """

    def __init__(self, path: str | Path, *, follow: bool) -> None:
        self._path = None if isinstance(path, str) and path == STANDARD_INPUT else path_of(path)
        self._fd = 0 if self._path is None else _open(self._path)
        self.seekable = self._path is not None and stat.S_ISREG(os.fstat(self._fd).st_mode)
        """Whether it can be read again: a file, and no pipe."""
        self._follow = follow and self.seekable
        self._taken = Prefix()
        self.go(0)

    def go(self, offset: int, taken: Prefix | None = None) -> None:
        """Read on from an offset, before which the bytes `taken` lie (None: they are read again); a pipe stays where it is."""
        if not self.seekable and offset > 0:
            return
        if self.seekable:
            os.lseek(self._fd, offset, os.SEEK_SET)
            if taken is None:
                taken = self._taken.again()
                self._reread(offset, taken)
            self._taken = taken
        self.offset = offset
        """Where the first line of the queue begins."""
        self.read = offset
        """Bytes read so far."""
        self._queue: deque[bytes] = deque()
        self._begun: list[bytes] = []
        self._unfinished = False
        self.ended = False
        """Whether nothing will be added to the queue."""

    def find(self, mark: Mark, continues: bool) -> bool:
        """Go to a mark, if it is one of this very file; see `goes_on`."""
        offset = mark.place.get("offset")
        if not self.seekable or type(offset) is not int or offset < 0:
            return False
        assert self._path is not None
        now, known = os.fstat(self._fd), self._identity()
        same = is_same(mark, known)
        if same and now.st_size < offset:
            raise SourceChanged(
                f"The file {self._path} is shorter than what the stream has read of it, so it was cut off or written anew. Nothing was "
                "taken from it. Restore it as it was; records that follow go on in a file of their own, named with --continues."
            )
        taken = None if now.st_size < offset else Prefix.proved(mark.place, partial(self._reread, offset))
        if goes_on(mark, self._path, same=same, proved=taken is not None, continues=continues):
            self.go(offset, taken)
            return True
        return False

    def place(self) -> Mapping[str, Any] | None:
        """The beginning of the next line, of this very file; None after a line that may still grow."""
        if not self.seekable or (self._unfinished and not self._queue):
            return None
        return {"offset": self.offset, **self._identity(), **self._taken.facts()}

    def _identity(self) -> dict[str, Any]:
        return identity(self._path or "", os.fstat(self._fd))

    def _reread(self, offset: int, into: Prefix) -> None:
        """Add the bytes before an offset; the file's place stays."""
        done = 0
        while done < offset and (block := os.pread(self._fd, min(BLOCK, offset - done), done)):
            into.add(block)
            done += len(block)

    def fetch(self, count: int) -> None:
        """Read until there are so many lines in the queue, or nothing more at the moment, or `LONGEST` bytes were read: of a file, which is as long as it is, and one line."""
        until, least = self.read + LONGEST, min(count, len(self._queue) + self.seekable)
        while not self.ended and len(self._queue) < (count if self.read < until else least):
            block = self._block()
            if block is None:
                return
            self.read += len(block)
            self._add(block)

    def peek(self, start: int, count: int) -> list[bytes]:
        """Up to `count` lines of the queue after the first `start`, left there; reads on where there are fewer."""
        self.fetch(start + count)
        return list(islice(self._queue, start, start + count))

    def take(self, count: int) -> list[bytes]:
        """Up to `count` lines, taken off the queue; reads on where there are fewer."""
        self.fetch(count)
        found = [self._queue.popleft() for _ in range(min(count, len(self._queue)))]
        if self.seekable:
            self._taken.add(b"".join(found))
        self.offset += sum(map(len, found))
        return found

    def close(self) -> None:
        """Close the file."""
        if self._path is not None and self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _block(self) -> bytes | None:
        if not self.seekable and not select.select([self._fd], [], [], 0)[0]:
            return None
        block = os.read(self._fd, BLOCK)
        if not block and self._follow:
            self._same()
            return None
        return block

    def _same(self) -> None:
        """Refuse to follow a file that is no longer the one that was opened."""
        assert self._path is not None
        opened = os.fstat(self._fd)
        try:
            now = os.stat(self._path)
        except OSError:
            now = None
        if now is None or (now.st_dev, now.st_ino) != (opened.st_dev, opened.st_ino):
            raise SourceChanged(
                f"The file {self._path} was removed or replaced while it was followed. What was complete in it has been taken and is saved. "
                "Records that go on in another file are taken by running the command on that file with --continues."
            )
        if now.st_size < self.read:
            raise SourceChanged(
                f"The file {self._path} was cut off while it was followed: it is shorter than what was read of it. What was complete "
                "in it has been taken and is saved. Restore the file; a followed file may only grow."
            )

    def _add(self, block: bytes) -> None:
        if block and b"\n" not in block:  # of a long line, joined once
            if self.seekable or sum(map(len, self._begun)) < LONGEST:
                self._begun.append(block)
            return
        most = None if self.seekable else LONGEST
        *lines, rest = b"".join([*self._begun, block]).split(b"\n")
        self._queue.extend(line[:most] + b"\n" for line in lines)
        self.ended = not block
        self._unfinished = bool(self.ended and rest)
        if self._unfinished:
            self._queue.append(rest[:most])
        self._begun = [] if self.ended else [rest]


def _open(path: Path) -> int:
    if path.is_dir() or not path.exists():
        raise InvalidParameter(f"There is no file {path} to read from. Check the path; nothing was read or spent.")
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


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
