"""Files that only their owner may read: never created with another mode, never reached through a symbolic link."""

import errno
import os
import stat
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from hullabaloo.data.given import path_of
from hullabaloo.data.saving import closing, create_private, write_all
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
        f"{path} cannot be {verb} ({error.strerror or type(error).__name__}). Without it nothing could go on from where it stands, "
        f"so nothing is released. {remedy}"
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
