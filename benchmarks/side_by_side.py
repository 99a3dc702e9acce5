"""Least squares of ten million records of twenty features: processor seconds of this library and of others, side by side, each in a process of its own.

From a folder of Parquet files: this library in parts, and by Spark beside MLlib's own regression, which is not private. From an array in memory: this library,
scikit-learn, which is not private, and diffprivlib where HULLABALOO_PEERS names a Python that has it. Processor seconds are of the process and of those that it started,
after a fit of a few records, so that starts and compilation are apart.
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
OTHERS = ("MLlib, not private", "scikit-learn, not private", "diffprivlib")


def run() -> dict[str, Any]:
    from benchmarks.scan import written

    place, found, peers = written(RECORDS), {}, os.environ.get("HULLABALOO_PEERS")
    for name in (*OURS, *OTHERS):
        python = peers if name == "diffprivlib" else sys.executable
        if python is not None:
            words = [python, "-m", "benchmarks.side_by_side", name, str(place)]
            found[name] = json.loads(
                subprocess.check_output(words, text=True, stderr=subprocess.DEVNULL).splitlines()[-1]
            )
    return {"records": RECORDS, "features": FEATURES, "rows": found}


def fit_of(name: str, place: str) -> Callable[[bool], Any]:
    """What fits all records, or a few where it is told so."""
    few = f"{place}/0.parquet"
    if name in ("in memory", "scikit-learn, not private", "diffprivlib"):
        X, y = in_memory(place)
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
