"""Streams of records that have nothing in common, with the same noisy sums: every release, file and line run is the same."""

import shutil
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from tests.replay import cases
from tests.replay.compare import told_apart
from tests.replay.durable import emptied, left
from tests.replay.shown import of_ledger

HORIZON, EVERY = 60, 20
COMMON: dict[str, Any] = {"horizon": HORIZON, "every": EVERY}


def streams(relation: str) -> dict[str, Any]:
    """Unopened streams of every kind, by name."""
    about = {"features": {"age": (18, 90), "hours": (0, 80)}, "target": {"cost": (-20, 20)}, "indicators": False}
    domain = hb.Domain(**about, records=HORIZON)
    given = {"budget": cases.BUDGET, "domain": domain, "neighbours": relation}
    kinds = hb.streaming
    return {
        "incremental": kinds.IncrementalRegression(**given, **COMMON),
        "incremental in a ball": kinds.IncrementalRegression(**given, **COMMON, constraint=hb.L1Ball(1.0)),
        "without an end": kinds.IncrementalRegression(**given, every=EVERY),
        "forgetting": kinds.IncrementalRegression(**given, **COMMON, half_life=30),
        "in a window": kinds.IncrementalRegression(**given, **COMMON, window=40),
        "sketched": kinds.SketchedRegression(**given, **COMMON, constraint=hb.L1Ball(1.0), sketch_size=2),
        "periodic gradient": kinds.PeriodicERM(
            hb.LinearRegression(**given, solver="gradient", constraint=hb.L2Ball(1.0)), **COMMON
        ),
        "periodic moments": kinds.PeriodicERM(hb.LinearRegression(**given, solver="moments"), **COMMON),
    }


def shown(stream: Any) -> Mapping[str, Any]:
    """What can be read of a stream at some moment."""
    model = stream.model_at()
    return {
        "position": (stream.position_, stream.released_at_),
        "coefficients": (model.coef_, model.intercept_),
        "statement": stream.statement_.to_dict(),
        "summary": str(stream.summary()) if stream.released_at_ == HORIZON else "",
        "text": repr(stream) + repr(model),
        "prediction": stream.predict_one({"age": 40.0, "hours": 20.0}),
    }


NAMES = list(streams("replace-one"))


@pytest.mark.few(4)
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["the unlikest", "whole"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("relation", cases.RELATIONS)
def test_streams_of_other_records_show_the_same(
    name: str, relation: str, whole: bool, tmp_path: Path, ledgers: Path
) -> None:
    """Under both relations the number of places is public: one record present or absent is a place that is filled or not."""
    among = set(cases.others("replace-one")) if whole else {"no cell as declared"}
    assert told_of_a_stream(name, relation, tmp_path, ledgers, among) == {}


def told_of_a_stream(
    name: str, relation: str, tmp_path: Path, ledgers: Path, among: Container[str] = ()
) -> dict[str, Any]:
    """What tells a stream's records apart; the names of what shows it, unless tables are named that are compared line by line."""

    def show(_: Any, table: Any) -> Mapping[str, Any]:
        folder = tmp_path / "run"
        emptied(folder)
        shutil.copy(ledgers / f"{relation}.db", folder / "privacy.db")
        ledger = hb.Ledger(f"sqlite:///{folder / 'privacy.db'}")
        stream = streams(relation)[name]
        owner = getattr(stream, "estimator", stream)
        owner.set_params(ledger=ledger, dataset="people")
        stream.set_params(state=folder / "people.state")
        found: dict[str, Any] = {}
        with stream:
            stream.partial_fit(table.iloc[: EVERY + 5])
            found["first"], found["files at first"] = shown(stream), left(folder)
            for record in table.iloc[EVERY + 5 : EVERY + 15].to_dict("records"):
                stream.learn_one(record, record["cost"])
            stream.checkpoint()
            found["files in between"] = left(folder)
            stream.partial_fit(table.iloc[EVERY + 15 :])
            found["last"] = shown(stream)
        if hasattr(stream.model_at(), "save"):
            stream.model_at().save(folder / "model.json")
        return {**found, **of_ledger(ledger, "people"), "rows": list(ledger.streams("people"))}

    others = {one: made for one, made in cases.others("replace-one").items() if not among or one in among}
    if name == "incremental":
        others = {**others, "no cell at all": _empty_cells()}
    if among:
        return told_apart(show, None, cases.base(), others, tmp_path / "run")
    found = told_apart(show, None, cases.base(), others, tmp_path / "run", lines=False)
    return {shown: value for one in found.values() for shown, value in one.items()}


def _empty_cells() -> Any:
    frame = cases.base().copy()
    frame[["age", "hours", "cost"]] = np.nan
    return frame


@pytest.mark.parametrize("key", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["plain", "sealed"])
def test_states_of_sparse_rows_are_of_one_size(key: bool, tmp_path: Path) -> None:
    """They were not: a stream that keeps its records kept as many cells as were not 0."""
    from scipy.sparse import csr_array

    folder, secret = tmp_path / "run", tmp_path / "key"
    if key:
        hb.streaming.new_key_file(secret)
    rng = np.random.default_rng(0)
    full = rng.normal(size=(HORIZON, 30))
    domain = hb.Domain(row_norm=1.0, target=(-1, 1), records=HORIZON)
    estimator = hb.LinearRegression(budget=cases.BUDGET, domain=domain, solver="gradient", constraint=hb.L2Ball(1.0))

    def show(_: Any, X: Any) -> Mapping[str, Any]:
        emptied(folder)
        stream = hb.streaming.PeriodicERM(
            estimator, **COMMON, state=folder / "s.state", key_file=secret if key else None
        )
        with stream:
            stream.partial_fit(csr_array(X[:25]), np.zeros(25))
            stream.checkpoint()
            stream.partial_fit(csr_array(X[25:50]), np.zeros(25))
        return {"coefficients": stream.model_at().coef_}

    others = {"sparser": full * (rng.uniform(size=full.shape) < 0.1), "nothing": 0.0 * full}
    assert told_apart(show, None, full, others, folder) == {}
