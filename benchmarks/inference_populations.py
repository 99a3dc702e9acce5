"""A population of records for the benchmark of inference: its declarations, samples of it, and its truth without privacy."""

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
import pandas as pd

import hullabaloo as hb

BOUNDS = ("fit", "expert")
ESTIMATORS: dict[str, Any] = {
    "squared": hb.LinearRegression,
    "huber": hb.HuberRegressor,
    "logistic": hb.LogisticRegression,
    "poisson": hb.PoissonRegressor,
}
Array = np.ndarray
Half = Literal["development", "report"]


@dataclass(frozen=True, eq=False)
class Population:
    """Records with what an expert declares of them.

    Attributes:
        name, half: as asked for on the command line, and whether defaults may be chosen on it.
        losses: by name in `ESTIMATORS`, the first is the default.
        frame: features, target and unit; (N, ·).
        features: the expert's declaration, bounds or levels.
        target: its column; `limits` are its bounds, or its two classes.
        exposure, unit: their columns, or None.
        nulls: columns that have no effect: copies of others, drawn apart from the rest of the record in every sample.
    """

    name: str
    half: Half
    losses: tuple[str, ...]
    frame: pd.DataFrame
    features: dict[str, Any]
    target: str
    limits: Any
    exposure: str | None = None
    unit: str | None = None
    nulls: tuple[str, ...] = ()

    def domain(self, bounds: str, records: int) -> hb.Domain:
        """The declaration: "fit", "expert" or "bare"."""
        features = {name: self._declared(name, bounds) for name in self.features}
        limits = self.limits
        if bounds == "fit" and isinstance(limits, tuple):
            limits = _ends(self.frame[self.target])
        target: dict[str, Any] = {"target" if isinstance(limits, tuple) else "classes": {self.target: limits}}
        if self.unit is not None:
            most = int(self.frame[self.unit].value_counts().iloc[0])
            target |= {"unit": self.unit, "records_per_unit": most}
        return hb.Domain(features=features, indicators=bounds == "bare", records=records, **target)

    def _declared(self, name: str, bounds: str) -> Any:
        declared = self.features[name]
        if isinstance(declared, tuple):
            return _ends(self.frame[name]) if bounds == "fit" else declared
        counts = self.frame[name].value_counts()
        if bounds == "bare":
            return declared
        levels = [level for level in declared if bounds == "expert" or counts.get(level, 0) > 0]
        return hb.Categorical(levels, baseline=counts.index[0])

    def estimator(self, loss: str) -> Any:
        """The library's estimator of a loss, to be given budget, domain and solver."""
        exposed = {"exposure": self.exposure} if loss == "poisson" else {}
        return lambda **given: ESTIMATORS[loss](**exposed, **given)

    def sample(self, rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        """(n,) rows drawn with replacement, and where the null columns of each are taken from; whole units where there are units."""
        if self.unit is None:
            return rng.integers(0, len(self.frame), n), rng.integers(0, len(self.frame), n)
        starts, lengths = self.units()
        drawn = rng.integers(0, len(starts), round(n / lengths.mean()))
        reach = lengths[drawn]
        within = np.arange(reach.sum()) - np.repeat(np.cumsum(reach) - reach, reach)
        others = starts[rng.integers(0, len(starts), len(drawn))]
        return np.repeat(starts[drawn], reach) + within, np.repeat(others, reach)

    def table(self, rows: Array, others: Array) -> pd.DataFrame:
        """The records of a sample; every drawn unit is a unit of its own."""
        drawn = self.frame.take(rows).reset_index(drop=True)
        for name in self.nulls:
            drawn[name] = self.frame[name].take(others).array
        firsts = self.firsts(rows)
        if firsts is not None:
            drawn[self.unit] = np.repeat(np.arange(len(firsts)), np.diff(np.append(firsts, len(rows))))
        return drawn

    def firsts(self, rows: Array) -> Array | None:
        """Where the units of a sample begin; None where there are no units."""
        return None if self.unit is None else np.flatnonzero(np.isin(rows, self.units()[0]))

    def units(self) -> tuple[Array, Array]:
        """First records and numbers of records of the units, whose records are neighbours in the frame."""
        units = self.frame[self.unit].to_numpy()
        starts = np.flatnonzero(np.append(True, units[1:] != units[:-1]))
        return starts, np.diff(np.append(starts, len(units)))

    @cache  # noqa: B019 (populations live as long as the process)
    def encoded(self, bounds: str, loss: str) -> "Encoded":
        """The whole population on the unit domain."""
        domain = self.domain(bounds, len(self.frame))
        model = self.estimator(loss)(budget=hb.Budget(1.0, 1e-9), domain=domain)
        encoding = model._encoding_for(domain.open(self.frame), None, None)
        rows = encoding.encode(self.frame)
        X = rows.X if isinstance(rows.X, np.ndarray) else rows.X.toarray()
        offset = np.zeros(len(X)) if rows.offset is None else rows.offset
        return Encoded(self, encoding, model._loss(encoding), X, rows.Y[:, 0], offset)

    @cache  # noqa: B019
    def truth(self, bounds: str, loss: str) -> "Truth":
        """The population's unpenalised estimate, which does not depend on the bounds but for Huber's threshold."""
        return truth(self.encoded(bounds, loss))


@dataclass(frozen=True, eq=False)
class Encoded:
    """A population as solvers see it: rows (N, p), unit targets (N,), known offsets (N,)."""

    population: Population
    encoding: Any
    loss: Any
    X: Array
    y: Array
    offset: Array

    def risk(self, theta: Array) -> float:
        """The mean loss of unit coefficients."""
        return float(np.mean(self.loss.value(self.X @ theta + self.offset, self.y)))

    def means(self, z: Array) -> Array:
        """Expected targets of predictions z (the offset included), in the user's units up to a factor."""
        if self.loss.name == "logistic":
            return np.asarray(1.0 / (1.0 + np.exp(-z)))
        if self.loss.name == "poisson":
            return np.asarray(np.exp(np.minimum(z, 700.0)))
        return np.asarray(self.encoding.target_offset[0] + self.encoding.target_scale[0] * z)

    def observed(self) -> Array:
        """(N,) targets in the units of `means`."""
        if self.loss.name == "logistic":
            return 0.5 * (1.0 + self.y)
        return self.y if self.loss.name == "poisson" else self.means(self.y)


@dataclass(frozen=True, eq=False)
class Truth:
    """Of the slopes in the user's units, by name: value, and robust standard error times √n (by units where there are units).

    A coefficient that the population does not identify is NaN. `theta` is the optimum on the unit domain, `risk` its mean loss, `constant`
    that of the best constant.
    """

    names: tuple[str, ...]
    value: Array
    spread: Array
    null: Array
    theta: Array
    risk: float
    constant: float


def truth(known: Encoded) -> Truth:
    """Newton's optimum, the sandwich, and what is identified."""
    population, encoding, X = known.population, known.encoding, known.X
    effects = np.array([not _is_null(name, population.nulls) for name in encoding.facts.columns])
    theta = np.zeros(X.shape[1])
    theta[effects] = newton(known, X[:, effects])
    constant = np.zeros(X.shape[1])
    constant[-1:] = newton(known, X[:, -1:])
    weak, inverse = bent(known, theta)
    meat = scores(known, theta, population.firsts(np.arange(len(X))))
    matrix = encoding.user_matrix(0)[:-1]
    unknown = np.linalg.norm(matrix @ weak, axis=1) > 1e-6 * np.linalg.norm(matrix, axis=1)
    spread = np.sqrt(np.einsum("ij,jk,kl,lm,im->i", matrix, inverse, meat, inverse, matrix, optimize=True))
    value = np.atleast_1d(np.squeeze(encoding.coefficients_to_user(theta)[0]))
    value[unknown] = spread[unknown] = np.nan
    names = tuple(encoding.feature_names_out)
    return Truth(names, value, spread, ~effects[:-1], theta, known.risk(theta), known.risk(constant))


def bent(known: Encoded, theta: Array) -> tuple[Array, Array]:
    """Directions without curvature at θ, (p, r), and the pseudo-inverse of the mean loss's Hessian, (p, p)."""
    values, vectors = np.linalg.eigh(hessian(known, known.X, theta))
    weak = values <= 1e-10 * values[-1]
    return vectors[:, weak], (vectors[:, ~weak] / values[~weak]) @ vectors[:, ~weak].T


def hessian(known: Encoded, X: Array, theta: Array) -> Array:
    """Of the mean loss over columns X, (p, p)."""
    bend = known.loss.second_derivative(X @ theta + known.offset, known.y)
    return np.asarray(X.T @ (bend[:, None] * X) / len(X))


def scores(known: Encoded, theta: Array, firsts: Array | None) -> Array:
    """`Σ g gᵀ / n` of the records' gradients at θ, (p, p); of the units' sums where units begin at `firsts`."""
    slopes = known.loss.derivative(known.X @ theta + known.offset, known.y)[:, None] * known.X
    if firsts is not None:
        slopes = np.add.reduceat(slopes, firsts, axis=0)
    return np.asarray(slopes.T @ slopes / len(known.X))


def newton(known: Encoded, X: Array) -> Array:
    """The unpenalised optimum over columns X, of least norm; raises where it does not settle."""
    loss, y, offset = known.loss, known.y, known.offset
    n = len(X)
    theta = np.linalg.lstsq(X.T @ X, X.T @ y, rcond=1e-12)[0] if loss.name == "huber" else np.zeros(X.shape[1])
    value = float(np.mean(loss.value(X @ theta + offset, y)))
    for _ in range(100):
        z = X @ theta + offset
        slope = X.T @ loss.derivative(z, y) / n
        step = np.linalg.lstsq(hessian(known, X, theta), slope, rcond=1e-12)[0]
        gain, size = float(slope @ step), 1.0
        if gain < 1e-15:
            return theta
        while True:
            there = theta - size * step
            new = float(np.mean(loss.value(X @ there + offset, y)))
            if new <= value - 1e-4 * size * gain or size < 1e-8:
                break
            size *= 0.5
        if size < 1e-8:
            return theta
        theta, value = there, new
    raise RuntimeError(f"The truth of {known.population.name} does not settle: a level separates the classes.")


def _is_null(name: str, nulls: tuple[str, ...]) -> bool:
    return any(name == null or name.startswith((f"{null}=", f"{null}:")) for null in nulls)


def _ends(column: Any) -> tuple[float, float]:
    return float(column.min()), float(column.max())
