"""`hb.audit`: run an estimator on worst-case neighbouring tables, and compare what an attacker learns with what is claimed."""

import multiprocessing
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from hullabaloo.audit.canary import Canary
from hullabaloo.audit.evidence import Evidence, Tally
from hullabaloo.audit.neighbouring_tables import hardest, solver_of, staged
from hullabaloo.audit.report import AuditReport
from hullabaloo.audit.streams import of_stream
from hullabaloo.audit.subject import Subject, apart
from hullabaloo.errors import InvalidParameter, as_whole
from hullabaloo.linear_model import PrivateLinearModel
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Calibration
from hullabaloo.release.parameters import found as named
from hullabaloo.release.parameters import one_of, positive
from hullabaloo.streaming.base import PrivateStream

METHODS = ("transcript", "released")
BLOCK = 100
"""Runs that are put together at once."""


def audit(
    estimator: Any,
    *,
    runs: int = 1000,
    confidence: float = 0.95,
    method: str = "transcript",
    canary: Canary | None = None,
    n: int | None = None,
    n_features: int | None = None,
    processes: int = 1,
    test_key: TestKey | bytes | None = None,
    progress: Callable[[], None] | None = None,
) -> AuditReport:
    """Audit an estimator: fit it again and again to one of two worst-case neighbouring tables, and guess which.

    The tables are made from the domain's declarations: no record of anybody is read, and nothing is charged. The verdict rests on
    (1) the exact distance between the two tables' answers, against the noise that is stated, which needs no choice_score; (2) the laws of
    the noise over all runs; (3) lower bounds of μ and ε from the attacker's errors (`bounds.py`).

    Args:
        estimator: a private linear model, or a stream, with a finite budget (or a `Subject`, one query say); its ledger and its test key are left aside.
        runs: how many fits (made even): half of them of either table.
        confidence: of the lower bounds that are reported; the verdict is at 1 − 1e-8.
        method: "transcript", where the attacker sees every answer of the curator; or "released", where only the
            coefficients are seen (a black box: half of the runs choose the score, the others are judged). Objective
            perturbation, whose answer has no simple law, is always seen as a black box.
        canary: the two tables; the worst of a public family (`canary.py`), found by a few runs beforehand, if left out.
        n: how many records the fit is meant for, by which solver="auto" chooses (else the domain's `records`, or 1000); the canary tables
            hold a few.
        n_features: number of columns where the domain is a row norm only (else 2).
        processes: in how many processes the runs are made, with the same result; each plans for itself. Where there are more than one, a
            script must keep what it does behind `if __name__ == "__main__":`, as new processes import it.
        test_key: fixes the noise, for tests.
        progress: called after every run.

    Raises:
        InvalidParameter: a parameter out of range, or an estimator that claims nothing (ε = ∞).

    Example:
        >>> import hullabaloo as hb
        >>> domain = hb.Domain(features={"age": (18, 90)}, target=(0, 10))
        >>> model = hb.LinearRegression(budget=hb.Budget(1.0, 1e-6), domain=domain, solver="moments")
        >>> hb.audit(model, runs=200).passed
        True
    """
    _check(estimator, runs, confidence, method, processes)
    for name, value, example in (("n", n, 1000), ("n_features", n_features, 2)):
        if value is not None:
            _whole(name, value, 1, example)
    _optional("canary", canary, Canary, "a Canary (hullabaloo.audit.canary) of two tables")
    _optional("test key", test_key, (TestKey, bytes), "a TestKey or its 32 bytes")
    _optional("progress", progress, Callable, "a function without arguments, which is called after every run")
    key = TestKey(test_key) if isinstance(test_key, bytes) else test_key
    begun = time.perf_counter()
    asked = Asked(estimator, canary, n_features or 2, n, key)
    subject = asked.subject()
    evidence = Evidence(subject, "released" if subject.opaque else method)
    count = int(runs + runs % 2)
    for block in _tallies(asked, subject, evidence.method, count, processes, progress):
        evidence.runs.merge(block)
    bounds = evidence.bounds(1.0 - confidence)
    return AuditReport(
        estimator=subject.name,
        solver=subject.solver,
        neighbours=str(subject.neighbours),
        unit=subject.unit,
        records=subject.records,
        canary=subject.words,
        method=evidence.method,
        runs=count,
        seconds=time.perf_counter() - begun,
        confidence=confidence,
        delta=evidence.delta,
        epsilon=evidence.epsilon,
        epsilon_lower=bounds.epsilon,
        mu=evidence.mu,
        mu_lower=bounds.mu,
        mu_realised=evidence.realised,
        errors=bounds.errors,
        checks=evidence.runs.checks(),
        faults=evidence.faults(),
        notes=_notes(estimator, subject.opaque),
    )


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
        if isinstance(self.estimator, Subject):
            return self.estimator
        if isinstance(self.estimator, PrivateStream):
            if self.canary is not None:
                raise InvalidParameter(
                    "A canary was passed to the audit of a stream, which makes two streams of its own: leave canary out."
                )
            return of_stream(self.estimator, self.width)
        solver = solver_of(self.estimator, self.width, self.records)
        if self.canary is not None:
            return staged(self.estimator, self.canary, solver)
        return hardest(self.estimator, self.width, solver)

    def tally(self, subject: Subject, method: str, runs: range, progress: Callable[[], None] | None = None) -> Tally:
        """Those runs, by turns of either table; each has a key of its own."""
        found = Tally()
        for run in runs:
            found.take(subject, method, run % 2, None if self.key is None else self.key.derive(run))
            if progress is not None:
                progress()
        return found


