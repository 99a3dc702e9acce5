"""Files that are written whole: whoever reads finds the old content or the new one, whatever ends the writer, and when."""

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from hullabaloo.data.given import LONGEST
from hullabaloo.errors import InvalidParameter

_TAKEN = 39  # bytes of a draft's name beside that of its file


def create_new(name: str | Path, folder: int | None = None, mode: int = 0o600) -> int:
    """Create a file that was not there, with no more rights than `mode`, not through a link; raises OSError."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(name, flags, mode, dir_fd=folder)  # a umask can only take away


def create_private(name: str | Path, folder: int | None = None) -> int:
    """Create a file that was not there, mode 0600 whatever the umask; raises OSError."""
    made = create_new(name, folder)
    try:
        os.fchmod(made, 0o600)
    except BaseException:
        os.close(made)
        os.unlink(name, dir_fd=folder)
        raise
    return made


@contextmanager
def closing(file: int) -> Iterator[int]:
    """An open file or folder, closed in any case."""
    try:
        yield file
    finally:
        os.close(file)


def write_all(file: int, data: bytes) -> None:
    """Write to the end and onto the disk; raises OSError."""
    _write(file, data)
    os.fsync(file)


def flush_folder(folder: int) -> None:
    """Bring the names in a folder onto the disk, where its file system can (folders shared with a virtual machine say EINVAL); raises OSError."""
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def draft_of(name: str) -> str:
    """A name beside a file's, that nobody else uses: neither another thread nor a process with the same number."""
    kept = os.fsencode(name)[: LONGEST - _TAKEN].decode(errors="ignore")  # some file systems take whole letters only
    return f".{kept}.{uuid4().hex}.part"


def write_whole(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Give a file new content, in one step and onto the disk.

    The order is: a draft of a name of its own in the same folder, its bytes, `fsync`, the name (`rename`), `fsync` of the folder. Before it
    has the name nobody sees it, and when this returns it outlives a loss of power. The draft never has more rights than the file:
    those of the file that it replaces, else what the umask allows; `private`: 0600. What is no ordinary file (a pipe, a terminal) is
    written to as it is.

    Raises:
        InvalidParameter: the file is a ledger, a state or a key.
        OSError: it could not be written, and names `path`. The old content stands, or at worst (after a failed `fsync` of the folder) the new.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        refuse_irreplaceable(path)
        there = _found(path)
        if there is not None and not stat.S_ISREG(there.st_mode):
            _to_device(path, data)
            return
        with closing(os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as folder:
            _replace(path.name, folder, data, 0o600 if private else None if there is None else there.st_mode & 0o777)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None


def refuse_irreplaceable(path: Path) -> None:
    """Refuse an output over the database of a ledger, which knows what was spent, the state of a stream or search, or the key of one (32 bytes that are no text); raises InvalidParameter, OSError."""
    if path.is_file():
        with path.open("rb") as file:
            if re.match(rb"SQLite format 3\0|Hullabaloo \w+ state|(?=.*[\x80-\xff]).{32}\Z", file.read(40), re.DOTALL):
                raise InvalidParameter(f"No ledger, state or key is overwritten, and {path} is one. Name another file.")


def _replace(name: str, folder: int, data: bytes, mode: int | None) -> None:
    draft = draft_of(name)
    file = create_new(draft, folder, 0o666 if mode is None else mode)
    try:
        with closing(file):
            if mode is not None:
                os.fchmod(file, mode)
            write_all(file, data)
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise
    flush_folder(folder)


def _write(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


def _to_device(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC  # does not wait for a reader that never comes
    with closing(os.open(path, flags)) as device:
        os.set_blocking(device, True)
        _write(device, data)


def _found(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None
