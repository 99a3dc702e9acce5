"""Synthetic problems on which a private method does as badly as it can, fitted at the noise of any declared number of records."""

import math
from dataclasses import dataclass, field

import numpy as np

from hullabaloo.curator import Curator
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.geometry import ConvexSet, NoPenalty, Penalty
from hullabaloo.losses import AnyLoss, Huber
from hullabaloo.noise import TestKey
from hullabaloo.planning.theory.hard_instances import HardLasso, orthogonal_block
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.solvers import Problem, Solver

Array = np.ndarray
STEEP = 0.5  # slope of the linear loss: Huber's loss of residuals that stay above ½


@dataclass(frozen=True)
class Case:
    """Rows and targets with the facts that are declared of them, and the problem they make at `records` records."""

    X: Array
    y: Array
    norm_l2: float
    loss: AnyLoss
    constraint: ConvexSet
    penalty: Penalty = field(default_factory=NoPenalty)

    @property
    def facts(self) -> RowFacts:
        p = self.X.shape[1]
        l1 = min(float(p), math.sqrt(p) * self.norm_l2)
        return RowFacts(tuple(f"x{j}" for j in range(p)), False, l1, self.norm_l2, 1.0, ("y",))

    def problem(self, records: int) -> Problem:
        facts, p = self.facts, self.X.shape[1]
        return Problem(
            self.loss, p, False, facts.norm_l1, facts.norm_l2, 1.0, 1, records, Neighbours.REPLACE_ONE,
            self.constraint, self.penalty,
        )  # fmt: skip

    def prices(self, records: int) -> PricedQueries:
        return PricedQueries(self.facts, Neighbours.REPLACE_ONE, records)

    def fits(self, solver: Solver, records: int, allowance: Allowance, draws: int) -> list[Array]:
        """Models of the real curator: the rows at hand stand for `records` rows, and means over them have those rows' noise."""
        problem = self.problem(records)
        plan = solver.plan(problem, self.prices(records), allowance)
        queries = [query.resized(len(self.y)) for query in plan.queries]
        return [
            solver.run(
                problem, plan, Curator(Rows(self.X, self.y[:, None]), queries, key=TestKey(bytes(32)).derive(draw))
            ).theta[:, 0]
            for draw in range(draws)
        ]


def linear(direction: Array, signal: float, body: ConvexSet, *, penalty: Penalty | None = None) -> Case:
    """f(θ) = −½ s⟨u, θ⟩ + const on sets in the unit ball of reach ½: rows s·u, ‖u‖₂ = 1, target 1, Huber's loss below its bend."""
    X = np.tile(signal * direction, (4, 1))
    return Case(X, np.ones(4), 1.0, Huber(STEEP), body, penalty or NoPenalty())


def linear_excess(case: Case, theta: Array) -> float:
    """Excess of the linear loss: the signal times what the model falls short of the set's support function."""
    slope = STEEP * case.X[0]
    return case.constraint.support(slope) - float(slope @ theta)


def worst_linear(
    solver: Solver, direction: Array, body: ConvexSet, records: int, allowance: Allowance, draws: int
) -> float:
    """The largest mean excess over strengths of signal, from one lost in the noise to one that nobody can miss."""
    problem = linear(direction, 1.0, body).problem(records)
    sigma = 2.0 * STEEP / (records * allowance.mu)
    width = body.gaussian_width(problem.dimension).value / body.support(direction)
    signals = [s for s in sigma * width / STEEP * np.geomspace(0.3, 8.0, 5) if s <= 1.0]
    found = []
    for signal in signals or [1.0]:
        case = linear(direction, float(signal), body)
        found.append(np.mean([linear_excess(case, theta) for theta in case.fits(solver, records, allowance, draws)]))
    return float(max(found))


def spread_lasso(columns: int, nonzero: int, body: ConvexSet, loss: AnyLoss) -> Case:
    """½(1/p)‖Xθ − y‖² = ½‖θ − θ*‖² over ‖θ‖₁ ≤ 1: orthogonal ±1 columns, θ* of `nonzero` equal coefficients of either sign."""
    X = orthogonal_block(columns)
    theta = np.zeros(columns)
    theta[:nonzero] = np.where(np.arange(nonzero) % 2, -1.0, 1.0) / nonzero
    return Case(X, X @ theta, math.sqrt(columns), loss, body)


def of_instance(instance: HardLasso, body: ConvexSet, loss: AnyLoss) -> Case:
    """The hard lasso as a case."""
    return Case(instance.X, instance.y, math.sqrt(instance.X.shape[1]), loss, body)


def allowance(epsilon: float, delta: float) -> Allowance:
    return Allowance(Budget(epsilon, delta))


def slope_with_error(x: Array, y: Array) -> tuple[float, float]:
    """Of log y against log x, by least squares, with its standard error."""
    x, y = np.log(x), np.log(y)
    line = np.polyfit(x, y, 1)
    left = y - np.polyval(line, x)
    return float(line[0]), math.sqrt(float(left @ left) / (len(x) - 2) / float(np.sum((x - x.mean()) ** 2)))
