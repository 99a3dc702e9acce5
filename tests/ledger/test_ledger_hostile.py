"""Whatever is asked of a ledger, and whatever its cells hold: every method answers, or refuses in a sentence of the library's own."""

import math
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hullabaloo.errors import HullabalooError, InvalidParameter
from hullabaloo.ledger import Ledger, schema
from hullabaloo.privacy import Budget, GaussianEvent, SelectionEvent

FULL = Budget(1.0, 1e-6)
EVENT = SelectionEvent(0.01)
PART = Budget(0.01, 0.0)
HOSTILE: tuple[Any, ...] = (
    None, 5, -1, 10**400, 1.5, math.nan, math.inf, True, b"clinic", ["clinic"], {"clinic": 1}, {1: 2, "a": 3}, set(), object(), str, "",
    " ", "\0", "\ud800", "x" * 600, "two\nlines", "clinic'; --", "clinic", np.str_("clinic"), np.float64(0.1), np.zeros(2), lambda: None,
    EVENT, FULL, Path("clinic"),
)  # fmt: skip
GOOD: dict[str, dict[str, Any]] = {
    "create": {"dataset": "ward", "budget": FULL, "neighbours": "replace-one", "unit": "record", "records_per_unit": 1, "filter": "basic", "who": None},
    "charge": {"dataset": "clinic", "event": EVENT, "budget": PART, "neighbours": "replace-one", "unit": "record", "records_per_unit": 1, "what": "x",
               "who": None, "detail": None, "test_key": False},
    "check": {"dataset": "clinic", "event": EVENT, "budget": PART, "neighbours": "replace-one", "what": "x", "who": None, "detail": None},
    "open_stream": {"dataset": "clinic", "stream": "s", "event": EVENT, "budget": PART, "neighbours": "replace-one", "what": "x", "detail": None},
    "advance": {"dataset": "clinic", "stream": "s1", "position": 1, "token": "a", "previous": "s1"},
    "stream": {"dataset": "clinic", "stream": "s1"},
    "streams": {"dataset": "clinic"},
    "remaining": {"dataset": "clinic"},
    "charges": {"dataset": "clinic"},
    "dataset": {"name": "clinic"},
    "datasets": {},
    "upgrade": {},
    "verify": {"models": ()},
}  # fmt: skip
"""Every public method, with arguments that it takes."""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger's file with a fit and a stream."""
    path = tmp_path_factory.mktemp("kept") / "privacy.db"
    _fill(Ledger(f"sqlite:///{path}"))
    return path


def _fill(ledger: Ledger) -> None:
    ledger.create("clinic", FULL)
    ledger.charge("clinic", EVENT, budget=PART, neighbours="replace-one", what="a fit")
    event = GaussianEvent(200.0, samples=1000)
    ledger.open_stream("clinic", "s1", event, budget=Budget(0.1, 1e-7), neighbours="replace-one", what="a stream")


def _answers(act: Callable[..., Any], **given: Any) -> str:
    """The sentence of a refusal; an exception of anybody else passes through."""
    try:
        act(**given)
    except HullabalooError as error:
        return str(error)
    return ""


def test_every_public_method_is_tried() -> None:
    public = {name for name, one in vars(Ledger).items() if callable(one) and not name.startswith("_")}
    assert public == set(GOOD)


@pytest.mark.few(6)
@pytest.mark.parametrize("name", GOOD)
def test_no_argument_brings_out_a_foreign_exception(kept: Path, tmp_path: Path, name: str) -> None:
    """`Ledger.remaining(5)` raised TypeError, `records_per_unit=10**400` OverflowError, `filter=[]` TypeError."""
    ledger = Ledger(f"sqlite:///{shutil.copy(kept, tmp_path / 'privacy.db')}")
    for place in GOOD[name]:
        for value in HOSTILE:
            _answers(getattr(ledger, name), **(GOOD[name] | {place: value}))
    assert ledger.verify().status == "sound"


