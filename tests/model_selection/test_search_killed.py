"""Killed at random instants a search is paid for once, and carried out again from its secret it gives what it would have given."""

import json
import os
import random
import shutil
import signal
import stat
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.curation import running
from hullabaloo.curator.search_randomness import SearchRandomness
from hullabaloo.durable.state import StateFile
from hullabaloo.errors import (
    BudgetExhausted,
    InvalidParameter,
    LedgerUnreachable,
    StateError,
    StreamMoved,
    UnknownStream,
)
from hullabaloo.noise import TestKey
from hullabaloo.streaming import new_key_file

NAMES = [f"x{i}" for i in range(3)]
BUDGET = hb.Budget(1.0, 1e-6)


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, (2_000, 3))
    return x, np.clip(x @ [0.6, -0.3, 0.0] + 0.1 * rng.normal(size=2_000), -1, 1)


X, Y = data()


def search(folder: Path, **more: Any) -> hb.PrivateSearchCV:
    model = hb.Ridge(domain=hb.Domain(features=dict.fromkeys(NAMES, (-1, 1)), target=(-1, 1)), solver="moments")
    strengths = [hb.SquaredL2Penalty(0.001 * 2.0**i) for i in range(12)]
    given: dict[str, Any] = {"budget": BUDGET, "expected_candidates": 60, "state": folder / "search.state", **more}
    return hb.PrivateSearchCV(model, {"penalty": strengths}, **given)


def told(found: hb.PrivateSearchCV) -> str:
    model = found.best_estimator_
    numbers = [*model.coef_, model.intercept_, found.best_score_, float(found.best_index_)]
    return json.dumps([float(one).hex() for one in numbers])


