"""Intervals by a parametric bootstrap: the plan of the release, carried out again on synthetic tables like the released model.

Synthetic records have the means and covariance that the release holds, their targets come from a model θ°, and the real curator answers the
same queries with noise of the same size, from a fixed key. θ° is moved until what the solver makes of its tables is, on average, what was
released: indirect inference (Gouriéroux, Monfort & Renault 1993), which undoes shrinking, early stops and clipping however large they are.
What varies from draw to draw is the noise; how the solver's answer follows θ° says how much of it is in θ°; sampling is the sandwich of the
synthetic table. All of it is post-processing, a deterministic function of the release and public facts.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, ndtri

from hullabaloo.data.targets import BoundedTarget
from hullabaloo.errors import HullabalooError
from hullabaloo.inference.debiased import Intervals
from hullabaloo.inference.fitted import Array, FittedModel
from hullabaloo.inference.from_moments import asked_ridge
from hullabaloo.losses import AnyLoss, Huber, Logistic, Loss, Poisson, Squared
from hullabaloo.planning.synthetic import SyntheticTable, normals
from hullabaloo.privacy import Budget
from hullabaloo.release.planned import PlannedFit, prepare
from hullabaloo.release.rehearsal import rehearsal
from hullabaloo.solvers import Solver
from hullabaloo.solvers.moments.uncertainty import residual_variance
from hullabaloo.solvers.public_numbers import uniforms

ROWS, DRAWS, TRIED, ROUNDS = 1_500, 100, 8, 4
WIDEST = 40
"""Coefficients up to which the response is found direction by direction."""
FARTHEST = 2.0
"""Standard errors by which θ° may still be off when the rounds end."""
UNSETTLED = (
    "No bootstrap is made of this release: some direction of the columns is lost in its noise, and what the solver answers hardly follows "
    "the coefficients there. Take the intervals of method='debiased' where the release holds second moments, or fit with more budget or "
    "fewer columns; indicators=False in the domain leaves out those of missing values."
)
UNLIKE = "The synthetic fit cannot follow the plan of this release ({}), so no bootstrap is made of it."


@dataclass(frozen=True, slots=True, eq=False)
class Bootstrapped:
    """Normal intervals around θ°, from the bootstrap's covariances (p, p)."""

    theta: Array
    privacy: Array
    sampling: Array
    residual_variance: float

    @property
    def basis(self) -> Array:
        """All coefficients are asked for."""
        return np.eye(self.theta.size)

    def intervals(self, functions: Array, quantile: float, own: float = 0.0) -> Intervals:
        """Of `functions @ θ`, functions (m, p)."""
        privacy = np.einsum("ij,jk,ik->i", functions, self.privacy, functions)
        sampling = np.einsum("ij,jk,ik->i", functions, self.sampling, functions)
        estimate = functions @ self.theta
        half = quantile * np.sqrt(privacy + sampling + own)
        return Intervals(estimate, np.sqrt(sampling), np.sqrt(privacy), estimate - half, estimate + half)


def bootstrapped(model: FittedModel) -> list[Bootstrapped] | str:
    """The bootstrap of a model of one target, or in a sentence why there is none."""
    encoding = model.encoding
    loss = model.loss
    if len(encoding.facts.targets) != 1 or not isinstance(loss, Logistic | Poisson | Squared | Huber):
        return f"A bootstrap is made of models of one target by the squared, logistic, Huber or Poisson loss, not of {loss.name!r} with {len(encoding.facts.targets)}."
    if encoding.offset is not None or model.constraint is not None:
        return (
            "A bootstrap is made neither where exposures are known, whose spread over the records is not released, nor of coefficients "
            "held by a set, on whose boundary they are not normal."
        )
    known = _rows(model)
    if known is None:
        return (
            "This release holds no covariance of the records that synthetic tables could be drawn from; fit with "
            "solver='preconditioned_gradient', or with solver=hb.WithMoments(...), to have one."
        )
    variance = _residual(model, loss)
    if variance is None:
        return "This release does not tell how far targets are from their predictions; fit with solver=hb.WithMoments(...) to have it."
    prepared = _planned(model)
    if isinstance(prepared, str):
        return UNLIKE.format(prepared)
    found = None if _drowned(model) else _Scene(model, prepared, *known, variance).found()
    return UNSETTLED if found is None else [found]


