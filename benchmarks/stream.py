"""Streams: records a second of a stream's curator at several spacings of releases, and memory that does not grow with it.

Beside them, in the same run, the estimator one by one and in tables, its durable form, and river's own linear regression.
"""

import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from river import linear_model, preprocessing

import hullabaloo as hb
from hullabaloo.curation.moments_process import StreamTask, open_moments
from hullabaloo.data.source import Rows
from hullabaloo.privacy import Neighbours
from hullabaloo.privacy.schedule import Schedule

SPEED = True
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
    speed |= {f"{way}, p = 10, every = 1000": round(take(10, 1000)) for way, take in ONCE.items()}
    return {"records a second": speed, "MiB resident": memory()}


def _stream(p: int, every: int) -> tuple[Any, Rows]:
    """An open process and one batch of records."""
    names = [f"x{j}" for j in range(p)]
    domain = hb.Domain(features=dict.fromkeys(names, (-1, 1)), target=(-1, 1), indicators=False)
    task = StreamTask("stream", domain, hb.Budget(1.0, 1e-9), Neighbours.REPLACE_ONE, schedule=Schedule(HORIZON, every))
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


def _model(p: int, every: int, **more: Any) -> tuple[Any, Any, Any, list[dict[str, float]], list[float]]:
    """A stream as users make it, and one batch: as a table, and as dictionaries."""
    names = [f"x{j}" for j in range(p)]
    domain = hb.Domain(features=dict.fromkeys(names, (-1, 1)), target=(-1, 1), indicators=False)
    model = hb.streaming.IncrementalRegression(
        budget=hb.Budget(1.0, 1e-9), domain=domain, horizon=HORIZON, every=every, **more
    )
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (BATCH, p))
    y = X.mean(axis=1)
    return model, X, y, [dict(zip(names, row, strict=True)) for row in X.tolist()], y.tolist()


def tables(p: int, every: int) -> float:
    """Records a second of `partial_fit` with arrays of a thousand records."""
    model, X, y, *_ = _model(p, every)
    return _rate(lambda: model.partial_fit(X, y))


def one_by_one(p: int, every: int) -> float:
    """Records a second of `learn_one`."""
    model, _, _, records, targets = _model(p, every)
    return _rate(lambda: _learn(model, records, targets))


def durable(p: int, every: int) -> float:
    """Records a second of `learn_one` with a state file, saved (fsync) before each release."""
    with tempfile.TemporaryDirectory() as folder:
        model, _, _, records, targets = _model(p, every, state=f"{folder}/state")
        with model:
            return _rate(lambda: _learn(model, records, targets))


def recorded(p: int, every: int) -> float:
    """Records a second of `learn_one` with a state file and a ledger, which confirms every save."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = hb.Ledger(f"sqlite:///{folder}/privacy.db")
        ledger.create("stream", hb.Budget(1.0, 1e-9))
        model, _, _, records, targets = _model(p, every, state=f"{folder}/state", ledger=ledger, dataset="stream")
        with model:
            return _rate(lambda: _learn(model, records, targets))


def predictions(p: int, every: int) -> float:
    """Records a second of `predict_one`."""
    model, X, y, records, _ = _model(p, every)
    model.partial_fit(X, y)
    return _rate(lambda: [model.predict_one(x) for x in records])


def by_river(p: int, every: int) -> float:
    """Records a second of river's own linear regression (not private)."""
    *_, records, targets = _model(p, every)
    model = linear_model.LinearRegression()
    return _rate(lambda: _learn(model, records, targets))


def by_scaled_river(p: int, every: int) -> float:
    """Records a second of river's `StandardScaler | LinearRegression` (not private)."""
    *_, records, targets = _model(p, every)
    model = preprocessing.StandardScaler() | linear_model.LinearRegression()
    return _rate(lambda: _learn(model, records, targets))


def _learn(model: Any, records: list[dict[str, float]], targets: list[float]) -> None:
    learn = model.learn_one
    for x, y in zip(records, targets, strict=True):
        learn(x, y)


def _rate(work: Callable[[], object]) -> float:
    """Records a second of work on one batch."""
    work()
    start, taken = time.perf_counter(), 0
    while (spent := time.perf_counter() - start) < SECONDS:
        work()
        taken += BATCH
    return taken / spent


WAYS: dict[str, Callable[[int, int], float]] = {
    "batches of 1000": batches,
    "partial_fit": tables,
    "learn_one": one_by_one,
}
ONCE: dict[str, Callable[[int, int], float]] = {
    "learn_one, durable": durable,
    "learn_one, durable, with a ledger": recorded,
    "predict_one": predictions,
    "river's LinearRegression": by_river,
    "river's StandardScaler | LinearRegression": by_scaled_river,
}
"""Ways that are measured at ten columns and a release after every thousand records only."""


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
