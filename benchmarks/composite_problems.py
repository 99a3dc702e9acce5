"""The problems of the coordinate descent paper: tables raw and standardised, their objective and its exact minimum.

`F(w) = (1/n) Σ φ(⟨x_i, w⟩, y_i) + λ₁‖w‖₁ + ½λ₂‖w‖²`, without an intercept. Targets of regression are centred and divided by their
standard deviation, and "standardised" tables have columns of mean 0 and mean square 1: preparation that looks at the data
and is charged to nobody, as in the paper.
"""

import numpy as np

from benchmarks.share_tables import DATA
from hullabaloo.losses import Logistic, Squared
from hullabaloo.reproduce import composite
from hullabaloo.reproduce.composite import (
    LAMBDA,
    WIDE,
    CompositeProblem,
    root_mean_square,
    sparse,
    sparse_lasso,
    standardised,
)

__all__ = ["CompositeProblem", "root_mean_square", "sparse_lasso", "standardised"]

Array = np.ndarray


def electricity() -> list[CompositeProblem]:
    """Electricity, raw and standardised."""
    return composite.electricity(DATA)


def california() -> list[CompositeProblem]:
    """California, raw and standardised."""
    return composite.california(DATA)


def sign_lasso() -> CompositeProblem:
    """The sparse lasso with entries ±1: a control in which clipping a coordinate and clipping a record are the same."""
    rng = np.random.default_rng(5)
    X = np.where(rng.random((WIDE, WIDE)) < 0.5, -1.0, 1.0)
    return sparse("Sparse lasso, ±1 entries", X, 1.0, rng)


def every_problem() -> list[CompositeProblem]:
    """The poster's five, in its order, and a control."""
    return [*electricity(), *california(), sparse_lasso(), sign_lasso()]


def small_problems() -> list[CompositeProblem]:
    """Two synthetic problems of 200 records and three columns of unequal sizes: for fingerprints."""
    rng = np.random.default_rng(6)
    bounds = np.array([1.0, 2.0, 8.0])
    X = bounds * rng.uniform(-1.0, 1.0, (200, 3))
    y = np.clip(X @ np.array([0.5, -0.25, 0.0]) + 0.2 * rng.normal(size=200), -1.0, 1.0)
    return [
        CompositeProblem("small lasso", X, y, bounds, Squared(), l1=LAMBDA),
        CompositeProblem("small logistic", X, np.sign(y), bounds, Logistic(), l2=0.005),
    ]


def optimality_gap(problem: CompositeProblem, w: Array) -> float:
    """How far 0 is from the subdifferential of F at w, by coefficients of columns of mean square 1: 0 at the minimum."""
    slope = problem.loss.derivative(problem.X @ w, problem.y)
    gradient = problem.X.T @ slope / len(problem.y) + problem.l2 * w
    free = np.abs(gradient + problem.l1 * np.sign(w))
    gap = np.where(w != 0.0, free, np.maximum(np.abs(gradient) - problem.l1, 0.0))
    return float(np.max(gap / np.sqrt(problem.second_moments())))
