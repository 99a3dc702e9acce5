"""How far each solver's estimate is from the non-private one, on designs that are skewed, rare, heavy-tailed and mixed, as the budget grows.

The distance is that of the coefficient farthest off, in its robust (sandwich) standard errors: the optimum of the same loss on the same
encoded rows is that of a fit without noise. It has to shrink as ε grows, and at ε = 50, whose μ is
the largest that any ε buys at δ = 1/n², to be below a half. `mean` is
the mean prediction over that of the optimum, on the scale of the target.
"""

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import hullabaloo as hb
from hullabaloo.errors import HullabalooError
from hullabaloo.losses import KernelCode, Loss
from hullabaloo.noise import TestKey

RECORDS, DRAWS = 60_000, {1.0: 12, 10.0: 4, 50.0: 4}  # draws of each ε
SOLVERS = ("adaptive_gradient", "preconditioned_gradient", "gradient", "objective_perturbation", "moments", "auto")
Array = np.ndarray


@dataclass(frozen=True)
class Design:
    """A table, what is declared of it, and the estimator that is asked."""

    X: Array
    y: Array
    about: dict[str, Any]
    estimator: Callable[..., Any]

    def fit(self, solver: Any, epsilon: float, key: int) -> Any:
        budget = hb.Budget(epsilon, 1.0 / len(self.y) ** 2)
        domain = hb.Domain(records=len(self.y), indicators=False, **self.about)
        model = self.estimator(budget=budget, domain=domain, solver=solver, test_key=TestKey(bytes(32)).derive(key))
        return model.fit(self.X, self.y)


_NARROW = {"x0": (18, 100), "x1": [0, 1], "x2": (0, 30)}


