"""Tables in parts: seconds of a pass from Parquet, CSV, memory and the sealed folder, beside a bare scan by PyArrow; and how much memory it takes.

HULLABALOO_SCAN=folder with room   where the tables are written and left
HULLABALOO_SCAN_RECORDS=100000000  of the table whose memory is measured (17 GB)
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
from pyarrow import csv, dataset, parquet

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
    """A Parquet file of so many records of twenty features, a target and a person, written once; of more than `RECORDS`, a folder of links to one."""
    place = folder() / f"{records}.parquet"
    if place.exists():
        return place
    if records > RECORDS:
        place.mkdir()
        for number in range(records // RECORDS):
            (place / f"{number}.parquet").hardlink_to(written(RECORDS))
        return place
    rng, writer, part = np.random.default_rng(0), None, place.with_suffix(".part")
    for start in range(0, records, GROUP):
        X = rng.uniform(-1, 1, (min(GROUP, records - start), FEATURES))
        y = X @ np.linspace(-0.3, 0.3, FEATURES) + rng.normal(0, 0.3, len(X))
        columns = {name: X[:, j] for j, name in enumerate(NAMES)} | {
            "y": y,
            "who": rng.integers(0, records // 5, len(X)),
        }
        table = pa.table(columns)
        writer = writer or parquet.ParquetWriter(part, table.schema)
        writer.write_table(table, row_group_size=GROUP)
    assert writer is not None
    writer.close()
    part.rename(place)
    return place


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
    found: dict[str, Any] = {"bare scan": timed(lambda: bare(place))}
    for name, kept in {
        "disk": {"keep_bytes": 0},
        "memory": {"keep_bytes": 1 << 40},
        "cache": {"keep_bytes": 0, "cache": folder()},
    }.items():
        rows = rows_of(encoding, hb.scan(place, **kept))
        found[f"{name}: moments"] = timed(lambda rows=rows: moments.exact(rows))  # type: ignore[misc]
        found[f"{name}: step"] = timed(lambda rows=rows: step.exact(rows, *question))  # type: ignore[misc]
    return found


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
    fits = {"no unit": apart(large, False), "a unit": apart(large, True)}
    return {"passes": passes(), **lines(), "memory": fits}
