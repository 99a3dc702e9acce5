"""Where a private preconditioner pays: held-out loss and share kept, solver by solver, for classes, numbers and counts.

`share` is that of share_kept.py: what is kept of the non-private model's gain over a constant. Electricity is taken with seven
numeric columns. Counts are the claims of 678 013 French motor policies with their exposures; their loss is the mean Poisson deviance,
the constant is one rate for all, the non-private model the Poisson regression on the same encoded rows. δ = 1/n². One split;
`draws` fits of each (one of the largest table).

Newton's method with double noise (newton.py) is measured on one table, the best of eight choices in hindsight. The counts of `NAMED` take
minutes and are run by name: `run(["fremtpl2"])`.
"""

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import small
from benchmarks.newton import GRID, newton
from benchmarks.share_kept import baselines, loss
from benchmarks.share_tables import CLASSIFICATION, REGRESSION, Declared
from hullabaloo.curator import Curator
from hullabaloo.data import Encoding, Rows
from hullabaloo.data.encoding import TargetScale
from hullabaloo.losses import Logistic, Loss, Poisson, Squared
from hullabaloo.planning.choose import choose
from hullabaloo.planning.context import PlanContext
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.release.rehearsal import rehearsal
from hullabaloo.solvers import (
    AdaptiveGradientSolver,
    ObjectivePerturbationSolver,
    PreconditionedGradientSolver,
    Problem,
    Solver,
)

EPSILONS = (0.1, 1.0, 3.0)
ROWS = 50_000
Array = np.ndarray

ELECTRICITY = Declared(
    "electricity_elec2.parquet",
    {"day": (1, 7)} | dict.fromkeys(("period", "nswprice", "nswdemand", "vicprice", "vicdemand", "transfer"), (0, 1)),
    {"class": [0, 1]},
)
CLAIMS = Declared(
    "fremtpl2_freq.parquet",
    {"Exposure": (1 / 366, 1), "Area": list("ABCDEF"), "VehPower": (4, 15), "VehAge": (0, 30), "DrivAge": (18, 100)}
    | {"BonusMalus": (50, 350), "Density": {"lo": 1, "hi": 30_000, "transform": "log"}, "VehGas": ["Diesel", "Regular"]}
    | {"VehBrand": [f"B{j}" for j in (1, 2, 3, 4, 5, 6, 10, 11, 12, 13, 14)]}
    | {
        "Region": [
            f"R{j}" for j in (11, 21, 22, 23, 24, 25, 26, 31, 41, 42, 43, 52, 53, 54, 72, 73, 74, 82, 83, 91, 93, 94)
        ]
    },
    {"ClaimNb": (0, 4)},
)
NAMED = {"electricity7": ELECTRICITY, "fremtpl2": CLAIMS}
CLASSES, NUMBERS = ("adult", "noaa"), ("california",)
NEWTON = ("electricity7",)
TABLES = (
    {"electricity7": ELECTRICITY}
    | {name: CLASSIFICATION[name] for name in CLASSES}
    | {name: REGRESSION[name] for name in NUMBERS}
)
SOLVERS: dict[str, Solver] = {
    "preconditioned_gradient": PreconditionedGradientSolver(),
    "adaptive_gradient": AdaptiveGradientSolver(),
    "objective_perturbation": ObjectivePerturbationSolver(),
}


@dataclass(frozen=True)
class Held:
    """Encoded training rows, and the loss of coefficients on the held-out fifth."""

    rows: Rows
    encoding: Encoding
    phi: Loss
    loss: Callable[[Array], float]
    constant: float
    non_private: float


def fingerprint() -> dict[str, Any]:
    """What the three solvers make of small tables, and the baselines beside them."""
    X, y, c = small.table()
    signs, setting = 2.0 * c - 1.0, GRID[0]
    rate = poisson(np.column_stack([X, np.ones(len(X))]), np.exp(y), np.zeros(len(X)), 0.0)
    return {
        **small.solved(*SOLVERS),
        "newton": newton(X, signs, 2.0, 1.0, 2.0, setting, np.random.default_rng(0)),
        "baselines": [baselines(X, y, False), baselines(X, signs, True), rate],
    }


