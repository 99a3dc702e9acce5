"""The problems of the coordinate descent paper: tables raw and standardised, their objective and its exact minimum.

`F(w) = (1/n) Σ φ(⟨x_i, w⟩, y_i) + λ₁‖w‖₁ + ½λ₂‖w‖²`, without an intercept. Targets of regression are centred and divided by their
standard deviation, and "standardised" tables have columns of mean 0 and mean square 1: preparation that looks at the data
and is charged to nobody, as in the paper.
"""

import math
from dataclasses import dataclass

import numpy as np

from benchmarks.share_tables import DATA
from hullabaloo.losses import Logistic, Loss, Squared

Array = np.ndarray
ELECTRICITY = {"date": (0, 1), "day": (1, 7)} | dict.fromkeys(
    ("period", "nswprice", "nswdemand", "vicprice", "vicdemand", "transfer"), (0, 1)
)
CALIFORNIA = (
    {"longitude": (-125, -114), "latitude": (32, 42), "housingMedianAge": (0, 60), "totalRooms": (0, 40_000)}
    | {"totalBedrooms": (0, 7_000), "population": (0, 40_000), "households": (0, 7_000), "medianIncome": (0, 16)}
)  # fmt: skip
NEWTON_STEPS = 100
REACH = 6.0  # of the synthetic columns
TARGETS = 16.0  # bound of the synthetic targets
MOST_EXPENSIVE = 500_001.0  # where the census cut prices
WIDE = 1000  # n and p of the synthetic tables
LAMBDA = 0.01


@dataclass(frozen=True, eq=False)
class CompositeProblem:
    """One table, public bounds of |x_ij| for each column and of |y|, its objective, and the ε at which it is learned; δ = 1/n²."""

    name: str
    X: Array
    y: Array
    bounds: Array
    loss: Loss
    l1: float = 0.0
    l2: float = 0.0
    epsilon: float = 1.0
    target_bound: float = 1.0

    @property
    def delta(self) -> float:
        return 1.0 / len(self.y) ** 2

    @property
    def bend(self) -> float:
        """sup φ'': a quarter for the logistic loss, 1 for the squared loss."""
        return 0.25 if isinstance(self.loss, Logistic) else 1.0

    def value(self, w: Array) -> float:
        """F(w)."""
        fit = float(np.mean(self.loss.value(self.X @ w, self.y)))
        return fit + self.l1 * float(np.abs(w).sum()) + 0.5 * self.l2 * float(w @ w)

    def second_moments(self) -> Array:
        """The mean square of every column: M_j without the factor sup φ''. A function of the data, released to nobody."""
        return np.mean(self.X**2, axis=0)

    def smoothness(self) -> float:
        """β, the largest eigenvalue of the mean Hessian's bound."""
        return self.bend * float(np.linalg.eigvalsh(self.X.T @ self.X / len(self.y))[-1])

    def minimiser(self) -> Array:
        """w*, exact up to rounding: Newton's method for the smooth objective, the lasso's path otherwise."""
        return _lasso(self) if self.l1 > 0.0 else _newton(self)

    def relative_error(self, w: Array, least: float) -> float:
        """(F(w) − F*)/F*."""
        return (self.value(w) - least) / least


def standardised(X: Array, ranges: Array) -> tuple[Array, Array]:
    """Columns of mean 0 and mean square 1, with their ranges."""
    mean, spread = X.mean(axis=0), X.std(axis=0)
    return (X - mean) / spread, (ranges - mean) / spread


def electricity() -> list[CompositeProblem]:
    """Logistic regression with λ₂ = 1/n: 45 312 half-hours, 8 columns of which one is a weekday from 1 to 7."""
    X, ranges, label = _table("electricity_elec2.parquet", ELECTRICITY, "class")
    return _raw_and_standardised("Electricity", X, ranges, 2.0 * label - 1.0, Logistic(), l2=1.0 / len(X))


def california() -> list[CompositeProblem]:
    """The lasso with λ₁ = 0.01: 20 640 districts, 8 columns from incomes around 4 to rooms around 2 600."""
    X, ranges, price = _table("california_housing.parquet", CALIFORNIA, "medianHouseValue")
    y = (price - price.mean()) / price.std()
    bound = max(price.mean(), MOST_EXPENSIVE - price.mean()) / price.std()
    return _raw_and_standardised("California", X, ranges, y, Squared(), l1=LAMBDA, target_bound=bound)


