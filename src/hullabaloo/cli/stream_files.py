"""The files of `hullabaloo stream` beside its state: a model for each release, and the place reached in the source."""

import glob
import json
import os
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from hullabaloo.cli import build
from hullabaloo.cli.boundary import NotSaved
from hullabaloo.errors import InvalidParameter

if TYPE_CHECKING:
    from hullabaloo.streaming.sources import Mark

_PASSING = {"library_version", "version", "made"}  # of a model file, what says when and by whom it was written
POSITION = "{position}"
SELDOM = 1.0  # seconds between two saves of the place
BLOCK = 1 << 13  # bytes, of which the place takes a few hundred


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
        if pattern is not None and POSITION not in Path(pattern).name:
            raise InvalidParameter(
                f"--models {pattern} names no file of its own for every release. Put {POSITION} into the file's name, as in 'models/{POSITION}.json', "
                "or pass --out for a file that holds the latest model."
            )
        self._pattern, self._latest = pattern, latest
        self._first = True
        for path in (None if pattern is None else self._file(0), latest):
            build.output(path, overwrite=True)

    def _file(self, position: int) -> Path:
        assert self._pattern is not None
        return Path(self._pattern.replace(POSITION, str(position)))

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
        path = None if self._pattern is None else self._file(model.position)
        for place in (path, self._latest):
            if place is None:
                continue
            draft = place.with_name(f".{place.name}.unfinished")
            try:
                if self._first:
                    _clear(draft)
                _save(model, draft)
                if place is self._latest:
                    draft.replace(place)
                else:
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
        self._first = False
        return path


def _clear(draft: Path) -> None:
    """Remove what a killed run may have left of its last model."""
    for left in draft.parent.glob(f"{glob.escape(draft.name)}*"):
        left.unlink()


def _save(model: Any, draft: Path) -> None:
    model.save(draft)
    with draft.open("rb") as file:
        os.fsync(file.fileno())


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
    return bool(first == second)


def _lasting(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lasting(one) for key, one in value.items() if key not in _PASSING}
    return [_lasting(one) for one in value] if isinstance(value, list) else value


class PlaceFile:
    """Where the reading of the source stands, beside the state file: it saves counting.

    It holds two marks: the first one made in this source, from which its records can always be counted, and the latest. Mode 0600, as
    the state: a byte offset says how long records are; and of one size, as its digits would say it too.
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
        text = json.dumps(marks)
        draft = self._path.with_name(f"{self._path.name}.unfinished")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text + " " * (-len(text) % BLOCK))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path)
        self._saved = monotonic()