@pytest.mark.few(1)
def test_hostile_names_in_a_server(ledger: Ledger) -> None:
    _fill(ledger)
    for name, given in GOOD.items():
        for value in (5, None, "\0", "\ud800", np.str_("clinic")):
            _answers(
                getattr(ledger, name), **(given | {place: value for place in ("dataset", "name") if place in given})
            )
    assert ledger.verify().status == "sound"


@pytest.mark.parametrize(
    "url",
    [None, 5, 10**400, b"sqlite:///x.db", [], {}, object(), "\0", "\ud800", "sqlite:///\ud800.db", "sqlite:///\0.db"],
)
def test_no_address_brings_out_a_foreign_exception(url: Any) -> None:
    _answers(lambda: Ledger(url).datasets())


@pytest.mark.parametrize("act", ["remaining", "charges", "streams", "dataset"])
def test_a_number_is_no_name(sqlite_ledger: Ledger, act: str) -> None:
    sqlite_ledger.create("clinic", FULL)
    for name in (5, None, b"clinic"):
        with pytest.raises(InvalidParameter, match="names are text"):
            getattr(sqlite_ledger, act)(name)


BYTES = b"secret \xe9t\xe9 \xff\x00\x01"
CELLS: tuple[Any, ...] = (
    "CAST(x'" + BYTES.hex() + "' AS TEXT)", "x'" + BYTES.hex() + "'", "'other'", "''", "'{'", "'[]'", "'{}'", "'[1e400, NaN]'", "'[1, true]'",
    "'[" + "9" * 400 + ", 0]'", "-1", "0", "7", "1.5", "9223372036854775807", "'1/0'", "'" + "[" * 5000 + "'", "'{\"kind\": {}}'", "NULL",
    "'postgresql://ann:secret@host/db'", "'secret\nsecond line'", "'{\"kind\": \"dp\", \"epsilon\": " + "9" * 5000 + "}'",
)  # fmt: skip


COLUMNS = [(name, column.name) for name, one in sorted(schema.metadata.tables.items()) for column in one.c]


def _damaged(kept: Path, path: Path, table: str, column: str, cell: str) -> Ledger | None:
    """A copy with one cell changed in every row; None where the database itself refuses it."""
    shutil.copy(kept, path)
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute(f"UPDATE {table} SET {column} = {cell}")
    except sqlite3.IntegrityError:
        return None
    finally:
        connection.close()
    return Ledger(f"sqlite:///{path}")


@pytest.mark.few(4)
@pytest.mark.parametrize("cells", [CELLS[:3], pytest.param(CELLS, marks=pytest.mark.slow)], ids=["some", "all"])
@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_no_cell_brings_out_a_foreign_exception(
    kept: Path, tmp_path: Path, table: str, column: str, cells: tuple[str, ...]
) -> None:
    """Before, Latin-1 text stopped `verify` with the driver's message, which held the cell; a version in words was a TypeError."""
    for cell in cells:
        ledger = _damaged(kept, tmp_path / "privacy.db", table, column, cell)
        if ledger is None:
            continue
        if column not in ("version", "database"):
            assert "secret" not in str(ledger.verify()), "verify lists the damage, repeats none of it, and goes on"
        for name in GOOD if len(cells) == len(CELLS) else ("verify", "charge", "charges", "streams"):
            _answers(getattr(ledger, name), **GOOD[name])


def test_every_damaged_cell_is_listed(kept: Path, tmp_path: Path) -> None:
    path = shutil.copy(kept, tmp_path / "privacy.db")
    columns = ("budget", "event", "cost", "detail", "who", "neighbours")
    with sqlite3.connect(path) as connection:
        sets = ", ".join(f"{one} = x'ff'" for one in columns)
        connection.execute(f"UPDATE hullabaloo_charge SET {sets}")
    connection.close()
    found = [one for one in Ledger(f"sqlite:///{path}").verify().findings if "cannot be understood" in one.text]
    assert len(found) == 2 * len(columns)
    assert {one.number for one in found} == {1, 2}
