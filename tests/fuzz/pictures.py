"""Dear doors of reports and of files: cards with their pictures, what stands on a card, and whatever reads a path."""

import os
from collections.abc import Callable
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import Any

import hullabaloo as hb
from hullabaloo import report, streaming
from tests.fuzz.asked import a_model, calmer, models
from tests.fuzz.doors import Door, arguments
from tests.fuzz.garbage import SECRET, Garbage
from tests.fuzz.rooms import BUDGET, damaged, folder
from tests.linear_model import examples

os.environ.setdefault("MPLBACKEND", "Agg")


@cache
def entries() -> dict[str, Any]:
    """What may stand on a card beside a model."""
    frame = examples.table(300)
    return {
        "bounds": hb.private_bounds(frame, outer={"age": (0, 130)}, budget=BUDGET),
        "evaluation": hb.evaluate(models()[0], frame, budget=BUDGET, metrics=["r2", "calibration"]),
    }


@cache
def _ledger() -> hb.Ledger:
    """A ledger with two charges."""
    made = hb.Ledger(f"sqlite:///{folder() / 'pictures.db'}")
    made.create("people", hb.Budget(10.0, 1e-3))
    for _ in range(2):
        model = hb.LinearRegression(budget=BUDGET, domain=examples.domain_for("LinearRegression"), solver="moments")
        model.set_params(ledger=made, dataset="people").fit(examples.table(100))
    return made


GIVEN: dict[str, Door] = {
    "model": a_model,
    "ledger": lambda g: g.one((_ledger(), _ledger().url)),
    "entries": lambda g: g.sequence(lambda: g.mostly(lambda: g.one(tuple(entries().values())))),
}


def carded(g: Garbage) -> None:
    """Make a card, and write it every way."""
    found = report.card(**arguments(calmer(g), report.card, GIVEN))
    assert not found.check()
    assert str(found)
    if g.chance(0.2):
        assert SECRET not in found.to_html()
    path = folder() / "made.json"
    found.to_json(path)
    assert report.card_from_json(path).to_dict() == found.to_dict()


READERS: tuple[Callable[..., Any], ...] = (
    hb.load, streaming.load, report.card_from_json, report.entry_from_json, hb.PrivateBounds.load, hb.Evaluation.load,
)  # fmt: skip
WRITERS: tuple[Callable[[], Callable[..., Any]], ...] = (
    lambda: models()[0].save,
    lambda: report.card(models()[0]).to_json,
    lambda: entries()["bounds"].save,
    lambda: entries()["evaluation"].save,
    lambda: streaming.new_key_file,
)


def _path(g: Garbage) -> Any:
    return folder() / "paths" / g.text().replace("/", "_").replace("\ud800", "?")


def read(g: Garbage) -> None:
    """Read whatever a path is given as."""
    given = g.anything() if g.chance(0.5) else g.one((_path(g), folder(), str(folder())))
    g.one(READERS)(given)


def written(g: Garbage) -> None:
    """Write to whatever a path is given as; what is no path is refused, and what the system refuses is its own error."""
    place = folder() / "paths"
    place.mkdir(exist_ok=True)
    given = _path(g) if g.chance(0.5) else g.one((1.5, None, b"", [], {}, folder(), "", "\x00", "a" * 5000, object))
    with chdir(place):
        try:
            g.one(WRITERS)()(given)
        except OSError as error:
            assert error.filename is not None, error  # noqa: PT017 - it says which file it was


@cache
def _entry(kind: str) -> bytes:
    path = folder() / f"{kind}.json"
    entries()[kind].save(path)
    return path.read_bytes()


def _shown(path: Path) -> None:
    found = report.entry_from_json(path)
    assert str(found)
    found.card_entry()


PICTURES: dict[str, Door] = {
    "report.card": carded,
    "report.schema": lambda g: report.schema(),
    "report.entry_from_json: bounds": damaged("bounds", _shown, _entry),
    "report.entry_from_json: evaluation": damaged("evaluation", _shown, _entry),
    "paths: read": read,
    "paths: written": written,
}
