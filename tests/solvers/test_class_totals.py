"""Totals of classes learned each against the rest: the shift after the fit, what it is told by, and what it costs."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.losses import Logistic
from hullabaloo.losses.reading_kernels import chances_apart
from hullabaloo.model_selection.catalogue import reading_of
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Allowance, Neighbours
from hullabaloo.release import planned
from hullabaloo.solvers import GradientSolver, Problem, Solution
from hullabaloo.solvers.class_totals import bought, shifted

KEY = TestKey(b"totals of several classes, a key")
N = 20_000


def table(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A class in the middle of a column, which no line tells from the others: its chances, brought to sum 1, are off by a tenth."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (N, 2))
    scores = np.column_stack([5.0 * X[:, 0], 2.0 - 5.0 * np.abs(X[:, 0]), -4.0 * X[:, 0] + X[:, 1] - 0.7])
    return X, np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)


def model(epsilon: float = 3.0, **more: Any) -> Any:
    names: Any = {"a": (-1, 1), "b": (-1, 1)}
    domain = hb.Domain(features=names, classes={"kind": [0, 1, 2]}, indicators=False, records=N)
    about = {"solver": "preconditioned_gradient", "multi_class": "one-vs-rest", "inference": False, "test_key": KEY}
    return hb.LogisticRegression(domain=domain, budget=hb.Budget(epsilon, 1e-8), **{**about, **more})


def told(fitted: Any) -> Any:
    return next((line for line in fitted.release_.trace if "totals off" in line), None)


@pytest.mark.few(1)
@pytest.mark.parametrize("more", [{}, {"inference": "auto"}, {"neighbours": "add-or-remove"}, {"solver": "gradient"}])
def test_totals_of_chances_are_those_of_the_records(more: dict[str, Any]) -> None:
    """Within five errors of what is told of them, and 2 %, where they were off by 8 % and more: of 12 totals one is further in a run of 10⁵, were errors noise alone."""
    X, y = table(0)
    fitted = model(**more).fit(X, y)
    seen, line = np.bincount(y), told(fitted)
    off = fitted.predict_proba(X).sum(axis=0) - seen
    assert np.all(np.abs(off - line["totals off"]) <= 5.0 * line["totals error"])
    assert np.all(np.abs(off) <= 0.02 * seen)
    assert sum(line["totals off"]) == pytest.approx(0.0, abs=1e-6 * N)
    assert fitted.budget.admits(fitted.statement_.event)
    assert [query["name"] for query in fitted.release_.plan["queries"]].count("score") == 1


def test_predictions_exports_evaluations_and_files_have_the_shift(tmp_path: Any) -> None:
    X, y = table(1)
    fitted = model().fit(X, y)
    chances = fitted.predict_proba(X)
    fitted.save(tmp_path / "m.json")
    loaded = hb.load(tmp_path / "m.json")
    assert np.array_equal(loaded.predict_proba(X), chances)
    assert told(loaded) == told(fitted)
    assert fitted.to_sklearn().predict_proba(X) == pytest.approx(chances, abs=1e-9)
    assert np.array_equal(fitted.predict(X), np.argmax(chances, axis=1))
    z = fitted.encoding_.predictions(X, fitted.release_.theta)
    assert reading_of(fitted.encoding_, Logistic()).seen(z, np.ones_like(z)).forecast == pytest.approx(
        chances, abs=1e-9
    )


def test_noise_alone_moves_next_to_nothing() -> None:
    """Of 200 answers that are noise, shifts lose a tenth of what Newton's steps would, on average; more than twice that once in 10⁶ runs."""
    rng = np.random.default_rng(3)
    problem = Problem(Logistic(), 2, True, 2.0, 1.5, 1.0, 5, 1000, Neighbours.REPLACE_ONE)
    bent, lost, step = np.array([50.0, 60.0, 80.0, 100.0, 90.0]), [], []
    J = np.diag(bent) - np.outer(bent, bent) / bent.sum()
    for _ in range(200):
        noise = 20.0 * rng.normal(size=5)
        answer = np.append(0.5 * noise, np.sqrt(3.0) / 2.0 * bent)
        moved = shifted(problem, Solution(np.zeros((2, 5))), answer, 10.0).theta
        assert not moved[0].any()
        assert abs(moved[1].sum()) < 1e-9
        newton = np.linalg.pinv(J) @ noise
        lost.append(moved[1] @ J @ moved[1])
        step.append(newton @ J @ newton)
    assert np.mean(lost) < 0.2 * np.mean(step)


def test_whatever_the_answer_shifts_are_numbers() -> None:
    """Of totals from 1 to 10^6 records, and noise of 10^-6 to 10^30 of them: by it alone all curvature may be 0, or of one class."""
    rng = np.random.default_rng(4)
    for k, power, drowned in itertools.product((3, 5, 26), range(-6, 31, 3), (True, False)):
        problem = Problem(Logistic(), 2, True, 2.0, 1.5, 1.0, k, 1000, Neighbours.REPLACE_ONE)
        noise = 10.0**power * rng.normal(size=2 * k)
        answer = np.append(rng.normal(size=k), np.zeros(k) if drowned else rng.uniform(size=k))
        noise[k:] = -np.abs(noise[k:]) if drowned else noise[k:]
        made = shifted(problem, Solution(np.zeros((2, k))), 10.0 ** rng.integers(0, 7) * answer + noise, 10.0**power)
        assert np.isfinite(made.theta).all()
        assert np.isfinite([*made.trace[-1]["totals off"], made.trace[-1]["totals error"]]).all()


