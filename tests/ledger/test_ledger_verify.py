"""`verify` finds every kind of damage and survives all of it; `upgrade` climbs or refuses."""

import json
from collections.abc import Callable

import pytest
from many_rows import charge_many

from hullabaloo.errors import LedgerError
from hullabaloo.ledger import Ledger, advisories, schema
from hullabaloo.privacy import Budget, GaussianEvent, SelectionEvent, compose

FULL = Budget(1.0, 1e-6)
PART = Budget(0.25, 1e-7)


@pytest.fixture
def spent(ledger: Ledger) -> Ledger:
    """Two datasets, three charges."""
    ledger.create("clinic", FULL, neighbours="replace-one")
    ledger.create("school", FULL, neighbours="add-or-remove", filter="gdp")
    for _ in range(2):
        ledger.charge("clinic", GaussianEvent(30.0, samples=9), budget=PART, neighbours="replace-one", what="Lasso")
    event = compose(GaussianEvent(50.0), SelectionEvent(0.01), count=2)
    ledger.charge("school", event, budget=FULL, neighbours="add-or-remove", what="Ridge")
    return ledger


def test_a_sound_ledger(spent: Ledger) -> None:
    verdict = spent.verify()
    assert (verdict.status, verdict.findings, verdict.datasets, verdict.charges) == ("sound", (), 2, 3)
    assert "3 charge(s)" in "\n".join(verdict.lines())
    assert json.loads(json.dumps(verdict.to_dict()))["status"] == "sound"


ONE = "WHERE dataset = 'clinic' AND number = 1"


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("damage", "says", "number"),
    [
        (f'UPDATE hullabaloo_charge SET event = \'{{"kind": "gau\' {ONE}', "not JSON", 1),
        (f"UPDATE hullabaloo_charge SET event = '[]' {ONE}", "not a JSON object", 1),
        (f'UPDATE hullabaloo_charge SET event = \'{{"kind": "magic"}}\' {ONE}', "no version", 1),
        (f'UPDATE hullabaloo_charge SET event = \'{{"kind": "composed", "parts": 7}}\' {ONE}', "no version", 1),
        (f"UPDATE hullabaloo_charge SET budget = 'x' {ONE}", "budget", 1),
        (f'UPDATE hullabaloo_charge SET budget = \'{{"kind": "dp", "epsilon": "x"}}\' {ONE}', "budget", 1),
        (f"UPDATE hullabaloo_charge SET cost = '[-1.0, 0.0]' {ONE}", "2 finite numbers", 1),
        (f"UPDATE hullabaloo_charge SET cost = '[NaN, 0.0]' {ONE}", "2 finite numbers", 1),
        (f"UPDATE hullabaloo_charge SET cost = '[0.0, 0.0]' {ONE}", "cost more than was taken", 1),
        (f"UPDATE hullabaloo_charge SET cost = '[0.0]' {ONE}", "2 finite numbers", 1),
        (f"UPDATE hullabaloo_charge SET neighbours = 'add-or-remove' {ONE}", "another relation", 1),
        (f"UPDATE hullabaloo_charge SET neighbours = 'x' {ONE}", "relation", 1),
        (f"UPDATE hullabaloo_charge SET records_per_unit = 7 {ONE}", "another relation", 1),
        (f"UPDATE hullabaloo_charge SET detail = '' {ONE}", "detail", 1),
        (f"UPDATE hullabaloo_charge SET number = 9 {ONE}", "rows are missing", None),
        (f"DELETE FROM hullabaloo_charge {ONE}", "rows are missing", None),
        ("DELETE FROM hullabaloo_charge WHERE dataset = 'clinic' AND number = 2", "rows are missing", None),
        ("UPDATE hullabaloo_dataset SET charges = 0 WHERE name = 'clinic'", "rows are missing", None),
        (
            "UPDATE hullabaloo_dataset SET capacity = '" + "[9.0, 1.0]" + "' WHERE name = 'clinic'",
            "today's accountant allows",
            None,
        ),
        ("UPDATE hullabaloo_dataset SET capacity = 'x' WHERE name = 'clinic'", "capacity", None),
        ("UPDATE hullabaloo_dataset SET filter = 'magic' WHERE name = 'clinic'", "filter", None),
        ("UPDATE hullabaloo_dataset SET budget = '{}' WHERE name = 'clinic'", "budget", None),
        (
            f"UPDATE hullabaloo_charge SET event = '{json.dumps(GaussianEvent(0.5).to_dict())}' {ONE}",
            "refused by today's accountant",
            1,
        ),
        (
            "UPDATE hullabaloo_dataset SET budget = '"
            + json.dumps(Budget(0.3, 1e-6).to_dict())
            + "', capacity = '"
            + "[0.3, 1e-6]"
            + "' WHERE name = 'clinic'",
            "overspent",
            None,
        ),
    ],
)
def test_damage_is_named_with_its_row(
    spent: Ledger, raw: Callable[[str], None], damage: str, says: str, number: int | None
) -> None:
    raw(damage)
    verdict = spent.verify()
    assert verdict.status == "faulty"
    found = [one for one in verdict.findings if says in one.text]
    assert found, verdict.lines()
    assert (found[0].severity, found[0].dataset, found[0].number) == ("fault", "clinic", number)
    assert all(one.dataset == "clinic" for one in verdict.findings)


