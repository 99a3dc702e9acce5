"""The work of `hullabaloo stream`: read, take, save, show; until the source or the horizon ends, or somebody says stop."""

import json
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

from hullabaloo.cli.output import plain
from hullabaloo.cli.stream_files import ModelFiles, older_mark, older_place

if TYPE_CHECKING:
    from hullabaloo.cli.options import FileOptions
    from hullabaloo.data.sources import StreamSource
    from hullabaloo.privacy.schedule import Schedule

UNPROVED = (
    "Note: nothing was kept of the {:,} records taken so far by which a source that was changed since could be told, as when another "
    "version saved them, or they came from a source of another kind. They are passed over as they stand, this once."
)
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


def next_release(schedule: "Schedule") -> Callable[[int], int]:
    """For a position, the next one at which a model is released; the horizon after the last of them."""

    def cut(position: int) -> int:
        done = schedule.completed(position)
        if done < schedule.steps:
            return schedule.position(done + 1)
        return position if schedule.horizon is None else schedule.horizon

    return cut


def feed(
    stream: Any,
    source: "StreamSource",
    target: str | None,
    models: ModelFiles,
    files: "FileOptions",
    stop: Event,
    say: Callable[[Any, Path | None, int | None], str],
) -> None:
    """Take the records of a source from the stream's position on, and write and show every model as it is released.

    The stream is open. A batch ends where a model is released, so the model is written before the next record is read: a run that was
    killed in between finds the last release in its state and writes it first.
    """
    released, start, older = stream.released_at_, stream.position_, older_place(files.state)
    mark = stream._live().mark
    if mark is None and older is not None:
        mark = older_mark(older, start)
    unproved = not files.continues if mark is None else mark.unproved
    if start and not source.can_wait and unproved:
        print(UNPROVED.format(start), file=sys.stderr, flush=True)
    taken, cut = False, next_release(stream._schedule)
    with stream:  # what was taken is saved, however this ends
        if released:
            models.write(stream.model_at())
        for batch in source.batches(start, mark, cut=cut, stop=stop, continues=files.continues):
            stream._live().reading(batch.mark)
            stream.partial_fit(batch.table, target)
            taken = True
            if stream.released_at_ != released:
                released = stream.released_at_
                model = stream.model_at()
                print(say(model, models.write(model), stream._schedule.horizon), flush=True)
    if taken and older is not None:
        older.unlink()  # the state says it now


def line(model: Any, path: Path | None, horizon: int | None) -> str:
    """What a person reads of a release: public facts and released numbers."""
    of = "" if horizon is None else f" of {horizon:,}"
    coefficients = np.atleast_2d(model.coef_)[0]
    pairs = [f"{name} {value:.4g}" for name, value in zip(model.feature_names_out_[:SHOWN], coefficients, strict=False)]
    more = ["…"] if coefficients.size > SHOWN else []
    more += [f"(intercept) {np.ravel(model.intercept_)[0]:.4g}"]
    return "   ".join(
        [f"{model.position:>12,}{of} records", ", ".join(pairs + more), *([] if path is None else [str(path)])]
    )


def as_json(model: Any, path: Path | None, _: int | None) -> str:
    """A release for scripts, on a line of its own."""
    coefficients = dict(zip(model.feature_names_out_, np.asarray(model.coef_).T, strict=True))
    spent = model.statement.budget.to_dict()
    found = {"release": model.position, "model": path and str(path), "spent": spent, "coefficients": coefficients}
    return json.dumps(plain({**found, "intercept": model.intercept_}), allow_nan=False, ensure_ascii=False)
