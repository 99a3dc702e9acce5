"""The four tables of a ledger, and the steps that bring an older ledger to this version.

Rows of hullabaloo_charge are only ever added. Each holds the dataset's running sums after it, a secret salt, and a head: the hash of
all of it and of the head before (`chain.py`). The dataset's own row holds the last head and sums, so a charge reads no older rows.

Numbers that must not change on the way through a database (ε, δ, μ, costs) are stored as JSON text, written by
Python and read by Python; the database never computes with them.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from re import fullmatch
from typing import Any

import sqlalchemy as sql
from sqlalchemy import BigInteger, Column, Connection, Integer, RowMapping, Text, func, insert, select, update

from hullabaloo.errors import HullabalooError, LedgerError
from hullabaloo.ledger import chain, rows
from hullabaloo.ledger.records import Finding
from hullabaloo.privacy.filters import NOTHING, filter_named

VERSION = 3
"""Version of the tables below. Raise it with every change of them, and add the step that leads there."""

metadata = sql.MetaData()


def _columns(kind: type[Any], names: str, **more: Any) -> list[Column[Any]]:
    """Columns that are never empty."""
    return [Column(name, kind, nullable=False, **more) for name in names.split()]


schema = sql.Table(
    "hullabaloo_schema",
    metadata,
    Column("version", Integer, primary_key=True, autoincrement=False),
    *_columns(Text, "written_at"),
    Column("database", Text),
)
"""`database`: 16 random bytes, the same in all rows since version 3: tells this ledger from every other."""
datasets = sql.Table(
    "hullabaloo_dataset",
    metadata,
    Column("name", Text, primary_key=True),
    *_columns(Text, "budget neighbours unit"),
    *_columns(Integer, "records_per_unit"),
    *_columns(Text, "filter capacity"),
    *_columns(Integer, "charges"),
    *_columns(Text, "created_at created_by library_version"),
    *_columns(Integer, "accounting_version schema_version"),
    *_columns(Text, "salt head sum_main sum_tail", server_default=""),
)
"""`charges`: how many rows of hullabaloo_charge belong here. `salt`: secret, as that of a charge. `head`: of the last charge; before the
first, that of the terms. `sum_main`, `sum_tail`: exact rationals, of all charges so far."""
charges = sql.Table(
    "hullabaloo_charge",
    metadata,
    Column("dataset", Text, sql.ForeignKey("hullabaloo_dataset.name"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    *_columns(Text, "charged_at who what event budget cost neighbours unit"),
    *_columns(Integer, "records_per_unit"),
    *_columns(Text, "detail library_version"),
    *_columns(Integer, "accounting_version schema_version"),
    *(Column(name, Text) for name in ("analyst", "purpose", "approval", "project")),
    *_columns(Text, "sum_main sum_tail salt head", server_default=""),
)
"""`number`: 1, 2, 3, … without gaps. `analyst` to `project`: for those who charge on behalf of others; nothing is written there yet.
`sum_main`, `sum_tail`: exact rationals, this charge included. `salt`: 32 secret random bytes, which never leave the database."""
streams = sql.Table(
    "hullabaloo_stream",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("stream", Text, primary_key=True),
    *_columns(Integer, "charge"),
    *_columns(BigInteger, "position"),
    *_columns(Text, "token opened_at advanced_at"),
    sql.ForeignKeyConstraint(["dataset", "charge"], ["hullabaloo_charge.dataset", "hullabaloo_charge.number"]),
)
"""`charge`: the row of hullabaloo_charge that pays for the whole stream. `position`: records taken at the last confirmed save, which `token`
names; the stream's own name before the first."""
paid = sql.Index("hullabaloo_stream_charge", streams.c.dataset, streams.c.charge)
"""By which the streams of a page of charges are found."""

PAGE = 500
"""Rows that are read at a time."""


def _add_chain(connection: Connection) -> None:
    """Version 3 chains the rows and keeps running sums; what was recorded before stays as it is, and is trusted as it is found."""
    for table, names in ((schema, "database"), (datasets, "salt head sum_main sum_tail"),
                         (charges, "analyst purpose approval project sum_main sum_tail salt head")):  # fmt: skip
        for name in names.split():
            rest = "" if table.c[name].nullable else " NOT NULL DEFAULT ''"
            connection.exec_driver_sql(f'ALTER TABLE {table.name} ADD COLUMN "{name}" TEXT{rest}')
    paid.create(connection, checkfirst=True)
    database = chain.fresh_database()
    connection.execute(update(schema).values(database=database))
    for row in connection.execute(select(datasets)).mappings().all():
        if any("\ud800" <= letter <= "\udfff" for letter in str(row["name"])):
            continue  # no text: it stays without a head, nothing can be charged, and `verify` says so
        terms = {**row, "salt": chain.fresh_salt()}
        head, sums = _chain_rows(connection, row, chain.first(database, terms))
        mine = datasets.c.name == row["name"]
        connection.execute(update(datasets).where(mine).values(salt=terms["salt"], head=head, **sums))


