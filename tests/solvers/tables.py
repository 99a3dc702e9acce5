"""Small encoded tables, a problem and a curator for solver tests, and noisy moments drawn by numpy (tests only)."""

import math
from dataclasses import dataclass

import numpy as np

from hullabaloo.curator import Curator
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.geometry import ConvexSet, NoPenalty, Penalty
from hullabaloo.losses import Squared
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Allowance, Neighbours
from hullabaloo.privacy.answers import NoisyMoments
from hullabaloo.queries import PricedQueries
from hullabaloo.solvers import Problem, Solution, Solver

Array = np.ndarray


@dataclass
class Table:
    X: Array
    Y: Array
    facts: RowFacts

    @property
    def records(self) -> int:
        return len(self.Y)


def table(
    n: int = 400, p: int = 4, *, intercept: bool = False, targets: int = 1, signal: float = 1.0, seed: int = 0
) -> Table:
    """Rows of norm at most 1 (without the constant column); targets linear in them plus noise, in [−1, 1]."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * 1.5 ** -np.arange(p)
    X /= np.linalg.norm(X, axis=1)[:, None]
    theta = rng.normal(size=(p, targets))
    theta *= 0.6 / np.linalg.norm(theta, axis=0)
    Y = np.clip(signal * X @ theta + 0.2 * rng.normal(size=(n, targets)) + (0.2 if intercept else 0.0), -1.0, 1.0)
    if intercept:
        X = np.column_stack([X, np.ones(n)])
    norm = math.sqrt(2.0) if intercept else 1.0
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    facts = RowFacts(names, intercept, math.sqrt(p) + intercept, norm, 1.0, tuple(f"y{k}" for k in range(targets)))
    return Table(np.ascontiguousarray(X), Y, facts)


def problem(
    data: Table,
    neighbours: Neighbours = Neighbours.REPLACE_ONE,
    *,
    constraint: ConvexSet | None = None,
    penalty: Penalty | None = None,
    records: int | None = None,
) -> Problem:
    facts = data.facts
    return Problem(
        loss=Squared(),
        dimension=facts.width,
        intercept=facts.intercept,
        norm_l1=facts.norm_l1,
        norm_l2=facts.norm_l2,
        norm_linf=facts.norm_linf,
        targets=len(facts.targets),
        records=records or data.records,
        neighbours=neighbours,
        constraint=constraint,
        penalty=penalty or NoPenalty(),
    )


def prices(data: Table, asked: Problem) -> PricedQueries:
    return PricedQueries(data.facts, asked.neighbours, asked.records)


def solve(solver: Solver, data: Table, asked: Problem, mu: float, seed: int = 0) -> Solution:
    plan = solver.plan(asked, prices(data, asked), Allowance.gdp(mu))
    key = TestKey(bytes(32)).derive(seed)
    return solver.run(asked, plan, Curator(Rows(data.X, data.Y), plan.queries, key=key))  # type: ignore[arg-type]


def least_squares(data: Table) -> Array:
    return np.linalg.lstsq(data.X, data.Y, rcond=None)[0]


def noisy_moments(data: Table, sigma: float, rng: np.random.Generator) -> NoisyMoments:
    """The moments release at noise `sigma` of an isometric coordinate of the sum, κ = 1."""
    n, p, k = data.records, data.X.shape[1], data.Y.shape[1]
    scale, scale_y = data.facts.norm_l2, math.sqrt(k)
    a = np.column_stack([data.X / scale, data.Y / scale_y])
    noise = rng.normal(0.0, sigma, (p + k, p + k))
    sums = a.T @ a + (noise + noise.T) / 2.0
    back = np.append(np.full(p, scale), np.full(k, scale_y))
    means = sums * back[:, None] * back / n
    return NoisyMoments(means[:p, :p], means[:p, p:], means[p:, p:], sigma, scale, scale_y, 1.0, n)
