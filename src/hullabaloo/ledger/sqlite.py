"""A ledger in one SQLite file.

**Journal.** The file keeps SQLite's default rollback journal (`DELETE`), not write-ahead logging: at rest the ledger
is then exactly one file, so a copy is a backup and no charge is left behind in a `-wal` file; and it needs no shared
memory, which network file systems lack. `synchronous = EXTRA` is FULL plus one flush of the folder after the journal
is unlinked: with FULL alone a power failure right after the commit could bring the journal back and roll back a
charge whose release is already out. (A file that somebody switched to write-ahead logging stays correct: EXTRA
flushes every commit there too.) What it does need is a file system whose locks work: for several machines use PostgreSQL.

**Turns.** Writers begin with `BEGIN IMMEDIATE`: the write lock is held before the budget is read, so no two processes
decide on the same remainder.

**One name.** The journal lies beside the file, under the file's name. A process that comes by another name (a hard link, a file mounted
into a container) does not find the journal of an unfinished charge, and two of them lock different journals: charges are lost
and numbers given twice. Such files are refused before they are opened. The ledger stores no path, since a folder may be mounted anywhere.

**Forks.** SQLite's locks belong to a process, and a child forked in the middle of a transaction would inherit the
book-keeping of locks it does not hold. Forks therefore wait for the transaction in progress, and no connection is
open between transactions.
"""

import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, Engine, NullPool, create_engine
from sqlalchemy.exc import DBAPIError

from hullabaloo.errors import LedgerUnreachable
from hullabaloo.ledger.address import Address
from hullabaloo.ledger.backend import Backend, deadline

_turn = threading.RLock()
os.register_at_fork(before=_turn.acquire, after_in_parent=_turn.release, after_in_child=_turn.release)


class SQLite(Backend):
    """One file on this machine; see the module's text for the choices."""

    remedy = (
        "Check that the folder exists and that this user may write to it and to the file, that the disk is not full, "
        "and that the file is a ledger made by Ledger.create or `hullabaloo ledger create`."
    )

    def engine(self, address: Address, *, may_create: bool) -> Engine:
        """Make an engine on the file; without `may_create` a missing file stays missing."""
        target = f"file:{quote(str(address.path))}?mode={'rwc' if may_create else 'rw'}"

        def connect() -> sqlite3.Connection:
            # isolation_level=None: the driver starts no transaction of its own accord; `start` does.
            opened = sqlite3.connect(target, uri=True, timeout=deadline().left(), isolation_level=None)
            # A damaged cell is a finding.
            opened.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
            return opened

        return create_engine("sqlite://", creator=connect, poolclass=NullPool, hide_parameters=True)

    @contextmanager
    def guard(self, address: Address) -> Iterator[None]:
        """One transaction at a time in this process, and none across a fork; on a file with one name."""
        if not _turn.acquire(timeout=deadline().left()):
            raise LedgerUnreachable(
                f"The ledger {address.shown} is locked by other threads of this process, which did not end their transactions in the time "
                "that a charge waits. Nothing was recorded, and nothing was read from the data. Try again, with fewer threads at a time."
            )
        try:
            _require_one_name(address)
            yield
        finally:
            _turn.release()

    def identity(self, address: Address) -> tuple[int, int] | None:
        """Device and number of the file. By its name: closing any descriptor of the file would drop SQLite's locks on it."""
        found = _stat(address.path)
        return None if found is None else (found.st_dev, found.st_ino)

    def start(self, connection: Connection, *, write: bool) -> None:
        """Begin; a writer takes the write lock now, and no other process writes until it ends."""
        connection.exec_driver_sql("PRAGMA synchronous = EXTRA")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    def lock_schema(self, connection: Connection) -> None:
        """The write lock is already this process's alone."""

    lock_creation = lock_schema

    def is_contention(self, error: DBAPIError) -> bool:
        """SQLITE_BUSY (5) and SQLITE_LOCKED (6), with their extended codes."""
        code = getattr(error.orig, "sqlite_errorcode", None)
        return code is not None and code & 0xFF in (5, 6)

    def lacks_tables(self, error: DBAPIError) -> bool:
        """The message of SQLITE_ERROR for an unknown table."""
        return "no such table: hullabaloo_" in str(error.orig)


def _require_one_name(address: Address) -> None:
    found = _stat(address.path)
    if found is None or not stat.S_ISREG(found.st_mode):
        return  # opening it says what is wrong
    if found.st_nlink > 1:
        raise LedgerUnreachable(
            f"The file of the ledger {address.shown} has {found.st_nlink} names (hard links). The journal of an unfinished charge lies beside one of "
            "them, and whoever comes by another name does not find it: charges would be lost, or their numbers given twice. Nothing was "
            "opened or read. Remove the other names (find them with: find / -xdev -samefile FILE), and let every process use the same one."
        )
    points, folder = mount_points(), _stat(address.path.parent)
    apart = folder is not None and folder.st_dev != found.st_dev  # of layered file systems also without a mount
    if str(address.path) in points or (apart and not points):
        raise LedgerUnreachable(
            f"The file of the ledger {address.shown} is a mount point of its own, as a single file that is mounted into a container. The journal of an "
            "unfinished charge would lie in this folder, where whoever comes by the file's other path does not find it: charges would be "
            "lost, or their numbers given twice. Nothing was opened or read. Mount the folder that holds the file instead."
        )


def mount_points(table: Path = Path("/proc/self/mountinfo")) -> frozenset[str]:
    """Where this process has something mounted; empty where the system does not tell."""
    with suppress(OSError):
        return frozenset(mounted_at(line) for line in os.fsdecode(table.read_bytes()).splitlines())
    return frozenset()


def mounted_at(line: str) -> str:
    """The fifth field of a line of mountinfo (proc(5)), in which blanks, tabs, line ends and backslashes are three octal digits."""
    head, *rest = line.split(" ")[4].split("\\")
    return head + "".join(chr(int(part[:3], 8)) + part[3:] for part in rest)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (OSError, ValueError):  # opening it says what is wrong
        return None
