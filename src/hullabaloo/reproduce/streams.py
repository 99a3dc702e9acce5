"""Kasiviswanathan, Nissim and Jin (2017), Private incremental regression: trees, sums, fits on prefixes, sketches."""

import math
from typing import Any

import numpy as np

from hullabaloo.curation.moments_process import MomentsProcess, StreamTask, open_moments
from hullabaloo.curation.prefixes import PrefixProcess
from hullabaloo.curation.process import Process
from hullabaloo.curation.sketch import Sketch
from hullabaloo.data import Domain, Encoding
from hullabaloo.geometry import ConvexSet, L1Ball, L2Ball, NoPenalty
from hullabaloo.linear_model import LinearRegression
from hullabaloo.noise import TestKey
from hullabaloo.noise.continual.mechanism import ContinualSum
from hullabaloo.noise.continual.tree import BinaryTree
from hullabaloo.privacy import Budget, Neighbours, Schedule
from hullabaloo.quadratic import minimise_quadratic
from hullabaloo.reproduce.claims import Claim, Picture, Reproduction, lines_of, mean_error, mean_rows, slope, slopes
from hullabaloo.solvers.base import Array
from hullabaloo.streaming import SketchedRegression
from hullabaloo.streaming.bounds import distortion, incremental, sketched
from hullabaloo.streaming.refits import planned

DOMAIN = Domain(row_norm=1.0, target=(-1, 1))
BUDGET, FAILURE, P = Budget(1.0, 1e-10), 1e-6, 10
WIDE, SIZE, SIZES = 200, 40, [12, 24, 48, 96]


