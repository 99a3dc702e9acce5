"""Risk over time: private streams beside online least squares without privacy, fits on prefixes and river's linear regression.

The risk of a model after t records is its mean squared error on these t records (of classes the Brier score), what incremental regression
minimises, in the target's declared units squared over its half range. Streams end at `LONGEST` records, ε = 1, δ = 1/n². "ratio" is the risk
of `IncrementalRegression(every="auto")`, default mechanism, over that of least squares on the same records; medians over draws. The risk of
the best constant stands beside it: a ratio means little where it is near.

Where the theory does not allow it: noise of spectral norm ‖E‖ (`hullabaloo.streaming.bounds.spectral`) hides every direction of the records in
which their sum of squares is less. "allowed" is the ratio of least squares in the directions above ‖E‖ alone, to those in all: what can be
hoped for from sums of products, were these directions known. Of the hockey goals who is on the ice is learned from (17 columns); of all
2,776 columns no direction but the constant is above the noise, and a sketch of them is measured by `benchmarks/sketch.py`.
"""

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

from benchmarks import small
from benchmarks.stream_tables import Stream, stream
from hullabaloo import Budget, LinearRegression
from hullabaloo.curation.moments_process import StreamTask, open_moments
from hullabaloo.curation.prefixes import PrefixProcess
from hullabaloo.curation.process import Process
from hullabaloo.privacy import Neighbours
from hullabaloo.privacy.schedule import Schedule
from hullabaloo.streaming.bounds import spectral
from hullabaloo.streaming.refits import planned

TABLES = ("flights", "bike", "appliances", "electricity", "hockey")
LONGEST, LOOKS, TARGET = 20_000, 20, 1.25
MECHANISMS = ("auto", "tree", "square_root")
Array = np.ndarray


def fingerprint() -> dict[str, Any]:
    """What a small stream releases by every mechanism and by fits, and the spectral norm of its noise."""
    found = {name: small.streamed(name) for name in MECHANISMS}
    return {**found, "fit again": small.streamed(again=True), "spectral": spectral(10.0, 5, 0.5)}


def run(tables: tuple[str, ...] = TABLES, draws: int = 9) -> dict[str, Any]:
    """Ratios after the last record, and risk over time."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(measure, tables, [draws] * len(tables)))
    return {"records at most": LONGEST, "epsilon": 1.0, "draws": draws, "target": TARGET, "tables": found}


def measure(table: str, draws: int) -> dict[str, Any]:
    """One table."""
    start = time.perf_counter()
    data = stream(table, "squared error" if table in ("flights", "bike", "appliances") else "Brier score", LONGEST)
    looks = [data.n * k // LOOKS for k in range(1, LOOKS + 1)]
    X, y = data.rows.X, data.rows.Y[:, 0]
    plain = [_risk(data, at, np.linalg.lstsq(X[:at], y[:at], rcond=None)[0]) for at in looks]
    constant = [float(np.var(y[:at])) for at in looks]
    over_time = {name: _medians(data, looks, _sums(data, name), draws) for name in MECHANISMS}
    over_time["fit again"] = _medians(data, looks, _again(data), min(draws, 3))
    process = _sums(data, "auto")()
    hidden = process.query.sigma * process.query.error(process.schedule.steps) * data.encoding.facts.norm_l2**2  # type: ignore[attr-defined]
    allowed = _risk(data, data.n, _above(X, y, spectral(hidden, X.shape[1], 0.5)))
    return {
        "table": table,
        "score": data.score,
        "records": data.n,
        "columns": X.shape[1],
        "least squares": plain[-1],
        "constant": constant[-1],
        "private": over_time["auto"][-1],
        "ratio": over_time["auto"][-1] / plain[-1],
        "allowed": allowed / plain[-1],
        "fit again, 20 times, ratio": over_time["fit again"][-1] / plain[-1],
        "within the target": over_time["auto"][-1] <= TARGET * plain[-1],
        "over time": {
            "records": looks,
            "least squares": plain,
            "constant": constant,
            "river": _river(data, looks),
            **over_time,
        },
        "seconds": time.perf_counter() - start,
    }


def _risk(data: Stream, at: int, theta: Array) -> float:
    return float(np.mean((data.rows.Y[:at, 0] - data.rows.X[:at] @ theta) ** 2))


def _above(X: Array, y: Array, least: float) -> Array:
    """Least squares in the directions in which the sum of squares is at least so large."""
    values, vectors = np.linalg.eigh(X.T @ X)
    kept = vectors[:, values >= least]
    return kept @ np.linalg.lstsq(X @ kept, y, rcond=None)[0] if kept.size else np.zeros(X.shape[1])


def _sums(data: Stream, mechanism: str) -> Callable[[], Process]:
    """Running sums, a release whenever the default says so."""
    task = StreamTask(
        "a stream",
        data.encoding.domain,
        Budget(1.0, 1.0 / data.n**2),
        Neighbours.REPLACE_ONE,
        schedule=Schedule.of(data.n, "auto"),
        mechanism=mechanism,
    )
    return lambda: open_moments(task, data.encoding)


def _again(data: Stream) -> Callable[[], Process]:
    """As many fits as there are looks."""
    model = LinearRegression(budget=Budget(1.0, 1.0 / data.n**2), domain=data.encoding.domain)
    task = model._task(data.encoding)
    refits = planned(task, data.encoding, Schedule(data.n, tuple(data.n * k // LOOKS for k in range(1, LOOKS + 1))))
    return lambda: PrefixProcess(task, refits)


def _medians(data: Stream, looks: list[int], begin: Callable[[], Process], draws: int) -> list[float]:
    risks = np.empty((draws, len(looks)))
    for draw in range(draws):
        process, taken = begin(), 0
        for place, at in enumerate(looks):
            process.take(data.part(taken, at))
            release, taken = process.released(), at
            assert release is not None
            risks[draw, place] = _risk(data, at, release.theta[:, 0])
    return [float(value) for value in np.median(risks, axis=0)]


def _river(data: Stream, looks: list[int]) -> list[float]:
    """River's linear regression (stochastic gradient, its defaults) on the same encoded rows: not private."""
    from river.linear_model import LinearRegression as Plain

    model, names, risks = Plain(), [str(j) for j in range(data.rows.X.shape[1])], []
    for i, (x, y) in enumerate(zip(data.rows.X.tolist(), data.rows.Y[:, 0].tolist(), strict=True), start=1):
        model.learn_one(dict(zip(names, x, strict=True)), y)
        if i in looks:
            theta = np.array([model.weights.get(name, 0.0) for name in names])
            risks.append(float(np.mean((data.rows.Y[:i, 0] - data.rows.X[:i] @ theta - model.intercept) ** 2)))
    return risks


if __name__ == "__main__":
    for line in run(tuple(sys.argv[1:]) or TABLES, draws=3)["tables"]:
        print({name: value for name, value in line.items() if name != "over time"})
        for name, values in line["over time"].items():
            print(f"  {name:14s}", *[f"{value:9.4g}" for value in values[::4]], f"{values[-1]:9.4g}")
