"""`hb.audit`: run an estimator on worst-case neighbouring tables, and compare what an attacker learns with what is claimed."""

import time
from collections.abc import Callable
from typing import Any

from hullabaloo.audit.canary import Canary
from hullabaloo.audit.evidence import Evidence
from hullabaloo.audit.probes import Probe
from hullabaloo.audit.report import AuditReport
from hullabaloo.audit.runs import Asked, tallies
from hullabaloo.errors import InvalidParameter
from hullabaloo.linear_model.parameters import found as named
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Calibration

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
    (1) the exact distance between the two tables' answers, against the noise that is stated, which needs no luck; (2) the laws of
    the noise over all runs; (3) lower bounds of μ and ε from the attacker's errors (`bounds.py`).

    Args:
        estimator: a private linear model, or a stream, with a finite budget (or a `probes.Probe`: one query); its ledger and its test
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

    if isinstance(processes, bool) or not isinstance(processes, int) or processes < 1:
        raise InvalidParameter(
            f"processes={processes!r} was given. Pass a whole number from 1 on, such as processes=2."
        )
    if isinstance(estimator, Probe):
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
    if method not in METHODS:
        raise InvalidParameter(
            f"The method was given as {method!r}, and there are {', '.join(map(repr, METHODS))}. Pass one of them."
        )
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 4:
        raise InvalidParameter(f"runs={runs!r} was given. Pass a whole number from 4 on, such as runs=1000.")
    if not 0.5 <= confidence < 1.0:
        raise InvalidParameter(f"The confidence of lower bounds was given as {confidence!r}. Pass one such as 0.95.")


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
