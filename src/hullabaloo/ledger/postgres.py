"""A ledger in a PostgreSQL database, through the driver psycopg.

**Turns.** A charge locks the dataset's row (`SELECT … FOR UPDATE`) and only then, in a new statement with a new
snapshot (READ COMMITTED), reads what has been spent. Charges on other datasets go on meanwhile.

**Durability.** A server or user set to `synchronous_commit = off` would acknowledge a commit that a crash may lose; a
ledger's transactions turn it on for themselves and leave every stronger setting alone.

**Waiting.** A frozen server answers nothing, so every wait has a deadline on this side (`backend.py`): when it is over, the socket is
shut down. Keep-alives and `tcp_user_timeout` find a peer that has gone. Options in the URL win where they are stricter.

**Forks.** No connection is kept between transactions, so no socket is shared by two processes.
"""

import math
import os
from typing import Any

from sqlalchemy import Connection, Engine, NullPool, create_engine, event
from sqlalchemy.exc import DBAPIError

from hullabaloo.errors import LedgerUnreachable
from hullabaloo.ledger import backend
from hullabaloo.ledger.address import Address
from hullabaloo.ledger.backend import Backend

_CREATION_LOCK = 0x68756C6C  # "hull": the key of an advisory lock, any constant would do
_CONTENTION = {"40001", "40P01"}  # serialization failure, deadlock: rolled back as a whole
_UNDEFINED_TABLE = "42P01"


class Postgres(Backend):
    """A database on a server; see the module's text for the choices."""

    remedy = (
        "Check that the server runs and can be reached, that host, port, database, user and password are right, and that "
        "the user may read and write the tables hullabaloo_schema, hullabaloo_dataset, hullabaloo_charge and hullabaloo_stream."
    )

    def engine(self, address: Address, *, may_create: bool) -> Engine:
        """Make an engine; a server that does not accept a connection within ten seconds counts as unreachable."""
        try:
            engine = create_engine(
                address.url, poolclass=NullPool, isolation_level="READ COMMITTED", hide_parameters=True
            )
        except ModuleNotFoundError:
            raise LedgerUnreachable(
                f"The ledger {address.shown} is kept in PostgreSQL, but the driver psycopg is not installed, so no charge "
                'can be recorded and nothing was read. Install it: pip install "hullabaloo[postgres]".'
            ) from None
        event.listen(engine, "do_connect", _connect)
        event.listen(engine, "before_cursor_execute", lambda *_: backend.deadline().waiting())
        event.listen(engine, "after_cursor_execute", lambda *_: backend.deadline().answered())
        return engine

    def start(self, connection: Connection, *, write: bool) -> None:
        """Begin (psycopg does so with the first statement), durable and with bounded patience."""
        if write:
            connection.exec_driver_sql(
                "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'"
            )
        else:
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        left = backend.deadline().left()  # whole seconds, where there are many, tell nothing of this process's own pace
        patience = 1000 * math.floor(left) if left > 10.0 else max(1, int(1000 * left))  # 0 would mean: for ever
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{patience}ms'")

    def lock_schema(self, connection: Connection) -> None:
        """Wait for charges in progress (they hold a share of the version table), block new ones."""
        connection.exec_driver_sql("LOCK TABLE hullabaloo_schema IN ACCESS EXCLUSIVE MODE")
        backend.deadline().unhurried()  # an upgrade of many rows takes its time

    def lock_creation(self, connection: Connection) -> None:
        """CREATE TABLE IF NOT EXISTS is not safe against itself in PostgreSQL."""
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_CREATION_LOCK})")

    def is_contention(self, error: DBAPIError) -> bool:
        """Serialization failures and deadlocks."""
        return getattr(error.orig, "sqlstate", None) in _CONTENTION

    def lacks_tables(self, error: DBAPIError) -> bool:
        """Undefined table."""
        return getattr(error.orig, "sqlstate", None) == _UNDEFINED_TABLE


def _connect(dialect: Any, record: Any, arguments: list[Any], options: dict[str, Any]) -> Any:
    """Connect with every wait bounded, and watch the connection from its first statement on."""
    limit = backend.deadline()
    given = {"connect_timeout": os.environ.get("PGCONNECT_TIMEOUT", "")} | options
    for name, most in _bounds(limit.left()).items():
        options[name] = stricter(given.get(name), most)
    options |= {"keepalives": 1, "client_encoding": "utf8"}  # whatever the environment says: every name can be sent
    made = dialect.connect(*arguments, **options)
    limit.watch(made.fileno())
    return made


def _bounds(left: float) -> dict[str, int]:
    """The most that libpq may wait: seconds, a number of probes, milliseconds."""
    return {
        "connect_timeout": max(2, min(10, math.ceil(left))),  # libpq takes 1 for 2
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": max(1, int(1000 * backend.PATIENCE_S)),
    }


def stricter(given: Any, most: int) -> int:
    """The user's own number where it waits less; 0 and what is no number leave it to the system, which may wait for ever."""
    try:
        value = int(float(given))
    except (TypeError, ValueError, OverflowError):
        return most
    return min(value, most) if value > 0 else most
