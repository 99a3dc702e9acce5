"""Forecasts on disk: whatever a file holds, a fit buys what a solver plans by itself from public facts, within its budget."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.geometry import CustomSetFunction, SubmodularBall
from hullabaloo.planning.named import SOLVERS
from hullabaloo.release import planned
from hullabaloo.release.remembered import MOST_BYTES, MOST_FILES, PLACE, remembered

DOMAIN = hb.Domain(features={"a": (-1, 1), "b": (-1, 1)}, target={"y": (-1, 1)}, indicators=False)
BUDGET = hb.Budget(1.0, 1e-6)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    quick = {name: SOLVERS[name] for name in ("moments", "coordinate_descent", "output_perturbation")}
    monkeypatch.setattr("hullabaloo.planning.choose.SOLVERS", quick)
    monkeypatch.setenv(PLACE, str(tmp_path / "kept"))
    return tmp_path / "kept"


def prepared(solver: Any = "auto") -> planned.PlannedFit:
    """Planned as in a new process."""
    planned._chosen.cache_clear()
    model = hb.LinearRegression(budget=BUDGET, domain=DOMAIN, solver=solver, inference=False)
    encoding = model._encoding(None, None)
    return planned.prepare(model._task(encoding), encoding, 4_000)


def bought(fit: planned.PlannedFit) -> tuple[object, ...]:
    return fit.plan.event, fit.plan.queries, fit.plan.settings, fit.bought.budget


def test_what_a_file_holds_changes_neither_noise_nor_event_nor_charge(folder: Path) -> None:
    """Forged numbers may change which solver is taken: it is then one of the list, as it is by itself, and its charge that of its class."""
    first = prepared()
    (path,) = folder.iterdir()
    genuine = json.loads(path.read_text())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert bought(prepared()) == bought(first)
    assert json.loads(path.read_text()) == genuine
    rng, taken = np.random.default_rng(5), set()
    for _ in range(12):
        forged = {name: float(10.0 ** rng.uniform(-300, 99)) for name in genuine}
        path.write_text(json.dumps(forged))
        again = prepared()
        taken.add(again.solver.name)
        name = again.solver.name
        by_itself = prepared(name if name == "moments" else SOLVERS[name])  # other names would be held up
        assert again.solver == by_itself.solver
        assert bought(again) == bought(by_itself)
        assert BUDGET.admits(again.plan.event)
    assert len(taken) >= 2, "the forgery has an effect, or this shows nothing"


def test_what_is_broken_or_somebody_elses_is_not_read(folder: Path) -> None:
    def found() -> dict[str, float]:
        with remembered("a fact") as kept:
            return dict(kept)

    with remembered("a fact") as kept:
        kept["x"] = 0.5
    (path,) = folder.iterdir()
    good = path.read_bytes()
    assert found() == {"x": 0.5}
    bad = [
        "",
        "{",
        "[" * 100_000,
        "[1.0]",
        '{"a": "1"}',
        '{"a": -1.0}',
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": 1e100}',
        '{"a": 1}',
        "\xff",
    ]
    for content in (*bad, " " * MOST_BYTES + "{}"):
        path.write_bytes(content.encode("latin-1"))
        assert found() == {}, content[:20]
    path.write_bytes(good)
    for mode in (0o620, 0o602, 0o644):
        path.chmod(mode)
        assert found() == {}
    with remembered("a fact") as kept:
        kept["y"] = 1.0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert found() == {"y": 1.0}
    path.unlink()
    (other := folder.parent / "other.json").write_bytes(good)
    other.chmod(0o600)
    path.symlink_to(other)
    assert found() == {}
    with remembered("a fact") as kept:
        kept["z"] = 1.0
    assert other.read_bytes() == good, "a link is not written through"


def test_nothing_is_kept_where_it_cannot_be_or_may_not(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with remembered("a fact", SubmodularBall(CustomSetFunction(len, 2), 1.0)) as kept:
        kept["x"] = 1.0
    assert not folder.exists(), "code that is not known"
    folder.write_text("a file is in the way")
    with remembered("a fact") as kept:
        kept["x"] = 1.0
    monkeypatch.setenv(PLACE, " Off ")
    with remembered("a fact") as kept:
        assert kept == {}


def test_files_are_told_apart_by_facts_and_bounded(folder: Path) -> None:
    for fact, value in ((1, 1.0), (1.0, 2.0), ("1", 3.0), (True, 4.0)):
        with remembered(fact) as kept:
            assert kept == {}
            kept.update(x=value, endless=float("inf"))
    with remembered(1.0) as kept:
        assert kept == {"x": 2.0}
    for number in range(MOST_FILES):
        old = folder / f"{number}.json"
        old.write_text("{}")
        os.utime(old, (number, number))
    with remembered("new") as kept:
        kept["x"] = 1.0
    assert len(list(folder.iterdir())) == MOST_FILES
    assert not (folder / "0.json").exists()
