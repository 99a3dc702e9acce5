"""What garbage once brought to light: each is a sentence now."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.data import Domain, open_table
from hullabaloo.geometry import penalty_from_dict, set_from_dict
from hullabaloo.linear_model.parameters import positive
from hullabaloo.losses.serialise import loss_from_dict
from hullabaloo.planning.named import solver_from_dict
from hullabaloo.privacy import GaussianEvent
from hullabaloo.privacy.schedule import Schedule
from hullabaloo.report import card, card_from_json
from tests.fuzz.verdict import judged
from tests.linear_model import examples

HUGE = 10**400
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
    "curvatures that are no word": lambda: hb.GreedyCoordinateDescentSolver(curvatures=np.array([])),  # type: ignore[arg-type]
    "interactions that are no list": lambda: Domain(features={"a": (0, 1)}, interactions=1.5),  # type: ignore[arg-type]
    "a kind of set that is no word": lambda: set_from_dict({"kind": []}),
    "a kind of penalty that is no word": lambda: penalty_from_dict({"kind": {}}),
    "a kind of loss that is no word": lambda: loss_from_dict({"kind": []}),
    "a clipped word": lambda: loss_from_dict({"kind": "clipped", "loss": "abc", "clip": 1.0}),
    "a text that no file may be named by": lambda: open_table("a" * 5000),
    "a smoothing beyond doubles": lambda: positive("smoothing", HUGE, "a width"),
    "a solver without a name": lambda: solver_from_dict({}),
    "a solver whose name is none": lambda: solver_from_dict({"name": {}}),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_was_a_crash_is_a_sentence(name: str) -> None:
    assert judged(FOUND[name]) == "refused"


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
