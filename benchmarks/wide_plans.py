"""Plans of more than 600 columns: what "auto" takes, what it promises and what it keeps, beside solvers by name. `python -m benchmarks.wide_plans [TABLE…]`.

Both relations, δ = 1/n², means and standard errors of `DRAWS` draws of noise; shares of what an l1 model of cross-validated strength gains over a constant on held-out rows, without privacy. The scenarios
of wide rehearsals were chosen on the tables of `CHOSEN_ON` at add-or-remove, that a table without signal has its mean off the middle on permeability and
we8there, nothing on the others. Words are counted on a logarithmic scale up to ten of a kind; "by norm alone", rows of length 1 of which nothing
else is declared. `over the constant` is auto's loss over that of `solver="constant"`; `lost, forecast` what its rehearsals lose of the gain. Permeability has 33
held-out rows: its lines are told, and left out of medians. The weights and the shares of `subspace_descent` were chosen on `CHOSEN_ON`, too, but its cut of classes was
found by looking at internet_ads.
"""

import hashlib
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.high_dimension_tables import Wide, _csr, _split, constant, grants, non_private
from benchmarks.share_tables import DATA
from hullabaloo.curator import Curator
from hullabaloo.losses import Logistic, Squared
from hullabaloo.noise import TestKey
from hullabaloo.planning.choose import choose, forecasts
from hullabaloo.planning.context import PlanContext
from hullabaloo.planning.named import SOLVERS
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.release.rehearsal import rehearsal
from hullabaloo.solvers import ObjectivePerturbationSolver, Problem, Solver

EPSILONS, SEED, DRAWS = (0.1, 1.0, 3.0), 50, 3
BY_NAME = ("objective_perturbation", "adaptive_gradient", "greedy_selection", "subspace_descent", "constant")
NAMED: dict[str, Solver] = {
    "objective_perturbation, κ = ε/10": ObjectivePerturbationSolver(ratio=0.1),
    **{name: SOLVERS[name] for name in BY_NAME},
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


def permeability(seed: int) -> Wide:
    """Which of 1 107 parts a molecule has; the target within (0, 60)."""
    z = np.load(DATA / "permeability.npz")
    y = np.clip(z["y"] / 30.0 - 1.0, -1.0, 1.0)
    return _split("permeability", Squared(), sp.csr_array(z["X"].astype(np.float64)), y, 20.0, seed)


CHOSEN_ON: dict[str, Callable[[int], Wide]] = {
    "news20_basehock": _words("news20_basehock.npz", 8.0),
    "news20_basehock, by norm alone": _words("news20_basehock.npz", None),
    "grants_unimelb": grants,
    "we8there": _words("we8there_text.npz", 4.0),
    "we8there, by norm alone": _words("we8there_text.npz", None),
    "dexter": _words("dexter.npz", 10.0, 1.0),
}
REPORTED: dict[str, Callable[[int], Wide]] = {
    "news20_pcmac": _words("news20_pcmac.npz", 8.0),
    "news20_pcmac, by norm alone": _words("news20_pcmac.npz", None),
    "internet_ads": _words("internet_ads_1966.npz", 6.0, 1.0),
    "internet_ads, by norm alone": _words("internet_ads_1966.npz", None, 1.0),
    "rcv1, by norm alone": _words("rcv1_small.npz", None, 1.0),
    "permeability": permeability,
}
FEW = ("permeability",)


def lines(name: str) -> Iterator[dict[str, Any]]:
    """A line for each relation and ε of one table."""
    table = (CHOSEN_ON | REPORTED)[name](SEED)
    zero, best, facts, n = (
        table.held_loss(constant(table)),
        table.held_loss(non_private(table)),
        table.facts,
        table.records,
    )
    for neighbours in Neighbours:
        norms = facts.norm_l1, facts.norm_l2, facts.norm_linf
        problem = Problem(table.loss, facts.width, facts.intercept, *norms, 1, n, neighbours)
        prices, perform = PricedQueries(facts, neighbours, n), rehearsal
        for epsilon in EPSILONS:
            allowance = Allowance(Budget(epsilon, 1.0 / n**2))
            context = PlanContext(problem, prices, allowance, perform)
            able, (solver, plan) = forecasts(context), choose(context, "auto")
            lost = dict[str, list[float]]()
            for label, one in {"auto": solver, **NAMED}.items():
                bought = plan if label == "auto" else one.plan(problem, prices, allowance)
                lost[label] = []
                for draw in range(DRAWS):
                    key = TestKey(hashlib.sha256(f"{name} {neighbours} {epsilon} {one} {draw}".encode()).digest())
                    theta = one.run(problem, bought, Curator(table.rows, bought.queries, key=key)).theta[:, 0]  # type: ignore[arg-type]
                    lost[label].append(table.held_loss(theta))
            shares = {label: (zero - np.array(one)) / (zero - best) for label, one in lost.items()}
            mean = {label: float(np.mean(one)) for label, one in lost.items()}
            about: dict[str, Any] = {"table": name, "half": "others" if name in REPORTED else "chosen on", "records": n}
            about |= {
                "columns": facts.width - 1,
                "neighbours": str(neighbours),
                "epsilon": epsilon,
                "taken": solver.name,
                "lost, forecast": next(one.lost for one in able if one.solver.name == solver.name),
                "over the constant": mean["auto"] / mean["constant"],
                "over the best": mean["auto"] / min(mean.values()),
                "standard error": float(np.std(shares["auto"], ddof=1)) / math.sqrt(DRAWS),
            }
            yield about | {label: float(np.mean(one)) for label, one in shares.items()}


def summary(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Median shares, and how many lines of auto's lose more than 1.02 of the constant's, of each half, relation and ε."""
    made = []
    for key in dict.fromkeys((one["half"], one["neighbours"], one["epsilon"]) for one in found):
        every = [one for one in found if (one["half"], one["neighbours"], one["epsilon"]) == key]
        part = [one for one in every if one["table"] not in FEW] or every
        shares = {label: float(np.median([one[label] for one in part])) for label in ("auto", *NAMED)}
        above = sum(one["over the constant"] > 1.02 for one in every)
        about = dict(zip(("half", "neighbours", "epsilon"), key, strict=True))
        made.append(about | {"tables": len(part), "above 1.02": above, **shares})
    return made


if __name__ == "__main__":
    found = []
    for name in sys.argv[1:] or CHOSEN_ON | REPORTED:
        for line in lines(name):
            print(
                {key: round(value, 3) if isinstance(value, float) else value for key, value in line.items()}, flush=True
            )
            found.append(line)
    print(*summary(found), sep="\n")
