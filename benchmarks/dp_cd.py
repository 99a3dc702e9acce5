"""Coordinate descent for the coordinate descent paper's experiments: the library's curator, driven update by update.

Rows are held in the unit domain, `u_ij = x_ij / B_j` with public bounds B_j, and `θ_j = B_j w_j`; the penalty's weights become
`λ₁/B_j` and `λ₂/B_j²`. Coordinate descent does not see the difference: with clips `C_j ∝ sqrt(M_j)` and steps `γ_j ∝ 1/M_j` its iterates in
raw and in unit columns are the same model.
"""

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.composite_problems import CompositeProblem
from hullabaloo.curator import Curator
from hullabaloo.curator.query import Query
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.geometry import HasElasticForm, Penalty, SeparableForm
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.solvers import CoordinateDescentSolver, Problem
from hullabaloo.solvers.coordinate.coordinate_rule import CONSTANTS

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class CoordinateDescent:
    """The updates of one problem. `known`: true mean squares, which nobody released: not private, only to compare."""

    problem: CompositeProblem
    known: bool

    def queries(self, updates: int) -> list[Query]:
        """What the budget buys: the updates, and before them the mean squares unless they are known, for the solver's own share of μ²."""
        prices = PricedQueries(_facts(self.problem), Neighbours.ADD_OR_REMOVE, len(self.problem.y))
        mu = _mu(self.problem.epsilon, self.problem.delta)
        left = 1.0 if self.known else 1.0 - CONSTANTS
        partial = prices.price(
            "coordinate_gradient", loss=self.problem.loss, mu=mu * math.sqrt(left / updates), count=updates
        )
        return [partial] if self.known else [partial, prices.price("second_moments", mu=mu * math.sqrt(CONSTANTS))]

    def fit(self, *, passes: int, step: float, clip: float, order: str, seed: int) -> tuple[Array, Array]:
        """The last iterate and the mean of the second half's, for w. Steps are `step`/M_j, clips `clip` · sqrt(mean x_ij²)."""
        problem, bounds, p = self.problem, self.problem.bounds, len(self.problem.bounds)
        rng = np.random.default_rng(seed)
        queries = self.queries(passes * p)
        rows = Rows(np.ascontiguousarray(problem.X / bounds), problem.y[:, None])
        curator = Curator(rows, queries, key=TestKey(rng.bytes(32)))
        if self.known:
            squares = problem.second_moments() / bounds**2
        else:
            squares = np.maximum(curator.answer("second_moments"), queries[1].sigma / len(problem.y))
        unbounded = np.full(p, math.inf)
        form = SeparableForm(problem.l1 / bounds, problem.l2 / bounds**2, -unbounded, unbounded)
        walk = rng.integers(p, size=passes * p) if order == "uniform" else np.tile(rng.permutation(p), passes)
        updates: dict[str, Any] = {
            "clips": clip * np.sqrt(squares),
            "steps": step / (problem.bend * squares),
            "form": form,
        }
        half = len(walk) // 2
        first = curator.answer("coordinate_gradient", np.zeros(p), order=walk[:half], **updates)
        second = curator.answer("coordinate_gradient", first.theta, order=walk[half:], **updates)
        return second.theta / bounds, second.mean / bounds


@dataclass(frozen=True)
class Weighted(Penalty, HasElasticForm):
    """λ₁ Σ |θ_j|/B_j + ½λ₂ Σ (θ_j/B_j)²: the penalty of w, of coefficients of unit columns."""

    l1: float
    l2: float
    bounds: tuple[float, ...]

    @property
    def strong_convexity(self) -> float:
        return self.l2 / max(self.bounds) ** 2

    def elastic_weights(self, p: int) -> tuple[Array, Array]:
        assert p == len(self.bounds)
        bounds = np.array(self.bounds)
        return self.l1 / bounds, self.l2 / bounds**2

    def value(self, theta: Array) -> float:
        kinks, curvatures = self.elastic_weights(len(theta))
        return float(kinks @ np.abs(theta) + 0.5 * curvatures @ theta**2)

    def prox(self, v: Array, step: float) -> Array:
        kinks, curvatures = self.elastic_weights(len(v))
        return np.sign(v) * np.maximum(np.abs(v) - step * kinks, 0.0) / (1.0 + step * curvatures)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "weighted", "l1": self.l1, "l2": self.l2, "bounds": list(self.bounds)}


def public_rule(problem: CompositeProblem, seed: int) -> tuple[Array, float]:
    """The library's solver as it stands, nothing tuned: w and the number of passes. Targets are divided by their public bound."""
    facts, p, n = _facts(problem), len(problem.bounds), len(problem.y)
    bounds = problem.bounds / problem.target_bound  # of w, for targets in [−1, 1]
    penalty = Weighted(problem.l1 / problem.target_bound, problem.l2, tuple(problem.bounds))
    norms = (facts.norm_l1, facts.norm_l2, facts.norm_linf)
    given = Problem(problem.loss, p, False, *norms, 1, n, Neighbours.ADD_OR_REMOVE, None, penalty)
    solver, prices = CoordinateDescentSolver(), PricedQueries(facts, Neighbours.ADD_OR_REMOVE, n)
    plan = solver.plan(given, prices, Allowance(Budget(problem.epsilon, problem.delta)))
    rows = Rows(np.ascontiguousarray(problem.X / problem.bounds), problem.y[:, None] / problem.target_bound)
    curator = Curator(rows, plan.queries, key=TestKey(np.random.default_rng(seed).bytes(32)))
    passes = plan.settings["rounds"] * plan.settings["updates"] / p
    return solver.run(given, plan, curator).theta[:, 0] / bounds, passes


def _facts(problem: CompositeProblem) -> RowFacts:
    p = len(problem.bounds)
    return RowFacts(tuple(f"x{j}" for j in range(p)), False, float(p), math.sqrt(p), 1.0, ("y",))


@functools.cache
def _mu(epsilon: float, delta: float) -> float:
    """The Gaussian-DP cost that (ε, δ) allows; ∞ for ε = ∞: no noise."""
    return Allowance(Budget(epsilon, delta)).mu if math.isfinite(epsilon) else math.inf
