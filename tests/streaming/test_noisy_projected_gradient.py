"""NoisyProjGrad keeps the promise of its Proposition B.1, and its constants are public."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.noise import TestKey
from hullabaloo.privacy.answers import NoisyMoments
from hullabaloo.solvers import Problem, solve_moments
from hullabaloo.streaming import noisy_projected_gradient as method

DOMAIN = hb.Domain(features=dict.fromkeys("abc", (-1, 1)), target=(-1, 1), indicators=False)
SETS: list[Any] = [hb.L1Ball(0.8), hb.L2Ball(0.5), hb.Box(-0.3, 0.4), hb.Simplex()]


def problem(constraint: Any, records: int) -> Problem:
    process = hb.streaming.IncrementalRegression(
        budget=hb.Budget(math.inf), domain=DOMAIN, horizon=records, constraint=constraint
    )._open(DOMAIN.encoding())
    return process.problem


def rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(-1, 1, (n, 3)), np.ones(n)])
    return X, np.clip(X[:, :3] @ [0.6, -0.4, 0.2] + rng.normal(0, 0.2, n), -1, 1)


def noisy(X: np.ndarray, y: np.ndarray, sigma: float, seed: int) -> NoisyMoments:
    """The moments with noise of the declared law, from a seed."""
    n, p = X.shape
    about = NoisyMoments(
        X.T @ X / n, (X.T @ y / n)[:, None], np.array([[y @ y / n]]), sigma, math.sqrt(p), 1.0, 1.0, n, counted=True
    )
    rng = np.random.default_rng(seed)
    half = np.triu(rng.normal(size=(p, p)) / math.sqrt(2), 1)
    noise = about.gram_noise * (half + half.T + np.diag(rng.normal(size=p)))
    return replace(about, gram=about.gram + noise, cross=about.cross + about.cross_noise * rng.normal(size=(p, 1)))


@pytest.mark.parametrize("sigma", [0.0, 5.0, 100.0])
@pytest.mark.parametrize("constraint", SETS, ids=str)
@pytest.mark.few(4)
def test_proposition_b1(constraint: Any, sigma: float) -> None:
    """f(θ̄) − min f ≤ (α + L)‖C‖/√r + α‖C‖; the noise exceeds α in at most one of 100 draws, and the seeds are fixed.

    Tests: 003, Definition 5; 003, Proposition B.1.
    """
    posed = problem(constraint, 2_000)
    for seed in range(2):
        X, y = rows(2_000, seed)
        moments = noisy(X, y, sigma, seed)

        def risk(theta: np.ndarray) -> float:
            return float(0.5 * np.mean((X @ theta - y) ** 2))  # noqa: B023

        exact = solve_moments(noisy(X, y, 0.0, seed), posed).theta[:, 0]
        found = method.noisy_projected_gradient(moments, posed).theta[:, 0]
        plan = method.step_constants(moments, posed)
        assert posed.feasible is not None
        assert posed.feasible.contains(found, 1e-9)
        assert risk(found) - risk(exact) <= (plan.excess if sigma else 1e-12)
        true = np.linalg.norm(X.T @ (X @ found - y) / len(y))
        assert true <= plan.lipschitz
        assert (
            np.linalg.norm((moments.gram - X.T @ X / len(y)) @ found - (moments.cross[:, 0] - X.T @ y / len(y)))
            <= plan.error
        )


def test_the_steps_follow_corollary_b2() -> None:
    """Tests: 003, Corollary B.2."""
    posed = problem(hb.L2Ball(0.5), 2_000)
    X, y = rows(2_000, 0)
    loud, quiet = (method.step_constants(noisy(X, y, sigma, 0), posed) for sigma in (200.0, 0.0))
    assert loud.steps == math.ceil((1 + loud.lipschitz / loud.error) ** 2)
    assert loud.excess <= 2 * loud.error * loud.diameter * (1 + 1e-12)
    assert quiet.steps == math.inf
    assert quiet.error == 0.0
    radius = math.hypot(0.5, 1.0)
    assert quiet.diameter == pytest.approx(2 * radius)
    assert quiet.lipschitz == pytest.approx(2 * (2 * radius + 1))
    assert quiet.excess == 0.0
    assert loud.size == loud.diameter / (math.sqrt(loud.steps) * (loud.error + loud.lipschitz))


def test_it_is_a_solver_of_the_stream_beside_the_default() -> None:
    X, y = rows(2_000, 1)
    settings: dict[str, Any] = {
        "budget": hb.Budget(20.0, 1e-6), "domain": DOMAIN, "horizon": 2_000, "every": 500, "constraint": hb.L2Ball(0.9),
        "test_key": TestKey(bytes(32)),
    }  # fmt: skip
    paper = hb.streaming.IncrementalRegression(**settings, solver="noisy_projected_gradient").fit(X[:, :3], y)
    plain = hb.streaming.IncrementalRegression(**settings).fit(X[:, :3], y)
    assert np.array_equal(paper.model_at().release_.moments.gram, plain.model_at().release_.moments.gram)
    assert np.abs(paper.coef_ - plain.coef_).max() < 0.2
    told, plainly = paper.summary().rows[0], plain.summary().rows[0]
    assert told.privacy_error == plainly.privacy_error  # of the debiased estimate from the same moments


@pytest.mark.parametrize("penalty", [None, hb.SquaredL2Penalty(0.1)], ids=str)
def test_it_needs_a_set(penalty: Any) -> None:
    model = hb.streaming.IncrementalRegression(
        budget=hb.Budget(1.0, 1e-6), domain=DOMAIN, horizon=10, penalty=penalty, solver="noisy_projected_gradient"
    )
    with pytest.raises(ValueError, match="projects onto a convex set"):
        model.begin()


@pytest.mark.parametrize("constraint", [hb.L2Ball(0.9), hb.L1Ball(0.5)], ids=str)
def test_the_more_is_spent_the_nearer_it_comes_to_the_minimiser(constraint: Any) -> None:
    """At ε = 1000 predictions are within 0.05 standard deviations of the exact minimiser's over the set; columns fill a fifth of their bounds."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.3, 0.7, (40_000, 3))
    y = np.clip(0.2 + X @ [0.6, -0.4, 0.2] + 0.05 * rng.standard_normal(40_000), -1, 1)
    settings: dict[str, Any] = {"domain": DOMAIN, "horizon": 40_000, "every": 40_000, "constraint": constraint}
    settings |= {"test_key": TestKey(bytes(32))}
    paper = hb.streaming.IncrementalRegression(
        **settings, budget=hb.Budget(1000.0, 1e-8), solver="noisy_projected_gradient"
    ).fit(X, y)
    exact = hb.streaming.IncrementalRegression(**settings, budget=hb.Budget(math.inf)).fit(X, y).predict(X)
    assert np.sqrt(np.mean((paper.predict(X) - exact) ** 2)) < 0.05 * exact.std()


def test_steps_that_meet_negative_curvature_keep_to_the_bound() -> None:
    """G with a negative eigenvalue: all r steps are run and averaged, by hand here."""
    posed = problem(hb.L2Ball(0.5), 2_000)
    X, y = rows(2_000, 0)
    moments = noisy(X, y, 60.0, 0)
    moments = replace(moments, gram=moments.gram - 0.5 * np.diag([0.0, 0.0, 1.0, 0.0]))
    plan = method.step_constants(moments, posed)
    assert posed.feasible is not None
    assert plan.steps < method.MOST_STEPS
    found = method.noisy_projected_gradient(moments, posed)
    convex = replace(moments, gram=method.mended(moments.gram, 0.0))
    theta, total = method.noisy_projected_gradient(convex, posed).theta[:, 0], np.zeros(4)
    for _ in range(int(plan.steps)):
        total += theta
        theta = posed.feasible.project(theta - plan.size * (moments.gram @ theta - moments.cross[:, 0]))  # type: ignore[attr-defined]
    assert found.theta[:, 0] == pytest.approx(total / plan.steps, abs=1e-6)
    assert np.abs(found.theta[:, 0] - theta).max() > 1e-4
