"""Ledgers with many honest rows, written at once instead of charged one by one; and ledgers as older versions left them."""

from collections.abc import Callable, Iterable

from sqlalchemy import create_engine, insert, select, update

from hullabaloo.ledger import Ledger, chain, rows, schema, store
from hullabaloo.ledger.records import Charge
from hullabaloo.privacy import Budget, SelectionEvent
from hullabaloo.privacy.filters import Cost, filter_named


def prices(count: int, *, differ: bool) -> list[float]:
    """So many small prices, all equal or no two."""
    return [1e-6 * (1.0 + place * 2.0**-30 * differ) for place in range(count)]


def charge_many(ledger: Ledger, dataset: str, epsilons: Iterable[float], cost: Cost | None = None) -> None:
    """Add the rows that as many charges of selections would have added, chained; at another cost where one is given."""
    engine = create_engine(ledger.url)
    with engine.begin() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA synchronous = OFF")
        database = schema.require_current(connection)
        stored = connection.execute(select(schema.datasets).where(schema.datasets.c.name == dataset)).mappings().one()
        terms, totals, head, number = rows.to_dataset(stored), rows.to_totals(stored), stored["head"], stored["charges"]
        rule, batch = filter_named(terms.filter), []
        for epsilon in epsilons:
            number += 1
            paid = cost or (epsilon, 0.0)
            made = Charge(
                terms.name, number, schema.now(), "many", "a row of many", SelectionEvent(epsilon).to_dict(), Budget(epsilon, 0.0), paid,
                terms.neighbours, terms.unit, terms.records_per_unit, {}, store.VERSIONS, database, "",
            )  # fmt: skip
            totals = rule.add(totals, paid)
            row = rows.from_record(made) | {"salt": chain.fresh_salt()} | rows.from_totals(totals)
            head = row["head"] = chain.following(head, row)
            batch.append(row)
            if len(batch) == 5000:
                connection.execute(insert(schema.charges), batch)
                batch = []
        if batch:
            connection.execute(insert(schema.charges), batch)
        new = {"charges": number, "head": head, **rows.from_totals(totals)}
        connection.execute(update(schema.datasets).where(schema.datasets.c.name == dataset).values(**new))
    engine.dispose()


def as_version(version: int, raw: Callable[[str], None]) -> None:
    """Take away what later versions added."""
    raw("DROP INDEX hullabaloo_stream_charge")
    for table, added in (
        ("schema", "database"),
        ("dataset", "salt head sum_main sum_tail"),
        ("charge", "analyst purpose approval project sum_main sum_tail salt head"),
    ):
        for name in added.split():
            raw(f'ALTER TABLE hullabaloo_{table} DROP COLUMN "{name}"')
    if version < 2:
        raw("DROP TABLE hullabaloo_stream")
    raw(f"UPDATE hullabaloo_schema SET version = {version}")
    raw(f"UPDATE hullabaloo_charge SET schema_version = {version}")
    raw(f"UPDATE hullabaloo_dataset SET schema_version = {version}")
