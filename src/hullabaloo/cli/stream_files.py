"""The files of `hullabaloo stream` beside its state: a model for each release."""

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hullabaloo.cli import build
from hullabaloo.cli.boundary import NotSaved
from hullabaloo.errors import InvalidParameter

if TYPE_CHECKING:
    from hullabaloo.data.sources import Mark

_PASSING = {"library_version", "version", "made"}  # of a model file, what says when and by whom it was written
POSITION = "{position}"


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
                    _clear(place)
                if place is self._latest:
                    model.save(place)
                else:
                    model.save(draft)
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


def older_place(state: Path | None) -> Path | None:
    """The file in which versions before this one kept the place in the source, beside the state; None where there is none."""
    path = None if state is None else state.with_name(f"{state.name}.place")
    return path if path is not None and path.is_file() else None


def older_mark(path: Path, position: int) -> "Mark | None":
    """The furthest mark in such a file that is not beyond a position; None where there is none, or none that can be read."""
    from hullabaloo.data.sources import Mark

    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        marks = [Mark(int(one["position"]), dict(one["place"])) for one in found]
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None
    return max((one for one in marks if one.position <= position), key=lambda one: one.position, default=None)
