"""Wide tables with declared bounds: two synthetic designs and four real sets, each with held-out rows.

Declarations come from what columns mean: indicators are in [−1, 1], counts are put on a logarithmic scale of a round number, a row's
norm is declared and longer rows are shortened to it. None was computed from the file.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from benchmarks.share_tables import DATA
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.losses import Logistic, Loss, Squared

Array = np.ndarray
MOST_COUNT, MOST_SIZE, MOST_COMMENTS = 10.0, 3000.0, 1500.0


@dataclass(frozen=True)
class Wide:
    """Training rows, held-out rows and what was declared; `truth` are the coefficients that made a synthetic table."""

    name: str
    loss: Loss
    facts: RowFacts
    rows: Rows
    held: Rows
    truth: Array | None = None

    @property
    def records(self) -> int:
        return int(self.rows.Y.shape[0])

    def held_loss(self, theta: Array) -> float:
        """Mean held-out loss: ½ squared error of the unit target, or log-loss."""
        return float(np.mean(self.loss.value(self.held.X @ theta, self.held.Y[:, 0])))


def autoregressive(
    seed: int, n: int = 10_000, p: int = 1_000, s: int = 8, rho: float = 0.8, noise: float = 1.0, held: int = 2_000
) -> Wide:
    """Standard normal columns, neighbours correlated by ρ; s coefficients of ±1; all declared within three standard deviations."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n + held, p))
    for j in range(1, p) if rho else ():
        Z[:, j] = rho * Z[:, j - 1] + math.sqrt(1.0 - rho**2) * Z[:, j]
    truth = np.zeros(p)
    support = np.sort(rng.choice(p, s, replace=False))
    truth[support] = rng.choice([-1.0, 1.0], s)
    signal = truth[support] @ rho ** np.abs(np.subtract.outer(support, support)) @ truth[support] if rho else s
    wide = 3.0 * math.sqrt(signal + noise**2)
    y = Z @ truth + noise * rng.standard_normal(n + held)
    X, y = np.clip(Z / 3.0, -1.0, 1.0), np.clip(y / wide, -1.0, 1.0)
    facts = _facts(p, math.sqrt(p), False)
    label = f"{'AR(0.8)' if rho else 'iid'} n = {n}, p = {p}, s = {s}"
    return Wide(label, Squared(), facts, _rows(X[:n], y[:n]), _rows(X[n:], y[n:]), truth * 3.0 / wide)


def hockey_goals(seed: int) -> Wide:
    """Who was on the ice at a goal, for the home team or against it: at most 21 indicators a row."""
    z = np.load(DATA / "hockey_goals.npz")
    return _split("hockey_goals", Logistic(), _csr(z), 2.0 * z["y"] - 1.0, math.sqrt(21.0), seed)


def spamassassin(seed: int) -> Wide:
    """Words present in an e-mail; the 400 that count most, by norm."""
    z = np.load(DATA / "spamassassin_stream.npz")
    return _split("spamassassin_stream", Logistic(), _csr(z), 2.0 * z["y"] - 1.0, 20.0, seed)


def grants(seed: int) -> Wide:
    """Grant applications: counts of people and earlier grants, indicators."""
    z = np.load(DATA / "grants_unimelb.npz")
    X = _csr(z)
    X.data = np.minimum(np.log1p(X.data) / math.log1p(MOST_COUNT), 1.0)
    return _split("grants_unimelb", Logistic(), X, np.where(z["y"] == "successful", 1.0, -1.0), 5.0, seed)


def blogfeedback(seed: int) -> Wide:
    """Comments in the next day, and everything else that is counted, on logarithmic scales."""
    table = pd.read_parquet(DATA / "blogfeedback.parquet")
    F = table.iloc[:, :280].to_numpy(np.float64)
    words = np.zeros(280, dtype=bool)
    words[62:276] = True
    X = np.where(
        words, np.clip(F, -1.0, 1.0), np.sign(F) * np.minimum(np.log1p(np.abs(F)) / math.log1p(MOST_SIZE), 1.0)
    )
    y = 2.0 * np.minimum(np.log1p(table["target"].to_numpy(np.float64)) / math.log1p(MOST_COMMENTS), 1.0) - 1.0
    return _split("blogfeedback", Squared(), sp.csr_array(X), y, 8.0, seed)


REAL: dict[str, Callable[[int], Wide]] = {
    "hockey_goals": hockey_goals,
    "spamassassin_stream": spamassassin,
    "grants_unimelb": grants,
    "blogfeedback": blogfeedback,
}


def constant(table: Wide) -> Array:
    """The best constant of the training rows."""
    theta, y = np.zeros(table.facts.width), table.rows.Y[:, 0]
    mean = float(y.mean())
    theta[-1] = mean if isinstance(table.loss, Squared) else math.log((1.0 + mean) / (1.0 - mean))
    return theta


def non_private(table: Wide) -> Array:
    """An l1 model, its strength by threefold cross-validation."""
    from sklearn.linear_model import LassoCV, LogisticRegressionCV

    X, y = table.rows.X[:, :-1], table.rows.Y[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of iterations at the strengths that lose
        if isinstance(table.loss, Squared):
            model = LassoCV(cv=3, alphas=12, eps=1e-4).fit(np.asarray(X.toarray()), y)
            return np.append(model.coef_, model.intercept_)
        grid = [0.03, 0.1, 0.3, 1.0]
        best = LogisticRegressionCV(
            Cs=grid, cv=3, penalty="l1", solver="liblinear", scoring="neg_log_loss", intercept_scaling=10.0
        ).fit(X, y)
        return np.append(best.coef_.ravel(), best.intercept_)


def _csr(z: Any) -> sp.csr_array:
    found = sp.csr_array((z["data"].astype(np.float64), z["indices"], z["indptr"]), shape=tuple(z["shape"]))
    found.sort_indices()
    return found


def _split(name: str, loss: Loss, X: sp.csr_array, y: Array, norm: float, seed: int) -> Wide:
    """Four fifths to train; rows beyond the declared norm are shortened, a constant column comes last."""
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    shrink = np.minimum(1.0, norm / np.maximum(lengths, 1e-12)) * (1.0 - 1e-14)
    shortened = sp.diags_array(shrink) @ X
    full = sp.csr_array(sp.hstack([shortened, np.ones((X.shape[0], 1))], format="csr"))
    full.sort_indices()
    order = np.random.default_rng(1000 + seed).permutation(X.shape[0])
    held, kept = order[: len(y) // 5], order[len(y) // 5 :]
    facts = _facts(X.shape[1], norm, True)
    return Wide(name, loss, facts, _rows(full[kept], y[kept]), _rows(full[held], y[held]))


def _facts(p: int, norm: float, intercept: bool) -> RowFacts:
    columns = tuple(f"x{j}" for j in range(p)) + ("1",) * intercept
    l1 = min(float(p), norm * math.sqrt(p)) + intercept
    return RowFacts(columns, intercept, l1, math.sqrt(norm**2 + intercept), 1.0, ("y",))


def _rows(X: Any, y: Array) -> Rows:
    return Rows(X if sp.issparse(X) else np.ascontiguousarray(X), np.ascontiguousarray(y[:, None]))
