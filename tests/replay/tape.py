"""Records what a curator is asked and what it answers, and gives the same answers again over another table."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from typing import Any
from unittest.mock import patch

from hullabaloo.curator import Curator, StreamCurator
from tests.replay.exact import exact

VIEWS = ("of_target", "restricted", "projected", "centred")
"""Public methods of a curator that give a curator; all others answer with noise, those that will be written included, or give an answer up."""


def answering() -> list[tuple[type, str]]:
    """Every method that answers from records, or gives an answer up."""
    found = [
        (Curator, name)
        for name, member in vars(Curator).items()
        if inspect.isfunction(member) and not name.startswith("_") and name not in VIEWS
    ]
    return [*found, (StreamCurator, "moments")]


class Tape:
    """What was asked (method and arguments, bit for bit) and answered.

    Replayed, the real curator is asked, too, so that what it raises is seen, and what it answers is dropped for what was recorded.
    """

    def __init__(self) -> None:
        self.questions: list[Any] = []
        self._answers: list[Any] = []
        self._place: int | None = None

    @contextmanager
    def running(self, *, replay: bool) -> Iterator["Tape"]:
        """Record, or replay from the beginning; gives the tape on which the questions of this run are."""
        self._place = 0 if replay else None
        run = Tape()
        with ExitStack() as stack:
            for owner, name in answering():
                stack.enter_context(patch.object(owner, name, self._wrapped(getattr(owner, name), run)))
            for name in VIEWS:
                stack.enter_context(patch.object(Curator, name, _noted(getattr(Curator, name), run)))
            yield run
        if not replay:
            self.questions = run.questions

    def _wrapped(self, method: Callable[..., Any], run: "Tape") -> Callable[..., Any]:
        def ask(curator: Any, *arguments: Any, **named: Any) -> Any:
            run.questions.append((method.__name__, exact(arguments), exact(named)))
            answer = method(curator, *arguments, **named)
            if self._place is None:
                self._answers.append(deepcopy(answer))
                return deepcopy(
                    answer
                )  # not the curator's own arrays: linear algebra rounds by how an array lies in memory
            if self._place < len(self._answers):
                answer = deepcopy(self._answers[self._place])
                self._place += 1
            return answer

        return ask


def _noted(view: Callable[..., Any], run: Tape) -> Callable[..., Any]:
    def look(curator: Any, *arguments: Any, **named: Any) -> Any:
        run.questions.append((view.__name__, exact(arguments), exact(named)))
        return view(curator, *arguments, **named)

    return look