def child(folder: Path, kill_after: float | None, **more: Any) -> int:
    """Search in a process of its own, which writes what it was given; kill it after a time."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            text = told(search(folder, **more).fit(X, Y))
            (folder / f".{os.getpid()}").write_text(text)
            (folder / f".{os.getpid()}").rename(folder / f"{os.getpid()}.told")
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    if kill_after is not None:
        until = time.perf_counter() + kill_after
        while time.perf_counter() < until:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.001)
        os.kill(pid, signal.SIGKILL)  # not waited for yet, so the number is still this child's
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def saved(folder: Path, key_file: Path | None = None, name: str = "search.state") -> dict[str, Any] | None:
    """What the state file holds: secret, whether it has ended, the best."""
    file = StateFile(folder / name, key_file, "search")
    try:
        found = file.open()
        return None if found is None else dict(found.snapshot.numbers)
    finally:
        file.close()


NO_SECRET = "0" * 64


def killed_often(folder: Path, kills: int, draw: random.Random, longest: float, **more: Any) -> int:
    """Kill, look at what was saved, and go on; gives how many kills hit a search under way."""
    hit, last = 0, None
    for _ in range(kills):
        if child(folder, draw.uniform(0.0, longest), **more) == 0:
            break
        hit += 1
        now = saved(folder, more.get("key_file"))
        if now is not None and not now["ended"]:  # nothing but the secret, and always the same
            assert now["best"] is None
            assert last in (None, now)
            last = now
    assert child(folder, None, **more) == 0
    return hit


@pytest.mark.parametrize("kills", [3, pytest.param(200, marks=pytest.mark.slow)])
def test_kills_neither_charge_twice_nor_draw_twice(tmp_path, kills):
    draw, hit, number = random.Random(kills), 0, 0
    search(tmp_path, state=None, test_key=bytes(32)).fit(
        X[:100], Y[:100]
    )  # everything is imported before the first fork
    while hit < kills:
        folder = tmp_path / str(number)
        folder.mkdir()
        ledger = hb.Ledger(f"sqlite:///{folder}/privacy.db")
        ledger.create("clinic", BUDGET)
        terms = {
            "ledger": ledger,
            "dataset": "clinic",
            "key_file": new_key_file(folder / "key") if number % 2 else None,
        }
        hit += killed_often(folder, kills - hit, draw, 0.6, **terms)
        (charge,) = ledger.charges("clinic")
        assert ledger.verify().status == "sound"
        (row,) = ledger.streams("clinic")
        assert (row.position, row.opened_at) == (0, row.advanced_at)  # the ledger is public
        # Asked again it gives the same release, at no cost; without its state it cannot go on, and another has nothing to pay with.
        again = search(folder, **terms).fit(X, Y)
        (text,) = {one.read_text() for one in folder.glob("*.told")}
        assert told(again) == text
        assert again.statement_.charge == charge.number == 1
        end = saved(folder, terms["key_file"])
        assert end is not None
        assert end["ended"]
        assert end["secret"] == NO_SECRET  # neither K nor who was held out can be told from it
        with pytest.raises(BudgetExhausted):
            search(folder, **{**terms, "state": None, "key_file": None}).fit(X, Y)
        assert len(ledger.charges("clinic")) == 1
        number += 1


@pytest.mark.slow
def test_a_killed_search_ends_where_one_that_was_not_killed_does(tmp_path):
    """Of a private search a copy of its beginning says where it would have ended; under a test key everything is decided anyway."""
    for number in range(2):
        wait = 0.15
        keyed = {"test_key": TestKey(bytes(32)).derive(number)} if number else {}
        folder = tmp_path / str(number)
        folder.mkdir()
        assert child(folder, 0.0, **keyed) == -9
        while not (folder / "search.state").exists():
            child(folder, wait, **keyed)
            wait *= 2.0  # a busy machine gets no further in the same time
        shutil.copy(folder / "search.state", folder / "copy.state")
        killed_often(folder, 4, random.Random(number), 0.3, **keyed)
        whole = search(folder, state=folder / "copy.state", **keyed).fit(X, Y)
        assert {one.read_text() for one in folder.glob("*.told")} == {told(whole)}


def test_a_copy_of_a_beginning_ends_nowhere_once_the_search_has_ended(tmp_path, monkeypatch):
    """Two ends under one charge would be two searches' worth of answers: on another table, even of independent ones."""
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    ledger.create("clinic", BUDGET)
    terms = {"ledger": ledger, "dataset": "clinic", "expected_candidates": 2}
    with cut_short(monkeypatch, KeyboardInterrupt()), pytest.raises(KeyboardInterrupt):
        search(tmp_path, **terms).fit(X, Y)
    shutil.copy(tmp_path / "search.state", tmp_path / "copy.state")
    real = StateFile.write

    def first(file: StateFile, state: Any) -> None:  # the other one ends while this one is about to
        monkeypatch.setattr(StateFile, "write", real)
        search(tmp_path, **terms).fit(X, Y)
        real(file, state)

    monkeypatch.setattr(StateFile, "write", first)
    with pytest.raises(StreamMoved):
        search(tmp_path, state=tmp_path / "copy.state", **terms).fit(-X, Y)
    with pytest.raises(StateError, match="another process went on from the same state"):
        search(tmp_path, state=tmp_path / "copy.state", **terms).fit(X, Y)
    assert len(ledger.charges("clinic")) == 1


def test_the_state_is_private_and_belongs_to_one_search(tmp_path):
    small: dict[str, Any] = {"expected_candidates": 2}
    found = search(tmp_path, **small).fit(X, Y)
    path = tmp_path / "search.state"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert b"PRIVATE" in path.read_bytes().partition(b"\n")[0]
    assert told(search(tmp_path, **small).fit(X, Y)) == told(found)
    for other in ({"holdout": 0.5}, {"expected_candidates": 3}, {"metric": "absolute_error"}, {"shape": "logarithmic"}):
        with pytest.raises(StateError, match="belongs to another"):
            search(tmp_path, **{**small, **other}).fit(X, Y)
    with pytest.raises(StateError, match="belongs to another"):
        search(tmp_path, **small).fit(X[:-1], Y[:-1])  # the number of records is public here
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    ledger.create("clinic", BUDGET)
    with pytest.raises(StateError):
        search(tmp_path, ledger=ledger, dataset="clinic", **small).fit(X, Y)
    assert not ledger.charges("clinic")


