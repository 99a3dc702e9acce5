"""What a ledger's database holds is in no log, whichever logger is switched on: SQLAlchemy and psycopg have loggers of their own, of which the first writes rows down."""

import pytest
from operations import OPERATIONS, READS, prepare
from sqlalchemy import NullPool, create_engine, text
from tests.laws.hearing import heard

from hullabaloo.ledger import Ledger

SECRET = {"hullabaloo_dataset": "salt, sum_main", "hullabaloo_charge": "salt, sum_main, what"}


def held(url: str) -> set[str]:
    """What the database holds of salts, sums and what was charged."""
    with create_engine(url, poolclass=NullPool).connect() as connection:
        rows = [
            row for table, names in SECRET.items() for row in connection.execute(text(f"SELECT {names} FROM {table}"))
        ]
    return {str(cell) for row in rows for cell in row if len(str(cell)) > 5}


@pytest.mark.few(12)
@pytest.mark.parametrize("what", [*OPERATIONS, *READS])
def test_no_logger_writes_down_what_the_database_holds(what: str, ledger: Ledger, ledger_url: str) -> None:
    prepare(ledger)

    def call() -> None:
        OPERATIONS[what].act(ledger, 1) if what in OPERATIONS else READS[what](ledger)

    refused, said = heard(call)
    assert not refused
    secrets = held(ledger_url)
    assert len(secrets) > 4
    assert not [one for one in secrets if one in said]
