"""Streams: records a second of a stream's curator at several spacings of releases, and memory that does not grow with it.

Rows of other ways to take records (one by one, or through river) belong into `WAYS` below.
"""

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import hullabaloo as hb
from hullabaloo.data.source import Rows
from hullabaloo.privacy import Neighbours
from hullabaloo.privacy.schedule import Schedule
from hullabaloo.streaming.hinge import StreamTask, open_moments

SOURCES = [
    "src/hullabaloo/curator",
    "src/hullabaloo/noise",
    "src/hullabaloo/streaming/hinge.py",
    "src/hullabaloo/data/source.py",
]
HORIZON, BATCH, SECONDS = 100_000_000, 1000, 2.0
EVERY, COLUMNS = (1, 100, 1000), (10, 100)
FEW, MANY = 100_000, 10_000_000
"""Records after which the resident set is read."""


def run() -> dict[str, Any]:
    """Records a second of every way, number of columns and spacing; resident memory in a long stream."""
    speed = {
        f"{way}, p = {p}, every = {every}": round(take(p, every))
        for way, take in WAYS.items()
        for p in COLUMNS
        for every in EVERY
    }
    return {"records a second": speed, "MiB resident": memory()}


def _stream(p: int, every: int) -> tuple[Any, Rows]:
    """An open process and one batch of records."""
    names = [f"x{j}" for j in range(p)]
    domain = hb.Domain(features=dict.fromkeys(names, (-1, 1)), target=(-1, 1), indicators=False)
    task = StreamTask("stream", domain, hb.Budget(1.0, 1e-9), Neighbours.REPLACE_ONE, Schedule(HORIZON, every))
    rng, encoding = np.random.default_rng(0), domain.encoding()
    X = rng.uniform(-1.0, 1.0, (BATCH, p))
    return open_moments(task, encoding), encoding.encode(X, X.mean(axis=1))


def batches(p: int, every: int) -> float:
    """Records a second of `take` with encoded records, a thousand at a time."""
    process, rows = _stream(p, every)
    process.take(rows)
    start, taken = time.perf_counter(), 0
    while (spent := time.perf_counter() - start) < SECONDS:
        process.take(rows)
        taken += BATCH
    return taken / spent


WAYS: dict[str, Callable[[int, int], float]] = {"batches of 1000": batches}


def memory() -> dict[str, float]:
    """The resident set after few and after many records, a release after each hundred."""
    process, rows = _stream(10, 100)
    found = {}
    for stop in (FEW, MANY):
        while process.position < stop:
            process.take(rows)
        process.released()
        found[f"after {stop} records"] = round(_resident() / 2**20, 1)
    return found


def _resident() -> int:
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value)
