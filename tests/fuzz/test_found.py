"""What garbage once brought to light: each is a sentence now."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import ArrowInvalid
from sklearn.preprocessing import Normalizer

import hullabaloo as hb
from hullabaloo.data import Domain, open_table
from hullabaloo.data.table import TornTable
from hullabaloo.geometry import penalty_from_dict, set_from_dict
from hullabaloo.losses.serialise import loss_from_dict
from hullabaloo.model_selection import price_evaluation
from hullabaloo.noise import TestKey
from hullabaloo.planning.named import solver_from_dict
from hullabaloo.privacy import GaussianEvent, LaplaceEvent, SelectionEvent, compose, delta_of
from hullabaloo.privacy.schedule import Schedule
from hullabaloo.release.parameters import positive
from hullabaloo.release.request import machine_failures
from hullabaloo.report import card, card_from_json
from tests.fuzz.garbage import SECRET
from tests.fuzz.verdict import judged
from tests.linear_model import examples

HUGE = 10**400
ONE = hb.Budget(1.0, 1e-6)
drawn: Any = hb.report.CoefficientDisplay.from_model


def model() -> hb.LinearRegression:
    """A fitted model."""
    return hb.LinearRegression(budget=ONE, domain=examples.domain_for("LinearRegression")).fit(examples.table(50))


def huber(threshold: float, solver: str, budget: hb.Budget = ONE) -> hb.HuberRegressor:
    domain = hb.Domain(features={"x": (0, 1)}, target=(-1, 1))
    return hb.HuberRegressor(threshold=threshold, budget=budget, domain=domain, solver=solver)


def bounds(**more: Any) -> Any:
    return hb.private_bounds(examples.table(50), outer={"age": (0, 130)}, budget=ONE, **more)


def metrics(**more: Any) -> Any:
    return hb.evaluate(model(), examples.table(50), budget=ONE, **more)


def descend(**more: Any) -> Any:
    given = {"oracle": lambda theta: theta, "constraint": hb.L1Ball(1.0), "steps": 3, "lipschitz": 1.0, "dimension": 2}
    return hb.mirror_descent(**{**given, **more})


def piped(step: Any) -> Any:
    last = hb.LinearRegression(budget=ONE, domain=Domain(row_norm=1.0, target=(-1, 1)))
    return hb.private_pipeline(step, last).fit(np.ones((20, 2)), np.ones(20))


FOUND: dict[str, Callable[[], Any]] = {
    "a radius beyond doubles": lambda: hb.L1Ball(HUGE),
    "a strength beyond doubles": lambda: hb.L1Penalty(HUGE),
    "a budget beyond doubles": lambda: hb.Budget(HUGE, 1e-6),
    "a cost beyond doubles": lambda: GaussianEvent(HUGE),
    "a bound beyond doubles": lambda: hb.Numeric(0, HUGE),
    "a level beyond doubles": lambda: hb.Categorical([HUGE]),
    "a clip beyond doubles": lambda: hb.CoordinateDescentSolver(clip=HUGE),
    "a clip of another type": lambda: hb.CoordinateDescentSolver(clip=np.float32(-1.0)),  # type: ignore[arg-type]
    "a width beyond doubles": lambda: hb.SmoothedHinge(HUGE),
    "a vertex beyond doubles": lambda: hb.Polytope([[HUGE]]),  # type: ignore[arg-type]
    "a vertex whose square is beyond doubles": lambda: hb.Polytope(np.array([[1e300], [-1e300]])),
    "a column beyond any table": lambda: hb.GroupBall(((0, 2**53),), 1.0),
    "a column beyond any cover": lambda: hb.GroupCover(((0, 2**53),)),
    "a column beyond whole numbers of a machine": lambda: hb.GroupPenalty(((0, 10**30),), 1.0),
    "levels without a length": lambda: hb.Categorical(np.array(1.0)),
    "a baseline that is no level": lambda: hb.Categorical([1.0, 2.0], baseline=np.ones(2)),  # type: ignore[arg-type]
    "a norm that is no word": lambda: Domain(row_norm=(np.array([]), 1.0), target=(0, 1)),  # type: ignore[arg-type]
    "a transform that is no word": lambda: hb.Numeric(0, 1, transform={}),  # type: ignore[arg-type]
    "interactions that are no list": lambda: Domain(features={"a": (0, 1)}, interactions=1.5),  # type: ignore[arg-type]
    "a kind of set that is no word": lambda: set_from_dict({"kind": []}),
    "a kind of penalty that is no word": lambda: penalty_from_dict({"kind": {}}),
    "a kind of loss that is no word": lambda: loss_from_dict({"kind": []}),
    "a clipped word": lambda: loss_from_dict({"kind": "clipped", "loss": "abc", "clip": 1.0}),
    "a text that no file may be named by": lambda: open_table("a" * 5000),
    "a smoothing beyond doubles": lambda: positive("smoothing", HUGE, "a width"),
    "a solver without a name": lambda: solver_from_dict({}),
    "a solver whose name is none": lambda: solver_from_dict({"name": {}}),
    "a threshold that is none": lambda: huber(1e300, "auto").price(50),
    "an intercept that is none": lambda: hb.plan(n=50, p=2, budget=ONE, fit_intercept={}),  # type: ignore[arg-type]
    "a target that is none": lambda: drawn(model().fit(examples.table(50)), target=np.ones(2)),
    "a corner that is none": lambda: hb.SmoothedHinge(1e-9),
    "a corner of a planned loss": lambda: hb.Huber(1e-12),
    "a confidence that is no number": lambda: hb.audit(model(), confidence={}),  # type: ignore[arg-type]
    "a key that is no key": lambda: hb.audit(model(), test_key=1.5),  # type: ignore[arg-type]
    "progress that is no function": lambda: hb.audit(model(), progress=np.True_),  # type: ignore[arg-type]
    "a fraction of a record": lambda: hb.audit(model(), n=0.5),  # type: ignore[arg-type]
    "a canary that is a text": lambda: hb.audit(model(), canary="far"),  # type: ignore[arg-type]
    "a domain of a plan that is none": lambda: hb.plan(n=10, budget=ONE, domain=1.5),  # type: ignore[arg-type]
    "a domain of a stream's plan that is none": lambda: hb.streaming.plan(horizon=9, budget=ONE, domain=[]),  # type: ignore[arg-type]
    "numbers to compare": lambda: hb.compare([1.5]),  # type: ignore[list-item]
    "nothing to compare": lambda: hb.compare(1.5),  # type: ignore[arg-type]
    "columns of bounds that are no names": lambda: bounds(columns=np.ones(2)),
    "a coverage that is an array": lambda: bounds(coverage=np.ones(2)),
    "a quantile that is a text": lambda: bounds(quantiles=("a", 0.9)),
    "metrics without a length": lambda: metrics(metrics=np.array(1.0)),
    "a largest error beyond doubles": lambda: metrics(largest_error=HUGE),
    "a table to be priced beyond any": lambda: price_evaluation(model(), HUGE, budget=ONE),
    "a path that is a number": lambda: hb.load(1.5),  # type: ignore[arg-type]
    "a path with a zero": lambda: hb.Evaluation.load("a\0b"),
    "a path without a name": lambda: model().save(""),
    "a folder's path to a card": lambda: card(model()).to_json(""),
    "a name longer than any file's": lambda: hb.streaming.CsvSource("a" * 5000),
    "a key's path that is none": lambda: hb.streaming.new_key_file([]),  # type: ignore[arg-type]
    "a picture of no model": lambda: drawn("x"),
    "a target of an evaluation that is none": lambda: hb.report.CalibrationDisplay.from_evaluation(
        metrics(metrics="calibration"),
        target=np.ones(2),  # type: ignore[arg-type]
    ),
    "keys that are no names": lambda: hb.streaming.JsonLinesSource(__file__, 1.5),  # type: ignore[arg-type]
    "a position that is none": lambda: list(hb.streaming.CsvSource(__file__).batches(np.ones(2))),  # type: ignore[arg-type]
    "an address that is none": lambda: hb.streaming.RedisSource(7, "a", ["b"]),  # type: ignore[arg-type]
    "steps without an end": lambda: descend(steps=math.inf),
    "more steps than doubles": lambda: descend(steps=HUGE),
    "a bound of a float's own type": lambda: descend(lipschitz=np.float32(-1.0)),
    "a bound that is hardly one": lambda: descend(lipschitz=5e-324),
    "more dimensions than any memory": lambda: descend(dimension=2**40),
    "dimensions that are no number": lambda: descend(dimension="a"),
    "an oracle that tells a word": lambda: descend(oracle=lambda theta: "exact"),
    "an oracle that tells no number": lambda: descend(oracle=lambda theta: 1.7e308 * theta + 1.7e308),
    "a step that cannot be taken": lambda: piped(Normalizer("x")),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_was_a_crash_is_a_sentence(name: str) -> None:
    assert judged(FOUND[name]) == "refused"


ANSWERED: dict[str, Callable[[], Any]] = {
    "a key derived by half a pair of surrogates": lambda: TestKey(bytes(32)).derive("\ud800"),
    "a composition beyond doubles": lambda: delta_of(compose(LaplaceEvent(1.0), SelectionEvent(0.1), count=HUGE), 1.0),
    "one record for objective perturbation": lambda: huber(0.1, "objective_perturbation").price(1),
    "the sharpest corner": lambda: huber(1.1e-9, "objective_perturbation").set_params(inference=False).price(10**6),
    "a budget that hides nothing": lambda: huber(0.1, "adaptive_gradient", hb.Budget(1e9, 0.5)).price(10**15),
}


@pytest.mark.parametrize("name", ANSWERED)
def test_what_was_a_crash_is_an_answer_or_a_sentence(name: str) -> None:
    assert judged(ANSWERED[name]) in {"accepted", "refused"}


@pytest.mark.parametrize("solver", ["frank_wolfe", "greedy_selection"])
def test_scores_that_no_lattice_holds_are_refused_before_a_charge(tmp_path: Path, solver: str) -> None:
    ledger = hb.Ledger(f"sqlite:///{tmp_path / 'privacy.db'}")
    ledger.create("people", ONE)
    domain = hb.Domain(features={"x": (-1, 1), "z": (-1, 1)}, target=(-1, 1), records=10**12)
    about: dict[str, Any] = {"neighbours": "add-or-remove", "ledger": ledger, "dataset": "people"}
    if solver == "frank_wolfe":
        about["constraint"] = hb.L1Ball(1.0)
    asked = hb.LinearRegression(budget=ONE, domain=domain, solver=solver, **about)
    assert judged(lambda: asked.fit(np.zeros((5, 2)), np.zeros(5))) == "refused"
    assert ledger.remaining("people").charges == 0


def test_a_schedule_counts_its_steps_exactly() -> None:
    """Division of doubles lost steps of long streams."""
    schedule = Schedule(2**62 + 1, 2**60)
    assert schedule.steps == 5
    assert schedule.position(5) == 2**62 + 1
    assert Schedule.of(10**400).steps == 1024


def test_files_that_were_changed_are_refused_whatever_was_changed(tmp_path: Path) -> None:
    model = hb.LinearRegression(budget=hb.Budget(1.0, 1e-6), domain=examples.domain_for("LinearRegression"))
    model.fit(examples.table(50)).save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    (tmp_path / "model.json").write_text(json.dumps({**document, "estimator": []}), encoding="utf-8")
    assert judged(lambda: hb.load(tmp_path / "model.json")) == "refused"
    written = json.loads(card(model).to_json())
    (tmp_path / "card.json").write_text(json.dumps({**written, "also": {"text": ""}}), encoding="utf-8")
    assert judged(lambda: card_from_json(tmp_path / "card.json")) == "refused"


@pytest.mark.parametrize(
    "first", ["47.5,SECRET7316548209,yes", "47.5;SECRET7316548209;yes", "age,hours,jo47.5,48.5,SECRET7316548209"]
)
def test_a_record_in_place_of_the_names_is_not_shown(tmp_path: Path, first: str) -> None:
    """A table's columns are listed to who misses one; a file without a line of names, or with a torn one, has a record there."""
    (tmp_path / "people.csv").write_text(f"{first}\n48.5,a,no\n", encoding="utf-8")
    fresh = hb.LinearRegression(budget=ONE, domain=examples.domain_for("LinearRegression"))
    assert judged(lambda: fresh.fit(tmp_path / "people.csv")) == "refused"


