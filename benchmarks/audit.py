"""Audits at length: what 100 000 runs on the worst pair of tables prove of ε, for every solver, stream and question, beside the ε claimed.

A row is an audit as `hb.audit` makes it, of one column at (1, 1e-5), under fresh noise. `tightness` is the share of the claimed ε that
is proved at 95 % confidence; `realised` the share of the claimed μ that the pair of tables realises, which is what more runs
could prove. Slow ones stop after `SECONDS`. A row that is not `fine` is a bug.
"""

import math
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import hullabaloo as hb
from hullabaloo.audit.evidence import Evidence
from hullabaloo.audit.questions import Pair, Question, worst
from hullabaloo.audit.scene import hardest
from hullabaloo.audit.stream_subject import of_stream
from hullabaloo.audit.subject import Subject
from hullabaloo.curator import CuratorMenu
from hullabaloo.data import Rows
from hullabaloo.data.grid import Grid, GridKind
from hullabaloo.losses import Squared
from hullabaloo.model_selection.hinge import score_quote
from hullabaloo.model_selection.scoring import Yardstick
from hullabaloo.privacy import Neighbours, gdp_mu

SOURCES = [
    "src/hullabaloo/audit",
    "src/hullabaloo/curator",
    "src/hullabaloo/fit.py",
    "src/hullabaloo/noise",
    "src/hullabaloo/privacy",
    "src/hullabaloo/solvers",
    "src/hullabaloo/streaming",
]
RUNS = 100_000
SECONDS = 240.0
BUDGET = hb.Budget(1.0, 1e-5)
REPLACED, REMOVED = "replace-one", "add-or-remove"
SOLVERS: dict[str, dict[str, Any]] = {
    "moments": {},
    "gradient": {},
    "adaptive_gradient": {},
    "preconditioned_gradient": {},
    "coordinate_descent": {},
    "greedy_coordinate_descent": {},
    "greedy_selection": {},
    "mirror_descent": {"constraint": hb.L1Ball(0.25)},
    "frank_wolfe": {"constraint": hb.L1Ball(0.25)},
    "dual_frank_wolfe": {"penalty": hb.L1Penalty(0.5), "solver": hb.DualFrankWolfeSolver(steps=3, ridge=3.0)},
    "output_perturbation": {},
    "objective_perturbation": {},
}
BOTH = ("moments", "gradient", "coordinate_descent", "frank_wolfe", "output_perturbation", "objective_perturbation")
"""Solvers that are audited in both relations; the others in the one where their worst pair is worst."""
WHY_WEAK = {
    "greedy_coordinate_descent": "with one column its private choice of a coordinate has nothing to tell",
    "greedy_selection": "with one column its private choice of a coordinate has nothing to tell",
    "preconditioned_gradient": "records that it has made round are shorter than a step reckons with, and one table cannot stretch all answers",
    "objective_perturbation": "its price is a bound on a law that no pair of tables attains at every threshold",
    "frank_wolfe": "the price of adaptive choices is that of the worst mixture of two-point laws, which two vertices are not",
    "quantiles": "as for choices of vertices",
}


def declared(**target: Any) -> hb.Domain:
    return hb.Domain(features={"x": hb.Numeric(-1, 1, indicator=False)}, records=2, **target)


def model(solver: str, neighbours: str) -> Subject:
    options = {"solver": solver, **SOLVERS[solver]}
    estimator = hb.LinearRegression(
        budget=BUDGET, domain=declared(target=(-1, 1)), neighbours=neighbours, fit_intercept=False, **options
    )
    return hardest(estimator, 1, estimator.solver)


def classes(solver: str, neighbours: str) -> Subject:
    domain = declared(classes={"y": ["no", "yes"]})
    estimator = hb.LogisticRegression(
        budget=BUDGET, domain=domain, neighbours=neighbours, fit_intercept=False, solver=solver
    )
    return hardest(estimator, 1, solver)


def sums(neighbours: str, mechanism: str) -> Subject:
    about: dict[str, Any] = {"budget": BUDGET, "horizon": 32, "every": 4, "neighbours": neighbours}
    return of_stream(
        hb.streaming.IncrementalRegression(
            domain=declared(target=(-1, 1)), mechanism=mechanism, fit_intercept=False, **about
        ),
        1,
    )


def sketch(neighbours: str) -> Subject:
    domain = hb.Domain(row_norm=("l2", 1.0), target=(-1, 1))
    about: dict[str, Any] = {"budget": BUDGET, "horizon": 32, "every": 4, "neighbours": neighbours}
    sized = hb.streaming.SketchedRegression(domain=domain, constraint=hb.L1Ball(2.0), sketch_size=4, **about)
    return of_stream(sized, 30)


def periodic(neighbours: str, solver: str) -> Subject:
    domain = declared(target=(-1, 1))
    once = hb.LinearRegression(budget=BUDGET, domain=domain, neighbours=neighbours, fit_intercept=False, solver=solver)
    return of_stream(hb.streaming.PeriodicERM(once, horizon=16, every=8), 1)


def single_rows() -> Iterator[tuple[Rows, str]]:
    for around in (0, 1, 4, 16):
        for x in (-1.0, 0.0, 1.0):
            for y in (-1.0, 1.0):
                others = np.full((around, 1), -x), np.full((around, 1), -y)
                yield Rows(np.vstack([[[x]], others[0]]), np.vstack([[[y]], others[1]])), f"({x:g}, {y:g}) and {around}"


