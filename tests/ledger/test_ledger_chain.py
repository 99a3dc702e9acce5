"""The chain of rows: what an edit, a deletion, a backup put back or a trigger does is found, and heads tell nothing of rows."""

import json
import shutil
import sqlite3
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from many_rows import charge_many, prices
from sqlalchemy import Engine, create_engine, event

from hullabaloo.errors import InvalidParameter, LedgerError
from hullabaloo.ledger import Charge, Ledger, chain, schema
from hullabaloo.privacy import Budget, SelectionEvent

FULL = Budget(1.0, 1e-6)
SMALL = Budget(0.01, 0.0)


def charge(ledger: Ledger, dataset: str = "clinic", epsilon: float = 0.01) -> Charge:
    return ledger.charge(
        dataset, SelectionEvent(epsilon), budget=Budget(epsilon, 0.0), neighbours="replace-one", what="a fit", who="ada"
    )


def model(made: Charge) -> Any:
    """What a model says of its charge."""
    return SimpleNamespace(
        statement_=SimpleNamespace(dataset=made.dataset, charge=made.number, database=made.database, head=made.head)
    )


@pytest.fixture
def five(ledger: Ledger) -> tuple[Ledger, list[Charge]]:
    """Five charges on one dataset, and one on another."""
    ledger.create("clinic", FULL)
    ledger.create("school", FULL)
    charge(ledger, "school")
    return ledger, [charge(ledger) for _ in range(5)]


