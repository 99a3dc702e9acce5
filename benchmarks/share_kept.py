"""How much of the non-private model's gain over a constant a private model keeps, on real tables of all sorts.

`share = (loss of the constant model − loss) / (loss of the constant model − loss of the non-private model)` on a held-out
fifth: squared error or log-loss, δ = 1/n², one default for every table. The constant is the training rows' mean or log-odds;
the non-private model is least squares (minimum norm) or logistic regression (a ridge of 1e-8, by Newton's steps) on the same
encoded rows. Tables of more than `ROWS` rows are cut down to as many, drawn once. n is public under replace-one and declared as
the number of training rows under add-or-remove.
"""

import math
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import small
from benchmarks.share_tables import CLASSIFICATION, REGRESSION, TABLES, Declared
from hullabaloo.curator import Curator
from hullabaloo.data import Encoding, Rows
from hullabaloo.losses import Logistic, Loss, Squared
from hullabaloo.planning.choose import choose
from hullabaloo.planning.context import PlanContext
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.release.rehearsal import rehearsal
from hullabaloo.solvers import Problem

EPSILONS = (0.1, 1.0, 3.0)
ROWS, SPLITS, DRAWS = 50_000, 4, 4
TARGETS = {
    ("regression", "add-or-remove"): (86, 97, 99),
    ("classification", "add-or-remove"): (74, 95, 98),
    ("regression", "replace-one"): (72, 95, 98),
    ("classification", "replace-one"): (60, 91, 96),
}
CALIBRATED = ("mean chance over share", "calibration slope")
Array = np.ndarray


@dataclass(frozen=True)
class Split:
    """Encoded training rows, test rows, and the losses that a share is measured between."""

    rows: Rows
    encoding: Encoding
    X: Array
    y: Array
    constant: float
    non_private: float

    @property
    def n(self) -> int:
        return self.rows.Y.shape[0]

    def share(self, theta: Array) -> float:
        return (self.constant - loss(self.X @ theta, self.y, self.classes)) / (self.constant - self.non_private)

    @property
    def classes(self) -> bool:
        return bool(np.all(np.abs(self.y) == 1.0))


def fingerprint() -> dict[str, Any]:
    """What the planner takes and gives of a small table, and the baselines that shares are measured between."""
    X, y, c = small.table()
    return {**small.chosen(), "baselines": [baselines(X, y, False), baselines(X, 2.0 * c - 1.0, True)]}


def run(
    names: list[str] | None = None,
    solvers: tuple[str, ...] = ("auto",),
    splits: int = SPLITS,
    draws: int = DRAWS,
    rows: int = ROWS,
) -> dict[str, Any]:
    """Shares with standard errors for every table, epsilon, relation and solver, and their medians."""
    asked = [(name, solvers, splits, draws, rows) for name in names or TABLES]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = [line for lines in pool.map(_measure, asked) for line in lines]
    return {"rows at most": rows, "splits": splits, "draws": draws, "tables": found, "summary": summary(found)}


def quick(names: list[str] | None = None, solvers: tuple[str, ...] = ("auto",)) -> dict[str, Any]:
    """One split and three draws of at most 10 000 rows: for a look, not for the record."""
    return run(names, solvers, splits=1, draws=3, rows=10_000)


def measure(name: str, solvers: tuple[str, ...], splits: int, draws: int, rows: int) -> Iterator[dict[str, Any]]:
    """The lines of one table."""
    return lines(name, [split(TABLES[name], number, rows) for number in range(splits)], solvers, draws)


