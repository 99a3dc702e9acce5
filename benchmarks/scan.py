"""Tables in parts: seconds of a pass from Parquet, CSV, memory and the sealed folder, beside a bare scan by PyArrow; and how much memory it takes.

Fits of tables in memory beside scikit-learn's, each by all cores; `benchmarks/growth.py` has how their time grows.

HULLABALOO_SCAN=folder with room   where the tables are written and left
HULLABALOO_SCAN_RECORDS=100000000  of the table whose memory is measured (17 GB)
HULLABALOO_SCAN_FITS=1000000       records of the fits beside scikit-learn's, of a hundred features
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pyarrow import csv, dataset, parquet
from sklearn import linear_model

import hullabaloo as hb
from hullabaloo.data.parts import rows_of
from hullabaloo.losses import Squared
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries

SPEED = True
FEATURES, GROUP, BATCH = 20, 131_072, 65_536
RECORDS, LINES = 2_000_000, 1_000_000
NAMES = [f"x{j}" for j in range(FEATURES)]


def folder() -> Path:
    """Where the tables lie."""
    place = Path(os.environ.get("HULLABALOO_SCAN", Path(gettempdir()) / "hullabaloo-scan"))
    place.mkdir(exist_ok=True)
    return place


def written(records: int) -> Path:
    """Parquet of so many records of twenty features, a target and a person, five records each, written once: a folder of files where they are more than `RECORDS`."""
    place = folder() / f"{records}.parquet"
    if place.exists():
        return place
    rng, part = np.random.default_rng(0), place.with_suffix(".part")
    if records > RECORDS:
        part.mkdir(exist_ok=True)
    for number, start in enumerate(range(0, records, RECORDS)):
        _write(part / f"{number}.parquet" if records > RECORDS else part, rng, min(RECORDS, records - start), records)
    part.rename(place)
    return place


def _write(place: Path, rng: np.random.Generator, records: int, all_records: int) -> None:
    writer = None
    for start in range(0, records, GROUP):
        X = rng.uniform(-1, 1, (min(GROUP, records - start), FEATURES))
        y = X @ np.linspace(-0.3, 0.3, FEATURES) + rng.normal(0, 0.3, len(X))
        columns = {name: X[:, j] for j, name in enumerate(NAMES)} | {"y": y}
        table = pa.table(columns | {"who": rng.integers(0, all_records // 5, len(X))})
        writer = writer or parquet.ParquetWriter(place, table.schema)
        writer.write_table(table, row_group_size=GROUP)
    assert writer is not None
    writer.close()


def domain(records: int, **more: Any) -> hb.Domain:
    """Of these tables."""
    return hb.Domain(dict.fromkeys(NAMES, (-1, 1)), target={"y": (-3, 3)}, indicators=False, records=records, **more)


def model(records: int, **more: Any) -> hb.LinearRegression:
    """A regression by moments."""
    about = domain(records, **more)
    budget = hb.Budget(1.0, 1e-8)
    return hb.LinearRegression(
        domain=about, solver="moments", inference=False, neighbours="add-or-remove", budget=budget
    )


def bare(place: Path) -> float:
    """The sum of all columns, by PyArrow and NumPy alone."""
    batches = dataset.dataset(place).to_batches(columns=[*NAMES, "y"], batch_size=BATCH)
    return float(sum(column.to_numpy(zero_copy_only=False).sum() for batch in batches for column in batch.columns))


def timed(work: Callable[[], Any], times: int = 3) -> dict[str, float]:
    """The least seconds, of the clock and of all processors; the first time is left out."""
    found = []
    for _ in range(times + 1):
        clock, used = time.perf_counter(), time.process_time()
        work()
        found.append((time.perf_counter() - clock, time.process_time() - used))
    return {"seconds": round(min(one[0] for one in found[1:]), 3), "cpu": round(min(one[1] for one in found[1:]), 3)}


def rounds(works: dict[str, Callable[[], Any]], times: int = 5) -> dict[str, Any]:
    """Median seconds, of the clock and of all processors, of works that are done in rounds, each in an order of its own; and medians of what the first takes of each in its own round.

    A machine that others slow down for a while slows all of a round. Each is done twice in a round, and timed the second time: with the memory that it
    has taken before.
    """
    found, rng = [], np.random.default_rng(0)
    for _ in range(times):
        one = {}
        for name in rng.permutation(list(works)).tolist():
            works[name]()
            clock, used = time.perf_counter(), time.process_time()
            works[name]()
            one[name] = time.perf_counter() - clock, time.process_time() - used
        found.append(one)
    first = next(iter(works))
    median = lambda of: round(float(np.median([of(one) for one in found])), 3)  # noqa: E731
    return {
        name: {
            "seconds": median(lambda one: one[name][0]),  # noqa: B023 - it is called here
            "cpu": median(lambda one: one[name][1]),  # noqa: B023
            "cpu of the first / its own": median(lambda one: one[first][1] / one[name][1]),  # noqa: B023
            "seconds / those of the first": median(lambda one: one[name][0] / one[first][0]),  # noqa: B023
        }
        for name in works
    }


def passes(records: int = RECORDS) -> dict[str, Any]:
    """One question of moments, and one step of the preconditioned gradient, over each source."""
    place, encoding = written(records), domain(records).encoding(fit_intercept=True)
    prices = PricedQueries(encoding.facts, Neighbours.ADD_OR_REMOVE, records, parted=True)
    moments, step = (
        prices.price("moments", target_scale=1.0, mu=0.5),
        prices.price("centred_gradient", loss=Squared(), mu=0.5),
    )
    width = encoding.facts.width
    question = step.question(np.zeros(width), centre=np.zeros(width), intercept_weight=1.0, clip_norm=1.0)
    works: dict[str, Callable[[], Any]] = {"bare scan": lambda: bare(place)}
    for name, kept in {
        "disk": {"keep_bytes": 0},
        "memory": {"keep_bytes": 1 << 40},
        "cache": {"keep_bytes": 0, "cache": folder()},
    }.items():
        rows = rows_of(encoding, hb.scan(place, **kept))
        fresh = lambda kept=kept: rows_of(encoding, hb.scan(place, **kept), questions=1)  # noqa: E731 - of a fit that asks once
        of = fresh if name == "disk" else lambda rows=rows: rows
        works[f"{name}: moments"] = lambda of=of: moments.exact(of())  # type: ignore[misc]
        works[f"{name}: step"] = lambda rows=rows: step.exact(rows, *question)  # type: ignore[misc]
    return rounds(works)


def bandwidth(megabytes: int = 256) -> dict[str, Any]:
    """Gigabytes a second of one core: of reading memory, of copying it, and of opening what AES-256-GCM sealed."""
    plain, cipher = np.ones(megabytes << 17), AESGCM(AESGCM.generate_key(256))
    sealed, room, other = (
        cipher.encrypt(bytes(12), plain.view(np.uint8).data, None),
        np.empty(plain.nbytes, np.uint8),
        np.empty_like(plain),
    )
    works = {
        "read": plain.sum,
        "copied": lambda: np.copyto(other, plain),
        "opened": lambda: cipher.decrypt_into(bytes(12), sealed, None, room.data),
    }
    return {name: round(plain.nbytes / 1e9 / one["cpu"], 1) for name, one in rounds(works).items()}


def fits(records: int, features: int, only: str = "") -> dict[str, Any]:
    """Fits by all cores, in rounds of scikit-learn's and ours, plans cached: by "auto", and by moments where that is the word."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (records, features))
    y = X @ np.linspace(-1, 1, features) / features**0.5 + rng.normal(0, 0.3, records)
    names, classes, budget = [f"x{j}" for j in range(features)], (y > 0).astype(int), hb.Budget(1.0, 1e-9)
    about = {"features": dict.fromkeys(names, (-1, 1)), "indicators": False}
    of, kinds = hb.Domain(**about, target=(-3, 3)), hb.Domain(**about, classes=[0, 1])

    def own(kind: Any, target: np.ndarray, **more: Any) -> Callable[[], Any]:
        made = kind(domain=of if target is y else kinds, budget=budget, **more)
        return lambda: made.fit(X, target)

    bare: dict[str, Any] = {"inference": False}
    works = {
        "Ridge": {
            "scikit-learn": lambda: linear_model.Ridge().fit(X, y),
            "moments": own(hb.LinearRegression, y, solver="moments", **bare),
            "auto": own(hb.LinearRegression, y, **bare),
            "auto, with inference": own(hb.LinearRegression, y),
        },
        "LogisticRegression": {
            "scikit-learn": lambda: linear_model.LogisticRegression().fit(X, classes),
            "auto": own(hb.LogisticRegression, classes, **bare),
            "auto, with inference": own(hb.LogisticRegression, classes),
        },
        "Lasso": {
            "scikit-learn": lambda: linear_model.Lasso(alpha=0.01).fit(X, y),
            "auto": own(hb.Lasso, y, **bare),
        },
    }
    return {name: rounds(one, 3) for name, one in works.items() if only in name}