ROW = "UPDATE hullabaloo_charge SET {} WHERE dataset = 'clinic' AND number = {}"
TERMS = "UPDATE hullabaloo_dataset SET {} WHERE name = 'clinic'"
SMALLER = json.dumps(SelectionEvent(0.001).to_dict())
DAMAGES = {
    "a price": (ROW.format("cost = '[0.02, 0.0]'", 3), 3),
    "a budget": (ROW.format("budget = '{\"delta\": 0.0, \"epsilon\": 0.02, \"kind\": \"dp\"}'", 3), 3),
    "an event": (ROW.format(f"event = '{SMALLER}'", 3), 3),
    "a line": (ROW.format("what = 'another'", 3), 3),
    "a person": (ROW.format("who = 'eve'", 3), 3),
    "a detail": (ROW.format("detail = '{\"x\": 1}'", 3), 3),
    "a time": (ROW.format("charged_at = '2020'", 3), 3),
    "a version": (ROW.format("library_version = '0'", 3), 3),
    "an analyst": (ROW.format("analyst = 'eve'", 3), 3),
    "a project": (ROW.format("project = ''", 3), 3),
    "a salt": (ROW.format("salt = ''", 3), 3),
    "a head": (ROW.format("head = ''", 3), 3),
    "a sum": (ROW.format("sum_main = '0'", 3), 3),
    "a unit, the first row too": (ROW.format("who = 'eve'", 1), 1),
    "the last row": (ROW.format("who = 'eve'", 5), 5),
    "a row in the middle": ("DELETE FROM hullabaloo_charge WHERE dataset = 'clinic' AND number = 3", None),
    "rows at the end": ("DELETE FROM hullabaloo_charge WHERE dataset = 'clinic' AND number > 3", None),
    "a lowered counter": (TERMS.format("charges = 4"), None),
    "a raised counter": (TERMS.format("charges = 6"), None),
    "the dataset's sums": (TERMS.format("sum_main = '0', sum_tail = '0'"), None),
    "the dataset's head": (TERMS.format("head = ''"), None),
    "the dataset's row put back": (
        TERMS.format("(charges, head, sum_main, sum_tail) = (SELECT number, head, sum_main, sum_tail FROM hullabaloo_charge "
                     "WHERE dataset = 'clinic' AND number = 4)"), None,
    ),
    "the time of creation": (TERMS.format("created_at = '2020'"), 1),
    "a raised budget": (
        TERMS.format("budget = '{\"delta\": 1e-06, \"epsilon\": 9.0, \"kind\": \"dp\"}', capacity = '[9.0, 1e-06]'"), 1,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with five charges on one dataset, and one on another."""
    path = tmp_path_factory.mktemp("kept") / "privacy.db"
    ledger = Ledger(f"sqlite:///{path}")
    ledger.create("clinic", FULL)
    ledger.create("school", FULL)
    charge(ledger, "school")
    charge_many(ledger, "clinic", [0.01] * 5)
    assert ledger.verify().findings == ()
    return path


def damaged(kept: Path, folder: Path, damage: str) -> Ledger:
    """A copy of it, changed behind its back."""
    path = shutil.copy(kept, folder / "privacy.db")
    with sqlite3.connect(path) as connection:
        connection.execute(damage)
    connection.close()
    return Ledger(f"sqlite:///{path}")


@pytest.mark.parametrize("name", DAMAGES)
@pytest.mark.few(12)
def test_every_edit_is_found_at_its_row(kept: Path, tmp_path: Path, name: str) -> None:
    """Most of these were "sound" while rows had no heads: a line, a person, a time; and a budget raised with its capacity."""
    damage, number = DAMAGES[name]
    ledger = damaged(kept, tmp_path, damage)
    found = ledger.verify()
    assert found.status == "faulty"
    assert (number, "fault") in {(one.number, one.severity) for one in found.findings}, found.lines()
    assert {one.dataset for one in found.findings} == {"clinic"}
    assert not any("eve" in one.text or "another'" in one.text for one in found.findings)
    charge(ledger, "school")


@pytest.mark.parametrize(
    "name", [name for name in DAMAGES if name.startswith(("the ", "rows", "a lowered", "a raised", "a unit"))]
)
def test_what_the_ends_of_the_chain_show_stops_every_charge(kept: Path, tmp_path: Path, name: str) -> None:
    ledger = damaged(kept, tmp_path, DAMAGES[name][0])
    for act in (lambda: charge(ledger), lambda: ledger.remaining("clinic")):
        with pytest.raises(LedgerError, match="not known"):
            act()


def test_a_row_with_all_before_it_written_anew_is_found_by_a_model(
    five: tuple[Ledger, list[Charge]], raw: Callable[[str], None]
) -> None:
    """Whoever may write to the database can write an honest-looking chain; the heads in models are out of reach."""
    ledger, made = five
    raw("DELETE FROM hullabaloo_charge WHERE dataset = 'clinic'")
    start = chain.first(made[0].database, _terms(ledger))
    raw(TERMS.format(f"charges = 0, head = '{start}', sum_main = '0', sum_tail = '0'"))
    for _ in range(5):
        charge(ledger, epsilon=0.001)
    assert ledger.verify().status == "sound"
    found = ledger.verify(models=[model(one) for one in made])
    assert [(one.severity, one.number) for one in found.findings] == [("fault", place) for place in range(1, 6)]
    assert all("written anew" in one.text for one in found.findings)


def _terms(ledger: Ledger) -> Any:
    engine = create_engine(ledger.url)
    with engine.connect() as connection:
        row = connection.exec_driver_sql("SELECT * FROM hullabaloo_dataset WHERE name = 'clinic'").mappings().one()
    engine.dispose()
    return row


def test_a_backup_put_back_says_what_is_missing(sqlite_ledger: Ledger, tmp_path: Path) -> None:
    """Before, a ledger put back was "sound" and the fits after the backup were forgotten."""
    place, backup = Path(sqlite_ledger.url.removeprefix("sqlite:///")), tmp_path / "backup.db"
    sqlite_ledger.create("clinic", FULL)
    made = [charge(sqlite_ledger) for _ in range(2)]
    shutil.copy(place, backup)
    made += [charge(sqlite_ledger) for _ in range(3)]
    models = {f"m{one.number}.json": model(one) for one in made}
    assert sqlite_ledger.verify(models=models).findings == ()
    shutil.copy(backup, place)
    assert sqlite_ledger.verify().status == "sound", "of the file alone nothing can be seen"
    found = sqlite_ledger.verify(models=models).findings
    assert [one.text.partition(" and m")[2][:16] for one in found] == [f"{n}.json was row {n}" for n in (3, 4, 5)]
    assert all("ends at row 2" in one.text for one in found)
    assert "at least 3 row(s) are missing" in found[-1].text
    for _ in range(3):
        charge(sqlite_ledger)
    found = sqlite_ledger.verify(models=models).findings
    assert [one.number for one in found] == [3, 4, 5]
    assert all("written anew, or an older backup was put back and went on" in one.text for one in found)


def test_models_of_other_ledgers_and_older_versions(five: tuple[Ledger, list[Charge]], tmp_path: Path) -> None:
    ledger, made = five
    other = Ledger(f"sqlite:///{tmp_path / 'other.db'}")
    other.create("clinic", FULL)
    strange, gone = charge(other), replace(made[0], dataset="ward")
    old = SimpleNamespace(statement=SimpleNamespace(dataset="clinic", charge=1, database=None, head=None))
    free = SimpleNamespace(statement=SimpleNamespace(dataset=None, charge=None, database=None, head=None))
    found = ledger.verify(models=[model(strange), model(gone), old, free]).findings
    assert [one.severity for one in found] == ["fault", "fault", "note", "note"]
    for one, says in zip(found, ("another database id", "does not have the dataset", "before charges had heads", "to none"), strict=True):  # fmt: skip
        assert says in one.text
        assert str(one).startswith(f"{one.severity}: the ledger ")
    for models in (5, None, "m.json", [5], [None], [SimpleNamespace(statement_="x")], {"m": object()}):
        with pytest.raises(InvalidParameter, match=r"Nothing was verified"):
            ledger.verify(models=models)  # type: ignore[arg-type]


def test_heads_are_salted_so_that_guesses_of_a_row_are_not_confirmed() -> None:
    """All of a row but its salt is guessed rightly, from a dictionary: no guess gives the head."""
    row = dict.fromkeys(chain.ROW, None) | {
        "dataset": "clinic",
        "number": 1,
        "what": "Ridge",
        "salt": chain.fresh_salt(),
    }
    head = chain.following("0" * 64, row)
    assert len(row["salt"]) == 64
    assert len({chain.following("0" * 64, row | {"salt": chain.fresh_salt()}) for _ in range(100)} | {head}) == 101
    assert head not in {chain.following("0" * 64, row | {"salt": guess}) for guess in ("", "0" * 64, None)}
    assert head == chain.following("0" * 64, dict(row))
    assert not set(chain.ROW) & {"head"}
    assert {*chain.ROW, "head"} == set(schema.charges.c.keys()), "every column is hashed"
    assert {*chain.TERMS, "head", "charges", "sum_main", "sum_tail"} == set(schema.datasets.c.keys())


def test_a_head_is_of_all_that_it_stands_for() -> None:
    """The database, the head before, every column, where one column ends and the next begins, and 32 random bytes."""
    terms, row = (dict(zip(names, map(str, range(50)), strict=False)) for names in (chain.TERMS, chain.ROW))
    firsts = {
        chain.first("a", terms),
        chain.first("b", terms),
        *(chain.first("a", terms | {one: "x"}) for one in terms),
    }
    assert len(firsts) == 2 + len(terms)
    heads = {chain.following("a", row), chain.following("b", row)}
    assert len(heads | {chain.following("a", row | {one: "x"}) for one in row}) == 2 + len(row)
    for between in ("str ", " str ", "str 1 ", "\0", "|", '", "'):
        moved = ({"who": f"a{between}b", "what": "c"}, {"who": "a", "what": f"b{between}c"})
        assert len({chain.following("a", row | one) for one in moved}) == 2, between
    parts = [salt[start : start + 16] for salt in (chain.fresh_salt() for _ in range(50)) for start in range(0, 64, 16)]
    assert len(set(parts)) == 200  # by chance: 2^-49


def test_every_page_is_followed(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "PAGE", 2)
    for number in range(1, 6):
        found = damaged(kept, tmp_path, ROW.format("who = 'eve'", number)).verify().findings
        assert [one.number for one in found] == [number]


def test_no_two_rows_are_written_alike() -> None:
    """What stands between two columns cannot be moved from one to the other, nor a number be taken for its text."""
    blank = dict.fromkeys(chain.ROW, "")
    alike = [{"who": "ab"}, {"who": "a", "what": "b"}, {"what": "ab"}, {"who": None}, {"who": 1}, {"who": "1"}, {"who": b"1"},
             {"who": 1.0}, {"who": "None"}, {"who": "a str 1 b"}, {"who": "\udc80"}]  # fmt: skip
    assert len({chain.following("", blank | one) for one in alike}) == len(alike)


SQLITE_TRAPS = {
    "trigger": "CREATE TRIGGER t AFTER INSERT ON hullabaloo_charge BEGIN DELETE FROM hullabaloo_charge WHERE number = 99; END",
}
POSTGRES_TRAPS = {
    "trigger": "CREATE FUNCTION nothing() RETURNS trigger AS 'BEGIN RETURN NULL; END' LANGUAGE plpgsql;"
    "CREATE TRIGGER t BEFORE INSERT ON hullabaloo_charge FOR EACH ROW EXECUTE FUNCTION nothing()",
    "rule": "CREATE RULE r AS ON UPDATE TO hullabaloo_charge DO INSTEAD NOTHING",
    "filter of rows": "ALTER TABLE hullabaloo_charge ENABLE ROW LEVEL SECURITY",
    "view": "ALTER TABLE hullabaloo_stream RENAME TO s; CREATE VIEW hullabaloo_stream AS SELECT * FROM s",
}


def test_what_acts_on_the_tables_unasked_is_a_fault(
    five: tuple[Ledger, list[Charge]], raw: Callable[[str], None]
) -> None:
    ledger, _ = five
    for kind, trap in (SQLITE_TRAPS if ledger.url.startswith("sqlite") else POSTGRES_TRAPS).items():
        raw(trap)
        found = ledger.verify()
        assert found.status == "faulty"
        assert any(one.dataset == "" and f"has a {kind} on its table hullabaloo_" in one.text for one in found.findings)


def test_a_view_in_place_of_a_table_is_a_fault(sqlite_ledger: Ledger) -> None:
    sqlite_ledger.create("clinic", FULL)
    with sqlite3.connect(sqlite_ledger.url.removeprefix("sqlite:///")) as connection:
        connection.executescript(
            "ALTER TABLE hullabaloo_stream RENAME TO s; CREATE VIEW hullabaloo_stream AS SELECT * FROM s"
        )
    connection.close()
    (found,) = sqlite_ledger.verify().findings
    assert "has a view on its table hullabaloo_stream" in found.text


@pytest.mark.few(1)
def test_no_statement_of_a_charge_reads_more_than_the_ends(ledger: Ledger) -> None:
    """Of 1000 rows a charge reads three, and the same statements as of 30: before, it added up every row under the lock."""
    ledger.create("clinic", FULL)
    read: list[tuple[str, int]] = []

    def fetched(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        read.append((statement, 0))

    found = []
    for count in (30, 970):
        charge_many(ledger, "clinic", prices(count, differ=True))
        event.listen(Engine, "before_cursor_execute", fetched)
        try:
            charge(ledger, epsilon=1e-6)
            ledger.remaining("clinic")
        finally:
            event.remove(Engine, "before_cursor_execute", fetched)
        found.append([text for text, _ in read])
        read.clear()
    assert found[0] == found[1]
    assert all("sum(" not in text and "count(" not in text and "GROUP BY" not in text for text in found[0])
    assert ledger.verify().findings == ()


def test_verify_reads_pages_and_nobody_waits_for_more_than_one(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Charges are made between any two transactions of `verify`, which finds nothing wrong; before, it was one transaction."""
    monkeypatch.setattr(schema, "PAGE", 10)
    ledger.create("clinic", FULL)
    charge_many(ledger, "clinic", prices(45, differ=False))
    run, waits = Ledger._run, []

    def between(self: Ledger, work: Any, *, write: bool = False, **more: Any) -> Any:
        found = run(self, work, write=write, **more)
        if write:
            return found
        started = time.perf_counter()
        charge(ledger, epsilon=1e-6)
        waits.append(time.perf_counter() - started)
        return found

    monkeypatch.setattr(Ledger, "_run", between)
    found = ledger.verify()
    assert (found.findings, found.charges) == ((), 46)
    assert len(waits) > 10
    rows = ledger.charges("clinic")
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))


@pytest.mark.slow
def test_a_charge_costs_the_same_at_100_000_rows(ledger: Ledger) -> None:
    """At most twice the time of an empty ledger (medians of 40), prices all different; a summing ledger took seconds."""
    ledger.create("clinic", FULL)
    took = []
    for count in (0, 100_000):
        charge_many(ledger, "clinic", prices(count, differ=True))
        times = []
        for _ in range(40):
            started = time.perf_counter()
            charge(ledger, epsilon=1e-6)
            times.append(time.perf_counter() - started)
        took.append(statistics.median(times))
    assert took[1] <= 2.0 * took[0], took
