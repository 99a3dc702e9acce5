"""`hb.audit` of every solver and every estimator: sound ones pass, on canaries that realise what they can, and weakened ones are caught.

Runs are few: faults of sensitivity show in the exact distance of the tables' answers, whatever the noise; faults of the noise in its law.
False alarm: 1e-8 for each of some 100 audits, 1e-6 in all; seeds are fixed.
"""

from typing import Any

import pytest

import hullabaloo as hb
from hullabaloo.audit.canary import Canary, Record, made
from hullabaloo.curator import GradientQuery, MomentsQuery, coordinate_gradient
from hullabaloo.curator import query as room
from hullabaloo.curator.centred_gradient import CentredGradientQuery
from hullabaloo.curator.coordinate_gradient import CoordinateGradientQuery
from hullabaloo.erm.minimisation import Family
from hullabaloo.errors import CapabilityError
from hullabaloo.linear_model import ESTIMATORS
from hullabaloo.noise import TestKey
from hullabaloo.planning.named import SOLVERS, solver_named
from hullabaloo.selection.vertex import VertexQuery
from hullabaloo.solvers import MomentsSolver, Plan, Problem, Solution
from hullabaloo.solvers.base import Answers
from tests.audit.faults import Bug, halved, no_clip, noise_reused, one_draw, quieter, whole_units

KEY = TestKey(bytes(range(32)))
GDP = hb.Budget.gdp(3.0)
LARGE = hb.Budget(6.0, 0.01)
X = {"x": hb.Numeric(-1, 1, indicator=False)}
NUMBERS = hb.Domain(features=X, target=(-1, 1), records=2)
CLASSES = hb.Domain(features=X, classes=["no", "yes"], records=2)
FOUR = {name: hb.Numeric(-1, 1, indicator=False) for name in "abcd"}
HIGH, LOW = Record((1.0,), (1.0,), "high"), Record((1.0,), (-1.0,), "low")
PERSON = hb.Domain(features=X, target=(-1, 1), unit="who", records_per_unit=2, weight=("w", 3.0), records=2)

# For each solver: parameters, and the share of the claimed mu that the plainest canary realises under either relation.
ASKED: dict[str, tuple[dict[str, Any], float]] = {
    "moments": ({}, 0.999),
    "gradient": ({}, 0.999),
    "adaptive_gradient": ({}, 0.95),
    "preconditioned_gradient": ({}, 0.7),
    "subspace_descent": ({}, 0.6),
    "constant": ({"fit_intercept": True}, 0.85),
    "coordinate_descent": ({"solver": hb.CoordinateDescentSolver(rounds=2)}, 0.95),
    "greedy_selection": ({"budget": LARGE}, 0.5),
    "greedy_coordinate_descent": ({"budget": LARGE}, 0.5),
    "mirror_descent": ({"constraint": hb.L2Ball(0.5)}, 0.999),
    "frank_wolfe": (
        {"solver": hb.FrankWolfeSolver(steps=8), "constraint": hb.L1Ball(0.25), "budget": LARGE},
        0.999,
    ),
    "dual_frank_wolfe": ({"solver": hb.DualFrankWolfeSolver(steps=3, ridge=3.0), "penalty": hb.L1Penalty(0.5)}, 0.99),
    "objective_perturbation": ({"budget": hb.Budget(2.0, 0.02)}, 0.0),
    "output_perturbation": ({}, 0.99),
}
RELATIONS = ("replace-one", "add-or-remove")


def model(solver: str, neighbours: str, **changed: Any) -> hb.LinearRegression:
    about = {"budget": GDP, "domain": NUMBERS, "solver": solver, "fit_intercept": False, **ASKED[solver][0], **changed}
    return hb.LinearRegression(neighbours=neighbours, **about)


def plain(neighbours: str, domain: hb.Domain = NUMBERS) -> Canary:
    return made(domain, HIGH, LOW if neighbours == "replace-one" else None)


