"""Streams of many columns: what a sketch keeps, against the moments of all columns, and how many coordinates it needs.

`distortion`: the constant of the theory's rule, `m D²/W²` for the largest distortion D of an inner product of a k-sparse unit row with
a vertex of the l1 ball. `sizes`: risk against m, in units of `max(W², log(T/β))`, on simulated streams with the noise of the buffered
mechanism at the end of the stream. `simulated` and `tables`: the estimators themselves, `SketchedRegression` beside
`IncrementalRegression` with the same set where p² numbers fit: share kept of the non-private gain over a constant (least squares over
the same set on all records), time per record with releases in blocks, and numbers of doubles kept.
"""

import time
import tracemalloc
import warnings
from typing import Any

import numpy as np
from scipy import sparse

import hullabaloo as hb
from benchmarks import small
from benchmarks.share_tables import DATA
from hullabaloo.curation.sketch import Sketch
from hullabaloo.losses import Squared
from hullabaloo.privacy import Neighbours
from hullabaloo.privacy.answers import NoisyMoments
from hullabaloo.solvers import Problem
from hullabaloo.streaming.lift import minimise_sketched
from hullabaloo.streaming.regression import FAILURE, paper_size, row_width
from hullabaloo.streaming.sketched_solve import solve_sketched

Array = np.ndarray
MU = {1.0: 0.2367, 3.0: 0.6176}
NONZEROS = 10


def fingerprint() -> dict[str, Any]:
    """Sizes by both rules, a small sketch, and a small stream of sketches."""
    X, y, _ = small.table()
    wide = sparse.csr_array(np.hstack([X, 0.5 * X[:, ::-1]]) / 4.0)
    model = hb.streaming.SketchedRegression(
        budget=hb.Budget(30.0, 1e-5), domain=hb.Domain(row_norm=("l2", 1.0), target=(-1, 1)), horizon=len(y), every=len(y) // 2,
        constraint=hb.L1Ball(2.0), fit_intercept=False, sketch_size=4, test_key=small.KEY,
    ).partial_fit(wide, y)  # fmt: skip
    width = _width(300, NONZEROS)
    gram = np.asarray((wide.T @ wide).toarray()) / len(y)
    quiet = minimise_sketched(np.eye(8), gram, wide.T @ y / len(y), hb.L1Ball(2.0), steps=50, dense=0)
    return {
        "width": width,
        "paper": paper_size(width, 10_000),
        "sketch": Sketch(6, 3, 0).matrix,
        "theta": model.coef_,
        "quiet": quiet,
    }


def run() -> dict[str, Any]:
    """All parts."""
    return {"distortion": distortion(), "sizes": sizes(), "simulated": simulated(), "tables": tables()}


# ---- how many coordinates ---------------------------------------------------------------------------------------------


def distortion(seeds: int = 10) -> list[dict[str, Any]]:
    """`m D²/W²` over sketches of k-sparse rows and the l1 ball: the largest of them is the rule's constant."""
    out = []
    for p, k, m in ((300, 5, 100), (300, 5, 400), (1000, 10, 200), (1000, 10, 800), (3000, 3, 300)):
        width = _width(p, k)
        found = []
        for seed in range(seeds):
            phi = Sketch(p, m, seed).matrix
            seen = np.sort(np.abs(phi.T @ phi - np.eye(p)), axis=0)[-k:]
            found.append(float(np.sqrt((seen**2).sum(axis=0)).max()))
        out.append({"p": p, "k": k, "m": m, "W": width, "constant": m * max(found) ** 2 / width**2})
    return out


