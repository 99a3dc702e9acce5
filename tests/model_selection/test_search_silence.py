"""Nothing that lasts tells the number of runs: not a size, not a count of writes, calls or statements, not a row, not a time.

Each law makes searches that are forced to have other numbers of runs and compares all that anyone but the curator may see. Before, the database
file's change counter moved by exactly K + 3, the row of the search got another token every run, and a user's set function was
called some hundred times a run.
"""

import hashlib
import json
import logging
import os
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.curation import loaded, running
from hullabaloo.curation.kept import Kept
from hullabaloo.curator.search_randomness import SearchRandomness
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import ConvexSet
from hullabaloo.linear_model import ESTIMATORS
from hullabaloo.model_selection.candidates import own_code
from hullabaloo.planning.named import SOLVERS
from hullabaloo.streaming import new_key_file

from ..laws import zoo
from ..linear_model.examples import domain_for

NAMES = [f"x{i}" for i in range(3)]
BUDGET = hb.Budget(1.0, 1e-6)
DOMAIN = hb.Domain(features=dict.fromkeys(NAMES, (-1, 1)), target={"y": (-1, 1)})
RUNS = (1, 2, 7, 23)


class Counted(pd.DataFrame):
    """A user's table that counts how often anything of it is asked for."""

    asked: ClassVar[Counter[str]] = Counter()

    def __getitem__(self, key: Any) -> Any:
        Counted.asked[str(key)] += 1
        return super().__getitem__(key)

    def __array__(self, *given: Any, **more: Any) -> Any:
        Counted.asked["array"] += 1
        return super().__array__(*given, **more)

    def to_numpy(self, *given: Any, **more: Any) -> Any:
        Counted.asked["to_numpy"] += 1
        return super().to_numpy(*given, **more)


def table() -> Counted:
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, (400, 3))
    y = np.clip(x @ [0.6, -0.3, 0.0] + 0.1 * rng.normal(size=400), -1, 1)
    return Counted(dict(zip((*NAMES, "y"), (*x.T, y), strict=True)))


CANDIDATES = [  # of releases and ways to read records as unlike as they come
    {"solver": "moments", "penalty": hb.SquaredL2Penalty(0.01)},
    {"solver": "gradient", "penalty": hb.SquaredL2Penalty(0.1)},
    {"solver": "output_perturbation", "fit_intercept": False, "penalty": hb.SquaredL2Penalty(1.0)},
]
CALLS = (
    "open",
    "write",
    "pwrite",
    "fsync",
    "rename",
    "replace",
    "link",
    "unlink",
    "mkdir",
    "truncate",
    "ftruncate",
    "utime",
    "lseek",
    "stat",
)