def _planned(model: FittedModel) -> PlannedFit | str:
    """The plan of the release, made again from public facts."""
    release, encoding = model.release, model.encoding
    statement = release.statement
    try:
        task = model.task() if model.task is not None else None
        assert task is not None
        solver: Any = task.solver if isinstance(task.solver, Solver) else str(release.plan["solver"])
        budgets = [task.budget, *([] if statement.mu is None else [Budget.gdp(statement.mu)])]
        for budget in budgets:
            records = statement.records if encoding.domain.records is None else None
            prepared = prepare(replace(task, budget=budget, solver=solver), encoding, records)
            if _bought(prepared.plan.to_dict()["queries"]) == _bought(release.plan["queries"]):
                return prepared
    except HullabalooError as error:
        return str(error)
    return "it was made by another version of the library or for another ledger"


def _bought(queries: Any) -> list[tuple[Any, ...]]:
    """What tells purchases apart: each query's name, number of answers and noise to five digits."""
    noise = [query.get("noise_std_of_sum") for query in queries]
    return [
        (query["name"], query["answers"], value and float(f"{value:.5g}"))
        for query, value in zip(queries, noise, strict=True)
    ]


def _rows(model: FittedModel) -> tuple[Array, Array] | None:
    """Mean and covariance of the encoded columns but the constant."""
    release, intercept = model.release, model.encoding.facts.intercept
    moments = release.moments
    if moments is not None and moments.gram.shape[0] == model.encoding.facts.width:
        if not intercept:
            return np.zeros(moments.gram.shape[0]), moments.gram
        last = 1.0 if moments.counted else max(float(moments.gram[-1, -1]), 0.2)
        mean = moments.gram[:-1, -1] / last
        return mean, moments.gram[:-1, :-1] / last - np.outer(mean, mean)
    for line in release.trace:
        if "covariance" in line:
            return np.asarray(line["centre"], dtype=np.float64), np.asarray(line["covariance"], dtype=np.float64)
    return None


def _drowned(model: FittedModel) -> bool:
    """Whether noise may have made all of the released second moments in some direction: twice the norm of a symmetric matrix of noise."""
    moments = model.release.moments
    if moments is None or not moments.gram_noise > 0.0:
        return False
    edge = math.sqrt(2.0 * len(moments.gram)) * moments.gram_noise
    return float(np.linalg.eigvalsh(moments.gram)[0]) < 2.0 * edge


def _residual(model: FittedModel, loss: AnyLoss) -> float | None:
    """Variance of the target around its prediction, where the loss does not imply it."""
    if isinstance(loss, Logistic | Poisson):
        return float("nan")
    moments = model.release.moments
    return None if moments is None else residual_variance(moments, 0, np.ascontiguousarray(model.release.theta[:, 0]))