def test_a_dataset_of_no_text_is_unknown(tmp_path: Path) -> None:
    ledger = hb.Ledger(f"sqlite:///{tmp_path / 'privacy.db'}")
    ledger.create("people", ONE)
    assert judged(lambda: ledger.remaining("\ud800")) == "refused"


@pytest.mark.parametrize(
    "place", [("values", "squared_error", "low"), ("statement", "delta"), ("notes",), ("calibration",)]
)
def test_evaluations_that_were_changed_are_refused_or_shown(tmp_path: Path, place: tuple[str, ...]) -> None:
    found = metrics().to_dict()
    inner = found
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = {"a": []}
    (tmp_path / "found.json").write_text(json.dumps(found), encoding="utf-8")
    assert judged(lambda: str(hb.Evaluation.load(tmp_path / "found.json"))) in {"refused", "accepted"}


DAMAGES = [ArrowInvalid("SECRET7316548209 at byte 9"), OSError("SECRET7316548209"), TornTable()]


@pytest.mark.parametrize(
    "damage", [*DAMAGES, MemoryError("array with shape (SECRET7316548209, 5)")], ids=lambda one: type(one).__name__
)
def test_a_reader_that_fails_after_the_charge_says_nothing_of_the_file(damage: Exception) -> None:
    """Nor does what the failure came from, which a traceback leaves out and a reporter of errors may not."""
    with pytest.raises((OSError, MemoryError), match="charge that was made stays") as said, machine_failures():
        raise damage
    assert SECRET not in str(said.value)
    assert said.value.__cause__ is said.value.__context__ is None