def lines(name: str, kept: list[Split], solvers: tuple[str, ...], draws: int) -> Iterator[dict[str, Any]]:
    """A line for every epsilon, relation and solver."""
    for epsilon in EPSILONS:
        for neighbours in Neighbours:
            for solver in solvers:
                start = time.perf_counter()
                shares, chosen, calibrated = _shares(kept, epsilon, neighbours, solver, draws)
                yield {
                    "table": name,
                    "kind": "classification" if TABLES[name].is_classification else "regression",
                    "records": kept[0].n,
                    "columns": kept[0].rows.X.shape[1],
                    "constant": float(np.mean([one.constant for one in kept])),
                    "non_private": float(np.mean([one.non_private for one in kept])),
                    "epsilon": epsilon,
                    "neighbours": str(neighbours),
                    "asked": solver,
                    "solver": chosen,
                    "share": float(np.mean(shares)),
                    "standard_error": _standard_error(shares),
                    "loss": float(np.mean(_losses(kept, shares))),
                    **calibrated,
                    "seconds per fit": (time.perf_counter() - start) / max(1, shares.size),
                }


def split(table: Declared, number: int, rows: int) -> Split:
    """Four fifths to train, one to test; the same rows for every budget and solver."""
    read = table.read()
    if len(read) > rows:
        read = read.take(np.random.default_rng(0).permutation(len(read))[:rows])
    order = np.random.default_rng(1000 + number).permutation(len(read))
    test, train = order[: len(read) // 5], order[len(read) // 5 :]
    part = read.take(train)
    encoding = table.domain(len(train)).encoding_for(part)
    known, held = encoding.encode(part), encoding.encode(read.take(test))
    X, y = _dense(held.X), held.Y[:, 0]
    constant, best = baselines(_dense(known.X), known.Y[:, 0], table.is_classification)
    at = (loss(np.full(len(y), constant), y, table.is_classification), loss(X @ best, y, table.is_classification))
    return Split(known, encoding, X, y, *at)


def baselines(X: Array, y: Array, classes: bool) -> tuple[float, Array]:
    """The best constant and the best linear model of the training rows."""
    if not classes:
        return float(y.mean()), np.linalg.lstsq(X, y, rcond=None)[0]
    share = 0.5 * (1.0 + float(y.mean()))
    return math.log(share / (1.0 - share)), logistic(X, y)


def logistic(X: Array, y: Array, ridge: float = 1e-8) -> Array:
    """Logistic regression by Newton's steps, halved until the loss falls."""
    n, p = X.shape
    theta = np.zeros(p)

    def objective(at: Array) -> float:
        return float(np.logaddexp(0.0, -y * (X @ at)).mean() + 0.5 * ridge * at @ at)

    value = objective(theta)
    for _ in range(60):
        chance = 0.5 * (1.0 - np.tanh(0.5 * y * (X @ theta)))
        slope = ridge * theta - X.T @ (y * chance) / n
        bend = (X.T * (chance * (1.0 - chance))) @ X / n + (ridge + 1e-12) * np.eye(p)
        step = np.linalg.solve(bend, slope)
        gain, size = float(slope @ step), 1.0
        if gain < 1e-10:
            break
        while objective(theta - size * step) > value - 1e-4 * size * gain and size > 1e-6:
            size *= 0.5
        theta = theta - size * step
        value = objective(theta)
    return theta


def calibration(z: Array, y: Array) -> tuple[float, float]:
    """Mean predicted chance over the share of the class, and the calibration slope, 0 where all predictions are one."""
    mean = float(np.mean(0.5 * (1.0 + np.tanh(0.5 * z)))) / max(float(np.mean(y > 0.0)), 1e-12)
    scale = float(z.std())
    return mean, float(logistic(np.column_stack([z / scale, np.ones(len(z))]), y)[0]) / scale if scale > 1e-9 else 0.0


def loss(z: Array, y: Array, classes: bool) -> float:
    """Mean squared error of the unit target, or log-loss."""
    return float(np.mean(np.logaddexp(0.0, -y * z))) if classes else float(np.mean((y - z) ** 2))


def summary(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Medians over tables beside their targets, and the lowest share at ε ≥ 1."""
    found = []
    for kind in ("regression", "classification"):
        for neighbours in map(str, Neighbours):
            for asked in dict.fromkeys(line["asked"] for line in lines):
                part = [
                    line
                    for line in lines
                    if (line["kind"], line["neighbours"], line["asked"]) == (kind, neighbours, asked)
                ]
                if not part:
                    continue
                later = [line for line in part if line["epsilon"] >= 1.0]
                worst = min(later, key=lambda line: line["share"])
                told = [name for name in CALIBRATED if name in part[0]]
                found.append(
                    {
                        "kind": kind,
                        "neighbours": neighbours,
                        "asked": asked,
                        "tables": len({line["table"] for line in part}),
                        "epsilon": EPSILONS,
                        "median share": [_median(part, epsilon) for epsilon in EPSILONS],
                        "target": [target / 100 for target in TARGETS[kind, neighbours]],
                        "lowest share at epsilon 1 and more": worst["share"],
                        "of": worst["table"],
                        **{name: [_median(part, epsilon, name) for epsilon in EPSILONS] for name in told},
                    }
                )
    return found


def _shares(
    kept: list[Split], epsilon: float, neighbours: Neighbours, name: str, draws: int
) -> tuple[Array, str, dict[str, float]]:
    """Shares of every split and draw, the solver that ran, and of classes medians of how well chances are calibrated."""
    shares = np.empty((len(kept), draws))
    chosen, calibrated = "", []
    for number, one in enumerate(kept):
        facts = one.encoding.facts
        model: Loss = Logistic() if one.classes else Squared()
        problem = Problem(
            loss=model,
            dimension=facts.width,
            intercept=facts.intercept,
            norm_l1=facts.norm_l1,
            norm_l2=facts.norm_l2,
            norm_linf=facts.norm_linf,
            targets=1,
            records=one.n,
            neighbours=neighbours,
            once=True,
        )
        if number == 0:  # the splits are of one size, so the plan is the same
            prices = PricedQueries(facts, neighbours, one.n)
            allowance = Allowance(Budget(epsilon, 1.0 / one.n**2))
            solver, plan = choose(PlanContext(problem, prices, allowance, rehearsal), name)
            chosen = plan.solver
        for draw in range(draws):
            theta = solver.run(problem, plan, Curator(one.rows, plan.queries)).theta[:, 0]  # type: ignore[arg-type]
            shares[number, draw] = one.share(theta)
            calibrated += [calibration(one.X @ theta, one.y)] if one.classes else []
    medians = np.median(calibrated, axis=0).tolist() if calibrated else []
    return shares, chosen, dict(zip(CALIBRATED, medians, strict=False))


def _standard_error(shares: Array) -> float:
    """Of the mean over splits and draws; splits share records, so the larger of theirs and the draws' is reported."""
    if shares.shape[1] < 2:
        return math.nan
    draws = float(shares.std(axis=1, ddof=1).mean()) / math.sqrt(shares.size)
    splits = float(shares.mean(axis=1).std(ddof=1)) / math.sqrt(len(shares)) if len(shares) > 1 else 0.0
    return max(draws, splits)


def _losses(kept: list[Split], shares: Array) -> list[float]:
    return [
        one.constant - float(mean) * (one.constant - one.non_private)
        for one, mean in zip(kept, shares.mean(axis=1), strict=True)
    ]


def _median(part: list[dict[str, Any]], epsilon: float, name: str = "share") -> float:
    return float(np.median([line[name] for line in part if line["epsilon"] == epsilon]))


def _measure(asked: tuple[Any, ...]) -> list[dict[str, Any]]:
    return list(measure(*asked))


def _dense(X: Any) -> Array:
    return X if isinstance(X, np.ndarray) else X.toarray()


if __name__ == "__main__":
    result = quick(solvers=tuple(sys.argv[1:]) or ("auto",))
    for line in result["tables"]:
        print(
            f"{line['table']:14s} {line['epsilon']:4g} {line['neighbours']:13s} {line['asked']:18s} {line['solver']:18s} "
            f"{100 * line['share']:7.1f} ± {100 * line['standard_error']:5.1f}  {line['seconds per fit']:.2f} s"
        )
    for line in result["summary"]:
        print(line)
    assert set(REGRESSION) | set(CLASSIFICATION) == set(TABLES)
