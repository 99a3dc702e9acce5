"""What an audit found."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hullabaloo.audit.bounds import Errors
from hullabaloo.audit.evidence import ALARM, Check
from hullabaloo.codec import arguments
from hullabaloo.data import path_of, write_whole
from hullabaloo.tables import html_paragraphs

WEAK = 0.3
"""A canary that realises less than this share of what is claimed is too weak: a sensitivity understated by as much would pass."""


@dataclass(frozen=True, slots=True, repr=False)
class AuditReport:
    """What the runs of an audit prove, and whether they contradict the claim.

    Attributes:
        estimator, solver, neighbours, unit, records: what was audited, on which canary tables.
        canary: how the two tables differ.
        method: "transcript" (every answer of the curator is judged) or "released" (only the model).
        runs: fits, half of them of either table; by `method="released"` half of all choose the score, and the others count.
        seconds: how long they took.
        confidence: of the lower bounds.
        delta: the δ at which ε is stated.
        epsilon: ε that the statement of such a fit claims at δ.
        epsilon_lower: a lower bound of the true ε at δ, at this confidence.
        mu: the Gaussian-DP parameter that is claimed, or None.
        mu_lower: a lower bound of the true μ.
        mu_realised: what the canary realises of μ, from the exact answers of both tables; NaN where it is not known.
        errors: of the attack with the threshold that was fixed beforehand.
        checks: whether the noise is what the queries state.
        faults: what contradicts the claim, one sentence each; none is found in a sound estimator but with probability 1e-8.
        notes: what else should be known.
    """

    estimator: str
    solver: str
    neighbours: str
    unit: str
    records: int
    canary: str
    method: str
    runs: int
    seconds: float
    confidence: float
    delta: float
    epsilon: float
    epsilon_lower: float
    mu: float | None
    mu_lower: float
    mu_realised: float
    errors: Errors
    checks: tuple[Check, ...]
    faults: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def caught(self) -> bool:
        """Whether the runs contradict the claim."""
        return bool(self.faults)

    @property
    def weak(self) -> bool:
        """Whether silence means little: the canary realises too little of what is claimed, or the runs are too few to tell."""
        return self.blind or (self.mu is not None and self.mu_realised < WEAK * self.mu)

    @property
    def blind(self) -> bool:
        """Whether a black box was run so rarely that an attack without an error would not contradict the claim, and this one saw little of it."""
        if self.method != "released":
            return False  # the distance of all answers was compared, which needs no choice_score
        best = Errors(0, 0, self.errors.first, self.errors.second)
        told = best.epsilon(self.delta, ALARM) > self.epsilon or (self.mu is not None and best.mu(ALARM) > self.mu)
        seen = self.epsilon_lower >= WEAK * self.epsilon or (self.mu is not None and self.mu_lower >= WEAK * self.mu)
        return not (told or seen)

    @property
    def passed(self) -> bool:
        """Whether nothing contradicts the claim, and the audit was one that could have."""
        return not (self.caught or self.weak)

    @property
    def verdict(self) -> str:
        """One sentence."""
        if self.caught:
            return f"NOT PRIVATE AS CLAIMED: {self.faults[0]}"
        why = ", but the canary is too weak to tell" if self.weak else ""
        why = ", but no outcome of so few runs could have" if self.blind else why
        seen = f"epsilon is at least {self.epsilon_lower:.3g} of the {self.epsilon:.3g} claimed"
        return f"Nothing contradicts the claim{why}: {seen}"

    def lines(self) -> list[str]:
        """The report as sentences, most important first."""
        wrong, runs = self.errors.alarms + self.errors.misses, self.errors.first + self.errors.second
        about = f"{self.estimator} by the solver {self.solver!r}, {self.neighbours}, unit {self.unit!r}"
        tables = f"{self.runs} runs on tables of {self.records} record{'s' * (self.records > 1)}, {self.canary}"
        seen = "" if math.isnan(self.mu_realised) else f"; the canary realises {self.mu_realised:.4g}"
        return [
            f"{self.verdict} (delta = {self.delta:.3g}, at {100.0 * self.confidence:.6g} % confidence)",
            *self.faults[1:],
            f"{about}: {tables}",
            *([] if self.mu is None else [f"mu is at least {self.mu_lower:.4g} of the {self.mu:.4g} claimed{seen}"]),
            f"The attack was wrong in {wrong} of {runs} runs",
            *(f"Noise, {check.name}: {check.words}" for check in self.checks),
            *self.notes,
            "A sound estimator is called unsound with probability at most 1e-8",
        ]

    def __str__(self) -> str:
        return "\n".join(f"{line}." for line in self.lines())

    def __repr__(self) -> str:
        return f"AuditReport({self.verdict!r})"

    def _repr_html_(self) -> str:
        return html_paragraphs(f"{line}." for line in self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready values; a number that is not known is None."""
        return arguments(self) | {"passed": self.passed, "weak": self.weak, "verdict": self.verdict}

    def save(self, path: str | Path) -> None:
        """Write `to_dict` as JSON, atomically."""
        write_whole(path_of(path), json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n")
