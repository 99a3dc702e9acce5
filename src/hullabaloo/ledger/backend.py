"""What a ledger needs from a database: one abstract class, two final ones (sqlite.py, postgres.py)."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager

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

    @abstractmethod
    def guard(self, address: Address) -> AbstractContextManager[None]:
        """Enter around every use of a connection: what must not overlap with a fork waits here, and what breaks promises is refused."""

    @abstractmethod
    def identity(self, address: Address) -> tuple[int, int] | None:
        """What stands at the address now: of a file, its device and number; None where there is none, or no file to replace."""

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
