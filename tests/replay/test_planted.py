"""The replay can fail: branches on records, planted one at a time into the library, are each seen for what they are."""

import logging
import os
import sqlite3
import sys
import textwrap
import warnings
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.data import Encoding, Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.ledger import Ledger
from hullabaloo.linear_model.base import PrivateLinearModel
from hullabaloo.release import run as hinge
from hullabaloo.release.request import ReleaseRequest
from hullabaloo.solvers.gradient import gradient
from hullabaloo.solvers.gradient.gradient import GradientSolver
from tests.replay import cases
from tests.replay.compare import Show, told_apart
from tests.replay.lines import SOURCE

Patch = pytest.MonkeyPatch


def secret(rows: Rows) -> float:
    """What a fault might let out."""
    return float(rows.X[:, 0].sum())


def encoding_that(patch: Patch, does: Callable[[Rows], Rows | None]) -> None:
    real = Encoding.encode

    def encode(self: Encoding, table: Any, target: Any = None, *, weight: Any = None) -> Rows:
        rows = real(self, table, target, weight=weight)
        return does(rows) or rows

    patch.setattr(Encoding, "encode", encode)


def warn(rows: Rows) -> None:
    warnings.warn(f"The first column sums to {secret(rows):.17g}.", RuntimeWarning, stacklevel=1)


def log(rows: Rows) -> None:
    logging.getLogger("hullabaloo").debug("sum %r", secret(rows))


def say(rows: Rows) -> None:
    print(secret(rows))


def complain(rows: Rows) -> None:
    sys.stderr.write(f"{secret(rows)}\n")


def refuse(rows: Rows) -> None:
    raise InvalidParameter(f"The first column sums to {secret(rows):.17g}, which is not expected.")


def clipped(rows: Rows) -> bool:
    """One bit of the records: whether a cell lay beyond its bounds."""
    return bool(np.abs(rows.X[:, 0]).max(initial=0.0) >= 1.0)


def refuse_some(rows: Rows) -> None:
    if clipped(rows):
        raise InvalidParameter("A cell lies beyond its bounds.")


def solving(patch: Patch, does: Callable[[Any, Rows], Any]) -> None:
    """Change what the gradient solver makes of its solution, by a solver that reaches into the curator."""
    real = GradientSolver.run

    def run(self: Any, problem: Any, plan: Any, curator: Any) -> Any:
        return does(real(self, problem, plan, curator), curator._Curator__rows)

    patch.setattr(GradientSolver, "run", run)


def theta(patch: Patch) -> None:
    solving(patch, lambda made, rows: replace(made, theta=made.theta + 1e-15 * secret(rows)))


def trace(patch: Patch) -> None:
    solving(patch, lambda made, rows: replace(made, trace=(*made.trace, *[{"more": 1}] * clipped(rows))))


def early_stop(patch: Patch) -> None:
    caught: list[Rows] = []
    encoding_that(patch, caught.append)
    real = gradient.iterate

    def stopping(start: Any, step: Any, *, steps: int, **more: Any) -> Any:
        return real(start, step, steps=1 if clipped(caught[-1]) else steps, **more)

    patch.setattr(gradient, "iterate", stopping)


def question(patch: Patch) -> None:
    real = GradientSolver.run

    class Looking:
        def __init__(self, curator: Any) -> None:
            self._curator = curator

        def __getattr__(self, name: str) -> Any:
            return getattr(self._curator, name)

        def answer(self, name: str, theta: Any) -> Any:  # the last digit knows the records
            return self._curator.answer(name, theta + 1e-16 * secret(self._curator._Curator__rows))

    patch.setattr(
        GradientSolver, "run", lambda self, problem, plan, curator: real(self, problem, plan, Looking(curator))
    )


def adopting(patch: Patch, does: Callable[[Any, Rows], None]) -> None:
    """Leave something on the fitted model; the rows are caught where they are encoded."""
    caught: list[Rows] = []
    encoding_that(patch, caught.append)
    real = PrivateLinearModel._adopt

    def adopt(self: Any, *arguments: Any) -> None:
        real(self, *arguments)
        if caught:
            does(self, caught[-1])

    patch.setattr(PrivateLinearModel, "_adopt", adopt)


def attribute(patch: Patch) -> None:
    adopting(patch, lambda model, rows: setattr(model, "converged_", clipped(rows)))


def shape(patch: Patch) -> None:
    def thin(model: Any, rows: Rows) -> None:
        model.coef_ = model.coef_[: 2 + clipped(rows)]

    adopting(patch, thin)


def left_behind(patch: Patch, tmp_path: Path) -> None:
    encoding_that(patch, lambda rows: (tmp_path / "run" / "cache.npy").write_text(str(secret(rows))) and None)


def charged_after(patch: Patch) -> None:
    """A detail in the ledger that knows the records: the last that were read, as a cache would."""
    caught = [0.0]
    encoding_that(patch, lambda rows: caught.__setitem__(0, secret(rows)))
    real = ReleaseRequest.charge
    patch.setattr(
        ReleaseRequest,
        "charge",
        lambda self, event, budget, detail: real(self, event, budget, {**detail, "sum": caught[0]}),
    )


def branch(patch: Patch) -> None:
    """A branch that shows in nothing but the time it takes; compiled as a line of the hinge, where lines are counted."""
    space: dict[str, Any] = {"real": hinge.answered}
    code = """
    def answered(rows, bought, read, key):
        if (abs(rows.X[:, 0]) >= 1.0).any():
            key = key
        return real(rows, bought, read, key)
    """
    exec(compile(textwrap.dedent(code), f"{SOURCE}/release/run.py", "exec"), space)
    patch.setattr(hinge, "answered", space["answered"])


