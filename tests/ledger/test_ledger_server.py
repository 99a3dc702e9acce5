"""What a server says and how it was set up: nothing of a row is repeated, and every name can be sent."""

import traceback
from collections.abc import Callable

import pytest
from operations import charge, prepare
from sqlalchemy import create_engine

from hullabaloo.errors import LedgerUnreachable
from hullabaloo.ledger import Ledger
from hullabaloo.privacy import Budget


def execute(ledger: Ledger, *statements: str) -> list[str]:
    engine = create_engine(ledger.url)
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
        found = connection.exec_driver_sql("SELECT salt FROM hullabaloo_dataset").scalars().all()
    engine.dispose()
    return list(found)


REFUSALS: dict[str, Callable[[], tuple[str, ...]]] = {
    "a check of the dataset's row": lambda: ("ALTER TABLE hullabaloo_dataset ADD CHECK (charges < 1) NOT VALID",),
    "a check of a charge": lambda: ("ALTER TABLE hullabaloo_charge ADD CHECK (number < 1) NOT VALID",),
    "a column without a value": lambda: (
        "ALTER TABLE hullabaloo_charge ADD COLUMN site TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE hullabaloo_charge ALTER site DROP DEFAULT",
    ),
}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_server_that_quotes_the_row_it_refuses_is_not_repeated(postgres_ledger: Ledger, refusal: str) -> None:
    """`Failing row contains (…)` was a part of the message and of its traceback: whole rows, the dataset's secret salt among them."""
    prepare(postgres_ledger)
    salts = execute(postgres_ledger, *REFUSALS[refusal]())
    assert len(salts[0]) == 64
    with pytest.raises(LedgerUnreachable, match="violates") as refused:
        charge(postgres_ledger)
    shown = "".join(traceback.format_exception(refused.value))
    assert "Failing row" not in shown
    assert not any(salt in shown for salt in salts)


@pytest.mark.parametrize(
    ("name", "value"), [("PGCLIENTENCODING", "latin1"), ("PGOPTIONS", "-c client_encoding=latin1")]
)
def test_the_encoding_of_the_environment_keeps_no_name_out(
    postgres_ledger: Ledger, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """A name beyond the environment's encoding ended in UnicodeEncodeError."""
    monkeypatch.setenv(name, value)
    assert postgres_ledger.create("étude 漢", Budget(1.0, 0.0)).name == "étude 漢"
    assert [one.name for one in postgres_ledger.datasets()] == ["étude 漢"]
