"""Fits of tables with the same public facts and the same noisy answers cannot be told apart: nothing else leaves the curator."""

from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

import pytest

import hullabaloo as hb
from hullabaloo.linear_model import ESTIMATORS
from hullabaloo.noise import TestKey
from hullabaloo.release.planned import prepare
from tests.replay import cases
from tests.replay.compare import Show, told_apart

CELLS = [(name, solver, relation) for relation in cases.RELATIONS for name in ESTIMATORS for solver in cases.SOLVED]
SOLVER_OF = {
    "ElasticNet": "coordinate_descent",
    "GroupLasso": "mirror_descent",
    "HuberRegressor": "adaptive_gradient",
    "Lasso": "dual_frank_wolfe",
    "LinearSVC": "gradient",
    "LogisticRegression": "gradient",
    "MultiTaskRegression": "frank_wolfe",
    "PoissonRegressor": "preconditioned_gradient",
    "QuantileRegressor": "gradient",
    "Ridge": "moments",
    "StructuredSparseClassifier": "mirror_descent",
    "StructuredSparseRegression": "moments",
}
"""A solver for each estimator that needs no planner: what that chooses is compared in the long tests, and once here."""
LEFT = [solver for solver in cases.SOLVED if solver not in SOLVER_OF.values()]
"""Solvers that no estimator above has."""
QUICK = [
    *((*pair, cases.RELATIONS[place % 2]) for place, pair in enumerate(SOLVER_OF.items())),
    *(("LinearRegression", solver, cases.RELATIONS[place % 2]) for place, solver in enumerate(LEFT)),
]
FIRST = {cell[1]: cell for cell in reversed(QUICK)}
LATER = {"greedy_selection of two", "constant", "greedy_coordinate_descent", "objective_perturbation"}
"""An option that decides no more than how often is asked, and solvers of which `tests/test_fit.py` compares what is shown of tables that differ in a record."""
FAST = [
    cell if cell in FIRST.values() and cell[1] not in LATER else pytest.param(cell, marks=pytest.mark.slow)
    for cell in QUICK
]
"""Of the estimators of one solver the first; all others are of the long tests."""


def test_every_estimator_and_every_solver_is_compared() -> None:
    assert {name for name, _, _ in QUICK} == set(ESTIMATORS)
    assert {solver for _, solver, _ in QUICK} == set(cases.SOLVED)


@pytest.mark.slow
def test_the_solver_that_is_named_is_the_one_compared() -> None:
    """At a smaller budget names give way to the constant, and all cells would compare that."""
    for name, solver, relation in QUICK:
        model = cases.model(name, solver, relation)
        encoding = model._encoding(None, None)
        plan = prepare(model._task(encoding), encoding, cases.N if relation == "replace-one" else None).plan
        assert solver == "auto" or plan.solver == solver.partition(" ")[0], (name, solver, relation)


def identical(show: Show, cell: tuple[str, str, str], tmp_path: Path, among: Container[str]) -> None:
    name, solver, relation = cell
    model = cases.model(name, solver, relation)
    if model is None:
        pytest.skip(f"{name} is not solved by {solver} in any shape")
    others = {other: table for other, table in cases.others(relation).items() if other in among}
    assert others
    assert told_apart(show, model, cases.base(), others, tmp_path / "run") == {}


@pytest.mark.parametrize("cell", FAST, ids="-".join)
def test_nothing_but_noisy_answers_tells_tables_apart(cell: tuple[str, str, str], show: Show, tmp_path: Path) -> None:
    identical(show, cell, tmp_path, ("all records",) if cell[2] == "replace-one" else ("none",))


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS[::3], ids="-".join)
def test_every_third_cell_with_every_table(cell: tuple[str, str, str], show: Show, tmp_path: Path) -> None:
    identical(show, cell, tmp_path, cases.others(cell[2]))


@pytest.mark.few(1)
@pytest.mark.parametrize("relation", cases.RELATIONS)
@pytest.mark.parametrize("solver", ["moments", "gradient"])
def test_cells_of_any_type_leave_no_trace(relation: str, solver: str, show: Show, tmp_path: Path) -> None:
    model = cases.model("LinearRegression", solver, relation)
    clean, hostile = cases.objects(cases.base()), cases.hostile()
    assert told_apart(show, model, clean, {"hostile": hostile}, tmp_path / "run") == {}


@pytest.mark.few(1)
@pytest.mark.parametrize("relation", cases.RELATIONS)
@pytest.mark.parametrize("solver", [solver for solver in cases.SOLVED if solver not in ("auto", "moments")])
def test_the_same_key_raises_for_no_table_alone(relation: str, solver: str) -> None:
    """Without replay: whatever the curator answers, a fit ends in a release."""
    model = cases.model("LinearRegression", solver, relation)
    model.set_params(test_key=TestKey(bytes(32)))
    for table in (cases.base(), *cases.others(relation).values()):
        assert model.fit(table).release_.theta.shape == (5, 1)


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("relation", cases.RELATIONS)
def test_prepared_matrices(sparse: bool, relation: str, show: Show, tmp_path: Path) -> None:
    import numpy as np
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    frames = {name: rng.normal(size=(cases.N - (relation != "replace-one") * 9, 3)) for name in ("other", "wild")}
    frames["wild"][::2] = [np.nan, np.inf, 1e300]
    records = {"records": cases.N} if relation == "add-or-remove" else {}
    domain = hb.Domain(row_norm=1.0, target=(-1, 1), **records)
    model = hb.LinearRegression(budget=cases.BUDGET, domain=domain, neighbours=relation, solver="gradient")
    kind = csr_array if sparse else np.asarray

    def go(model: Any, X: Any) -> Mapping[str, Any]:
        with pytest.MonkeyPatch.context() as patch:
            fit = type(model).fit
            patch.setattr(type(model), "fit", lambda self, X: fit(self, X, np.zeros(X.shape[0])))
            return show(model, X)

    base = kind(rng.normal(size=(cases.N, 3)))
    assert told_apart(go, model, base, {name: kind(X) for name, X in frames.items()}, tmp_path / "run") == {}
