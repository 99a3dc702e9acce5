"""Coverage of intervals: how often they hold what they are about, on fresh tables of known populations, at every ε.

Each repetition draws a table, fits, and asks whether each coefficient's 95 % interval holds the population's coefficient (of a ridge the
population's ridge coefficients): pooled over coefficients, with the binomial standard error as if they were independent. Where noise leaves an
interval without an end none is told; it counts as holding (it is the whole line), and the share of those that are told stands beside. Width is
the median over those told, relative to the classical interval of a fit without privacy on the same table. The naive interval, which is what
classical formulas around private coefficients give (peers print no other, or none), ignores the noise. Predictions: of the mean response at
eight rows, and of as many new records' targets.
"""

import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

import hullabaloo as hb
from benchmarks import small
from hullabaloo.inference.intervals import inference
from hullabaloo.inference.summary import rows_of
from hullabaloo.noise import TestKey

EPSILONS = (0.5, 1.0, 3.0)
REPETITIONS, BOOTSTRAPS = 300, 100
DELTA = 1e-6
Array = np.ndarray


@dataclass(frozen=True)
class Setting:
    """A population, a fit of tables of it, and what its intervals are about."""

    name: str
    about: str
    records: int
    truth: Array
    rows: Callable[[np.random.Generator, int], Array]
    targets: Callable[[np.random.Generator, Array, Array], Array]
    model: Callable[[hb.Budget, TestKey], Any]
    method: str = "auto"
    observed: bool = True


def uniform(p: int) -> Callable[[np.random.Generator, int], Array]:
    """Independent columns on [−1, 1]."""
    return lambda rng, n: rng.uniform(-1.0, 1.0, (n, p))


def alike(p: int, share: float) -> Callable[[np.random.Generator, int], Array]:
    """Columns that have a common part."""

    def rows(rng: np.random.Generator, n: int) -> Array:
        return share * rng.uniform(-1.0, 1.0, (n, 1)) + (1.0 - share) * rng.uniform(-1.0, 1.0, (n, p))

    return rows