def sizes(draws: int = 2) -> list[dict[str, Any]]:
    """Share kept against m on simulated streams."""
    out = []
    for p, records, epsilon, spread in (
        (1500, 20_000, 1.0, "zipf"),
        (1500, 20_000, 3.0, "zipf"),
        (1500, 80_000, 1.0, "zipf"),
        (400, 80_000, 3.0, "even"),
    ):
        stream = Simulated.make(p, records, spread, seed=1)
        unit = max(_width(p, NONZEROS) ** 2, np.log(records / FAILURE))
        for share in (0.5, 1.0, 2.0, 4.0, 6.0):
            m = int(np.ceil(share * unit))
            if m <= p:
                kept, quiet = _kept_of_size(stream, m, epsilon, draws)
                out.append(
                    {"p": p, "T": records, "epsilon": epsilon, "columns": spread, "m/unit": share, "m": m}
                    | {"kept": kept, "kept without noise": quiet, "paper's m": paper_size(_width(p, NONZEROS), records)}
                )
                print(out[-1], flush=True)
    return out


def _width(p: int, k: int) -> float:
    return row_width(np.sqrt(k), 1.0, p) + hb.L1Ball(1.0).gaussian_width(p).value


def _kept_of_size(stream: "Simulated", m: int, epsilon: float, draws: int) -> tuple[float, float]:
    p, records = stream.X.shape[1], len(stream.y)
    body = hb.L1Ball(stream.radius)
    problem = Problem(Squared(), p, False, NONZEROS**0.5, 1.0, 1.0, 1, records, Neighbours.REPLACE_ONE, constraint=body)
    rng, kept, quiet = np.random.default_rng(m), [], 0.0
    for seed in range(draws):
        sketch = Sketch(p, m, seed)
        Z = stream.X @ sketch.matrix.T
        Z /= np.linalg.norm(Z, axis=1, keepdims=True)
        gram, cross = Z.T @ Z / records, Z.T @ stream.y / records
        for sigma in (2.0 * np.sqrt(2.0) * 4.0 / MU[epsilon], 0.0):
            E = np.triu(rng.normal(size=(m, m)), 1) * sigma / np.sqrt(2.0) / records
            E = E + E.T + np.diag(rng.normal(size=m)) * sigma / records
            e = rng.normal(size=m) * sigma / np.sqrt(2.0) / records
            moments = NoisyMoments(gram + E, (cross + e)[:, None], np.eye(1), sigma, 1.0, 1.0, 1.0, records, True)
            share = stream.kept(solve_sketched(moments, problem, sketch).theta[:, 0])
            if sigma:
                kept.append(share)
            else:
                quiet += share / draws
    return float(np.mean(kept)), quiet


class Simulated:
    """Rows with `NONZEROS` equal entries and norm 1; a model of eight coefficients on the more frequent columns."""

    def __init__(self, X: Any, y: Array, fresh: Any, fresh_y: Array, radius: float) -> None:
        self.X, self.y, self.fresh, self.fresh_y, self.radius = X, y, fresh, fresh_y, radius
        p = X.shape[1]
        gram, cross = (X.T @ X).toarray() / len(y), X.T @ y / len(y)
        self.best = minimise_sketched(np.eye(p), gram, cross, hb.L1Ball(radius), steps=300, dense=0)

    @classmethod
    def make(cls, p: int, records: int, spread: str, seed: int) -> "Simulated":
        """A stream and 5 000 fresh records; columns are alike ("even"), or as frequent as 1/rank ("zipf")."""
        rng = np.random.default_rng(seed)
        weight = np.log(1.0 / np.arange(1, p + 1)) if spread == "zipf" else np.zeros(p)
        count = records + 5_000
        columns = np.concatenate(
            [
                np.argpartition(-(weight + rng.gumbel(size=(min(2000, count - at), p))), NONZEROS, axis=1)[:, :NONZEROS]
                for at in range(0, count, 2000)
            ]
        )
        data = np.full(columns.size, NONZEROS**-0.5)
        X = sparse.csr_array((data, columns.ravel(), np.arange(0, columns.size + 1, NONZEROS)), shape=(count, p))
        X.sort_indices()
        theta, radius = np.zeros(p), 2.0
        theta[rng.choice(30, 8, replace=False)] = rng.choice([-1.0, 1.0], 8) * radius / 8
        y = np.clip(X @ theta + 0.1 * rng.normal(size=count), -1.0, 1.0)
        return cls(X[:records], y[:records], X[records:], y[records:], radius)

    def kept(self, theta: Array, intercept: float = 0.0) -> float:
        """Share of what the best model over the set gains over 0 on fresh records."""
        nothing, best = np.mean(self.fresh_y**2), np.mean((self.fresh_y - self.fresh @ self.best) ** 2)
        return float((nothing - np.mean((self.fresh_y - self.fresh @ theta - intercept) ** 2)) / (nothing - best))


