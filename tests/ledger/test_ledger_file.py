"""One file, one name, and the same file at the end: what operators do to an SQLite ledger is refused or told."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from namespaces import mount, with_own_mounts
from sqlalchemy import Engine, event

from hullabaloo.errors import InvalidParameter, LedgerUnreachable
from hullabaloo.ledger import Ledger, sqlite
from hullabaloo.privacy import Budget, SelectionEvent

PART = Budget(0.01, 0.0)


def charge(ledger: Ledger) -> int:
    return ledger.charge("clinic", SelectionEvent(0.01), budget=PART, neighbours="replace-one", what="test").number


def at(path: Path) -> Ledger:
    return Ledger(f"sqlite:///{path}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    file = tmp_path / "here" / "privacy.db"
    at(file).create("clinic", Budget(1.0, 1e-6))
    return file


ACTS: dict[str, Callable[[Ledger], object]] = {
    "charge": charge,
    "create": lambda ledger: ledger.create("other", PART),
    "remaining": lambda ledger: ledger.remaining("clinic"),
    "verify": Ledger.verify,
    "upgrade": Ledger.upgrade,
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_a_file_with_two_names_is_refused_under_both(path: Path, act: Callable[[Ledger], object]) -> None:
    """Two processes on two hard links keep two journals: each rolled back and overwrote what the other had acknowledged."""
    other = path.parent.parent / "other.db"
    other.hardlink_to(path)
    before = path.read_bytes()
    for name in (path, other):
        with pytest.raises(LedgerUnreachable, match=r"has 2 names \(hard links\).*Remove the other names"):
            act(at(name))
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*-journal"))
    other.unlink()
    act(at(path))


def test_a_symbolic_link_is_the_file_itself(path: Path, tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(path)
    (tmp_path / "folder").symlink_to(path.parent)
    assert at(tmp_path / "link.db") == at(tmp_path / "folder" / "privacy.db") == at(path)
    named = at(path)
    path.rename(tmp_path / "real.db")
    path.symlink_to(tmp_path / "real.db")  # after the ledger was named: SQLite itself follows, and keeps one journal
    assert charge(named) == 1
    assert charge(at(tmp_path / "real.db")) == 2


def test_a_file_that_is_mounted_by_itself_is_refused_and_its_folder_is_not(path: Path, tmp_path: Path) -> None:
    """The journal of whoever comes by the mounted file lies in another folder."""
    single, folder = tmp_path / "mounted file.db", tmp_path / "mounted"
    single.touch()
    folder.mkdir()

    def act() -> list[object]:
        mount("--bind", path, single)
        mount("--bind", path.parent, folder)
        refused = "accepted"
        try:
            charge(at(single))
        except LedgerUnreachable as error:
            refused = str(error)
        return [refused, charge(at(folder / "privacy.db"))]

    ended = with_own_mounts(act)
    assert ended.returned, ended.raised
    refused, number = ended.value
    assert "is a mount point of its own" in refused
    assert "Mount the folder that holds the file instead" in refused
    assert number == 1
    assert charge(at(path)) == 2


def test_a_file_on_another_device_than_its_folder_is_refused_where_mounts_are_not_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices = {path: 7, path.parent: 8}
    told = SimpleNamespace(st_mode=path.stat().st_mode, st_nlink=1, st_ino=9)
    monkeypatch.setattr(sqlite, "mount_points", frozenset)
    monkeypatch.setattr(sqlite, "_stat", lambda at: SimpleNamespace(**vars(told), st_dev=devices[at]))
    with pytest.raises(LedgerUnreachable, match="is a mount point of its own"):
        charge(at(path))
    monkeypatch.setattr(sqlite, "mount_points", lambda: frozenset({"/"}))  # they are told: a layered file system
    assert charge(at(path)) == 1


def test_mount_points_are_read_as_the_system_writes_them(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_bytes(
        b"63 43 0:39 / /tmp/d rw,relatime - tmpfs x rw\n"
        b"64 43 254:0 /tmp/a\\040b /srv/my\\040ledger\\134x.db rw shared:1 master:2 - ext4 /dev/vda rw\n"
        b"65 43 254:0 / /caf\xc3\xa9\\011\\012 rw - ext4 /dev/vda rw\n"
    )
    assert sqlite.mount_points(table) == {"/tmp/d", "/srv/my ledger\\x.db", "/café\t\n"}
    assert sqlite.mount_points(tmp_path / "nothing") == frozenset()
    if os.path.exists("/proc/self/mountinfo"):
        assert "/" in sqlite.mount_points()


@pytest.mark.parametrize("how", ["replaced", "moved", "removed"])
def test_a_file_that_is_replaced_before_the_commit_is_told(path: Path, how: str) -> None:
    """The commit went to the file that was no longer there, and the charge was acknowledged."""
    backup = path.with_name("backup.db")
    shutil.copy(path, backup)

    def replace(_: object) -> None:
        if how == "replaced":
            backup.replace(path)
        elif how == "moved":
            path.rename(path.with_name("moved.db"))
        else:
            path.unlink()

    event.listen(Engine, "commit", replace)
    try:
        with pytest.raises(LedgerUnreachable, match=r"was replaced, moved or removed.*the charge may be lost"):
            charge(at(path))
    finally:
        event.remove(Engine, "commit", replace)
    if how == "replaced":
        assert at(path).charges("clinic") == ()
        assert charge(at(path)) == 1


def test_a_file_that_is_replaced_before_the_first_write_is_never_charged(path: Path) -> None:
    """SQLite itself notices, since no journal is open yet."""
    backup = path.with_name("backup.db")
    shutil.copy(path, backup)

    def replace(connection: object, cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("INSERT") and backup.exists():
            backup.replace(path)

    event.listen(Engine, "before_cursor_execute", replace)
    try:
        with pytest.raises(LedgerUnreachable):
            charge(at(path))
    finally:
        event.remove(Engine, "before_cursor_execute", replace)
    assert at(path).charges("clinic") == ()


def test_a_ledger_is_not_bound_to_a_path(path: Path, tmp_path: Path) -> None:
    """A folder has one path on the host and another in a container."""
    assert charge(at(path)) == 1
    path.parent.rename(tmp_path / "there")
    assert charge(at(tmp_path / "there" / "privacy.db")) == 2
    assert str(tmp_path).encode() not in (tmp_path / "there" / "privacy.db").read_bytes()


@pytest.mark.parametrize("name", ["a\0b.db", "~nobody-of-this-name/privacy.db", "circle/privacy.db"])
def test_what_is_no_path_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("circle").symlink_to("circle")
    with pytest.raises(InvalidParameter, match=r"no path that can be followed|not a database URL"):
        Ledger(f"sqlite:///{name}")
