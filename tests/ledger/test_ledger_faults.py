"""However the driver fails: returned, then the row is there, and once; raised, then at most once, and told where it may be."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from faulty import AFTER_COMMIT, BEFORE_COMMIT, FAULTS, STATEMENT, Plan, driver
from operations import OPERATIONS, READS, SENTENCE_OF_THE_COMMIT, charge, numbered, prepare

from hullabaloo.errors import LedgerUnreachable
from hullabaloo.ledger import Ledger


def counted(act: Callable[[], Any]) -> Plan:
    with driver(Plan(STATEMENT)) as plan:
        act()
    return plan


def failing(act: Callable[[], Any], plan: Plan) -> str | None:
    """What it said; None when it returned. Nothing but LedgerUnreachable comes out."""
    with driver(plan):
        try:
            act()
        except LedgerUnreachable as error:
            return str(error)
    return None


def met_at(place: int, whole: bool) -> list[str]:
    """All faults, or another one at each place."""
    faults = list(FAULTS)
    return faults if whole else [faults[place % len(faults)]]


def every_statement(ledger: Ledger, name: str, *, whole: bool) -> Counter[str]:
    """One fault at a time at every statement of a write and around its commit; how many of each outcome."""
    operation, found = OPERATIONS[name], Counter[str]()
    met = counted(lambda: operation.act(ledger, 1))
    assert met.statements >= 4
    assert met.commits in (1, 2)  # who advances looks where the stream stands
    places = [(STATEMENT, number) for number in range(1, met.statements + 1)] + [
        (BEFORE_COMMIT, met.commits),
        (AFTER_COMMIT, met.commits),
    ]
    n = 1
    for place, (when, number) in enumerate(places):
        for fault in met_at(place, whole or when == AFTER_COMMIT):
            n += 1
            plan = Plan(when, number, fault)
            said = failing(lambda n=n: operation.act(ledger, n), plan)  # type: ignore[misc]
            there = operation.found(ledger, n)
            where = (name, when, number, fault, said)
            assert plan.failed, where
            assert there == 1 if said is None else there in (0, 1), where
            if when != STATEMENT:
                assert said is not None, where
                assert SENTENCE_OF_THE_COMMIT in said, where
                assert there == (when == AFTER_COMMIT), where
            elif said is not None and there:
                assert SENTENCE_OF_THE_COMMIT in said, where
            before = numbered(ledger)
            assert charge(ledger, -n) == before + 1, where  # an honest call works again
            found[when if said is not None else "returned"] += 1
    assert ledger.verify().status == "sound"
    return found


@pytest.mark.few(3)
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_fault_at_every_statement_of_a_write(sqlite_ledger: Ledger, name: str) -> None:
    found = every_statement(prepare(sqlite_ledger), name, whole=False)
    assert (found["returned"], found[AFTER_COMMIT]) == (0, len(FAULTS))


@pytest.mark.postgres
def test_a_fault_at_every_statement_of_a_charge_on_a_server(postgres_ledger: Ledger) -> None:
    found = every_statement(prepare(postgres_ledger), "charge", whole=False)
    assert (found["returned"], found[AFTER_COMMIT]) == (0, len(FAULTS))


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_fault_at_every_statement_of_a_write(ledger: Ledger, name: str) -> None:
    found = every_statement(prepare(ledger), name, whole=True)
    assert (found["returned"], found[AFTER_COMMIT], found[BEFORE_COMMIT]) == (0, len(FAULTS), len(FAULTS))


@pytest.mark.slow
def test_a_fault_at_every_statement_of_every_read(ledger: Ledger) -> None:
    prepare(ledger)
    kept, place = numbered(ledger), 0
    for name, read in READS.items():
        honest = read(ledger)
        for number in range(1, counted(lambda read=read: read(ledger)).statements + 1):  # type: ignore[misc]
            place += 1
            plan = Plan(STATEMENT, number, *met_at(place, whole=False))
            said = failing(lambda read=read: read(ledger), plan)  # type: ignore[misc]
            assert plan.failed, name
            assert said is not None, (name, number, plan.fault)
            assert SENTENCE_OF_THE_COMMIT not in said
        assert read(ledger) == honest
    assert numbered(ledger) == kept


@pytest.mark.few(1)
@pytest.mark.parametrize("when", [STATEMENT, BEFORE_COMMIT, AFTER_COMMIT])
def test_every_fault_of_an_upgrade(ledger_url: str, when: str) -> None:
    from version_1 import write_version_1

    write_version_1(ledger_url)
    ledger, number = Ledger(ledger_url), 0
    while True:
        number += 1
        plan = Plan(when, number, "a dropped connection")
        said = failing(ledger.upgrade, plan)
        if said is None or when != STATEMENT:
            break
    assert number > 3 or when != STATEMENT
    assert (said is None) == (when == STATEMENT)
    if said is not None:
        assert SENTENCE_OF_THE_COMMIT in said
    done = ledger.upgrade()
    assert done.before == (1 if when == BEFORE_COMMIT else done.after)
    assert [row.what for row in ledger.charges("clinic")] == ["an old charge"]
    assert charge(ledger) == 2