def plan_by_length(patch: Patch) -> None:
    """Under add-or-remove the number of rows is private, and here it is not."""
    patch.setattr(ReleaseRequest, "count_is_public", True)


def in_the_folder(patch: Patch, does: Callable[[Path], None]) -> None:
    """Do something to the ledger's file or beside it where a cell lay beyond its bounds: when the model is adopted, all being written."""

    def act(model: Any, rows: Rows) -> None:
        if clipped(rows) and isinstance(model.ledger, Ledger):  # a model that was loaded from its file has its address
            does(Path(model.ledger.address.removeprefix("sqlite:///")))

    adopting(patch, act)


def run_sql(database: Path, text: str) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(text)


def counted(database: Path) -> None:
    """Leaves every row as it was."""
    for step in ("+ 1", "- 1"):
        run_sql(database, f"UPDATE hullabaloo_dataset SET charges = charges {step}")


def another_table(database: Path) -> None:
    run_sql(database, "CREATE TABLE notes (text TEXT)")


def free_pages(database: Path) -> None:
    """Nothing is left of it in any row."""
    another_table(database)
    run_sql(database, "DROP TABLE notes")


def passing(database: Path) -> None:
    draft = database.with_name("draft")
    draft.write_text("")
    draft.unlink()


def locked(database: Path) -> None:
    database.chmod(0o640)


def synced(database: Path) -> None:
    with database.open("rb") as file:
        os.fsync(file.fileno())


def lock_left(database: Path) -> None:
    (database.parent / ".lock").touch()


LEFT: Mapping[str, tuple[Callable[[Path], None], str]] = {
    "a change of a database that changes no row": (counted, "file privacy.db"),
    "a table of a database": (another_table, "file privacy.db"),
    "a page that a database left free": (free_pages, "file privacy.db"),
    "a file that is gone again": (passing, "touched"),
    "the mode of a file": (locked, "file privacy.db"),
    "a flush to the disk": (synced, "touched"),
    "an empty file": (lock_left, "file .lock"),
}


SEEN: Mapping[str, tuple[Callable[..., None], str]] = {
    "a warning": (lambda patch: encoding_that(patch, warn), "warnings"),
    "a log": (lambda patch: encoding_that(patch, log), "logs"),
    "a line on standard output": (lambda patch: encoding_that(patch, say), "stdout"),
    "a line on standard error": (lambda patch: encoding_that(patch, complain), "stderr"),
    "an error for some tables": (lambda patch: encoding_that(patch, refuse_some), "raised"),
    "the last digit of a coefficient": (theta, "theta"),
    "a longer trace": (trace, "trace"),
    "a loop that stops early": (early_stop, "questions"),
    "a question that moves": (question, "questions"),
    "an attribute": (attribute, "attributes"),
    "a shape": (shape, "attributes"),
    "a line that runs for some tables": (branch, "lines"),
}


def told(show: Show, tmp_path: Path, relation: str = "replace-one") -> dict[str, Any]:
    model = cases.model("LinearRegression", "gradient", relation).set_params(solver=hb.GradientSolver())  # not held up
    others = {name: cases.others(relation)[name] for name in ("all records", "no cell as declared")}
    found = told_apart(show, model, cases.base(), others, tmp_path / "run")
    return {name: value for one in found.values() for name, value in one.items()}


@pytest.mark.few(1)
@pytest.mark.parametrize("fault", SEEN)
def test_a_planted_branch_is_seen(fault: str, show: Show, tmp_path: Path, monkeypatch: Patch) -> None:
    plant, where = SEEN[fault]
    plant(monkeypatch)
    assert where in told(show, tmp_path)


def test_a_value_in_an_error_is_seen(show: Show, tmp_path: Path, monkeypatch: Patch) -> None:
    encoding_that(monkeypatch, refuse)
    with pytest.raises(AssertionError, match="which is not expected"):  # no fit ends in a release
        told(show, tmp_path)


@pytest.mark.slow
def test_a_file_left_behind_is_seen(show: Show, tmp_path: Path, monkeypatch: Patch) -> None:
    left_behind(monkeypatch, tmp_path)
    assert "file cache.npy" in told(show, tmp_path)


ALIKE = ("a table of a database", "a page that a database left free", "the mode of a file")


@pytest.mark.few(1)
@pytest.mark.parametrize("fault", [pytest.param(one, marks=pytest.mark.slow) if one in ALIKE else one for one in LEFT])
def test_a_planted_trace_is_seen(fault: str, show: Show, tmp_path: Path, monkeypatch: Patch) -> None:
    does, where = LEFT[fault]
    in_the_folder(monkeypatch, does)
    assert where in told(show, tmp_path)


@pytest.mark.slow
def test_what_a_ledger_learns_is_seen(show: Show, tmp_path: Path, monkeypatch: Patch) -> None:
    charged_after(monkeypatch)
    assert "charges" in told(show, tmp_path)


@pytest.mark.slow
def test_a_plan_by_the_number_of_rows_is_seen(show: Show, tmp_path: Path, monkeypatch: Patch) -> None:
    model = cases.model("LinearRegression", "gradient", "add-or-remove")
    plan_by_length(monkeypatch)
    others = {"one fewer": cases.others("add-or-remove")["one fewer"]}
    assert told_apart(show, model, cases.base(), others, tmp_path / "run")


def test_nothing_is_seen_where_nothing_was_planted(show: Show, tmp_path: Path) -> None:
    assert told(show, tmp_path) == {}