# ---- the estimators ---------------------------------------------------------------------------------------------------


def simulated() -> list[dict[str, Any]]:
    """Simulated streams of 20 000 records, 20 releases."""
    out = []
    for p in (300, 1000, 2000, 5000):
        stream = Simulated.make(p, 20_000, "zipf", seed=2)
        for epsilon in MU:
            full, sketched = hb.streaming.IncrementalRegression, hb.streaming.SketchedRegression
            for name, kind, more in (
                ("full", full, {}),
                ("sketched", sketched, {"max_nonzeros": NONZEROS}),
            ):
                if name == "full" and p > 1000:
                    continue
                model = kind(
                    budget=hb.Budget(epsilon, 1e-6),
                    domain=hb.Domain(row_norm=("l2", 1.0), target=(-1, 1)),
                    horizon=20_000,
                    every=1_000,
                    constraint=hb.L1Ball(stream.radius),
                    fit_intercept=False,
                    **more,
                )
                seconds, peak = _timed(model, stream.X, stream.y)
                size = model.sketch_.size if name == "sketched" else p
                out.append(
                    {"p": p, "epsilon": epsilon, "model": name, "coordinates": size, "kept": stream.kept(model.coef_)}
                    | {"microseconds a record": 1e6 * seconds / 20_000, "peak MB": peak}
                )
    return out


def _timed(model: Any, X: Any, y: Array, block: int = 1_000) -> tuple[float, float]:
    """Seconds to take all records and read once, and the peak of memory in MB."""
    tracemalloc.start()
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for at in range(0, len(y), block):
            model.partial_fit(X[at : at + block], y[at : at + block])
        model.model_at()
    seconds, peak = time.perf_counter() - start, tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return seconds, peak


def tables() -> list[dict[str, Any]]:
    """Real streams of many columns, ten releases: mean squared error (Brier score) on the last tenth, which is never learned from."""
    out = []
    for name, radius, norm, nonzeros, sizes_ in (
        ("hockey_goals", 5.0, 4.0, 16, (100, 300, 1000, "all columns")),
        ("spamassassin_stream", 30.0, 20.0, 400, (300,)),
    ):
        file = DATA / f"{name}.npz"
        X, y = sparse.csr_array(sparse.load_npz(file).astype(float)), np.load(file)["y"].astype(float)
        train = int(0.9 * len(y))
        block = train // 10 + 1
        constant = float(np.mean((y[train:] - y[:train].mean()) ** 2))
        for size in sizes_:
            quiet = (
                () if isinstance(size, str) else (float("inf"),)
            )  # all columns without noise: minutes to the last digits
            for epsilon in (*quiet, *sorted(MU, reverse=True)):
                basics: dict[str, Any] = {
                    "budget": hb.Budget(epsilon, 0.0 if epsilon == float("inf") else 1e-6),
                    "domain": hb.Domain(row_norm=("l2", norm), target=(0, 1)),
                    "horizon": train,
                    "every": block,
                    "constraint": hb.L1Ball(radius),
                }
                if isinstance(size, str):
                    model = hb.streaming.IncrementalRegression(**basics)
                else:
                    model = hb.streaming.SketchedRegression(**basics, sketch_size=size, max_nonzeros=nonzeros)
                seconds, peak = _timed(model, X[:train], y[:train], block)
                out.append(
                    {"table": name, "p": X.shape[1], "T": train, "epsilon": str(epsilon), "m": size}
                    | {"Brier": float(np.mean((y[train:] - model.predict(X[train:])) ** 2))}
                    | {"of a constant": constant, "microseconds a record": 1e6 * seconds / train, "peak MB": peak}
                )
                print(out[-1], flush=True)
    return out
