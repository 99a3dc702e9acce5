"""Inference beside any solver: what is bought, what is released, and that intervals hold."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.errors import CapabilityError
from hullabaloo.noise import TestKey
from hullabaloo.privacy import compose
from hullabaloo.solvers.score.lengths import excess, gradient_clip, mean_power, quantile, tail

KEY = TestKey(bytes(range(32)))
SLOPES = np.array([0.6, -0.4, 0.2])
DOMAIN = {"features": {f"x{j}": (-2, 2) for j in range(3)}, "indicators": False}


def table(n: int, seed: int = 0, kind: str = "LinearRegression") -> tuple[np.ndarray, np.ndarray]:
    """One column far narrower than its bounds, one of 0 and 1, one even; residuals that spread with the last."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([1.0 + 0.1 * rng.normal(size=n), rng.uniform(size=n) < 0.3, rng.uniform(-1.0, 1.0, n)])
    z = X @ SLOPES + 0.1
    if kind == "LogisticRegression":
        return X, (rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-z))).astype(int)
    if kind == "PoissonRegressor":
        return X, np.minimum(rng.poisson(np.exp(z)), 15)
    return X, z + (0.2 + 0.6 * np.abs(X[:, 2])) * rng.normal(size=n)


def model(kind: str = "LinearRegression", epsilon: float = 2.0, **more: Any) -> Any:
    target = {"LogisticRegression": {"classes": [0, 1]}, "PoissonRegressor": {"target": (0, 15)}}.get(
        kind, {"target": (-4, 4)}
    )
    return getattr(hb, kind)(
        budget=hb.Budget(epsilon, 1e-8), domain=hb.Domain(**DOMAIN, **target), **{"test_key": KEY, **more}
    )


@pytest.mark.parametrize(
    "budget", [hb.Budget(1.0, 1e-8), hb.Budget.gdp(0.3), hb.Budget.zcdp(0.05)], ids=["dp", "gdp", "zcdp"]
)
@pytest.mark.parametrize(
    "solver", ["auto", "gradient", "adaptive_gradient", "objective_perturbation", "output_perturbation"]
)
def test_the_plan_costs_at_most_the_budget_and_nearly_all_of_it(budget: hb.Budget, solver: str) -> None:
    if solver == "objective_perturbation" and budget.kind != "dp":
        pytest.skip("the solver has no price in this kind of budget")
    X, y = table(20_000)
    made = model(solver=solver, inference=True).set_params(budget=budget).fit(X, y)
    event = made.statement_.event
    assert budget.admits(event)
    assert not budget.admits(compose(event, count=2))
    assert made.release_.score is not None


@pytest.mark.parametrize("kind", ["LinearRegression", "LogisticRegression", "PoissonRegressor", "HuberRegressor"])
@pytest.mark.few(2)
def test_intervals_hold(kind: str) -> None:
    """25 fits of 3 slopes, told: at least 80 % of them hold: less by chance once in 10⁵ at 95 %, were they independent."""
    held, told = [], 0
    for seed in range(25):
        X, y = table(20_000, seed, kind)
        made = model(kind, test_key=KEY.derive(seed), **({"threshold": 0.9} if kind == "HuberRegressor" else {})).fit(
            X, y
        )
        for row, true in zip(made.summary().rows, SLOPES, strict=False):
            if not math.isnan(row.low):
                told += 1
                held.append(row.low <= true <= row.high)
    assert told >= 40
    assert np.mean(held) >= 0.80


def test_a_column_that_cannot_be_told_takes_nothing_with_it() -> None:
    X, y = table(20_000)
    X = np.column_stack([X, np.zeros(len(X))])
    domain = hb.Domain(features={f"x{j}": (-2, 2) for j in range(4)}, target=(-4, 4), indicators=False)
    rows = hb.LinearRegression(budget=hb.Budget(2.0, 1e-8), domain=domain, test_key=KEY).fit(X, y).summary().rows
    assert math.isnan(rows[3].low)
    assert rows[3].reason
    assert all(not math.isnan(row.low) for row in rows[:3])


def test_it_is_left_out_where_nothing_would_be_told() -> None:
    X, y = table(300)
    few = model(epsilon=0.1).fit(X, y)
    assert few.release_.score is None
    assert "too few" in few.summary().note
    with pytest.raises(CapabilityError, match="too few for 4 columns"):
        model(epsilon=0.1, inference=True).fit(X, y)


def test_a_saved_model_tells_the_same_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    made = model().fit(*table(20_000))
    made.save(tmp_path / "model.json")
    assert str(hb.load(tmp_path / "model.json").summary()) == str(made.summary())
    text = (tmp_path / "model.json").read_text()
    assert text.count('"scale": [') == 1
    (tmp_path / "model.json").write_text(text.replace('"scale": [', '"scale": [0.5,'))
    with pytest.raises(hb.errors.HullabalooError):
        hb.load(tmp_path / "model.json")


def test_tails_of_lengths() -> None:
    """Without noise the histogram's own shares; the excess is nonincreasing, and its clip between the median and the longest."""
    lengths = np.random.default_rng(0).pareto(3.0, 100_000) + 1.0
    grid = 100.0 * 2.0 ** (-0.5 * np.arange(23, -1, -1.0))
    shares = np.bincount(np.searchsorted(grid, lengths), minlength=25) / lengths.size
    ends, above = tail(shares, grid, 1e-6, 0.5)
    assert above[:24] == pytest.approx([np.mean(lengths > end) for end in grid], abs=1e-4)
    assert np.all(np.diff(excess(ends, above)) <= 0.0)
    assert mean_power(ends, above, 1) == pytest.approx(lengths.mean(), rel=0.1)
    c, lost = gradient_clip(ends, above, 1e-3, 5, 0.5)
    assert quantile(ends, above, 0.5) < c <= ends[-1]
    assert lost == pytest.approx(np.maximum(lengths - c, 0.0).mean(), rel=0.5)