def _narrow(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """An age, a yes or no, and a skewed number; and the standardised signal of all three."""
    X = np.column_stack(
        [
            np.clip(rng.normal(45.0, 14.0, n), 18.0, 100.0),
            (rng.random(n) < 0.3).astype(float),
            np.clip(rng.gamma(2.0, 3.0, n), 0.0, 30.0),
        ]
    )
    return X, 0.4 * (X[:, 0] - 45.0) / 14.0 + 0.5 * (X[:, 1] - 0.3) + 0.3 * (X[:, 2] - 6.0) / 4.2


def _mixed(rng: np.random.Generator, n: int) -> tuple[Array, Array, dict[str, Any]]:
    """Skewed, heavy-tailed and rare columns."""
    X = np.column_stack(
        [np.minimum(rng.lognormal(1.0, 1.0, n), 200.0), np.minimum(rng.lognormal(0.0, 0.7, n), 50.0)]
        + [(rng.random(n) < share).astype(float) for share in (0.5, 0.1, 0.02)]
        + [rng.uniform(0.0, 1.0, n)]
    )
    signal = 0.03 * (X[:, 0] - 4.5) + 0.2 * (X[:, 1] - 1.3) + 0.5 * X[:, 2] - 0.6 * X[:, 3] + X[:, 4] + 0.5 * X[:, 5]
    bounds = {"x0": (0, 200), "x1": (0, 50), "x2": [0, 1], "x3": [0, 1], "x4": [0, 1], "x5": (0, 1)}
    return X, signal - 0.4, {"features": bounds}


def _classes(X: Array, odds: Array, about: dict[str, Any], rng: np.random.Generator) -> Design:
    y = (rng.random(len(X)) < 1.0 / (1.0 + np.exp(-odds))).astype(int)
    return Design(X, y, {**about, "classes": [0, 1]}, hb.LogisticRegression)


@cache
def design(name: str, n: int = RECORDS) -> Design:
    """One of `NAMES`, of n records."""
    rng = np.random.default_rng(17)
    if name in ("rare class, mixed columns", "quantile, mixed columns", "hinge, mixed columns"):
        X, signal, about = _mixed(rng, n)
        if name.startswith("rare"):
            return _classes(X, signal - 3.6, about, rng)
        if name.startswith("hinge"):
            one = _classes(X, 2.0 * signal - 0.5, about, rng)
            return Design(one.X, one.y, one.about, hb.LinearSVC)
        y = np.clip(np.exp(0.5 * signal + 0.7 * rng.normal(size=n)), 0.0, 50.0)
        return Design(X, y, {**about, "target": (0, 50)}, lambda **about: hb.QuantileRegressor(quantile=0.9, **about))
    X, signal = _narrow(rng, n)
    about = {"features": _NARROW}
    if name == "rare class":
        return _classes(X, signal - 2.5, about, rng)
    if name == "counts":
        return Design(
            X, np.minimum(rng.poisson(0.3 * np.exp(signal)), 10), {**about, "target": (0, 10)}, hb.PoissonRegressor
        )
    y = np.clip(1000.0 * np.exp(signal) * rng.gamma(0.7, 1.4, n) * rng.lognormal(0.0, 0.8, n), 0.0, 20_000.0)
    estimator = hb.LinearRegression if name == "costs" else hb.HuberRegressor
    return Design(X, y, {**about, "target": (0, 20_000)}, estimator)


NAMES = ("costs", "rare class", "counts", "rare class, mixed columns", "robust costs")
LATER = ("quantile, mixed columns", "hinge, mixed columns")


def robust_errors(loss: Loss, X: Array, y: Array, theta: Array) -> Array:
    """Sandwich standard errors at an optimum; of a quantile with the density of residuals within a bandwidth of n^(−1/3) deviations."""
    n, z = len(y), X @ theta
    bend = loss.second_derivative(z, y)
    if loss.kernel_code == KernelCode.PINBALL:
        width = float(np.std(y - z)) * n ** (-1.0 / 3.0)
        bend = (np.abs(y - z) < width) / (2.0 * width)
    scores = X * loss.derivative(z, y)[:, None]
    inverse = np.linalg.inv((X.T * bend) @ X / n)
    return np.sqrt(np.diag(inverse @ (scores.T @ scores / n) @ inverse) / n)


@cache
def _known(name: str, n: int) -> tuple[Loss, Array, Array, Array]:
    """The loss, the encoded rows, the optimum and its errors."""
    one = design(name, n)
    model = one.fit("auto", float("inf"), 0)
    rows, loss = model.encoding_.encode(one.X, one.y), model._loss(model.encoding_)
    theta = model.release_.theta[:, 0]
    return loss, rows.X, theta, robust_errors(loss, rows.X, rows.Y[:, 0], theta)


def distance(name: str, solver: Any, epsilon: float, key: int, n: int = RECORDS) -> tuple[float, float, str]:
    """The worst coefficient's distance in standard errors, the mean prediction over the optimum's, and the solver that ran."""
    loss, X, best, errors = _known(name, n)
    release = design(name, n).fit(solver, epsilon, key).release_
    theta = release.theta[:, 0]
    off = float(np.max(np.abs(theta - best) / errors))
    return off, _mean(loss, X @ theta) / _mean(loss, X @ best), str(release.plan["solver"])


def _mean(loss: Loss, z: Array) -> float:
    """The mean prediction on a scale that begins at 0."""
    with np.errstate(over="ignore"):
        if loss.kernel_code == KernelCode.POISSON:
            return float(np.exp(z).mean())
        return float((0.5 * (1.0 + np.tanh(0.5 * z) if loss.kernel_code == KernelCode.LOGISTIC else 1.0 + z)).mean())


def fingerprint() -> dict[str, Any]:
    """Distances of two solvers on small tables under a fixed key."""
    return {
        f"{name}, {solver}": distance(name, solver, 50.0, 1, 2_000)[:2]
        for name in ("costs", "rare class", "counts")
        for solver in ("adaptive_gradient", "preconditioned_gradient")
    }


def run(
    names: tuple[str, ...] = NAMES + LATER,
    solvers: tuple[str, ...] = SOLVERS,
    draws: dict[float, int] = DRAWS,
    n: int = RECORDS,
) -> dict[str, Any]:
    """Median distances and means for every design, solver and ε."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(lines, name, solver, draws, n) for name in names for solver in solvers]
        about = {"records": n, "draws": list(draws.values())}
        return {**about, "lines": [line for job in jobs for line in job.result()]}


def lines(name: str, solver: str, draws: dict[float, int], n: int) -> list[dict[str, Any]]:
    """One design and solver; nothing where the solver refuses."""
    found = []
    for epsilon, count in draws.items():
        try:
            off, mean, ran = zip(*(distance(name, solver, epsilon, key, n) for key in range(count)), strict=True)
        except HullabalooError:
            continue
        about = {"design": name, "asked": solver, "solver": ran[0], "epsilon": epsilon}
        found.append({**about, "distance": float(np.median(off)), "mean": float(np.median(mean))})
    return found
