"""Streams that are fitted again and again, in the audit: every fit keeps a transcript, with the models before it known to everybody."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hullabaloo.audit.privacy_loss import PrivacyLoss
from hullabaloo.audit.streams import longest_rows
from hullabaloo.audit.transcript import TracedTables, TracingCurator
from hullabaloo.curation.prefixes import PrefixProcess, Refits, corrects
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Event, Neighbours, compose
from hullabaloo.privacy.schedule import Schedule
from hullabaloo.release import Release
from hullabaloo.release.planned import PlannedFit, Task
from hullabaloo.solvers import Plan, Problem, Solution

Array = npt.NDArray[np.float64]

TRIALS = 8
"""Runs by which surroundings are compared before an audit."""
KEY = TestKey(b"trials of a stream's canary tell")


@final
@dataclass(frozen=True, slots=True, eq=False)
class TracedRefits:
    """Fits on growing prefixes of two streams that differ in the first record, which is in all of them.

    Attributes:
        task: the stream's public arguments.
        refits: the planned fits.
        tables: the encoded records of both streams; an absent record is left out, and the clock goes on.
    """

    task: Task
    refits: Refits
    tables: tuple[Rows, Rows]

    @classmethod
    def of(cls, task: Task, refits: Refits) -> "TracedRefits":
        """The pair that realises most in a few runs."""
        fit, count = refits.fits[-1], refits.schedule.position(refits.schedule.steps)
        tried = [cls(task, refits, tables) for tables in _tables(fit.encoding.facts, count, fit.problem.neighbours)]
        return max(tried, key=lambda one: sum(h.rho for i in range(TRIALS) for h in one.log(i % 2, KEY.derive(i))))

    @property
    def parts(self) -> Event:
        """What all fits cost together."""
        return compose(*(fit.bought.event for fit in self.refits.fits))

    def log(self, truth: int, key: TestKey | None) -> list[PrivacyLoss]:
        """What one stream of number `truth` tells, to its end, fitted by the code that fits streams."""
        log: list[PrivacyLoss] = []
        self._run(truth, key, log)
        return log

    def released(self, truth: int, key: TestKey | None) -> Release | None:
        """The last model of stream number `truth`."""
        return self._run(truth, key, [])

    def _run(self, truth: int, key: TestKey | None, log: list[PrivacyLoss]) -> Release | None:
        running: list[PrefixProcess] = []
        fits = tuple(
            replace(
                fit,
                task=replace(fit.task, key=None if key is None else key.derive(step)),
                solver=Traced(self, fit, step, truth, log, running),  # type: ignore[arg-type]
            )
            for step, fit in enumerate(self.refits.fits)
        )
        process = PrefixProcess(self.task, replace(self.refits, schedule=self._clock(truth), fits=fits))
        running.append(process)
        process.take(self.tables[truth])
        return process.released()

    def prefix(self, which: int, step: int, theta: Array | None) -> Rows:
        """What fit number `step` sees of stream `which`, starting from the model θ."""
        rows = self.tables[which]
        end = self.refits.schedule.position(step + 1) - self._absent(which)
        X = rows.X[:end]
        offset = None if theta is None else (X @ theta)[:, 0]
        return Rows(X, rows.Y[:end], None if rows.weight is None else rows.weight[:end], offset)

    def _absent(self, which: int) -> int:
        return len(self.tables[0].Y) - len(self.tables[which].Y)

    def _clock(self, which: int) -> Schedule:
        """Positions by the records that are there."""
        schedule, absent = self.refits.schedule, self._absent(which)
        positions = tuple(schedule.position(step) - absent for step in range(1, schedule.steps + 1))
        return Schedule(positions[-1], positions)


@final
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
        traced = TracingCurator(about, self.truth, curator, about.tables, Counter(), self.log)
        return self.fit.solver.run(problem, plan, traced)


def _tables(facts: RowFacts, count: int, neighbours: Neighbours) -> Iterator[tuple[Rows, Rows]]:
    """The longest rows at the first position, with their target or the opposite one (or not at all), among others."""
    targets = len(facts.targets)
    weight = np.full(count, facts.max_weight) if facts.weighted else None
    for row in longest_rows(facts):
        for middle, height in ((0.0, 0.0), (1.0, 1.0), (1.0, -1.0), (1.0, 0.0)):
            X, Y = np.tile(middle * row, (count, 1)), np.full((count, targets), height)
            X[:, facts.width - facts.intercept :] = 1.0
            X[0], Y[0] = row, 1.0
            first = Rows(X, Y, weight)
            if neighbours is Neighbours.ADD_OR_REMOVE:
                yield first, Rows(X[1:], Y[1:], None if weight is None else weight[1:])
                continue
            other = Y.copy()
            other[0] = -1.0
            yield first, Rows(X, other, weight)
