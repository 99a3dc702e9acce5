"""The journal: charged once, one sequence of noises, whatever is killed, copied or unreachable in between."""

import multiprocessing
import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from hullabaloo._version import __version__
from hullabaloo.durable.journal import Journal, require_own
from hullabaloo.durable.sealed import Snapshot, State
from hullabaloo.durable.state import StateFile
from hullabaloo.errors import (
    BudgetExhausted,
    HullabalooError,
    LedgerUnreachable,
    StateError,
    StreamMoved,
    UnknownStream,
)
from hullabaloo.ledger import Charge, Ledger
from hullabaloo.privacy import Budget, GaussianEvent
from hullabaloo.release.release import NO_COPY_IS_NOTICED

FULL, PART = Budget(1.0, 1e-6), Budget(0.4, 1e-7)
PUBLIC = {"horizon": 1000, "every": 10, "columns": ["a", "b"]}


class Killed(BaseException):
    """Stands for SIGKILL: nothing of ours catches it, except to let files go, as the system would."""


@dataclass
class Stream:
    """A process as small as it can be: each step draws noise once; what is shown is all noise up to the step."""

    noises: list[str] = field(default_factory=list)

    def step(self) -> None:
        self.noises.append(uuid4().hex)

    @property
    def position(self) -> int:
        return 10 * len(self.noises)

    def snapshot(self) -> Snapshot:
        return Snapshot({"noises": list(self.noises)}, {"sums": np.arange(len(self.noises) * 1.0)})


@cache
def empty_ledger() -> bytes:
    with TemporaryDirectory() as folder:
        Ledger(f"sqlite:///{folder}/privacy.db").create("clinic", FULL, neighbours="replace-one")
        return Path(folder, "privacy.db").read_bytes()


