"""Audits at length: what 100 000 runs on the worst pair of tables prove of ε, for every solver, stream and question, beside the ε claimed.

A row is an audit as `hb.audit` makes it, of one column at (1, 1e-5), under fresh noise. `tightness` is the share of the claimed ε that
is proved at 95 % confidence; `realised` the share of the claimed μ that the pair of tables realises, which is what more runs
could prove. Those that are slow stop after `SECONDS`, or `SLOWEST`; those for which `WHY_WEAK` says that more would not help sooner. A row that
is not `fine` is a bug.
"""

import math
import multiprocessing
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tests.audit.probes import probe, worst

import hullabaloo as hb
from benchmarks import small
from hullabaloo.audit.canary import surroundings
from hullabaloo.audit.evidence import Evidence
from hullabaloo.audit.neighbouring_tables import hardest, staged
from hullabaloo.audit.streams import of_stream
from hullabaloo.audit.subject import Subject
from hullabaloo.curation.scoring import score_quote
from hullabaloo.data import Rows
from hullabaloo.data.grid import Grid, GridKind
from hullabaloo.losses import Squared
from hullabaloo.model_selection.candidates import SearchMetric
from hullabaloo.privacy import Event, Neighbours, gdp_mu
from hullabaloo.queries import PricedQueries

RUNS = 100_000
SECONDS, SECONDS_OF_THE_WEAK = 110.0, 15.0
SLOWEST = {
    "preconditioned": 480.0,
    "adaptive": SECONDS,
    "stream of fits": SECONDS,
    "dual": SECONDS,
    "gradient, classes": SECONDS,
    "greedy_selection": SECONDS_OF_THE_WEAK,
    "frank_wolfe": SECONDS_OF_THE_WEAK,
}
"""By the beginnings of names, in the order in which they are started: before all others."""
PILOT = 1500
"""Runs by which tables are chosen where prices are those of choices: what they prove of ε is another order than how far apart they are."""
BUDGET = hb.Budget(1.0, 1e-5)
REPLACED, REMOVED = "replace-one", "add-or-remove"
SOLVERS: dict[str, dict[str, Any]] = {
    "moments": {},
    "gradient": {},
    "adaptive_gradient": {},
    "preconditioned_gradient": {},
    "subspace_descent": {},
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
    "greedy": "of one column a private choice has nothing to tell, and it takes its part of the price",
    "objective": "its price bounds a law that no pair of tables attains at every threshold",
    "frank_wolfe": "its price is that of the worst mixture of two-point laws, whose worst events are too rare to be counted",
    "quantiles": "the events that are e^ε times as likely are rare",
    "search": "a black box: how many runs there were is never shown, nor any but the best",
}
"""By the beginnings of names."""


def declared(**target: Any) -> hb.Domain:
    return hb.Domain(features={"x": hb.Numeric(-1, 1, indicator=False)}, records=2, **target)


def model(solver: str, neighbours: str, tries: int = PILOT) -> Subject:
    options = {"solver": solver, **SOLVERS[solver]}
    estimator = hb.LinearRegression(
        budget=BUDGET, domain=declared(target=(-1, 1)), neighbours=neighbours, fit_intercept=False, **options
    )
    subject = hardest(estimator, 1, estimator.solver)
    if solver != "frank_wolfe" or not tries:
        return subject
    tried = [staged(estimator, one, solver) for one in (subject.canary, *surroundings(subject.canary, 1))]
    return max(tried, key=pilot)


def pilot(subject: Subject) -> float:
    """ε that is likely to be proved, with half a chance to be wrong."""
    evidence = Evidence(subject, "transcript")
    for done in range(PILOT):
        evidence.runs.take(evidence.subject, evidence.method, done % 2, None)
    return evidence.bounds(0.5).epsilon


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


def score(neighbours: str) -> Subject:
    encoding = declared(target=(-1, 1)).encoding(None, None, fit_intercept=False)
    question = SearchMetric.of(encoding, Squared()).chosen.question
    query = score_quote(encoding, Neighbours.parse(neighbours), 2, mu=gdp_mu(1.0, 1e-5), **question)
    return replace(worst(query), budget=BUDGET)


def quantiles(neighbours: str) -> Subject:
    """The lower quarter of a column, on tables where a likely answer is `e^ε` times as likely for one of both."""
    encoding = declared(target=(-1, 1)).encoding(None, None, fit_intercept=False)
    relation, grid = Neighbours.parse(neighbours), Grid(-1.0, 1.0, GridKind.LINEAR)
    prices = PricedQueries(encoding.facts, relation, 9)
    query = prices.price("quantiles", values=(0,), missing=(-1,), grids=(grid,), shares=(0.25, 0.0), epsilon=1.0)
    removed = relation is Neighbours.ADD_OR_REMOVE
    others = np.linspace(-0.9, 0.9, 8) if removed else np.zeros(8)
    columns = [np.append(-1.0, others), others if removed else np.append(1.0, others)]
    first, second = (Rows(x[:, None], np.zeros((x.size, 1))) for x in columns)
    return probe(query, lambda curator: curator.answer("quantiles"), (first, second), BUDGET)


