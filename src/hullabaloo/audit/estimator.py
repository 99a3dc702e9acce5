"""`hb.audit`: run an estimator on worst-case neighbouring tables, and compare what an attacker learns with what is claimed."""

import time
from collections.abc import Callable
from numbers import Real
from typing import Any

from hullabaloo.audit.canary import Canary
from hullabaloo.audit.evidence import Evidence
from hullabaloo.audit.report import AuditReport
from hullabaloo.audit.runs import Asked, tallies
from hullabaloo.audit.subject import Subject
from hullabaloo.errors import InvalidParameter
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Calibration
from hullabaloo.release.parameters import found as named

METHODS = ("transcript", "released")


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
        estimator: a private linear model, or a stream, with a finite budget (or a `Subject`, as `probes.probe` makes of one query); its ledger and its test
            key are left aside.
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
    _check_more(canary, n, n_features, test_key, progress)
    key = TestKey(test_key) if isinstance(test_key, bytes) else test_key
    begun = time.perf_counter()
    asked = Asked(estimator, canary, n_features or 2, n, key)
    subject = asked.subject()
    evidence = Evidence(subject, "released" if subject.opaque else method)
    count = runs + runs % 2
    for block in tallies(asked, subject, evidence.method, count, processes, progress):
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
        checks=evidence.checks(),
        faults=evidence.faults(),
        notes=_notes(estimator, subject.opaque),
    )


def _check(estimator: Any, runs: int, confidence: float, method: str, processes: int) -> None:
    """Refuse what cannot be audited."""
    from hullabaloo.linear_model import PrivateLinearModel
    from hullabaloo.streaming.base import PrivateStream

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
    if not isinstance(method, str) or method not in METHODS:
        raise InvalidParameter(
            f"The method was given as {method!r}, and there are {', '.join(map(repr, METHODS))}. Pass one of them."
        )
    _whole("runs", runs, 4, 1000)
    if isinstance(confidence, bool) or not isinstance(confidence, Real) or not 0.5 <= float(confidence) < 1.0:
        raise InvalidParameter(f"The confidence of lower bounds was given as {confidence!r}. Pass one such as 0.95.")


def _check_more(canary: Any, n: Any, n_features: Any, test_key: Any, progress: Any) -> None:
    """Refuse what is optional and of another type."""
    if n is not None:
        _whole("n", n, 1, 1000)
    if n_features is not None:
        _whole("n_features", n_features, 1, 2)
    if canary is not None and not isinstance(canary, Canary):
        raise InvalidParameter(
            f"The canary was given as {named(canary)}. Pass a Canary (hullabaloo.audit.canary) of two tables, or leave it out."
        )
    if test_key is not None and not isinstance(test_key, TestKey | bytes):
        raise InvalidParameter(
            f"The test key of an audit was given as {named(test_key)}. Pass a TestKey or its 32 bytes, or None for fresh noise."
        )
    if progress is not None and not callable(progress):
        raise InvalidParameter(
            f"The progress of an audit was given as {named(progress)}. Pass a function without arguments, which is called after every "
            "run, or None."
        )


def _whole(name: str, value: object, least: int, example: int) -> None:
    """Refuse what is no whole number from `least` on."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidParameter(
            f"{name} was given as {value!r}. Pass a whole number from {least} on, such as {name}={example}."
        )


def _notes(estimator: Any, opaque: bool) -> tuple[str, ...]:
    notes = []
    if getattr(estimator, "ledger", None) is not None:
        notes.append("The audit ran on tables of its own, apart from the ledger: nothing was charged")
    if Calibration.parse(getattr(estimator, "calibration", "exact")) is Calibration.PAPER:
        notes.append("The claim that is audited is what the paper's noise really gives, not what the paper says of it")
    if opaque:
        notes.append(
            "A perturbed minimiser's law has no closed form: the released coefficients were judged as a black box"
        )
    return tuple(notes)
