"""Coordinate descent for the coordinate descent paper's experiments: the library's solver as it stands, on `CompositeProblem`s."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.composite_problems import CompositeProblem
from hullabaloo.curator import Curator
from hullabaloo.data.source import Rows
from hullabaloo.geometry import HasElasticForm, Penalty
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Allowance, Budget, Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.reproduce.coordinates import CoordinateDescent, facts_of
from hullabaloo.solvers import CoordinateDescentSolver, Problem

__all__ = ["CoordinateDescent"]

Array = np.ndarray


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
    facts, p, n = facts_of(problem), len(problem.bounds), len(problem.y)
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
