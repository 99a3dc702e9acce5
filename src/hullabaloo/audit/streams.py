"""Streams in the audit: two streams that differ in one record, and everything of them that ever gets noise.

The record stands at the position that the strategy encodes with the longest column. What the decoder is given is all that ever
leaves: every model is a function of it. The exact encoded streams are those of the same process at μ = ∞, so that whatever a
process encodes twice, or noises again, counts twice.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hullabaloo.curator import StreamSumQuery
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.noise import TestKey
from hullabaloo.noise.continual.base import Decoder, Strategy
from hullabaloo.privacy import Neighbours
from hullabaloo.streaming.hinge import MomentsProcess

Array = npt.NDArray[np.float64]

LONGEST = 2048
"""Releases up to which every position is tried; a longer stream is followed for `FOLLOWED` of them, from the first."""
FOLLOWED = 256


@final
@dataclass(frozen=True, slots=True, eq=False)
class StreamPair:
    """A stream and its worst pair of neighbours.

    Attributes:
        process: planned and priced; it takes nothing.
        rows: the encoded records of both streams.
        exact: the encoded streams without noise, (2, numbers).
        sigma: the noise of an encoded number, as declared.
    """

    process: MomentsProcess
    rows: tuple[Rows, Rows]
    exact: Array
    sigma: float

    @classmethod
    def of(cls, process: MomentsProcess, facts: RowFacts) -> "StreamPair":
        """The pair for records of these facts (before a sketch, where there is one)."""
        query = process.query
        silent = query.priced(math.inf)
        found: list[tuple[float, tuple[Rows, Rows], Array]] = []
        for row in longest_rows(facts):
            rows = _streams(query, facts, row)
            exact = np.array([_encoded(process, silent, one, None) for one in rows])
            found.append((float(np.linalg.norm(exact[1] - exact[0])), rows, exact))
        _, rows, exact = max(found, key=lambda one: one[0])
        return cls(process, rows, exact, query.sigma)

    @property
    def claimed(self) -> float:
        """The μ that all releases together are said to cost."""
        mu = self.process.event.gdp_mu()
        return math.inf if mu is None else mu

    @property
    def realised(self) -> float:
        """The μ that this pair realises at the declared noise."""
        return float(np.linalg.norm(self.exact[1] - self.exact[0])) / self.sigma

    def run(self, truth: int, key: TestKey | None) -> Array:
        """The noise of one release of stream `truth`, in units of its declared standard deviation."""
        noisy = _encoded(self.process, self.process.query, self.rows[truth], key)
        return np.asarray((noisy - self.exact[truth]) / self.sigma)

    def log_ratio(self, truth: int, drawn: Array) -> float:
        """`log p₁ − log p₀` of what a run showed."""
        apart = (self.exact[1] - self.exact[0]) / self.sigma
        return float(apart @ drawn) + (truth - 0.5) * float(apart @ apart)


def longest_rows(facts: RowFacts) -> Iterator[Array]:
    """Rows as long as the declared bounds let them be: over as many columns as it takes, over one, and over the last ones."""
    slopes = facts.width - facts.intercept
    for order in (range(slopes), range(1), range(slopes - 1, -1, -1)):
        row = np.zeros(facts.width)
        row[slopes:] = 1.0
        square, total = facts.norm_l2**2 - facts.intercept, facts.norm_l1 - facts.intercept
        for column in order:
            row[column] = max(0.0, min(facts.norm_linf, math.sqrt(max(square, 0.0)), total))
            square, total = square - row[column] ** 2, total - row[column]
        row[:slopes] *= 1.0 - 2.0**-40
        yield row


def _streams(query: StreamSumQuery, facts: RowFacts, row: Array) -> tuple[Rows, Rows]:
    """Two streams of that row and the target 1; in the second one target is −1, or one record contributes nothing."""
    schedule, steps = query.schedule, min(query.schedule.steps, query.strategy.steps)
    steps = steps if steps <= LONGEST else FOLLOWED
    step = _heaviest(query.strategy, steps)
    count, place = schedule.position(steps), schedule.position(step) - 1
    X, Y = np.tile(row, (count, 1)), np.ones((count, len(facts.targets)))
    weight = np.full(count, facts.max_weight) if facts.weighted else None
    other = Rows(X.copy(), Y.copy(), None if weight is None else weight.copy())
    other.Y[place] = -1.0
    if query.moments.neighbours is Neighbours.ADD_OR_REMOVE:
        other.X[place] = other.Y[place] = 0.0
    return Rows(X, Y, weight), other


def _heaviest(strategy: Strategy, steps: int) -> int:
    """The step, from 1, whose vector moves the encoded stream furthest."""
    if strategy.steps > LONGEST:
        return 1
    columns = strategy.encoder(strategy.steps).encode(np.eye(strategy.steps))
    return 1 + int(np.argmax(np.sum(columns**2, axis=0)[:steps]))


def _encoded(process: MomentsProcess, query: StreamSumQuery, rows: Rows, key: TestKey | None) -> Array:
    """All that the decoder of a fresh process for the query is given, end to end."""
    seen: list[Array] = []
    watched = replace(query, strategy=Watched(query.strategy, seen))  # type: ignore[arg-type]
    MomentsProcess(replace(process.task, key=key), process.problem, watched, transform=process.transform).take(rows)
    return np.concatenate([one.ravel() for one in seen])


class Watched:
    """A strategy whose decoders show what they are given; in all else the strategy itself."""

    def __init__(self, strategy: Strategy, seen: list[Array]) -> None:
        self._strategy, self._seen = strategy, seen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._strategy, name)

    def decoder(self, length: int) -> "WatchedDecoder":
        """The strategy's decoder, watched."""
        return WatchedDecoder(self._strategy.decoder(length), self._seen)


class WatchedDecoder:
    """A decoder that remembers the noisy encoded vectors."""

    def __init__(self, decoder: Decoder, seen: list[Array]) -> None:
        self._decoder, self._seen = decoder, seen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._decoder, name)

    def decode(self, noisy: Array, steps: int) -> Array:
        """What the decoder gives."""
        self._seen.append(noisy.copy())
        return self._decoder.decode(noisy, steps)
