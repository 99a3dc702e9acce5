"""A larger budget is never worse: shares of the non-private gain over ε, where directions are rare, narrow, decided by few, many, or nearly separate the classes; and on twelve real tables."""

import numpy as np
import pytest
from benchmarks.share_kept import baselines, loss, split
from benchmarks.share_tables import TABLES

import hullabaloo as hb
from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.noise import TestKey
from hullabaloo.planning.named import SOLVERS

EPSILONS, DRAWS, HELD = (0.3, 1.0, 3.0, 10.0), 4, 8_000
LOWER, LEAST = 0.25, 0.65
"""How much lower a share may be at the next budget, and the least at ε = 3. Over 24 keys a draw of `FAST` has a standard deviation of at most 0.09 and the mean
rises by 0.07 at least and is 0.80 at least: means of four fail by chance at 5 standard deviations, less than once in a million. Keys are fixed."""
FAST = ("preconditioned_gradient", "with inference", "coordinate_descent")
MIX = np.random.default_rng(7).normal(size=(3, 4)) / 2.0


def rare(rng, n):
    """Two factors, most of whose levels are rare and nearly tell the class."""
    shares = np.array([0.62, 0.02, 0.02, 0.004, 0.004, 0.15, 0.13, 0.02, 0.015, 0.006, 0.006, 0.005])
    effects = np.array([0.0, 1.2, -1.0, 2.0, -2.0, 1.6, -1.6, 3.0, -3.5, 1.4, -2.4, 0.5])
    one, two = rng.choice(12, n, p=shares / shares.sum()), rng.choice(3, n, p=[0.02, 0.96, 0.02])
    z = effects[one] + np.array([1.7, 0.0, -2.0])[two]
    return np.hstack([np.eye(12)[one], np.eye(3)[two]]), np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-z)), 1, -1)


def separated(rng, n):
    """Classes that a plane separates but for a few records."""
    X = np.clip(0.4 * rng.normal(size=(n, 5)), -1.0, 1.0)
    return X, np.where(X @ np.array([6.0, -4.0, 3.0, 0.0, 0.0]) + 0.1 * rng.logistic(size=n) > 0.0, 1, -1)


def narrow(rng, n):
    """Columns of which four are, nearly, mixtures of the other three."""
    z = 0.3 * rng.normal(size=(n, 3))
    X = np.clip(np.hstack([z, z @ MIX + 0.02 * rng.normal(size=(n, 4))]), -1.0, 1.0)
    return X, np.clip(0.2 + 0.5 * X[:, 0] - 0.3 * X[:, 4] + 0.1 * rng.normal(size=n), -1.0, 1.0)


def wide(rng, n):
    """Eighty columns alike, of falling weight."""
    X = np.clip(0.4 * rng.normal(size=(n, 80)), -1.0, 1.0)
    signal = X @ (1.0 / np.arange(1.0, 81.0))
    return X, np.clip(1.2 * signal + 0.1 * rng.normal(size=n), -1.0, 1.0)


def far(rng, n):
    """A narrow column that tells the class, of which one record of five hundred is at the other end, in either class."""
    X = np.clip(rng.normal(size=(n, 4)) * [0.4, 0.4, 0.4, 0.004], -1.0, 1.0)
    z, away = X @ np.array([2.0, -1.0, 0.0, 200.0]), rng.random(n) < 0.002
    X[away, 3], z[away] = 1.0, 0.0
    return X, np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-z)), 1, -1)


RECORDS = {far: 12_000, rare: 6_000, separated: 3_000, narrow: 3_000, wide: 1_500}


