"""Sparse and wide: a step of private Frank–Wolfe that touches what changed beside one that recomputes, and fits of sparse rows from disk.

Steps, and fits by greedy selection: 100 000 rows, 1 000 000 columns, 20 cells a row, logistic loss, l1 ball, no intercept; processor seconds. Columns are even, or some are popular (the density of column j
falls like 1/j), and the target depends on these: at the smaller ε₀ of a choice noise chooses, at the larger one they are found, and nearly all records have a cell in them.
From disk: 10 000 000 rows, 100 000 columns, 20 cells a row as lists in Parquet, by mirror descent; HULLABALOO_SCAN=folder with 2 GB of room.
"""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from pyarrow import parquet

import hullabaloo as hb
from hullabaloo.curator import Curator
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.geometry import L1Ball
from hullabaloo.losses import Logistic
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.selection import choice
from hullabaloo.solvers.frank_wolfe.frank_wolfe import descend

SPEED = True
ROWS, COLUMNS, CELLS, STEPS, FEW = 100_000, 1_000_000, 20, 200, 8
RECORDS, WIDTH, BATCH = 10_000_000, 100_000, 100_000
KEY = TestKey(bytes(32))


def run() -> dict[str, Any]:
    """Both."""
    rng = np.random.default_rng(0)
    kinds = {"even columns": (False, 0.05), "popular, ε₀ = 0.0001": (True, 1e-4), "popular, ε₀ = 0.05": (True, 0.05)}
    steps = {name: _steps(*_table(rng, popular), epsilon) for name, (popular, epsilon) in kinds.items()}
    fits = {name: _greedy(*_table(rng, popular)) for name, popular in (("even columns", False), ("popular", True))}
    return {"milliseconds of a step": steps, "seconds of greedy selection": fits, "from disk": _from_disk()}


def _table(rng: np.random.Generator, popular: bool) -> tuple[sp.csr_array, np.ndarray]:
    if popular:
        columns = np.minimum(np.exp(rng.random((ROWS, CELLS)) * np.log(COLUMNS)).astype(np.int64) - 1, COLUMNS - 1)
    else:
        columns = rng.integers(0, COLUMNS, (ROWS, CELLS))
    X = sp.coo_array(
        (np.ones(columns.size), (np.repeat(np.arange(ROWS), CELLS), columns.ravel())), shape=(ROWS, COLUMNS)
    ).tocsr()
    X.sum_duplicates()
    X.data[:] = rng.uniform(0.5, 1.0, X.nnz)
    told = X[:, :40] @ rng.choice([-2.0, 2.0], 40)
    return X, np.where(told + rng.logistic(size=ROWS) > 0, 1.0, -1.0)


def _steps(X: sp.csr_array, y: np.ndarray, epsilon: float) -> dict[str, Any]:
    facts = RowFacts(tuple(map(str, range(COLUMNS))), False, float(COLUMNS), float(np.sqrt(COLUMNS)), 1.0, ("y",))
    price: Any = PricedQueries(facts, Neighbours.REPLACE_ONE, ROWS).price
    query = price("vertex", constraint=L1Ball(10.0), loss=Logistic(), clip=1.0, epsilon=epsilon, count=STEPS)

    def walked(steps: int) -> dict[str, Any]:
        curator, body, seconds, chosen = (
            Curator(Rows(X, y[:, None]), [query], key=KEY),
            L1Ball(10.0),
            list[float](),
            list[int](),
        )

        def towards(theta: np.ndarray) -> np.ndarray:
            start = time.process_time()
            chosen.append(curator.answer("vertex", theta))
            seconds.append(1e3 * (time.process_time() - start))
            return body.vertex_at(chosen[-1], COLUMNS)

        start = time.process_time()
        theta = descend(np.zeros(COLUMNS), towards, steps=steps)
        whole = 1e3 * (time.process_time() - start) - seconds[0]
        touched = int(np.count_nonzero(X @ theta))
        return {"seconds": seconds, "solver": (whole - sum(seconds[1:])) / steps, "chosen": chosen, "touched": touched}

    walked(2)  # compiles
    kept, (many, most) = walked(STEPS), (choice.MANY, choice._MOST)
    choice._MOST = 0
    anew = walked(FEW)
    choice.MANY, choice._MOST = 2 * COLUMNS + 1, most
    plain = walked(FEW)
    choice.MANY = many
    median = {
        name: float(np.median(found["seconds"][1:]))
        for name, found in (("kept", kept), ("anew", anew), ("plain", plain))
    }
    return {
        "first answer": round(kept["seconds"][0], 1),
        "answer, what changed": round(median["kept"], 2),
        "answer, last ten": round(float(np.mean(kept["seconds"][-10:])), 2),
        "answer, recomputed": round(median["plain"], 1),
        "recomputed / what changed": round(median["plain"] / median["kept"], 1),
        "the solver's own": round(kept["solver"], 2),
        "steps": STEPS,
        "columns chosen": len({number % COLUMNS for number in kept["chosen"]}),
        "records touched at the end": kept["touched"],
        "same choices as anew": kept["chosen"][:FEW] == anew["chosen"],
    }