@pytest.mark.few(14)
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_passes(solver: str, neighbours: str) -> None:
    found = hb.audit(model(solver, neighbours), runs=12, canary=plain(neighbours), test_key=KEY)
    assert found.passed, str(found)
    share = ASKED[solver][1]
    if found.mu is not None:
        assert share * found.mu <= found.mu_realised <= found.mu * (1.0 + 1e-6)


MADE: dict[str, dict[str, Any]] = {
    "ElasticNet": {"solver": solver_named("coordinate_descent")},
    "GroupLasso": {"solver": solver_named("gradient"), "groups": [["x"]]},
    "HuberRegressor": {"solver": solver_named("gradient")},
    "Lasso": {"solver": solver_named("mirror_descent")},
    "LinearRegression": {"solver": solver_named("moments")},
    "LinearSVC": {"solver": solver_named("gradient"), "domain": CLASSES},
    "LogisticRegression": {"solver": solver_named("output_perturbation"), "domain": CLASSES},
    "MultiTaskRegression": {"solver": solver_named("mirror_descent"), "domain": hb.Domain(features=X, target={"y": (-1, 1), "z": (0, 3)}, records=2)},
    "PoissonRegressor": {"solver": solver_named("gradient"), "domain": hb.Domain(features=X, target=(0, 5), records=2)},
    "QuantileRegressor": {"solver": solver_named("gradient")},
    "Ridge": {"solver": solver_named("moments"), "domain": hb.Domain(row_norm=2.0, target=(-1, 1), records=2)},
    "StructuredSparseClassifier": {
        "solver": solver_named("mirror_descent"), "structure": hb.Intervals(4), "domain": hb.Domain(features=FOUR, classes=["n", "y"], records=2),
    },
    "StructuredSparseRegression": {
        "solver": solver_named("mirror_descent"), "structure": hb.Intervals(4), "domain": hb.Domain(features=FOUR, target=(-1, 1), records=2),
    },
}  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_passes_on_a_canary_of_its_own(name: str) -> None:
    about = {"budget": GDP, "domain": NUMBERS, "neighbours": "add-or-remove", **MADE[name]}
    found = hb.audit(getattr(hb, name)(**about), runs=10, test_key=KEY)
    assert found.passed, str(found)
    assert found.mu is not None
    assert 0.3 * found.mu <= found.mu_realised <= found.mu * (1.0 + 1e-6), found.canary


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("solver", ["moments", "gradient"])
def test_units_and_weights(solver: str, neighbours: str) -> None:
    canary = plain(neighbours, PERSON)
    found = hb.audit(model(solver, neighbours, domain=PERSON), runs=24, canary=canary, test_key=KEY)
    assert found.passed, str(found)
    assert found.unit == "who"
    assert found.mu_realised >= 0.99 * 3.0
    assert len(canary.table(0)["table"]) == 4  # twice the share, so that a third record of a person would show


def test_classes_of_several_predictions() -> None:
    domain = hb.Domain(features=X, classes=["a", "b", "c"], records=2)
    about = {"budget": GDP, "domain": domain, "multi_class": "multinomial", "constraint": hb.L2Ball(2.0)}
    found = hb.audit(hb.LogisticRegression(solver="mirror_descent", **about), runs=24, test_key=KEY)
    assert found.passed, str(found)


def test_fresh_noise_has_the_same_law() -> None:
    assert hb.audit(model("gradient", "replace-one"), runs=40, canary=plain("replace-one")).passed


@pytest.mark.slow
def test_what_the_attacker_proves_comes_near_to_the_claim() -> None:
    found = hb.audit(model("moments", "replace-one"), runs=1000, canary=plain("replace-one"), test_key=KEY)
    assert found.passed
    assert 0.85 * 3.0 <= found.mu_lower <= 3.0
    assert found.epsilon_lower >= 0.8 * found.epsilon
    assert found.mu_realised == pytest.approx(3.0, rel=1e-5)