class _Scene:
    """Synthetic rows, and what the plan makes of tables on them."""

    def __init__(
        self, model: FittedModel, prepared: PlannedFit, mean: Array, covariance: Array, variance: float
    ) -> None:
        self.model, self.variance, self.loss = model, variance, prepared.problem.loss
        assert isinstance(self.loss, Loss)
        records = prepared.problem.records
        self.records, self.ridge = records, asked_ridge(model)
        rows = min(max(ROWS, 4 * mean.size), max(records, 2))
        self.problem = replace(prepared.problem, records=rows)
        self.solver, self.plan = prepared.solver, prepared.plan
        self.perform = rehearsal(prepared.encoding.facts)
        self.X = _synthetic(prepared, mean, covariance, rows)
        self.chance = uniforms(rows, 7_001)
        target = prepared.encoding.targets[0]
        self.highest = target.hi if isinstance(target, BoundedTarget) else 1.0

    def table(self, theta: Array) -> Array:
        """Targets that θ makes, (n,): monotone in θ for fixed chances."""
        z = self.X @ theta
        if isinstance(self.loss, Logistic):
            return np.where(self.chance < expit(z), 1.0, -1.0)
        if isinstance(self.loss, Poisson):
            from scipy.stats import poisson

            mean = np.exp(np.minimum(z, 0.0)) * self.highest
            return np.asarray(np.minimum(poisson.ppf(self.chance, mean) / self.highest, 1.0), dtype=np.float64)
        return np.asarray(np.clip(z + np.sqrt(self.variance) * ndtri(self.chance), -1.0, 1.0), dtype=np.float64)

    def answers(self, theta: Array, draws: range) -> tuple[Array, Array]:
        """What the solver answers to the table of θ, (draws, p), and the table's own optimum without privacy."""
        y = self.table(theta)
        table = SyntheticTable(self.X, y[:, None], None, np.zeros((0, 1)))
        found = [self.perform(self.problem, self.solver, self.plan, table, draw).theta[:, 0] for draw in draws]
        return np.array(found), self.optimum(y, theta)

    def optimum(self, y: Array, start: Array) -> Array:
        """By Newton's steps from the truth."""
        theta = start.copy()
        for _ in range(12):
            slopes, inverse = self.around(y, theta)
            slope = self.X.T @ slopes / len(y) + self.ridge * theta
            step = inverse @ slope
            theta = theta - step * min(1.0, 2.0 / max(float(np.sqrt(np.mean((self.X @ step) ** 2))), 1e-12))
        return theta

    def around(self, y: Array, theta: Array) -> tuple[Array, Array]:
        """φ' of each record, (n,), and the inverse of the objective's second derivative, (p, p)."""
        assert isinstance(self.loss, Loss)
        z = self.X @ theta
        bend = self.X.T @ (self.loss.second_derivative(z, y)[:, None] * self.X) / len(y) + np.diag(self.ridge)
        inverse = np.asarray(np.linalg.pinv(bend, rcond=1e-9, hermitian=True), dtype=np.float64)
        return self.loss.derivative(z, y), inverse

    def found(self) -> Bootstrapped | None:
        """θ° by rounds of indirect inference, then its errors; None where the rounds end far from what was released."""
        released, few = np.ascontiguousarray(self.model.release.theta[:, 0]), range(1, TRIED + 1)
        theta, response = released.copy(), np.eye(released.size)
        for turn in range(ROUNDS):
            answers, optimum = self.answers(theta, few)
            if turn == 1:
                response = self.response(theta, answers.mean(axis=0) - optimum, few)
            missing = released - (answers.mean(axis=0) + theta - optimum)
            theta = theta + np.linalg.solve(response, missing)
        answers, optimum = self.answers(theta, range(1, DRAWS + 1))
        inverse = np.linalg.inv(response)
        noise = inverse @ np.cov((answers - optimum).T).reshape(theta.size, theta.size) @ inverse.T
        sampling = self.sandwich(theta)
        off = inverse @ (released - (answers.mean(axis=0) + theta - optimum))
        if not np.all(np.abs(off) <= FARTHEST * np.sqrt(np.diag(noise + sampling))):
            return None
        return Bootstrapped(theta, noise, sampling, self.variance)

    def response(self, theta: Array, base: Array, draws: range) -> Array:
        """How the mean answer follows θ°, (p, p): by differences with the same noise, a direction at a time."""
        p = theta.size
        if p > WIDEST:
            return np.eye(p)
        scale = np.sqrt(np.maximum((self.X**2).mean(axis=0), 1e-12))
        columns = []
        for j in range(p):
            moved = theta.copy()
            step = 0.3 / scale[j]
            moved[j] += step
            there, best = self.answers(moved, draws)
            columns.append((there.mean(axis=0) - best - base) / step)
        return np.asarray(np.eye(p) + np.column_stack(columns), dtype=np.float64)

    def sandwich(self, theta: Array) -> Array:
        """Sampling covariance of the optimum of so many records."""
        slopes, inverse = self.around(self.table(theta), theta)
        scores = slopes[:, None] * self.X
        return np.asarray(inverse @ (scores.T @ scores / len(scores)) @ inverse / self.records, dtype=np.float64)


def _synthetic(prepared: PlannedFit, mean: Array, covariance: Array, rows: int) -> Array:
    """Encoded rows (n, p) with this mean and covariance, as far as the declared bounds let them."""
    facts, slopes = prepared.encoding.facts, mean.size
    draws = normals(rows * slopes, 7_000).reshape(rows, slopes)
    draws -= draws.mean(axis=0)
    if rows > 2 * slopes:
        draws = draws @ np.linalg.inv(np.linalg.cholesky(draws.T @ draws / rows)).T
    values, vectors = np.linalg.eigh(covariance)
    X = mean + draws @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    np.clip(X, -facts.norm_linf, facts.norm_linf, out=X)
    room = np.sqrt(max(facts.norm_l2**2 - facts.intercept, 1e-12))
    X *= np.minimum(1.0, room / np.maximum(np.linalg.norm(X, axis=1), 1e-300))[:, None]
    return np.ascontiguousarray(np.column_stack([X, np.ones(rows)]) if facts.intercept else X)
