"""The four tables of a ledger, and the steps that bring an older ledger to this version.

Numbers that must not change on the way through a database (ε, δ, μ, costs) are stored as JSON text, written by
Python and read by Python; the database never computes with them.
"""

from collections.abc import Callable
from datetime import UTC, datetime

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    MetaData,
    Table,
    Text,
    func,
    insert,
    select,
)

from hullabaloo.errors import LedgerError

VERSION = 2
"""Version of the tables below. Raise it with every change of them, and add the step that leads there."""

metadata = MetaData()

schema = Table(
    "hullabaloo_schema",
    metadata,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("written_at", Text, nullable=False),
)

datasets = Table(
    "hullabaloo_dataset",
    metadata,
    Column("name", Text, primary_key=True),
    Column("budget", Text, nullable=False),
    Column("neighbours", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("records_per_unit", Integer, nullable=False),
    Column("filter", Text, nullable=False),
    Column("capacity", Text, nullable=False),
    Column("charges", Integer, nullable=False),  # how many rows of hullabaloo_charge belong here
    Column("created_at", Text, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("library_version", Text, nullable=False),
    Column("accounting_version", Integer, nullable=False),
    Column("schema_version", Integer, nullable=False),
)

charges = Table(
    "hullabaloo_charge",
    metadata,
    Column("dataset", Text, ForeignKey("hullabaloo_dataset.name"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),  # 1, 2, 3, … without gaps
    Column("charged_at", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("event", Text, nullable=False),
    Column("budget", Text, nullable=False),
    Column("cost", Text, nullable=False),
    Column("neighbours", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("records_per_unit", Integer, nullable=False),
    Column("detail", Text, nullable=False),
    Column("library_version", Text, nullable=False),
    Column("accounting_version", Integer, nullable=False),
    Column("schema_version", Integer, nullable=False),
)

streams = Table(
    "hullabaloo_stream",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("stream", Text, primary_key=True),
    Column("charge", Integer, nullable=False),  # the row of hullabaloo_charge that pays for the whole stream
    Column("position", BigInteger, nullable=False),  # records taken at the last confirmed save
    Column("token", Text, nullable=False),  # names that save; the stream's own name before the first
    Column("opened_at", Text, nullable=False),
    Column("advanced_at", Text, nullable=False),
    ForeignKeyConstraint(["dataset", "charge"], ["hullabaloo_charge.dataset", "hullabaloo_charge.number"]),
)


def _add_streams(connection: Connection) -> None:
    """Version 2 knows how far each stream has come; what version 1 recorded stays as it is."""
    streams.create(connection)


STEPS: dict[int, Callable[[Connection], None]] = {1: _add_streams}
"""`STEPS[v]` turns a ledger of version v into one of version v + 1, inside one transaction."""


def now() -> str:
    """The time in UTC, ISO 8601 with microseconds."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def write_tables(connection: Connection) -> None:
    """Create what is missing; a ledger that is there already keeps its version."""
    metadata.create_all(connection)
    if connection.scalar(select(func.count()).select_from(schema)) == 0:
        connection.execute(insert(schema).values(version=VERSION, written_at=now()))


def read_version(connection: Connection) -> int:
    """The ledger's schema version; the caller knows what a missing table means."""
    version = connection.scalar(select(func.max(schema.c.version)))
    if not isinstance(version, int) or version < 1:
        raise LedgerError(
            f"The ledger's schema version reads {version!r}, which no version of this library wrote: the database was "
            "changed by something else, and its sums cannot be trusted. Restore it from a backup."
        )
    return version


def require_current(connection: Connection) -> None:
    """Refuse to read or write tables of another version."""
    version = read_version(connection)
    if version > VERSION:
        raise LedgerError(
            f"The ledger has schema version {version}, and this library knows versions up to {VERSION}: reading it could "
            "miss what a newer version recorded. Install a newer hullabaloo."
        )
    if version < VERSION:
        raise LedgerError(
            f"The ledger has schema version {version}, and this library writes version {VERSION}. Make a backup, then run "
            "`hullabaloo ledger upgrade` or Ledger.upgrade()."
        )


def climb(connection: Connection) -> tuple[int, int]:
    """Apply the steps that are missing; return the versions before and after."""
    before = read_version(connection)
    if before > VERSION:
        require_current(connection)
    for version in range(before, VERSION):
        STEPS[version](connection)
        connection.execute(insert(schema).values(version=version + 1, written_at=now()))
    return before, max(before, VERSION)
