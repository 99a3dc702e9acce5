"""Fit the same model to two tables under the same noisy answers, and give what tells them apart."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.replay.seen import differences, observe
from tests.replay.tape import Tape

Show = Callable[[Any, Any], Mapping[str, Any]]
"""Give a model and a table; get all that there is to see, by name."""


def told_apart(
    show: Show,
    model: Any,
    table: Any,
    others: Mapping[str, Any],
    folder: Path,
    *,
    asks: bool = True,
    lines: bool = True,
) -> dict[str, Any]:
    """By the name of another table, what shows that it was that one: nothing, it is hoped.

    `asks`: a curator is asked something; `lines`: the lines that run are compared.
    """
    tape = Tape()
    observe(lambda: show(model, table), tape, replay=False, lines=False)  # fills caches that planning keeps
    tape = Tape()
    first = observe(lambda: show(model, table), tape, replay=False, folder=folder, lines=lines)
    assert first["raised"] is None, first["raised"]
    assert first["questions"] or not asks, "a fit asks something"
    found = {}
    for name, other in others.items():
        again = observe(lambda: show(model, other), tape, replay=True, folder=folder, lines=lines)  # noqa: B023 - used at once
        if apart := differences(first, again):
            found[name] = apart
    return found
