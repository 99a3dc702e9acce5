"""What the runs of an audit add up to, and where it contradicts what is claimed."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from hullabaloo.audit.bounds import Errors, best_threshold, direction, epsilon_at
from hullabaloo.audit.checks import ALARM, Check, Noise
from hullabaloo.audit.privacy_loss import Array
from hullabaloo.audit.subject import Subject
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Event, GaussianEvent, epsilon_of

SLACK = 1e-6
"""Relative, of numbers that were computed."""
SUMMED = 1e-3
"""Relative, of the sum over near-noiseless answers, known to 1e-5 of the noise each and better."""


@final
@dataclass(frozen=True, slots=True)
class Bounds:
    """What an attack proves: its errors, and the lower bounds of μ and ε at a confidence."""

    errors: Errors
    mu: float
    epsilon: float


class Tally:
    """What runs add up to."""

    def __init__(self) -> None:
        self.scores: tuple[list[Array], list[Array]] = ([], [])
        self.noise = Noise()
        self.rho: list[float] = []
        self.beyond: dict[str, tuple[float, float]] = {}

    def take(self, subject: Subject, method: str, truth: int, key: TestKey | None) -> None:
        """One run of table number `truth`."""
        if method == "released":
            self.scores[truth].append(subject.released(truth, key))
            return
        log = subject.log(truth, key)
        self.noise.add(log)
        self.scores[truth].append(np.array([math.fsum(answer.loss for answer in log)]))
        self.rho.append(math.fsum(answer.rho for answer in log))
        for answer in log:
            if answer.realised > answer.allowed * (1.0 + SLACK):
                self._worse(answer.name, (answer.realised, answer.allowed))

    def merge(self, later: "Tally") -> None:
        """Runs that come after these."""
        for which in (0, 1):
            self.scores[which].extend(later.scores[which])
        self.noise.merge(later.noise)
        self.rho += later.rho
        for name, found in later.beyond.items():
            self._worse(name, found)

    def _worse(self, name: str, found: tuple[float, float]) -> None:
        self.beyond[name] = max(self.beyond.get(name, (0.0, 0.0)), found)


class Evidence:
    """The runs of one audit."""

    def __init__(self, subject: Subject, method: str) -> None:
        self.subject, self.method = subject, method
        self.claim, budget = subject.claim, subject.budget
        self.delta = budget.delta if budget.kind == "dp" and budget.delta > 0.0 else 1e-6
        self.epsilon = epsilon_of(self.claim, self.delta)
        self.mu = self.claim.gdp_mu()
        self.runs = Tally()

    def add(self, truth: int, key: TestKey | None) -> None:
        """Take one run of table number `truth`."""
        self.runs.take(self.subject, self.method, truth, key)

    @property
    def realised(self) -> float:
        """What the canary realises of μ, in the mean over the runs: the share of the claimed ρ, as a share of μ; NaN where unknown."""
        rho = self.claim.zcdp_rho()
        if not self.runs.rho or not rho or self.mu is None:
            return math.nan
        return self.mu * math.sqrt(float(np.mean(self.runs.rho)) / rho)

    def bounds(self, alarm: float) -> Bounds:
        """The attack's, each at confidence `1 − alarm`.

        Where every event is Gaussian the score is the exact log-likelihood ratio and its threshold 0, and ε follows from μ. Else a half of the
        runs chooses the threshold (for released coefficients the linear score, too) and the other half is judged.
        """
        first, second = (np.array(one) for one in self.runs.scores)
        if self.method == "transcript" and _gaussian(self.claim):
            errors = Errors.of(first[:, 0], second[:, 0])
            mu = errors.mu(alarm)
            return Bounds(errors, mu, epsilon_at(mu, self.delta))
        half = len(first) // 2
        if self.method == "released":
            along = direction(first[:half], second[:half])
            first, second = (first @ along)[:, None], (second @ along)[:, None]
        middle = 0.5 * float(first[:half].mean() + second[:half].mean()) if self.method == "released" else 0.0
        errors = Errors.of(first[half:, 0], second[half:, 0], middle)
        best = best_threshold(first[:half, 0], second[:half, 0], self.delta, alarm)
        apart = Errors.of(first[half:, 0], second[half:, 0], best)
        return Bounds(errors, errors.mu(alarm), apart.epsilon(self.delta, alarm))

    def checks(self) -> tuple[Check, ...]:
        """The laws of the noise."""
        return self.runs.noise.checks()

    def faults(self) -> tuple[str, ...]:
        """What contradicts the claim, surest first."""
        found = [
            f"the answers {name!r} about the two tables are {realised:.4g} apart, and their event allows {allowed:.4g}"
            for name, (realised, allowed) in self.runs.beyond.items()
        ]
        rho = self.claim.zcdp_rho()
        if self.runs.rho and rho is not None and max(self.runs.rho) > rho * (1.0 + SUMMED):
            much = math.sqrt(2.0 * max(self.runs.rho))
            found.append(
                f"all answers together are {much:.4g} apart, and the plan's event allows {math.sqrt(2.0 * rho):.4g}"
            )
        together = epsilon_of(self.subject.parts, self.delta)
        if together > self.epsilon * (1.0 + SLACK):
            found.append(f"the plan's answers cost epsilon {together:.4g} together, and {self.epsilon:.4g} is claimed")
        found += [
            f"the noise is not what is stated ({check.name}: {check.words})"
            for check in self.checks()
            if not check.fine
        ]
        sure = self.bounds(ALARM)
        if self.mu is not None and sure.mu > self.mu * (1.0 + SLACK):
            found.append(f"an attacker proves mu of at least {sure.mu:.4g}, and {self.mu:.4g} is claimed")
        if sure.epsilon > self.epsilon * (1.0 + SLACK):
            found.append(
                f"an attacker proves epsilon of at least {sure.epsilon:.4g}, and {self.epsilon:.4g} is claimed"
            )
        return tuple(found)


def _gaussian(event: Event) -> bool:
    parts = [part for part, _ in getattr(event, "parts", ((event, 1),))]
    return all(isinstance(part, GaussianEvent) for part in parts)