@contextmanager
def counted(monkeypatch: Any) -> Iterator[Counter[str]]:
    """Counts calls of the system that leave something behind, statements to databases, and whatever is logged or warned of."""
    from sqlalchemy import Engine, event

    found: Counter[str] = Counter()

    class Heard(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found["logged"] += 1

    def spy(name: str, real: Any) -> Any:
        def called(*given: Any, **more: Any) -> Any:
            found[name] += 1
            if name == "write":
                found["bytes"] += len(given[1])
            return real(*given, **more)

        return called

    def sent(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        found["statement " + statement.split(maxsplit=1)[0]] += 1

    def committed(connection: Any) -> None:
        found["commit"] += 1

    heard, root = Heard(), logging.getLogger()
    level = root.level
    with monkeypatch.context() as patched, warnings.catch_warnings():
        warnings.simplefilter("always")
        patched.setattr(warnings, "showwarning", lambda *_, **__: found.update(["warned"]))
        for name in CALLS:
            patched.setattr(os, name, spy(name, getattr(os, name)))
        event.listen(Engine, "before_cursor_execute", sent)
        event.listen(Engine, "commit", committed)
        root.addHandler(heard)
        root.setLevel(logging.DEBUG)
        try:
            yield found
        finally:
            root.setLevel(level)
            root.removeHandler(heard)
            event.remove(Engine, "before_cursor_execute", sent)
            event.remove(Engine, "commit", committed)


def durable(folder: Path, ledger: hb.Ledger) -> dict[str, Any]:
    """All that is left on the disk: names, sizes and rights of files, SQLite's own counters, and rows with their times."""
    head = (folder / "privacy.db").read_bytes()[:100]
    (charge,), (row,) = ledger.charges("people"), ledger.streams("people")
    return {
        "files": sorted((one.name, one.stat().st_size, one.stat().st_mode) for one in folder.iterdir()),
        "change counter": int.from_bytes(head[24:28], "big"),
        "pages": int.from_bytes(head[28:32], "big"),
        "schema cookie": head[40:44],
        "charge": {key: value for key, value in charge.to_dict().items() if key not in ("database", "head")},  # salted
        "times": re.findall(rb"2030-[\d:T-]+", (folder / "search.state").read_bytes()),
        "row": {**row.to_dict(), "stream": len(row.stream), "token": len(row.token)},
    }


class Clock:
    """Moves on by a second each time that somebody looks: searches with more runs take longer."""

    def __init__(self) -> None:
        self.time = datetime(2030, 1, 1, tzinfo=UTC)

    def now(self, zone: Any) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time


def searched(folder: Path, runs: int, monkeypatch: Any, capfd: Any, **more: Any) -> dict[str, Any]:
    """Search with so many runs, and tell all that can be seen but the release and the time."""
    folder.mkdir()
    ledger = hb.Ledger(f"sqlite:///{folder}/privacy.db")
    ledger.create("people", BUDGET)
    monkeypatch.setattr(SearchRandomness, "runs", lambda *_: runs)
    clock = Clock()
    for place in ("release.release", "ledger.schema"):
        monkeypatch.setattr(f"hullabaloo.{place}.datetime", clock)
    given = {"state": folder / "search.state", "ledger": ledger, "dataset": "people", "metric": "squared_error", **more}
    made = hb.PrivateSearchCV(hb.Ridge(domain=DOMAIN), CANDIDATES, budget=BUDGET, **given)
    Counted.asked.clear()
    with counted(monkeypatch) as calls:
        try:
            made.fit(table())
            outcome = "released at " + made.statement_.made
        except ZeroDivisionError as error:
            outcome = "failed: " + error.__notes__[0]
    said = capfd.readouterr()
    return {
        "outcome": outcome,
        "calls": calls,
        "table": Counter(Counted.asked),
        "said": (said.out, said.err),
    } | durable(folder, ledger)


@pytest.mark.parametrize("sealed", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["open", "sealed"])
def test_no_file_no_row_no_call_and_no_statement_tells_the_number_of_runs(tmp_path, monkeypatch, capfd, sealed):
    key = new_key_file(tmp_path / "key") if sealed else None
    searched(tmp_path / "warm", 20, monkeypatch, capfd, key_file=key)  # imports, and compiled code
    seen = [searched(tmp_path / str(runs), runs, monkeypatch, capfd, key_file=key) for runs in RUNS]
    assert all(one == seen[0] for one in seen)
    assert seen[0]["row"]["advanced_at"] == seen[0]["charge"]["charged_at"]
    assert seen[0]["calls"]["fsync"] == 4  # the file and its folder, at the beginning and at the end
    assert seen[0]["change counter"] == 3  # the ledger was made, the search was charged, it ended
    assert seen[0]["table"].total() > 0
    assert ("warned" in seen[0]["calls"], "logged" in seen[0]["calls"]) == (False, False)


@pytest.mark.few(1)
@pytest.mark.parametrize("after", [1, 3])
def test_a_search_that_fails_leaves_what_one_that_does_not_leaves(tmp_path, monkeypatch, capfd, after):
    """The end is written whichever it is, in as many bytes; what was written before is the same anyway."""
    whole = searched(tmp_path / "whole", 5, monkeypatch, capfd)
    real, calls = running.score_of, []

    def failing(*given: Any) -> float:
        calls.append(1)
        if len(calls) == after:
            raise ZeroDivisionError
        return real(*given)

    monkeypatch.setattr(running, "score_of", failing)
    torn = searched(tmp_path / "torn", 5, monkeypatch, capfd)
    assert torn.pop("outcome") != whole.pop("outcome")
    assert torn == whole


ENDS = {
    "Ridge": [{"solver": one} for one in ("moments", "gradient", "output_perturbation", "preconditioned_gradient")],
    "LinearRegression": [
        *({"solver": one, "constraint": hb.L1Ball(1.0), "fit_intercept": False} for one in ("frank_wolfe", "mirror_descent", "greedy_selection")),
        *({"solver": one, "constraint": hb.Box(-1.0, 1.0)} for one in ("greedy_coordinate_descent", "coordinate_descent")),
        *({"solver": one} for one in ("gradient", "preconditioned_gradient")),
    ],
    "MultiTaskRegression": [{"radius": 1.0}],
    "ElasticNet of three": [{"solver": "moments"}],
}  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("columns", [1, 20])
def test_the_end_fits_into_its_room_whichever_candidate_is_the_best(tmp_path, monkeypatch, name, columns):
    """So that a file's size tells nothing; with all numbers written in full, for noise decides how many digits they have."""
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, (300, columns)), rng.uniform(-1, 1, (300, 3))
    many = name in {"MultiTaskRegression", "ElasticNet of three"}
    target = {f"y{i}": (-1, 1) for i in range(3)} if many else (-1, 1)
    domain = hb.Domain(features={f"x{i}": (-1, 1) for i in range(columns)}, target=target)
    monkeypatch.setattr(SearchRandomness, "runs", lambda *_: len(ENDS[name]))
    monkeypatch.setattr(SearchRandomness, "candidate", lambda self, count, run: run)
    rooms, lengths, real = set(), [], running.answer

    def long(*given: Any) -> Any:
        release = real(*given)
        lengths.append(len(re.sub(r"-?[0-9][0-9.e-]*", 25 * "9", json.dumps(release.to_dict()))))
        return release

    monkeypatch.setattr(running, "answer", long)
    end = Kept.end
    monkeypatch.setattr(Kept, "end", lambda kept, best: rooms.add(kept._plan.room) or end(kept, best))
    model = getattr(hb, name.partition(" ")[0])(domain=domain)
    search = hb.PrivateSearchCV(
        model, ENDS[name], budget=hb.Budget(20.0, 1e-6), metric="squared_error", state=tmp_path / "state"
    )
    search.fit(x, y if many else y[:, 0])
    (room,) = rooms
    assert len(lengths) == len(ENDS[name])
    assert max(lengths) + 4_000 < room <= 1 << 20
    assert room < (tmp_path / "state").stat().st_size < room + 1_000


def test_nothing_else_is_written_until_the_end(tmp_path, monkeypatch):
    """Whenever a run begins, the disk is as it was left at the beginning."""
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    ledger.create("people", BUDGET)
    real, seen = running.answer, set()

    def looking(*given: Any) -> Any:
        seen.add(tuple(hashlib.sha256(one.read_bytes()).hexdigest() for one in sorted(tmp_path.iterdir())))
        return real(*given)

    monkeypatch.setattr(running, "answer", looking)
    monkeypatch.setattr(SearchRandomness, "runs", lambda *_: 6)
    given = {"state": tmp_path / "search.state", "ledger": ledger, "dataset": "people", "metric": "squared_error"}
    hb.PrivateSearchCV(hb.Ridge(domain=DOMAIN), CANDIDATES, budget=BUDGET, **given).fit(table())
    assert len(seen) == 1


TRIES = """
import sys, numpy as np, hullabaloo as hb
from hullabaloo.curator.search_randomness import SearchRandomness
if __name__ == "__main__":
    SearchRandomness.runs, SearchRandomness.candidate = lambda *_: 1, lambda *_: int(sys.argv[1])
    x = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    domain = hb.Domain(features={f"x{i}": (-1, 1) for i in range(3)}, target=(-1, 1), indicators=False)
    grid = [{"solver": "moments"}, {"solver": "coordinate_descent"}]
    ball = hb.LinearRegression(domain=domain, constraint=hb.Box(-1.0, 1.0), fit_intercept=False)
    hb.PrivateSearchCV(ball, grid, budget=hb.Budget(1.0, 1e-6)).fit(x, 0.5 * x[:, 0])
"""


@pytest.mark.slow
def test_what_is_compiled_and_kept_is_the_same_whichever_candidates_are_drawn(tmp_path):
    """Before, the folder of compiled code held the kernels of the candidates that were drawn, and of those alone."""
    (tmp_path / "tries.py").write_text(TRIES)
    seen = []
    for number in range(2):
        folder = tmp_path / str(number)
        places = {"NUMBA_CACHE_DIR": str(folder), "PYTHONPYCACHEPREFIX": str(folder)}
        command = [sys.executable, str(tmp_path / "tries.py"), str(number)]
        subprocess.run(command, env={**os.environ, **places}, check=True, timeout=900)
        seen.append(sorted(str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file()))
    assert len(seen[0]) > 20
    assert seen[0] == seen[1]


def test_every_kind_of_candidate_is_carried_out_before_anything_is_drawn(monkeypatch):
    """The same in short: on a table of nothing, each once."""
    done: list[str] = []
    real = loaded.answer
    monkeypatch.setattr(loaded, "answer", lambda fit, *rest: done.append(fit.plan.solver) or real(fit, *rest))
    monkeypatch.setattr(SearchRandomness, "runs", lambda *_: done.append("drawn") or 1)
    hb.PrivateSearchCV(hb.Ridge(domain=DOMAIN), CANDIDATES * 2, budget=BUDGET, metric="squared_error").fit(table())
    assert done == [*(one["solver"] for one in CANDIDATES), "drawn"]


def test_candidates_of_one_solver_are_of_as_many_kinds_as_they_run_code(monkeypatch):
    done: list[Any] = []
    real = loaded.answer
    monkeypatch.setattr(loaded, "answer", lambda fit, *rest: done.append(fit.problem) or real(fit, *rest))
    monkeypatch.setattr(SearchRandomness, "runs", lambda *_: done.append("drawn") or 1)
    sets = [hb.L2Ball(1.0), hb.L1Ball(1.0), hb.Box(-1.0, 1.0), hb.Box(-0.5, 0.5)]
    base = hb.LinearRegression(domain=DOMAIN, solver="gradient")
    hb.PrivateSearchCV(base, [{"constraint": one} for one in sets], budget=BUDGET).fit(table())
    assert done.pop() == "drawn"
    assert [type(one.constraint) for one in done] == [hb.L2Ball, hb.L1Ball, hb.Box]


def test_runs_warn_nobody_and_call_no_handler_of_the_users(tmp_path, monkeypatch):
    """NumPy and SciPy call a user's handler wherever a number overflows, which is a function of numbers that are not released."""
    from scipy import special

    called, real = [], running.score_of

    def loud(*given: Any) -> float:
        warnings.warn("a run", stacklevel=1)
        np.float64(1e308) * np.float64(10.0)
        special.gammaln(-1.0)
        return real(*given)

    monkeypatch.setattr(running, "score_of", loud)
    monkeypatch.setattr(warnings, "showwarning", lambda *_, **__: called.append("warning"))
    with np.errstate(all="call", call=lambda *_: called.append("numpy")), special.errstate(all="raise"):
        hb.PrivateSearchCV(hb.Ridge(domain=DOMAIN, solver="moments"), [{}], budget=BUDGET).fit(table())
    assert called == []


def test_the_statement_says_that_time_tells_the_number_of_runs():
    """Of all that can be seen time alone is not hidden."""
    made = hb.PrivateSearchCV(hb.Ridge(domain=DOMAIN, solver="moments"), [{}], budget=BUDGET).fit(table())
    assert "The time that the search took tells how many, and is not covered" in str(made.statement_)


# What is not the library's own is refused before the charge: it would be called once or more a run, with numbers that are not released.


class Half(hb.L2Ball):
    """A user's set, which sees every iterate."""

    def project(self, theta: Any) -> Any:
        return 0.5 * super().project(theta)


class Own(hb.Ridge):
    """A user's estimator: one method is enough."""

    def _task(self, encoding: Any) -> Any:
        return super()._task(encoding)


def root(columns: frozenset[int]) -> float:
    return len(columns) ** 0.5


class Walk(type(SOLVERS["gradient"])):  # type: ignore[misc]
    """A user's solver."""


SOUND = {"domain": DOMAIN, "fit_intercept": False}
FOREIGN = {
    "a set": (hb.LinearRegression(**SOUND), {"constraint": [hb.L2Ball(1.0), Half(1.0)]}),
    "a set function": (
        hb.StructuredSparseRegression(**SOUND),
        {"structure": [hb.CustomSetFunction(root, 3)], "radius": [0.5, 1.0]},
    ),
    "the estimator's set function": (
        hb.StructuredSparseRegression(structure=hb.CustomSetFunction(root, 3), **SOUND),
        {"radius": [0.5, 1.0]},
    ),
    "a solver": (hb.Ridge(**SOUND), {"solver": ["moments", Walk()]}),
    "a subclass of an estimator": (Own(**SOUND), [{}]),
    "a norm of a set function": (
        hb.LinearRegression(**SOUND),
        [{"penalty": hb.SubmodularPenalty(hb.CustomSetFunction(root, 3), 0.1)}],
    ),
    "a callable in a set": (
        hb.LinearRegression(**SOUND),
        [{"constraint": hb.SubmodularBall(hb.CustomSetFunction(root, 3), 1.0)}],
    ),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_code_of_the_users_is_refused_before_the_charge_and_never_called(tmp_path, monkeypatch, what):
    """288·K calls of a user's set function told K in 12 of 12 searches."""
    model, candidates = FOREIGN[what]
    called = []
    monkeypatch.setattr(Half, "project", lambda *_: called.append(1))
    monkeypatch.setattr(Walk, "run", lambda *_: called.append(1), raising=False)
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    ledger.create("people", BUDGET)
    made = hb.PrivateSearchCV(
        model, candidates, budget=BUDGET, ledger=ledger, dataset="people", state=tmp_path / "search.state"
    )
    with pytest.raises(InvalidParameter, match=r"code of yours.*Nothing was charged or read.*outside of a search"):
        made.fit(table())
    assert not ledger.charges("people")
    assert not (tmp_path / "search.state").exists()
    assert not called


def test_a_method_that_was_hung_on_an_estimator_is_refused():
    model = hb.Ridge(domain=DOMAIN)
    model._loss = lambda encoding: None
    with pytest.raises(InvalidParameter, match="code of yours"):
        own_code(model, "The estimator")


def test_everything_of_the_librarys_own_may_be_searched():
    """All estimators, sets, penalties, set functions and solvers; none of them is taken for somebody else's."""
    for name in ESTIMATORS:
        own_code(getattr(hb, name)(domain=domain_for(name)), name)
    for samples in (zoo.SET_SAMPLES, zoo.PENALTY_SAMPLES):
        for made in samples.values():
            own_code([one for one in made(7) if "custom" not in repr(one).lower()], "a shape")
    own_code([one for one in zoo.set_functions(7) if type(one).__name__ != "CustomSetFunction"], "a set function")
    own_code(list(SOLVERS.values()), "a solver")
    assert issubclass(Half, ConvexSet)
