"""Documents that an earlier version wrote: models predict, streams and searches go on, ledgers are upgraded and verified, with the same numbers."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.errors import LedgerError
from hullabaloo.ledger import schema
from hullabaloo.linear_model import ESTIMATORS
from tests.kept import keep
from tests.kept.case import numbers
from tests.kept.record import near
from tests.kept.tables import table

TOLD: dict[str, Any] = json.loads((keep.KEPT / "numbers.json").read_text())
PLANNED = ("chosen.state", "classes.state")
"""Whose plans are rehearsed anew, in 10 s of processor and more."""
STATES = [
    pytest.param(name, marks=pytest.mark.slow) if name in PLANNED else name for name in TOLD if name.endswith(".state")
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of what was kept, which nobody else may read: version control forgets whose a file is."""
    copied = tmp_path / "kept"
    shutil.copytree(keep.KEPT, copied)
    for one in copied.iterdir():
        one.chmod(0o600)
    return copied


def same(found: Any, told: list[float]) -> bool:
    return near(told, numbers(found))


@pytest.mark.few(8)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_models_are_opened_and_predict(name: str) -> None:
    model = hb.load(keep.KEPT / f"{name}.json")
    assert type(model).__name__ == name
    assert same([model.coef_, model.intercept_], TOLD[name])
    assert len(model.predict(table()[["age", "hours"]])) == len(table())
    assert "NOT PRIVATE" in str(model.statement_)


def test_the_model_of_a_stream_is_opened_and_predicts() -> None:
    model = hb.streaming.load(keep.KEPT / "stream-model.json")
    assert (model.estimator, model.position) == ("IncrementalRegression", 20)
    assert np.isfinite(model.predict_one({"age": 40.0, "hours": 20.0}))


@pytest.mark.few(8)
@pytest.mark.parametrize("name", STATES)
def test_streams_go_on_where_they_were_left(name: str, folder: Path) -> None:
    made = keep.streams(folder, sealed=name.endswith("-sealed.state")) | keep.later(folder)
    stream = made[name.removesuffix(".state").removesuffix("-sealed")]
    with stream:
        assert stream.begin().position_ == keep.CUT
        stream.partial_fit(table().iloc[keep.CUT :])
        assert same([stream.model_at().coef_, stream.model_at().intercept_], TOLD[name])


@pytest.mark.parametrize("name", ["search-begun", "search-ended"])
def test_searches_come_to_the_same_end(name: str, folder: Path) -> None:
    """One was killed in its first run, the other had ended: both show what the one that ended showed."""
    assert same(keep.found_by(keep.search(folder, name).fit(table())), TOLD["search"])


@pytest.mark.parametrize("version", [1, 2, 3])
def test_ledgers_are_upgraded_and_verified(version: int, folder: Path) -> None:
    ledger = hb.Ledger(f"sqlite:///{folder / f'ledger-{version}.db'}")
    if version < schema.VERSION:
        with pytest.raises(LedgerError, match="ledger upgrade"):
            ledger.charges("clinic")
        assert ledger.upgrade().before == version
    assert [dict(one.event) for one in ledger.charges("clinic")] == TOLD[f"ledger-{version}.db"]["events"]
    assert ledger.verify().status == "sound"
    assert len(ledger.streams("clinic")) == min(version - 1, 1)


def test_a_ledger_of_every_version_is_kept() -> None:
    assert {f"ledger-{version}.db" for version in range(1, schema.VERSION + 1)} <= set(TOLD)


def test_a_charged_stream_goes_on_under_its_charge(folder: Path) -> None:
    ledger = hb.Ledger(f"sqlite:///{folder / 'ledger-2.db'}")
    ledger.upgrade()
    before = ledger.remaining("clinic").charges
    with keep.charged(folder, ledger) as stream:
        assert stream.begin().position_ == keep.CUT
        stream.partial_fit(table().iloc[keep.CUT :])
    assert ledger.remaining("clinic").charges == before
    assert ledger.streams("clinic")[0].position == len(table())