def _chain_rows(connection: Connection, dataset: RowMapping, head: str) -> tuple[str, dict[str, str]]:
    """Chain a dataset's rows in their order; the last head and sums. Where a row is missing or its cost no cost, sums stay empty from
    there on, and nothing can be charged: a charge looks at the ends of a chain only, and would take the rest for all."""
    at = charges.c
    mine, last, totals, place = at.dataset == dataset["name"], None, NOTHING, 0
    sums = rows.from_totals(totals)
    chained = update(charges).where(at.dataset == sql.bindparam("of"), at.number == sql.bindparam("nth"))
    chained = chained.values({name: sql.bindparam(name) for name in ("head", "salt", *sums)})
    while True:
        left = mine if last is None else mine & (at.number > last)
        page = connection.execute(select(charges).where(left).order_by(at.number).limit(PAGE)).mappings().all()
        if not page:
            return head, sums
        written = []
        for row in page:
            place += 1
            try:
                if row["number"] != place:
                    raise rows.Garbled("", "missing")
                totals = filter_named(dataset["filter"]).add(totals, rows.to_cost(row["cost"]))
                sums = rows.from_totals(totals) if sums["sum_main"] else sums
            except (rows.Garbled, HullabalooError):
                sums = {"sum_main": "", "sum_tail": ""}
            new = {"salt": chain.fresh_salt(), **sums}
            head = chain.following(head, {**row, **new})
            written.append({"of": row["dataset"], "nth": row["number"], "head": head, **new})
        connection.execute(chained, written)
        last = page[-1]["number"]


STEPS: dict[int, Callable[[Connection], None]] = {1: streams.create, 2: _add_chain}
"""`STEPS[v]` turns a ledger of version v into one of version v + 1, inside one transaction. Version 2 knows how far each stream has come; what
version 1 recorded stays as it is."""


def now() -> str:
    """The time in UTC, ISO 8601 with microseconds."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def write_tables(connection: Connection) -> None:
    """Create what is missing; a ledger that is there already keeps its version."""
    metadata.create_all(connection)
    if connection.scalar(select(func.count()).select_from(schema)) == 0:
        connection.execute(insert(schema).values(version=VERSION, written_at=now(), database=chain.fresh_database()))


def _read(connection: Connection) -> tuple[int, str]:
    """The ledger's schema version, and its database id, "" before version 3; the caller knows what a missing table means."""
    every: sql.Select[Any] = select(sql.literal_column("*")).select_from(schema)
    row = connection.execute(every.order_by(schema.c.version.desc()).limit(1)).mappings().first()
    version = None if row is None else row["version"]
    if not isinstance(version, int) or version < 1:
        raise LedgerError(
            f"The ledger's schema version {'is missing' if row is None else 'is no number'} that this library wrote: the database was "
            "changed by something else, and its sums cannot be trusted. Restore it from a backup."
        )
    database = "" if row is None else row.get("database")
    if VERSION >= version >= 3 and (not isinstance(database, str) or not fullmatch("[0-9a-f]{32}", database)):
        raise LedgerError(
            "The ledger's database id is not one that this library wrote: the database was changed by something else, and its rows "
            "cannot be trusted. Restore it from a backup."
        )
    return version, database if isinstance(database, str) else ""


def require_current(connection: Connection) -> str:
    """Refuse to read or write tables of another version; give the database id."""
    version, database = _read(connection)
    if version > VERSION:
        raise LedgerError(
            f"The ledger has schema version {version}, and this library knows versions up to {VERSION}: reading it could "
            "miss what a newer version recorded. Install a newer hullabaloo."
        )
    if version < VERSION:
        raise LedgerError(
            f"The ledger has schema version {version}, and this library writes version {VERSION}. Make a backup, then run `hullabaloo ledger upgrade` or Ledger.upgrade()."
        )
    return database


def climb(connection: Connection) -> tuple[int, int]:
    """Apply the steps that are missing; return the versions before and after."""
    before, _ = _read(connection)
    if before > VERSION:
        require_current(connection)
    for version in range(before, VERSION):
        STEPS[version](connection)
        same = {"database": select(func.max(schema.c.database)).scalar_subquery()} if version >= 2 else {}
        connection.execute(insert(schema).values(version=version + 1, written_at=now(), **same))
    return before, max(before, VERSION)


_ACTING_SQLITE = "SELECT tbl_name, type FROM sqlite_master WHERE type IN ('trigger', 'view')"
_ACTING_POSTGRES = """
    SELECT relname, 'trigger' FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
        WHERE NOT tgisinternal AND tgrelid IN (SELECT to_regclass(name) FROM unnest(CAST(:tables AS text[])) AS name)
    UNION ALL SELECT relname, CASE WHEN relkind = 'v' THEN 'view' ELSE 'rule' END FROM pg_rewrite JOIN pg_class ON pg_class.oid = ev_class
        WHERE ev_class IN (SELECT to_regclass(name) FROM unnest(CAST(:tables AS text[])) AS name)
    UNION ALL SELECT relname, 'filter of rows' FROM pg_class
        WHERE relrowsecurity AND oid IN (SELECT to_regclass(name) FROM unnest(CAST(:tables AS text[])) AS name)
"""


def acting(connection: Connection) -> list[Finding]:
    """What in the database acts on these tables without being asked (triggers, rules, views, filters of rows): a finding each; a ledger has none."""
    tables = sorted(metadata.tables)
    if connection.dialect.name == "sqlite":
        found = [(str(name).lower(), kind) for name, kind in connection.execute(sql.text(_ACTING_SQLITE))]
    else:
        found = [(name, kind) for name, kind in connection.execute(sql.text(_ACTING_POSTGRES), {"tables": tables})]
    return [
        Finding("fault", "", None, f"has a {kind} on its table {name}, which may add, change, hide or remove rows: nothing of the kind belongs there")
        for name, kind in sorted(found)
        if name in tables
    ]  # fmt: skip
