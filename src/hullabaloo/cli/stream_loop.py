"""The work of `hullabaloo stream`: read, take, save, show; until the source or the horizon ends, or somebody says stop."""

import json
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from hullabaloo.cli import build
from hullabaloo.cli.output import NotSaved, in_json
from hullabaloo.data.documents import kind_of
from hullabaloo.errors import InvalidParameter

if TYPE_CHECKING:
    from hullabaloo.cli.options import FileOptions
    from hullabaloo.data.sources import StreamSource

_PASSING = {"library_version", "version", "made"}  # of a model file, what says when and by whom it was written
POSITION = "{position}"
UNPROVED = (
    "Note: nothing was kept of the {:,} records taken so far by which a source that was changed since could be told, as when another "
    "version saved them, or they came from a source of another kind. They are passed over as they stand, this once."
)
MODELS = ("hullabaloo model", "hullabaloo stream model")
SHOWN = 4  # coefficients on a line
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopping() -> Iterator[Event]:
    """An event that an interrupt sets, so that work stops between two batches; a second interrupt ends the process at once."""
    stop = Event()

    def ask(number: int, frame: FrameType | None) -> None:
        stop.set()
        signal.signal(number, signal.SIG_DFL)

    mine = SIGNALS if threading.current_thread() is threading.main_thread() else ()  # others have no say in signals
    before = {number: signal.signal(number, ask) for number in mine}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def feed(
    stream: Any,
    source: "StreamSource",
    target: str | None,
    models: "ModelFiles",
    files: "FileOptions",
    stop: Event,
    say: Callable[[Any, Path | None, int | None], str],
) -> None:
    """Take the records of a source from the stream's position on, and write and show every model as it is released.

    The stream is open. A batch ends where a model is released, so the model is written before the next record is read: a run that was
    killed in between finds the last release in its state and writes it first.
    """
    released, start, mark = stream.released_at_, stream.position_, stream._live().mark
    unproved = not files.continues if mark is None else mark.unproved
    if start and not source.can_wait and unproved:
        print(UNPROVED.format(start), file=sys.stderr, flush=True)
    schedule = stream._schedule

    def cut(position: int) -> int:  # the next release, or the horizon after the last of them
        done = schedule.completed(position)
        if done < schedule.steps:
            return int(schedule.position(done + 1))
        return position if schedule.horizon is None else int(schedule.horizon)

    with stream:  # what was taken is saved, however this ends
        if released:
            models.write(stream.model_at())
        for batch in source.batches(start, mark, cut=cut, stop=stop, continues=files.continues):
            stream._live().reading(batch.mark)
            stream.partial_fit(batch.table, target)
            if stream.released_at_ != released:
                released = stream.released_at_
                model = stream.model_at()
                print(say(model, models.write(model), schedule.horizon), flush=True)


def line(model: Any, path: Path | None, horizon: int | None) -> str:
    """What a person reads of a release: public facts and released numbers."""
    of = "" if horizon is None else f" of {horizon:,}"
    coefficients = np.atleast_2d(model.coef_)[0]
    pairs = [f"{name} {value:.4g}" for name, value in zip(model.feature_names_out_[:SHOWN], coefficients, strict=False)]
    pairs += ["…"] * (coefficients.size > SHOWN) + [f"(intercept) {np.ravel(model.intercept_)[0]:.4g}"]
    shown = [f"{model.position:>12,}{of} records", ", ".join(pairs), "" if path is None else str(path)]
    return "   ".join(filter(None, shown))


def as_json(model: Any, path: Path | None, _: int | None) -> str:
    """A release for scripts, on a line of its own."""
    coefficients = dict(zip(model.feature_names_out_, np.asarray(model.coef_).T, strict=True))
    spent = model.statement.budget.to_dict()
    found = {"release": model.position, "model": path and str(path), "spent": spent, "coefficients": coefficients}
    return in_json({**found, "intercept": model.intercept_})


