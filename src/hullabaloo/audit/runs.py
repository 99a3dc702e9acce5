"""The runs of an audit: block by block, in one process or in several, with the same result."""

import multiprocessing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, final

from hullabaloo.audit.canary import Canary
from hullabaloo.audit.evidence import Tally
from hullabaloo.audit.neighbouring_tables import hardest, solver_of, staged
from hullabaloo.audit.subject import Subject
from hullabaloo.errors import InvalidParameter
from hullabaloo.noise import TestKey

BLOCK = 100
"""Runs that are put together at once."""
_APART = {"ledger": None, "dataset": None, "test_key": None}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What is to be audited: public, and all that a process must know.

    Attributes:
        estimator: as it was passed, or a probe.
        canary: the tables, or None.
        width: number of columns where nothing is declared of them.
        records: how many the fit is meant for.
        key: fixes the noise.
    """

    estimator: Any
    canary: Canary | None
    width: int
    records: int | None
    key: TestKey | None

    def subject(self) -> Subject:
        """The estimator, the query or the stream on the pair of tables that it suffers most from."""
        from hullabaloo.streaming.base import PrivateStream

        if isinstance(self.estimator, Subject):
            return self.estimator
        if isinstance(self.estimator, PrivateStream):
            from hullabaloo.audit.stream_subject import of_stream

            if self.canary is not None:
                raise InvalidParameter(
                    "A canary was passed to the audit of a stream, which makes two streams of its own: leave canary out."
                )
            return of_stream(self.estimator, self.width)
        solver = solver_of(self.estimator, self.width, self.records)
        if self.canary is not None:
            return staged(self.estimator, self.canary, solver)
        return hardest(self.estimator, self.width, solver)

    def apart(self) -> "Asked":
        """The same without ledger and key of the estimator, for other processes."""
        given = self.estimator.get_params(deep=False)
        made = type(self.estimator)(**{**given, **{name: None for name in _APART if name in given}})
        return Asked(made, self.canary, self.width, self.records, self.key)

    def tally(self, subject: Subject, method: str, runs: range, progress: Callable[[], None] | None = None) -> Tally:
        """Those runs, by turns of either table; each has a key of its own."""
        found = Tally()
        for run in runs:
            found.take(subject, method, run % 2, None if self.key is None else self.key.derive(run))
            if progress is not None:
                progress()
        return found


def tallies(
    asked: Asked, subject: Subject, method: str, count: int, processes: int, progress: Callable[[], None] | None
) -> Iterator[Tally]:
    """So many runs, block by block, in their order. Without a key every process draws fresh noise from the operating system."""
    blocks = [range(start, min(start + BLOCK, count)) for start in range(0, count, BLOCK)]
    if processes == 1:
        yield from (asked.tally(subject, method, block, progress) for block in blocks)
        return
    with multiprocessing.get_context("spawn").Pool(processes, _begin, (asked.apart(), method)) as pool:
        for block, found in zip(blocks, pool.imap(_block, blocks), strict=True):
            for _ in block if progress is not None else ():
                progress()  # type: ignore[misc]
            yield found


_own: list[Callable[[range], Tally]] = []
"""Of a process of a pool: what it does with a block of runs."""


def _begin(asked: Asked, method: str) -> None:
    subject = asked.subject()
    _own[:] = [lambda runs: asked.tally(subject, method, runs)]


def _block(runs: range) -> Tally:
    return _own[0](runs)
