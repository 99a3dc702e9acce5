"""Workers, executors and drivers that are killed at random instants of fits: what every fit has to be, and how often it was what.

A fit among kills has the bits of memory, or fails in a sentence; it makes one charge, or none where it was refused before it. A driver that is
killed leaves a charge without a release at most.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import psutil

import hullabaloo as hb
from hullabaloo.data.engines.dask import DaskEngine
from hullabaloo.data.engines.spark import SparkEngine
from hullabaloo.errors import HullabalooError
from hullabaloo.noise import TestKey
from hullabaloo.release import run
from tests.data.engines import clusters
from tests.data.engines.fits import FITS, KEY, ONE, table

LONGEST = 60.0
"""Seconds that a fit may be silent: without an answer to a question."""
AMONG = "gradient", "units by gradients"
"""The fits among kills of workers: six questions each, the second after a shuffle."""


def ledger_of(folder: Path, **terms: Any) -> Any:
    ledger = hb.Ledger(f"sqlite:///{folder}/ledger.db")
    ledger.create("records", hb.Budget(1000.0, 1e-3), **terms)
    return ledger


@contextlib.contextmanager
def known_noise() -> Iterator[None]:
    """Noise of all releases is that of the test key, which a ledger refuses, so that charged ones can be compared bit by bit."""
    plain = run.Curator
    run.Curator = lambda rows, queries, key: plain(rows, queries, key=TestKey(KEY))  # type: ignore[assignment, misc]
    try:
        yield
    finally:
        run.Curator = plain  # type: ignore[misc]


@contextlib.contextmanager
def answers(engine: Any) -> Iterator[list[float]]:
    """The instants at which an engine has answered."""
    found, plain = list[float](), engine.map_reduce

    def noted(self: Any, task: Any) -> Any:
        tally = plain(self, task)
        found.append(time.monotonic())
        return tally

    engine.map_reduce = noted
    try:
        yield found
    finally:
        engine.map_reduce = plain


def among_kills(
    kills: int,
    engine: Any,
    source: Callable[[bool], Any],
    victims: Callable[[], list[int]],
    folder: Path,
    ready: Callable[[], object] = bool,
) -> dict[str, Any]:
    """Charged fits of a table (parts kept, or read anew), somebody killed at a random instant of each, until there have been so many kills; `ready` waits until there is somebody.

    A fit that ends before its instant is one without a kill, and compared like the others.
    """
    names = "kills", "fits", "same bits", "refused before the charge", "failed after the charge", "charges", "questions"
    found: dict[str, Any] = {**dict.fromkeys(names, 0), "longest silence": 0.0}
    ledger, rng = ledger_of(folder), np.random.default_rng(kills)
    ledger.create(AMONG[1], hb.Budget(1000.0, 1e-3), unit="who", records_per_unit=3)

    def charged(name: str, table: Any) -> bytes:
        dataset = name if name in AMONG[1:] else "records"
        model = FITS[name]().set_params(budget=ONE, ledger=ledger, dataset=dataset)
        return bytes(model.fit(table).release_.theta.tobytes())

    def charges() -> int:
        return sum(len(ledger.charges(dataset)) for dataset in ("records", *AMONG[1:]))

    def fit(name: str) -> float:
        """Seconds of one fit, which is what every fit has to be."""
        before, start = charges(), time.monotonic()
        with answers(engine) as heard:
            try:
                assert charged(name, source(bool(rng.integers(2)))) == of_memory[name]
                outcome, most = "same bits", 1
            except HullabalooError:
                most = charges() - before
                outcome = "failed after the charge" if most else "refused before the charge"
        instants = [start, *heard, time.monotonic()]
        assert charges() - before == most <= 1
        for one, several in (("fits", 1), (outcome, 1), ("charges", most), ("questions", len(heard))):
            found[one] += several
        found["longest silence"] = max(found["longest silence"], *np.diff(instants).round(1).tolist())
        return instants[-1] - start

    def kill(after: float, ended: threading.Event) -> None:
        if not ended.wait(after) and (alive := victims()):
            found["kills"] += _killed(int(rng.choice(alive)))

    with known_noise():
        of_memory = {name: charged(name, table()) for name in AMONG}
        ready()
        # The first also start what others find there.
        length = {name: min(fit(name), fit(name)) for name in AMONG}
        while found["kills"] < kills:
            ready()
            name, ended = str(rng.choice(AMONG)), threading.Event()
            killer = threading.Thread(target=kill, args=(float(rng.uniform(0.0, length[name])), ended))
            killer.start()
            try:
                fit(name)
            finally:
                ended.set()
                killer.join()
    assert ledger.verify().status == "sound"
    return {**found, "seconds without a kill": round(max(length.values()), 2)}


def interrupted(fit: Callable[[], object], marks: Path, parts: int = 1) -> float:
    """Seconds from an interrupt of this thread, sent when so many parts have been begun, until the fit has ended by it. Each part that is read leaves a mark."""
    sent = list[float]()

    def send() -> None:
        late = time.monotonic() + LONGEST
        while count(marks) < parts and time.monotonic() < late:
            time.sleep(0.01)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        fit()
        thread.join()
    except KeyboardInterrupt:
        return time.monotonic() - sent[0]
    raise AssertionError("nobody heard the interrupt")


@contextlib.contextmanager
def signals(handler: Any) -> Iterator[None]:
    """What an interrupt does meanwhile."""
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def count(marks: Path, still: float = 0.0) -> int:
    """How many marks there are, when for so many seconds none has been added."""
    before, found = -1, len(list(marks.iterdir()))
    while still and before != found:
        time.sleep(still)
        before, found = found, len(list(marks.iterdir()))
    return found


def mark(marks: str) -> None:
    """Leave one, and take long over a part."""
    (Path(marks) / uuid4().hex).touch()
    time.sleep(0.1)


def _killed(process: int) -> bool:
    try:
        os.kill(process, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def of_dask(client: Any, frame: Callable[[int], Any], kills: int, folder: Path) -> dict[str, Any]:
    """Workers of Dask."""

    def source(kept: bool) -> Any:
        return hb.scan(frame(6), client=client, keep_bytes=kept << 30)

    return among_kills(kills, DaskEngine, source, lambda: workers_of(client), folder, lambda: complete(client))


def complete(client: Any) -> None:
    """Wait for two workers: where one is killed while it starts, its nanny goes, too."""
    client.cluster.scale(2)
    late = time.monotonic() + 2 * LONGEST
    while len(client.cluster.scheduler.workers) < 2 and time.monotonic() < late:
        time.sleep(0.1)


def workers_of(client: Any) -> list[int]:
    """Process numbers of workers, by the nannies that watch them."""
    return [int(nanny.pid) for nanny in client.cluster.workers.values() if getattr(nanny, "pid", None)]


def of_spark(parts: Path, kills: int, folder: Path) -> dict[str, Any]:
    """Executors that are processes of their own."""
    with clusters.spark("local-cluster[2,1,1024]", **{"spark.task.maxFailures": "8"}) as session:

        def source(kept: bool) -> Any:
            return hb.scan(session.read.parquet(str(parts)), keep_bytes=kept << 30)

        return among_kills(kills, SparkEngine, source, executors, folder)


def executors() -> list[int]:
    """Process numbers of the executors that this process's session started."""
    found = []
    for one in psutil.Process().children(recursive=True):
        with contextlib.suppress(
            psutil.NoSuchProcess
        ):  # it has ended; one that nobody has waited for yet is such a one, too
            if "CoarseGrainedExecutorBackend" in " ".join(one.cmdline()):
                found.append(one.pid)
    return found


