"""Private regression beside regression from private marginals: the tables, splits and budgets of Ferrando and Sheldon (2025).

Ferrando and Sheldon, "Private regression via data-dependent sufficient statistic perturbation" (TMLR 2025, arXiv:2405.15002), release marginals by AIM and
regress on what they say. The tables are the authors' own, from `data/` of https://github.com/ceciliaferrando/DD-SSP (test rows are theirs, the first 50 000
training rows as in their commands; `HULLABALOO_MARGINALS` names that folder). As there, δ = 1e-5, levels are one-hot, numbers and a numeric target are
scaled to [−1, 1], and what is told is the squared error, or the area under the ROC curve of classes, on their 1 000 test rows; standard errors are of draws.

*The figures of the paper are plots, and its repository holds no results: none is printed here beside ours, and none was read off.* The paper says in words that its method
and AIM's synthetic data are nearly the same, better than AdaSSP but on the census incomes, and in classification better than objective perturbation. For scale
stand the non-private model and the constant, and of our own solvers `moments` and `objective_perturbation`, the families of its two baselines. Not here: the census incomes
as classes, and public coverage, whose files are too large for the copy that was at hand.
"""

import csv
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import hullabaloo as hb
from benchmarks import small
from hullabaloo.privacy import Neighbours

DELTA, ROWS, DRAWS, EPSILONS = 1e-5, 50_000, 5, (0.05, 0.1, 1.0)
CENSUS = {"AGEP": 95, "SCHL": 24, "MAR": 5, "RELP": 18, "SEX": 2, "RAC1P": 9}
IMPAIRED = {"DEAR": 2, "DEYE": 2, "DREM": 2, "DIS": 2, "NATIVITY": 2, "CIT": 5, "ANC": 4}
LEVELS = {
    "MAR",
    "RELP",
    "RAC1P",
    "COW",
    "CIT",
    "MIL",
    "ANC",
    "GCL",
    "ESR",
    "workclass",
    "marital-status",
    "occupation",
    "relationship",
}
LEVELS |= {"race", "native-country"}
"""Columns that the authors take as levels; the others count as numbers. Adult's `education` is left out, as `education-num` says the same, and so is its weight."""
Array = np.ndarray


@dataclass(frozen=True)
class Task:
    """A table of theirs: the number of codes 0, 1, … of each column that is used, and the target's."""

    file: str
    codes: dict[str, int]
    target: str
    classes: bool
    range: int = 2


ADULT = {
    "age": 85,
    "workclass": 9,
    "education-num": 16,
    "marital-status": 7,
    "occupation": 15,
    "relationship": 6,
    "race": 5,
    "sex": 2,
}
ADULT |= {"capital-gain": 100, "capital-loss": 100, "hours-per-week": 99, "native-country": 42}
MOBILITY = {"AGEP": 16, "RELP": 2, "MIL": 4, "WKHP": 100, "GCL": 3, "COW": 10, "ESR": 6, "JWMNP": 100, "PINCP": 10}
TASKS = {
    "Adult, numbers": Task("adult", ADULT, "income>50K", False),
    "census incomes": Task("ACSincome-LIN", CENSUS | {"COW": 8, "WKHP": 99}, "PINCP", False, 20),
    "Adult, classes": Task("adult", ADULT, "income>50K", True),
    "census employment": Task(
        "ACSemployment", CENSUS | IMPAIRED | {"SCHL": 25, "ESP": 9, "MIG": 3, "MIL": 5}, "ESR", True
    ),
    "census mobility": Task("ACSmobility", CENSUS | IMPAIRED | MOBILITY, "MIG", True),
}


def fingerprint() -> dict[str, Any]:
    """What the planner takes and gives of a small table, and the area under the curve of a ranking."""
    return {**small.chosen(), "area": area(np.array([0.1, 0.4, 0.4, 0.8]), np.array([0, 0, 1, 1]))}


def run(draws: int = DRAWS) -> dict[str, Any]:
    """Every task, budget, relation and solver: what its test rows say."""
    return {"delta": DELTA, "draws": draws, "lines": [line for name in TASKS for line in measure(name, draws)]}


def measure(name: str, draws: int) -> list[dict[str, Any]]:
    """The lines of one task."""
    task = TASKS[name]
    (X, y), (held, truth) = read(task, "train"), read(task, "test")
    kind = hb.LogisticRegression if task.classes else hb.LinearRegression
    features = {one: list(range(many)) if one in LEVELS else (0, many - 1) for one, many in task.codes.items()}
    about: dict[str, Any] = {"classes": [0, 1]} if task.classes else {"target": (0, task.range - 1)}
    common: dict[str, Any] = {
        "domain": hb.Domain(features=features, indicators=False, records=len(y), **about),
        "inference": False,
    }
    scale = 2.0 / (task.range - 1)

    def told(model: Any) -> float:
        if task.classes:
            return area(model.predict_proba(held)[:, 1], truth)
        return float(np.mean((scale * (model.predict(held) - truth)) ** 2))

    exact = told(kind(budget=hb.Budget(float("inf")), neighbours="replace-one", **common).fit(X, y))
    constant = 0.5 if task.classes else float(np.mean((scale * (truth - y.mean())) ** 2))
    about = {"task": name, "records": len(y), "measured": "area under the curve" if task.classes else "squared error"}
    about |= {"non-private": exact, "constant": constant}
    lines = []
    for epsilon in EPSILONS:
        for neighbours in map(str, Neighbours):
            for solver in ("auto", "objective_perturbation" if task.classes else "moments"):
                made = [
                    kind(budget=hb.Budget(epsilon, DELTA), neighbours=neighbours, solver=solver, **common)
                    for _ in range(draws)
                ]
                fits = [one.fit(X, y) for one in made]
                found = np.array([told(one) for one in fits])
                taken = {
                    "epsilon": epsilon,
                    "neighbours": neighbours,
                    "asked": solver,
                    "solver": fits[0].release_.plan["solver"],
                }
                lines.append(
                    {
                        **about,
                        **taken,
                        "private": float(found.mean()),
                        "standard error": float(found.std(ddof=1) / draws**0.5),
                    }
                )
    return lines


def read(task: Task, part: str) -> tuple[pa.Table, Array]:
    """Columns and target of one of the authors' files."""
    folder = os.environ.get("HULLABALOO_MARGINALS")
    if not folder:
        raise RuntimeError(
            "Clone https://github.com/ceciliaferrando/DD-SSP and set HULLABALOO_MARGINALS to its folder data: the tables are the authors'."
        )
    with (Path(folder) / f"{task.file}_{part}.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    columns = dict(zip(rows[0], np.array(rows[1 : ROWS + 1], dtype=float).astype(int).T, strict=True))
    return pa.table({name: columns[name] for name in task.codes}), columns[task.target]


def area(chances: Array, truth: Array) -> float:
    """The chance that one of the class ranks above one that is not, ties counting half."""
    from scipy.stats import rankdata

    inside = truth > 0
    many = int(inside.sum())
    return float((rankdata(chances)[inside].sum() - many * (many + 1) / 2) / (many * (len(truth) - many)))
