"""Plans for norms of set functions: models of the structure's kind, who is offered, upper bounds in print, and nothing new for other problems."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.geometry import Cardinality, CustomSetFunction, SubmodularBall, SubmodularPenalty, omega
from hullabaloo.geometry.submodular.group_cover import GroupCover, Intervals
from hullabaloo.losses import MultinomialLogistic
from hullabaloo.planning.choose import solvers_for
from hullabaloo.planning.named import SOLVERS
from hullabaloo.planning.synthetic import SCENARIOS, cheap_support, structured, synthetic_table
from hullabaloo.solvers.reference import TARGET_VARIANCE
from tests.solvers.tables import problem, table

BUDGET = hb.Budget(1.0, 1e-6)


@pytest.fixture
def minimisers(monkeypatch: pytest.MonkeyPatch) -> None:
    """No solvers but those whose bounds are printed: what others would do is not the subject."""
    kept = {name: SOLVERS[name] for name in ("output_perturbation", "objective_perturbation", "dual_frank_wolfe")}
    monkeypatch.setattr("hullabaloo.planning.choose.SOLVERS", kept)


@pytest.mark.slow
def test_cheap_supports_are_of_the_structures_kind() -> None:
    p = 40
    parents = [(j - 1) // 2 if j else -1 for j in range(p)]
    groups = [range(start, start + 4) for start in range(0, p, 4)]
    for stream in range(20):
        run = np.flatnonzero(cheap_support(Intervals(p), p, stream))
        assert run[-1] - run[0] == len(run) - 1 == 4
        tree = set(np.flatnonzero(cheap_support(GroupCover.tree(parents), p, stream)).tolist())
        assert all(j == 0 or parents[j] in tree for j in tree)
        assert 5 <= len(tree) <= 9
        whole = cheap_support(GroupCover(groups), p, stream).reshape(-1, 4)
        assert np.array_equal(whole.any(axis=1), whole.all(axis=1))
        assert whole.any(axis=1).sum() == 2
        assert cheap_support(Cardinality(), p, stream).sum() == 5
        assert cheap_support(CustomSetFunction(lambda members: len(members) ** 0.5, p), p, stream).sum() == 5
    assert len({tuple(np.flatnonzero(cheap_support(Intervals(p), p, stream))) for stream in range(20)}) >= 10


@pytest.mark.parametrize("shape", ["penalty", "ball"])
def test_the_model_of_a_table_has_the_structure(shape: str) -> None:
    function = GroupCover([[0, 1], [2, 3], [4, 5]])
    added: Any = {"penalty": SubmodularPenalty(function, 0.01)} if shape == "penalty" else {"constraint": SubmodularBall(function, 0.3)}  # fmt: skip
    asked = problem(table(30, 6), **added)
    for scenario in SCENARIOS:
        made = synthetic_table(asked, scenario, 2_000)
        theta = made.slopes[:, 0]
        kept = (theta != 0.0).reshape(3, 2)
        assert np.array_equal(kept.any(axis=1), kept.all(axis=1))
        assert kept.any(axis=1).sum() == 1
        if shape == "ball":
            assert 0.0 < omega(function, theta) <= 0.3 * (1.0 + 1e-12)
        else:
            assert float(np.var(made.X @ theta)) == pytest.approx(scenario.explained * TARGET_VARIANCE, rel=0.05)


@pytest.mark.parametrize("together", [False, True])
def test_matrices_have_it_too(together: bool) -> None:
    """A function of all the entries, or of the rows of each column."""
    data = table(30, 4, targets=3)
    function: Any = Intervals(12) if together else Intervals()
    body = SubmodularBall(function, 5.0)
    asked = replace(problem(data, constraint=body), loss=MultinomialLogistic())
    made = synthetic_table(asked, SCENARIOS[0], 200).slopes
    assert made.shape == (4, 3)
    assert body.contains(made.ravel())
    assert structured(function, 1, 12, 1).shape == (12, 1)


def test_dual_frank_wolfe_is_offered_beside_the_norm_of_a_set_function_alone() -> None:
    data = table(30, 6)
    assert "dual_frank_wolfe" in solvers_for(problem(data, penalty=SubmodularPenalty(Intervals(6), 0.01)))
    for other in (problem(data), problem(data, penalty=hb.L1Penalty(0.01)), problem(data, constraint=SubmodularBall(Intervals(6), 1.0))):  # fmt: skip
        assert "dual_frank_wolfe" not in solvers_for(other)


@pytest.mark.slow
@pytest.mark.usefixtures("minimisers")
def test_upper_bounds_are_in_print_and_in_the_dictionary() -> None:
    function = GroupCover([[0, 1], [2, 3], [4, 5]])
    penalised = hb.plan(n=20_000, p=6, budget=BUDGET, penalty=SubmodularPenalty(function, 0.01))
    bound = next(one for one in penalised.upper_bounds if one.solver == "output_perturbation")
    assert bound.width == pytest.approx(function.gaussian_width(6).value, rel=1e-6)
    assert bound.value >= next(one.risk for one in penalised.rows if one.solver == "output_perturbation")
    said = str(penalised)
    assert f"≤ {bound.value:.2g}*" in said
    assert "Theorem 1" in said
    assert f"Gaussian width {bound.width:.3g}" in said
    assert bound.value in [one["value"] for one in penalised.to_dict()["upper_bounds"]]
    held = hb.plan(n=20_000, p=6, budget=BUDGET, set=SubmodularBall(function, 0.5))
    assert {one.solver for one in held.upper_bounds} == {"output_perturbation", "objective_perturbation"}
    for one in held.upper_bounds:
        assert one.value >= next(line.low for line in held.rows if line.solver == one.solver)


@pytest.mark.slow
def test_a_callable_has_solvers_too() -> None:
    own = CustomSetFunction(lambda members: min(len(members), 2), 5)
    table_ = hb.plan(n=20_000, p=5, budget=BUDGET, set=SubmodularBall(own, 0.5))
    able = {one.solver for one in table_.rows if one.able}
    assert {"gradient", "moments"} <= able
    assert not able & {"objective_perturbation", "output_perturbation"}


def test_a_choice_is_remembered() -> None:
    """Set functions are equal and hash as what they were made of, so that the second fit of a kind plans nothing again."""
    for make in (
        lambda: Intervals(6),
        lambda: GroupCover([[0, 1], [2, 3], [4, 5]]),
        lambda: GroupCover.tree([-1, 0, 0, 1, 1, 2]),
        lambda: GroupCover.grid(2, 3),
        lambda: hb.ConcaveCardinality.power(6, 0.5),
    ):
        function, again = make(), make()
        assert hash(SubmodularBall(function, 1.0)) == hash(SubmodularBall(again, 1.0))
        assert SubmodularPenalty(function, 1.0) == SubmodularPenalty(again, 1.0)


def test_solvers_of_hundreds_of_proxes_are_not_offered_where_a_prox_takes_minimum_cuts() -> None:
    rows = table(p=4)
    nested, crossing = GroupCover([[0, 1], [2], [3], [0, 1, 2, 3]]), GroupCover([[0, 1], [1, 2], [2, 3]])
    own = CustomSetFunction(lambda members: len(members) ** 0.5, 4)
    for function, offered in [(Intervals(4), True), (nested, True), (crossing, False), (own, False)]:
        for shaped in ({"constraint": SubmodularBall(function, 1.0)}, {"penalty": SubmodularPenalty(function, 0.1)}):
            assert ("preconditioned_gradient" in solvers_for(problem(rows, **shaped))) == offered