def new_ledger(folder: Path, name: str = "privacy.db") -> Ledger:
    (folder / name).write_bytes(empty_ledger())
    return Ledger(f"sqlite:///{folder / name}")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return new_ledger(tmp_path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "stream.state"


def charge(ledger: Ledger | None, stream: str) -> Charge:
    assert ledger is not None
    event = GaussianEvent(200.0, samples=1000)
    return ledger.open_stream("clinic", stream, event, budget=PART, neighbours="replace-one", what="a stream")


def begin(path: Path | None, ledger: Ledger | None, **other: Any) -> tuple[Journal, Stream]:
    options = {
        "state": path, "key_file": None, "fingerprint": "mine", "public": PUBLIC, "ledger": ledger,
        "dataset": None if ledger is None else "clinic", "charge": lambda stream: charge(ledger, stream),
    } | other  # fmt: skip
    journal, snapshot = Journal.begin(**options)
    return journal, Stream([] if snapshot is None else list(snapshot.numbers["noises"]))


def steps(journal: Journal, stream: Stream, count: int = 1) -> None:
    for _ in range(count):
        stream.step()
        journal.commit(stream.snapshot, stream.position)


@pytest.fixture
def opened(path: Path, ledger: Ledger) -> Iterator[tuple[Journal, Stream]]:
    journal, stream = begin(path, ledger)
    steps(journal, stream, 2)
    yield journal, stream
    journal.close()


def test_without_a_file_nothing_is_written_and_nothing_is_asked(tmp_path: Path, ledger: Ledger) -> None:
    free, _ = begin(None, None)
    assert free.charge is None
    paid, _ = begin(None, ledger)
    assert paid.charge == ledger.charges("clinic")[0]
    before = sorted(os.listdir(tmp_path))
    for journal in (free, paid):
        journal.commit(lambda: pytest.fail("asked for a snapshot"), 10)
        journal.close()
    assert sorted(os.listdir(tmp_path)) == before
    assert [one.position for one in ledger.streams("clinic")] == [0]


@pytest.mark.parametrize("with_ledger", [True, False], ids=["ledger", "no ledger"])
def test_it_goes_on_where_it_was(path: Path, ledger: Ledger, with_ledger: bool) -> None:
    book = ledger if with_ledger else None
    journal, stream = begin(path, book)
    assert stream.noises == []
    journal.close()
    for _ in range(3):  # the second begins with a file that holds no save yet
        journal, found = begin(path, book)
        assert found.noises == stream.noises
        stream = found
        steps(journal, stream, 2)
        journal.close()
        with pytest.raises(StateError, match="not open"):
            journal.commit(stream.snapshot, stream.position)
    assert len(stream.noises) == 6
    if with_ledger:
        (row,) = ledger.streams("clinic")
        assert (row.position, row.charge) == (60, 1)
        assert journal.charge == ledger.charges("clinic")[0]
        assert ledger.verify().status == "sound"


# ---- kills and failures at every place --------------------------------------------------------------------------------

PLACES = ["StateFile.open", "StateFile.write", "Ledger.open_stream", "Ledger.stream", "Ledger.advance"]


def interrupt(
    monkeypatch: pytest.MonkeyPatch, place: str, turn: int, *, after: bool, error: BaseException
) -> Callable[[], int]:
    """Raise before or after the call number `turn` of one of the journal's means; gives how many calls there were."""
    owner = {"StateFile": StateFile, "Ledger": Ledger}[place.partition(".")[0]]
    name = place.partition(".")[2]
    real, count = getattr(owner, name), 0

    def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
        nonlocal count
        count += 1
        if count == turn and not after:
            raise error
        found = real(self, *arguments, **keywords)
        if count == turn and after:
            raise error
        return found

    monkeypatch.setattr(owner, name, call)
    return lambda: count


@pytest.mark.few(6)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("place", PLACES)
def test_killed_at_any_place_it_is_charged_once_and_shows_one_sequence(
    tmp_path: Path, ledger: Ledger, place: str, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for turn in range(1, 10):
        path, shown, stream = tmp_path / f"{turn}.state", [], None
        journal = None
        book = new_ledger(tmp_path, f"{turn}.db")
        calls = interrupt(monkeypatch, place, turn, after=after, error=Killed())
        try:
            journal, stream = begin(path, book)
            for _ in range(2):
                steps(journal, stream)
                shown = list(stream.noises)
        except Killed:
            pass
        monkeypatch.undo()
        if journal is not None:
            journal.close()  # as the system does
        again, stream = begin(path, book)
        assert stream.noises[: len(shown)] == shown
        steps(again, stream)
        again.close()
        assert len(book.charges("clinic")) == len(book.streams("clinic")) == 1
        assert book.stream("clinic", again._state.stream).position == stream.position  # type: ignore[union-attr]
        if calls() < turn:
            break
    assert turn > 1


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("place", ["StateFile.write", "Ledger.advance"])
def test_a_commit_that_failed_is_made_again_with_the_same_noise(
    path: Path, opened: tuple[Journal, Stream], ledger: Ledger, place: str, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, stream = opened
    stream.step()
    error = StateError("a full disk") if place == "StateFile.write" else LedgerUnreachable("a broken line")
    for _ in range(2):
        interrupt(monkeypatch, place, 1, after=after, error=error)
        with pytest.raises(type(error)):
            journal.commit(stream.snapshot, stream.position)
        monkeypatch.undo()
    journal.commit(stream.snapshot, stream.position)
    steps(journal, stream)
    assert ledger.streams("clinic")[0].position == 40
    journal.close()
    _, found = begin(path, ledger)
    assert found.noises == stream.noises


def test_an_unreachable_ledger_shows_nothing_and_loses_nothing(
    path: Path, opened: tuple[Journal, Stream], ledger: Ledger, tmp_path: Path
) -> None:
    journal, stream = opened
    (tmp_path / "privacy.db").rename(tmp_path / "away.db")
    stream.step()
    for _ in range(2):
        with pytest.raises(LedgerUnreachable):
            journal.commit(stream.snapshot, stream.position)
    saved = path.read_bytes()
    with pytest.raises(LedgerUnreachable):
        journal.commit(stream.snapshot, stream.position)
    assert path.read_bytes() == saved, "an unconfirmed save is not overwritten"
    journal.close()
    with pytest.raises(LedgerUnreachable):
        begin(path, ledger)
    (tmp_path / "away.db").rename(tmp_path / "privacy.db")
    again, found = begin(path, ledger)
    assert found.noises == stream.noises, "the save was whole, and is confirmed now"
    assert ledger.streams("clinic")[0].position == 30
    again.close()


def test_a_stream_that_the_ledger_refuses_leaves_no_file(path: Path, ledger: Ledger, tmp_path: Path) -> None:
    for name in "ab":
        begin(tmp_path / name, ledger)[0].close()
    with pytest.raises(BudgetExhausted):
        begin(path, ledger)
    assert not path.exists()
    journal, stream = begin(tmp_path / "a", ledger)
    steps(journal, stream)
    journal.close()


def test_a_beginning_without_an_answer_keeps_its_name(
    path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(monkeypatch, "Ledger.open_stream", 1, after=True, error=LedgerUnreachable("lost"))
    with pytest.raises(LedgerUnreachable):
        begin(path, ledger)
    monkeypatch.undo()
    journal, _ = begin(path, ledger)
    journal.close()
    assert len(ledger.charges("clinic")) == 1


# ---- copies, other streams, other ledgers -------------------------------------------------------------------------------


def copy(path: Path, name: str) -> Path:
    return Path(shutil.copy2(path, path.parent / name))


def test_an_older_copy_is_refused(path: Path, opened: tuple[Journal, Stream], ledger: Ledger) -> None:
    journal, stream = opened
    old = copy(path, "old")
    steps(journal, stream)
    journal.close()
    with pytest.raises(StateError, match=r"position 20 .*position 30.*outdated copy.*newest state file"):
        begin(old, ledger)
    shutil.copy2(old, path)
    with pytest.raises(StateError, match="outdated copy"):
        begin(path, ledger)


def test_a_copy_from_before_the_charge_is_worth_nothing(
    path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(monkeypatch, "Ledger.open_stream", 1, after=False, error=Killed())
    with pytest.raises(Killed):
        begin(path, ledger)
    monkeypatch.undo()
    blank = copy(path, "blank")
    one, stream = begin(path, ledger)
    two, other = begin(blank, ledger)  # nothing was taken: both may try, one goes on
    steps(one, stream)
    other.step()
    with pytest.raises(StreamMoved):
        two.commit(other.snapshot, other.position)
    one.close()
    two.close()
    with pytest.raises(StateError, match="same state"):
        begin(blank, ledger)
    assert len(ledger.charges("clinic")) == 1


def test_of_two_that_go_on_from_copies_one_does(path: Path, opened: tuple[Journal, Stream], ledger: Ledger) -> None:
    journal, stream = opened
    other_journal, other = begin(copy(path, "copy"), ledger)
    assert other.noises == stream.noises
    steps(other_journal, other)
    stream.step()
    for _ in range(2):
        with pytest.raises(StreamMoved, match="nothing is released"):
            journal.commit(stream.snapshot, stream.position)
    journal.close()
    with pytest.raises(StateError, match=r"position 30 .* same state"):
        begin(path, ledger)
    steps(other_journal, other)
    other_journal.close()


def _race(path: Path, ledger: Ledger) -> list[str] | None:
    try:
        journal, stream = begin(path, ledger)
        steps(journal, stream)
        journal.close()
    except HullabalooError:
        return None
    return stream.noises


def test_of_processes_that_race_from_copies_one_shows_a_step(
    path: Path, opened: tuple[Journal, Stream], ledger: Ledger
) -> None:
    opened[0].close()
    with multiprocessing.get_context("fork").Pool(4) as pool:
        for turn in range(3):
            before = path.read_bytes()
            copies = [copy(path, f"{turn}-{one}") for one in range(4)]
            found = pool.starmap(_race, [(one, ledger) for one in copies], chunksize=1)
            (place,) = (number for number, one in enumerate(found) if one is not None)
            shutil.copy2(copies[place], path)
            assert path.read_bytes() != before


def test_a_ledger_that_was_put_back_or_is_another_is_noticed(
    path: Path, opened: tuple[Journal, Stream], ledger: Ledger, tmp_path: Path
) -> None:
    journal, stream = opened
    backup = copy(tmp_path / "privacy.db", "backup.db")
    steps(journal, stream, 2)
    journal.close()
    with pytest.raises(StateError, match="put back to an older backup"):
        begin(path, Ledger(f"sqlite:///{backup}"))
    with pytest.raises(UnknownStream, match="another ledger"):
        begin(path, new_ledger(tmp_path, "other.db"))
    assert new_ledger(tmp_path, "third.db").charges("clinic") == ()


def test_another_stream_is_told_what_differs(path: Path, opened: tuple[Journal, Stream], ledger: Ledger) -> None:
    opened[0].close()
    with pytest.raises(
        StateError, match=r"horizon is 1000 there and 2000 here; more is None there and True here"
    ) as caught:
        begin(path, ledger, fingerprint="yours", public=PUBLIC | {"horizon": 2000, "more": True})
    assert "columns" not in str(caught.value)
    with pytest.raises(StateError, match="settings of the same names differ in what they hold"):
        begin(path, ledger, fingerprint="yours")
    with pytest.raises(StateError, match="ledger's dataset is 'clinic' there and None here"):
        begin(path, None)
    with pytest.raises(StateError, match="'clinic' there and 'school' here"):
        begin(path, ledger, dataset="school")
    assert len(ledger.charges("clinic")) == 1


def test_a_stream_without_a_ledger_cannot_be_given_one_later(path: Path, ledger: Ledger) -> None:
    journal, stream = begin(path, None)
    steps(journal, stream)
    journal.close()
    with pytest.raises(StateError, match="ledger's dataset is None there and 'clinic' here"):
        begin(path, ledger)
    assert ledger.charges("clinic") == ()


def test_without_a_ledger_a_copy_goes_on_unnoticed_and_the_words_say_so(path: Path) -> None:
    """What the check needs the ledger for; a statement says it in these words."""
    journal, stream = begin(path, None)
    steps(journal, stream)
    old = copy(path, "old")
    steps(journal, stream)
    journal.close()
    other_journal, other = begin(old, None)
    steps(other_journal, other)
    other_journal.close()
    assert other.noises[1] != stream.noises[1]
    assert "older copy" in NO_COPY_IS_NOTICED


# ---- everything at once -------------------------------------------------------------------------------------------------


@dataclass
class World:
    """Processes, copies and accidents around one stream, and everything that was ever shown."""

    folder: Path
    ledger: Ledger
    monkeypatch: pytest.MonkeyPatch
    choose: random.Random
    shown: dict[int, str] = field(default_factory=dict)
    running: list[tuple[Journal, Stream, Path]] = field(default_factory=list)
    refused: int = 0
    files: int = 0

    def act(self) -> None:
        actions = [self.go_on, self.go_on, self.commit, self.commit, self.commit, self.commit, self.keep_a_copy]
        self.choose.choice(actions)()

    def accident(self) -> None:
        if self.choose.random() < 0.35:
            error = self.choose.choice([Killed(), LedgerUnreachable("lost"), StateError("full")])
            place = self.choose.choice(["StateFile.write", "Ledger.advance", "Ledger.stream", "Ledger.open_stream"])
            after = self.choose.random() < 0.5
            interrupt(self.monkeypatch, place, self.choose.choice([1, 2]), after=after, error=error)

    def go_on(self) -> None:
        """A process begins from the file or from one of its copies."""
        files = sorted(self.folder.glob("*.state")) or [self.folder / "0.state"]
        path = self.choose.choice(files)
        self.accident()
        try:
            journal, stream = begin(path, self.ledger)
        except (Killed, HullabalooError):
            self.refused += 1
        else:
            self.show(stream)
            self.running.append((journal, stream, path))
        self.monkeypatch.undo()

    def commit(self) -> None:
        """A running process takes a step; killed, it is gone; refused, it tries again some other time."""
        if not self.running:
            return
        one = journal, stream, _ = self.choose.choice(self.running)
        if self.choose.random() < 0.8:
            stream.step()
        self.accident()
        try:
            journal.commit(stream.snapshot, stream.position)
        except Killed:
            journal.close()
            self.running.remove(one)
        except StreamMoved:
            self.refused += 1
            journal.close()
            self.running.remove(one)
        except HullabalooError:
            pass
        else:
            self.show(stream)
        self.monkeypatch.undo()

    def keep_a_copy(self) -> None:
        files = sorted(self.folder.glob("*.state"))
        if files:
            self.files += 1
            shutil.copy2(self.choose.choice(files), self.folder / f"{self.files}.state")

    def show(self, stream: Stream) -> None:
        for step, noise in enumerate(stream.noises):
            assert self.shown.setdefault(step, noise) == noise, f"step {step} was shown with two noises"


def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, worlds: int, actions: int, seed: int) -> tuple[int, int]:
    steps = refused = 0
    for number in range(worlds):
        folder = tmp_path / str(number)
        folder.mkdir()
        world = World(folder, new_ledger(folder), monkeypatch, random.Random(f"{seed}-{number}"))
        for _ in range(actions):
            world.act()
        for journal, _, _ in world.running:
            journal.close()
        assert len(world.ledger.charges("clinic")) == len(world.ledger.streams("clinic")) <= 1
        assert world.ledger.verify().status == "sound"
        steps += len(world.shown)
        refused += world.refused
    return steps, refused


@pytest.mark.slow
def test_no_history_of_kills_copies_and_failures_shows_a_step_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, refused = play(tmp_path, monkeypatch, worlds=3, actions=40, seed=1)
    assert shown > 10, "the histories went somewhere"
    assert refused > 10, "and met refusals"


@pytest.mark.slow
def test_many_histories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, refused = play(tmp_path, monkeypatch, worlds=150, actions=60, seed=2)
    assert shown > 1000
    assert refused > 1000


def test_settings_that_only_differ_in_what_they_hold_are_said_to() -> None:
    """Two custom losses of one name are told alike; an older version is not blamed for it."""
    for library, said in (
        (__version__, "settings of the same names differ in what they hold"),
        ("0.0.1", "begun with hullabaloo 0.0.1"),
    ):
        found = State("one", {"loss": "mine"}, "a", 0, "a", "a", None, library=library)
        with pytest.raises(StateError, match=said):
            require_own(SimpleNamespace(path="kept.state", kind="stream"), found, "another", {"loss": "mine"}, None)


@pytest.mark.parametrize("before", [{"format": 2, "runs": 3}, {"format": 3, "plans": [1.0]}])
def test_searches_of_another_format_or_plan_are_said_to_be_of_another_version(before: dict[str, Any]) -> None:
    """Whatever else their files say of themselves; a setting that differs under the same format is named."""
    here = {"format": 3, "plans": [2.0], "metric": "r2"}
    found = State("one", {"metric": "r2", **before}, "a", 0, "a", "a", None)
    with pytest.raises(StateError, match=r"was begun with .* of a version that .* that is a new search, and another"):
        require_own(SimpleNamespace(path="kept.state", kind="search"), found, "another", here, None)
    found = State("one", {**here, "plans": [1.0], "metric": "mae"}, "a", 0, "a", "a", None)
    with pytest.raises(StateError, match="belongs to another search: metric is 'mae' there and 'r2' here"):
        require_own(SimpleNamespace(path="kept.state", kind="search"), found, "another", here, None)
