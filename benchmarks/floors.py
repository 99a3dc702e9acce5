"""Every solver by name at ε = 0.1 on the twenty smallest tables: is it worse than the best private constant?

`over the constant` is the median of the draws' held-out losses over the median of `solver="constant"`, both relations, δ = 1/n². Mirror descent and
Frank–Wolfe, which need a set, take `L1Ball(2)`. `gave way`: the plan was the constant's. `spread` is the variance of the training targets, of numbers scaled to
[−1, 1]: what noise hides depends on it, and no public fact tells it. Nothing here was chosen on these tables.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks import small
from benchmarks.share_kept import Split, loss, split
from benchmarks.share_tables import TABLES
from hullabaloo.curator import Curator
from hullabaloo.geometry import L1Ball
from hullabaloo.losses import Logistic, Squared
from hullabaloo.noise import TestKey
from hullabaloo.planning.choose import choose
from hullabaloo.planning.context import PlanContext
from hullabaloo.planning.named import SOLVERS
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.release.rehearsal import rehearsal
from hullabaloo.solvers import Problem

SMALLEST = (
    *("concrete", "communities", "abalone", "spambase", "wine", "mushrooms", "power_plant", "phishing", "ailerons"),
    *("acs_above_50k", "acs_income", "elevators", "bike", "noaa", "appliances", "california", "law_school", "bank"),
    *("electricity", "claims"),
)
"""By records, at most `ROWS` of them; and `claims`, where named solvers lost most."""
NAMES = ("auto", *(name for name in SOLVERS if name not in ("constant", "dual_frank_wolfe")))
EPSILON, DRAWS, ROWS, ENOUGH, NARROW = 0.1, 10, 10_000, 1.02, 0.05


def fingerprint() -> dict[str, Any]:
    """What solvers by name release of a small table at a small budget."""
    return {
        name: small.seen(small.fitted(name, epsilon=EPSILON))
        for name in ("auto", "output_perturbation", "objective_perturbation", "coordinate_descent")
    }


def run(names: tuple[str, ...] = SMALLEST, draws: int = DRAWS) -> dict[str, Any]:
    """A line for every table, relation and solver, and for each solver how many lose at most `ENOUGH` of the constant's."""
    found = [line for name in names for line in measure(name, draws)]
    return {"draws": draws, "rows at most": ROWS, "epsilon": EPSILON, "summary": summary(found), "tables": found}


def measure(name: str, draws: int) -> Iterator[dict[str, Any]]:
    """The lines of one table."""
    one = split(TABLES[name], 0, ROWS)
    for neighbours in Neighbours:
        level = _lost(one, neighbours, "constant", draws)[1]
        for asked in NAMES:
            if asked == "moments" and one.classes:
                continue
            taken, lost = _lost(one, neighbours, asked, draws)
            about = {"table": name, "spread": float(one.rows.Y.var()), "neighbours": str(neighbours), "asked": asked}
            yield about | {"gave way": taken == "constant", "over the constant": lost / level}


def summary(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each solver how many lines are above `ENOUGH`, and how many of those have targets of a variance above `NARROW`."""
    lines = []
    for asked in dict.fromkeys(line["asked"] for line in found):
        part = [line for line in found if line["asked"] == asked]
        bad = [line for line in part if line["over the constant"] > ENOUGH]
        wide = sum(line["spread"] > NARROW for line in bad)
        worst = max(line["over the constant"] for line in part)
        told = {"lines": len(part), f"above {ENOUGH}": len(bad), f"of these spread above {NARROW}": wide}
        lines.append({"asked": asked} | told | {"worst": worst, "gave way": sum(line["gave way"] for line in part)})
    return lines


def _lost(one: Split, neighbours: Neighbours, asked: str, draws: int) -> tuple[str, float]:
    """The solver of the plan, and the median of held-out losses."""
    facts = one.encoding.facts
    norms = facts.norm_l1, facts.norm_l2, facts.norm_linf
    kind = Logistic() if one.classes else Squared()
    problem = Problem(kind, facts.width, facts.intercept, *norms, 1, one.n, neighbours)
    if asked in ("mirror_descent", "frank_wolfe"):
        problem = replace(problem, constraint=L1Ball(2.0))
    prices, allowance = PricedQueries(facts, neighbours, one.n), Allowance(Budget(EPSILON, 1.0 / one.n**2))
    solver, plan = choose(PlanContext(problem, prices, allowance, rehearsal, held=True), asked)
    lost = []
    for draw in range(draws):
        key = TestKey(hashlib.sha256(f"{asked} {neighbours} {draw}".encode()).digest())
        theta = solver.run(problem, plan, Curator(one.rows, plan.queries, key=key)).theta[:, 0]  # type: ignore[arg-type]
        lost.append(loss(one.X @ theta, one.y, one.classes))
    return plan.solver, float(np.median(lost))
