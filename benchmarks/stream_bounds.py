"""Theorems 3.1, 4.2 and 5.7 of private incremental regression, with our constants, beside what simulated streams lose.

Excess risk a record (½ mean squared error on the records so far, over that of the best model in the set), mean over draws, at ε = 1,
δ = 10⁻¹⁰, replace-one. Rows are uniform on the sphere, y = ⟨x, θ*⟩ + noise, cut off at ±1; the set is the l2 ball for sums and fits, the l1 ball for
sketches. Bounds hold for every stream (Theorem 3.1 in expectation, the others with probability 1 − 10⁻⁶ at each release).
"""

import math
from typing import Any

import numpy as np

import hullabaloo as hb
from benchmarks import small
from hullabaloo.curation.moments_process import StreamTask, open_moments
from hullabaloo.curation.prefixes import PrefixProcess
from hullabaloo.curation.process import Process
from hullabaloo.geometry import ConvexSet, NoPenalty
from hullabaloo.privacy import Neighbours
from hullabaloo.privacy.schedule import Schedule
from hullabaloo.quadratic import minimise_quadratic
from hullabaloo.streaming.bounds import Shape, incremental, refitted, sketched
from hullabaloo.streaming.refits import divided, planned

T, P, EVERY, FITS = 1 << 17, 10, 1 << 10, 16
LOOKS = tuple(1 << e for e in range(11, 18))
WIDE, SIZE = 400, 40
BUDGET, FAILURE = hb.Budget(1.0, 1e-10), 1e-6
Array = np.ndarray


def fingerprint() -> dict[str, Any]:
    """The three bounds at one shape, and what sums and fits of a small stream release."""
    schedule, shape = Schedule(4096, 1024), Shape(2.0, 2.0, P, 4.0, math.sqrt(P), 4.0)
    shares = divided(tuple(map(schedule.position, range(1, 5))))
    return {
        "Theorem 4.2": incremental(10.0, 4096, columns=P, radius=1.0, failure=FAILURE),
        "Theorem 5.7": sketched(10.0, 4096, size=SIZE, least=1.0, failure=FAILURE, width=25.0, radius=1.0),
        "Theorem 3.1": refitted(shape, 4096, schedule, shares, 0.2),
        "sums": [small.streamed("auto"), small.streamed("tree")],
        "fits": small.streamed(again=True),
    }


def run(draws: int = 5) -> dict[str, Any]:
    """Sums and fits in few columns, sketches in many."""
    return {"draws": draws, "few_columns": _few(draws), "sketched": _many(draws)}


def _stream(p: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(T, p))
    X /= np.linalg.norm(X, axis=1)[:, None]
    truth = np.zeros(p)
    truth[:4] = 0.25
    return X, np.clip(2.0 * X @ truth + 0.1 * rng.normal(size=T), -1.0, 1.0)


def _few(draws: int) -> list[dict[str, Any]]:
    body = hb.L2Ball(1.0)
    (X, y), domain = _stream(P, 0), hb.Domain(row_norm=1.0, target=(-1, 1))
    encoding = domain.encoding(n_features=P, fit_intercept=False)

    def sums(mechanism: str) -> Any:
        task = StreamTask(
            "a stream",
            domain,
            BUDGET,
            Neighbours.REPLACE_ONE,
            schedule=Schedule(T, EVERY),
            constraint=body,
            fit_intercept=False,
            mechanism=mechanism,
        )
        return lambda: open_moments(task, encoding)

    model = hb.LinearRegression(budget=BUDGET, domain=domain, constraint=body, fit_intercept=False)
    fit_task, schedule = model._task(encoding), Schedule(T, T // FITS)
    refits = planned(fit_task, encoding, schedule)
    mu = fit_task.allowance().mu
    shape = Shape(2.0, 2.0, P, 4.0, math.sqrt(P), 4.0)
    shares = divided(tuple(map(schedule.position, range(1, FITS + 1))))
    best = {at: _best(X[:at], y[:at], body) for at in LOOKS}
    found = {
        "buffered": _excess(sums("auto"), X, y, best, encoding, draws),
        "tree": _excess(sums("tree"), X, y, best, encoding, draws),
        "fits": _excess(lambda: PrefixProcess(fit_task, refits), X, y, best, encoding, draws),
    }
    noise = {name: sums(name)().query for name in ("auto", "tree")}
    lines = []
    for at in LOOKS:
        sigma = {name: query.sigma * query.error(at // EVERY) for name, query in noise.items()}
        lines.append(
            {
                "records": at,
                "sums, buffered": found["buffered"][at],
                "sums, tree": found["tree"][at],
                "16 fits": found["fits"][at],
                "Theorem 4.2, buffered": incremental(sigma["auto"], at, columns=P, radius=1.0, failure=FAILURE) / at,
                "Theorem 4.2, tree": incremental(sigma["tree"], at, columns=P, radius=1.0, failure=FAILURE) / at,
                "Theorem 3.1": refitted(shape, at, schedule, shares, mu) / at,
            }
        )
    return lines


def _many(draws: int) -> list[dict[str, Any]]:
    body, domain = hb.L1Ball(1.0), hb.Domain(row_norm=1.0, target=(-1, 1))
    X, y = _stream(WIDE, 1)
    encoding = domain.encoding(n_features=WIDE, fit_intercept=False)

    def begin() -> Process:
        return hb.streaming.SketchedRegression(
            budget=BUDGET,
            domain=domain,
            horizon=T,
            every=EVERY,
            constraint=body,
            sketch_size=SIZE,
            fit_intercept=False,
        )._open(encoding)

    looks = LOOKS[-2:]
    best = {at: _best(X[:at], y[:at], body) for at in looks}
    found = _excess(begin, X, y, best, encoding, min(draws, 2))
    query = begin().query  # type: ignore[attr-defined]
    lines = []
    for at in looks:
        about = {"width": math.sqrt(WIDE) + body.gaussian_width(WIDE).high, "radius": 1.0}
        least = _loss(X[:at], y[:at], best[at])
        sigma = query.sigma * query.error(at // EVERY)
        bound = sketched(sigma, at, size=SIZE, least=least, failure=FAILURE, **about) / at
        lines.append({"records": at, "columns": WIDE, "m": SIZE, "sketched": found[at], "Theorem 5.7": bound})
    return lines


def _best(X: Array, y: Array, body: ConvexSet) -> Array:
    scale = len(y)
    return np.asarray(minimise_quadratic(X.T @ X / scale, X.T @ y / scale, feasible=body, penalty=NoPenalty()).theta)


def _loss(X: Array, y: Array, theta: Array) -> float:
    return 0.5 * float(np.sum((X @ theta - y) ** 2))


def _excess(begin: Any, X: Array, y: Array, best: dict[int, Array], encoding: Any, draws: int) -> dict[int, float]:
    """Mean excess risk a record at each look."""
    total = dict.fromkeys(best, 0.0)
    for _ in range(draws):
        process, taken = begin(), 0
        for at, theta in best.items():
            process.take(encoding.encode(X[taken:at], y[taken:at]))
            release, taken = process.released(), at
            model = np.zeros(X.shape[1]) if release is None else release.theta[:, 0]
            total[at] += (_loss(X[:at], y[:at], model) - _loss(X[:at], y[:at], theta)) / at / draws
    return total