def lines(records: int = LINES) -> dict[str, Any]:
    """Numbers of a CSV file."""
    place = folder() / f"{records}.csv"
    if not place.exists():
        csv.write_csv(parquet.read_table(written(RECORDS)).drop_columns(["who"]).slice(0, records), place)
    columns = list(range(FEATURES + 1))
    work = lambda: [part.numbers(columns) for part in hb.scan(place).parts()]  # noqa: E731
    return {"CSV": timed(lambda: work() and None, 2), "megabytes": place.stat().st_size // 10**6}


def memory(records: int, units: bool) -> dict[str, float]:
    """Seconds and resident megabytes at most of a fit that keeps no row in memory, in this process."""
    place, more = written(records), {"unit": "who", "records_per_unit": 2} if units else {}
    source = hb.scan(place, keep_bytes=0, cache=folder() if units else None)
    clock, used = time.perf_counter(), time.process_time()
    model(records, **more).fit(source)
    status = Path(
        "/proc/self/status"
    ).read_text()  # the largest of this program alone; that of getrusage counts its parent's
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1e3
    return {
        "records": records,
        "megabytes": round(peak),
        "seconds": round(time.perf_counter() - clock, 1),
        "cpu": round(time.process_time() - used, 1),
    }


def apart(records: int, units: bool) -> Any:
    """The same in a process of its own, as memory once taken counts for ever."""
    written(records)
    code = f"import json; from benchmarks.scan import memory; print(json.dumps(memory({records}, {units})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def run() -> dict[str, Any]:
    large = int(os.environ.get("HULLABALOO_SCAN_RECORDS", str(RECORDS)))
    memory = {"no unit": apart(large, False), "a unit": apart(large, True)}
    most = int(os.environ.get("HULLABALOO_SCAN_FITS", "100000"))
    beside = {"records": most, **fits(most, 100)}
    return {"passes": passes(), "gigabytes a second": bandwidth(), **lines(), "memory": memory, "fits": beside}
