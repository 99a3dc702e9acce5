"""Whether the noise of many runs is what the quotes state: its size, its independence, and the law of choices.

Each statistic has a known law for a sound mechanism, whatever was asked: noise in units of its stated size is a sequence of
independent standard normal numbers, also along directions that earlier answers chose.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, final

import numpy as np

from hullabaloo.audit.privacy_loss import Array, PrivacyLoss

ALARM = 1e-9
"""Probability that one check fails by chance: 1e-8 in all, with those of the attack."""


@final
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

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


class Noise:
    """What the runs add up to."""

    def __init__(self) -> None:
        self._squares: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._places: dict[int, tuple[Array, int]] = {}
        self._runs, self._same = 0, True
        self._choice_score, self._variance = 0.0, 0.0
        self._asked: list[str] | None = None

    def add(self, log: Sequence[PrivacyLoss]) -> None:
        """Take one run."""
        asked = [answer.name for answer in log]
        self._asked = asked if self._asked is None else self._asked
        self._same &= asked == self._asked
        self._runs += 1
        draws = [answer.draws for answer in log]
        whole = np.concatenate(draws) if draws else np.zeros(0)
        if whole.size:
            self._count("size", float(whole @ whole), whole.size)
            self._count("sum of a run", float(whole.sum()) ** 2 / whole.size, 1)
            before, runs = self._places.get(whole.size, (np.zeros(whole.size), 0))
            self._places[whole.size] = before + whole, runs + 1
        alike: dict[tuple[str, int], list[Array]] = {}
        for answer in log:
            square = float(answer.shift @ answer.shift)
            if square > 1e-12:
                self._count("size along the canary", float(answer.shift @ answer.draws) ** 2 / square, 1)
            if answer.draws.size:
                alike.setdefault((answer.name, answer.draws.size), []).append(answer.draws)
            self._choice_score += answer.choice_score[0]
            self._variance += answer.choice_score[1]
        for found in alike.values():
            if len(found) > 1:
                together = np.sum(found, axis=0)
                self._count("sum of answers alike", float(together @ together) / len(found), together.size)

    def merge(self, later: "Noise") -> None:
        """Runs that come after these."""
        self._squares.update(later._squares)
        self._counts.update(later._counts)
        for size, (total, runs) in later._places.items():
            before, earlier = self._places.get(size, (np.zeros(size), 0))
            self._places[size] = before + total, earlier + runs
        self._asked = later._asked if self._asked is None else self._asked
        self._same &= later._same and later._asked in (None, self._asked)
        self._runs += later._runs
        self._choice_score += later._choice_score
        self._variance += later._variance

    def _count(self, name: str, square: float, number: int) -> None:
        self._squares[name] += square  # type: ignore[assignment]  # a sum of floats
        self._counts[name] += number

    def checks(self) -> tuple[Check, ...]:
        """All statistics that the runs allow."""
        found = [_chi_square(name, self._squares[name], self._counts[name]) for name in self._counts]
        repeated = [(size, float(total @ total) / runs) for size, (total, runs) in self._places.items() if runs > 1]
        if repeated:
            sizes, squares = zip(*repeated, strict=True)
            found.append(_chi_square("sum over the runs", sum(squares), sum(sizes)))
        if self._variance > 0.0:
            found.append(_choices(self._choice_score, self._variance, self._runs))
        if not self._same:
            words = "runs asked different questions, whose kinds and number must depend on public facts alone"
            found.append(Check("questions", math.nan, self._runs, False, words))
        return tuple(found)


def _chi_square(name: str, square: float, count: int) -> Check:
    """A sum of squares of so many standard normal numbers."""
    from scipy.special import chdtri

    low, high = (float(chdtri(count, tail)) for tail in (1.0 - ALARM / 2.0, ALARM / 2.0))
    fine, mean = low <= square <= high, square / count
    words = (
        f"variance {mean:.4g} of what is stated, over {count} numbers ({low / count:.4g} to {high / count:.4g} may be)"
    )
    return Check(name, mean, count, fine, words)


def _choices(choice_score: float, variance: float, runs: int) -> Check:
    """Whether choices fall on as likely candidates as the law that the quote states has it.

    By Freedman (1975, Theorem 1.6) a martingale of steps within ±1 and of variance at most v exceeds t with probability at most
    `exp(−t²/(2v + 2t/3))`; v is rounded up to a power of 2, of which 64 are paid for, and both signs.
    """
    bound, level = 2.0 ** math.ceil(math.log2(max(variance, 1.0))), math.log(128.0 / ALARM)
    most = level / 3.0 + math.sqrt(level**2 / 9.0 + 2.0 * bound * level)
    value = choice_score / math.sqrt(variance)
    words = f"how likely the chosen candidates were, less what is stated, adds up to {choice_score:+.4g} (within ±{most:.4g} may be)"
    return Check("law of choices", value, runs, abs(choice_score) <= most, words)
