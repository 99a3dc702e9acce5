"""A ledger in one SQLite file.

**Journal.** The file keeps SQLite's default rollback journal (`DELETE`), not write-ahead logging: at rest the ledger
is then exactly one file, so a copy is a backup and no charge is left behind in a `-wal` file; and it needs no shared
memory, which network file systems lack. `synchronous = EXTRA` is FULL plus one flush of the folder after the journal
is unlinked: with FULL alone a power failure right after the commit could bring the journal back and roll back a
charge whose release is already out. (A file that somebody switched to write-ahead logging stays correct: EXTRA
flushes every commit there too.) What it does need is a file system whose locks work: for several machines use PostgreSQL.

**Turns.** Writers begin with `BEGIN IMMEDIATE`: the write lock is held before the budget is read, so no two processes
decide on the same remainder.

**Forks.** SQLite's locks belong to a process, and a child forked in the middle of a transaction would inherit the
book-keeping of locks it does not hold. Forks therefore wait for the transaction in progress, and no connection is
open between transactions.
"""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import final
from urllib.parse import quote

from sqlalchemy import Connection, Engine, NullPool, create_engine
from sqlalchemy.exc import DBAPIError

from hullabaloo.ledger import backend
from hullabaloo.ledger.address import Address
from hullabaloo.ledger.backend import Backend

_one_at_a_time = threading.RLock()
os.register_at_fork(
    before=_one_at_a_time.acquire,
    after_in_parent=_one_at_a_time.release,
    after_in_child=_one_at_a_time.release,
)


@final
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
            opened = sqlite3.connect(target, uri=True, timeout=backend.PATIENCE_S, isolation_level=None)
            opened.text_factory = partial(
                str, encoding="utf-8", errors="surrogateescape"
            )  # a damaged cell is a finding
            return opened

        return create_engine("sqlite://", creator=connect, poolclass=NullPool, hide_parameters=True)

    @contextmanager
    def guard(self) -> Iterator[None]:
        """One transaction at a time in this process, and none across a fork."""
        with _one_at_a_time:
            yield

    def start(self, connection: Connection, *, write: bool) -> None:
        """Begin; a writer takes the write lock now."""
        connection.exec_driver_sql("PRAGMA synchronous = EXTRA")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    def lock_schema(self, connection: Connection) -> None:
        """The write lock is already this process's alone."""

    def lock_creation(self, connection: Connection) -> None:
        """The write lock is already this process's alone."""

    def is_contention(self, error: DBAPIError) -> bool:
        """SQLITE_BUSY (5) and SQLITE_LOCKED (6), with their extended codes."""
        code = getattr(error.orig, "sqlite_errorcode", None)
        return code is not None and code & 0xFF in (5, 6)

    def lacks_tables(self, error: DBAPIError) -> bool:
        """The message of SQLITE_ERROR for an unknown table."""
        return "no such table: hullabaloo_" in str(error.orig)