def _raw_and_standardised(
    name: str, X: Array, ranges: Array, y: Array, loss: Loss, **weights: float
) -> list[CompositeProblem]:
    return [
        CompositeProblem(f"{name}, {kind}", table, y, np.abs(bounds).max(axis=0), loss, **weights)
        for kind, (table, bounds) in (("raw", (X, ranges)), ("standardised", standardised(X, ranges)))
    ]


def sparse_lasso() -> CompositeProblem:
    """n = p = 1000, standard normal columns, ten coefficients of ±1, unit noise, λ₁ = 0.3, ε = 10."""
    rng = np.random.default_rng(4)
    X = np.clip(rng.standard_normal((WIDE, WIDE)), -REACH, REACH)
    return _sparse("Sparse lasso", X, REACH, rng)


def sign_lasso() -> CompositeProblem:
    """The sparse lasso with entries ±1: a control in which clipping a coordinate and clipping a record are the same."""
    rng = np.random.default_rng(5)
    X = np.where(rng.random((WIDE, WIDE)) < 0.5, -1.0, 1.0)
    return _sparse("Sparse lasso, ±1 entries", X, 1.0, rng)


def _sparse(name: str, X: Array, bound: float, rng: np.random.Generator) -> CompositeProblem:
    truth = np.zeros(WIDE)
    truth[:10] = np.where(np.arange(10) % 2, -1.0, 1.0)
    y = X @ truth + rng.standard_normal(WIDE)
    return CompositeProblem(name, X, y, np.full(WIDE, bound), Squared(), l1=0.3, epsilon=10.0, target_bound=TARGETS)


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


def _table(file: str, columns: dict[str, tuple[float, float]], target: str) -> tuple[Array, Array, Array]:
    import pyarrow.parquet as pq

    table = pq.read_table(DATA / file)
    X = np.column_stack([np.asarray(table[name], dtype=float) for name in columns])
    return X, np.array(list(columns.values()), dtype=float).T, np.asarray(table[target], dtype=float)


def _newton(problem: CompositeProblem) -> Array:
    """Newton's method on columns of mean square 1, where it is well conditioned; halved while it would not descend."""
    scale = np.sqrt(problem.second_moments())
    X, ridge = problem.X / scale, problem.l2 / scale**2
    w = np.zeros(X.shape[1])
    n = len(problem.y)
    for _ in range(NEWTON_STEPS):
        z = X @ w
        gradient = X.T @ problem.loss.derivative(z, problem.y) / n + ridge * w
        bend = problem.loss.second_derivative(z, problem.y)
        direction = np.linalg.solve((X.T * bend) @ X / n + np.diag(ridge), gradient)
        if float(gradient @ direction) < 1e-20:
            break
        step, now = 1.0, problem.value(w / scale)
        while problem.value((w - step * direction) / scale) > now and step > 1e-6:
            step *= 0.5
        w = w - step * direction
    return w / scale


def _lasso(problem: CompositeProblem) -> Array:
    from sklearn.linear_model import lars_path

    _, _, path = lars_path(problem.X, problem.y, alpha_min=problem.l1, method="lasso")
    return np.asarray(path[:, -1])


def optimality_gap(problem: CompositeProblem, w: Array) -> float:
    """How far 0 is from the subdifferential of F at w, by coefficients of columns of mean square 1: 0 at the minimum."""
    slope = problem.loss.derivative(problem.X @ w, problem.y)
    gradient = problem.X.T @ slope / len(problem.y) + problem.l2 * w
    free = np.abs(gradient + problem.l1 * np.sign(w))
    gap = np.where(w != 0.0, free, np.maximum(np.abs(gradient) - problem.l1, 0.0))
    return float(np.max(gap / np.sqrt(problem.second_moments())))


def root_mean_square(problem: CompositeProblem) -> float:
    """sqrt(mean ‖x_i‖²): the unit of DP-SGD's clip, as sqrt(mean x_ij²) is that of coordinate descent's."""
    return math.sqrt(float(problem.second_moments().sum()))
