"""A ledger in a PostgreSQL database, through the driver psycopg.

**Turns.** A charge locks the dataset's row (`SELECT … FOR UPDATE`) and only then, in a new statement with a new
snapshot (READ COMMITTED), reads what has been spent. Charges on other datasets go on meanwhile.

**Durability.** A server or user set to `synchronous_commit = off` would acknowledge a commit that a crash may lose; a
ledger's transactions turn it on for themselves and leave every stronger setting alone.

**Forks.** No connection is kept between transactions, so no socket is shared by two processes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

from sqlalchemy import Connection, Engine, NullPool, create_engine
from sqlalchemy.exc import DBAPIError

from hullabaloo.errors import LedgerUnreachable
from hullabaloo.ledger import backend
from hullabaloo.ledger.address import Address
from hullabaloo.ledger.backend import Backend

_CREATION_LOCK = 0x68756C6C  # "hull": the key of an advisory lock, any constant would do
_CONTENTION = {"40001", "40P01"}  # serialization failure, deadlock: rolled back as a whole
_UNDEFINED_TABLE = "42P01"


@final
class Postgres(Backend):
    """A database on a server; see the module's text for the choices."""

    remedy = (
        "Check that the server runs and can be reached, that host, port, database, user and password are right, and that "
        "the user may read and write the tables hullabaloo_schema, hullabaloo_dataset, hullabaloo_charge and hullabaloo_stream."
    )

    def engine(self, address: Address, *, may_create: bool) -> Engine:
        """Make an engine; a server that does not answer within ten seconds counts as unreachable."""
        url = address.url
        options = {} if "connect_timeout" in url.query else {"connect_timeout": 10}
        try:
            return create_engine(
                url, poolclass=NullPool, isolation_level="READ COMMITTED", connect_args=options, hide_parameters=True
            )
        except ModuleNotFoundError:
            raise LedgerUnreachable(
                f"The ledger {address.shown} is kept in PostgreSQL, but the driver psycopg is not installed, so no charge "
                'can be recorded and nothing was read. Install it: pip install "hullabaloo[postgres]".'
            ) from None

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Nothing to wait for: connections live inside one transaction."""
        yield

    def start(self, connection: Connection, *, write: bool) -> None:
        """Begin (psycopg does so with the first statement), durable and with bounded patience."""
        if write:
            connection.exec_driver_sql(
                "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'"
            )
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{int(1000 * backend.PATIENCE_S)}ms'")
        else:
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def lock_schema(self, connection: Connection) -> None:
        """Wait for charges in progress (they hold a share of the version table), block new ones."""
        connection.exec_driver_sql("LOCK TABLE hullabaloo_schema IN ACCESS EXCLUSIVE MODE")

    def lock_creation(self, connection: Connection) -> None:
        """CREATE TABLE IF NOT EXISTS is not safe against itself in PostgreSQL."""
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_CREATION_LOCK})")

    def is_contention(self, error: DBAPIError) -> bool:
        """Serialization failures and deadlocks."""
        return getattr(error.orig, "sqlstate", None) in _CONTENTION

    def lacks_tables(self, error: DBAPIError) -> bool:
        """Undefined table."""
        return getattr(error.orig, "sqlstate", None) == _UNDEFINED_TABLE
