"""Ended at the n-th line of what it does, for every n, a stream or a save loses nothing, doubles nothing, and shows nothing different."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.data.sources import CsvSource
from hullabaloo.noise import TestKey
from hullabaloo.streaming import IncrementalRegression
from tests import kill_points

N, EVERY = 300, 100
DRAW = np.random.default_rng(2)
X = DRAW.uniform(-1.0, 1.0, (N, 2))
Y = X @ [0.5, -0.5]
DOMAIN = hb.Domain(features={"a": (-1, 1), "b": (-1, 1)}, target={"y": (-2, 2)}, indicators=False)
BUDGET = hb.Budget(500.0, 1e-6)  # models that differ with the noise, of few records
ENDS = [100, 200, 300]
QUICK, MANY = 8, 700
HOME = Path(hb.__file__).parent
DURABLE = tuple(
    str(HOME / name)
    for name in ("durable", "curation/intake", "data/sources",
                 "data/saving", "data/documents", "ledger", "linear_model/saved", "curation/kept")
)  # fmt: skip
"""Where what lasts is made: every line there is a point."""
SIZES = [QUICK, pytest.param(MANY, marks=pytest.mark.slow)]


def stream(folder: Path, *, noise: str) -> IncrementalRegression:
    """With noise of its own and a ledger, or with the noise of a key, which no ledger counts."""
    more: dict[str, Any] = {"ledger": f"sqlite:///{folder}/privacy.db", "dataset": "people"} if noise == "own" else {}
    return IncrementalRegression(
        budget=BUDGET, domain=DOMAIN, horizon=N, every=EVERY, state=folder / "s.state", **more,
        test_key=None if noise == "own" else TestKey(bytes(32)),
    )  # fmt: skip


def work(folder: Path, noise: str) -> Callable[[], Any]:
    """Go on with the file to its end, and write down every model that is shown, with the records that it is of."""

    def go() -> int:
        with stream(folder, noise=noise) as model, CsvSource(folder / "t.csv") as source:
            model.partial_fit(source.empty())
            _shown(model, folder)
            for batch in source.batches(model.position_, model._live().mark, cut=lambda p: (p // EVERY + 1) * EVERY):
                model._live().reading(batch.mark)
                model.partial_fit(batch.table)
                _shown(model, folder)
        return model.released_at_

    return go


def _shown(model: IncrementalRegression, folder: Path) -> None:
    if model.released_at_:
        file = os.open(folder / "shown", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        found = [model.released_at_, *map(float.hex, map(float, [*model.coef_, model.intercept_]))]
        os.write(file, json.dumps(found).encode() + b"\n")
        os.close(file)
        model.model_at().save(folder / "model.json")


def new(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    hb.Ledger(f"sqlite:///{folder}/privacy.db").create("people", BUDGET)
    rows = "".join(f"{a!r},{b!r},{y!r}\n" for (a, b), y in zip(X.tolist(), Y.tolist(), strict=True))
    (folder / "t.csv").write_text(f"a,b,y\n{rows}")
    return folder


def shown(folder: Path) -> dict[int, Any]:
    """The models by position; what was shown twice was the same, or this fails."""
    found: dict[int, Any] = {}
    lines = (folder / "shown").read_text().splitlines() if (folder / "shown").exists() else []
    for position, *numbers in map(json.loads, lines):
        assert found.setdefault(position, numbers) == numbers, f"two models of the first {position} records"
    return found


@pytest.mark.few(1)
@pytest.mark.parametrize("wanted", SIZES)
@pytest.mark.parametrize("noise", ["own", "key"])
def test_a_stream_ended_at_every_line(tmp_path: Path, noise: str, wanted: int | None) -> None:
    """Begin, charge, take, save, confirm, show, save the model: what goes on afterwards is the stream that nothing happened to."""
    work(new(tmp_path / "warm"), noise)()
    undisturbed = shown(tmp_path / "warm")
    assert sorted(undisturbed) == ENDS
    total = kill_points.count(work(new(tmp_path / "whole"), noise), of=DURABLE)
    for point in kill_points.spread(total, wanted):
        folder = new(tmp_path / "run")
        ended = kill_points.killed_at(point, work(folder, noise), of=DURABLE)
        before = shown(folder)
        if (folder / "model.json").exists():
            assert hb.streaming.load(folder / "model.json").position in ENDS
        assert work(folder, noise)() == N, ended
        after = shown(folder)
        assert sorted(after) == ENDS, (point, ended)
        assert {position: after[position] for position in before} == before
        assert {one.name for one in folder.iterdir() if one.name.startswith(".s.state")} == set()
        if noise == "key":
            assert after == undisturbed, (point, ended)
        else:
            assert not set(map(str, after.values())) & set(map(str, undisturbed.values())), "noise meets no other run"
            ledger = hb.Ledger(f"sqlite:///{folder}/privacy.db")
            (row,) = ledger.streams("people")
            assert (row.position, len(ledger.charges("people"))) == (N, 1), (point, ended)
            assert ledger.verify().status == "sound"


@pytest.mark.parametrize("wanted", SIZES)
def test_a_saved_model_ended_at_every_line_is_the_old_or_the_new(tmp_path: Path, wanted: int | None) -> None:
    models = [
        hb.LinearRegression(budget=BUDGET, domain=DOMAIN, solver="moments", test_key=TestKey(bytes([key] * 32))).fit(
            X, Y
        )
        for key in (1, 2)
    ]
    path = tmp_path / "m.json"
    old, new_ = (model.release_.theta.tobytes() for model in models)
    models[1].save(path)
    total = kill_points.count(lambda: models[1].save(path))
    seen = set()
    for point in [
        *kill_points.spread(total, wanted),
        0,
    ]:  # at last never: lines that are run once may have been counted before
        models[0].save(path)
        kill_points.killed_at(point, lambda: models[1].save(path))
        found = hb.load(path).release_.theta.tobytes()
        assert found in (old, new_)
        seen.add(found)
    assert seen == {old, new_}


def search(folder: Path) -> Callable[[], Any]:
    def go() -> list[float]:
        made = hb.PrivateSearchCV(
            hb.LinearRegression(domain=DOMAIN, solver="moments"), {"fit_intercept": [True, False]}, budget=BUDGET, expected_candidates=2,
            state=folder / "search.state", ledger=f"sqlite:///{folder}/privacy.db", dataset="people",
        ).fit(X, Y)  # fmt: skip
        found = [float(made.best_score_), *made.best_estimator_.coef_.tolist()]
        file = os.open(folder / "found", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(file, json.dumps(found).encode() + b"\n")
        os.close(file)
        return found

    return go


@pytest.mark.slow
@pytest.mark.parametrize("wanted", [5, pytest.param(150, marks=pytest.mark.slow)])
def test_a_search_ended_at_every_line_is_charged_once_and_ends_once(tmp_path: Path, wanted: int) -> None:
    search(new(tmp_path / "warm"))()
    total = kill_points.count(search(new(tmp_path / "whole")), of=DURABLE)
    for point in kill_points.spread(total, wanted):
        folder = new(tmp_path / "run")
        kill_points.killed_at(point, search(folder), of=DURABLE)
        last = search(folder)()
        for line in (folder / "found").read_text().splitlines():
            assert json.loads(line) == last, "two ends of one search"
        ledger = hb.Ledger(f"sqlite:///{folder}/privacy.db")
        assert len(ledger.charges("people")) == 1
        assert ledger.verify().status == "sound"
