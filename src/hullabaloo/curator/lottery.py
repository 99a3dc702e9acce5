"""What a search draws that is no answer: how many runs, which candidates, which part a record is in. None of it sees a record."""

from dataclasses import dataclass
from typing import final

from hullabaloo.noise import TestKey
from hullabaloo.noise.stopping import draw_below, draw_repeats, draw_secret
from hullabaloo.privacy import Repeats


@final
@dataclass(frozen=True, slots=True)
class Lottery:
    """The draws of one search; PRIVATE as long as its release says so, as the law of the best run rests on them.

    Attributes:
        key: a test key, or None for fresh draws.
    """

    key: TestKey | None = None

    def runs(self, repeats: Repeats) -> int:
        """The number of runs."""
        return draw_repeats(repeats, self._key("runs"))

    def candidate(self, count: int, run: int) -> int:
        """The number of the candidate of a run, in [0, count)."""
        return draw_below(count, self._key(f"candidate/{run}"))

    def secret(self) -> bytes:
        """32 bytes that decide who is held out."""
        return draw_secret(self._key("parts"))

    def _key(self, name: str) -> TestKey | None:
        return None if self.key is None else self.key.derive(name)