@dataclass(frozen=True)
class Search:
    """A search on one record that is replaced, or absent, among a few of nothing; a black box: its model, its score, its choice."""

    searched: Any
    relation: str
    claim: Event
    budget: hb.Budget = BUDGET

    opaque = True

    @property
    def parts(self) -> Event:
        """What it costs."""
        return self.claim

    def released(self, truth: int, key: Any) -> np.ndarray:
        """All that is seen."""
        absent = truth == 1 and self.relation == REMOVED
        X, y = np.zeros((8, 1)), np.zeros(8)
        X[0], y[0] = 1.0, 1.0 - 2.0 * truth
        found = self.searched.fit(X[absent:], y[absent:])
        strength = found.best_params_["penalty"].strength
        return np.array([float(found.best_estimator_.coef_[0]), float(found.best_score_), math.log(strength)])


def search(neighbours: str) -> Any:
    domain = hb.Domain(features={"x": hb.Numeric(-1, 1, indicator=False)}, target=(-1, 1), records=8)
    model = hb.LinearRegression(domain=domain, fit_intercept=False, solver="output_perturbation", neighbours=neighbours)
    grid = {"penalty": [hb.SquaredL2Penalty(0.1), hb.SquaredL2Penalty(10.0)]}
    searched = hb.PrivateSearchCV(model, grid, budget=BUDGET)
    return Search(searched, neighbours, searched.fit(np.zeros((8, 1)), np.zeros(8)).statement_.event)


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
        found[f"search, {relation}"] = (search, (relation,))
    found["stream of sums, tree, replace-one"] = (sums, (REPLACED, "tree"))
    found["stream of sketches, replace-one"] = (sketch, (REPLACED,))
    return found


def audited(name: str, runs: int | None = None) -> dict[str, Any]:
    """One row."""
    made, arguments = cases()[name]
    subject = made(*arguments)
    black = bool(getattr(subject, "opaque", False))
    evidence, begun, done, limit = (
        Evidence(subject, "released" if black else "transcript"),
        time.perf_counter(),
        0,
        runs or RUNS,
    )
    weak = next((why for start, why in WHY_WEAK.items() if name.startswith(start)), "")
    usual = SECONDS_OF_THE_WEAK if weak else SECONDS
    longest = next((seconds for start, seconds in SLOWEST.items() if name.startswith(start)), usual)
    while done < limit and (done % 100 or time.perf_counter() - begun < longest):
        evidence.runs.take(evidence.subject, evidence.method, done % 2, None)
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
        "why": "; ".join(faults) or ("" if bounds.epsilon >= 0.85 * evidence.epsilon else weak),
    }


def _turn(name: str) -> int:
    return next((place for place, start in enumerate(SLOWEST) if name.startswith(start)), len(SLOWEST))


def fingerprint() -> dict[str, Any]:
    """Of every audit what is claimed, and what one run on each of the two tables tells."""
    found: dict[str, Any] = {}
    for name, (made, arguments) in cases().items():
        if made is search or arguments[0] in found:  # a black box draws its own noise; of each solver one relation
            continue
        subject = made(*arguments, **({"tries": 0} if made is model else {}))
        evidence = Evidence(subject, "transcript")
        for truth in (0, 1):
            evidence.runs.take(evidence.subject, evidence.method, truth, small.KEY)
        found[arguments[0] if made is model else name] = [
            evidence.epsilon,
            evidence.mu,
            evidence.runs.rho,
            evidence.runs.scores,
        ]
    return found


def run(runs: int | None = None, only: str = "") -> dict[str, Any]:
    asked = [name for name in cases() if only in name]
    first = sorted(asked, key=_turn)
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        waiting = [pool.apply_async(audited, (name, runs)) for name in first]
        found = {}
        for name, one in zip(first, waiting, strict=True):
            found[name] = one.get()
            shown = {key: f"{value:.3g}" if isinstance(value, float) else value for key, value in found[name].items()}
            print(*shown.values(), sep="  ", flush=True)
    rows = [found[name] for name in asked]
    realised = [row["realised"] for row in rows if row["realised"] is not None and not math.isnan(row["realised"])]
    return {
        "delta": 1e-5,
        "confidence": 0.95,
        "tight_at_0.85": sum(row["tightness"] >= 0.85 for row in rows),
        "audits": len(rows),
        "all_fine": all(row["fine"] for row in rows),
        "median_realised": float(np.median(realised or [math.nan])),
        "rows": rows,
    }


if __name__ == "__main__":
    import sys

    run(int(sys.argv[1]) if len(sys.argv) > 1 else 2000, sys.argv[2] if len(sys.argv) > 2 else "")