def shares(design, solver: str, neighbours: str, draws=range(1, DRAWS + 1), epsilons=EPSILONS) -> np.ndarray:
    """Of the gain of the non-private model, (ε, draws)."""
    rng, n = np.random.default_rng(1), RECORDS[design]
    (X, y), (X_held, y_held) = design(rng, n), design(rng, HELD)
    classes = y.dtype == np.int64
    domain = hb.Domain(
        features={f"x{j}": (-1, 1) for j in range(X.shape[1])},
        indicators=False,
        records=n,
        **({"classes": [-1, 1]} if classes else {"target": (-1, 1)}),
    )
    A = np.column_stack([X_held, np.ones(HELD)])
    constant, best = baselines(np.column_stack([X, np.ones(n)]), y.astype(float), classes)
    least, most = loss(A @ best, y_held, classes), loss(np.full(HELD, constant), y_held, classes)
    inference = solver == "with inference"

    def share(epsilon: float, draw: int) -> float:
        fitted = (hb.LogisticRegression if classes else hb.LinearRegression)(
            budget=hb.Budget(epsilon, 1e-7),
            domain=domain,
            neighbours=neighbours,
            solver="preconditioned_gradient" if inference else solver,
            inference="auto" if inference or solver == "auto" else False,
            test_key=TestKey(bytes([draw]) * 32),
        ).fit(X, y)
        return (most - loss(A @ fitted.release_.theta[:, 0], y_held, classes)) / (most - least)

    return np.array([[share(epsilon, draw) for draw in draws] for epsilon in epsilons])


def check(found: np.ndarray, least: float) -> None:
    kept = found.mean(axis=1)
    assert (np.diff(kept) >= -LOWER).all(), kept
    assert kept[-2] >= least, kept


@pytest.mark.slow
@pytest.mark.parametrize("solver", FAST)
def test_rare_levels_keep_more_of_a_larger_budget(solver):
    check(shares(rare, solver, "replace-one", epsilons=EPSILONS[1:]), LEAST)


@pytest.mark.slow
def test_a_step_beside_inference_does_not_leave_far_records_behind():
    check(shares(far, "with inference", "replace-one", epsilons=EPSILONS[1:]), LEAST)


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add-or-remove", "replace-one"])
@pytest.mark.parametrize("design", RECORDS)
@pytest.mark.parametrize("solver", ["auto", "with inference", *SOLVERS])
def test_every_solver_keeps_more_of_a_larger_budget(solver, design, neighbours):
    try:
        found = shares(design, solver, neighbours)
    except (CapabilityError, InvalidParameter) as refused:
        pytest.skip(str(refused))
    check(found, LEAST if solver in ("auto", "with inference") else -1.0)


REAL = (
    *("ailerons", "bike", "california", "elevators", "power_plant", "wine"),
    *("adult", "bank", "electricity", "law_school", "phishing", "skin"),
)
RECORDS_REAL, STEADY = 10_000, 0.05
"""Records, of which four fifths are trained on, and how much lower the mean share of four draws may be at the next budget: 0.012 at most when this was written, keys are fixed."""


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add-or-remove", "replace-one"])
@pytest.mark.parametrize("name", REAL)
def test_real_tables_keep_more_of_a_larger_budget(name, neighbours, shared_data):
    """Of what "auto" takes, held-out shares at ε = 0.3 to 10; fixed keys."""
    shared_data(TABLES[name].file)
    one, read = split(TABLES[name], 0, RECORDS_REAL), TABLES[name].read()
    read = (
        read.take(np.random.default_rng(0).permutation(len(read))[:RECORDS_REAL]) if len(read) > RECORDS_REAL else read
    )
    part = read.take(np.random.default_rng(1000).permutation(len(read))[len(read) // 5 :])  # what `split` trains on
    kind = hb.LogisticRegression if one.classes else hb.LinearRegression
    known = {"domain": TABLES[name].domain(one.n), "neighbours": neighbours, "inference": False}

    def share(epsilon: float, draw: int) -> float:
        model = kind(budget=hb.Budget(epsilon, one.n**-2.0), test_key=TestKey(bytes([draw]) * 32), **known)
        return one.share(model.fit(part).release_.theta[:, 0])

    found = np.array([[share(epsilon, draw) for draw in range(1, DRAWS + 1)] for epsilon in EPSILONS])
    kept = found.mean(axis=1)
    assert (np.diff(kept) >= -STEADY).all(), kept
    assert kept[-1] >= 0.9, kept
