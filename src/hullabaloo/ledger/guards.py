"""What in the database acts on a ledger's tables without being asked: triggers, rules, views, filters of rows."""

from sqlalchemy import Connection, text

from hullabaloo.ledger import schema
from hullabaloo.ledger.records import Finding

_SQLITE = "SELECT tbl_name, type FROM sqlite_master WHERE type IN ('trigger', 'view')"
_POSTGRES = """
    SELECT relname, 'trigger' FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
        WHERE NOT tgisinternal AND tgrelid IN (SELECT to_regclass(name) FROM unnest(CAST(:tables AS text[])) AS name)
    UNION ALL SELECT relname, CASE WHEN relkind = 'v' THEN 'view' ELSE 'rule' END FROM pg_rewrite JOIN pg_class ON pg_class.oid = ev_class
        WHERE ev_class IN (SELECT to_regclass(name) FROM unnest(CAST(:tables AS text[])) AS name)
    UNION ALL SELECT relname, 'filter of rows' FROM pg_class
        WHERE relrowsecurity AND oid IN (SELECT to_regclass(name) FROM unnest(CAST(:tables AS text[])) AS name)
"""


def findings(connection: Connection) -> list[Finding]:
    """One finding for each; a ledger has none."""
    tables = sorted(schema.metadata.tables)
    if connection.dialect.name == "sqlite":
        found = [(str(name).lower(), kind) for name, kind in connection.execute(text(_SQLITE))]
    else:
        found = [(name, kind) for name, kind in connection.execute(text(_POSTGRES), {"tables": tables})]
    return [
        Finding("fault", "", None, f"has a {kind} on its table {name}, which may add, change, hide or remove rows: nothing of the kind belongs there")
        for name, kind in sorted(found)
        if name in tables
    ]  # fmt: skip