@contextmanager
def cut_short(monkeypatch: Any, failure: BaseException, after: int = 1) -> Iterator[list[int]]:
    """Searches in which the score of run `after` fails."""
    real, calls = running.score_of, []

    def failing(*given: Any) -> float:
        calls.append(1)
        if len(calls) == after:
            raise failure
        return real(*given)

    with monkeypatch.context() as patched:
        patched.setattr(running, "score_of", failing)
        yield calls


@pytest.mark.slow
@pytest.mark.parametrize("failure", [MemoryError("Unable to allocate 2000 rows"), KeyboardInterrupt()], ids=repr)
def test_a_run_that_the_machine_cuts_short_is_drawn_again_under_the_same_charge(tmp_path, monkeypatch, failure):
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    ledger.create("clinic", BUDGET)
    terms = {"ledger": ledger, "dataset": "clinic"}
    with cut_short(monkeypatch, failure), pytest.raises(type(failure)) as error:
        search(tmp_path, **terms).fit(X, Y)
    assert "2000" not in str(error.value)
    assert isinstance(failure, KeyboardInterrupt) or "A charge that was made stays" in str(error.value)
    now = saved(tmp_path)
    assert now is not None
    assert (now["ended"], now["best"]) == (False, None)
    assert child(tmp_path, None, **terms) == 0
    assert len(ledger.charges("clinic")) == 1
    # Without a ledger the copy shows that the draws of the run that was cut short are the same again.
    alone = {"state": tmp_path / "alone.state"}
    with cut_short(monkeypatch, failure), pytest.raises(type(failure)):
        search(tmp_path, **alone).fit(X, Y)
    shutil.copy(tmp_path / "alone.state", tmp_path / "copy.state")
    with cut_short(monkeypatch, failure), pytest.raises(type(failure)):
        search(tmp_path, **alone).fit(X, Y)
    whole = search(tmp_path, state=tmp_path / "copy.state").fit(X, Y)
    assert told(search(tmp_path, **alone).fit(X, Y)) == told(whole)


@pytest.mark.few(1)
@pytest.mark.parametrize("failure", [ZeroDivisionError(), InvalidParameter("a bug"), OSError("its file")], ids=repr)
def test_a_run_that_fails_ends_the_search(tmp_path, monkeypatch, failure):
    """On another table it would be drawn again after its failure was seen, which is more than the best of K runs."""
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    ledger.create("clinic", BUDGET)
    terms = {"ledger": ledger, "dataset": "clinic"}
    monkeypatch.setattr(SearchRandomness, "runs", lambda *_: 9)
    with cut_short(monkeypatch, failure, after=3) as calls, pytest.raises(type(failure)) as error:
        search(tmp_path, **terms).fit(X, Y)
    assert isinstance(failure, OSError) or "The search has ended with this" in error.value.__notes__[0]
    # Not even the runs that did not fail are kept.
    assert saved(tmp_path) == {"secret": NO_SECRET, "ended": True, "best": None}
    for _ in range(2):
        with pytest.raises(StateError, match="has ended without a release"):
            search(tmp_path, **terms).fit(X, Y)
    assert (len(calls), len(ledger.charges("clinic"))) == (3, 1)


