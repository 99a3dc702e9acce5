"""The level of classes whose derivatives are cut: the balance is undone, and totals of classes hold where noise is not low."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.curator import Curator
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.losses import Logistic
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Allowance
from hullabaloo.solvers import AdaptiveGradientSolver
from hullabaloo.solvers.gradient.cut_level import uncut
from hullabaloo.solvers.gradient.schedule import GradientSchedule
from tests.solvers.tables import Array, Table, prices, problem


def chance(z: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-z))


@pytest.mark.few(12)
@pytest.mark.parametrize("seed", range(200))
def test_what_is_cut_is_made_whole_again(seed: int) -> None:
    """Whatever the level, the spread and the cut: from the mean cut derivative at a level farther out, by a sum of its own, the level of the classes."""
    rng = np.random.default_rng(seed)
    true, spread, kept = rng.uniform(-5.0, 5.0), rng.uniform(0.0, 2.0), rng.uniform(0.35, 1.0)
    found = true * rng.uniform(1.0, 1.5)
    grid = np.linspace(-8.0, 8.0, 4001)
    weight = np.exp(-0.5 * grid**2) / np.exp(-0.5 * grid**2).sum()
    p, share = chance(found + spread * grid), chance(true + spread * grid)
    slope = float(weight @ ((1.0 - share) * np.minimum(p, kept) - share * np.minimum(1.0 - p, kept)))
    assert uncut(found, spread, kept, slope) == pytest.approx(true, abs=0.05)
    assert uncut(-found, spread, kept, -slope) == pytest.approx(-uncut(found, spread, kept, slope), abs=1e-9)


@pytest.mark.parametrize("level", [-1e9, -800.0, -30.0, -6.0, -0.5, 0.0, 2.0, 30.0, 40.0, 300.0, 800.0, 1e9])
def test_a_level_moves_towards_even_odds_or_stays(level: float) -> None:
    for spread in (0.0, 1.0, 5.0):
        assert uncut(level, spread, 1.0, 0.0) == pytest.approx(level)
        for kept in (0.35, 0.5, 0.9):
            for slope in (-1.0, -0.1, 0.0, 0.1, 1.0):
                assert min(level, 0.0) <= uncut(level, spread, kept, slope) <= max(level, 0.0)


def drawn(n: int, seed: int) -> tuple[Array, Array]:
    """Four numbers and a constant; one record in five of the class."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 4))
    y = np.where(rng.random(n) < chance(X @ np.array([1.0, -0.5, 0.3, 0.0]) - 1.5), 1.0, -1.0)
    return np.column_stack([X, np.ones(n)]), y


@pytest.mark.slow
def test_a_class_is_predicted_as_often_as_it_is_where_noise_is_high() -> None:
    """A fifth of 4 000 records. The mean log of predicted over observed totals of 40 keys is −0.07 ± 0.03 and 0.01 ± 0.01; while cut derivatives were believed, −0.39 and −0.11.

    By other keys a bound fails once in 10⁴.
    """
    X, y = drawn(4_000, 0)
    facts = RowFacts(tuple("abcd1"), True, 5.0, math.sqrt(5.0), 1.0, ("y",))
    data = Table(X, y[:, None], facts)
    asked = replace(problem(data), loss=Logistic())
    for mu, within in ((0.03, 0.2), (0.06, 0.08)):
        solver = AdaptiveGradientSolver()
        plan = solver.plan(asked, prices(data, asked), Allowance.gdp(mu))
        assert not GradientSchedule(**plan.settings).level
        found = []
        for seed in range(40):
            curator = Curator(Rows(X, y[:, None]), plan.queries, key=TestKey(bytes(32)).derive(seed))
            found.append(np.log(chance(X @ solver.run(asked, plan, curator).theta[:, 0]).mean() / np.mean(y > 0.0)))
        assert abs(np.mean(found)) < within


@pytest.mark.slow
def test_the_fits_of_a_stream_keep_the_level_of_its_classes() -> None:
    """The same, −0.07 ± 0.03 over 20 keys, once −0.30: what a fit adds to a model is read beside that model's own level. By other keys the bound fails once in 10³."""
    X, y = drawn(8_000, 1)
    features = dict.fromkeys("abcd", (-1.0, 1.0))
    records = pd.DataFrame(X[:, :4], columns=list("abcd")).assign(y=np.where(y > 0.0, "yes", "no"))
    domain = hb.Domain(features=features, classes={"y": ["no", "yes"]}, indicators=False)
    found = []
    for seed in range(12):
        model = hb.LogisticRegression(
            budget=hb.Budget(0.2, 1e-6),
            domain=domain,
            solver="adaptive_gradient",
            inference=False,
            test_key=TestKey(bytes(32)).derive(seed),
        )
        with hb.streaming.PeriodicERM(model, horizon=8_000, every=2_000) as stream:
            stream.partial_fit(records)
            found.append(np.log(stream.predict_proba(records[list("abcd")])[:, 1].mean() / np.mean(y > 0.0)))
    assert abs(np.mean(found)) < 0.2
