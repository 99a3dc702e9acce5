"""Speed of structured norms: prox and greedy vertex at p = 1e5 over one numpy sort of p numbers, and what has no closed form."""

from typing import Any

import numpy as np

from benchmarks.timing import alternate
from hullabaloo.geometry import (
    BoundedCardinality,
    Cardinality,
    ConcaveCardinality,
    CustomSetFunction,
    GroupCover,
    Intervals,
    SetFunction,
    SubmodularBall,
    TreeCover,
    greedy_vertex,
    omega,
)
from hullabaloo.geometry.submodular.norm import prox

SPEED = True
P = 100_000
SIDE, WINDOW = 316, 3  # a grid of nearly P pixels
REPEATS = 11


def families() -> dict[str, tuple[SetFunction, float]]:
    """Set functions of 1e5 columns with a weight at which the prox of a normal vector keeps some and drops others."""
    scattered = np.random.default_rng(1).permutation(P)
    return {
        "cardinality": (Cardinality(), 0.7),
        "largest": (BoundedCardinality(1), 0.1 * P),
        "ten_largest": (BoundedCardinality(10), 0.01 * P),
        "concave": (ConcaveCardinality.power(P, 0.5), 50.0),
        "groups_of_5": (GroupCover(scattered.reshape(-1, 5).tolist()), 2.0),
        "groups_of_50": (GroupCover(scattered.reshape(-1, 50).tolist()), 20.0),
        "neighbours_of_5": (GroupCover(np.arange(P).reshape(-1, 5).tolist()), 2.0),
        "balanced_tree": (TreeCover([-1, *((j - 1) // 2 for j in range(1, P))]), 0.5),
        "chain": (TreeCover([-1, *range(P - 1)]), 0.5),
        "intervals": (Intervals(), 0.1),
        "grid_windows": (GroupCover.grid(SIDE, SIDE, WINDOW), 0.1),
    }


def closed() -> dict[str, dict[str, float]]:
    """Median milliseconds of prox, greedy vertex and norm at p = 1e5, and the multiples of a sort of the same vector."""
    found: dict[str, dict[str, float]] = {}
    for name, (function, weight) in families().items():
        p = function.dimension or P
        v = np.random.default_rng(0).normal(size=p)
        sort, one, greedy, norm = alternate(
            lambda v=v: np.sort(v),
            lambda v=v, function=function, weight=weight: prox(function, v, weight),
            lambda v=v, function=function: greedy_vertex(function, v),
            lambda v=v, function=function: omega(function, v),
            repeats=REPEATS,
        )
        found[name] = {
            "p": p,
            "share_kept": float(np.count_nonzero(prox(function, v, weight))) / p,
            "sort_ms": 1e3 * sort,
            "prox_ms": 1e3 * one,
            "prox_over_sort": one / sort,
            "greedy_over_sort": greedy / sort,
            "norm_over_sort": norm / sort,
        }
    return found


def overlapping() -> dict[str, float]:
    """Median seconds of the prox of covers that cross, by minimum cuts, at p = 1e4 (half-planes: 784)."""
    rng = np.random.default_rng(2)
    row, column = np.indices((100, 100))
    bumps = np.sin(row / 7.0) * np.cos(column / 11.0)
    tables = {
        "noise": rng.normal(size=10_000),
        "smooth": (bumps + 0.1 * rng.normal(size=bumps.shape)).ravel(),
    }
    found = {}
    for window in (3, 10):
        cover = GroupCover.grid(100, 100, window)
        for table, v in tables.items():
            for strength in (0.01, 0.3):
                weight = strength / window
                found[f"windows_{window}_{table}_{strength}"] = _seconds(lambda v=v, w=weight, c=cover: c.prox(v, w), 3)
    groups = [sorted(rng.choice(10_000, 8, replace=False).tolist()) for _ in range(10_000)]
    groups += [[j] for j in range(10_000)]
    cover = GroupCover(groups)
    found["random_groups_of_8"] = _seconds(lambda: cover.prox(tables["noise"], 0.05), 3)
    planes = GroupCover.grid(28, 28)
    found["half_planes_784"] = _seconds(lambda: planes.prox(tables["noise"][:784], 0.01), 3)
    return found


def general() -> dict[str, float]:
    """Median seconds of the prox of Σ_G √|A ∩ G| at p = 200 by the minimum-norm point, and of one greedy vertex."""
    p = 200
    windows = [frozenset(range(j, min(j + 10, p))) for j in range(0, p, 5)]

    def curved(columns: frozenset[int]) -> float:
        return float(sum(len(columns & window) ** 0.5 for window in windows))

    function = CustomSetFunction(curved, p)
    v = np.random.default_rng(3).normal(size=p)
    return {
        "prox_p200": _seconds(lambda: prox(function, v, 0.3), 3),
        "greedy_p200": _seconds(lambda: greedy_vertex(function, v), 3),
        "share_kept": float(np.count_nonzero(prox(function, v, 0.3))) / p,
    }


def balls() -> dict[str, float]:
    """Median milliseconds of projections onto balls at half the norm of the vector, p = 1e4."""
    p = 10_000
    v = np.random.default_rng(4).normal(size=p)
    functions: dict[str, SetFunction] = {
        "cardinality": Cardinality(),
        "ten_largest": BoundedCardinality(10),
        "groups_of_5": GroupCover(np.arange(p).reshape(-1, 5).tolist()),
        "balanced_tree": TreeCover([-1, *((j - 1) // 2 for j in range(1, p))]),
        "intervals": Intervals(),
        "grid_windows": GroupCover.grid(100, 100, WINDOW),
    }
    found = {}
    for name, function in functions.items():
        ball = SubmodularBall(function, 0.5 * omega(function, v))
        found[f"{name}_ms"] = 1e3 * _seconds(lambda ball=ball: ball.project(v), 3)
    return found


def run() -> dict[str, Any]:
    """All four tables."""
    return {"closed": closed(), "overlapping": overlapping(), "general": general(), "balls": balls()}


def _seconds(task: Any, repeats: int) -> float:
    return alternate(task, repeats=repeats)[0]
