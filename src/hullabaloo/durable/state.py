"""`StateFile`: the one file in which a stream or a search survives anything, and the file of its key.

Both hold private data: only their owner may read them, and they are never created with another mode or reached through a symbolic link.
"""

import errno
import fcntl
import os
import re
import stat
import weakref
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from hullabaloo.data.given import path_of
from hullabaloo.data.saving import closing, create_private, write_all
from hullabaloo.durable import sealed
from hullabaloo.durable.sealed import State
from hullabaloo.errors import InvalidParameter, StateError

KEY_BYTES = 32


def open_private(path: Path, folder: int | None = None, *, write: bool = False) -> int:
    """Open an existing regular file of mode 0600 or stricter, itself and not a link's target; the caller closes it.

    `folder` is an open folder in which `path.name` is looked up. Raises FileNotFoundError, and StateError for everything else.
    """
    flags = (os.O_RDWR if write else os.O_RDONLY) | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        found = os.open(path if folder is None else path.name, flags, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise StateError(
                f"{path} is a symbolic link, and a private file is not opened through one: whoever may change the link decides "
                "what is read and overwritten. Nothing was read. Name the file itself."
            ) from None
        raise unusable(path, "opened", error) from None
    try:
        _require_private(path, os.fstat(found))
    except BaseException:
        os.close(found)
        raise
    return found


def read_all(file: int) -> bytes:
    """Read from the beginning; raises OSError."""
    os.lseek(file, 0, os.SEEK_SET)
    parts = []
    while part := os.read(file, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def unusable(path: Path, verb: str, error: OSError) -> StateError:
    """What to say when the system refuses; its words name no record."""
    remedy = {
        errno.ENOENT: f"Make the folder first: `mkdir -p {path.parent}`.",
        errno.EISDIR: "It is a folder: name a file, which need not exist yet.",
    }.get(
        error.errno or 0,
        "Check that the disk is not full, and that this user may read and write the file and its folder.",
    )
    return StateError(
        f"{path} cannot be {verb} ({error.strerror or type(error).__name__}). Without it nothing could go on from where it stands, so nothing is released. {remedy}"
    )


def new_key_file(path: str | os.PathLike[str]) -> Path:
    """Write a new key of 32 random bytes to a new file of mode 0600, for `key_file=` of a stream or a search.

    Whoever has the key can read the state; without it nothing goes on from there. Keep it apart from the state file.

    Raises:
        InvalidParameter: the file exists (a key that is overwritten is lost, and with it every state that it sealed).
        StateError: it cannot be written.
    """
    where = path_of(path)
    try:
        with closing(create_private(where)) as file:
            write_all(file, AESGCM.generate_key(8 * KEY_BYTES))
    except FileExistsError:
        raise InvalidParameter(
            f"A new key was to be written to {where}, but a file is there, and overwriting a key makes every state that it sealed "
            "unreadable for ever. Name a new file, or pass the existing one as key_file."
        ) from None
    except OSError as error:
        raise unusable(where, "written", error) from None
    return where


def read_key(path: str | os.PathLike[str]) -> bytes:
    """The 32 bytes of a key file; raises StateError."""
    where = Path(path)
    try:
        with closing(open_private(where)) as file:
            key = read_all(file)
    except FileNotFoundError:
        raise StateError(
            f"The key file {where} does not exist, and without the key the state can be neither read nor written. Check the path, "
            "or make a new one with hb.streaming.new_key_file(path), on the command line with --new-key."
        ) from None
    except OSError as error:
        raise unusable(where, "read", error) from None
    if len(key) != KEY_BYTES:
        raise StateError(
            f"The key file {where} holds {len(key)} bytes, and a key has exactly {KEY_BYTES}: it is another file, or damaged. "
            "Name the file that hb.streaming.new_key_file wrote."
        )
    return key


def _require_private(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise StateError(f"{path} is no ordinary file, so nothing private can be kept in it. Name a file in a folder.")
    if found.st_mode & 0o077:
        raise StateError(
            f"{path} has mode {stat.S_IMODE(found.st_mode):04o}: others than its owner may read or change it, but it is private "
            f"data. Nothing was read. If nobody else has had access, run `chmod 600 {path}` and try again."
        )


_open_files: "weakref.WeakSet[StateFile]" = weakref.WeakSet()


def _leave_to_the_parent() -> None:
    """In a forked child: give up the parent's files (closing a copy of a descriptor keeps the parent's lock)."""
    for file in list(_open_files):
        file.close()


os.register_at_fork(after_in_child=_leave_to_the_parent)


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
