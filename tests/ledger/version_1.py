"""A ledger as version 1 of the tables was written: their text then, which no later change of the library changes."""

from sqlalchemy import create_engine

_COMMON = "library_version TEXT NOT NULL, accounting_version INTEGER NOT NULL, schema_version INTEGER NOT NULL"
_TABLES = (
    "CREATE TABLE hullabaloo_schema (version INTEGER NOT NULL, written_at TEXT NOT NULL, PRIMARY KEY (version))",
    f"""CREATE TABLE hullabaloo_dataset (name TEXT NOT NULL, budget TEXT NOT NULL, neighbours TEXT NOT NULL, unit TEXT NOT NULL,
        records_per_unit INTEGER NOT NULL, filter TEXT NOT NULL, capacity TEXT NOT NULL, charges INTEGER NOT NULL,
        created_at TEXT NOT NULL, created_by TEXT NOT NULL, {_COMMON}, PRIMARY KEY (name))""",
    f"""CREATE TABLE hullabaloo_charge (dataset TEXT NOT NULL, number INTEGER NOT NULL, charged_at TEXT NOT NULL, who TEXT NOT NULL,
        what TEXT NOT NULL, event TEXT NOT NULL, budget TEXT NOT NULL, cost TEXT NOT NULL, neighbours TEXT NOT NULL,
        unit TEXT NOT NULL, records_per_unit INTEGER NOT NULL, detail TEXT NOT NULL, {_COMMON}, PRIMARY KEY (dataset, number),
        FOREIGN KEY(dataset) REFERENCES hullabaloo_dataset (name))""",
    "INSERT INTO hullabaloo_schema VALUES (1, '2026-01-02T03:04:05.000000+00:00')",
    """INSERT INTO hullabaloo_dataset VALUES ('clinic', '{"delta": 1e-06, "epsilon": 1.0, "kind": "dp"}', 'replace-one', 'record', 1,
        'basic', '[1.0, 1e-06]', 1, '2026-01-02T03:04:05.000000+00:00', 'a test', '0.1.0.dev0', 1, 1)""",
    """INSERT INTO hullabaloo_charge VALUES ('clinic', 1, '2026-01-02T03:04:06.000000+00:00', 'a test', 'an old charge',
        '{"epsilon": 1e-06, "kind": "selection"}', '{"delta": 0.0, "epsilon": 1e-06, "kind": "dp"}', '[1e-06, 0.0]', 'replace-one',
        'record', 1, '{}', '0.1.0.dev0', 1, 1)""",
)


def write_version_1(url: str) -> None:
    """Make the tables, with dataset "clinic" and one charge of 1e-6."""
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        for statement in _TABLES:
            connection.exec_driver_sql(statement.replace("%", "%%"))
    engine.dispose()
