"""Least squares of ten million records of twenty features: processor seconds of this library and of others, side by side, each in a process of its own.

From a folder of Parquet files: this library in parts, and by Spark beside MLlib's own regression, which is not private. From an array in memory: this library,
scikit-learn, which is not private, and diffprivlib and Opacus where HULLABALOO_PEERS and HULLABALOO_OPACUS name a Python that has them (`.peers/bin/python` of `make peers`).
Processor seconds are of the process and of those that it started, after a fit of a few records, so that starts and compilation are apart. Opacus takes one pass of DP-SGD, a
hundred Poisson batches of a hundredth of the records, without its accountant; it has no data loader here, which would take a Python call for each record.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SPEED = True
RECORDS, FEATURES, EPSILON = 10_000_000, 20, 1.0
NAMES = [f"x{j}" for j in range(FEATURES)]
OURS = ("in parts", "in memory", "Spark")
OTHERS = ("MLlib, not private", "scikit-learn, not private", "diffprivlib", "Opacus, one pass")
PEERS = {"diffprivlib": "HULLABALOO_PEERS", "Opacus, one pass": "HULLABALOO_OPACUS"}
BATCHES = 100


def run() -> dict[str, Any]:
    from benchmarks.scan import written

    place, found = written(RECORDS), {}
    for name in (*OURS, *OTHERS):
        python = os.environ.get(PEERS[name]) if name in PEERS else sys.executable
        if python is not None:
            words = [python, "-m", "benchmarks.side_by_side", name, str(place)]
            found[name] = json.loads(
                subprocess.check_output(words, text=True, stderr=subprocess.DEVNULL).splitlines()[-1]
            )
    return {"records": RECORDS, "features": FEATURES, "rows": found}


def fit_of(name: str, place: str) -> Callable[[bool], Any]:
    """What fits all records, or a few where it is told so."""
    few = f"{place}/0.parquet"
    if name in ("in memory", "scikit-learn, not private", *PEERS):
        X, y = in_memory(place)
        if name == "Opacus, one pass":
            return lambda warm: opacus(X[:1000] if warm else X, y[:1000] if warm else y)
        made = {"in memory": ours, "diffprivlib": diffprivlib}.get(name, plain)()
        return lambda warm: made.fit(X[:1000] if warm else X, y[:1000] if warm else y)
    if name == "in parts":
        import pyarrow as pa
        from pyarrow import parquet

        import hullabaloo as hb

        some = pa.Table.from_batches([next(parquet.ParquetFile(few).iter_batches(1000))])
        return lambda warm: ours(named=True).fit(hb.scan(some) if warm else hb.scan(place))
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[2]").config("spark.driver.memory", "2g").getOrCreate()
    frame = session.read.parquet(place)
    if name == "Spark":
        import hullabaloo as hb

        return lambda warm: ours(named=True).fit(hb.scan(frame.limit(1000) if warm else frame))
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.regression import LinearRegression

    rows = VectorAssembler(inputCols=NAMES, outputCol="features").transform(frame)
    made = LinearRegression(labelCol="y", solver="normal")
    return lambda warm: made.fit(rows.limit(1000) if warm else rows)


def ours(*, named: bool = False) -> Any:
    import hullabaloo as hb

    target: Any = {"y": (-5, 5)} if named else (-5, 5)
    domain = hb.Domain(dict.fromkeys(NAMES, (-1, 1)), target=target, indicators=False)
    return hb.LinearRegression(domain=domain, solver="moments", inference=False, budget=hb.Budget(EPSILON, 1e-8))


def plain() -> Any:
    from sklearn.linear_model import LinearRegression

    return LinearRegression(copy_X=False)


def diffprivlib() -> Any:
    from diffprivlib.models import LinearRegression

    return LinearRegression(epsilon=EPSILON, bounds_X=(-1.0, 1.0), bounds_y=(-5.0, 5.0), copy_X=False)


def opacus(X: Any, y: Any) -> Any:
    import torch
    from opacus import GradSampleModule
    from opacus.optimizers import DPOptimizer

    rows, target = torch.from_numpy(X), torch.from_numpy(y)
    model = GradSampleModule(torch.nn.Linear(X.shape[1], 1, dtype=torch.float64), loss_reduction="sum")
    about = {"noise_multiplier": 1.0, "max_grad_norm": 1.0, "expected_batch_size": len(X) // BATCHES}
    optimiser = DPOptimizer(torch.optim.SGD(model.parameters(), lr=1.0), loss_reduction="sum", **about)
    for _ in range(BATCHES):
        chosen = torch.rand(len(X)) < 1.0 / BATCHES
        optimiser.zero_grad()
        (0.5 * (model(rows[chosen])[:, 0] - target[chosen]) ** 2).sum().backward()
        optimiser.step()
    return model


def in_memory(place: str) -> tuple[Any, Any]:
    import numpy as np
    from pyarrow import dataset

    X, y, start = np.empty((RECORDS, FEATURES)), np.empty(RECORDS), 0
    for batch in dataset.dataset(place).to_batches(columns=[*NAMES, "y"]):
        stop = start + batch.num_rows
        for number, name in enumerate(NAMES):
            X[start:stop, number] = batch.column(name)
        y[start:stop], start = batch.column("y"), stop
    return X, y


def processor_seconds() -> float:
    """Of this process and of all that it started."""
    import psutil

    mine = psutil.Process()
    times = [one.cpu_times() for one in (mine, *mine.children(recursive=True))]
    return float(sum(one.user + one.system + one.children_user + one.children_system for one in times))


def main(name: str, place: str) -> None:
    import psutil

    fit = fit_of(name, place)
    fit(True)
    before, start = processor_seconds(), time.perf_counter()
    fit(False)
    spent, passed = processor_seconds() - before, time.perf_counter() - start
    kept = {"processor seconds": round(spent, 1), "seconds, beside other work": round(passed, 1)}
    print(json.dumps(kept | {"GiB": round(psutil.Process().memory_info().rss / 2**30, 1)}))


if __name__ == "__main__":
    main(sys.argv[1], str(Path(sys.argv[2])))
