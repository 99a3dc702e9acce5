"""The files of `hullabaloo stream` beside its state: a model for each release, and the place reached in the source."""

import json
import os
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from hullabaloo.cli import build
from hullabaloo.cli.boundary import NotSaved
from hullabaloo.errors import InvalidParameter

if TYPE_CHECKING:
    from hullabaloo.privacy.schedule import Schedule
    from hullabaloo.streaming.sources import Mark

_PASSING = {"library_version", "version", "made"}  # of a model file, what says when and by whom it was written
POSITION = "{position}"
MOST_LOOKED_AT = 10_000
SELDOM = 1.0  # seconds between two saves of the place


class ModelFiles:
    """Writes the model of each release to a file of its own, once, and the latest to another.

    A file appears complete or not at all. One that exists is left as it is if it holds this very release, which is what a run that
    was killed after writing it finds; another one is never overwritten.
    """

    def __init__(self, pattern: str | None, latest: Path | None) -> None:
        if pattern is None and latest is None:
            raise InvalidParameter(
                "No place for the released models was given. Pass --models 'models/{position}.json' for a file of each release, or "
                "--out model.json for the latest, or both."
            )
        if pattern is not None and POSITION not in pattern:
            raise InvalidParameter(
                f"--models {pattern} names the same file for every release. Put {POSITION} into it, as in 'models/{POSITION}.json', "
                "or pass --out for a file that holds the latest model."
            )
        self._pattern, self._latest = pattern, latest
        for path in (None if pattern is None else self._file(0).parent / "model.json", latest):
            build.output(path, overwrite=True)

    def _file(self, position: int) -> Path:
        assert self._pattern is not None
        return Path(self._pattern.replace(POSITION, str(position)))

    def refuse_old(self, schedule: "Schedule") -> None:
        """Refuse to begin a stream whose models would find files in their places, before anything is spent."""
        if self._pattern is None:
            return
        for step in range(1, min(schedule.steps, MOST_LOOKED_AT) + 1):
            path = self._file(schedule.position(step))
            if path.exists():
                raise InvalidParameter(
                    f"A new stream was asked for, and {path} exists, where a model of it would be written. Nothing was read or charged. Name "
                    "another --models, move the old files away, or name the --state of the stream that wrote them."
                )

    def write(self, model: Any) -> Path | None:
        """Write the model of a release; gives the file of the release, None where it is kept as the latest only."""
        path = None if self._pattern is None else self._file(model.position)
        text = json.dumps(model.to_dict(), indent=1, allow_nan=False) + "\n"
        try:
            if path is not None:
                _once(path, text)
            if self._latest is not None and not (self._latest.exists() and _same(self._latest, text)):
                _unfinished(self._latest, text).replace(self._latest)
        except OSError as error:
            if isinstance(error, NotSaved):
                raise
            raise NotSaved(
                f"The model after {model.position:,} records was released, but {path or self._latest} could not be written "
                f"({error.strerror}). Make room there and run the command again: with --state it writes this model and goes on."
            ) from None
        return path


def _once(path: Path, text: str) -> None:
    if path.exists():
        if not _same(path, text):
            raise NotSaved(
                f"{path} exists and holds something other than this release. It was left as it is. A state goes with the models that "
                "were written from it: move the file away, or name another --models, and run the command again."
            )
        with suppress(FileNotFoundError):
            _beside(path).unlink()
        return
    draft = _unfinished(path, text)
    os.link(draft, path)  # fails where another process was quicker
    draft.unlink()


def _beside(path: Path) -> Path:
    """Where a file is written before it gets its name: one name, so that a killed run leaves at most this behind."""
    return path.with_name(f".{path.name}.unfinished")


def _unfinished(path: Path, text: str) -> Path:
    draft = _beside(path)
    with draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return draft


def _same(path: Path, text: str) -> bool:
    """Whether a file holds this release, whenever and by whichever version of the library it was written."""
    try:
        return bool(_lasting(json.loads(path.read_text(encoding="utf-8"))) == _lasting(json.loads(text)))
    except (ValueError, TypeError):
        return False


def _lasting(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lasting(one) for key, one in value.items() if key not in _PASSING}
    return [_lasting(one) for one in value] if isinstance(value, list) else value


class PlaceFile:
    """Where the reading of the source stands, beside the state file: it saves counting.

    It holds two marks: the first one made in this source, from which its records can always be counted, and the latest. Mode 0600, as
    the state: a byte offset says how long records are.
    """

    def __init__(self, state: Path | None) -> None:
        self._path = None if state is None else state.with_name(f"{state.name}.place")
        self._saved = -SELDOM
        self._first: Mark | None = None

    def read(self, position: int) -> "Mark | None":
        """The furthest mark that is not beyond a position; None where there is none, or none that can be read."""
        from hullabaloo.streaming.sources import Mark

        if self._path is None:
            return None
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            marks = [Mark(int(one["position"]), dict(one["place"])) for one in found]
        except (OSError, ValueError, KeyError, TypeError, OverflowError):
            return None
        self._first = marks[0] if marks else None
        return max((one for one in marks if one.position <= position), key=lambda one: one.position, default=None)

    def begin(self, mark: "Mark") -> None:
        """Save where the reading begins, before the first record is taken; a mark made earlier in the same source is kept."""
        if self._first is None or not self._first.same_source(mark):
            self._first = mark
        self.write(mark, now=True)

    def write(self, mark: "Mark", *, now: bool = False) -> None:
        """Save a place whose records are all in the saved state; at most once a second, unless `now`."""
        if self._path is None or (not now and monotonic() - self._saved < SELDOM):
            return
        marks = [{"position": one.position, "place": dict(one.place)} for one in (self._first or mark, mark)]
        draft = self._path.with_name(f"{self._path.name}.unfinished")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(marks, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path)
        self._saved = monotonic()
