"""Iterates: the points that a run asked at, whatever view it asked through; who is shown them changes nothing."""

from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.curator.views import centred_rows, chosen_columns, of_target, turned_rows
from hullabaloo.data.source import Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import Squared
from hullabaloo.planning.named import SOLVERS
from hullabaloo.privacy import Neighbours
from hullabaloo.solvers import Problem, Watched

SILENT = ("moments",)
"""Solvers that ask at no point."""


class Rowed:
    """Answers that are the predictions of a view's rows."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def answer(self, name: str, /, theta: Any, **named: Any) -> Any:
        return self.rows.X @ theta

    def of_target(self, target: int) -> "Rowed":
        return Rowed(of_target(self.rows, target))

    def restricted(self, columns: Any) -> "Rowed":
        return Rowed(chosen_columns(self.rows, np.asarray(columns), intercept=True))

    def projected(self, matrix: Any) -> "Rowed":
        return Rowed(turned_rows(self.rows, matrix))

    def centred(self, centre: Any) -> "Rowed":
        return Rowed(centred_rows(self.rows, centre))


def test_a_point_predicts_through_every_view_what_its_note_predicts() -> None:
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.uniform(-1, 1, (30, 4)), np.ones(30)])
    problem = Problem(Squared(), 5, True, 5.0, 2.0, 1.0, 2, 30, Neighbours.REPLACE_ONE)
    points: list[Any] = []
    watched = Watched(Rowed(Rows(X, rng.uniform(-1, 1, (30, 2)))), problem, points)
    middle, turn = np.append(rng.uniform(-1, 1, 4), 0.0), rng.normal(size=(5, 3))
    views = [
        (watched, 5), (watched.restricted([2, 0]), 3), (watched.projected(turn), 3), (watched.centred(middle), 5),
        (watched.of_target(1).restricted([3]), 2), (watched.projected(rng.normal(size=(5, 5))).projected(turn), 3),
    ]  # fmt: skip
    for view, size in views:
        found = view.answer("gradient", rng.normal(size=size))
        np.testing.assert_allclose(found, X @ points[-1][:, 1], atol=1e-12)
    assert np.array_equal(points[4][:, 0], points[3][:, 0])  # the other target's stay
    watched.answer("norm_histogram", np.zeros(5))
    assert len(points) == len(views)


def fitted(solver: Any, **more: Any) -> Any:
    rng = np.random.default_rng(1)
    X = rng.uniform(0.0, 10.0, (2000, 3))
    y = X @ [0.3, -0.2, 0.0] + rng.normal(0.0, 0.3, 2000)
    domain = hb.Domain(features=dict.fromkeys("abc", (0, 10)), target=(-4, 4), indicators=False)
    shape: dict[str, Any] = {"constraint": hb.L1Ball(1.0)} if solver in ("mirror_descent", "frank_wolfe") else {}
    if solver == "dual_frank_wolfe":
        shape = {"penalty": hb.SubmodularPenalty(hb.Cardinality(), 0.01)}
    budget = hb.Budget(2.0, 1e-6)
    model = hb.LinearRegression(
        budget=budget, domain=domain, solver=solver, inference=False, test_key=bytes(32), **shape
    )
    return model.fit(X, y, **more)


@pytest.mark.few(1)
@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_iterates_are_told_and_change_nothing(solver: str) -> None:
    told: list[Any] = []

    def callback(step: int, coef: Any, intercept: float) -> None:
        told.append((step, coef.copy(), intercept))
        coef[:] = np.nan  # a copy

    model = fitted(solver, callback=callback)
    np.testing.assert_array_equal(model.coef_, fitted(solver).coef_)
    assert [step for step, *_ in told] == list(range(1, len(told) + 1))
    assert bool(told) == (solver not in SILENT)
    for _, coef, intercept in told:
        assert coef.shape == model.coef_.shape
        assert np.isfinite(coef).all()
        assert np.isfinite(intercept)
    if solver in ("gradient", "coordinate_descent", "adaptive_gradient"):
        first, last = (np.linalg.norm(told[at][1] - model.coef_) for at in (0, -1))
        assert last <= max(first, 0.1)


def test_the_options_of_a_named_solver_are_those_of_its_public_class() -> None:
    for name, solver in SOLVERS.items():
        kind = getattr(hb, type(solver).__name__)
        assert kind() == solver
        assert kind.name == name
    # by name the gradient solver is held up by the constant
    np.testing.assert_array_equal(fitted(hb.MomentsSolver()).coef_, fitted("moments").coef_)


def test_a_callback_that_raises_costs_no_release() -> None:
    def callback(step: int, coef: Any, intercept: float) -> None:
        if step == 2:
            raise KeyError("mine")

    with pytest.warns(RuntimeWarning, match=r"raised KeyError at step 2 of \d+ .* release are whole"):
        model = fitted("gradient", callback=callback)
    np.testing.assert_array_equal(model.coef_, fitted("gradient").coef_)
    assert "callback" not in model.get_params()


def test_what_cannot_be_called_is_refused_before_anything_is_read() -> None:
    with pytest.raises(InvalidParameter, match="cannot be called"):
        fitted("gradient", callback=3)
