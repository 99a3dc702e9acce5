"""What tuning costs, and what it brings.

*Cost.* The ε of a release at δ = 1e-6 that is the best of a random number of runs, each with the μ at which one release alone has ε = 0.5, 1
or 2; by the bound of the library, by the profiles of Koskela, Redberg and Wang (2024) as printed, by Rényi divergences as in Papernot
and Steinke (2022), and by composition of as many releases as are expected. And the other way round: what ε is left to each run of a
search at a total of 1, and to each candidate of a grid that is tried as a whole.

*Worth.* On real tables, at total ε, δ = 1/n², the share kept (benchmarks/share_kept.py) by: the untuned default with the whole budget; the search
(`PrivateSearchCV`: three quarters of the records train); an honest grid, every candidate fitted and scored at its share by Gaussian
composition, the best noisy score chosen; and, as a bound that nobody has, the candidate that is best in hindsight with the whole budget.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import hullabaloo as hb
from benchmarks import small
from benchmarks.share_kept import Split, _dense, baselines, loss
from benchmarks.share_tables import TABLES
from hullabaloo.privacy import Repeats, TunedEvent, base_mu, epsilon_of, gdp_delta, gdp_epsilon, gdp_mu
from hullabaloo.privacy.renyi import renyi_delta

DELTA = 1e-6
EXPECTED = (3, 10, 30)
SHAPES = ("logarithmic", 0.5, "geometric", "poisson")
EPSILONS = (0.5, 1.0, 3.0)
ROWS, SPLITS, DRAWS = 10_000, 1, 3
L2 = [hb.SquaredL2Penalty(10.0**power) for power in (-5, -4, -3, -2, -1)]
RADII = [hb.L1Ball(radius) for radius in (0.1, 0.3, 1.0, 3.0)]


@dataclass(frozen=True)
class Job:
    """What is tuned on a table: an estimator and its candidates."""

    table: str
    what: str
    estimator: Callable[..., Any]
    candidates: list[dict[str, Any]]


SOLVERS = ("moments", "gradient", "preconditioned_gradient")
REGRESSION = ("concrete", "communities", "california")
CLASSIFICATION = ("spambase", "skin")
JOBS = [
    *(Job(table, "l2 strength", hb.Ridge, [{"penalty": one} for one in L2]) for table in REGRESSION),
    *(Job(table, "l1 radius", hb.Lasso, [{"constraint": one} for one in RADII]) for table in REGRESSION),
    *(Job(table, "solver", hb.LinearRegression, [{"solver": one} for one in SOLVERS]) for table in REGRESSION),
    *(Job(table, "l2 strength", hb.LogisticRegression, [{"penalty": one} for one in L2]) for table in CLASSIFICATION),
]


def fingerprint() -> dict[str, Any]:
    """What runs cost by every law, and two small searches."""
    X, y, c = small.table()
    found: dict[str, Any] = {
        str(shape): [base_mu(hb.Budget(1.0, DELTA), 3.0, shape), epsilon_of(TunedEvent(0.5, 3.0, shape), DELTA)]
        for shape in SHAPES
    }
    for kind, target, classes in ((hb.Ridge, y, False), (hb.LogisticRegression, c, True)):
        model, grid = kind(domain=small.domain(classes=classes), solver="gradient"), {"penalty": L2[-2:]}
        search = hb.PrivateSearchCV(model, grid, budget=small.BUDGET, test_key=small.KEY).fit(X, target)
        best = search.best_params_["penalty"].strength
        found[kind.__name__] = {"best": best, "score": search.best_score_, **small.seen(search.best_estimator_)}
    return found


def run() -> dict[str, Any]:
    """Both tables; about five minutes on one core."""
    return {"delta": DELTA, "cost": cost(), "left": left(), "worth": worth()}


def cost() -> list[dict[str, Any]]:
    """The ε of the best of several runs, by four ways of accounting."""
    lines = []
    for alone in (0.5, 1.0, 2.0):
        mu = gdp_mu(alone, DELTA)
        for expected in EXPECTED:
            for shape in SHAPES:
                event, law = TunedEvent(mu, expected, shape), Repeats(expected, shape)
                lines.append(
                    {
                        "run": alone,
                        "expected": expected,
                        "shape": str(shape),
                        "epsilon": epsilon_of(event, DELTA),
                        "profiles as printed": _solve(lambda e, m=mu, a=law: _printed(m, a, e)),
                        "renyi as printed": _solve(
                            lambda e, m=mu, a=law: renyi_delta(lambda order: _printed_renyi(m, a, order), e)
                        ),
                        "composition": gdp_epsilon(mu * math.sqrt(expected), DELTA),
                    }
                )
    return lines


def left() -> list[dict[str, Any]]:
    """At a total of (1, 1e-6): what a run of a search has, and a candidate of a grid."""
    budget, whole = hb.Budget(1.0, DELTA), gdp_mu(1.0, DELTA)
    lines = []
    for count in (2, 4, 8, 16, 32):
        expected = max(1, min(4 * (count - 1), 30))
        line: dict[str, Any] = {"candidates": count, "expected": expected}
        for shape in SHAPES:
            law = Repeats(expected, shape)
            line[f"run, {shape}"] = gdp_epsilon(base_mu(budget, law.expected, law.shape), DELTA)
            line[f"tried, {shape}"] = law.chance(count)
        lines.append({**line, "grid": gdp_epsilon(whole / math.sqrt(count), DELTA)})
    return lines


def worth(
    jobs: list[Job] | None = None, epsilons: tuple[float, ...] = EPSILONS, splits: int = SPLITS, draws: int = DRAWS
) -> list[dict[str, Any]]:
    """Shares kept, with standard errors, on every table."""
    lines = []
    for job in JOBS if jobs is None else jobs:
        kept = [_split(job.table, number) for number in range(splits)]
        for epsilon in epsilons:
            started = time.perf_counter()
            arms: dict[str, list[float]] = {"default": [], "search": [], "grid": []}
            each: list[list[float]] = [[] for _ in job.candidates]
            for train, split, domain in kept:
                budget = hb.Budget(epsilon, split.n**-2.0)
                for _ in range(draws):
                    arms["default"].append(_share(split, job.estimator(domain=domain, budget=budget).fit(train)))
                    search = hb.PrivateSearchCV(job.estimator(domain=domain), job.candidates, budget=budget).fit(train)
                    arms["search"].append(_share(split, search.best_estimator_))
                    arms["grid"].append(_grid(job, split, domain, train, budget))
                    for found, candidate in zip(each, job.candidates, strict=True):
                        model = job.estimator(domain=domain, budget=budget).set_params(**candidate)
                        found.append(_share(split, model.fit(train)))
            line: dict[str, Any] = {"table": job.table, "tuned": job.what, "candidates": len(job.candidates)}
            line |= {"records": kept[0][1].n, "columns": kept[0][1].X.shape[1], "epsilon": epsilon}
            for name, shares in arms.items():
                line[name] = float(np.mean(shares))
                line[f"{name} s.e."] = float(np.std(shares, ddof=1) / math.sqrt(len(shares)))
            line["hindsight"] = max(float(np.mean(found)) for found in each)
            line["seconds"] = time.perf_counter() - started
            lines.append(line)
    return lines


def _grid(job: Job, split: Split, domain: Any, train: pa.Table, budget: Any) -> float:
    """Every candidate fitted on three quarters and scored on the rest at `μ/√c`: a record is in c answers."""
    share = hb.Budget.gdp(gdp_mu(budget.epsilon, budget.delta) / math.sqrt(len(job.candidates)) * (1.0 - 1e-9))
    cut = round(0.75 * len(train))  # the rows are shuffled
    best, found = -math.inf, 0.0
    for candidate in job.candidates:
        model = job.estimator(domain=domain, budget=share).set_params(**candidate).fit(train.slice(0, cut))
        value = next(iter(hb.evaluate(model, train.slice(cut), budget=share).values.values())).value
        if -value > best:  # squared error and log-loss: less is better
            best, found = -value, _share(split, model)
    return found


def _share(split: Split, model: Any) -> float:
    return float(split.share(model.release_.theta[:, 0]))


def _split(name: str, number: int) -> tuple[pa.Table, Split, Any]:
    table = TABLES[name]
    read = table.read()
    if len(read) > ROWS:
        read = read.take(np.random.default_rng(0).permutation(len(read))[:ROWS])
    order = np.random.default_rng(1000 + number).permutation(len(read))
    test, train = read.take(order[: len(read) // 5]), read.take(order[len(read) // 5 :])
    domain = table.domain(len(train))
    encoding = domain.encoding_for(train)
    known, held = encoding.encode(train), encoding.encode(test)
    X, y = _dense(held.X), held.Y[:, 0]
    constant, best = baselines(_dense(known.X), known.Y[:, 0], table.is_classification)
    at = (loss(np.full(len(y), constant), y, table.is_classification), loss(X @ best, y, table.is_classification))
    return train, Split(known, encoding, X, y, *at), domain


def _printed(mu: float, law: Repeats, epsilon: float) -> float:
    """Koskela, Redberg and Wang (2024), with ε₁ searched."""
    if law.eta is None:
        factor = law.parameter * gdp_delta(mu, 0.0)
    else:
        odds = (1.0 - law.parameter) / law.parameter
        factor = min(math.log(math.exp(e) + odds * gdp_delta(mu, e)) for e in np.linspace(0.0, 4.0, 401)) * (
            1.0 + law.eta
        )
    return law.expected * gdp_delta(mu, epsilon - factor) if epsilon > factor else 1.0


def _printed_renyi(mu: float, law: Repeats, order: float) -> float:
    """Papernot and Steinke (2022), Theorems 2 and 6."""
    more = order * mu**2 / 2.0 + math.log(law.expected) / (order - 1.0)
    if law.eta is None:
        return more + law.parameter * gdp_delta(mu, math.log1p(1.0 / (order - 1.0)))
    logs = math.log(1.0 / law.parameter)
    other = max(1.0, math.sqrt(2.0 * logs) / mu)
    return more + (1.0 + law.eta) * ((other - 1.0) * mu**2 / 2.0 + logs / other)


def _solve(delta: Callable[[float], float]) -> float:
    low, high = 0.0, 1.0
    while delta(high) > DELTA:
        low, high = high, 2.0 * high
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (low, middle) if delta(middle) <= DELTA else (middle, high)
    return high