@pytest.mark.parametrize(
    "damage",
    [
        f"UPDATE hullabaloo_charge SET cost = 'x' {ONE}",
        f"DELETE FROM hullabaloo_charge {ONE}",
        "UPDATE hullabaloo_dataset SET budget = '{}' WHERE name = 'clinic'",
        "UPDATE hullabaloo_dataset SET filter = 'magic' WHERE name = 'clinic'",
        "UPDATE hullabaloo_dataset SET charges = -1 WHERE name = 'clinic'",
    ],
)
@pytest.mark.few(5)
def test_a_damaged_dataset_takes_no_more_charges(spent: Ledger, raw: Callable[[str], None], damage: str) -> None:
    raw(damage)
    with pytest.raises(LedgerError):
        spent.charge("clinic", SelectionEvent(0.01), budget=Budget(0.01, 0.0), neighbours="replace-one", what="x")
    spent.charge("school", SelectionEvent(0.01), budget=Budget(0.01, 0.0), neighbours="add-or-remove", what="x")


def test_rows_whose_dataset_is_gone(sqlite_ledger: Ledger) -> None:
    import sqlite3

    sqlite_ledger.create("clinic", FULL, neighbours="replace-one")
    sqlite_ledger.charge("clinic", GaussianEvent(30.0), budget=PART, neighbours="replace-one", what="Lasso")
    with sqlite3.connect(sqlite_ledger.url.removeprefix("sqlite:///")) as connection:
        connection.execute("DELETE FROM hullabaloo_dataset")
    connection.close()
    (finding,) = sqlite_ledger.verify().findings
    assert (finding.dataset, finding.number, finding.severity) == ("clinic", 1, "fault")


ADVISORIES = """{"format": 1, "advisories": [
  {"id": "HB-1", "versions": ["VERSION"], "events": ["selection"], "summary": "Selections were biased.", "remedy": "Refit."},
  {"id": "HB-2", "versions": ["0.0.0"], "summary": "Everything was.", "remedy": "Refit."}]}"""


