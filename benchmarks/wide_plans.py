"""Plans for wide tables: what "auto" takes where columns are many against records, what it promises and what it keeps, beside solvers by name.

Both relations, δ = 1/n², one draw of each. The scenarios of wide rehearsals were chosen on the tables of `CHOSEN_ON` (and on dexter) and not on the others. Words are
counted on a logarithmic scale up to ten of a kind, cells in [−1, 1] and rows within a declared norm; "by norm alone", rows of length 1 of which
nothing else is declared. `share kept`: of what an l1 model of cross-validated strength gains over a constant on held-out rows, without privacy.
"""

import hashlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.high_dimension import constant, non_private
from benchmarks.high_dimension_tables import Wide, _csr, _split, grants
from benchmarks.share_tables import DATA
from hullabaloo.curator import Curator
from hullabaloo.data.source import RowFacts
from hullabaloo.losses import Logistic, Loss, Squared
from hullabaloo.noise import TestKey
from hullabaloo.planning.choose import choose, forecasts
from hullabaloo.planning.named import SOLVERS
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.release.rehearsal import rehearsal
from hullabaloo.solvers import ObjectivePerturbationSolver, Problem, Solver

EPSILONS = (0.1, 1.0, 3.0)
NAMED: dict[str, Solver] = {
    "objective_perturbation, κ = ε/10": ObjectivePerturbationSolver(ratio=0.1),
    **{name: SOLVERS[name] for name in ("objective_perturbation", "adaptive_gradient", "greedy_selection", "constant")},
}
Array = np.ndarray


def _words(file: str, norm: float | None, most: float = 10.0) -> Callable[[int], Wide]:
    def made(seed: int) -> Wide:
        z = np.load(DATA / file)
        X, loss, y = _csr(z), Logistic(), z["y"]
        if most > 1.0:
            X.data = np.minimum(np.log1p(X.data) / math.log1p(most), 1.0)
        if norm is None:
            lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
            X = sp.csr_array(sp.diags_array(1.0 / np.maximum(lengths, 1e-12)) @ X)
        stars = np.unique(y).size == 5
        y = (y - 3.0) / 2.0 if stars else np.where(y == y.max(), 1.0, -1.0)
        return _split(file, Squared() if stars else loss, X, y, norm or 1.0, seed)

    return made


CHOSEN_ON: dict[str, Callable[[int], Wide]] = {
    "news20_basehock": _words("news20_basehock.npz", 8.0),
    "news20_basehock, by norm alone": _words("news20_basehock.npz", None),
    "grants_unimelb": grants,
    "we8there": _words("we8there_text.npz", 4.0),
    "we8there, by norm alone": _words("we8there_text.npz", None),
}
REPORTED: dict[str, Callable[[int], Wide]] = {
    "news20_pcmac": _words("news20_pcmac.npz", 8.0),
    "news20_pcmac, by norm alone": _words("news20_pcmac.npz", None),
    "internet_ads": _words("internet_ads_1966.npz", 6.0, 1.0),
    "internet_ads, by norm alone": _words("internet_ads_1966.npz", None, 1.0),
    "rcv1, by norm alone": _words("rcv1_small.npz", None, 1.0),
}


def fingerprint() -> dict[str, Any]:
    """What is expected of every plan for 200 rows of 1 000 columns."""
    facts = RowFacts((*(f"x{j}" for j in range(1_000)), "1"), True, 31.0, math.sqrt(2.0), 1.0, ("y",))
    problem, prices = _posed(facts, Logistic(), 200, Neighbours.REPLACE_ONE)
    found = forecasts(problem, prices, Allowance(Budget(5.0, 1e-5)), rehearsal(facts))
    return {one.solver.name: one.lost for one in found if one.plan is not None}


def run() -> dict[str, Any]:
    """A line for each table, relation and ε, and medians."""
    lines = [line for name in (*CHOSEN_ON, *REPORTED) for line in _lines(name)]
    return {"medians": [one for table in ("chosen on", "others") for one in _medians(lines, table)], "tables": lines}


def _lines(name: str) -> list[dict[str, Any]]:
    table = (CHOSEN_ON | REPORTED)[name](50)
    zero, best = table.held_loss(constant(table)), table.held_loss(non_private(table))
    found = []
    for neighbours in Neighbours:
        for epsilon in EPSILONS:
            problem, prices = _posed(table.facts, table.loss, table.records, neighbours)
            allowance = Allowance(Budget(epsilon, 1.0 / table.records**2))
            solver, plan = choose(problem, prices, allowance, "auto", rehearsal(table.facts))
            line: dict[str, Any] = {
                "table": name,
                "half": "chosen on" if name in CHOSEN_ON else "others",
                "records": table.records,
                "columns": table.facts.width - 1,
                "neighbours": str(neighbours),
                "epsilon": epsilon,
                "taken": solver.name,
                "promised": plan.reason.partition(";")[0].removeprefix("expected to keep ").partition(" of")[0],
            }
            for label, one in {"auto": solver, **NAMED}.items():
                bought = one.plan(problem, prices, allowance)
                key = TestKey(hashlib.sha256(f"{name} {neighbours} {epsilon} {label}".encode()).digest())
                theta = one.run(problem, bought, Curator(table.rows, bought.queries, key=key)).theta[:, 0]  # type: ignore[arg-type]
                line[label] = (zero - table.held_loss(theta)) / (zero - best)
            line["loss over the constant's"] = (zero - line["auto"] * (zero - best)) / zero
            found.append(line)
    return found


def _medians(lines: list[dict[str, Any]], half: str) -> list[dict[str, Any]]:
    found = []
    for neighbours in Neighbours:
        for epsilon in EPSILONS:
            part = [
                one
                for one in lines
                if (one["half"], one["neighbours"], one["epsilon"]) == (half, str(neighbours), epsilon)
            ]
            shares = {label: float(np.median([one[label] for one in part])) for label in ("auto", *NAMED)}
            found.append({"half": half, "neighbours": str(neighbours), "epsilon": epsilon, **shares})
    return found


def _posed(facts: RowFacts, loss: Loss, n: int, neighbours: Neighbours) -> tuple[Problem, PricedQueries]:
    norms = facts.norm_l1, facts.norm_l2, facts.norm_linf
    return Problem(loss, facts.width, facts.intercept, *norms, 1, n, neighbours), PricedQueries(facts, neighbours, n)
