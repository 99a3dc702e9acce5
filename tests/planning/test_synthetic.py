"""Synthetic tables: fixed functions of public facts, inside the declared domain, with the stated signal."""

from dataclasses import replace

import numpy as np
import pytest

from hullabaloo.geometry import Box, ConvexSet, L1Ball, L2Ball, Simplex
from hullabaloo.losses import Logistic, Poisson
from hullabaloo.planning.synthetic import PRICED, SCENARIOS, SILENCE, WIDE, _targets, normals, synthetic_table
from hullabaloo.solvers.public_numbers import uniforms
from hullabaloo.solvers.reference import TARGET_VARIANCE
from tests.solvers.tables import problem, table


def test_numbers_look_independent_and_uniform() -> None:
    """Fixed numbers: the bounds below are five standard errors, checked once and for all."""
    u, v = uniforms(20_000, 1), uniforms(20_000, 2)
    assert 0.0 < u.min() < u.max() < 1.0
    assert abs(u.mean() - 0.5) < 5.0 * np.sqrt(1.0 / 12.0 / 20_000)
    assert abs(np.corrcoef(u, v)[0, 1]) < 5.0 / np.sqrt(20_000)
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 5.0 / np.sqrt(20_000)
    assert abs(normals(20_000, 3).std() - 1.0) < 5.0 / np.sqrt(2.0 * 20_000)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)
@pytest.mark.parametrize("intercept", [False, True])
def test_rows_obey_the_domain_and_targets_have_the_signal(scenario, intercept: bool) -> None:  # type: ignore[no-untyped-def]
    asked = problem(table(30, 6, intercept=intercept))
    made = synthetic_table(asked, scenario, 4_000)
    again = synthetic_table(asked, scenario, 4_000)
    assert np.array_equal(made.X, again.X)
    assert np.array_equal(made.Y, again.Y)
    assert np.linalg.norm(made.X, axis=1).max() <= asked.norm_l2 * (1.0 + 1e-12)
    assert np.abs(made.X).max() <= asked.norm_linf
    assert np.abs(made.Y).max() <= 1.0
    signal = float(np.var(made.X[:, : made.slopes.shape[0]] @ made.slopes))
    assert signal == pytest.approx(scenario.explained * TARGET_VARIANCE, rel=0.05)


@pytest.mark.parametrize("scenario", [*SCENARIOS, SILENCE], ids=lambda one: one.name)
def test_counts_are_as_rare_as_said_whatever_the_exposures(scenario) -> None:  # type: ignore[no-untyped-def]
    """Within six standard deviations of 4 000 counts in fifths of the bound, of rates that vary."""
    asked = replace(problem(table(30, 6, intercept=True)), loss=Poisson())
    for bound in (0.0, 2.0):
        made = synthetic_table(replace(asked, offset_bound=bound), scenario, 4_000)
        assert made.Y.mean() * scenario.rarity == pytest.approx(
            1.0, abs=6.0 * np.sqrt(scenario.rarity / 5.0 / 4_000) + 0.1
        )


@pytest.mark.parametrize("rare", [0.003, 0.1, 0.5])
@pytest.mark.parametrize("targets", [1, 3])
def test_classes_are_as_rare_as_said(rare: float, targets: int) -> None:
    """Within five standard deviations of 20 000 records, fixed numbers; of several classes at most even shares."""
    asked, share = replace(problem(table(30, 6, intercept=True)), loss=Logistic()), min(rare, 1.0 / max(targets, 2))
    for scenario in PRICED:
        made = synthetic_table(replace(asked, targets=targets), replace(scenario, rare=rare), 20_000)
        found = np.mean(made.Y > 0.0, axis=0)
        assert np.all(np.abs(found - share) <= 5.0 * np.sqrt(share * (1.0 - share) / 20_000))


@pytest.mark.parametrize("norms", [(17.3, 1.0), (1.0, 1.0), (8.0, 1.0)], ids=["cells", "row norm", "sparse"])
@pytest.mark.parametrize("scenario", WIDE, ids=lambda one: one.name)
def test_wide_rows_obey_the_domain(scenario, norms: tuple[float, float]) -> None:  # type: ignore[no-untyped-def]
    asked = replace(problem(table(30, 300)), norm_l2=norms[0], norm_linf=norms[1])
    X = synthetic_table(asked, scenario, 300).X
    lengths = np.linalg.norm(X, axis=1)
    assert lengths.max() <= norms[0] * (1.0 + 1e-12)
    assert np.abs(X).max() <= norms[1] * (1.0 + 1e-12)
    if norms[0] == 1.0:
        assert np.median(lengths) > 0.9
    if norms[0] == 8.0:  # whole cells, and most of them empty
        assert np.mean(X == 0.0) > 0.8
        assert np.mean(lengths**2) == pytest.approx(scenario.filled * 64.0, rel=0.2)


@pytest.mark.parametrize(
    "body", [L1Ball(0.3), L2Ball(0.3), Simplex(), Box(-0.1, 0.2)], ids=lambda one: type(one).__name__
)
def test_the_model_is_in_the_declared_set(body: ConvexSet) -> None:
    asked = replace(problem(table(30, 6)), constraint=body)
    for scenario in SCENARIOS:
        theta = synthetic_table(asked, scenario, 500).slopes[:, 0]
        if isinstance(body, Simplex):  # it holds no multiples of its points: θ* is one, at most as large
            assert theta.min() >= 0.0
            assert 0.0 < theta.sum() <= body.radius * (1.0 + 1e-12)
        else:
            assert body.contains(theta)


def test_a_price_has_tables_in_which_one_column_reaches_the_end_of_the_set() -> None:
    """Of an l1 ball, that which varies most; and of numbers more is explained than plans are compared by, if the set allows it."""
    asked = replace(problem(table(30, 6)), constraint=L1Ball(0.3))
    for scenario in PRICED:
        made, free = (synthetic_table(one, scenario, 2_000) for one in (asked, replace(asked, constraint=None)))
        assert np.flatnonzero(made.slopes[:, 0]).tolist() == [
            int(np.argmax(made.X[:, : made.slopes.shape[0]].var(axis=0)))
        ]
        assert asked.constraint.contains(made.slopes[:, 0])
        signal = float(np.var(free.X[:, : free.slopes.shape[0]] @ free.slopes))
        assert signal == pytest.approx((scenario.numbers or scenario.explained) * TARGET_VARIANCE)


def test_counts_are_the_quantiles_of_poisson_laws() -> None:
    """Of which SciPy's own are the reference: bit for bit, as forecasts are kept."""
    from scipy.stats import poisson

    asked = replace(problem(table(30, 6, intercept=True)), loss=Poisson())
    for scenario in (*SCENARIOS, SILENCE):
        signal = 0.4 * np.random.default_rng(7).normal(size=(20_000, 1))
        chance, rate = uniforms(20_000, 500 + 10 * scenario.number)[:, None], np.exp(signal)
        rate = np.minimum(rate / (scenario.rarity * rate.mean(axis=0)), 1.0)
        wanted = np.minimum(poisson.ppf(chance, 5.0 * rate) / 5.0, 1.0)
        assert np.array_equal(_targets(asked, scenario, signal, None), wanted)
