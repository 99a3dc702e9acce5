"""Whether the planner is right on real tables: what `hb.plan` says of a table's declaration beside what fits on its records then keep.

The 26 tables of `share_tables.py`, at most 10 000 training rows each, at four budgets in one of the relations: 104 problems. Every solver that can
is run `DRAWS` times; what is lost is the excess of the mean training loss over its minimum, as a share of the excess of the best constant. Forecast: the share kept that
a price tells of the chosen solver, the middle of its range; line: what the solver's line of the plan shows, by the tables that solvers are compared on. *Within a factor 2*: of the share kept, and of the share lost, neither told apart below `LEAST`.
*Chosen over best*: what the chosen solver loses over the least that one by name loses, neither told apart below `LEAST`; the best of a dozen in hindsight on the same draws, whose least mean is too low. *Over best of other draws*:
the same on `FURTHER` draws of those that come within `NEAR` times the least on the first ones, the best of each half being the one that the other half names: nobody is compared with luck of its own draws. They take a quarter of the seconds besides.
*Misses in standard errors*: how far the mean of what the chosen one loses beyond `GOOD_CHOICE` times that lies above 0. Of classes
also what `share_kept.py` says of calibration. Every second table, by name, is of the development half.
"""

import math
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import small
from benchmarks.planner import answer
from benchmarks.share_kept import _dense, baselines, calibration, loss, split
from benchmarks.share_tables import TABLES
from hullabaloo.geometry import NoPenalty, Penalty
from hullabaloo.losses import Logistic, Loss, Squared
from hullabaloo.planning.choose import best_of, forecasts
from hullabaloo.planning.context import PlanContext
from hullabaloo.planning.favours import weights
from hullabaloo.planning.forecasts import middle
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.release.planned import priced, problem_of
from hullabaloo.release.rehearsal import rehearsal
from hullabaloo.solvers import Problem

ROWS, DRAWS, LEAST, FURTHER, NEAR, SURE = 12_500, 2, 0.01, 16, 1.6, 2.0
BUDGETS = ((0.1, "add-or-remove"), (0.3, "replace-one"), (1.0, "replace-one"), (3.0, "add-or-remove"))
WITHIN, GOOD_CHOICE = 2.0, 1.2
Array = np.ndarray


def fingerprint() -> dict[str, Any]:
    """What the planner takes and gives of a small table."""
    return small.chosen()


