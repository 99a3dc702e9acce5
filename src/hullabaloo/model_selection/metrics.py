"""Metrics: from noisy sums to numbers with intervals; pure post-processing, which never fails."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from hullabaloo.curation.scoring import Noise
from hullabaloo.losses.scores import MIXED, AbsoluteError, Mixed, Moments, Outcome, Score, SquaredError, Tally
from hullabaloo.model_selection.fraction import Measured, quotient

SLACK = 0.5
"""Standard errors of noise that are added to a released variance, which may be too small: intervals then cover what they say."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class ScoreAnswer:
    """A noisy answer, by tally.

    Attributes:
        sums: the noisy coordinates of each tally.
        number: the number of records that the means are over: public, or noisy.
        noise: how noisy all of it is.
    """

    sums: dict[Tally, npt.NDArray[np.float64]]
    number: float
    noise: Noise

    @classmethod
    def split(cls, answer: npt.NDArray[np.float64], tallies: Sequence[Tally], noise: Noise) -> "ScoreAnswer":
        """Cut the answer of a query about these tallies into theirs."""
        ends = np.cumsum([tally.length for tally in tallies])
        sums = dict(zip(tallies, np.split(answer[: ends[-1]], ends[:-1]), strict=True))
        number = float(answer[-1]) / noise.count_weight if noise.count_weight else float(noise.records)
        return cls(sums, number, noise)


@dataclass(frozen=True, slots=True)
class Metric(ABC):
    """One number about a model.

    Attributes:
        name: as users write it; of several targets with the target's, "squared_error[cost]".
        higher_is_better: whether more of it is better.
    """

    name: str
    higher_is_better: bool

    @property
    @abstractmethod
    def tallies(self) -> tuple[Tally, ...]:
        """What has to be added up for it."""

    @property
    def reach(self) -> float:
        """The largest error that counts, as a share of the target's range; 1 where all count, and for what is no error."""
        return 1.0

    @property
    def size(self) -> float:
        """How many of the user's units lie between the worst and the best; 1 where it has no unit."""
        return 1.0

    @abstractmethod
    def measure(self, answer: ScoreAnswer, z: float) -> Measured:
        """The number with its interval at z standard errors, whatever the answer is."""

    @abstractmethod
    def foreseen(self, noise: Noise) -> float:
        """The privacy error to be expected, before any record is read."""


@final
@dataclass(frozen=True, slots=True)
class Mean(Metric):
    """The mean of a score.

    With v = 2s − 1: `T(x) = Σ w v − x N` is 0 in the mean at x = E v. Its privacy variance is `4σ² + x² Var N`; its sampling variance
    `N (E v² − x²)` from the released mean square, half a standard error of noise added, at most the `1 − x²` that any score
    in [−1, 1] has (Bhatia and Davis 2000), x moved inwards by a standard error; for a score of two values exactly that, x being the one at question (Wilson's interval).
    """

    score: Score

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """The score's moments."""
        return (Moments(self.score),)

    @property
    def reach(self) -> float:
        """The score's."""
        return self.score.reach if isinstance(self.score, SquaredError | AbsoluteError) else 1.0

    @property
    def size(self) -> float:
        """The largest score less the least."""
        least, largest = self.score.bounds
        return largest - least

    def measure(self, answer: ScoreAnswer, z: float) -> Measured:
        """In the user's units."""
        sums, noise, number = answer.sums[self.tallies[0]], answer.noise, answer.number
        room = noise.inflation * max(number, 0.0)
        if self.score.two_valued:
            sampling = (room, 0.0, -room)
        else:
            sampling = (room * self._variance(float(sums[0]), float(sums[1]), number, noise.sigma), 0.0, 0.0)
        private = (4.0 * noise.sigma**2, 0.0, noise.number_variance)
        found = quotient(2.0 * float(sums[0]), number, private, sampling, z, -1.0, 1.0, 0.0)
        return found.scaled(self.score.bounds[0] + 0.5 * self.size, 0.5 * self.size)

    @staticmethod
    def _variance(first: float, second: float, number: float, sigma: float) -> float:
        if number <= 0.0:
            return 1.0
        mean = min(max(2.0 * first / number, -1.0), 1.0)
        spread = max(2.0 * second / number + 1.0 - mean**2, 0.0)
        slack = SLACK * 2.0 * sigma / number * math.sqrt(1.0 + 4.0 * mean**2)
        inner = max(abs(mean) - 2.0 * sigma / number, 0.0)  # the mean is as uncertain as the noise makes it
        return min(spread + slack, 1.0 - inner**2)

    def foreseen(self, noise: Noise) -> float:
        """At the end of the range, where a noisy number of records matters most."""
        return 0.5 * self.size * math.sqrt(4.0 * noise.sigma**2 + noise.number_variance) / noise.records


