"""Workers, executors and drivers that are killed at random instants of fits: what every fit has to be, and how often it was what.

A fit among kills has the bits of memory, or fails in a sentence; it makes one charge at most. A driver that is killed leaves a
charge without a release at most.
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

import numpy as np

import hullabaloo as hb
from hullabaloo.errors import HullabalooError
from tests.data.engines import clusters
from tests.data.engines.fits import FITS, batches, fitted, table, told

LONGEST = 60.0


def ledger_of(folder: Path, **terms: Any) -> Any:
    ledger = hb.Ledger(f"sqlite:///{folder}/ledger.db")
    ledger.create("records", hb.Budget(1000.0, 1e-3), **terms)
    return ledger


def among_kills(
    kills: int,
    latest: float,
    victims: Callable[[], list[int]],
    fits: Iterator[Callable[[], bool]],
    ready: Callable[[], object] = bool,
) -> dict[str, Any]:
    """One kill during each fit, at a random instant; a fit says whether it has the bits of memory. `ready` waits until there is somebody to kill."""
    rng, seconds = np.random.default_rng(kills), list[float]()
    found: dict[str, Any] = {"kills": 0, "same bits": 0, "failed in a sentence": 0}

    def kill(after: float) -> None:
        time.sleep(after)
        alive = victims()
        if alive:
            found["kills"] += _killed(int(rng.choice(alive)))

    start = time.monotonic()
    assert next(fits)()
    found["seconds without a kill"] = round(time.monotonic() - start, 1)
    for fit in (next(fits) for _ in range(kills)):
        ready()
        killer = threading.Thread(target=kill, args=(float(rng.uniform(0.0, latest)),))
        killer.start()
        start = time.monotonic()
        try:
            assert fit()
            found["same bits"] += 1
        except HullabalooError:
            found["failed in a sentence"] += 1
        taken = round(time.monotonic() - start, 1)
        seconds.append(taken)
        killer.join()
    assert found["kills"] > 0.8 * kills, "nearly nobody was there to be killed"
    found |= {"longest seconds": max(seconds), "median seconds": float(np.median(seconds))}
    return found


def _killed(process: int) -> bool:
    try:
        os.kill(process, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def of_dask(client: Any, frame: Callable[[int], Any], kills: int, folder: Path) -> dict[str, Any]:
    """Every second fit under a test key, compared with memory; the others charged, each once."""
    wanted, ledger, paid = fitted("weights", table()), ledger_of(folder), [0]

    def charged() -> bool:
        paid[0] += 1
        terms = {"budget": hb.Budget(0.5, 1e-7), "ledger": ledger, "dataset": "records"}
        FITS["weights"]().set_params(**terms).fit(hb.scan(frame(4), client=client))
        return True

    def fits() -> Iterator[Callable[[], bool]]:
        while True:
            yield lambda: fitted("weights", hb.scan(frame(6), client=client)) == wanted
            yield charged

    found = among_kills(kills, 1.5, lambda: workers_of(client), fits(), lambda: complete(client))
    charges = len(ledger.charges("records"))
    assert charges <= paid[0]
    return {**found, "charged fits": paid[0], "charges": charges}


def complete(client: Any) -> None:
    """Wait for two workers: where one is killed while it starts, its nanny goes, too."""
    client.cluster.scale(2)
    late = time.monotonic() + 2 * LONGEST
    while len(client.cluster.scheduler.workers) < 2 and time.monotonic() < late:
        time.sleep(0.1)


def workers_of(client: Any) -> list[int]:
    """Process numbers of workers, by the nannies that watch them."""
    return [int(nanny.pid) for nanny in client.cluster.workers.values() if getattr(nanny, "pid", None)]


def of_spark(folder: Path, kills: int) -> dict[str, Any]:
    """Four questions for each kill of an executor that is a process of its own."""
    wanted = told(hb.scan(batches))
    with clusters.spark("local-cluster[2,1,1024]", **{"spark.task.maxFailures": "8"}) as session:

        def fits() -> Iterator[Callable[[], bool]]:
            while True:
                yield lambda: told(hb.scan(session.read.parquet(str(folder)))) == wanted

        assert next(fits())()
        return among_kills(kills, 4.0, executors, fits())


def executors() -> list[int]:
    """Process numbers of the executors that this process's session started."""
    import psutil

    found = []
    for one in psutil.Process().children(recursive=True):
        with contextlib.suppress(
            psutil.NoSuchProcess
        ):  # it has ended; one that nobody has waited for yet is such a one, too
            if "CoarseGrainedExecutorBackend" in " ".join(one.cmdline()):
                found.append(one.pid)
    return found


def of_drivers(address: str | None, kills: int, folder: Path) -> dict[str, Any]:
    """Processes that fit under a ledger and save the release, killed at random instants; `address` of Dask's scheduler, None of a file read here."""
    ledger, rng, latest = ledger_of(folder), np.random.default_rng(kills), 0.0
    (folder / "table.parquet").unlink(missing_ok=True)
    table().to_parquet(folder / "table.parquet", index=False)
    found = {"kills": 0, "ended before": 0}
    for number in range(kills + 1):
        words = [
            sys.executable,
            "-m",
            "tests.data.engines.faults",
            str(folder),
            f"{number}.json",
            *([address] if address else []),
        ]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=clusters.ROOT) as driver:
            assert driver.stdout is not None
            assert driver.stdout.readline() == b"ready\n"
            start = time.monotonic()
            if number:  # the first run says how long one takes
                time.sleep(float(rng.uniform(0.0, 1.1 * latest)))
                ended = driver.poll() is not None
                driver.kill()
                found["ended before" if ended else "kills"] += 1
            driver.wait(LONGEST)
            latest = latest or time.monotonic() - start
    saved = [hb.load(path).statement_.charge for path in folder.glob("*.json")]
    charges = [charge.number for charge in ledger.charges("records")]
    assert len(set(saved)) == len(saved)
    assert set(saved) <= set(charges)
    assert len(charges) <= kills + 1
    assert ledger.verify().status == "sound"
    return {**found, "charges": len(charges), "releases": len(saved)}


def _drive(folder: str, name: str, address: str | None = None) -> None:
    from dask import dataframe

    place, source = f"{folder}/table.parquet", None
    terms = {"budget": hb.Budget(0.5, 1e-7), "ledger": f"sqlite:///{folder}/ledger.db", "dataset": "records"}
    source = (
        hb.scan(dataframe.read_parquet(place), client=address)
        if address
        else hb.scan(place, batch_rows=300, keep_bytes=0)
    )
    model = FITS["weights"]().set_params(**terms)
    print("ready", flush=True)
    model.fit(source).save(f"{folder}/{name}")


if __name__ == "__main__":
    _drive(*sys.argv[1:])