def run() -> dict[str, Any]:
    """Every problem, and what came of both halves."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        lines = [line for found in pool.map(measure, TABLES) for line in found]
    halves = [summary(half, [line for line in lines if line["half"] == half]) for half in ("development", "report")]
    return {
        "rows at most": ROWS * 4 // 5,
        "draws": DRAWS,
        "further draws": FURTHER,
        "summary": halves,
        "problems": lines,
    }


def measure(name: str) -> list[dict[str, Any]]:
    """The lines of one table."""
    one = split(TABLES[name], 0, ROWS)
    X, y, facts = _dense(one.rows.X), one.rows.Y[:, 0], one.encoding.facts
    constant, best = baselines(X, y, one.classes)
    least, most = loss(X @ best, y, one.classes), loss(np.full(len(y), constant), y, one.classes)
    half = "development" if sorted(TABLES).index(name) % 2 == 0 else "report"
    lines = []

    def drawn(problem: Problem, said: Any, draws: range) -> list[Array]:
        return [answer(problem, said, one.rows, draw)[:, 0] for draw in draws]

    def shares(found: list[Array]) -> Array:
        return (np.array([loss(X @ theta, y, one.classes) for theta in found]) - least) / (most - least)

    for epsilon, relation in BUDGETS:
        task = _Task(Logistic() if one.classes else Squared(), Neighbours.parse(relation), NoPenalty())
        problem, prices = problem_of(task, one.encoding, one.n), PricedQueries(facts, task.neighbours, one.n)
        allowance = Allowance(Budget(epsilon, one.n**-2.0))
        context = PlanContext(problem, prices, allowance, rehearsal)
        able = [said for said in forecasts(context) if said.plan is not None]
        taken = best_of(able, weights(problem, prices, allowance))
        told = 1.0 - middle(priced(context, taken, {}))
        models = {said.solver.name: drawn(problem, said, range(DRAWS)) for said in able}
        lost = {who: float(shares(found).mean()) for who, found in models.items()}
        chosen, first = taken.solver.name, min(lost, key=lost.__getitem__)
        most_lost = NEAR * max(lost[first], LEAST)
        near = [said for said in able if lost[said.solver.name] <= most_lost or said.solver == taken.solver]
        over, deviations = 1.0, 0.0
        if len(near) > 1:
            again = range(DRAWS, DRAWS + FURTHER)
            over, deviations = beside_others(
                {said.solver.name: shares(drawn(problem, said, again)) for said in near}, chosen
            )
        line = {"table": name, "half": half, "records": one.n, "columns": facts.width, "epsilon": epsilon}
        line |= {"neighbours": relation, "chosen": chosen, "best": first, "forecast": told}
        line |= {
            "line": 1.0 - taken.lost,
            "kept": 1.0 - lost[chosen],
            "held out": float(np.mean([one.share(theta) for theta in models[chosen]])),
        }
        line["chosen over best"] = max(lost[chosen], LEAST) / max(lost[first], LEAST)
        line |= {"over best of other draws": over, "misses in standard errors": deviations}
        if one.classes:
            mean, slope = np.mean([calibration(one.X @ theta, one.y) for theta in models[chosen]], axis=0)
            line |= {"mean chance over share": float(mean), "calibration slope": float(slope)}
        lines.append(line)
    return lines


def beside_others(lost: dict[str, Array], chosen: str) -> tuple[float, float]:
    """What the chosen solver loses over the one that is best on the other half of the draws, and by how many standard errors that is more than `GOOD_CHOICE` times as much."""
    taken, halves = lost[chosen], np.arange(len(lost[chosen])) % 2
    best = np.zeros_like(taken)
    for half in (0, 1):
        named = min(lost, key=lambda who: float(lost[who][halves != half].mean()))
        best[halves == half] = lost[named][halves == half]
    least = max(float(best.mean()), LEAST)
    beyond = taken - GOOD_CHOICE * (best + least - best.mean())
    error = float(beyond.std(ddof=1)) / math.sqrt(len(beyond))
    return max(float(taken.mean()), LEAST) / least, float(beyond.mean()) / max(error, 1e-12)


@dataclass(frozen=True)
class _Task:
    """What `problem_of` asks of a task."""

    loss: Loss
    neighbours: Neighbours
    penalty: Penalty
    constraint: None = None
    held: bool = True


def summary(half: str, lines: list[dict[str, Any]]) -> dict[str, Any]:
    """How many problems are as they were forecast, and how many choices are good."""

    def near(said: float, found: float) -> bool:
        return abs(math.log(max(said, LEAST) / max(found, LEAST))) <= math.log(WITHIN)

    classes = [line for line in lines if "calibration slope" in line and line["epsilon"] >= 1.0]
    return {
        "half": half,
        "problems": len(lines),
        "share kept within 2": float(np.mean([near(line["forecast"], line["kept"]) for line in lines])),
        "line's share kept within 2": float(np.mean([near(line["line"], line["kept"]) for line in lines])),
        "share lost within 2": float(np.mean([near(1.0 - line["forecast"], 1.0 - line["kept"]) for line in lines])),
        "chosen within 1.2 of best": float(np.mean([line["chosen over best"] <= GOOD_CHOICE for line in lines])),
        "within 1.2 of best of other draws": float(
            np.mean([line["over best of other draws"] <= GOOD_CHOICE for line in lines])
        ),
        "misses beyond two standard errors": sum(line["misses in standard errors"] > SURE for line in lines),
        "median mean chance over share": float(np.median([line["mean chance over share"] for line in classes])),
        "median calibration slope": float(np.median([line["calibration slope"] for line in classes])),
        "slopes within 0.95 to 1.05": float(np.mean([0.95 <= line["calibration slope"] <= 1.05 for line in classes])),
    }
