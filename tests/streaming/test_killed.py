"""Killed at random instants a stream loses nothing, counts nothing twice, redraws nothing, and shows nothing different."""

import json
import math
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from hullabaloo.durable.sealed import State
from hullabaloo.durable.state import StateFile
from hullabaloo.ledger import Ledger
from hullabaloo.privacy import Budget
from hullabaloo.streaming import new_key_file

from .killed_worker import RECORDS, X, Y

EXACT = ("position", "sums/", "mechanism/encoder/")  # of a state's arrays, those that records alone decide


@dataclass
class Nursery:
    """The process whose children are killed."""

    process: subprocess.Popen[str]

    def run(self, task: dict[str, object], kill_after: float | None = None) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(task | {"kill_after": kill_after}) + "\n")
        self.process.stdin.flush()
        status = int(self.process.stdout.readline())
        assert status in {0, -9}, "a child failed; its traceback is on standard error"
        return status


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    worker = Path(__file__).with_name("killed_worker.py")
    with subprocess.Popen(
        [sys.executable, worker], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", "the worker could not start; its traceback is on standard error"
        yield Nursery(process)


def new_task(folder: Path, *, epsilon: float, every: int, ledger: bool, sealed: bool = False) -> dict[str, object]:
    (folder / "releases").mkdir(parents=True)
    book = Ledger(f"sqlite:///{folder}/privacy.db")
    if ledger:
        book.create("clinic", Budget(epsilon, 1e-6))
    return {
        "folder": str(folder), "epsilon": epsilon, "every": every, "ledger": book.url if ledger else None,
        "key_file": str(new_key_file(folder / "key")) if sealed else None,
    }  # fmt: skip


@dataclass
class Whole:
    """A stream that was never killed, and how long it took, and how long beginning alone takes."""

    task: dict[str, object]
    seconds: float
    begin: float


def whole(nursery: Nursery, task: dict[str, object]) -> Whole:
    started = time.perf_counter()
    assert nursery.run(task) == 0
    done = time.perf_counter()
    assert nursery.run(task) == 0
    return Whole(task, done - started, time.perf_counter() - done)


def kill_often(nursery: Nursery, task: dict[str, object], kills: int, draw: random.Random, longest: float) -> int:
    """Kill the stream's children until it is done or `kills` have hit; then let it finish. Gives how many hit."""
    for hit in range(kills):
        if nursery.run(task, draw.uniform(0.0, longest)) == 0:
            return hit
    assert nursery.run(task) == 0
    return kills


def final(task: dict[str, object]) -> State:
    file = StateFile(f"{task['folder']}/stream.state", task["key_file"])  # type: ignore[arg-type]
    found = file.open()
    file.close()
    assert found is not None
    return found


def releases(task: dict[str, object]) -> tuple[dict[int, str], int]:
    """The released models by position, and how many were shown again by another child: the same, or this fails."""
    shown: dict[int, str] = {}
    again = 0
    for one in Path(f"{task['folder']}/releases").iterdir():
        if not one.name.startswith("."):  # a kill cut it off: never shown
            position, text = int(one.name.partition("-")[0]), one.read_text()
            again += position in shown
            assert shown.setdefault(position, text) == text, f"two different models were shown at position {position}"
    return shown, again


def check(task: dict[str, object], like: Whole) -> int:
    """Compare a stream at its end with one that was never killed; gives how many models were shown again after a kill."""
    end, other, (shown, again) = final(task), final(like.task), releases(task)
    every = int(str(task["every"]))
    assert end.position == RECORDS
    assert sorted(shown) == [*range(every, RECORDS, every), RECORDS]
    assert end.snapshot is not None
    assert other.snapshot is not None
    assert end.snapshot.numbers == other.snapshot.numbers
    noisy = task["ledger"] is not None
    for name, array in other.snapshot.arrays.items():
        if not noisy or name.startswith(EXACT):
            assert np.array_equal(end.snapshot.arrays[name], array), f"{name} is not what the records sum to"
    if not noisy:
        assert shown == releases(like.task)[0], "without noise the models are the same, killed or not"
        return again
    book = Ledger(str(task["ledger"]))
    (row,) = book.streams("clinic")
    assert (row.position, row.token, row.charge, len(book.charges("clinic"))) == (RECORDS, end.token, 1, 1)
    assert book.verify().status == "sound"
    assert shown != releases(like.task)[0], "real noise: another stream releases other models"
    return again


@pytest.mark.slow
def test_exact_sums_are_those_of_the_table(nursery: Nursery, tmp_path: Path) -> None:
    """What other streams are compared with has every record once: least squares by other means agrees."""
    task = new_task(tmp_path, epsilon=math.inf, every=RECORDS // 3, ledger=False)
    assert nursery.run(task) == 0
    design = np.column_stack([X, np.ones(RECORDS)])
    position, *found = json.loads(releases(task)[0][RECORDS])
    expected = np.linalg.lstsq(design, Y)[0]
    one_less = np.linalg.lstsq(design[:-1], Y[:-1])[0]
    found = np.array(list(map(float.fromhex, found)))
    assert position == RECORDS
    assert np.abs(found - expected).max() < 0.1 * np.abs(one_less - expected).max()


@pytest.mark.slow
@pytest.mark.parametrize("ledger", [True, False], ids=["noise and ledger", "exact and sealed"])
def test_kills_change_nothing(nursery: Nursery, tmp_path: Path, ledger: bool) -> None:
    options = {"epsilon": 1.0 if ledger else math.inf, "every": 4000, "ledger": ledger, "sealed": not ledger}
    like = whole(nursery, new_task(tmp_path / "whole", **options))  # type: ignore[arg-type]
    kill_streams(nursery, tmp_path, like, kills=200, seed=200, **options)


def kill_streams(nursery: Nursery, folder: Path, like: Whole, *, kills: int, seed: int, **options: object) -> None:
    """Stream after stream, until so many kills have hit; the time between them follows the machine's speed."""
    draw, hit, again, number, longest = random.Random(seed), 0, 0, 0, like.begin + like.seconds / 5
    while hit < kills or again < max(1, kills // 10):  # some kills must fall after a release, which is then shown again
        task = new_task(folder / str(number), **options)  # type: ignore[arg-type]
        struck = kill_often(nursery, task, max(kills - hit, 5), draw, longest)
        found = check(task, like)
        hit, again, number = hit + struck, again + found, number + 1
        if struck < 5:
            longest /= 2.0  # the machine has become faster: children are done before they are killed
        elif not found:
            longest *= 2.0  # or slower: they are killed before they have begun
