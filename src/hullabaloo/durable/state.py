"""`StateFile`: the one file in which a stream or a search survives anything. It holds private data."""

import errno
import fcntl
import os
import re
import weakref
from contextlib import suppress
from pathlib import Path
from typing import final
from uuid import uuid4

from hullabaloo.data.saving import create_private, write_all
from hullabaloo.durable import sealed
from hullabaloo.durable.private_files import open_private, read_all, read_key, unusable
from hullabaloo.durable.sealed import State
from hullabaloo.errors import StateError

_open_files: "weakref.WeakSet[StateFile]" = weakref.WeakSet()


def _leave_to_the_parent() -> None:
    """In a forked child: give up the parent's files (closing a copy of a descriptor keeps the parent's lock)."""
    for file in list(_open_files):
        file.close()


os.register_at_fork(after_in_child=_leave_to_the_parent)


@final
class StateFile:
    """A state file, locked from `open` to `close`.

    Parameters:
        path: the file. Its folder must exist.
        key_file: 32 bytes that seal the content; None keeps it readable to the file's owner.
        kind: what it is the state of, one of `sealed.HOLDS`; that of another kind is refused.

    **Guarantee.** Claims: (1) at any instant, also after a kill or a power failure, the file holds one complete save: the one before or
    the one after; when `write` returns it holds the new one. (2) No other user can read any of it at any time. (3) At most one object
    in any process has it open. (4) What was damaged, cut or swapped is refused.
    Proof: (1) a save goes to a new file in the same folder, is flushed (`fsync`), takes the name in one step (`rename`; `link` for the
    first), and the folder is flushed. (2) That file is created with mode 0600 (a umask only removes bits) under a name that did not
    exist (`O_EXCL`, `O_NOFOLLOW`). (3) `flock` belongs to an open file, so it excludes objects of one process too; the new file is
    locked before it takes the name, and whoever locked an old file finds another under the name and looks again. (4) SHA-256 over
    every byte, and AES-GCM under a key. What it is not: a defence against the file's owner, or against older copies (the ledger is).
    """

    def __init__(
        self, path: str | os.PathLike[str], key_file: str | os.PathLike[str] | None = None, kind: str = "stream"
    ) -> None:
        self.path = Path(os.path.abspath(path))
        self.kind = kind
        self._key_file = key_file
        self._key: bytes | None = None
        self._folder: int | None = None
        self._file: int | None = None

    def __repr__(self) -> str:
        return f"StateFile({str(self.path)!r})"

    def __del__(self) -> None:
        with suppress(Exception):  # the interpreter may be half gone
            self.close()

    def __reduce__(self) -> str:
        raise StateError(
            f"The state file {self.path} was to be copied or sent to another process, but one object alone may go on from it: two would "
            "release the same records twice. Give the copy a released model instead."
        )

    def open(self) -> State | None:
        """Lock the file and read it; None when there is none: then the first `write` creates it, unless another process was first."""
        if self._folder is not None:
            raise self._in_use()
        self._key = None if self._key_file is None else read_key(self._key_file)
        try:
            self._folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            _open_files.add(self)
            if not self._lock():
                return None
            self._clear()
            return sealed.from_bytes(read_all(self._file), self._key, self.path, self.kind)  # type: ignore[arg-type]  # locked: it is open
        except OSError as error:
            self.close()
            raise unusable(self.path, "opened", error) from None
        except BaseException:
            self.close()
            raise

    def write(self, state: State) -> None:
        """Replace the content, durably. Raises StateError: then the file holds the old content or, at worst, the new one."""
        if self._folder is None:
            raise StateError(
                f"The state file {self.path} is not open in this process: it was closed, or a forked child tried to go on with what "
                "its parent holds. Nothing was released. Begin again from the file."
            )
        data = sealed.to_bytes(state, self._key, self.kind)
        part = f".{self.path.name}.{uuid4().hex}.part"
        try:
            self._publish(part, data)
            os.fsync(self._folder)
        except OSError as error:
            raise unusable(self.path, "written", error) from None

    def close(self) -> None:
        """Unlock; the file stays. Does nothing the second time."""
        ended, self._file, self._folder, self._key = (self._file, self._folder), None, None, None
        for one in ended:  # forgotten first: a number that is closed twice may be another file's by then
            if one is not None:
                os.close(one)
        _open_files.discard(self)

    def remove(self) -> None:
        """Delete a file that never held anything."""
        if self._folder is not None and self._file is not None and self._mine():
            os.unlink(self.path.name, dir_fd=self._folder)

    def _publish(self, part: str, data: bytes) -> None:
        new = create_private(part, self._folder)
        try:
            write_all(new, data)
            fcntl.flock(new, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._rename(part)
        except BaseException:
            os.close(new)
            with suppress(OSError):
                os.unlink(part, dir_fd=self._folder)
            raise
        old, self._file = self._file, new
        if old is not None:
            os.close(old)

    def _rename(self, part: str) -> None:
        name, folder = self.path.name, self._folder
        if self._file is not None:
            if not self._mine():
                raise StateError(
                    f"The state file {self.path} was removed or replaced by another while it was in use. What stands there now is not "
                    "overwritten, and nothing was released. Put the file back that was there, or begin again from it."
                )
            os.replace(part, name, src_dir_fd=folder, dst_dir_fd=folder)
            return
        try:
            os.link(part, name, src_dir_fd=folder, dst_dir_fd=folder)  # unlike a rename, never over another file
        except (FileNotFoundError, FileExistsError):
            raise self._in_use() from None
        self._clear()  # the other name of the new file, and what killed beginnings left

    def _lock(self) -> bool:
        """Lock what stands under the name; False when nothing does."""
        while True:
            try:
                self._file = open_private(self.path, self._folder, write=True)
            except FileNotFoundError:
                return False
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                    raise self._in_use() from None
                raise
            if self._mine():
                return True
            old, self._file = self._file, None  # replaced between opening and locking
            os.close(old)

    def _mine(self) -> bool:
        """True when the locked file is the one that stands under the name."""
        assert self._file is not None
        mine = os.fstat(self._file)
        try:
            there = os.stat(self.path.name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)

    def _clear(self) -> None:
        """Remove saves that were killed before they took the name: they hold private data. The lock is held."""
        left = re.compile(rf"\.{re.escape(self.path.name)}\.[0-9a-f]{{32}}\.part")
        for name in filter(left.fullmatch, os.listdir(self._folder)):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=self._folder)

    def _in_use(self) -> StateError:
        return StateError(
            f"The state file {self.path} is in use by another {self.kind}, in this process or in another. Two that go on from one state would "
            "release the same records twice. Nothing was read. Wait until the other one has ended or is closed, or name another file."
        )
