"""An older ledger that was damaged: brought up, it never becomes one that can be charged when it could not before."""

import sqlite3
from pathlib import Path

import pytest
from operations import charge
from version_1 import write_version_1

from hullabaloo.errors import LedgerError
from hullabaloo.ledger import Ledger

COPIED = (
    "INSERT INTO hullabaloo_charge SELECT dataset, {}, charged_at, who, what, event, budget, cost, neighbours, unit, records_per_unit, detail, \
    library_version, accounting_version, schema_version FROM hullabaloo_charge WHERE number = 1"
)
DAMAGE = {
    "nothing": "SELECT 1",
    "a row is gone": "DELETE FROM hullabaloo_charge WHERE number = 3",
    "the first row is gone": "DELETE FROM hullabaloo_charge WHERE number = 1",
    "a row is of another dataset": "UPDATE hullabaloo_charge SET dataset = 'stray' WHERE number = 3",
    "a number is none": "UPDATE hullabaloo_charge SET number = 3.5 WHERE number = 3",
    "a cost is none": "UPDATE hullabaloo_charge SET cost = '[NaN, 0]' WHERE number = 3",
    "the name is no text": "UPDATE hullabaloo_dataset SET name = CAST(x'ff61' AS TEXT)",
    "a charge's name is no text": "UPDATE hullabaloo_charge SET dataset = CAST(x'ff61' AS TEXT) WHERE number = 3",
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.few(4)
def test_a_damaged_ledger_stays_one_that_cannot_be_charged(tmp_path: Path, damage: str) -> None:
    """A ledger of version 1 with rows missing refused every charge; upgraded, it was charged on, with the budget of those rows again.

    A name that is no text ended the upgrade in UnicodeEncodeError.
    """
    path = tmp_path / "privacy.db"
    ledger = Ledger(f"sqlite:///{path}")
    write_version_1(ledger.url)
    connection = sqlite3.connect(path)
    for number in range(2, 7):
        connection.execute(COPIED.format(number))
    connection.execute("UPDATE hullabaloo_dataset SET charges = 6")
    connection.execute(DAMAGE[damage])
    connection.commit()
    connection.close()
    done = ledger.upgrade()
    assert (done.before, ledger.upgrade().before) == (1, done.after)
    if damage == "nothing":
        assert ledger.verify().status == "sound"
        assert charge(ledger) == 7
        return
    assert ledger.verify().status == "faulty"
    with pytest.raises(LedgerError):
        charge(ledger)
    assert ledger.verify().status == "faulty"
