"""Once charged, a fit ends in a release: no noise, however it falls, stops what comes after it."""

import warnings

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.geometry import ConvexSet, Penalty
from hullabaloo.noise import TestKey

KEY = TestKey(bytes(range(32)))
SHAPES: dict[str, dict[str, ConvexSet | Penalty]] = {
    "plain": {},
    "l1 ball": {"constraint": hb.L1Ball(0.2)},
    "l2 ball": {"constraint": hb.L2Ball(3.0)},
    "box": {"constraint": hb.Box(-1.0, 1.0)},
    "l1": {"penalty": hb.L1Penalty(0.01)},
    "l2": {"penalty": hb.SquaredL2Penalty(0.01)},
    "both": {"penalty": hb.ElasticNetPenalty(0.1, 0.5)},
}
BUDGETS = [hb.Budget(1.0, 1e-6), hb.Budget(1e-4, 1e-9), hb.Budget.gdp(20.0), hb.Budget.zcdp(1e-6)]


@pytest.mark.few(1)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("solver", ["moments", "gradient", hb.GradientSolver()])
@pytest.mark.parametrize("declared", [1, 1000, 100_000])
def test_two_records_whatever_was_declared(shape: str, solver: str | hb.GradientSolver, declared: int) -> None:
    """Far fewer records than declared leave sums of squares that noise makes negative."""
    domain = hb.Domain(features={"a": (-1, 1)}, target=(-1, 1), records=declared)
    X, y = np.array([[0.0], [1.0]]), np.array([0.0, 1.0])
    for budget in BUDGETS:
        model = hb.LinearRegression(
            budget=budget, domain=domain, neighbours="add-or-remove", solver=solver, **SHAPES[shape]
        )
        for run in range(12 if solver == "moments" else 3):
            model.test_key = KEY.derive(run)
            fitted = model.fit(X, y)
            assert np.isfinite(fitted.release_.theta).all()
            assert budget.admits(fitted.statement_.event)
            if run == 0:
                assert str(fitted.summary())
            if run == 0 and fitted.release_.moments is not None:
                assert np.isfinite(fitted.refit(penalty=hb.L1Penalty(0.01)).release_.theta).all()


@pytest.mark.few(1)
@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize("intercept", [True, False])
def test_few_records_and_many_equal_columns(n: int, intercept: bool) -> None:
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for p in (1, 2, 30):
            domain = hb.Domain(row_norm=("l1", 2.0), target=(-1, 1))
            for run, shape in enumerate(SHAPES.values()):
                for solver in ("moments", "gradient", hb.GradientSolver()):
                    X = np.repeat(rng.choice([-1.0, 0.0, np.nan, 1e300], (n, 1)), p, axis=1)
                    model = hb.LinearRegression(
                        budget=BUDGETS[run % 4], domain=domain, solver=solver, fit_intercept=intercept, **shape
                    )
                    model.test_key = KEY.derive(f"{n} {p} {run}")
                    assert np.isfinite(model.fit(X, rng.choice([-1.0, 1.0], n)).release_.theta).all()
