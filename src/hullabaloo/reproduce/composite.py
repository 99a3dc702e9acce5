"""The problems of the coordinate descent poster, their exact minimum, and DP-SGD, the method that it compares with.

`F(w) = (1/n) Σ φ(⟨x_i, w⟩, y_i) + λ₁‖w‖₁ + ½λ₂‖w‖²`, without an intercept. Targets of regression are centred and divided by their
standard deviation, and "standardised" tables have columns of mean 0 and mean square 1: preparation that looks at the data
and is charged to nobody, as in the poster.
"""

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import Logistic, Loss, Squared
from hullabaloo.solvers.base import Array

ELECTRICITY: Mapping[str, tuple[float, float]] = {"date": (0, 1), "day": (1, 7)} | dict.fromkeys(
    ("period", "nswprice", "nswdemand", "vicprice", "vicdemand", "transfer"), (0, 1)
)
CALIFORNIA: Mapping[str, tuple[float, float]] = (
    {"longitude": (-125, -114), "latitude": (32, 42), "housingMedianAge": (0, 60), "totalRooms": (0, 40_000)}
    | {"totalBedrooms": (0, 7_000), "population": (0, 40_000), "households": (0, 7_000), "medianIncome": (0, 16)}
)  # fmt: skip
MOST_EXPENSIVE = 500_001.0
"""Where the census cut prices."""
LAMBDA = 0.01
WIDE, REACH, TARGETS = 1000, 6.0, 16.0
"""n and p of the sparse lasso, and the bounds of its columns and targets."""
ORDERS = range(2, 129)


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
        """δ = 1/n²."""
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
        return np.asarray(np.mean(self.X**2, axis=0))

    def smoothness(self) -> float:
        """β, the largest eigenvalue of the mean Hessian's bound."""
        return self.bend * float(np.linalg.eigvalsh(self.X.T @ self.X / len(self.y))[-1])

    def minimiser(self) -> Array:
        """w*, exact up to rounding: scikit-learn's Newton steps for logistic regression, the lasso's path otherwise."""
        return _lasso(self) if self.l1 > 0.0 else _logistic(self)

    def relative_error(self, w: Array, least: float) -> float:
        """(F(w) − F*)/F*."""
        return (self.value(w) - least) / least


def root_mean_square(problem: CompositeProblem) -> float:
    """sqrt(mean ‖x_i‖²): the unit of DP-SGD's clip, as sqrt(mean x_ij²) is that of coordinate descent's."""
    return math.sqrt(float(problem.second_moments().sum()))


def standardised(X: Array, ranges: Array) -> tuple[Array, Array]:
    """Columns of mean 0 and mean square 1, with their ranges."""
    mean, spread = X.mean(axis=0), X.std(axis=0)
    return (X - mean) / spread, (ranges - mean) / spread


def electricity(folder: Path) -> list[CompositeProblem]:
    """Logistic regression with λ₂ = 1/n: 45 312 half-hours, 8 columns of which one is a weekday from 1 to 7."""
    X, ranges, label = _table(folder / "electricity_elec2", ELECTRICITY, "class")
    return both("Electricity", X, ranges, 2.0 * label - 1.0, Logistic(), l2=1.0 / len(X))


def california(folder: Path) -> list[CompositeProblem]:
    """The lasso with λ₁ = 0.01: 20 640 districts, 8 columns from incomes around 4 to rooms around 2 600."""
    X, ranges, price = _table(folder / "california_housing", CALIFORNIA, "medianHouseValue")
    y = (price - price.mean()) / price.std()
    bound = max(price.mean(), MOST_EXPENSIVE - price.mean()) / price.std()
    return both("California", X, ranges, y, Squared(), l1=LAMBDA, target_bound=bound)


def synthetic(n: int = 20_000) -> list[CompositeProblem]:
    """The lasso with λ₁ = 0.01 on eight columns whose sizes span three powers of ten and whose effects are alike: a stand-in for California."""
    rng = np.random.default_rng(8)
    sizes = np.geomspace(1.0, 1000.0, 8)
    X = sizes * np.clip(rng.normal(size=(n, 8)), -6.0, 6.0)
    y = X / sizes @ np.array([0.5, -0.5, 0.4, -0.4, 0.3, -0.3, 0.2, -0.2]) + 0.5 * rng.normal(size=n)
    return both("Imbalanced", X, np.outer([-6.0, 6.0], sizes), y / y.std(), Squared(), l1=LAMBDA, target_bound=8.0)


def sparse_lasso() -> CompositeProblem:
    """n = p = 1000, standard normal columns, ten coefficients of ±1, unit noise, λ₁ = 0.3, ε = 10."""
    rng = np.random.default_rng(4)
    return sparse("Sparse lasso", np.clip(rng.standard_normal((WIDE, WIDE)), -REACH, REACH), REACH, rng)


def sparse(name: str, X: Array, bound: float, rng: np.random.Generator) -> CompositeProblem:
    """The lasso of these columns, for ten coefficients of ±1 and unit noise."""
    truth = np.zeros(WIDE)
    truth[:10] = np.where(np.arange(10) % 2, -1.0, 1.0)
    y = X @ truth + rng.standard_normal(WIDE)
    return CompositeProblem(name, X, y, np.full(WIDE, bound), Squared(), l1=0.3, epsilon=10.0, target_bound=TARGETS)


