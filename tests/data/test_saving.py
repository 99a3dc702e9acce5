"""`write_whole`: in one step, in one order, with the rights of the file, whatever the other writers do and wherever it fails."""

import errno
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hullabaloo as hb
from hullabaloo.data import saving
from hullabaloo.data.documents import READERS, Format
from hullabaloo.data.saving import write_whole
from tests.linear_model import examples

FORMAT = Format(next(iter(READERS)), "number", "write")


def spied(
    monkeypatch: pytest.MonkeyPatch, asked: list[str], fails: int | None = None, error: int = errno.ENOSPC
) -> None:
    """Note what `os` is asked; of the calls that can fail, that of number `fails` does."""

    def spy(name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def call(*arguments: Any, **named: Any) -> Any:
            kind = ""
            if name == "fsync":
                kind = " folder" if stat.S_ISDIR(os.fstat(arguments[0]).st_mode) else " file"
            asked.append(name + kind)
            if fails is not None and len(asked) == fails + 1:
                raise OSError(error, os.strerror(error))
            return real(*arguments, **named)

        return call

    for name in ("open", "write", "fchmod", "fsync", "replace"):
        monkeypatch.setattr(saving.os, name, spy(name))


def test_the_order_is_bytes_file_name_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model was renamed without one `fsync`: after a loss of power its name could hold nothing."""
    asked: list[str] = []
    spied(monkeypatch, asked)
    write_whole(tmp_path / "a.json", "text")
    assert asked == ["open", "open", "write", "fsync file", "replace", "fsync folder"]


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS, errno.EIO])
@pytest.mark.parametrize("fails", range(7))
@pytest.mark.parametrize("exists", [True, False])
def test_a_disk_that_fails_at_any_call_leaves_the_old_or_the_new_and_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: int, exists: bool, error: int
) -> None:
    path, asked = tmp_path / "a.json", []  # type: ignore[var-annotated]
    if exists:
        path.write_text("old")
    with monkeypatch.context() as patch:
        spied(patch, asked, fails, error)
        if fails < 6 + exists:
            with pytest.raises(OSError, match=os.strerror(error)) as told:
                write_whole(path, "new")
            assert (told.value.errno, told.value.filename) == (error, str(path))
        else:
            write_whole(path, "new")
    assert [one.name for one in tmp_path.iterdir()] == (["a.json"] if exists or fails >= 5 + exists else [])
    if path.exists():
        assert path.read_text() == ("new" if fails >= 5 + exists else "old")


def test_the_file_keeps_its_rights_and_a_new_one_has_those_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", "a")
        write_whole(tmp_path / "private", "a", private=True)
        (tmp_path / "old").touch()
        (tmp_path / "old").chmod(0o604)
        write_whole(tmp_path / "old", "a")
    finally:
        os.umask(before)
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {
        "new": 0o640, "private": 0o600, "old": 0o604
    }  # fmt: skip


def test_a_draft_is_never_more_open_than_the_file_and_never_another_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, seen = tmp_path / "a", []  # type: ignore[var-annotated]
    path.touch(0o600)
    real = os.write

    def look(file: int, data: Any) -> int:
        (draft,) = [one for one in tmp_path.iterdir() if one != path]
        seen.append(draft.stat().st_mode & 0o777)
        return real(file, data)

    monkeypatch.setattr(saving.os, "write", look)
    write_whole(path, "x")
    assert seen == [0o600]
    monkeypatch.setattr(saving, "draft_of", lambda name: "taken")
    (tmp_path / "taken").symlink_to(path)
    with pytest.raises(FileExistsError):
        write_whole(path, "y")
    assert path.read_text() == "x"
    assert (tmp_path / "taken").is_symlink()


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_a_draft_is_born_no_more_open_than_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int) -> None:
    """Whoever opens it before its rights are taken away reads all that is written later."""
    path, born, real = tmp_path / "a", [], os.open  # type: ignore[var-annotated]
    path.touch()
    path.chmod(mode)

    def look(name: Any, flags: int, *rest: Any, **options: Any) -> int:
        made = real(name, flags, *rest, **options)
        if flags & os.O_CREAT:
            born.append(os.fstat(made).st_mode & 0o777)
        return made

    monkeypatch.setattr(saving.os, "open", look)
    before = os.umask(0)
    try:
        write_whole(path, "x", private=mode == 0o600)
    finally:
        os.umask(before)
    assert born == [mode]


def test_names_of_any_length_and_what_is_no_ordinary_file(tmp_path: Path) -> None:
    longest = tmp_path / ("é" * 127 + "x")
    write_whole(longest, "a")
    assert longest.read_text() == "a"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="No such device"):  # nobody reads: it does not wait
        write_whole(tmp_path / "pipe", "a")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_whole(tmp_path / "pipe", "a")
    assert os.read(reader, 9) == b"a"
    os.close(reader)
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path, "a")


READER = """
import json, sys
path, torn, read = sys.argv[1], 0, 0
while not sys.stdin.closed and read < int(sys.argv[2]):
    try:
        found = json.load(open(path))
        torn += len(set(found["numbers"])) != 1
    except ValueError:
        torn += 1
    except FileNotFoundError:
        torn += 1
    read += 1
print(torn)
"""


@pytest.mark.parametrize("rounds", [25, pytest.param(400, marks=pytest.mark.slow)])
def test_many_writers_with_one_number_and_many_readers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rounds: int
) -> None:
    """Drafts were named by the process alone: threads, and processes of two containers, wrote into each other's."""
    path, failed = tmp_path / "a.json", []  # type: ignore[var-annotated]
    monkeypatch.setattr(os, "getpid", lambda: 1)
    FORMAT.write({"numbers": [0] * 2000}, path)

    def write(number: int) -> None:
        try:
            for _ in range(rounds):
                FORMAT.write({"numbers": [number] * 2000}, path)
        except OSError as error:
            failed.append(error)

    children = []
    for number in (101, 102):  # as in two containers: the same number of a process
        child = os.fork()
        if not child:
            try:
                write(number)
            finally:
                os._exit(bool(failed))
        children.append(child)
    readers = [
        subprocess.Popen([sys.executable, "-c", READER, str(path), str(40 * rounds)], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0]
    assert [int(reader.communicate(timeout=60)[0]) for reader in readers] == [0, 0]
    assert failed == []
    assert [one.name for one in tmp_path.iterdir()] == ["a.json"]
    assert len(set(json.loads(path.read_text())["numbers"])) == 1


@pytest.mark.usefixtures("undrawn")
def test_every_document_of_the_library_is_written_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models, models of streams, cards, evaluations and reports of audits: none by a way of its own."""
    frame = examples.table(60)
    domain, budget = examples.domain_for("LinearRegression"), hb.Budget(1.0, 1e-6)
    model = hb.LinearRegression(budget=budget, domain=domain, solver="moments").fit(frame)
    stream = hb.streaming.IncrementalRegression(budget=budget, domain=domain, horizon=60, every=60).fit(frame)
    report = hb.audit(
        hb.LinearRegression(budget=budget, domain=hb.Domain(features={"a": (0, 1)}, target=(0, 1)), solver="moments"),
        runs=6,
    )
    card = hb.report.card(model)
    writers: dict[str, Callable[[Path], Any]] = {
        "model": model.save, "stream": stream.model_at().save, "card": card.to_json, "page": card.to_html, "audit": report.save,
        "evaluation": hb.evaluate(model, frame, budget=budget).save,
    }  # fmt: skip
    for name, write in writers.items():
        asked: list[str] = []
        with monkeypatch.context() as patch:
            spied(patch, asked)
            write(tmp_path / name)
        assert asked[-3:] == ["fsync file", "replace", "fsync folder"], name


def test_a_folder_that_cannot_be_flushed_by_its_kind_of_file_system_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders shared with a virtual machine answer EINVAL to `fsync` of a folder: every save there would end in an error."""
    asked: list[str] = []
    spied(monkeypatch, asked, fails=5, error=errno.EINVAL)
    write_whole(tmp_path / "a.json", "text")
    assert asked[-1] == "fsync folder"
    assert (tmp_path / "a.json").read_text() == "text"


def test_a_draft_of_a_long_name_ends_with_a_whole_letter() -> None:
    """A letter was cut in two, which file systems refuse that know of encodings."""
    for name in ("a" + "é" * 127, "é" * 127, "漢" * 85, "a\udcff"):
        draft = saving.draft_of(name)
        assert draft.encode().decode() == draft
        assert len(draft.encode()) <= 255
