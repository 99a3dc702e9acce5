"""Dual Frank–Wolfe: a step after one factorisation, the gap of Algorithm 1 over its steps, private risk beside output perturbation.

A step is one minimiser of the ridge problem for another linear term, with its noise, and the greedy vertex. "alone" is the same step
by a curator that has kept nothing; "ridge" is scikit-learn's `Ridge` fit of the same table, Cholesky, no intercept. Of squared
residuals that are clipped the kept sums serve only near a reference point: those steps are late ones of a private walk.

Risks are excess risks in parts of the constant model's, geometric means over designs: even and correlated columns, 2 000 and
20 000 records, a contiguous block of coefficients that is a group too; λ such that |s_j| ≤ 0.01 on K.
"""

import math
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge

from benchmarks.timing import alternate
from hullabaloo.curator import Curator
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.geometry import Cardinality, NoPenalty, SubmodularPenalty
from hullabaloo.geometry.submodular.base import SetFunction
from hullabaloo.geometry.submodular.group_cover import GroupCover, Intervals
from hullabaloo.geometry.submodular.norm import greedy_vertex
from hullabaloo.losses import Loss, Squared
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.solvers import DualFrankWolfeSolver, OutputPerturbationSolver, Problem, Solver
from hullabaloo.solvers.frank_wolfe.dual_frank_wolfe_rule import Polyhedron, residual_bound

ROWS, COLUMNS, RIDGE, STRENGTH = 100_000, 100, 0.01, 0.01
LATE = 40
"""Steps of a walk before the timed ones."""
REPEATS = 9
GAPS = (1, 3, 10, 30, 100, 300, 1000)
EPSILONS = (0.3, 1.0, 4.0)
DRAWS = 3
KEY = TestKey(bytes(32))


def fingerprint() -> dict[str, Any]:
    """Shares of the excess risk of both solvers for each norm on one small design."""
    X, y = _design(np.random.default_rng(0), 300, 10, even=False)
    return {
        name: [
            _share(X, y, _function(name, 10), solver, 1.0)
            for solver in (DualFrankWolfeSolver(steps=5), OutputPerturbationSolver())
        ]
        for name in ("l1", "intervals", "groups")
    }