def _greedy(X: sp.csr_array, y: np.ndarray) -> dict[str, float]:
    """Of a fit of 32 columns, by choices that are kept and recomputed."""
    domain, solver = hb.Domain(row_norm=5.0, classes=[0, 1]), hb.GreedySelectionSolver(selected=32)
    terms = {
        "domain": domain,
        "solver": solver,
        "fit_intercept": False,
        "inference": False,
        "budget": hb.Budget(3.0, 1e-8),
    }
    found, many, classes = {}, choice.MANY, (y > 0).astype(int)
    hb.LogisticRegression(**terms).fit(X, classes)
    for name, least in (("kept", many), ("recomputed", COLUMNS + 1)):
        choice.MANY, start = least, time.process_time()
        hb.LogisticRegression(**terms).fit(X, classes)
        found[name] = round(time.process_time() - start, 2)
    choice.MANY = many
    return found


def _from_disk() -> dict[str, Any]:
    with TemporaryDirectory(dir=os.environ.get("HULLABALOO_SCAN")) as folder:
        path = Path(folder) / "rows.parquet"
        _write(path, 200_000)
        table = parquet.read_table(path)
        parts = [table[name].combine_chunks().flatten().to_numpy() for name in ("values", "indices")]
        X = sp.csr_array(
            (parts[0].astype(float), parts[1], np.arange(0, parts[0].size + 1, CELLS)), shape=(200_000, WIDTH)
        )
        fits = [_model(3).fit(X, table["y"].to_numpy()), _model(3).fit(hb.scan(path, sparse=WIDTH))]
        found: dict[str, Any] = {"same bits as in memory": fits[0].coef_.tobytes() == fits[1].coef_.tobytes()}
        _write(path, RECORDS)
        found["gigabytes"] = round(path.stat().st_size / 1e9, 2)
        for name, passes, keep in (("read anew", 2, 0), ("kept in memory", 10, 3 * 10**9)):
            code = f"from benchmarks import sparse; sparse.fit({str(path)!r}, {passes}, {keep})"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            found[name] = json.loads(done.stdout)
    return found


def _write(path: Path, records: int) -> None:
    rng, part = np.random.default_rng(0), WIDTH // CELLS
    schema = pa.schema([("indices", pa.list_(pa.int32())), ("values", pa.list_(pa.float32())), ("y", pa.float32())])
    starts = pa.array(np.arange(0, BATCH * CELLS + 1, CELLS, dtype=np.int32))
    with parquet.ParquetWriter(path, schema, compression=None, use_dictionary=False) as writer:
        for _ in range(records // BATCH):
            places = rng.integers(0, part, (BATCH, CELLS), dtype=np.int32) + part * np.arange(CELLS, dtype=np.int32)
            cells = (places.ravel(), rng.random(BATCH * CELLS, dtype=np.float32))
            lists = [pa.ListArray.from_arrays(starts, pa.array(one)) for one in cells]
            writer.write_table(pa.table([*lists, pa.array(rng.random(BATCH, dtype=np.float32))], schema=schema))


def _model(passes: int) -> Any:
    domain, solver = hb.Domain(row_norm=6.0, target={"y": (0, 1)}), hb.MirrorDescentSolver(max_passes=passes)
    terms = {"domain": domain, "solver": solver, "constraint": hb.L1Ball(1.0), "budget": hb.Budget(1.0, 1e-8)}
    return hb.LinearRegression(test_key=KEY, **terms)


def fit(path: str, passes: int, keep: int) -> None:
    """Print what a fit took: run by itself, so that its peak of memory is its own."""
    start = time.process_time()
    _model(passes).fit(hb.scan(path, sparse=WIDTH, keep_bytes=keep))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        json.dumps(
            {
                "passes": passes,
                "processor seconds": round(time.process_time() - start, 1),
                "GiB at most": round(peak, 2),
            }
        )
    )


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value)
