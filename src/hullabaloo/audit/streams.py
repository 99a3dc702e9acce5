"""Streams in the audit: two streams that differ in one record, or in all of one unit, and everything of them that ever gets noise.

Running sums: the record stands at the position that the strategy encodes with the longest column. What the decoder is given is all that
ever leaves, as every model is a function of it; the exact encoded streams are those of the same process at μ = ∞, so that
whatever a process encodes twice, or noises again, counts twice. Streams that are fitted again and again: every fit keeps a transcript, with
the models before it known to everybody.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hullabaloo.audit import privacy_loss
from hullabaloo.audit.privacy_loss import Array, PrivacyLoss
from hullabaloo.audit.subject import Subject, apart
from hullabaloo.audit.transcript import TracedTables, TracingCurator
from hullabaloo.curation.moments_process import MomentsProcess
from hullabaloo.curation.parts import part
from hullabaloo.curation.prefixes import PrefixProcess, corrects, counting, together
from hullabaloo.curator import StreamSumQuery
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.noise import TestKey
from hullabaloo.noise.continual.base import Strategy
from hullabaloo.privacy import Event, Neighbours, Schedule, compose
from hullabaloo.release import PlannedFit, Release
from hullabaloo.solvers import Plan, Problem, Solution
from hullabaloo.streaming.base import PrivateStream

LONGEST = 2048
"""Releases up to which every position is tried; a longer stream is followed for `FOLLOWED` of them, from the first."""
FOLLOWED = 256
TRIALS = 8
"""Runs by which surroundings are compared before an audit."""
KEY = TestKey(b"trials of a stream's canary tell")


def of_stream(estimator: PrivateStream, width: int) -> Subject:
    """A stream, without its ledger, key and state file, on the pair of streams that it suffers most from."""
    stream = apart(estimator)
    encoding = stream._encoding(None, None if stream.domain.features else width)
    process = stream._open(encoding)
    neighbours = Neighbours.parse(stream.neighbours)
    if isinstance(process, MomentsProcess):
        solver, records = process.query.strategy.name, process.task.records
        about: TracedSums | TracedRefits = TracedSums.of(process, encoding.facts)
        where = "the record that counts most in the encoding"
    else:
        assert isinstance(process, PrefixProcess)
        solver = process.refits.fits[-1].plan.solver
        records = process.schedule.position(process.schedule.steps)
        about, where = TracedRefits.of(process), "the first record"
    if (unit := stream.domain.unit) is not None:
        where += f" and those beside it, {2 * stream.domain.records_per_unit} of one {unit},"

    def released(truth: int, key: TestKey | None) -> Array:
        release = about.released(truth, key)
        return np.zeros(1) if release is None else np.ravel(release.theta)

    other = "an absent one" if neighbours is Neighbours.ADD_OR_REMOVE else "its opposite"
    return Subject(
        name=type(stream).__name__,
        solver=solver,
        neighbours=neighbours,
        unit=unit or "record",
        records=records,
        words=f"{where} replaced by {other}, as long as the domain allows",
        claim=process.event,
        parts=about.parts,
        budget=stream.budget,
        log=about.log,
        released=released,
    )


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
    """Two streams of that row and the target 1; in the second one target is −1, or one record contributes nothing; or those of one unit of which the first that count lie there."""
    schedule, steps = query.schedule, min(query.schedule.steps, query.strategy.steps)
    steps = steps if steps <= LONGEST else FOLLOWED
    count, place = schedule.position(steps), schedule.position(_heaviest(query.strategy, steps)) - 1
    X, Y = np.tile(row, (count, 1)), np.ones((count, len(facts.targets)))
    weight = np.full(count, facts.max_weight) if facts.weighted else None
    absent, share = query.moments.neighbours is Neighbours.ADD_OR_REMOVE, query.share
    first = max(place + 1 - (share or 1), 0)
    mine = slice(first, first + (2 * share if share else 1))
    other = Rows(X.copy(), Y.copy(), weight, unit=_owners(count, mine, absent) if share else None)
    other.Y[mine] = -1.0
    if absent:
        other.X[mine] = other.Y[mine] = 0.0
    return Rows(X, Y, weight, unit=_owners(count, mine, False) if share else None), other


def _owners(count: int, mine: slice, absent: bool) -> Any:
    """Whose each of so many records is, (count, 4), as hashes: `mine` one unit's or nobody's, the others each its own."""
    unit = np.zeros((count, 4), dtype=np.int64)
    unit[:, 0] = 2 + np.arange(count)
    unit[mine, 0] = 0 if absent else 1
    return unit


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
        return self.watched.decode(noisy, steps)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, eq=False)
class TracedRefits:
    """Fits on growing prefixes of two streams that differ in the first record, which is in all of them.

    Attributes:
        process: planned and priced; it takes nothing.
        tables: the encoded records of both streams; an absent record is left out, and the clock goes on.
    """

    process: PrefixProcess
    tables: tuple[Rows, Rows]

    @classmethod
    def of(cls, process: PrefixProcess) -> "TracedRefits":
        """The pair that realises most in a few runs."""
        fit, schedule = process.refits.fits[-1], process.refits.schedule
        domain = process.task.domain
        share = None if domain.unit is None else domain.records_per_unit
        pairs = _tables(fit.encoding.facts, schedule.position(schedule.steps), fit.problem.neighbours, share)
        tried = [cls(process, tables) for tables in pairs]
        return max(tried, key=lambda one: sum(h.rho for i in range(TRIALS) for h in one.log(i % 2, KEY.derive(i))))

    @property
    def parts(self) -> Event:
        """What all fits cost together, by their own prices."""
        fits, heights = self.process.refits.fits, self.process.refits.heights
        uneven = together(fits, heights) if heights else None
        return uneven or compose(*(fit.bought.event for fit in fits))

    def log(self, truth: int, key: TestKey | None) -> list[PrivacyLoss]:
        """What one stream of number `truth` tells, to its end, fitted by the code that fits streams."""
        return self._run(truth, key)[1]

    def released(self, truth: int, key: TestKey | None) -> Release | None:
        """The last model of stream number `truth`."""
        return self._run(truth, key)[0].released()

    def _run(self, truth: int, key: TestKey | None) -> tuple[PrefixProcess, list[PrivacyLoss]]:
        running: list[PrefixProcess] = []
        log: list[PrivacyLoss] = []

        def traced(step: int, fit: PlannedFit) -> PlannedFit:
            task = replace(fit.task, key=None if key is None else key.derive(step))
            solver: Any = Traced(self, fit, step, truth, log, running)
            return replace(fit, task=task, solver=solver, totals=None)  # it asks all that the fit asks

        fits = tuple(traced(step, fit) for step, fit in enumerate(self.process.refits.fits))
        process = PrefixProcess(self.process.task, replace(self.process.refits, schedule=self._clock(truth), fits=fits))
        running.append(process)
        process.take(self.tables[truth])
        return process, log

    def prefix(self, which: int, step: int, theta: Array | None) -> Rows:
        """What fit number `step` sees of stream `which`, starting from the model θ."""
        end = self.process.refits.schedule.position(step + 1) - self._absent(which)
        rows = part(self.tables[which], np.arange(end))
        rows = replace(rows, offset=None if theta is None else (rows.X @ theta)[:, 0])
        rows = rows if rows.unit is None else counting(rows, self.process.task.domain.records_per_unit)
        return self.process.refits.counted(rows, step + 1)

    def _absent(self, which: int) -> int:
        return len(self.tables[0].Y) - len(self.tables[which].Y)

    def _clock(self, which: int) -> Schedule:
        """Positions by the records that are there."""
        schedule, absent = self.process.refits.schedule, self._absent(which)
        positions = tuple(schedule.position(step) - absent for step in range(1, schedule.steps + 1))
        return Schedule(positions[-1], positions)


@dataclass(frozen=True, slots=True, eq=False)
class Traced:
    """The solver of one fit, whose questions are written down."""

    about: TracedRefits
    fit: PlannedFit
    step: int
    truth: int
    log: list[PrivacyLoss]
    running: list[PrefixProcess]

    def run(self, problem: Problem, plan: Plan, curator: Any) -> Solution:
        """What the solver finds."""
        before = self.running[0].released()
        theta = before.theta if before is not None and corrects(self.fit) else None
        first, second = (self.about.prefix(which, self.step, theta) for which in (0, 1))
        about = TracedTables(self.fit.bought.queries, (first, second))
        traced = TracingCurator(about, self.truth, curator, about.tables, self.log)
        return replace(self.fit, problem=problem, plan=plan).solve(traced)


def _tables(facts: RowFacts, count: int, neighbours: Neighbours, share: int | None) -> Iterator[tuple[Rows, Rows]]:
    """The longest rows at the first position, with their target or the opposite one (or not at all), among others; where units share `share`, at the first positions, all of one."""
    absent, mine = neighbours is Neighbours.ADD_OR_REMOVE, slice(0, 2 * share if share else 1)
    owners = [_owners(count, mine, which and absent) if share else None for which in (False, True)]
    targets = len(facts.targets)
    weight = np.full(count, facts.max_weight) if facts.weighted else None
    for row in longest_rows(facts):
        for middle, height in ((0.0, 0.0), (1.0, 1.0), (1.0, -1.0), (1.0, 0.0)):
            X, Y = np.tile(middle * row, (count, 1)), np.full((count, targets), height)
            X[:, facts.width - facts.intercept :] = 1.0
            X[mine], Y[mine] = row, 1.0
            first = Rows(X, Y, weight, unit=owners[0])
            if absent and not share:
                yield first, Rows(X[1:], Y[1:], None if weight is None else weight[1:])
                continue
            other = Y.copy()
            other[mine] = -1.0
            yield first, Rows(X, other, weight, unit=owners[1])