def neighbours_of(relation: Neighbours) -> Iterator[tuple[Pair, str]]:
    """Pairs of tables of one column and target, one record at an end of the ranges among others at the other."""
    for rows, words in single_rows():
        if relation is Neighbours.ADD_OR_REMOVE:
            yield (rows, Rows(rows.X[1:], rows.Y[1:])), f"{words} others, or the others"
            continue
        for x in (-1.0, 1.0):
            X, Y = rows.X.copy(), -rows.Y
            X[0], Y[1:] = x, rows.Y[1:]
            yield (rows, Rows(X, Y)), f"{words} others, replaced by ({x:g}, {-rows.Y[0, 0]:g})"


def score(neighbours: str) -> Subject:
    encoding = declared(target=(-1, 1)).encoding(None, None, fit_intercept=False)
    relation = Neighbours.parse(neighbours)
    mu = gdp_mu(1.0, 1e-5)
    query = score_quote(encoding, Yardstick.of(encoding, Squared()), mu=mu, neighbours=relation, records=2)
    theta = np.array([[1.0]])
    first = Question(query, _nothing(), lambda curator: curator.score(theta), BUDGET, "")
    return worst(first, neighbours_of(relation))


def quantiles(neighbours: str) -> Subject:
    encoding = declared(target=(-1, 1)).encoding(None, None, fit_intercept=False)
    relation = Neighbours.parse(neighbours)
    menu = CuratorMenu(encoding.facts, relation, 2)
    query = menu.quantiles([(0, -1, Grid(-1.0, 1.0, GridKind.LINEAR))], shares=(0.25, 0.25), epsilon=1.0)
    first = Question(query, _nothing(), lambda curator: curator.quantiles(), BUDGET, "")
    return worst(first, neighbours_of(relation))


def _nothing() -> Pair:
    empty = Rows(np.zeros((0, 1)), np.zeros((0, 1)))
    return empty, empty


def cases() -> dict[str, tuple[Callable[..., Subject], tuple[str, ...]]]:
    found: dict[str, tuple[Callable[..., Subject], tuple[str, ...]]] = {}
    for solver in SOLVERS:
        for relation in (REPLACED, REMOVED) if solver in BOTH else (REMOVED,):
            found[f"{solver}, {relation}"] = (model, (solver, relation))
    found["gradient, classes, add-or-remove"] = (classes, ("gradient", REMOVED))
    for relation in (REPLACED, REMOVED):
        found[f"stream of sums, {relation}"] = (sums, (relation, "auto"))
        found[f"stream of fits, {relation}"] = (periodic, (relation, "gradient"))
        found[f"evaluation score, {relation}"] = (score, (relation,))
        found[f"quantiles, {relation}"] = (quantiles, (relation,))
    found["stream of sums, tree, replace-one"] = (sums, (REPLACED, "tree"))
    found["stream of sketches, replace-one"] = (sketch, (REPLACED,))
    return found


def audited(name: str, runs: int | None = None) -> dict[str, Any]:
    """One row."""
    made, arguments = cases()[name]
    subject = made(*arguments)
    evidence, begun, done, limit = Evidence(subject, "transcript"), time.perf_counter(), 0, runs or RUNS
    while done < limit and (done % 1000 or time.perf_counter() - begun < SECONDS):
        evidence.add(done % 2, None)
        done += 1
    bounds, faults = evidence.bounds(0.05), evidence.faults()
    return {
        "what": name,
        "epsilon": evidence.epsilon,
        "epsilon lower": bounds.epsilon,
        "tightness": bounds.epsilon / evidence.epsilon,
        "mu": evidence.mu,
        "mu lower": bounds.mu,
        "realised": None if evidence.mu is None else evidence.realised / evidence.mu,
        "runs": done,
        "seconds": time.perf_counter() - begun,
        "fine": not faults,
        "why": "; ".join(faults)
        or ("" if bounds.epsilon >= 0.85 * evidence.epsilon else WHY_WEAK.get(arguments[0], "")),
    }


def run(runs: int | None = None, only: str = "") -> dict[str, Any]:
    asked = [name for name in cases() if only in name]
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        waiting = [pool.apply_async(audited, (name, runs)) for name in asked]
        rows = []
        for one in waiting:
            rows.append(one.get())
            shown = {key: f"{value:.3g}" if isinstance(value, float) else value for key, value in rows[-1].items()}
            print(*shown.values(), sep="  ", flush=True)
    gaussian = [row for row in rows if row["realised"] is not None and not math.isnan(row["realised"])]
    return {
        "delta": 1e-5,
        "confidence": 0.95,
        "tight_at_0.85": sum(row["tightness"] >= 0.85 for row in rows),
        "audits": len(rows),
        "all_fine": all(row["fine"] for row in rows),
        "median_realised": float(np.median([row["realised"] for row in gaussian])),
        "rows": rows,
    }


if __name__ == "__main__":
    import sys

    run(int(sys.argv[1]) if len(sys.argv) > 1 else 2000, sys.argv[2] if len(sys.argv) > 2 else "")