def of_drivers(place: str | None, kills: int, folder: Path) -> dict[str, Any]:
    """Processes that fit under a ledger and save the release, killed at random instants; `place` is the address of Dask's scheduler, "spark", or None of a file read here."""
    ledger, rng, latest = ledger_of(folder), np.random.default_rng(kills), 0.0
    (folder / "table.parquet").unlink(missing_ok=True)
    table().to_parquet(folder / "table.parquet", index=False)
    found, number = {"kills": 0, "ended before": 0}, 0
    while found["kills"] < kills:
        words = [
            sys.executable,
            "-m",
            "tests.data.engines.faults",
            str(folder),
            f"{number}.json",
            *([place] if place else []),
        ]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=clusters.ROOT) as driver:
            assert driver.stdout is not None
            assert driver.stdout.readline() == b"ready\n"
            start, behind = time.monotonic(), psutil.Process(driver.pid).children(recursive=True)
            if number:  # the first run says how long one takes
                with contextlib.suppress(subprocess.TimeoutExpired):
                    driver.wait(float(rng.uniform(0.0, latest)))
                found["kills" if driver.poll() is None else "ended before"] += 1
                driver.kill()
            driver.wait(2 * LONGEST)
            latest = latest or time.monotonic() - start
        assert not psutil.wait_procs(behind, timeout=LONGEST)[1], "something that the driver started goes on"
        number += 1
    saved = [hb.load(path).statement_.charge for path in folder.glob("*.json")]
    charges = [charge.number for charge in ledger.charges("records")]
    assert len(set(saved)) == len(saved)
    assert set(saved) <= set(charges)
    assert len(charges) <= number
    assert ledger.verify().status == "sound"
    return {**found, "fits": number, "charges": len(charges), "releases": len(saved)}


def _drive(folder: str, name: str, place: str | None = None) -> None:
    file = f"{folder}/table.parquet"
    with contextlib.ExitStack() as stack:
        if place is None:
            source = hb.scan(file, batch_rows=300, keep_bytes=0)
        elif place == "spark":
            source = hb.scan(stack.enter_context(clusters.spark()).read.parquet(file))
        else:
            from dask import dataframe

            source = hb.scan(dataframe.read_parquet(file), client=place)
        terms = {"budget": hb.Budget(0.5, 1e-7), "ledger": f"sqlite:///{folder}/ledger.db", "dataset": "records"}
        model = FITS["weights" if place is None else "gradient"]().set_params(**terms)
        print("ready", flush=True)
        model.fit(source).save(f"{folder}/{name}")


if __name__ == "__main__":
    _drive(*sys.argv[1:])