@pytest.mark.parametrize("spread", [0.3, 2.0, 8.0])
def test_a_step_goes_towards_the_totals_and_not_beyond(spread: float) -> None:
    """Without noise to speak of: what totals are off by, in the metric of their noise, falls to a half at most, and the sum of the losses whose gradient it is falls."""
    rng = np.random.default_rng(4)
    z = spread * rng.normal(size=(5_000, 4)) + np.array([0.0, 0.5, -0.5, -1.0])
    truth = np.eye(4)[
        np.argmax(chances_apart(z + np.array([0.6, 0.0, -0.4, 0.3])).cumsum(axis=1) > rng.random((5_000, 1)), axis=1)
    ]

    def answer(b: np.ndarray) -> np.ndarray:
        q = chances_apart(z + b)
        return 0.5 * np.append((q - truth).sum(axis=0), np.sqrt(3.0) * (q * (1.0 - q)).sum(axis=0))

    problem = Problem(Logistic(), 1, True, 1.0, 1.0, 1.0, 4, 5_000, Neighbours.REPLACE_ONE)
    before = answer(np.zeros(4))
    b = shifted(problem, Solution(np.zeros((1, 4))), before, 1e-3).theta[0]
    after = answer(b)
    assert np.linalg.norm(after[:4]) < 0.5 * np.linalg.norm(before[:4])
    assert b @ before[:4] < 0.0
    assert b @ after[:4] <= 0.1 * abs(b @ before[:4])


@pytest.mark.parametrize(
    "more",
    [
        {"multi_class": "multinomial", "solver": "mirror_descent", "constraint": hb.L2Ball(2.0)},
        {"fit_intercept": False},
        {"solver": "objective_perturbation", "calibration": "paper", "penalty": hb.SquaredL2Penalty(0.1)},
    ],
    ids=lambda more: next(iter(more)),
)
def test_it_is_bought_where_it_is_of_use_alone(more: dict[str, Any]) -> None:
    plan = hb_planned(model(**more))
    assert plan.totals is None
    assert all(query.name != "score" for query in plan.plan.queries)


def test_another_solver_than_the_library_s_is_asked_for_none() -> None:
    class Own(GradientSolver):
        pass

    assert hb_planned(model(solver=Own())).totals is None


@pytest.mark.few(1)
@pytest.mark.parametrize("solver", ["greedy_selection", "coordinate_descent", "constant", "preconditioned_gradient"])
@pytest.mark.parametrize("epsilon", [0.3, 5.0])
def test_the_plan_with_it_is_within_the_budget(solver: str, epsilon: float) -> None:
    """Events of other kinds add up to more than Gaussian ones: the answer then gets less."""
    found = hb_planned(model(epsilon, solver=solver))
    assert found.totals is not None
    assert found.bought.budget.admits(found.bought.event)
    assert found.plan.event == found.bought.event


@pytest.mark.parametrize("fits", [7, math.inf])
def test_what_fits_is_looked_for_in_twenty_tries_and_else_nothing_is_asked(
    fits: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the events add up to: the answer has 0.8^6 of its μ at the seventh try, and a plan that no answer fits beside stands alone."""
    whole, tries, plain = hb_planned(model(1.0, solver="constant")).totals.mu, list[Any](), planned.compose

    def composed(*events: Any) -> Any:
        tries.append(events)
        return plain(*events, count=1 if len(tries) >= fits else 10**6)

    monkeypatch.setattr(planned, "compose", composed)
    found = hb_planned(model(1.0, solver="constant"))
    assert len(tries) == min(fits, 20)
    assert found.task.budget.admits(found.bought.event)
    if fits == math.inf:
        assert found.totals is None
        assert all(query.name != "score" for query in found.plan.queries)
    else:
        assert found.totals.mu == pytest.approx(0.8**6 * whole)
        assert found.plan.queries[-1] == found.totals


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove"])
def test_a_budget_of_any_size_is_shared_or_left_to_the_fit(neighbours: str) -> None:
    """Of an ε beyond 50 noise makes no use, and of one that is next to nothing beside δ neither: a share of it would buy nothing."""
    for epsilon in (1e-4, 1.0, 30.0, 50.0, 60.0, 80.0, 1e3, 1e6):
        found = hb_planned(model(epsilon, solver="constant", neighbours=neighbours))
        assert found.task.budget.admits(found.bought.event)
        assert 0.01 < (found.totals.mu / found.allowance.mu) ** 2 < 0.1
    tiny: Any = Allowance(hb.Budget(1e-9, 1e-6))
    assert bought(found.problem, None, tiny) == (None, tiny)  # type: ignore[arg-type]  # it asks for no price
    X, y = table(2)
    assert told(model(1e3, neighbours=neighbours).fit(X, y)) is not None


def hb_planned(estimator: Any) -> Any:
    encoding = estimator._encoding(None, None)
    return planned.prepare(estimator._task(encoding), encoding, N)