@final
@dataclass(frozen=True, slots=True)
class RSquared(Metric):
    """`1 − ρ`, `ρ = E(f − y)² / Var y`, both on y ∈ [−1, 1]; (f − y)² = 2 r² (v + 1), r the reach of the squared error.

    `T(ρ) = A − ρB`, `A = Σw(f − y)²`, `B = Σwy² − (Σwy)²/N`, is 0 in the mean at the true ρ up to terms of order 1. Privacy variance: of A
    and B to first order, and of the square of the noise in Σwy, which is all there is where records are few. Sampling variance: `N E((f − y)² − ρ(y − m)²)²`, its three moments from the released mixed moments, half
    a standard error of noise to the safe side, within Cauchy and Schwarz's and Jensen's bounds.
    """

    error: SquaredError
    outcome: Outcome

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """Errors, targets and both together."""
        return Moments(self.error), Moments(self.outcome), Mixed(self.error, self.outcome)

    @property
    def reach(self) -> float:
        """The squared error's."""
        return self.error.reach

    def measure(self, answer: ScoreAnswer, z: float) -> Measured:
        """Without a unit; −∞ to 1 where the spread of the target is not known to differ from 0."""
        noise, number = answer.noise, answer.number
        if number <= 0.0:
            return Measured(0.0, -math.inf, 1.0, math.inf, math.inf)
        error, outcome, mixed = (answer.sums[tally] for tally in self.tallies)
        sigma, var = noise.sigma, noise.sigma**2
        ev, ev2 = 2.0 * float(error[0]) / number, 2.0 * float(error[1]) / number + 1.0
        m, ey2 = 2.0 * float(outcome[0]) / number, 2.0 * float(outcome[1]) / number + 1.0
        m = min(max(m, -1.0), 1.0)
        evy, evy2, ey3, ey4 = (2.0 * float(value) / (MIXED * number) for value in mixed)
        ey4 += 0.5
        r2 = self.error.reach**2
        top = 2.0 * r2 * (ev + 1.0) * number
        bottom = (ey2 - m**2) * number + 4.0 * var / number  # the square of a noisy mean is too large by its variance
        coupled = noise.number_variance
        private = (
            (16.0 * var + 4.0 * coupled) * r2**2,
            -4.0 * coupled * (1.0 + m**2) * r2,
            4.0 * var * (1.0 + 4.0 * m**2) + coupled * (1.0 + m**2) ** 2 + 32.0 * (var / number) ** 2,
        )
        unit, odd = SLACK * 2.0 * sigma / number, SLACK * 2.0 * sigma / (MIXED * number)
        spread = min(max(bottom / number, 0.0), 1.0)
        p = min(max(ev2 + 2.0 * ev + 1.0, 0.0) + 3.0 * unit, 4.0)
        s = ey4 - 4.0 * m * ey3 + 6.0 * m**2 * ey2 - 3.0 * m**4
        s = min(max(s, spread**2) + odd * math.sqrt(1.0 + 16.0 * m**2), (1.0 + abs(m)) ** 2 * spread)
        q = evy2 - 2.0 * m * evy + m**2 * ev + ey2 - m**2
        q = min(max(q - odd * math.sqrt(1.0 + 4.0 * m**2), 0.0), math.sqrt(p * s))
        room = noise.inflation * number
        sampling = (4.0 * p * r2**2 * room, -4.0 * q * r2 * room, s * room)
        return quotient(top, bottom, private, sampling, z, 0.0, math.inf, 1.0).scaled(1.0, -1.0)

    def foreseen(self, noise: Noise) -> float:
        """For a target spread evenly over its bounds and R² = ½."""
        spread, ratio = 1.0 / 3.0, 0.5
        variance = (16.0 * self.error.reach**4 + 4.0 * ratio**2) * noise.sigma**2
        variance += (2.0 * self.error.reach**2 - ratio) ** 2 * noise.number_variance
        return math.sqrt(variance) / (noise.records * spread)