def test_released_coefficients_alone() -> None:
    found = hb.audit(
        model("output_perturbation", "replace-one"),
        runs=400,
        method="released",
        canary=plain("replace-one"),
        test_key=KEY,
    )
    assert found.passed, str(found)
    assert found.errors.first == 100  # half of the runs chose the score
    assert 0.6 * 3.0 <= found.mu_lower <= 3.0
    assert 0.0 < found.epsilon_lower < found.epsilon


# ---- weakened ----------------------------------------------------------------------------------------------------------


def noise_of_one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """All runs share their noise."""
    derive = TestKey.derive
    monkeypatch.setattr(TestKey, "derive", lambda key, index: derive(key, index) if isinstance(index, str) else key)


def count_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan is said to cost what one answer of each query costs."""
    monkeypatch.setattr(Plan, "event", property(lambda plan: plan.queries[0].event))


def unclipped_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records beyond the declared bounds are not brought back; the canary's lie at them, so it takes a wider scale to show."""
    from hullabaloo.data.targets import BoundedTarget

    stated = BoundedTarget.encode
    monkeypatch.setattr(BoundedTarget, "encode", lambda *given: 1.5 * stated(*given))


WEAKENED: list[tuple[str, str, Bug, int]] = [
    ("moments", "replace-one", halved(MomentsQuery, "record_sensitivity"), 4),
    ("moments", "add-or-remove", quieter(room, 0.85), 900),
    ("moments", "replace-one", noise_of_one_key, 80),
    ("moments", "replace-one", unclipped_rows, 4),
    ("gradient", "replace-one", halved(GradientQuery, "record_sensitivity"), 4),
    ("gradient", "add-or-remove", quieter(room, 0.8), 160),
    ("gradient", "replace-one", no_clip, 40),
    ("gradient", "replace-one", noise_reused, 60),
    ("gradient", "replace-one", count_forgotten, 4),
    ("mirror_descent", "replace-one", halved(GradientQuery, "record_sensitivity"), 4),
    ("adaptive_gradient", "add-or-remove", halved(CentredGradientQuery, "record_sensitivity"), 4),
    ("adaptive_gradient", "add-or-remove", quieter(room, 0.9), 140),
    ("adaptive_gradient", "replace-one", count_forgotten, 4),
    ("coordinate_descent", "add-or-remove", quieter(coordinate_gradient, 0.7), 160),
    ("coordinate_descent", "replace-one", halved(CoordinateGradientQuery, "record_sensitivity"), 4),
    ("coordinate_descent", "replace-one", one_draw, 40),
    ("frank_wolfe", "replace-one", halved(VertexQuery, "sensitivity"), 4),
    ("output_perturbation", "replace-one", halved(Family, "lipschitz"), 4),
    ("output_perturbation", "add-or-remove", quieter(room, 0.7), 400),
    ("dual_frank_wolfe", "replace-one", halved(Family, "lipschitz"), 4),
]


@pytest.mark.few(2)
@pytest.mark.parametrize(("solver", "neighbours", "bug", "runs"), WEAKENED, ids=[f"{i}" for i in range(len(WEAKENED))])
def test_a_weakened_library_is_caught(
    solver: str, neighbours: str, bug: Bug, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bug(monkeypatch)
    found = hb.audit(model(solver, neighbours), runs=runs, canary=plain(neighbours), test_key=KEY)
    assert found.caught, str(found)
    assert not found.passed
    assert found.verdict.startswith("NOT PRIVATE AS CLAIMED")


def test_a_record_beyond_its_share_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    whole_units(monkeypatch)
    model_of_people = model("moments", "add-or-remove", domain=PERSON)
    assert hb.audit(model_of_people, runs=4, canary=plain("add-or-remove", PERSON), test_key=KEY).caught


def test_a_solver_that_gives_answers_up_is_not_audited() -> None:
    """An audit is of all that is charged for, and says so: a stub's error told nobody why."""

    class GivesUp(MomentsSolver):
        def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
            found = super().run(problem, plan, curator)
            curator.give_up(1)
            return found

    with pytest.raises(CapabilityError, match="gives up answers that were paid for"):
        hb.audit(hb.LinearRegression(domain=NUMBERS, budget=GDP, solver=GivesUp()), runs=100)