@pytest.mark.few(1)
@pytest.mark.parametrize("place", ["open_stream", "advance"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_ledger_that_is_not_reached_is_asked_again(tmp_path, monkeypatch, place, after):
    """At the beginning or at the end, whether it heard or not: nothing is shown, nothing is charged twice, and what is shown then is the same."""
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    ledger.create("clinic", BUDGET)
    terms = {"ledger": ledger, "dataset": "clinic", "expected_candidates": 2}
    real = getattr(hb.Ledger, place)

    def torn(*given: Any, **more: Any) -> Any:
        if after:
            real(*given, **more)
        raise LedgerUnreachable("away")

    with monkeypatch.context() as patched:
        patched.setattr(hb.Ledger, place, torn)
        with pytest.raises(LedgerUnreachable):
            search(tmp_path, **terms).fit(X, Y)
    kept = saved(tmp_path)
    assert kept is not None
    found = search(tmp_path, **terms).fit(X, Y)
    if place == "advance":
        assert kept["ended"]
        assert kept["best"][2]["theta"] == found.best_estimator_.release_.theta.tolist()
    assert told(search(tmp_path, **terms).fit(X, Y)) == told(found)
    assert len(ledger.charges("clinic")) == 1
    other = hb.Ledger(f"sqlite:///{tmp_path}/older.db")  # put back to a time before the search
    other.create("clinic", BUDGET)
    with pytest.raises(UnknownStream):
        search(tmp_path, **{**terms, "ledger": other}).fit(X, Y)
    assert not other.charges("clinic")


def test_a_search_of_an_older_version_is_refused(tmp_path):
    """It saved every run, and could go on from the middle."""
    search(tmp_path, expected_candidates=2).fit(X, Y)
    file = StateFile(tmp_path / "search.state", kind="search")
    found = file.open()
    assert found is not None
    file.write(replace(found, public={**found.public, "format": 2}))
    file.close()
    before = (tmp_path / "search.state").read_bytes()
    with pytest.raises(StateError, match=r"keeps other things \(such as every run.*another charge"):
        search(tmp_path, expected_candidates=2).fit(X, Y)
    assert (tmp_path / "search.state").read_bytes() == before


def test_plans_of_another_version_are_not_called_other_settings(tmp_path, monkeypatch):
    """Of what a search costs, how many numbers its runs draw is its plans' doing; how many runs there are is said by the user. Nothing is charged."""
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    ledger.create("clinic", BUDGET)
    terms = {"ledger": ledger, "dataset": "clinic", "expected_candidates": 2}
    search(tmp_path, **terms).fit(X, Y)
    file = StateFile(tmp_path / "search.state", kind="search")
    found = file.open()
    assert found is not None
    event = found.public["event"]
    theirs = {**found.public, "plans": [], "event": {**event, "mu": 0.9 * event["mu"], "samples": 7}}
    file.write(replace(found, fingerprint="theirs", public=theirs))
    file.close()
    with pytest.raises(StateError, match="of a version that under these settings asks other questions"):
        search(tmp_path, **terms).fit(X, Y)
    with pytest.raises(StateError, match=r"belongs to another search: expected is 2\.0 there and 3\.0 here\. What"):
        search(tmp_path, **{**terms, "expected_candidates": 3}).fit(X, Y)
    assert len(ledger.charges("clinic")) == 1


def test_a_search_is_refused_in_words_of_its_own(tmp_path):
    small: dict[str, Any] = {"expected_candidates": 2}
    search(tmp_path, **small).fit(X, Y)
    path = tmp_path / "search.state"
    assert path.read_bytes().startswith(b"Hullabaloo search state - PRIVATE DATA: the secret of its noise")
    with pytest.raises(StateError, match=r"belongs to another search: .*to begin a new search"):
        search(tmp_path, **{**small, "holdout": 0.5}).fit(X, Y)
    file = StateFile(path, kind="search")
    file.open()
    try:
        with pytest.raises(StateError, match="in use by another search"):
            search(tmp_path, **small).fit(X, Y)
    finally:
        file.close()
    domain = hb.Domain(features=dict.fromkeys(NAMES, (-1, 1)), target=(-1, 1))
    stream = hb.streaming.IncrementalRegression(budget=BUDGET, domain=domain, horizon=10, every=5, state=path)
    with pytest.raises(StateError, match="not the state of a stream"):
        stream.partial_fit(X[:5], Y[:5])
    path.write_bytes(b"something else\n")
    with pytest.raises(StateError, match=r"not the state of a search.*begin a new search"):
        search(tmp_path, **small).fit(X, Y)
    with pytest.raises(InvalidParameter, match="At least one record is needed for search of Ridge"):
        search(tmp_path, **small).fit(X[:0], Y[:0])