class ModelFiles:
    """Writes the model of each release to a file of its own, once, and the latest to another.

    A file appears complete or not at all. One that exists is left as it is if it holds this very release, which is what a run that
    was killed after writing it finds; another one is never overwritten.
    """

    def __init__(self, pattern: str | None, latest: Path | None) -> None:
        if pattern is None and latest is None:
            raise InvalidParameter(
                "No place for the released models was given. Pass --models 'models/{position}.json' for a file of each release, or --out model.json for the latest, or both."
            )
        if pattern is not None and POSITION not in Path(pattern).name:
            raise InvalidParameter(
                f"--models {pattern} names no file of its own for every release. Put {POSITION} into the file's name, as in 'models/{POSITION}.json', "
                "or pass --out for a file that holds the latest model."
            )
        self._pattern, self._latest = pattern, latest
        self._first = True
        for path in (self._file(0), latest):
            build.output(path, overwrite=True)
        if latest is not None and latest.is_file() and latest.stat().st_size and kind_of(latest) not in MODELS:
            raise InvalidParameter(
                f"--out {latest} exists and is no released model: what it holds would be lost. Nothing was read or charged. Name another file, or move it away."
            )

    def _file(self, position: int) -> Path | None:
        return None if self._pattern is None else Path(self._pattern.replace(POSITION, str(position)))

    def refuse_old(self) -> None:
        """Refuse to begin a stream whose models would find files in their places, before anything is spent."""
        if self._pattern is None:
            return
        path = Path(self._pattern)
        before, after = path.name.split(POSITION, 1)
        for found in path.parent.iterdir():
            middle = found.name[len(before) : len(found.name) - len(after)]
            if middle.isdecimal() and found.name == f"{before}{middle}{after}":
                raise InvalidParameter(
                    f"A new stream was asked for, and {found} exists, where a model of it may be written. Nothing was read or charged. Name "
                    "another --models, move the old files away, or name the --state of the stream that wrote them."
                )

    def write(self, model: Any) -> Path | None:
        """Write the model of a release; gives the file of the release, None where it is kept as the latest only."""
        path = self._file(model.position)
        if path is not None:
            self._written(model, path, once=True)
        if self._latest is not None:
            self._written(model, self._latest, once=False)
        self._first = False
        return path

    def _written(self, model: Any, place: Path, once: bool) -> None:
        draft = place.with_name(f".{place.name}.unfinished")
        try:
            if self._first:
                _clear(place)
            model.save(draft if once else place)
            if once:
                _once(draft, place)
        except FileExistsError:
            raise NotSaved(
                f"{place} exists and holds something other than this release. It was left as it is. A state goes with the models that "
                "were written from it: move the file away, or name another --models, and run the command again."
            ) from None
        except OSError as error:
            raise NotSaved(
                f"The model after {model.position:,} records was released, but {place} could not be written ({error.strerror}). "
                "Make room there and run the command again: with --state it writes this model and goes on."
            ) from None


def _clear(place: Path) -> None:
    """Remove what a killed run may have left of its last model. The state is locked: no other run writes it now."""
    name = re.escape(place.name)
    left = re.compile(rf"\.{name}\.unfinished|\.(?:{name}|\.{name}\.unfinished)\.[0-9a-f]{{32}}\.part")
    for one in filter(lambda one: left.fullmatch(one.name), list(place.parent.iterdir())):
        one.unlink(missing_ok=True)


def _once(draft: Path, path: Path) -> None:
    """Give a complete draft its name, unless a file of that name holds the same release already."""
    try:
        os.link(draft, path)
    except FileExistsError:
        if not _same(draft, path):
            raise
    finally:
        draft.unlink()


def _same(one: Path, other: Path) -> bool:
    """Whether two files hold one release, whenever and by whichever version of the library they were written."""
    try:
        first, second = (_lasting(json.loads(path.read_text(encoding="utf-8"))) for path in (one, other))
    except (ValueError, OSError):
        return False
    for older, newer in ((first, second), (second, first)):  # a statement of before rows had heads may be of any row
        if "head" not in _statement(older):
            for name in ("database", "head"):
                _statement(newer).pop(name, None)
    return bool(first == second)


def _statement(model: Any) -> dict[str, Any]:
    release = model.get("release") if isinstance(model, dict) else None
    found = release.get("statement") if isinstance(release, dict) else None
    return found if isinstance(found, dict) else {}


def _lasting(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lasting(one) for key, one in value.items() if key not in _PASSING}
    return [_lasting(one) for one in value] if isinstance(value, list) else value
