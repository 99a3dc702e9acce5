"""Many columns: what private models keep where the number of columns is large against nε, and where nothing beats a constant.

Synthetic tables (δ = 1e-6, both relations): the share of the null model's excess risk that is left on fresh rows, `(loss − loss of the truth)/(loss
of 0 − loss of the truth)`; 0 is the true model, 1 is nothing. Real tables (δ = 1/n², replace-one): the held-out loss beside that of the best
constant and of an l1 model whose strength scikit-learn chose by cross-validation, without privacy. The number of coordinates is the solvers' own
choice, but where "s given" is said; the set of Frank–Wolfe has the true l1 norm on synthetic tables, and on real ones the better of two on
the held-out rows: an advantage that it has not in practice.
"""

import itertools
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

from benchmarks import small, wide_plans
from benchmarks.high_dimension_tables import REAL, Wide, autoregressive, constant, non_private
from hullabaloo.curator import Curator
from hullabaloo.geometry import L1Ball
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.solvers import (
    AdaptiveGradientSolver,
    FrankWolfeSolver,
    GreedyCoordinateDescentSolver,
    GreedySelectionSolver,
    ObjectivePerturbationSolver,
    Problem,
    Solver,
)

EPSILONS = (1.0, 3.0)
DRAWS = 2
RADII = (5.0, 20.0)
WHOLE = ("adaptive_gradient", "objective_perturbation")
LARGEST = 1.2e8
"""Cells up to which solvers are run that work on all of them, dense, at every step."""
GOALS = {1.0: 0.05, 3.0: 0.01}
FRESH = 50
"""Where the seeds of designs and splits begin: the greedy solvers' constants were chosen on others (of the same tables)."""
DESIGNS: list[tuple[int, dict[str, Any]]] = [
    (8, {}),
    (8, {"noise": 3.0}),
    (5, {"p": 5_000, "s": 5, "rho": 0.0}),
    (8, {"n": 500}),
]
Array = np.ndarray


def fingerprint() -> dict[str, Any]:
    """What every solver makes of a small design, and of how many coordinates."""
    wide = autoregressive(0, n=300, p=30, s=3, held=50)
    found = {name: fit(solver, wide, 3.0, 1e-6, Neighbours.REPLACE_ONE, 1.0, small.KEY) for name, solver in _solvers(3)}
    return {
        name: {"theta": theta, "selected": picked, "left": _left(wide, theta)}
        for name, (theta, picked) in found.items()
    }


def run(draws: int = DRAWS) -> dict[str, Any]:
    """Both tables, which rows of them nothing helps, and what "auto" takes of wide tables (`wide_plans.py`)."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        later = [pool.submit(_real, name, draws) for name in REAL]
        made = [line for lines in pool.map(_synthetic, DESIGNS, [draws] * len(DESIGNS)) for line in lines]
        real = [line for lines in later for line in lines.result()]
        plans = [line for lines in pool.map(_plans, wide_plans.CHOSEN_ON | wide_plans.REPORTED) for line in lines]
    about = {"medians of auto": wide_plans.summary(plans), "plans": plans}
    return {"goals": GOALS, "synthetic": made, "real": real, "nothing helps": hopeless(made, real), **about}


def synthetic_lines(design: tuple[int, dict[str, Any]], draws: int) -> Iterator[dict[str, Any]]:
    """Shares of the null model's excess risk that are left, a line for each relation, ε and solver."""
    s, options = design
    tables = [autoregressive(FRESH + seed, **options) for seed in range(1 if "p" in options else 2)]
    label = tables[0].name + (", noise 3" if "noise" in options else "")
    for neighbours, epsilon in itertools.product(Neighbours, EPSILONS):
        for name, solver in _solvers(s):
            if name in WHOLE and tables[0].rows.X.shape[1] > 1_000:
                continue
            left, seconds, picked = [], 0.0, None
            for table in tables if name.startswith("greedy") else tables[:1]:
                assert table.truth is not None
                for _ in range(draws if name.startswith("greedy") else 1):
                    start = time.perf_counter()
                    theta, picked = fit(solver, table, epsilon, 1e-6, neighbours, float(np.abs(table.truth).sum()))
                    seconds += time.perf_counter() - start
                    left.append(_left(table, theta))
            yield {
                "design": label,
                "neighbours": str(neighbours),
                "epsilon": epsilon,
                "solver": name,
                "selected": picked,
                "left": float(np.mean(left)),
                "worst": float(np.max(left)),
                "draws": len(left),
                "seconds per fit": seconds / len(left),
            }


