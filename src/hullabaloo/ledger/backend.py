"""What a ledger needs from a database: one abstract class, two final ones (sqlite.py, postgres.py); and how long a transaction may take.

The time is kept on this side: a server that is frozen keeps no promise of its own to stop.
"""

import os
import socket
import threading
import time
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext, suppress
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from hullabaloo.ledger.address import Address

PATIENCE_S = 60.0
"""How long a charge waits for others, or for the server, before it is refused; nothing has been read by then."""


class Backend(ABC):
    """A database in which a committed transaction is durable and writers of one dataset take turns."""

    remedy: str

    @abstractmethod
    def engine(self, address: Address, *, may_create: bool) -> Engine:
        """Make an engine that keeps no connection open between transactions."""

    def guard(self, address: Address) -> AbstractContextManager[None]:
        """Enter around every use of a connection: what must not overlap with a fork waits here, and what breaks promises is refused."""
        return nullcontext()

    def identity(self, address: Address) -> tuple[int, int] | None:
        """What stands at the address now: of a file, its device and number; None where there is none, or no file to replace."""
        return None

    @abstractmethod
    def start(self, connection: Connection, *, write: bool) -> None:
        """Begin the transaction and make its commit durable."""

    @abstractmethod
    def lock_schema(self, connection: Connection) -> None:
        """Keep every other process from charging or creating until this transaction ends."""

    @abstractmethod
    def lock_creation(self, connection: Connection) -> None:
        """Let one process at a time create the tables."""

    @abstractmethod
    def is_contention(self, error: DBAPIError) -> bool:
        """True when the database rolled back because of another process, so that trying again is safe."""

    @abstractmethod
    def lacks_tables(self, error: DBAPIError) -> bool:
        """True when the database is there but holds no ledger."""


GRACE_S = 0.5
"""What a server has beyond the patience to say by itself that it gave up waiting for a lock."""

_current: "ContextVar[Deadline | None]" = ContextVar("hullabaloo_ledger_deadline", default=None)


class Deadline:
    """A context around one try of a transaction; on the clock that never leaps.

    **Guarantee.** Once `watch` was given a connection's socket, no answer of the server is waited for beyond the deadline:
    a thread of its own shuts the socket down, and the driver then reports a broken connection. A write has `until` for all of it. A read, and what was
    made `unhurried`, has the whole patience again for each statement, and none runs between statements, where nobody waits.
    The thread is gone when the context ends.

    Attributes:
        expired: True once the connection was cut off.
    """

    def __init__(self, until: float | None) -> None:
        self.expired = False
        self._whole = until is not None
        self._at = until
        self._over = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._token: Token[Deadline | None] | None = None

    def __enter__(self) -> Self:
        self._token = _current.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is not None:
            _current.reset(self._token)
        with self._changed:
            self._over = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def watch(self, descriptor: int) -> None:
        """From now on, shut this socket down when the time is up; a descriptor of its own is sure to mean no later one."""
        if self._token is None:  # no transaction of ours, so nobody would end the thread
            return
        self.waiting()
        line = socket.socket(fileno=os.dup(descriptor))
        self._thread = threading.Thread(target=self._wait, args=(line,), name="hullabaloo ledger deadline", daemon=True)
        self._thread.start()

    def waiting(self) -> None:
        """The server is asked something."""
        if not self._whole:
            self._set(time.monotonic() + PATIENCE_S)

    def answered(self) -> None:
        """The server has answered."""
        if not self._whole:
            self._set(None)

    def unhurried(self) -> None:
        """What comes may take long as a whole, while each answer may not."""
        self._whole = False
        self._set(None)

    def left(self) -> float:
        """Seconds."""
        return PATIENCE_S if self._at is None else max(0.0, self._at - time.monotonic())

    def _set(self, at: float | None) -> None:
        with self._changed:
            self._at = at
            self._changed.notify()

    def _wait(self, line: socket.socket) -> None:
        with line, self._changed:
            while not self._over:
                left = None if self._at is None else self._at + GRACE_S - time.monotonic()
                if left is not None and left <= 0:
                    self.expired = True
                    with suppress(OSError):  # it broke by itself
                        line.shutdown(socket.SHUT_RDWR)
                    return
                self._changed.wait(left)


def deadline() -> Deadline:
    """That of the transaction in progress; one that nobody set leaves the whole patience."""
    return _current.get() or Deadline(None)
