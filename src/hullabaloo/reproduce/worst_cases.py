"""Synthetic problems on which a private method does as badly as it can, fitted at the noise of any declared number of records."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hullabaloo.curator import Curator
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.geometry import ConvexSet, L1Ball, L2Ball, NoPenalty, Penalty, Simplex, SquaredL2Penalty
from hullabaloo.losses import AnyLoss, Huber, Squared
from hullabaloo.noise import TestKey
from hullabaloo.planning.theory.hard_instances import orthogonal_block
from hullabaloo.privacy import Allowance, Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.solvers import FrankWolfeSolver, MirrorDescentSolver, Plan, Problem, Solution, Solver

Array = np.ndarray
STEEP = 0.5
"""Slope of the linear loss: Huber's loss of residuals that stay above ½."""


def rows_within(p: int, norm_l2: float) -> RowFacts:
    """p columns of |x_ij| ≤ 1, rows of norm at most `norm_l2`, one target."""
    l1 = min(float(p), math.sqrt(p) * norm_l2)
    return RowFacts(tuple(f"x{j}" for j in range(p)), False, l1, norm_l2, 1.0, ("y",))


@dataclass(frozen=True)
class Case:
    """Rows and targets with the facts that are declared of them, and the problem they make at `records` records."""

    X: Array
    y: Array
    norm_l2: float
    loss: AnyLoss
    constraint: ConvexSet | None = None
    penalty: Penalty = field(default_factory=NoPenalty)
    neighbours: Neighbours = Neighbours.REPLACE_ONE

    @property
    def facts(self) -> RowFacts:
        """What is declared of the rows."""
        return rows_within(self.X.shape[1], self.norm_l2)

    def problem(self, records: int) -> Problem:
        """What a solver is told at so many records."""
        facts, p = self.facts, self.X.shape[1]
        return Problem(
            self.loss, p, False, facts.norm_l1, facts.norm_l2, 1.0, 1, records, self.neighbours, self.constraint,
            self.penalty,
        )  # fmt: skip

    def prices(self, records: int) -> PricedQueries:
        """What queries cost at so many records."""
        return PricedQueries(self.facts, self.neighbours, records)

    def fits(self, solver: Solver, records: int, allowance: Allowance, draws: int, *, first: int = 0) -> list[Array]:
        """Models of the real curator: the rows at hand stand for `records` rows, and means over them have those rows' noise.

        Draws are numbered from `first` on; equal numbers have equal noise.
        """
        return [found.theta[:, 0] for found in self.solved(solver, records, allowance, draws, first)[0]]

    def solved(
        self, solver: Solver, records: int, allowance: Allowance, draws: int, first: int = 0
    ) -> tuple[list[Solution], Plan]:
        """What `fits` are the models of, and their plan."""
        problem = self.problem(records)
        plan: Any = solver.plan(problem, self.prices(records), allowance)
        queries = [query.resized(len(self.y)) for query in plan.queries]
        rows, keys = Rows(self.X, self.y[:, None]), map(TestKey(bytes(32)).derive, range(first, first + draws))
        return [solver.run(problem, plan, Curator(rows, queries, key=key)) for key in keys], plan


def linear(direction: Array, signal: float, body: ConvexSet, *, penalty: Penalty | None = None) -> Case:
    """f(θ) = −½ s⟨u, θ⟩ + const on sets in the unit ball of reach ½: rows s·u, ‖u‖₂ = 1, target 1, Huber's loss below its bend."""
    X = np.tile(signal * direction, (4, 1))
    return Case(X, np.ones(4), 1.0, Huber(STEEP), body, penalty or NoPenalty())


def worst_linear(
    solver: Solver, direction: Array, body: ConvexSet, records: int, allowance: Allowance, draws: int, *, first: int = 0
) -> float:
    """The largest mean excess over strengths of signal, from one lost in the noise to one that nobody can miss.

    The excess of a linear loss is the signal times what the model falls short of the set's support function.
    """
    problem = linear(direction, 1.0, body).problem(records)
    sigma = 2.0 * STEEP / (records * allowance.mu)
    width = body.gaussian_width(problem.dimension).value / body.support(direction)
    signals = [s for s in sigma * width / STEEP * np.geomspace(0.3, 8.0, 5) if s <= 1.0]
    found = []
    for signal in signals or [1.0]:
        case = linear(direction, float(signal), body)
        slope = STEEP * case.X[0]
        fits = case.fits(solver, records, allowance, draws, first=first)
        found.append(np.mean([body.support(slope) - float(slope @ theta) for theta in fits]))
    return float(max(found))


def spread_lasso(columns: int, nonzero: int, body: ConvexSet, loss: AnyLoss) -> Case:
    """½(1/p)‖Xθ − y‖² = ½‖θ − θ*‖² over ‖θ‖₁ ≤ 1: orthogonal ±1 columns, θ* of `nonzero` equal coefficients of either sign."""
    X = orthogonal_block(columns)
    theta = np.zeros(columns)
    theta[:nonzero] = np.where(np.arange(nonzero) % 2, -1.0, 1.0) / nonzero
    return Case(X, X @ theta, math.sqrt(columns), loss, body)


def spread_risk(columns: int, records: int, given: Allowance, draws: int, *, first: int = 0) -> float:
    """The worst mean risk of Frank–Wolfe over numbers of nonzero coefficients about as large as T; T = (nε)^{2/3}/16, the theorem's rate."""
    found = []
    steps = max(2, round((records * given.budget.epsilon) ** (2.0 / 3.0) / 16.0))
    for nonzero in (steps // 2, 2 * steps, 4 * steps):
        case = spread_lasso(columns, nonzero, L1Ball(1.0), Squared())
        aim = case.X.T @ case.y / len(case.y)
        fits = case.fits(FrankWolfeSolver(clip=1.0, steps=steps), records, given, draws, first=first)
        found.append(np.mean([0.5 * np.sum((theta - aim) ** 2) for theta in fits]))
    return float(max(found))


def ridge_risk(columns: int, records: int, given: Allowance, draws: int, *, first: int = 0) -> float:
    """The mean risk of mirror descent for a linear loss and the ridge ½‖θ‖²; one strength of signal, 0.3."""
    case = linear(np.full(columns, columns**-0.5), 0.3, L2Ball(0.5), penalty=SquaredL2Penalty(1.0))
    best = STEEP * case.X[0]
    fits = case.fits(MirrorDescentSolver(), records, given, draws, first=first)
    return float(np.mean([0.5 * np.sum((theta - best) ** 2) for theta in fits]))


def entropy_risk(columns: int, records: int, given: Allowance, draws: int, *, first: int = 0) -> float:
    """The mean risk of composite mirror descent for a linear loss and its potential, `Σ θ_j ln θ_j` up to scale, over a simplex; signal 0.3."""
    case = linear(np.eye(1, columns)[0], 0.3, Simplex(0.5))
    mirror, slope = Simplex(0.5).mirror_map(columns), -STEEP * case.X[0]
    # ∇Ψ is constant at the start, so that this is the least of ⟨slope, ·⟩ + Ψ.
    best = mirror.step(mirror.start(), slope)
    fits = case.fits(MirrorDescentSolver(composite=1.0), records, given, draws, first=first)
    losses = [float(slope @ theta) + mirror.value(theta) for theta in (best, *fits)]
    return float(np.mean(losses[1:])) - losses[0]