def run(quick: bool) -> Reproduction:
    """Errors of the tree, excess of sums and of fits by the length of the stream, error against t, and what a sketch distorts."""
    draws, lengths = (3, [1 << e for e in range(13, 17)]) if quick else (6, [1 << e for e in range(13, 18)])
    horizons = [1 << e for e in range(6, 24)]
    tree = [float(np.max(BinaryTree(T).column_norm * BinaryTree(T).errors_at(np.array([T - 1, T])))) for T in horizons]
    noise = _tree_noise(255, 4000)
    sums = [[_last(T, i) for T in lengths] for i in range(draws)]
    fits = [[_refitted(T, i) for T in lengths] for i in range(max(2, draws // 2))]
    path = _path(lengths[-1], draws)
    seen, allowed = _distortions(SIZES, 5)
    wide = [_sketched(lengths[-1], i) for i in range(2)]
    claims = (
        Claim("Algorithm 4", "variance of the tree's released sum after 255 steps over the stated one", *noise, 0.9, 1.1),
        Claim("Proposition C.1", "the tree's error grows with a power of log T: that power (the paper's 3/2, at most)", slope([math.log(T) for T in horizons[4:]], tree[4:]), high=1.5),
        Claim("Theorem 4.2", "sums: excess over the whole stream is polylogarithmic in T: power of T at most a quarter", *slopes(lengths, sums), high=0.25),
        Claim("Theorem 4.2", "sums: excess over the bound with our constants, largest over time", max(row["sums"] / row["bound"] for row in path), high=1.0),
        Claim("Theorem 3.1 (1)", "fits every τ = (Tp)^(1/3) records: excess over the stream, power of T at most a third (0.1 for logarithms)", *slopes(lengths, fits), high=1 / 3 + 0.1),
        Claim("Remark 4.3", "on the longest stream sums lose less than fits: ratio", *mean_error([a[-1] / b[-1] for a, b in zip(sums, fits, strict=False)]), high=1.0),
        Claim("Theorem 5.1", "a sketch moves norms by at most (W + 3 + 2√(2 ln(2/β)))/√m: largest ratio", max(a / b for a, b in zip(seen, allowed, strict=True)), high=1.0),
        Claim("Corollary 5.2", "distortion falls like m^(-1/2) (0.1 of the power)", slope(SIZES, seen), low=-0.6, high=-0.4),
        Claim("Theorem 5.7", "a sketched stream's excess over the bound with our constants", *mean_error([row["excess / bound"] for row in wide]), high=1.0),
    )  # fmt: skip
    rows = mean_rows("T", lengths, {"sums": sums[: len(fits)], "fits": fits})
    pictures = {
        "time": Picture("Excess of the sum over time", f"T = {lengths[-1]:,}, p = {P}, l2 ball, ε = 1, δ = 1e-10", "records t", "excess of the sum", lines_of("t", path)),
        "length": Picture("Excess at the end by the length of the stream", "a release after every record (tree), or a fit every τ records", "length T", "excess of the sum", lines_of("T", rows)),
        "sketch": Picture("What a sketch distorts", f"norms of sparse rows and vertices of the l1 ball in {WIDE} columns", "coordinates m", "distortion", {"largest seen": (SIZES, seen), "bound": (SIZES, allowed)}),
    }  # fmt: skip
    errors = [{"T": T, "error": e} for T, e in zip(horizons, tree, strict=True)]
    return Reproduction(claims, {"length": rows, "time": path, "tree": errors, "sketched": wide}, pictures)


def _tree_noise(steps: int, coordinates: int) -> tuple[float, float]:
    """Mean square of the noise after the step with the most nodes, over the predicted one, and its standard error."""
    strategy = BinaryTree(steps)
    stream = ContinualSum(strategy, sigma=1.0, length=coordinates, bound=strategy.reach, key=TestKey(bytes(32)))
    last = stream.add(np.zeros((steps, coordinates)))[-1]
    found = float(np.mean(last**2)) / float(strategy.errors_at(np.array([steps]))[0]) ** 2
    return found, math.sqrt(2.0 / coordinates)


def _stream(length: int, p: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(length, p))
    X /= np.linalg.norm(X, axis=1)[:, None]
    truth = np.zeros(p)
    truth[:4] = 0.25
    return X, np.clip(2.0 * X @ truth + 0.1 * rng.normal(size=length), -1.0, 1.0)


def _excess(process: Process, X: Array, y: Array, body: ConvexSet, looks: list[int], encoding: Any) -> list[float]:
    """Excess of the sum ½Σ(⟨x, θ⟩ − y)² over the best model's in the set, at each look."""
    taken, found = 0, []
    for at in looks:
        process.take(encoding.encode(X[taken:at], y[taken:at]))
        release, taken = process.released(), at
        model = np.zeros(X.shape[1]) if release is None else release.theta[:, 0]
        found.append(_loss(X[:at], y[:at], model) - _least(X[:at], y[:at], body))
    return found


def _least(X: Array, y: Array, body: ConvexSet) -> float:
    """The least loss in the set."""
    mean = minimise_quadratic(X.T @ X / len(y), X.T @ y / len(y), feasible=body, penalty=NoPenalty())
    return _loss(X, y, np.asarray(mean.theta))


def _loss(X: Array, y: Array, theta: Array) -> float:
    return 0.5 * float(np.sum((X @ theta - y) ** 2))


def _opened(length: int, seed: int) -> tuple[MomentsProcess, Encoding]:
    """Exact sums under the noise of the binary tree, a release after every record."""
    task = StreamTask(
        "a stream", DOMAIN, BUDGET, Neighbours.REPLACE_ONE, schedule=Schedule(length, 1), constraint=L2Ball(1.0), fit_intercept=False,
        mechanism="tree", key=TestKey(bytes(32)).derive(seed),
    )  # fmt: skip
    encoding = DOMAIN.encoding(n_features=P, fit_intercept=False)
    return open_moments(task, encoding), encoding


def _last(length: int, seed: int) -> float:
    process, encoding = _opened(length, seed)
    return _excess(process, *_stream(length, P, seed), L2Ball(1.0), [length], encoding)[0]


def _refitted(length: int, seed: int) -> float:
    """A fit by its moments after every τ = (Tp)^{1/3} records, ε = 1, all of one price; the stream ends just before a fit."""
    tau = math.ceil((length * P) ** (1 / 3))
    model = LinearRegression(
        budget=BUDGET, domain=DOMAIN, constraint=L2Ball(1.0), fit_intercept=False, solver="moments",
        test_key=bytes([seed]) * 32,
    )  # fmt: skip
    encoding = DOMAIN.encoding(n_features=P, fit_intercept=False)
    task = model._task(encoding)
    refits = planned(task, encoding, Schedule(length, tau))
    return _excess(PrefixProcess(task, refits), *_stream(length, P, seed), L2Ball(1.0), [length], encoding)[0]


def _path(length: int, draws: int) -> list[dict[str, Any]]:
    looks = [length >> k for k in range(8, -1, -1)]
    runs = []
    for seed in range(draws):
        process, encoding = _opened(length, seed)
        runs.append(_excess(process, *_stream(length, P, seed), L2Ball(1.0), looks, encoding))
    query = process.query
    bounds = [incremental(query.sigma * query.error(at), at, columns=P, radius=1.0, failure=FAILURE) for at in looks]
    means = np.mean(runs, axis=0).tolist()
    return [{"t": at, "sums": mean, "bound": bound} for at, mean, bound in zip(looks, means, bounds, strict=True)]


def _distortions(sizes: list[int], seeds: int) -> tuple[list[float], list[float]]:
    """Largest |‖Φu‖ − ‖u‖| over u = x ± e_j, x of 200 sparse unit rows (5 nonzeros); and `distortion` with W = width of both."""
    rng = np.random.default_rng(1)
    rows = np.zeros((200, WIDE))
    for row in rows:
        row[rng.choice(WIDE, 5, replace=False)] = rng.normal(size=5)
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    moves = np.eye(WIDE)[:20]
    points = (rows[:, None, :] + np.concatenate([moves, -moves])).reshape(-1, WIDE)
    width = math.sqrt(2.0 * math.log(400.0)) + L1Ball(1.0).gaussian_width(WIDE).high
    seen, lengths = [], np.linalg.norm(points, axis=1)
    for m in sizes:
        sketches = [Sketch(WIDE, m, seed).matrix for seed in range(seeds)]
        seen.append(max(float(np.abs(np.linalg.norm(points @ one.T, axis=1) - lengths).max()) for one in sketches))
    return seen, [distortion(width, m, FAILURE) for m in sizes]


def _sketched(length: int, seed: int) -> dict[str, Any]:
    body, (X, y) = L1Ball(1.0), _stream(length, WIDE, seed)
    model = SketchedRegression(
        budget=BUDGET, domain=DOMAIN, horizon=length, every=length // 8, constraint=body, sketch_size=SIZE,
        fit_intercept=False, test_key=bytes([seed]) * 32,
    )  # fmt: skip
    encoding = DOMAIN.encoding(n_features=WIDE, fit_intercept=False)
    excess = _excess(model._open(encoding), X, y, body, [length], encoding)[0]
    query: Any = model._open(encoding).query
    width = math.sqrt(WIDE) + body.gaussian_width(WIDE).high
    sizes: dict[str, Any] = {"size": SIZE, "width": width, "radius": 1.0}
    bound = sketched(query.sigma * query.error(8), length, least=_least(X, y, body), failure=FAILURE, **sizes)
    return {"T": length, "m": SIZE, "excess": excess, "bound": bound, "excess / bound": excess / bound}
