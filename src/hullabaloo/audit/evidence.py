"""What the runs of an audit add up to, and where it contradicts what is claimed.

Each statistic of the noise has a known law for a sound mechanism, whatever was asked: noise in units of its stated size is a sequence of
independent standard normal numbers, also along directions that earlier answers chose.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hullabaloo.audit.bounds import Errors, best_threshold, direction, epsilon_at
from hullabaloo.audit.privacy_loss import Array, PrivacyLoss
from hullabaloo.audit.subject import Subject
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Event, GaussianEvent, epsilon_of

ALARM = 1e-9
"""Probability that one check fails by chance: 1e-8 in all, with those of the attack."""
SLACK = 1e-6
"""Relative, of numbers that were computed."""
SUMMED = 1e-3
"""Relative, of the sum over near-noiseless answers, known to 1e-5 of the noise each and better."""


@dataclass(frozen=True, slots=True)
class Check:
    """One statistic.

    Attributes:
        name: what of the noise is looked at.
        value: its mean square over what is stated (1 if all is well); for choices, a deviation in standard deviations.
        count: how many numbers went into it.
        fine: whether it is what a sound mechanism gives but with probability `ALARM`.
        words: what it says.
    """

    name: str
    value: float
    count: int
    fine: bool
    words: str


@dataclass(frozen=True, slots=True)
class Bounds:
    """What an attack proves: its errors, and the lower bounds of μ and ε at a confidence."""

    errors: Errors
    mu: float
    epsilon: float


class Tally:
    """What runs add up to; `sums` holds squares of noise with how many numbers they are of, by what was looked at."""

    def __init__(self) -> None:
        self.scores: tuple[list[Array], list[Array]] = ([], [])
        self.rho: list[float] = []
        self.beyond: dict[str, tuple[float, float]] = {}
        self.sums: dict[str, Array] = {}
        self.places: dict[int, Array] = {}
        self.choices = np.zeros(2)
        self.asked: list[str] | None = None
        self.same = True

    def take(self, subject: Subject, method: str, truth: int, key: TestKey | None) -> None:
        """One run of table number `truth`."""
        if method == "released":
            self.scores[truth].append(subject.released(truth, key))
            return
        log = subject.log(truth, key)
        self._hear(log)
        self.scores[truth].append(np.array([math.fsum(answer.loss for answer in log)]))
        self.rho.append(math.fsum(answer.rho for answer in log))
        for answer in log:
            if answer.realised > answer.allowed * (1.0 + SLACK):
                self._worse(answer.name, (answer.realised, answer.allowed))

    def merge(self, later: "Tally") -> None:
        """Runs that come after these."""
        for which in (0, 1):
            self.scores[which].extend(later.scores[which])
        self.rho += later.rho
        for name, found in later.beyond.items():
            self._worse(name, found)
        for name, sums in later.sums.items():
            self._count(name, *sums)
        for size, total in later.places.items():
            self.places[size] = self.places.get(size, 0.0) + total
        self.choices += later.choices
        self._questions(later.asked, later.same)

    def checks(self) -> tuple[Check, ...]:
        """All statistics of the noise that the runs allow."""
        found = [_chi_square(name, square, int(count)) for name, (square, count) in self.sums.items()]
        repeated = [total for total in self.places.values() if total[-1] > 1.0]
        if repeated:
            square = sum(float(total[:-1] @ total[:-1]) / total[-1] for total in repeated)
            found.append(_chi_square("sum over the runs", square, sum(total.size - 1 for total in repeated)))
        if self.choices[1] > 0.0:
            found.append(_choices(float(self.choices[0]), float(self.choices[1]), len(self.rho)))
        if not self.same:
            words = "runs asked different questions, whose kinds and number must depend on public facts alone"
            found.append(Check("questions", math.nan, len(self.rho), False, words))
        return tuple(found)

    def _hear(self, log: Sequence[PrivacyLoss]) -> None:
        """The noise of one run."""
        self._questions([answer.name for answer in log], True)
        whole = np.concatenate([answer.draws for answer in log]) if log else np.zeros(0)
        if whole.size:
            self._count("size", float(whole @ whole), whole.size)
            self._count("sum of a run", float(whole.sum()) ** 2 / whole.size, 1)
            self.places[whole.size] = self.places.get(whole.size, 0.0) + np.append(whole, 1.0)
        alike: dict[tuple[str, int], list[Array]] = {}
        for answer in log:
            square = float(answer.shift @ answer.shift)
            if square > 1e-12:
                self._count("size along the canary", float(answer.shift @ answer.draws) ** 2 / square, 1)
            if answer.draws.size:
                alike.setdefault((answer.name, answer.draws.size), []).append(answer.draws)
            self.choices += answer.choice_score
        for found in alike.values():
            if len(found) > 1:
                together = np.sum(found, axis=0)
                self._count("sum of answers alike", float(together @ together) / len(found), together.size)

    def _worse(self, name: str, found: tuple[float, float]) -> None:
        self.beyond[name] = max(self.beyond.get(name, (0.0, 0.0)), found)

    def _count(self, name: str, square: float, number: float) -> None:
        self.sums[name] = self.sums.get(name, np.zeros(2)) + np.array([square, number])

    def _questions(self, asked: list[str] | None, same: bool) -> None:
        self.asked = asked if self.asked is None else self.asked
        self.same &= same and asked in (None, self.asked)


class Evidence:
    """The runs of one audit."""

    def __init__(self, subject: Subject, method: str) -> None:
        self.subject, self.method = subject, method
        self.claim, budget = subject.claim, subject.budget
        self.delta = budget.delta if budget.kind == "dp" and budget.delta > 0.0 else 1e-6
        self.epsilon = epsilon_of(self.claim, self.delta)
        self.mu = self.claim.gdp_mu()
        self.runs = Tally()

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
        half, middle = len(first) // 2, 0.0
        if self.method == "released":
            along = direction(first[:half], second[:half])
            first, second = (first @ along)[:, None], (second @ along)[:, None]
            middle = 0.5 * float(first[:half].mean() + second[:half].mean())
        errors = Errors.of(first[half:, 0], second[half:, 0], middle)
        best = best_threshold(first[:half, 0], second[:half, 0], self.delta, alarm)
        apart = Errors.of(first[half:, 0], second[half:, 0], best)
        return Bounds(errors, errors.mu(alarm), apart.epsilon(self.delta, alarm))

    def faults(self) -> tuple[str, ...]:
        """What contradicts the claim, surest first."""
        found = [
            f"the answers {name!r} about the two tables are {realised:.4g} apart, and their event allows {allowed:.4g}"
            for name, (realised, allowed) in self.runs.beyond.items()
        ]
        rho, most = self.claim.zcdp_rho(), max(self.runs.rho, default=0.0)
        if rho is not None and most > rho * (1.0 + SUMMED):
            much, allowed = math.sqrt(2.0 * most), math.sqrt(2.0 * rho)
            found.append(f"all answers together are {much:.4g} apart, and the plan's event allows {allowed:.4g}")
        together = epsilon_of(self.subject.parts, self.delta)
        if together > self.epsilon * (1.0 + SLACK):
            found.append(f"the plan's answers cost epsilon {together:.4g} together, and {self.epsilon:.4g} is claimed")
        wrong = [check for check in self.runs.checks() if not check.fine]
        found += [f"the noise is not what is stated ({check.name}: {check.words})" for check in wrong]
        sure = self.bounds(ALARM)
        for name, proved, claimed in (("mu", sure.mu, self.mu), ("epsilon", sure.epsilon, self.epsilon)):
            if claimed is not None and proved > claimed * (1.0 + SLACK):
                found.append(f"an attacker proves {name} of at least {proved:.4g}, and {claimed:.4g} is claimed")
        return tuple(found)


def _gaussian(event: Event) -> bool:
    parts = [part for part, _ in getattr(event, "parts", ((event, 1),))]
    return all(isinstance(part, GaussianEvent) for part in parts)


def _chi_square(name: str, square: float, count: int) -> Check:
    """A sum of squares of so many standard normal numbers."""
    from scipy.special import chdtri

    low, high = (float(chdtri(count, tail)) for tail in (1.0 - ALARM / 2.0, ALARM / 2.0))
    mean, within = square / count, f"{low / count:.4g} to {high / count:.4g}"
    words = f"variance {mean:.4g} of what is stated, over {count} numbers ({within} may be)"
    return Check(name, float(mean), count, bool(low <= square <= high), words)


def _choices(choice_score: float, variance: float, runs: int) -> Check:
    """Whether choices fall on as likely candidates as the law that the query states has it.

    By Freedman (1975, Theorem 1.6) a martingale of steps within ±1 and of variance at most v exceeds t with probability at most
    `exp(−t²/(2v + 2t/3))`; v is rounded up to a power of 2, of which 64 are paid for, and both signs.
    """
    bound, level = 2.0 ** math.ceil(math.log2(max(variance, 1.0))), math.log(128.0 / ALARM)
    most = level / 3.0 + math.sqrt(level**2 / 9.0 + 2.0 * bound * level)
    value = choice_score / math.sqrt(variance)
    words = f"how likely the chosen candidates were, less what is stated, adds up to {choice_score:+.4g} (within ±{most:.4g} may be)"
    return Check("law of choices", value, runs, abs(choice_score) <= most, words)
