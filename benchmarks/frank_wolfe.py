"""Private Frank–Wolfe: one step on wide tables against one `X.T @ r` in the same run, and how many steps serve best.

A step is an exact clipped gradient (predictions and their transpose in one pass, on the lattice) and the exponential mechanism
over all 2p vertices of an l1 ball. The dense table has 1e5 rows and 1e4 columns where memory allows, else half the rows.

The number of steps is tried out in multiples of T₀, where the bound is least, on even and on correlated features, for
sparse and less sparse truths: geometric means over the designs of excess risk in parts of the constant model's.
"""

import gc
import math
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.timing import alternate
from hullabaloo.curator import Curator
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.geometry import L1Ball
from hullabaloo.losses import Squared
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.solvers import FrankWolfeSolver, Problem

ROWS, DENSE_COLUMNS = 100_000, 10_000
SPARSE_COLUMNS, PER_ROW = 1_000_000, 100
ROUNDS = 3
DESIGNS = [
    (n, p, radius, support, even)
    for n, p in ((2_000, 50), (10_000, 60))
    for radius, support in ((0.5, 3), (1.0, 20))
    for even in (True, False)
]
EPSILONS = (0.1, 1.0, 4.0)
MULTIPLES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0)
DRAWS = 4
STEPS_TAKEN = 50
"""Nonzero coefficients of the point at which steps are timed: as many as that many steps leave."""


def fingerprint() -> dict[str, Any]:
    """Shares of the excess risk at several numbers of steps on a small design."""
    design = _design(np.random.default_rng(0), 300, 8, 0.5, 2, even=False)
    return {"shares": [_share(design, 1.0, multiple) for multiple in (0.25, 1.0, None)]}


def run() -> dict[str, Any]:
    """Median seconds of a step and of one product, dense and sparse."""
    rng = np.random.default_rng(0)
    results = {"sparse": _times(_sparse(rng), rng)}
    gc.collect()
    rows = ROWS if _free_bytes() > 1.2 * 8 * ROWS * DENSE_COLUMNS else ROWS // 2
    results["dense"] = _times(_dense(rng, rows), rng)
    gc.collect()
    return {**results, "excess risk by number of steps": _steps(rng)}


def _times(X: Any, rng: np.random.Generator) -> dict[str, float]:
    n, p = X.shape
    y, r = rng.uniform(-1.0, 1.0, n), rng.uniform(-1.0, 1.0, n)
    theta = np.zeros(p)
    theta[rng.choice(p, STEPS_TAKEN, replace=False)] = rng.normal(0.0, 0.02, STEPS_TAKEN)
    facts = RowFacts(tuple(map(str, range(p))), False, float(p), float(np.sqrt(p)), 1.0, ("y",))
    prices = PricedQueries(facts, Neighbours.REPLACE_ONE, n)
    query = prices.price("vertex", constraint=L1Ball(1.0), loss=Squared(), clip=1.0, epsilon=0.05, count=10 * ROUNDS)
    curator = Curator(Rows(X, y[:, None]), [query])
    step, product = alternate(lambda: curator.answer("vertex", theta), lambda: X.T @ r, repeats=ROUNDS)
    return {"rows": n, "columns": p, "step_seconds": step, "product_seconds": product, "step / product": step / product}


def _steps(rng: np.random.Generator) -> list[dict[str, Any]]:
    designs = [_design(rng, *shape) for shape in DESIGNS]
    rows = []
    for multiple in (*MULTIPLES, None):
        row: dict[str, Any] = {"steps / T₀": "as shipped" if multiple is None else multiple}
        for epsilon in EPSILONS:
            shares = [_share(design, epsilon, multiple) for design in designs]
            row[f"ε = {epsilon:g}"] = math.exp(np.mean(np.log(shares)))
        rows.append(row)
    return rows


def _design(rng: np.random.Generator, n: int, p: int, radius: float, support: int, even: bool) -> dict[str, Any]:
    X = rng.uniform(-1.0, 1.0, (n, p))
    if not even:
        X = np.clip(
            0.15 * rng.normal(size=(n, 5)) @ rng.normal(size=(5, p)) + 0.25 * rng.normal(size=(n, p)), -1.0, 1.0
        )
    theta = np.zeros(p)
    theta[:support] = radius * rng.dirichlet(np.ones(support)) * rng.choice([-1.0, 1.0], support)
    y = np.clip(X @ theta + 0.25 * rng.normal(size=n), -1.0, 1.0)
    best = z = np.zeros(p)
    size = np.linalg.norm(X, 2) ** 2 / n
    for t in range(500):  # accelerated projected gradient: the optimum without noise
        new = L1Ball(radius).project(z - X.T @ (X @ z - y) / (n * size))
        best, z = new, new + t / (t + 3.0) * (new - best)
    return {"X": X, "y": y, "radius": radius, "best": float(np.mean((X @ best - y) ** 2))}


def _share(design: dict[str, Any], epsilon: float, multiple: float | None) -> float:
    X, y = design["X"], design["y"]
    n, p = X.shape
    facts = RowFacts(tuple(map(str, range(p))), False, float(p), math.sqrt(p), 1.0, ("y",))
    body, relation = L1Ball(design["radius"]), Neighbours.REPLACE_ONE
    problem = Problem(Squared(), p, False, float(p), math.sqrt(p), 1.0, 1, n, relation, constraint=body)
    prices, allowance = PricedQueries(facts, relation, n), Allowance(Budget(epsilon, 1.0 / n**2))
    many = FrankWolfeSolver(clip=0.5, steps=1024).plan(problem, prices, allowance).settings
    least = (4.0 * many["curvature"] / (many["slope_error"] / 32.0)) ** (2.0 / 3.0)
    steps = None if multiple is None else min(max(round(multiple * least), 1), 1000)
    solver = FrankWolfeSolver(clip=0.5, steps=steps)
    plan = solver.plan(problem, prices, allowance)
    excess = []
    for draw in range(DRAWS):
        curator = Curator(Rows(X, y[:, None]), plan.queries, key=TestKey(bytes(32)).derive(draw))  # type: ignore[arg-type]
        theta = solver.run(problem, plan, curator).theta[:, 0]
        excess.append(float(np.mean((X @ theta - y) ** 2)) - design["best"])
    return max(float(np.mean(excess)) / (float(np.mean(y**2)) - design["best"]), 1e-3)


def _dense(rng: np.random.Generator, rows: int) -> np.ndarray:
    X = np.empty((rows, DENSE_COLUMNS))
    for start in range(0, rows, 5000):  # no second copy of the table
        X[start : start + 5000] = rng.random((min(5000, rows - start), DENSE_COLUMNS), dtype=np.float32)
    return X


def _sparse(rng: np.random.Generator) -> sp.csr_array:
    """Columns drawn evenly, one in each of 100 equal parts, so that every row has its indices in order."""
    part = SPARSE_COLUMNS // PER_ROW
    indices = rng.integers(0, part, (ROWS, PER_ROW), dtype=np.int32) + part * np.arange(PER_ROW, dtype=np.int32)
    data = rng.random(ROWS * PER_ROW)
    return sp.csr_array((data, indices.ravel(), PER_ROW * np.arange(ROWS + 1)), shape=(ROWS, SPARSE_COLUMNS))


def _free_bytes() -> float:
    for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("MemAvailable"):
            return 1024.0 * float(line.split()[1])
    return 0.0


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value)
