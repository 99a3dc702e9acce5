"""A process that is killed at any line of a ledger's write: what was returned is there, once; anything else at most once."""

import shutil
from collections import Counter
from pathlib import Path

import pytest
from operations import OPERATIONS, Operation, charge, numbered, prepare
from tests import kill_points
from version_1 import write_version_1

from hullabaloo.ledger import Ledger


def sweep(ledger: Ledger, operation: Operation, wanted: int | None, of: tuple[str, ...] = kill_points.LIBRARY) -> int:
    """Kill at so many points (all where nothing is said); how many were tried."""
    total = kill_points.count(lambda: operation.act(ledger, 1), of=of)
    assert operation.found(ledger, 1) == 1
    found: Counter[int] = Counter()
    points = kill_points.spread(total, wanted)
    file = Path(ledger.url.removeprefix("sqlite:///")) if ledger.url.startswith("sqlite") else None
    whole = file and file.read_bytes()
    for n, point in enumerate([*points, 0], start=2):  # 0 for a run that nobody kills
        if file and whole:  # put back, as a look for look-alikes passes more lines where there are more names
            file.with_name(file.name + "-journal").unlink(missing_ok=True)
            file.write_bytes(whole)
        ended = kill_points.killed_at(point, lambda n=n: operation.act(ledger, n), of=of)  # type: ignore[misc]
        there = operation.found(ledger, n)
        assert ended.killed or ended.returned, ended
        assert there == 1 if ended.returned else there in (0, 1), ended
        before = numbered(ledger)
        assert charge(ledger, -n) == before + 1, ended
        found[there] += 1
    assert found[0] > len(points) // 2  # most lines come before the commit
    assert found[1] >= 1  # and the run that nobody killed is found
    assert ledger.verify().status == "sound"
    return len(points)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", OPERATIONS)
def test_killed_at_lines_of_the_library(sqlite_ledger: Ledger, name: str) -> None:
    sweep(prepare(sqlite_ledger), OPERATIONS[name], 10)


@pytest.mark.slow
@pytest.mark.postgres
def test_killed_at_lines_of_a_charge_on_a_server(postgres_ledger: Ledger) -> None:
    sweep(prepare(postgres_ledger), OPERATIONS["charge"], 8)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATIONS)
def test_killed_at_every_line_of_the_library(sqlite_ledger: Ledger, name: str) -> None:
    assert sweep(prepare(sqlite_ledger), OPERATIONS[name], None) > 100


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATIONS)
def test_killed_at_lines_of_the_library_and_of_what_speaks_to_the_database(ledger: Ledger, name: str) -> None:
    sweep(prepare(ledger), OPERATIONS[name], 300, kill_points.WITH_DATABASE)


def upgrades(folder: Path, wanted: int | None) -> int:
    """Kill upgrades of a version 1 ledger: it is old or new, and what it held is there."""
    old, path = folder / "old.db", folder / "privacy.db"
    write_version_1(f"sqlite:///{old}")
    ledger = Ledger(f"sqlite:///{path}")

    def fresh() -> None:
        shutil.copy(old, path)

    fresh()
    before = Ledger(f"sqlite:///{path}").upgrade().before  # once, for the imports
    assert before == 1
    fresh()
    total = kill_points.count(lambda: ledger.upgrade().after)
    points = kill_points.spread(total, wanted)
    for point in points:
        fresh()
        ended = kill_points.killed_at(point, lambda: ledger.upgrade().after)
        done = ledger.upgrade()  # whoever comes next finishes it
        assert done.before in ((done.after,) if ended.returned else (1, done.after)), ended
        assert [row.what for row in ledger.charges("clinic")] == ["an old charge"]
        assert charge(ledger) == 2
        assert ledger.verify().status == "sound"
    return len(points)


@pytest.mark.slow
def test_killed_at_lines_of_an_upgrade(tmp_path: Path) -> None:
    upgrades(tmp_path, 12)


@pytest.mark.slow
def test_killed_at_every_line_of_an_upgrade(tmp_path: Path) -> None:
    upgrades(tmp_path, None)


def test_a_kill_point_is_where_it_says_and_an_end_is_told(sqlite_ledger: Ledger) -> None:
    """The law of the instrument itself: the n-th line, a whole run, and an error are told apart."""
    prepare(sqlite_ledger)
    total = kill_points.count(lambda: charge(sqlite_ledger, 1))
    first = kill_points.killed_at(1, lambda: charge(sqlite_ledger, 2))
    assert (first.killed, first.returned, first.lines) == (True, False, 1)
    assert "/hullabaloo/" in first.at
    whole = kill_points.killed_at(total + 1, lambda: charge(sqlite_ledger, 3))
    assert whole.returned
    assert whole.lines == total
    refused = kill_points.killed_at(0, lambda: sqlite_ledger.dataset("nobody").charges)
    assert refused.raised.startswith("UnknownDataset: ")
    assert kill_points.spread(5) == kill_points.spread(5, 9) == [1, 2, 3, 4, 5]
    assert kill_points.spread(101, 3) == [1, 51, 101]