def both(name: str, X: Array, ranges: Array, y: Array, loss: Loss, **weights: float) -> list[CompositeProblem]:
    """The problem on raw and on standardised columns."""
    return [
        CompositeProblem(f"{name}, {kind}", table, y, np.abs(bounds).max(axis=0), loss, **weights)
        for kind, (table, bounds) in (("raw", (X, ranges)), ("standardised", standardised(X, ranges)))
    ]


def _table(stem: Path, columns: Mapping[str, tuple[float, float]], target: str) -> tuple[Array, Array, Array]:
    from hullabaloo.data.readers.opening import open_table

    path = next((one for end in (".parquet", ".csv") if (one := stem.with_suffix(end)).exists()), None)
    if path is None:
        raise InvalidParameter(
            f"The table {stem.name}.parquet (or .csv) was looked for in {stem.parent}, and is not there. Point --data at its folder."
        )
    table = open_table(path)
    wanted = (*columns, target)
    missing = [name for name in wanted if not table.schema.named(name)]
    if missing:
        raise InvalidParameter(
            f"{path} was to have the column {missing[0]!r}, and has none of that name. Point --data at the table as OpenML has it."
        )
    read = table.numbers([table.schema.named(name)[0] for name in wanted])
    X, y = np.ascontiguousarray(read[:, :-1]), np.ascontiguousarray(read[:, -1])
    return X, np.array(list(columns.values()), dtype=float).T, y


def _logistic(problem: CompositeProblem) -> Array:
    from sklearn.linear_model import LogisticRegression

    about: dict[str, Any] = {"solver": "newton-cholesky", "tol": 1e-13, "fit_intercept": False}
    inverse = 1.0 / (len(problem.y) * problem.l2)
    return np.asarray(LogisticRegression(C=inverse, **about).fit(problem.X, problem.y).coef_[0])


def _lasso(problem: CompositeProblem) -> Array:
    from sklearn.linear_model import lars_path

    _, _, path = lars_path(problem.X, problem.y, alpha_min=problem.l1, method="lasso")
    return np.asarray(path[:, -1])


# ---- DP-SGD -----------------------------------------------------------------------------------------------------------


def sampled_epsilon(rate: float, steps: int, multiplier: float, delta: float) -> float:
    """At least the ε of `steps` Poisson-sampled Gaussian releases under add-or-remove, by Rényi orders 2 … 128.

    `(α − 1) D_α ≤ log Σ_k C(α, k)(1 − q)^{α−k} q^k e^{k(k−1)/2s²}` of a step (Mironov, Talwar and Zhang 2019, section 3.3), converted by Canonne, Kamath
    and Steinke (2020), Proposition 12. Some per cent above the exact number, as in the poster's own accounting.
    """
    found = math.inf
    for order in ORDERS:
        k = np.arange(order + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            chance = np.where(k == order, 0.0, (order - k) * np.log1p(-rate) if rate < 1.0 else -np.inf)
        binomial = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
        logs = binomial + chance + k * math.log(rate) + k * (k - 1) / (2.0 * multiplier**2)
        curve = steps * float(logsumexp(logs)) / (order - 1)
        found = min(found, curve + math.log1p(-1.0 / order) - math.log(delta * order) / (order - 1))
    return max(found, 0.0)


@functools.cache
def noise_multiplier(rate: float, steps: int, epsilon: float, delta: float) -> float:
    """The least s, to 1e-3 of it, whose `sampled_epsilon` is at most ε."""
    low, high = 1e-1, 1e4
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if sampled_epsilon(rate, steps, middle, delta) <= epsilon else (middle, high)
    return high


def sgd(
    problem: CompositeProblem, *, parts: int, passes: int, step: float, clip: float, seed: int, noisy: bool = True
) -> Array:
    """The mean of the second half of DP-SGD's iterates. A comparison on public tables with NumPy's noise: it protects nobody.

    Each of `passes · parts` steps takes every record with probability 1/parts, shortens its gradient to `clip · sqrt(mean ‖x_i‖²)`, adds
    noise, divides by n/parts and takes a proximal step of `step`/β.
    """
    n, rate, steps = len(problem.y), 1.0 / parts, passes * parts
    rng, w, total = np.random.default_rng(seed), np.zeros(problem.X.shape[1]), np.zeros(problem.X.shape[1])
    length, size = clip * root_mean_square(problem), step / problem.smoothness()
    sigma = length * noise_multiplier(rate, steps, problem.epsilon, problem.delta) if noisy else 0.0
    norms = np.linalg.norm(problem.X, axis=1)
    for t in range(steps):
        rows = rng.random(n) < rate if parts > 1 else slice(None)
        X = problem.X[rows]
        slopes = problem.loss.derivative(X @ w, problem.y[rows])
        slopes *= np.minimum(1.0, length / np.maximum(np.abs(slopes) * norms[rows], 1e-300))
        v = w - size * (X.T @ slopes + sigma * rng.normal(size=w.size)) / (n * rate)
        w = np.sign(v) * np.maximum(np.abs(v) - size * problem.l1, 0.0) / (1.0 + size * problem.l2)
        total += w * (t >= steps // 2)
    return np.asarray(total / (steps - steps // 2))
