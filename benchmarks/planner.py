"""Whether the planner is right: on problems that it has not rehearsed, is its choice good and its prediction near?

Fifty synthetic problems (number of records, columns, budget, set, loss), each with a table of its own: other directions, other
correlations and another strength of the signal than those of the rehearsals. Every solver that can is run on all records, and
its excess risk over the exact optimum is compared with what `hb.plan` said beforehand. Goals: the chosen solver within 1.5
times the best one in 90 % of the problems, the prediction of the chosen within a factor 3 of its measurement in 80 %.
"""

import math
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from hullabaloo.curator import Curator
from hullabaloo.data import Rows
from hullabaloo.data.source import RowFacts
from hullabaloo.geometry import Box, ConvexSet, L1Ball, L2Ball, NoPenalty, Penalty, Simplex, SquaredL2Penalty
from hullabaloo.losses import AnyLoss, Huber, Logistic, Squared
from hullabaloo.noise import TestKey
from hullabaloo.planning.choose import best_of, exact, forecasts
from hullabaloo.planning.context import PlanContext
from hullabaloo.planning.favours import weights
from hullabaloo.planning.forecasts import objective
from hullabaloo.planning.named import SOLVERS
from hullabaloo.planning.synthetic import SyntheticTable
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.release.rehearsal import rehearsal
from hullabaloo.solvers import Problem

DRAWS = 2
GOOD_CHOICE, NEAR = 1.5, 3.0
Array = np.ndarray

SHAPES = [(1_000, 5), (2_000, 20), (5_000, 10), (10_000, 40), (20_000, 10), (50_000, 20), (100_000, 60), (200_000, 10)]
EPSILONS = (0.1, 0.5, 1.0, 3.0)
SETS: list[tuple[str, ConvexSet | None, Penalty | None]] = [
    ("none", None, None),
    ("L1Ball(1)", L1Ball(1.0), None),
    ("L2Ball(1)", L2Ball(1.0), None),
    ("Simplex", Simplex(), None),
    ("Box(±0.3)", Box(-0.3, 0.3), None),
    ("SquaredL2Penalty(0.01)", None, SquaredL2Penalty(0.01)),
]
LOSSES: list[AnyLoss] = [Squared(), Logistic(), Huber(0.3)]


@dataclass(frozen=True)
class Case:
    """One problem of the grid; `number` seeds its table."""

    number: int
    records: int
    columns: int
    epsilon: float
    set_name: str
    constraint: ConvexSet | None
    penalty: Penalty | None
    loss: AnyLoss
    relation: Neighbours


def cases(count: int = 50) -> list[Case]:
    """A walk through the whole grid of 576 in strides that share no factor with it: no two problems are alike."""
    made = []
    for number in range(count):
        place = 137 * number % (len(SHAPES) * len(EPSILONS) * len(SETS) * len(LOSSES))
        place, shape = divmod(place, len(SHAPES))
        place, epsilon = divmod(place, len(EPSILONS))
        loss, kind = divmod(place, len(SETS))
        (records, columns), (name, constraint, penalty) = SHAPES[shape], SETS[kind]
        relation = Neighbours.REPLACE_ONE if number % 3 else Neighbours.ADD_OR_REMOVE
        made.append(
            Case(number, records, columns, EPSILONS[epsilon], name, constraint, penalty, LOSSES[loss], relation)
        )
    return made


def fingerprint() -> dict[str, Any]:
    """Two small problems measured as all are: what is chosen, predicted and found."""
    few = [(Logistic(), None), (Squared(), L1Ball(1.0))]
    return {
        f"{loss.name}, {constraint}": measure(
            Case(number, 500, 3, 1.0, "", constraint, None, loss, Neighbours.REPLACE_ONE)
        )
        for number, (loss, constraint) in enumerate(few)
    }


def run(count: int = 50) -> dict[str, Any]:
    """Every problem with its choice and predictions, and the two shares."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        rows = list(pool.map(measure, cases(count)))
    return {"problems": rows, "summary": summary(rows)}


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The shares that the goals are about."""
    ratios = [row["chosen_over_best"] for row in rows]
    errors = [row["prediction_over_measured"] for row in rows]
    every = [one for row in rows for one in row["all_predictions"]]
    return {
        "problems": len(rows),
        "chosen_within_1.5_of_best": float(np.mean([ratio <= GOOD_CHOICE for ratio in ratios])),
        "prediction_within_3": float(np.mean([1.0 / NEAR <= error <= NEAR for error in errors])),
        "prediction_within_3_every_solver": float(np.mean([1.0 / NEAR <= error <= NEAR for error in every])),
        "median_prediction_over_measured": float(np.median(errors)),
        "worst_choice": max(ratios),
    }