def _tallies(
    asked: Asked, subject: Subject, method: str, count: int, processes: int, progress: Callable[[], None] | None
) -> Iterator[Tally]:
    """So many runs, block by block, in their order. Without a key every process draws fresh noise from the operating system."""
    blocks = [range(start, min(start + BLOCK, count)) for start in range(0, count, BLOCK)]
    if processes == 1:
        yield from (asked.tally(subject, method, block, progress) for block in blocks)
        return
    sent = replace(asked, estimator=apart(asked.estimator))
    with multiprocessing.get_context("spawn").Pool(processes, _begin, (sent, method)) as pool:
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


def _check(estimator: Any, runs: int, confidence: float, method: str, processes: int) -> None:
    """Refuse what cannot be audited."""
    _whole("processes", processes, 1, 2)
    if isinstance(estimator, Subject):
        if processes > 1:
            raise InvalidParameter(
                f"The audit of one query was asked in {processes} processes. A query cannot be sent to another process: leave processes out."
            )
        return
    if not isinstance(estimator, PrivateLinearModel | PrivateStream) or isinstance(estimator, type):
        raise InvalidParameter(
            f"An audit was asked of {named(estimator)}. It runs one of Hullabaloo's estimators on tables of its own: pass one that "
            "has a budget and a domain, such as hb.Ridge(budget=…, domain=…)."
        )
    estimator._declared()
    if estimator.budget is None or not estimator.budget.is_private:
        raise InvalidParameter(
            "An audit was asked of an estimator with epsilon = inf. It draws no noise and claims nothing, so there is nothing "
            "that runs could contradict. Audit it at the finite budget that it is to be used with."
        )
    one_of("method", method, METHODS)
    _whole("runs", runs, 4, 1000)
    positive("confidence", confidence, "of lower bounds, such as 0.95", 1.0, 0.5)


def _optional(name: str, value: object, kinds: Any, what: str) -> None:
    """Refuse what is of another type, unless it was left out."""
    if value is not None and not isinstance(value, kinds):
        raise InvalidParameter(f"The {name} of an audit was given as {named(value)}. Pass {what}, or None.")


def _whole(name: str, value: object, least: int, example: int) -> None:
    """Refuse what is no whole number from `least` on."""
    as_whole(value, f"{name}={{!r}} was given. Pass a whole number from {least} on, such as {example}.", least)


def _notes(estimator: Any, opaque: bool) -> tuple[str, ...]:
    notes = []
    if getattr(estimator, "ledger", None) is not None:
        notes.append("The audit ran on tables of its own, apart from the ledger: nothing was charged")
    if Calibration.parse(getattr(estimator, "calibration", "exact")) is Calibration.PAPER:
        notes.append("The claim that is audited is what the paper's noise really gives, not what the paper says of it")
    if opaque:
        notes.append("A perturbed minimiser's law has no closed form: its coefficients were judged as a black box")
    return tuple(notes)
