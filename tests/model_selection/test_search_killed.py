"""Killed at random instants a search is paid for once, and never draws a second answer where a first one counts."""

import json
import math
import os
import random
import signal
import stat
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.curator.lottery import Lottery
from hullabaloo.errors import BudgetExhausted, InvalidParameter, StateError
from hullabaloo.model_selection.searching import Progress
from hullabaloo.noise import TestKey
from hullabaloo.streaming import new_key_file
from hullabaloo.streaming.state import StateFile

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


def saved(folder: Path, key_file: Path | None = None) -> Progress | None:
    file = StateFile(folder / "search.state", key_file, "search")
    try:
        found = file.open()
        return None if found is None or found.snapshot is None else Progress.restored(found.snapshot)
    finally:
        file.close()


def killed_often(folder: Path, kills: int, draw: random.Random, longest: float, **more: Any) -> int:
    """Kill, look at what was saved, and go on; gives how many kills hit a search under way."""
    hit, last = 0, None
    for _ in range(kills):
        if child(folder, draw.uniform(0.0, longest), **more) == 0:
            break
        hit += 1
        now = saved(folder, more.get("key_file"))
        if last is not None:
            assert now is not None
            if now.secret:  # it has not ended
                assert (now.runs, now.secret) == (last.runs, last.secret)
                assert last.done <= now.done < now.runs
            if last.best is not None:
                assert now.best is not None
                assert now.best[1] >= last.best[1]
                if now.best[1] == last.best[1]:
                    assert json.dumps(now.best[2].to_dict()) == json.dumps(last.best[2].to_dict())
        last = now
    assert child(folder, None, **more) == 0
    return hit


@pytest.mark.parametrize("kills", [10, pytest.param(200, marks=pytest.mark.slow)])
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
        assert row.position == 0  # the ledger is public: the number of runs must not be read off it
        # Asked again it gives the same release, at no cost; without its state it cannot go on, and another has nothing to pay with.
        again = search(folder, **terms).fit(X, Y)
        (text,) = {one.read_text() for one in folder.glob("*.told")}
        assert told(again) == text
        assert again.statement_.charge == charge.number == 1
        end = saved(folder, terms["key_file"])
        assert end is not None
        assert (end.runs, end.secret, end.done) == (0, b"", 0)  # neither K nor who was held out can be read off it
        with pytest.raises(BudgetExhausted):
            search(folder, **{**terms, "state": None, "key_file": None}).fit(X, Y)
        assert len(ledger.charges("clinic")) == 1
        number += 1


def test_a_killed_search_ends_where_one_that_was_not_killed_does(tmp_path):
    """Under a test key everything is decided, so both must give the same, bit for bit."""
    for number in range(2):
        key = TestKey(bytes(32)).derive(number)
        folder = tmp_path / str(number)
        folder.mkdir()
        killed_often(folder, 4, random.Random(number), 0.3, test_key=key)
        whole = search(folder, state=None, test_key=key).fit(X, Y)
        assert {one.read_text() for one in folder.glob("*.told")} == {told(whole)}


def test_the_state_is_private_and_belongs_to_one_search(tmp_path):
    small: dict[str, Any] = {"expected_candidates": 2}
    found = search(tmp_path, **small).fit(X, Y)
    path = tmp_path / "search.state"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert b"PRIVATE" in path.read_bytes().partition(b"\n")[0]
    assert told(search(tmp_path, **small).fit(X, Y)) == told(found)
    for other in ({"holdout": 0.5}, {"expected_candidates": 3}, {"metric": "absolute_error"}, {"shape": "poisson"}):
        with pytest.raises(StateError, match="belongs to another"):
            search(tmp_path, **{**small, **other}).fit(X, Y)
    with pytest.raises(StateError, match="belongs to another"):
        search(tmp_path, **small).fit(X[:-1], Y[:-1])  # the number of records is public here
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    ledger.create("clinic", BUDGET)
    with pytest.raises(StateError):
        search(tmp_path, ledger=ledger, dataset="clinic", **small).fit(X, Y)
    assert not ledger.charges("clinic")


