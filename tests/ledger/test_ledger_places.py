"""Disks that are full, read-only or gone, clocks that leap, processes that share no process numbers: refused, or in order."""

import contextlib
import datetime
import multiprocessing
import resource
import shutil
import time
from pathlib import Path

import pytest
from namespaces import mount, with_own_mounts, with_own_pids
from operations import charge, numbered, prepare
from tests import kill_points

from hullabaloo.errors import LedgerUnreachable
from hullabaloo.ledger import Ledger


def test_containers_whose_processes_have_the_same_number_take_turns(sqlite_ledger: Ledger) -> None:
    """Two processes that are both number 1 of their namespaces, at the same time."""
    prepare(sqlite_ledger)
    before = numbered(sqlite_ledger)

    with_own_pids(lambda: 0)  # skips where it is not permitted
    with multiprocessing.get_context("fork").Pool(2) as pool:
        both = pool.map(_in_a_container, [sqlite_ledger] * 2, chunksize=1)
    assert [number for number, _ in both] == [1, 1]
    assert sorted(both[0][1] + both[1][1]) == list(range(before + 1, before + 11))
    assert numbered(sqlite_ledger) == before + 10


def _in_a_container(ledger: Ledger) -> tuple[int, list[int]]:
    ended = with_own_pids(lambda: [charge(ledger) for _ in range(5)])
    assert ended.returned, ended.raised
    return ended.value[0], ended.value[1]


def test_a_full_disk_refuses_and_loses_nothing(sqlite_ledger: Ledger, tmp_path: Path) -> None:
    prepare(sqlite_ledger)
    place = tmp_path / "small"
    place.mkdir()

    def act() -> list[object]:
        mount("-t", "tmpfs", "-o", "size=256k", "none", place)
        shutil.copy(tmp_path / "privacy.db", place)
        ledger = Ledger(f"sqlite:///{place}/privacy.db")
        charge(ledger)
        kept = numbered(ledger)
        with open(place / "rest", "wb", buffering=0) as rest, contextlib.suppress(OSError):
            while rest.write(bytes(512)):
                pass
        try:
            charge(ledger)
            said = "accepted"
        except LedgerUnreachable as error:
            said = str(error)
        held = numbered(ledger)
        (place / "rest").unlink()
        return [said, kept, held, charge(ledger)]

    ended = with_own_mounts(act)
    assert ended.returned, ended.raised
    said, kept, held, after = ended.value
    assert "full" in said
    assert (held, after) == (kept, kept + 1)


def test_a_file_that_may_not_grow_refuses_and_loses_nothing(sqlite_ledger: Ledger, tmp_path: Path) -> None:
    prepare(sqlite_ledger)
    kept = numbered(sqlite_ledger)

    def act() -> list[object]:
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, resource.RLIM_INFINITY))
        try:
            charge(sqlite_ledger)
            said = "accepted"
        except LedgerUnreachable as error:
            said = str(error)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        return [said, numbered(sqlite_ledger)]

    ended = kill_points.killed_at(0, act)
    assert ended.returned, ended.raised
    assert ended.value[0].startswith("The ledger sqlite:///")
    assert ended.value[1] == kept
    assert charge(sqlite_ledger) == kept + 1


def test_a_folder_that_is_read_only_or_gone_refuses(sqlite_ledger: Ledger, tmp_path: Path) -> None:
    prepare(sqlite_ledger)
    kept = numbered(sqlite_ledger)

    def read_only() -> list[object]:
        mount("--bind", tmp_path, tmp_path)
        mount("-o", "remount,ro,bind", tmp_path)
        try:
            charge(sqlite_ledger)
        except LedgerUnreachable as error:
            return [str(error), numbered(sqlite_ledger)]
        return ["accepted", 0]

    ended = with_own_mounts(read_only)
    assert ended.returned, ended.raised
    assert "readonly" in ended.value[0]
    assert ended.value[1] == kept
    away = tmp_path.with_name(f"{tmp_path.name}-away")
    tmp_path.rename(away)
    try:
        with pytest.raises(LedgerUnreachable, match="the file does not exist"):
            charge(sqlite_ledger)
        assert not tmp_path.exists()
    finally:
        away.rename(tmp_path)
    assert charge(sqlite_ledger) == kept + 1


class Leaping(datetime.datetime):
    """A clock that goes back a year at every look, from time to time forward a century."""

    looks = 0

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> "Leaping":
        cls.looks += 1
        return cls(2126 - cls.looks if cls.looks % 3 else 2226, 1, 1, tzinfo=tz)


def test_a_clock_that_leaps_changes_no_order_and_no_patience(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    from hullabaloo.ledger import schema

    prepare(ledger)
    before = numbered(ledger)
    monkeypatch.setattr(schema, "datetime", Leaping)
    monkeypatch.setattr(time, "time", lambda: 1.7e9 - 1e7 * Leaping.looks)
    assert [charge(ledger, n) for n in range(5)] == list(range(before + 1, before + 6))
    assert numbered(ledger) == before + 5
    times = [row.charged_at for row in ledger.charges("clinic")][-5:]
    assert times != sorted(times)  # as the clock said, and the order is that of the numbers
    assert ledger.verify().status == "sound"