def real_lines(name: str, draws: int) -> Iterator[dict[str, Any]]:
    """Held-out losses, a line for each ε and solver."""
    table = REAL[name](FRESH)
    n, p = table.rows.X.shape
    about = {
        "constant": table.held_loss(constant(table)),
        "non-private l1": table.held_loss(non_private(table)),
    }
    for epsilon in EPSILONS:
        for label, solver in _solvers(None):
            if label == "adaptive_gradient" and float(n) * p > LARGEST:
                continue
            radii = RADII if isinstance(solver, FrankWolfeSolver) else (None,)
            repeats = draws if label.startswith("greedy") else 1
            tried, seconds, picked = [], 0.0, None
            for radius in radii:
                found = []
                for _ in range(repeats):
                    start = time.perf_counter()
                    theta, picked = fit(solver, table, epsilon, 1.0 / n**2, Neighbours.REPLACE_ONE, radius)
                    seconds += time.perf_counter() - start
                    found.append(table.held_loss(theta))
                tried.append(float(np.mean(found)))
            loss, gain = min(tried), about["constant"] - about["non-private l1"]
            yield {
                "table": name,
                "records": n,
                "columns": p - 1,
                **about,
                "epsilon": epsilon,
                "solver": label,
                "selected": picked,
                "loss": loss,
                "share kept": (about["constant"] - loss) / gain,
                "draws": repeats,
                "seconds per fit": seconds / (len(radii) * repeats),
            }


def fit(
    solver: Solver,
    table: Wide,
    epsilon: float,
    delta: float,
    neighbours: Neighbours,
    radius: float | None,
    key: TestKey | None = None,
) -> tuple[Array, int | None]:
    """Coefficients, and how many coordinates the plan chooses."""
    facts, n = table.facts, table.records
    body = L1Ball(radius) if isinstance(solver, FrankWolfeSolver) and radius is not None else None
    norms = (facts.norm_l1, facts.norm_l2, facts.norm_linf)
    problem = Problem(table.loss, facts.width, facts.intercept, *norms, 1, n, neighbours, constraint=body)
    plan = solver.plan(problem, PricedQueries(facts, neighbours, n), Allowance(Budget(epsilon, delta)))
    theta = solver.run(problem, plan, Curator(table.rows, plan.queries, key=key)).theta[:, 0]  # type: ignore[arg-type]
    return theta, plan.settings.get("picks")


def hopeless(made: list[dict[str, Any]], real: list[dict[str, Any]]) -> list[str]:
    """Where no solver leaves less than nine tenths of the null model's excess risk, or keeps a tenth of the gain."""
    found = []
    for keys, value, lines, good in (
        (("design", "neighbours", "epsilon"), "left", made, lambda x: x < 0.9),
        (("table", "epsilon"), "share kept", real, lambda x: x > 0.1),
    ):
        for key in dict.fromkeys(tuple(line[k] for k in keys) for line in lines):
            part = [line[value] for line in lines if tuple(line[k] for k in keys) == key]
            if not any(good(x) for x in part):
                found.append(", ".join(f"ε = {x:g}" if isinstance(x, float) else str(x) for x in key))
    return found


def _solvers(s: int | None) -> list[tuple[str, Solver]]:
    found: list[tuple[str, Solver]] = [("greedy_selection", GreedySelectionSolver())]
    if s is not None:
        found.append(("greedy_selection, s given", GreedySelectionSolver(selected=s)))
    return [
        *found,
        ("greedy_coordinate_descent", GreedyCoordinateDescentSolver()),
        ("frank_wolfe", FrankWolfeSolver()),
        ("adaptive_gradient", AdaptiveGradientSolver()),
        ("objective_perturbation", ObjectivePerturbationSolver()),
    ]


def _left(table: Wide, theta: Array) -> float:
    assert table.truth is not None
    best, null = table.held_loss(table.truth), table.held_loss(np.zeros_like(theta))
    return (table.held_loss(theta) - best) / (null - best)


def _synthetic(design: tuple[int, dict[str, Any]], draws: int) -> list[dict[str, Any]]:
    return list(synthetic_lines(design, draws))


def _plans(name: str) -> list[dict[str, Any]]:
    return list(wide_plans.lines(name))


def _real(name: str, draws: int) -> list[dict[str, Any]]:
    return list(real_lines(name, draws))
