"""What `public=` gives and what wrong public tables cost: shares kept, with and without, on the tables of `share_kept.py`.

1 000 rows are taken out of each training part: they are the right public table, the rest is private. Wrong ones are made of these rows: `shuffled` (its
targets in another order), `elsewhere` (the 1 000 rows that lie furthest along the longest direction of all: another population), `permuted` (its
columns in another order), `rescaled` (columns on 0.3 of their scale, from another origin) and `constant` (one row over and over). `alone` is the public model itself.
Constants were chosen, and the check was made, on `TUNING`, at ε = 0.1; all other tables are reported apart. Replace-one, δ = 1/n². `python -m benchmarks.public EPSILON [TABLE…]` prints the lines.
"""

import math
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks import share_kept
from benchmarks.share_tables import TABLES
from hullabaloo.curator import Curator
from hullabaloo.data import Rows
from hullabaloo.losses import Logistic, Loss, Squared
from hullabaloo.planning.choose import choose
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.release.public_table import learned
from hullabaloo.release.rehearsal import rehearsal
from hullabaloo.solvers import Problem

EPSILONS, ROWS, PUBLIC, DRAWS = (0.1, 0.3), 20_000, 1_000, 3
TUNING = (
    "abalone",
    "elevators",
    "law_school",
    "spambase",
    "wine",
    "acs_income",
    "acs_above_50k",
    "ailerons",
    "adult",
    "bank",
    "covertype",
    "electricity",
    "intrusion",
    "mushrooms",
    "noaa",
)
SMALLEST = 2_000
WRONG = ("shuffled", "elsewhere", "permuted", "rescaled", "constant")
Array = np.ndarray


def shares(
    names: list[str] | None = None, draws: int = DRAWS, epsilons: tuple[float, ...] = EPSILONS
) -> dict[str, Any]:
    """Median shares of every table, ε and public table, and their medians over tables and over what each differs from doing without."""
    asked = [(name, draws, epsilons) for name in names or TABLES]
    with ProcessPoolExecutor(1) as pool:
        found = [line for lines in pool.map(_measure, asked) for line in lines]
    return {"public rows": PUBLIC, "draws": draws, "rows at most": ROWS, "tables": found, "summary": summary(found)}


def measure(name: str, draws: int, epsilons: tuple[float, ...]) -> list[dict[str, Any]]:
    """The lines of one table; none where fewer than `SMALLEST` private rows are left."""
    one = share_kept.split(TABLES[name], 0, ROWS)
    if one.n - PUBLIC < SMALLEST:
        return []
    X, y = share_kept._dense(one.rows.X), one.rows.Y[:, 0]
    loss: Loss = Logistic() if one.classes else Squared()
    taken = np.random.default_rng(5).permutation(one.n)[:PUBLIC]
    rest = np.setdiff1d(np.arange(one.n), taken)
    tables = {"right": (X[taken], y[taken])} | {kind: wrong(kind, X, y, taken) for kind in WRONG}
    facts, n = one.encoding.facts, rest.size
    known = {kind: learned(loss, a, b[:, None], intercept=facts.intercept) for kind, (a, b) in tables.items()}
    rows, prices = Rows(X[rest], one.rows.Y[rest]), PricedQueries(facts, Neighbours.REPLACE_ONE, n)
    norms = facts.norm_l1, facts.norm_l2, facts.norm_linf
    problem = Problem(loss, facts.width, facts.intercept, *norms, 1, n, Neighbours.REPLACE_ONE)
    lines = []
    for epsilon in epsilons:
        allowance = Allowance(Budget(epsilon, 1.0 / n**2))
        shares, solvers = {"alone": [one.share(known["right"].theta[:, 0])]}, {}
        for kind in ("without", *known):
            posed = replace(problem, public=known.get(kind))
            solver, plan = choose(posed, prices, allowance, "auto", rehearsal(facts))
            found = [solver.run(posed, plan, Curator(rows, plan.queries)).theta[:, 0] for _ in range(draws)]  # type: ignore[arg-type]
            shares[kind], solvers[kind] = [one.share(theta) for theta in found], plan.solver
        lines += [
            {
                "table": name,
                "kind": "classification" if one.classes else "regression",
                "records": n,
                "columns": facts.width,
                "epsilon": epsilon,
                "public": kind,
                "solver": solvers.get(kind, ""),
                "share": float(np.median(of)),
                "spread": float(np.std(of, ddof=1)) if len(of) > 1 else math.nan,
            }
            for kind, of in shares.items()
        ]
    return lines


def wrong(kind: str, X: Array, y: Array, taken: Array) -> tuple[Array, Array]:
    """A table that is not what it is said to be."""
    luck = np.random.default_rng(7)
    a, b = X[taken].copy(), y[taken].copy()
    slopes = slice(0, X.shape[1] - 1)  # the constant column stays
    if kind == "shuffled":
        b = luck.permutation(b)
    elif kind == "elsewhere":
        centred = X[:, slopes] - X[:, slopes].mean(axis=0)
        far = np.argsort(centred @ np.linalg.svd(centred[:2_000], full_matrices=False)[2][0])[-PUBLIC:]
        a, b = X[far].copy(), y[far].copy()
    elif kind == "permuted":
        a[:, slopes] = a[:, luck.permutation(X.shape[1] - 1)]
    elif kind == "rescaled":
        a[:, slopes] = 0.3 * a[:, slopes] + 0.3
    else:
        a[:], b[:] = a[0], b[0]
    return a, b


def summary(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Medians over tables: of shares, and of what each public table adds to doing without."""
    found = []
    for which, inside in (("tuning", True), ("other", False), ("all", None)):
        for kind in ("regression", "classification"):
            for epsilon in dict.fromkeys(line["epsilon"] for line in lines):
                part = [
                    line
                    for line in lines
                    if line["kind"] == kind and line["epsilon"] == epsilon and inside in (None, line["table"] in TUNING)
                ]
                by = {(line["table"], line["public"]): line["share"] for line in part}
                tables = sorted({line["table"] for line in part})
                if not tables:
                    continue
                kinds = ["alone", "without", "right", *WRONG]
                found.append(
                    {
                        "tables": which,
                        "kind": kind,
                        "count": len(tables),
                        "epsilon": epsilon,
                        "median share": {one: _median([by[name, one] for name in tables]) for one in kinds},
                        "median difference": {
                            one: _median([by[name, one] - by[name, "without"] for name in tables]) for one in kinds[2:]
                        },
                        "largest loss": {
                            one: min(by[name, one] - by[name, "without"] for name in tables) for one in kinds[2:]
                        },
                    }
                )
    return found


def _median(values: list[float]) -> float:
    return float(np.median(values))


def _measure(asked: tuple[Any, ...]) -> list[dict[str, Any]]:
    return measure(*asked)


if __name__ == "__main__":
    for name in sys.argv[2:] or TABLES:
        for line in measure(name, 4, (float(sys.argv[1]),)):
            print(
                f"{line['table']:14s} {line['epsilon']:4g} {line['public']:10s} {line['solver']:24s} {100 * line['share']:7.1f} ± {100 * line['spread']:5.1f}",
                flush=True,
            )