def run(names: list[str] | None = None, solvers: tuple[str, ...] = tuple(SOLVERS), draws: int = 1) -> dict[str, Any]:
    """Losses and shares of every table, epsilon, relation and solver; how often each is best, and their medians."""
    asked = [(name, solvers, 1 if name == "fremtpl2" else draws) for name in names or TABLES]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = [line for lines in pool.map(_measure, asked) for line in lines]
    return {"rows at most": ROWS, "draws": draws, "tables": found, "summary": summary(found, solvers)}


def held(name: str) -> Held:
    """One split: four fifths to train, one to test."""
    table = (TABLES | NAMED)[name]
    read = table.read()
    counts = name == "fremtpl2"
    if len(read) > ROWS and not counts:
        read = read.take(np.random.default_rng(0).permutation(len(read))[:ROWS])
    order = np.random.default_rng(1000).permutation(len(read))
    test, train = order[: len(read) // 5], order[len(read) // 5 :]
    part, domain = read.take(train), table.domain(len(train))
    options: dict[str, Any] = {"scale": TargetScale.NONNEGATIVE, "exposure": "Exposure"} if counts else {}
    encoding = domain.encoding_for(part, **options)
    known, out = encoding.encode(part), encoding.encode(read.take(test))
    X, y = _dense(out.X), out.Y[:, 0]
    if counts:
        assert known.offset is not None
        assert out.offset is not None
        offset = out.offset
        rate = np.log(known.Y[:, 0].sum() / np.exp(known.offset).sum())
        best = poisson(_dense(known.X), known.Y[:, 0], known.offset, float(rate))
        hi = float(table.target["ClaimNb"][1])

        def deviance(theta: Array) -> float:
            return poisson_deviance(hi * y, hi * np.exp(np.clip(X @ theta + offset, -30.0, 30.0)))

        flat = np.append(np.zeros(X.shape[1] - 1), rate)
        return Held(known, encoding, Poisson(), deviance, deviance(flat), deviance(best))
    classes = table.is_classification
    constant, best = baselines(_dense(known.X), known.Y[:, 0], classes)
    flat = np.append(np.zeros(X.shape[1] - 1), constant)

    def measured(theta: Array) -> float:
        return loss(X @ theta, y, classes)

    phi: Loss = Logistic() if classes else Squared()
    return Held(known, encoding, phi, measured, measured(flat), measured(best))


def poisson(X: Array, y: Array, offset: Array, rate: float) -> Array:
    """Poisson regression by Newton's steps with a ridge of 1e-9 on the mean."""
    theta = np.append(np.zeros(X.shape[1] - 1), rate)
    for _ in range(12):
        mean = np.exp(X @ theta + offset)
        bend = (X.T * mean) @ X / len(y) + 1e-9 * np.eye(len(theta))
        theta = theta - np.linalg.solve(bend, X.T @ (mean - y) / len(y) + 1e-9 * theta)
    return theta


def poisson_deviance(y: Array, mean: Array) -> float:
    """`2 mean(y log(y/m) − y + m)`."""
    return float(2.0 * np.mean(np.where(y > 0.0, y * np.log(np.maximum(y, 1e-300) / mean), 0.0) - y + mean))


def measure(name: str, solvers: tuple[str, ...], draws: int) -> list[dict[str, Any]]:
    """The lines of one table."""
    one, found = held(name), []
    facts, n = one.encoding.facts, one.rows.Y.shape[0]
    for epsilon in EPSILONS:
        for neighbours in Neighbours:
            problem = Problem(
                loss=one.phi,
                dimension=facts.width,
                intercept=facts.intercept,
                norm_l1=facts.norm_l1,
                norm_l2=facts.norm_l2,
                norm_linf=facts.norm_linf,
                targets=1,
                records=n,
                neighbours=neighbours,
                offset_bound=facts.offset_bound,
            )
            prices, allowance = PricedQueries(facts, neighbours, n), Allowance(Budget(epsilon, 1.0 / n**2))
            line: dict[str, Any] = {
                "table": name,
                "loss": one.phi.name,
                "records": n,
                "columns": facts.width,
                "epsilon": epsilon,
                "neighbours": str(neighbours),
                "constant": one.constant,
                "non_private": one.non_private,
            }
            for asked in solvers:
                if asked == "auto":
                    solver, plan = choose(PlanContext(problem, prices, allowance, rehearsal), asked)
                    line["auto takes"] = plan.solver
                    if plan.solver in solvers:  # measured below
                        continue
                else:
                    solver = SOLVERS[asked]
                    plan = solver.plan(problem, prices, allowance)
                start = time.perf_counter()
                losses = [
                    one.loss(solver.run(problem, plan, Curator(one.rows, plan.queries)).theta[:, 0])  # type: ignore[arg-type]
                    for _ in range(draws)
                ]
                line[f"{asked} loss"] = float(np.mean(losses))
                line[f"{asked} share"] = (one.constant - float(np.mean(losses))) / (one.constant - one.non_private)
                line[f"{asked} seconds"] = (time.perf_counter() - start) / draws
            if f"{line.get('auto takes')} share" in line:
                line["auto share"] = line[f"{line['auto takes']} share"]
            if name in NEWTON:
                losses = [_newton(one, allowance.mu, neighbours, setting) for setting in GRID]
                line["newton share, best of 8 in hindsight"] = (one.constant - min(losses)) / (
                    one.constant - one.non_private
                )
            found.append(line)
    return found


def _newton(one: Held, mu: float, neighbours: Neighbours, setting: tuple[int, float, bool]) -> float:
    copies = 2.0 if neighbours is Neighbours.REPLACE_ONE else 1.0
    X, y, norm = _dense(one.rows.X), one.rows.Y[:, 0], one.encoding.facts.norm_l2
    draws = [newton(X, y, norm, mu, copies, setting, np.random.default_rng(seed)) for seed in range(1)]
    return float(np.mean([one.loss(theta) for theta in draws]))


def summary(lines: list[dict[str, Any]], solvers: tuple[str, ...]) -> list[dict[str, Any]]:
    """For every loss and relation: medians over tables of the share kept, and on how many tables each named solver is best."""
    found, named = [], [name for name in solvers if name != "auto"]
    for phi in dict.fromkeys(line["loss"] for line in lines):
        for neighbours in map(str, Neighbours):
            for epsilon in EPSILONS:
                part = [
                    line
                    for line in lines
                    if (line["loss"], line["neighbours"], line["epsilon"]) == (phi, neighbours, epsilon)
                ]
                row: dict[str, Any] = {"loss": phi, "neighbours": neighbours, "epsilon": epsilon, "tables": len(part)}
                for name in solvers:
                    row[f"{name} median"] = float(np.median([line[f"{name} share"] for line in part]))
                best = [max(named, key=lambda name, line=line: line[f"{name} share"]) for line in part]  # type: ignore[misc]
                found.append(row | {f"{name} best on": best.count(name) for name in named})
    return found


def _measure(asked: tuple[str, tuple[str, ...], int]) -> list[dict[str, Any]]:
    return measure(*asked)


def _dense(X: Any) -> Array:
    return X if isinstance(X, np.ndarray) else X.toarray()


if __name__ == "__main__":
    for asked_name in sys.argv[1:]:
        for row in measure(asked_name, tuple(SOLVERS), 3):
            shares = "  ".join(
                f"{name} {row[f'{name} loss']:.4f} {100 * row[f'{name} share']:6.1f}" for name in SOLVERS
            )
            print(f"{row['table']:13s} {row['epsilon']:4g} {row['neighbours']:13s} {shares}", flush=True)