def measure(case: Case) -> dict[str, Any]:
    """One problem: what was said, and what came."""
    rng = np.random.default_rng(1_000 + case.number)
    problem, facts, table = plan_context(case, rng)
    prices = PricedQueries(facts, case.relation, case.records)
    allowance = Allowance(Budget(case.epsilon, case.records**-2.0))
    found = forecasts(PlanContext(problem, prices, allowance, rehearsal))
    favoured = weights(problem, prices, allowance)
    chosen = best_of(found, favoured)
    solver, plan = exact(problem, prices)
    rows = Rows(table.X, table.Y)
    best = objective(problem, table, solver.run(problem, plan, Curator(rows, plan.queries)).theta)
    risks: dict[str, float] = {}
    for one in found:
        if one.plan is None:
            continue
        risks[one.solver.name] = float(
            np.mean(
                [
                    max(objective(problem, table, answer(problem, one, rows, draw)) - best, 1e-12)
                    for draw in range(DRAWS)
                ]
            )
        )
    predicted = {one.solver.name: one.risk for one in found if one.plan is not None}
    name = chosen.solver.name
    return {
        "records": case.records,
        "columns": case.columns,
        "epsilon": case.epsilon,
        "set": case.set_name,
        "loss": case.loss.name,
        "neighbours": str(case.relation),
        "chosen": name,
        "measured": risks,
        "predicted": predicted,
        "chosen_over_best": risks[name] / min(risks.values()),
        "prediction_over_measured": predicted[name] / risks[name],
        "all_predictions": [predicted[one] / risks[one] for one in risks],
    }


def answer(problem: Problem, one: Any, rows: Rows, draw: int) -> Array:
    """θ of one run under a test key."""
    key = TestKey(bytes(32)).derive(f"planner/{draw}")
    return SOLVERS[one.solver.name].run(problem, one.plan, Curator(rows, one.plan.queries, key=key)).theta


def plan_context(case: Case, rng: np.random.Generator) -> tuple[Problem, RowFacts, SyntheticTable]:
    """A table that the rehearsals have not seen: its own correlations, signal and model."""
    n, p = case.records, case.columns
    decay, explained = rng.uniform(0.5, 1.5), rng.choice([0.08, 0.15, 0.3, 0.5])
    values = np.arange(1.0, p + 1.0) ** -decay
    basis = np.linalg.qr(rng.normal(size=(p, p)))[0]
    X = (rng.uniform(-1.7, 1.7, size=(n, p)) * np.sqrt(values / values.sum())) @ basis.T
    X *= math.sqrt(rng.uniform(0.05, 0.3))
    X += rng.choice([-1.0, 1.0], size=p) * math.sqrt(rng.uniform(0.0, 0.5) / p)
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
    theta = model(case, rng, p)
    signal = X @ theta
    variance = 0.25 * explained if case.loss.name != "logistic" else 3.29 * explained / (1.0 - explained)
    factor = math.sqrt(variance) / max(float(signal.std()), 1e-12)
    factor = min(factor, 1.0) if case.constraint is not None else factor
    signal = factor * (signal - signal.mean())
    if case.loss.name == "logistic":
        Y = np.where(rng.uniform(size=n) < 1.0 / (1.0 + np.exp(0.7 - signal)), 1.0, -1.0)[:, None]
    else:
        noise = math.sqrt(max(0.25 - float(signal.var()), 0.01))
        Y = np.clip(-0.1 + signal + noise * rng.normal(size=n), -1.0, 1.0)[:, None]
    X = np.ascontiguousarray(np.column_stack([X, np.ones(n)]))
    names = tuple(f"x{j}" for j in range(p + 1))
    facts = RowFacts(names, True, math.sqrt(p) + 1.0, math.sqrt(2.0), 1.0, ("y",))
    problem = Problem(
        loss=case.loss,
        dimension=p + 1,
        intercept=True,
        norm_l1=facts.norm_l1,
        norm_l2=facts.norm_l2,
        norm_linf=1.0,
        targets=1,
        records=n,
        neighbours=case.relation,
        constraint=case.constraint,
        penalty=NoPenalty() if case.penalty is None else case.penalty,
    )
    return problem, facts, SyntheticTable(X, Y, None, theta[:, None])


def model(case: Case, rng: np.random.Generator, p: int) -> Array:
    """A direction: sparse in the l1 ball, spread in others."""
    if case.constraint is None:
        return rng.normal(size=p)
    points = [case.constraint.vertex(rng.normal(size=p)) for _ in range(int(rng.integers(1, 5)))]
    return np.asarray(np.mean(points, axis=0))
