"""What may come of garbage: an answer, or an error of the library's own that is a sentence and holds no record."""

import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sklearn.exceptions import NotFittedError

from hullabaloo.errors import HullabalooError
from tests.fuzz.garbage import SECRET

PATIENCE = 60  # seconds: whatever takes as long hangs
ENDS = (".", "?", ".)", '."', ".'", ".]")
LONGEST = 12_000


class Crash(AssertionError):
    """Something else came of an input."""


class _Hang(BaseException):
    pass


@contextmanager
def in_time(seconds: float = PATIENCE) -> Iterator[None]:
    """Stop what hangs; in the main thread only."""

    def stop(*_: object) -> None:
        raise _Hang

    before = signal.signal(signal.SIGALRM, stop)
    left = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *left)  # that of the whole test goes on
        signal.signal(signal.SIGALRM, before)


def check_sentence(text: str) -> None:
    """Refuse a message that is no sentence, or holds a record."""
    if SECRET in text or SECRET[-10:] in text:
        raise Crash(f"a message holds a record: {text[:300]}")
    if len(text.split()) < 5 or not text.rstrip().endswith(ENDS) or len(text) > LONGEST:
        raise Crash(f"a message is no sentence: {text[:300]!r}")


def judged(case: Callable[[], Any]) -> str:
    """ "accepted" or "refused"; raises Crash for anything else, with where it came from."""
    try:
        with in_time(), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", "A column-vector y was passed")  # as scikit-learn does
            case()
    except Crash:
        raise
    except (HullabalooError, NotFittedError) as error:
        check_sentence(str(error))
        return "refused"
    except _Hang as error:
        raise Crash(f"hangs for {PATIENCE} s at {place_of(error)}") from None
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) or type(error).__module__.startswith("hypothesis"):
            raise
        raise Crash(f"{type(error).__name__}: {str(error)[:200]} at {place_of(error)}") from error
    return "accepted"


def place_of(error: BaseException) -> str:
    """The deepest lines of the library in a traceback."""
    found = [step for step in traceback.extract_tb(error.__traceback__) if "/src/hullabaloo/" in step.filename]
    return " > ".join(f"{step.filename.partition('/src/hullabaloo/')[2]}:{step.lineno}" for step in found[-2:])


@dataclass
class Tally:
    """Inputs by entry point, and what came of them."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    crashes: dict[str, str] = field(default_factory=dict)

    def take(self, entry: str, case: Callable[[], Any]) -> None:
        """Try one input."""
        counted = self.counts.setdefault(entry, Counter())
        counted["inputs"] += 1
        try:
            counted[judged(case)] += 1
        except Crash as crash:
            counted["crashes"] += 1
            self.crashes.setdefault(f"{entry}: {str(crash).partition(' at ')[2] or crash}", str(crash))