@pytest.mark.parametrize("failure", [MemoryError("Unable to allocate 2000 rows"), KeyboardInterrupt()], ids=repr)
def test_a_run_that_the_machine_cuts_short_is_drawn_again_under_the_same_charge(tmp_path, monkeypatch, failure):
    from hullabaloo.model_selection import searching

    ledger = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    ledger.create("clinic", BUDGET)
    real, calls = searching.score_of, []

    def failing(*given: Any) -> float:
        calls.append(1)
        if len(calls) == 1:
            raise failure
        return real(*given)

    monkeypatch.setattr(searching, "score_of", failing)
    terms = {"ledger": ledger, "dataset": "clinic"}
    with pytest.raises(type(failure)) as error:
        search(tmp_path, **terms).fit(X, Y)
    assert "2000" not in str(error.value)
    assert isinstance(failure, KeyboardInterrupt) or "A charge that was made stays" in str(error.value)
    now = saved(tmp_path)
    assert now is not None
    assert now.secret
    assert (now.done, now.best) == (0, None)
    monkeypatch.undo()
    assert child(tmp_path, 0.0, **terms) in {0, -9}
    assert len(ledger.charges("clinic")) == 1
    # Under a test key the draws of the run that was cut short are the same again.
    key = TestKey(bytes(32))
    keyed = {"state": tmp_path / "keyed.state", "test_key": key}
    whole = search(tmp_path, state=None, test_key=key).fit(X, Y)
    calls.clear()
    monkeypatch.setattr(searching, "score_of", failing)
    with pytest.raises(type(failure)):
        search(tmp_path, **keyed).fit(X, Y)
    assert told(search(tmp_path, **keyed).fit(X, Y)) == told(whole)


@pytest.mark.parametrize(
    "failure", [ZeroDivisionError(), InvalidParameter("a callable"), OSError("its file")], ids=repr
)
def test_a_run_that_fails_ends_the_search(tmp_path, monkeypatch, failure):
    """Run again it would be drawn again after its failure was seen, which is more than the best of K runs."""
    from hullabaloo.model_selection import searching

    ledger = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    ledger.create("clinic", BUDGET)
    terms = {"ledger": ledger, "dataset": "clinic"}
    real, calls = searching.score_of, []

    def failing(*given: Any) -> float:
        calls.append(1)
        if len(calls) == 3:
            raise failure
        return real(*given)

    monkeypatch.setattr(searching, "score_of", failing)
    monkeypatch.setattr(Lottery, "runs", lambda *_: 9)
    with pytest.raises(type(failure)) as error:
        search(tmp_path, **terms).fit(X, Y)
    assert isinstance(failure, OSError) or "The search has ended with this" in error.value.__notes__[0]
    ended = saved(tmp_path)
    assert ended is not None
    assert (ended.runs, ended.secret, ended.done, ended.best) == (
        0,
        b"",
        0,
        None,
    )  # not even the runs that did not fail
    monkeypatch.undo()
    for _ in range(2):
        with pytest.raises(StateError, match="has ended without a release"):
            search(tmp_path, **terms).fit(X, Y)
    assert (len(calls), len(ledger.charges("clinic"))) == (3, 1)


def test_a_set_function_that_fails_ends_the_search(tmp_path, monkeypatch):
    from hullabaloo.model_selection import searching

    broken = False

    def root(columns: frozenset[int]) -> float:
        return math.nan if broken else len(columns) ** 0.5

    model = hb.StructuredSparseRegression(
        domain=hb.Domain(features={name: hb.Numeric(-1, 1, indicator=False) for name in NAMES}, target=(-1, 1)),
        structure=hb.CustomSetFunction(root, 3), solver="gradient", fit_intercept=False,
    )  # fmt: skip
    made = hb.PrivateSearchCV(model, {"radius": [0.5, 1.0]}, budget=BUDGET, state=tmp_path / "search.state")
    real = searching.held_out

    def read(*given: Any) -> np.ndarray:
        nonlocal broken
        broken = True  # once everything is planned
        return real(*given)

    monkeypatch.setattr(searching, "held_out", read)
    with pytest.raises(InvalidParameter, match=r"The set function gave nan.*a charge that was made stays"):
        made.fit(X[:300], Y[:300])
    broken = False
    with pytest.raises(StateError, match="callable of yours"):
        made.fit(X[:300], Y[:300])


def test_a_search_is_refused_in_words_of_its_own(tmp_path):
    small: dict[str, Any] = {"expected_candidates": 2}
    search(tmp_path, **small).fit(X, Y)
    path = tmp_path / "search.state"
    assert path.read_bytes().startswith(b"Hullabaloo search state - PRIVATE DATA: the best run so far")
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