def run() -> dict[str, Any]:
    """Seconds of a step; gaps; shares of excess risk."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS)) / np.sqrt(np.arange(1.0, COLUMNS + 1.0))
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0)
    theta = np.zeros(COLUMNS)
    theta[20:30] = 0.4
    y = np.clip(X @ theta + 0.25 * rng.normal(size=ROWS), -1.0, 1.0)
    return {"step": _times(X, y), "gap": _gaps(X[:5000], y[:5000]), "excess risk": _risks(rng)}


def _problem(X: np.ndarray, norm: float, function: SetFunction) -> tuple[Problem, PricedQueries]:
    n, p = X.shape
    facts = RowFacts(tuple(map(str, range(p))), False, norm * math.sqrt(p), norm, 1.0, ("y",))
    penalty = SubmodularPenalty(function, STRENGTH / function.value(np.arange(p) == 0))
    relation = Neighbours.REPLACE_ONE
    problem = Problem(Squared(), p, False, facts.norm_l1, norm, 1.0, 1, n, relation, penalty=penalty)
    return problem, PricedQueries(facts, relation, n)


def _times(X: np.ndarray, y: np.ndarray) -> list[dict[str, Any]]:
    function = Intervals(COLUMNS)
    problem, prices = _problem(X, 1.0, function)
    penalty, rows = problem.penalty, Rows(X, y[:, None])
    assert isinstance(penalty, SubmodularPenalty)
    largest = Polyhedron.of(problem).largest
    ridge = Ridge(alpha=ROWS * RIDGE, fit_intercept=False, solver="cholesky")
    found = []
    for residuals, clip in (("never clipped", residual_bound(problem, largest, RIDGE)), ("clipped at 0.5", 0.5)):
        loss: Loss = Squared()
        query = prices.price(
            "output_perturbation",
            loss=loss,
            clip=clip,
            ridge=RIDGE,
            feasible=None,
            penalty=NoPenalty(),
            mu=0.05,
            count=100_000,
            linear_bound=largest,
        )
        walk = _Walk(Curator(rows, [query], key=KEY), penalty, COLUMNS)
        for _ in range(LATE):
            walk.step()

        def alone(walk: _Walk = walk, query: Any = query) -> None:
            Curator(rows, [query], key=KEY).answer("output_perturbation", walk.s)

        kept, fresh, fit = alternate(walk.step, alone, lambda: ridge.fit(X, y), repeats=REPEATS)
        found.append(
            {
                "residuals": residuals,
                "rows": ROWS,
                "columns": COLUMNS,
                "step_seconds": kept,
                "alone_seconds": fresh,
                "ridge_seconds": fit,
                "alone / step": fresh / kept,
                "ridge / step": fit / kept,
            }
        )
    return found


class _Walk:
    def __init__(self, curator: Curator, penalty: SubmodularPenalty, p: int) -> None:
        self.curator, self.penalty, self.s, self.t = curator, penalty, np.zeros(p), 0

    def step(self) -> None:
        vertex = self.penalty.strength * greedy_vertex(
            self.penalty.function, self.curator.answer("output_perturbation", self.s)
        )
        mu = 2.0 / (self.t + 2)
        self.s, self.t = (1.0 - mu) * self.s + mu * vertex, self.t + 1


def _gaps(X: np.ndarray, y: np.ndarray) -> list[dict[str, Any]]:
    """Without noise: the least gap of a w_t, and the gap of the averaged w, beside its bound."""
    rows = []
    for function in (Cardinality(), Intervals(COLUMNS)):
        problem, prices = _problem(X, 1.0, function)
        for steps in GAPS:
            solver = DualFrankWolfeSolver(steps=steps, ridge=RIDGE)
            plan = solver.plan(problem, prices, Allowance(Budget(math.inf)))
            trace = solver.run(problem, plan, Curator(Rows(X, y[:, None]), plan.queries)).trace[0]  # type: ignore[arg-type]
            rows.append(
                {
                    "function": type(function).__name__,
                    "steps": steps,
                    "least gap": trace["gap"],
                    "gap of the mean": trace["gap_of_mean"],
                    "2C/(T + 1)": 2.0 * plan.settings["curvature"] / (steps + 1),
                }
            )
    return rows


def _risks(rng: np.random.Generator) -> list[dict[str, Any]]:
    designs = [_design(rng, n, p, even) for n, p in ((2_000, 20), (20_000, 50)) for even in (True, False)]
    rows = []
    for name in ("l1", "intervals", "groups"):
        for epsilon in EPSILONS:
            row: dict[str, Any] = {"penalty": name, "ε": epsilon}
            for solver in (DualFrankWolfeSolver(), OutputPerturbationSolver()):
                shares = [_share(X, y, _function(name, X.shape[1]), solver, epsilon) for X, y in designs]
                row[solver.name] = math.exp(np.mean(np.log(shares)))
            rows.append(row)
    return rows


def _function(name: str, p: int) -> SetFunction:
    if name == "intervals":
        return Intervals(p)
    return Cardinality() if name == "l1" else GroupCover([list(range(k, k + 5)) for k in range(0, p, 5)])


def _design(rng: np.random.Generator, n: int, p: int, even: bool) -> tuple[np.ndarray, np.ndarray]:
    if even:
        X = rng.uniform(-1.0, 1.0, (n, p))
    else:
        X = 0.15 * rng.normal(size=(n, 5)) @ rng.normal(size=(5, p)) + 0.25 * rng.normal(size=(n, p))
        X = np.clip(X, -1.0, 1.0)
    theta = np.zeros(p)
    theta[5:10] = 0.5 / math.sqrt(5.0)
    return X, np.clip(X @ theta + 0.25 * rng.normal(size=n), -1.0, 1.0)


def _share(X: np.ndarray, y: np.ndarray, function: SetFunction, solver: Solver, epsilon: float) -> float:
    n, p = X.shape
    problem, prices = _problem(X, math.sqrt(p), function)
    plan = solver.plan(problem, prices, Allowance(Budget(epsilon, 1.0 / n**2)))
    best = float(np.mean((X @ np.linalg.lstsq(X, y, rcond=None)[0] - y) ** 2))
    excess = []
    for draw in range(DRAWS):
        curator = Curator(Rows(X, y[:, None]), plan.queries, key=KEY.derive(draw))  # type: ignore[arg-type]
        theta = solver.run(problem, plan, curator).theta[:, 0]
        excess.append(float(np.mean((X @ theta - y) ** 2)) - best)
    return max(float(np.mean(excess)) / (float(np.mean(y**2)) - best), 1e-3)


if __name__ == "__main__":
    for name, value in run().items():
        print(name, *value, sep="\n  ")
