"""Streams in the audit: two streams that differ in one record, and everything of them that ever gets noise.

Running sums: the record stands at the position that the strategy encodes with the longest column. What the decoder is given is all that
ever leaves, as every model is a function of it; the exact encoded streams are those of the same process at μ = ∞, so that
whatever a process encodes twice, or noises again, counts twice. Fits again and again: see `refits.py`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hullabaloo.audit import privacy_loss
from hullabaloo.audit.privacy_loss import PrivacyLoss
from hullabaloo.curation.moments_process import MomentsProcess
from hullabaloo.curator import StreamSumQuery
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.noise import TestKey
from hullabaloo.noise.continual.base import Strategy
from hullabaloo.privacy import Event, Neighbours
from hullabaloo.release import Release

Array = npt.NDArray[np.float64]

LONGEST = 2048
"""Releases up to which every position is tried; a longer stream is followed for `FOLLOWED` of them, from the first."""
FOLLOWED = 256


@final
@dataclass(frozen=True, slots=True, eq=False)
class TracedSums:
    """A stream of running sums and its worst pair of neighbours: all that is computed once for any number of runs.

    Attributes:
        process: planned and priced; it takes nothing.
        tables: the encoded records of both streams.
        exact: the encoded streams in units of their noise, under either.
    """

    process: MomentsProcess
    tables: tuple[Rows, Rows]
    exact: tuple[Array, Array]

    @classmethod
    def of(cls, process: MomentsProcess, facts: RowFacts) -> "TracedSums":
        """The pair for records of these facts (before a sketch, where there is one)."""
        query, found = process.query, []
        for row in longest_rows(facts):
            tables = _streams(query, facts, row)
            first, second = (_encoded(process, query.priced(math.inf), rows, None) / query.sigma for rows in tables)
            found.append((float(np.linalg.norm(second - first)), tables, (first, second)))
        return cls(process, *max(found, key=lambda one: one[0])[1:])

    @property
    def parts(self) -> Event:
        """What is drawn costs."""
        return self.process.query.event

    def log(self, truth: int, key: TestKey | None) -> list[PrivacyLoss]:
        """What one stream of number `truth`, to its end, tells."""
        query = self.process.query
        answer = _encoded(self.process, query, self.tables[truth], key) / query.sigma
        return [privacy_loss.gaussian(query.name, query.event.gdp_mu() or 0.0, answer, self.exact, truth, each=False)]

    def released(self, truth: int, key: TestKey | None) -> Release | None:
        """The last model of stream number `truth`."""
        process = _opened(self.process, self.process.query, key)
        process.take(self.tables[truth])
        return process.released()


def longest_rows(facts: RowFacts) -> Iterator[Array]:
    """Rows as long as the declared bounds let them be: over as many columns as it takes, over one, over the last ones."""
    slopes = facts.width - facts.intercept
    for order in (range(slopes), range(min(slopes, 1)), range(slopes - 1, -1, -1)):
        row = np.zeros(facts.width)
        square, total = facts.norm_l2**2 - facts.intercept, facts.norm_l1 - facts.intercept
        for column in order:
            row[column] = max(0.0, min(facts.norm_linf, math.sqrt(max(square, 0.0)), total))
            square, total = square - row[column] ** 2, total - row[column]
        row *= 1.0 - 2.0**-40
        row[slopes:] = 1.0
        yield row


def _streams(query: StreamSumQuery, facts: RowFacts, row: Array) -> tuple[Rows, Rows]:
    """Two streams of that row and the target 1; in the second one target is −1, or one record contributes nothing."""
    schedule, steps = query.schedule, min(query.schedule.steps, query.strategy.steps)
    steps = steps if steps <= LONGEST else FOLLOWED
    count, place = schedule.position(steps), schedule.position(_heaviest(query.strategy, steps)) - 1
    X, Y = np.tile(row, (count, 1)), np.ones((count, len(facts.targets)))
    weight = np.full(count, facts.max_weight) if facts.weighted else None
    other = Rows(X.copy(), Y.copy(), weight)
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
    _opened(process, watched, key).take(rows)
    return np.concatenate([one.ravel() for one in seen])


def _opened(process: MomentsProcess, query: StreamSumQuery, key: TestKey | None) -> MomentsProcess:
    return MomentsProcess(replace(process.task, key=key), process.problem, query, transform=process.transform)


@final
@dataclass(slots=True)
class Watched:
    """A strategy, or its decoder, that shows what its decoders are given; in all else what it was."""

    watched: Any
    seen: list[Array] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.watched, name)

    def decoder(self, length: int) -> "Watched":
        """The strategy's decoder, watched."""
        return Watched(self.watched.decoder(length), self.seen)

    def decode(self, noisy: Array, steps: int) -> Array:
        """What the decoder gives."""
        self.seen.append(noisy.copy())
        found: Array = self.watched.decode(noisy, steps)
        return found