def test_releases_under_an_advisory_are_named(spent: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    from hullabaloo._version import __version__

    known = advisories.read(ADVISORIES.replace("VERSION", __version__))
    monkeypatch.setattr(advisories, "shipped", lambda: known)
    verdict = spent.verify()
    assert verdict.status == "advisory"
    (finding,) = verdict.findings
    assert (finding.severity, finding.dataset, finding.number) == ("advisory", "school", 1)
    assert "HB-1" in finding.text
    assert "Ridge" in finding.text


def test_the_shipped_advisories_can_be_read_and_a_garbled_list_is_an_error() -> None:
    assert isinstance(advisories.shipped(), tuple)
    for text in ("", "[]", '{"format": 2, "advisories": []}', '{"format": 1, "advisories": [{"id": "x"}]}'):
        with pytest.raises(LedgerError, match=r"advisories\.json"):
            advisories.read(text)


def test_a_price_that_fell_is_a_note(spent: Ledger) -> None:
    charge_many(spent, "clinic", [0.1], cost=(0.2, 0.0))
    verdict = spent.verify()
    assert (verdict.status, [one.severity for one in verdict.findings]) == ("sound", ["note"])


def test_upgrading_the_current_version_changes_nothing(spent: Ledger) -> None:
    before = spent.charges("clinic"), spent.datasets()
    done = spent.upgrade()
    assert (done.before, done.after) == (schema.VERSION, schema.VERSION)
    assert "nothing to do" in done.describe()
    assert before == (spent.charges("clinic"), spent.datasets())


def test_a_newer_ledger_is_refused_everywhere(spent: Ledger, raw: Callable[[str], None]) -> None:
    raw("INSERT INTO hullabaloo_schema (version, written_at) VALUES (99, 'later')")
    for act in (spent.datasets, spent.verify, spent.upgrade, lambda: spent.remaining("clinic")):
        with pytest.raises(LedgerError, match="newer"):
            act()
    with pytest.raises(LedgerError, match="newer"):
        spent.charge("clinic", GaussianEvent(30.0), budget=PART, neighbours="replace-one", what="x")
    with pytest.raises(LedgerError, match="newer"):
        spent.create("other", FULL, neighbours="replace-one")


@pytest.mark.few(1)
@pytest.mark.parametrize("rows", ["DELETE FROM hullabaloo_schema", "UPDATE hullabaloo_schema SET version = 0"])
def test_an_unknown_schema_is_refused(spent: Ledger, raw: Callable[[str], None], rows: str) -> None:
    raw(rows)
    with pytest.raises(LedgerError, match="schema version"):
        spent.remaining("clinic")
    with pytest.raises(LedgerError, match="schema version"):
        spent.upgrade()


def test_an_older_ledger_climbs_step_by_step(spent: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later library (simulated, two steps on) finds a ledger of this version."""
    from sqlalchemy import Connection

    order = []

    def step(number: int, statement: str) -> Callable[[Connection], None]:
        def run(connection: Connection) -> None:
            order.append(number)
            connection.exec_driver_sql(statement)

        return run

    now = schema.VERSION
    steps = {
        now: step(1, "ALTER TABLE hullabaloo_charge ADD COLUMN note TEXT"),
        now + 1: step(2, "UPDATE hullabaloo_charge SET note = 'climbed'"),
    }
    rows = spent.charges("clinic")
    monkeypatch.setattr(schema, "VERSION", now + 2)
    monkeypatch.setattr(schema, "STEPS", steps)
    with pytest.raises(LedgerError, match="ledger upgrade"):
        spent.remaining("clinic")
    done = spent.upgrade()
    assert (done.before, done.after, order) == (now, now + 2, [1, 2])
    assert spent.charges("clinic") == rows
    assert spent.upgrade().before == now + 2


def test_a_climb_that_fails_leaves_the_old_version(spent: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlalchemy import Connection

    def first(connection: Connection) -> None:
        connection.exec_driver_sql("ALTER TABLE hullabaloo_charge ADD COLUMN note TEXT")

    def second(connection: Connection) -> None:
        raise LedgerError("stopped halfway")

    rows = spent.charges("clinic")
    with monkeypatch.context() as later:
        later.setattr(schema, "STEPS", {schema.VERSION: first, schema.VERSION + 1: second})
        later.setattr(schema, "VERSION", schema.VERSION + 2)
        with pytest.raises(LedgerError, match="halfway"):
            spent.upgrade()
    assert spent.charges("clinic") == rows
    assert spent.verify().status == "sound"