def mixed(p: int) -> Callable[[np.random.Generator, int], Array]:
    """Half of the columns 0 or 1, the others on [−1, 1], one skewed: nothing is normal."""

    def rows(rng: np.random.Generator, n: int) -> Array:
        X = rng.uniform(-1.0, 1.0, (n, p))
        X[:, : p // 2] = rng.uniform(size=(n, p // 2)) < 0.3
        X[:, -1] = 2.0 * rng.beta(1.0, 3.0, n) - 1.0
        return X

    return rows


def normal(deviation: float) -> Callable[[np.random.Generator, Array, Array], Array]:
    """Means plus normal residuals."""
    return lambda rng, X, mean: mean + deviation * rng.normal(size=len(mean))


def spreading(deviation: float) -> Callable[[np.random.Generator, Array, Array], Array]:
    """Residuals whose deviation goes from nearly 0 to twice the mean along the first column."""
    return lambda rng, X, mean: mean + deviation * (1.0 + X[:, 0]) * rng.normal(size=len(mean))


def tails(deviation: float) -> Callable[[np.random.Generator, Array, Array], Array]:
    """Student residuals of five degrees of freedom."""
    return lambda rng, X, mean: mean + deviation * rng.standard_t(5, size=len(mean))


def classes(rng: np.random.Generator, X: Array, mean: Array) -> Array:
    """0 or 1 at log-odds `mean`."""
    return (rng.uniform(size=len(mean)) < 1.0 / (1.0 + np.exp(-mean))).astype(int)


def counts(rng: np.random.Generator, X: Array, mean: Array) -> Array:
    """Poisson counts of logarithm `mean`."""
    return rng.poisson(np.exp(mean)).astype(float)


def domain(p: int, records: int, **target: Any) -> hb.Domain:
    """Features on [−1, 1]."""
    return hb.Domain(features={f"x{j}": (-1, 1) for j in range(p)}, indicators=False, records=records, **target)


def settings() -> list[Setting]:
    """The table's lines."""
    slopes = np.array([0.6, -0.4, 0.2, 0.0, -0.8, 0.5, 0.1, -0.3])

    def linear(
        name: str, p: int, n: int, rows: Any, targets: Any, kind: Any = hb.LinearRegression, **more: Any
    ) -> Setting:
        about = more.pop("about", "population")
        truth = more.pop("truth", np.append(slopes[:p], 0.3))
        declared = domain(p, n, target=(-4, 4))
        more = {"solver": "moments", **more}

        def model(budget: hb.Budget, key: TestKey) -> Any:
            return kind(budget=budget, domain=declared, test_key=key, **more)

        return Setting(name, about, n, truth, rows, targets, model)

    def smooth(
        name: str,
        kind: Any,
        solver: Any,
        n: int,
        rows: Any,
        targets: Any,
        truth: Array,
        method: str = "auto",
        **more: Any,
    ) -> Setting:
        target = more.pop("target", {"classes": [0, 1]})
        declared = domain(len(truth) - 1, n, **target)

        def model(budget: hb.Budget, key: TestKey) -> Any:
            return kind(budget=budget, domain=declared, test_key=key, solver=solver, **more)

        return Setting(name, "population", n, truth, rows, targets, model, method, observed=False)

    pulled = _ridged(np.append(slopes[:5], 0.3), 0.05)
    odds = np.array([1.0, -0.5, 0.3, -1.2, 0.8, -0.4])
    return [
        linear("moments, columns apart", 5, 10_000, uniform(5), normal(0.5)),
        linear("moments, columns alike, add-or-remove", 6, 60_000, alike(6, 0.4), normal(0.5), neighbours="add-or-remove"),
        linear(
            "moments, a ridge's optimum", 5, 10_000, uniform(5), normal(0.5), about="regularised", truth=pulled,
            penalty=hb.SquaredL2Penalty(0.05),
        ),
        linear("moments, Lasso's release", 5, 10_000, uniform(5), normal(0.5), penalty=hb.L1Penalty(0.02)),
        linear("moments, few records", 5, 1_500, uniform(5), normal(0.5)),
        linear("moments, residuals that spread", 4, 10_000, uniform(4), spreading(0.5)),
        linear("moments, stream at its horizon", 4, 20_000, uniform(4), normal(0.5), kind=_stream),
        smooth(
            "logistic, objective perturbation with moments", hb.LogisticRegression, hb.WithMoments("objective_perturbation"), 20_000,
            mixed(5), classes, odds,
        ),
        smooth(
            "logistic, preconditioned gradient with moments", hb.LogisticRegression, hb.WithMoments("preconditioned_gradient"), 20_000,
            mixed(5), classes, odds,
        ),
        smooth(
            "Huber, objective perturbation with moments", hb.HuberRegressor, hb.WithMoments("objective_perturbation"), 20_000, uniform(4),
            tails(0.5), np.append(slopes[:4], 0.3), target={"target": (-4, 4)},
        ),
        smooth(
            "Poisson, objective perturbation with moments", hb.PoissonRegressor, hb.WithMoments("objective_perturbation"), 20_000, uniform(3),
            counts, np.array([0.5, -0.4, 0.2, 0.7]), target={"target": (0, 15)},
        ),
        smooth(
            "logistic, preconditioned gradient, bootstrap", hb.LogisticRegression, "preconditioned_gradient", 20_000, mixed(3), classes,
            odds[[0, 1, 2, 3]], method="bootstrap",
        ),
    ]  # fmt: skip


def _stream(*, budget: hb.Budget, domain: hb.Domain, test_key: TestKey, solver: str) -> Any:
    return hb.streaming.IncrementalRegression(
        budget=budget, domain=domain, test_key=test_key, horizon=20_000, every=5_000
    )


def _ridged(truth: Array, strength: float) -> Array:
    """The ridge's coefficients in the user's units: columns are independent, of variance 1/3, and in [−1, 1] as encoded."""
    return np.append(truth[:-1] * (1.0 / 3.0) / (1.0 / 3.0 + strength), truth[-1])


def classical(model: Any, X: Array, y: Array) -> tuple[Array, Array]:
    """Standard errors of a fit without privacy in the user's units, (p + 1,), by the sandwich."""
    encoding = model.encoding_
    loss, rows = model._loss(encoding), encoding.encode(X, y)
    A, target = rows.X, rows.Y[:, 0]
    theta, n = np.zeros(A.shape[1]), len(target)
    for _ in range(15):
        z = A @ theta
        bend = A.T @ (loss.second_derivative(z, target)[:, None] * A) / n
        theta = theta - np.linalg.solve(bend, A.T @ loss.derivative(z, target) / n)
    slopes = loss.derivative(A @ theta, target)[:, None] * A
    inverse = np.linalg.inv(bend)
    matrix = encoding.user_matrix(0)
    covariance = matrix @ inverse @ (slopes.T @ slopes / n) @ inverse @ matrix.T / n
    user = encoding.coefficients_to_user(theta)
    return np.append(*user), np.sqrt(np.diagonal(covariance))


def measure(setting: Setting, epsilon: float, repetitions: int, seed: int) -> dict[str, Any]:
    """One line."""
    rng, key = np.random.default_rng(seed), TestKey(bytes(32))
    budget, truth = hb.Budget(epsilon, DELTA), setting.truth
    held, told, naive, widths = [], [], [], []
    means, observed, seconds = [], [], 0.0
    spots = setting.rows(np.random.default_rng(99), 8)
    expected = spots @ truth[:-1] + truth[-1]
    for draw in range(repetitions):
        X = setting.rows(rng, setting.records)
        start = setting.truth if setting.about == "population" else _unridged(setting)
        y = setting.targets(rng, X, X @ start[:-1] + start[-1])
        fitted = setting.model(budget, key.derive(1_000 * seed + draw)).fit(X, y)
        model = fitted.model_at() if hasattr(fitted, "model_at") else fitted
        begun = time.perf_counter()
        rows = rows_of(model._fitted(), inference(model._fitted(), setting.method), 0.95)
        seconds += time.perf_counter() - begun
        low, high = np.array([(row.low, row.high) for row in rows]).T
        ended = ~np.isnan(low)
        _, errors = classical(model, X, y)
        held.append(~ended | ((low <= truth) & (truth <= high)))
        told.append(ended)
        coefficients = np.array([row.coefficient for row in rows])
        naive.append(np.abs(coefficients - truth) <= 1.96 * errors)
        widths += list(((high - low) / (3.92 * errors))[ended])
        if setting.method == "auto":
            ends = model.predict_interval(spots)
            means.append(
                np.isnan(ends[:, 0])
                | (ends[:, 0] <= _linked(setting, expected)) & (_linked(setting, expected) <= ends[:, 1])
            )
        if setting.observed:
            fresh = setting.targets(rng, spots, spots @ start[:-1] + start[-1])
            ends = model.predict_interval(spots, kind="observation")
            observed.append(np.isnan(ends[:, 0]) | (ends[:, 0] <= fresh) & (fresh <= ends[:, 1]))
    coverage = float(np.mean(held))
    return {
        "setting": setting.name,
        "epsilon": epsilon,
        "about": setting.about,
        "coverage": round(coverage, 4),
        "binomial error": round(float(np.sqrt(coverage * (1.0 - coverage) / np.size(held))), 4),
        "told": round(float(np.mean(told)), 3),
        "width / non-private": round(float(np.median(widths)), 2) if widths else None,
        "naive coverage": round(float(np.mean(naive)), 3),
        "coverage of means": round(float(np.mean(means)), 3) if means else None,
        "coverage of observations": round(float(np.mean(observed)), 3) if observed else None,
        "repetitions": repetitions,
        "milliseconds": round(1e3 * seconds / repetitions, 1),
        "within 93–97 %": bool(0.93 <= coverage <= 0.97),
    }


def _unridged(setting: Setting) -> Array:
    return np.append(setting.truth[:-1] * (1.0 / 3.0 + 0.05) * 3.0, setting.truth[-1])


def _linked(setting: Setting, value: Array) -> Array:
    if setting.targets is classes:
        return 1.0 / (1.0 + np.exp(-value))
    return np.exp(value) if setting.targets is counts else value


def _line(asked: tuple[int, float, int, int]) -> dict[str, Any]:
    place, *rest = asked
    return measure(settings()[place], *rest)


def fingerprint() -> dict[str, Any]:
    """Ends of 95 % intervals of small fits by each method."""
    X, y, _ = small.table()
    models = {
        "moments": (small.fitted("moments"), "auto"),
        "bootstrap": (small.fitted("moments"), "bootstrap"),
        "score": (small.fitted(hb.WithMoments("objective_perturbation"), classes=True), "auto"),
    }
    found: dict[str, Any] = {
        name: [
            (row.coefficient, row.low, row.high)
            for row in rows_of(model._fitted(), inference(model._fitted(), method), 0.95)
        ]
        for name, (model, method) in models.items()
    }
    return {
        **found,
        "means": models["moments"][0].predict_interval(X[:2]),
        "classical": classical(models["moments"][0], X, y),
    }


def run(repetitions: int = REPETITIONS, bootstraps: int = BOOTSTRAPS, only: str = "") -> dict[str, Any]:
    """All settings at all ε."""
    asked = [
        (place, epsilon, bootstraps if setting.method == "bootstrap" else repetitions, 100 * place + turn)
        for place, setting in enumerate(settings())
        for turn, epsilon in enumerate(EPSILONS)
        if only in setting.name
    ]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        lines = list(pool.map(_line, asked))
    inside = sum(line["within 93–97 %"] for line in lines)
    return {"delta": DELTA, "confidence": 0.95, "lines within 93–97 %": f"{inside} of {len(lines)}", "intervals": lines}


if __name__ == "__main__":
    import sys

    start = time.perf_counter()
    found = run(
        int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS,
        int(sys.argv[2]) if len(sys.argv) > 2 else BOOTSTRAPS,
        *sys.argv[3:4],
    )
    for line in found["intervals"]:
        print(*line.values(), sep=" | ")
    print(found["lines within 93–97 %"], round(time.perf_counter() - start), "s")
