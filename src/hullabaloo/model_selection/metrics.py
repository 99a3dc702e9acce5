"""Metrics and calibration tables: from noisy sums to numbers with intervals; pure post-processing, which never fails."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from hullabaloo.codec import arguments
from hullabaloo.curation.scoring import Noise
from hullabaloo.losses import scores

SLACK = 0.5
"""Standard errors of noise that are added to a released variance, which may be too small: intervals then cover what they say."""
SEEN = 3.0
"""Standard errors of its noise that a count is above where it shows records. Of ten bins without records some are seen by chance in 3 of 100 tables."""
SPREADS = (12.0**-0.5, 0.15, 0.07)
"""Deviations of targets over their range: the most, a usual one and the least that are reckoned with where none is known."""
Expected = tuple[float, ...]
"""The least, what is likely and the most."""
Quadratic = tuple[float, float, float]
"""q0 + q1 x + q2 x², a variance as a function of the quotient."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A number about a population, in the user's units.

    Attributes:
        value: the estimate, within the range that the number can have.
        low, high: the confidence interval, of the population's value for this very model.
        privacy_error: standard error from the privacy noise, which is known; infinite where the noise drowned the number.
        sampling_error: standard error from the records being a sample.
    """

    value: float
    low: float
    high: float
    privacy_error: float
    sampling_error: float

    def scaled(self, offset: float, factor: float) -> "Measured":
        """`offset + factor · this`; a negative factor turns the interval round."""
        low, high = sorted((offset + factor * self.low, offset + factor * self.high))
        errors = self.privacy_error * abs(factor), self.sampling_error * abs(factor)
        return Measured(offset + factor * self.value, low, high, *errors)

    to_dict = arguments

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Measured":
        """Read what `to_dict` wrote."""
        absent = {"low": -math.inf}
        given = {name: data[name] for name in cls.__slots__}
        return cls(**{name: absent.get(name, math.inf) if one is None else float(one) for name, one in given.items()})


def quotient(
    top: float, bottom: float, noise: Quadratic, sampling: Quadratic, z: float, low: float, high: float, unknown: float
) -> Measured:
    """The x with `top = x · bottom`, and all x in [low, high] for which `(top − x bottom)² ≤ z² (noise(x) + sampling(x))`.

    `top − x bottom` is normal with mean 0 at the true x, however small the denominator is: no expansion in it is used (Fieller
    1954). Where the denominator does not differ from 0 at this confidence, nothing is known: the interval is [low, high], and
    the value is `unknown` where the denominator is not positive at all.
    """
    spread = (noise[0] + sampling[0], noise[1] + sampling[1], noise[2] + sampling[2])
    a = bottom**2 - z**2 * spread[2]
    value = min(max(top / bottom, low), high) if bottom > 0.0 else unknown
    if not (bottom > 0.0 and a > 0.0):
        return Measured(value, low, high, math.inf, math.inf)
    privacy, sampled = (math.sqrt(max(q[0] + q[1] * value + q[2] * value**2, 0.0)) / bottom for q in (noise, sampling))
    b, c = 2.0 * top * bottom + z**2 * spread[1], top**2 - z**2 * spread[0]
    root = math.sqrt(max(b**2 - 4.0 * a * c, 0.0))
    ends = (b - root) / (2.0 * a), (b + root) / (2.0 * a)
    # Where noise carried it out of its range, intervals are too short.
    if b**2 < 4.0 * a * c or not low <= top / bottom <= high:
        half = z * math.hypot(privacy, sampled)
        ends = min(ends[0], value - half), max(ends[1], value + half)
    return Measured(value, max(low, min(ends[0], value)), min(high, max(ends[1], value)), privacy, sampled)


@dataclass(frozen=True, slots=True, eq=False)
class ScoreAnswer:
    """A noisy answer, by tally.

    Attributes:
        sums: the noisy coordinates of each tally.
        number: the number of records that the means are over: public, or noisy.
        noise: how noisy all of it is.
    """

    sums: dict[scores.Statistic, npt.NDArray[np.float64]]
    number: float
    noise: Noise

    @classmethod
    def split(cls, answer: npt.NDArray[np.float64], tallies: Sequence[scores.Statistic], noise: Noise) -> "ScoreAnswer":
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
    def tallies(self) -> tuple[scores.Statistic, ...]:
        """What has to be added up for it."""

    @property
    def size(self) -> float:
        """How many of the user's units lie between the worst and the best; 1 where it has no unit."""
        return 1.0

    @abstractmethod
    def measure(self, answer: ScoreAnswer, z: float) -> Measured:
        """The number with its interval at z standard errors, whatever the answer is."""

    @abstractmethod
    def foreseen(self, noise: Noise, known: float | None = None) -> Expected:
        """The privacy error to be expected before any record is read, between its least and its most; `known` is the target's standard deviation, where it decides."""


@dataclass(frozen=True, slots=True)
class Mean(Metric):
    """The mean of a score.

    With v = 2s − 1: `T(x) = Σ w v − x N` is 0 in the mean at x = E v. Its privacy variance is `4σ² + x² Var N`; its sampling variance
    `N (E v² − x²)` from the released mean square, half a standard error of noise added, at most the `1 − x²` that any score
    in [−1, 1] has (Bhatia and Davis 2000), x moved inwards by a standard error; for a score of two values exactly that, x being the one at question (Wilson's interval).
    """

    score: scores.Score

    @property
    def tallies(self) -> tuple[scores.Statistic, ...]:
        """The score's moments."""
        return (scores.Moments(self.score),)

    @property
    def size(self) -> float:
        """The largest score less the least."""
        least, largest = self.score.bounds
        return largest - least

    def measure(self, answer: ScoreAnswer, z: float) -> Measured:
        """In the user's units."""
        sums, noise, number = answer.sums[self.tallies[0]], answer.noise, answer.number
        room = noise.inflation * max(number, 0.0)
        sampling = (room, 0.0, -room)
        if not self.score.two_valued:
            sampling = (room * _variance(float(sums[0]), float(sums[1]), number, noise.sigma), 0.0, 0.0)
        private = (4.0 * noise.sigma**2, 0.0, noise.number_variance)
        found = quotient(2.0 * float(sums[0]), number, private, sampling, z, -1.0, 1.0, 0.0)
        return found.scaled(self.score.bounds[0] + 0.5 * self.size, 0.5 * self.size)

    def foreseen(self, noise: Noise, known: float | None = None) -> Expected:
        """At the end of the range, where a noisy number of records matters most."""
        return (0.5 * self.size * math.sqrt(4.0 * noise.sigma**2 + noise.number_variance) / noise.records,) * 3


def _variance(first: float, second: float, number: float, sigma: float) -> float:
    """Of a score in [−1, 1], from the sums of `Moments` over `number` records, each of noise σ; to the safe side."""
    if number <= 0.0:
        return 1.0
    mean = min(max(2.0 * first / number, -1.0), 1.0)
    spread = max(2.0 * second / number + 1.0 - mean**2, 0.0)
    slack = SLACK * 2.0 * sigma / number * math.sqrt(1.0 + 4.0 * mean**2)
    inner = max(abs(mean) - 2.0 * sigma / number, 0.0)  # the mean is as uncertain as the noise makes it
    return min(spread + slack, 1.0 - inner**2)


@dataclass(frozen=True, slots=True)
class RSquared(Metric):
    """`1 − ρ`, `ρ = E(f − y)² / Var y`, both on y ∈ [−1, 1]; (f − y)² = 2 r² (v + 1), r the reach of the squared error.

    `T(ρ) = A − ρB`, `A = Σw(f − y)²`, `B = Σwy² − (Σwy)²/N`, is 0 in the mean at the true ρ up to terms of order 1. Privacy variance: of A
    and B to first order, and of the square of the noise in Σwy, which is all there is where records are few. Sampling variance: `N E((f − y)² − ρ(y − m)²)²`, its three moments from the released mixed moments, half
    a standard error of noise to the safe side, within Cauchy and Schwarz's and Jensen's bounds.
    """

    error: scores.SquaredError
    outcome: scores.Outcome

    @property
    def tallies(self) -> tuple[scores.Statistic, ...]:
        """Errors, targets and both together."""
        return scores.Moments(self.error), scores.Moments(self.outcome), scores.Mixed(self.error, self.outcome)

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
        evy, evy2, ey3, ey4 = (2.0 * float(value) / (scores.MIXED * number) for value in mixed)
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
        unit, odd = SLACK * 2.0 * sigma / number, SLACK * 2.0 * sigma / (scores.MIXED * number)
        spread = min(max(bottom / number, 0.0), 1.0)
        p = min(max(ev2 + 2.0 * ev + 1.0, 0.0) + 3.0 * unit, 4.0)
        s = ey4 - 4.0 * m * ey3 + 6.0 * m**2 * ey2 - 3.0 * m**4
        s = min(max(s, spread**2) + odd * math.sqrt(1.0 + 16.0 * m**2), (1.0 + abs(m)) ** 2 * spread)
        q = evy2 - 2.0 * m * evy + m**2 * ev + ey2 - m**2
        q = min(max(q - odd * math.sqrt(1.0 + 4.0 * m**2), 0.0), math.sqrt(p * s))
        room = noise.inflation * number
        sampling = (4.0 * p * r2**2 * room, -4.0 * q * r2 * room, s * room)
        return quotient(top, bottom, private, sampling, z, 0.0, math.inf, 1.0).scaled(1.0, -1.0)

    def foreseen(self, noise: Noise, known: float | None = None) -> Expected:
        """For R² = ½ and a target of the `known` deviation, or of 0.07 to 0.29 (usually 0.15) of its range: 0.29 is one spread evenly over it."""
        ratio = 0.5
        variance = (16.0 * self.error.reach**4 + 4.0 * ratio**2) * noise.sigma**2
        variance += (2.0 * self.error.reach**2 - ratio) ** 2 * noise.number_variance
        spreads = SPREADS if known is None else (max(known / self.error.span, 1e-100),) * 3
        return tuple(math.sqrt(variance) / (noise.records * 4.0 * one**2) for one in spreads)


@dataclass(frozen=True, slots=True)
class _Within:
    """The records whose prediction lies in [low, high), in the user's units (of classes: chances).

    Attributes:
        target: the target's name.
        count: their noisy number, at least 0.
        count_error: its noise.
        prediction: their mean prediction, within the bin.
    """

    target: str
    low: float
    high: float
    count: float
    count_error: float
    prediction: float

    to_dict = arguments

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Read what `to_dict` wrote."""
        return cls(**data | {name: Measured.from_dict(one) for name, one in data.items() if isinstance(one, dict)})


@dataclass(frozen=True, slots=True)
class Bin(_Within):
    """What came of a bin's records: `outcome` is the mean of what was true, with its interval: of two classes the share of the second, of more
    the share of records whose likeliest class is theirs.
    """

    outcome: Measured


@dataclass(frozen=True, slots=True)
class ResidualBin(_Within):
    """`residual` is the mean of what was true less what was predicted, each cut off at the largest error, with its interval."""

    residual: Measured


@dataclass(frozen=True, slots=True)
class Calibration:
    """The table of one target.

    In a bin, `T(x) = Σ w (o − ½) − x N_b` is 0 in the mean at x = E o − ½, both sums noisy; its sampling variance is at most
    `N_b (¼ − x²)` (Bhatia and Davis 2000), which is exact for outcomes of 0 and 1.
    """

    tally: scores.Bins

    name: ClassVar[str] = "calibration"

    def measure(self, answer: ScoreAnswer, z: float) -> Iterator[Bin]:
        """The rows, from low predictions to high ones."""
        origin, span = _units(self.tally)
        for about, number, (outcome,), sigma in _bins(self.tally, answer):
            room = answer.noise.inflation * max(number, 0.0)
            noise, sampling = (sigma**2, 0.0, 4.0 * sigma**2), (0.25 * room, 0.0, -room)
            share = quotient(outcome, number, noise, sampling, z, -0.5, 0.5, 0.0).scaled(0.5, 1.0)
            yield Bin(**about, outcome=share.scaled(origin, span))

    def foreseen(self, noise: Noise) -> float:
        """Of the outcome of a bin that holds its share of the records, at the end of the range, in the user's units."""
        return float(_units(self.tally)[1] * 2.0**0.5 * noise.sigma * self.tally.bins / noise.records)


@dataclass(frozen=True, slots=True)
class Residuals:
    """The binned residuals of one target (Gelman and Hill 2007, §5.6).

    In a bin, `T(x) = Σ w v − x N_b` is 0 in the mean at x = E v; its privacy variance is `4σ²(1 + x²)`, its sampling variance `N_b (E v² − x²)` as `Mean` has it.
    """

    tally: scores.BinnedResiduals

    name: ClassVar[str] = "residuals"

    @property
    def _size(self) -> float:
        """The largest residual, in the user's units."""
        return self.tally.reach * _units(self.tally)[1]

    def measure(self, answer: ScoreAnswer, z: float) -> Iterator[ResidualBin]:
        """The rows, from low predictions to high ones."""
        for about, number, (first, second), sigma in _bins(self.tally, answer):
            var, spread = 4.0 * sigma**2, _variance(first, second, number, sigma)
            sampling = (answer.noise.inflation * max(number, 0.0) * spread, 0.0, 0.0)
            mean = quotient(2.0 * first, number, (var, 0.0, var), sampling, z, -1.0, 1.0, 0.0)
            yield ResidualBin(**about, residual=mean.scaled(0.0, self._size))

    def foreseen(self, noise: Noise) -> float:
        """Of the mean residual of a bin that holds its share of the records, near 0, in the user's units."""
        return float(self._size * 2.0 * noise.sigma * self.tally.bins / noise.records)


def _units(tally: scores.Binned) -> tuple[float, float]:
    """Where the user's units begin, and how many there are; chances have none."""
    reading, target = tally.reading, tally.target
    return (0.0, 1.0) if reading.reads.classes else (reading.origin[target], reading.span[target])


def _bins(tally: scores.Binned, answer: ScoreAnswer) -> Iterator[tuple[dict[str, Any], float, list[float], float]]:
    """Of each row, a bin or several of `_seen`, what it is, its noisy number, the sums of its values, and their noise."""
    (origin, span), m = _units(tally), tally.bins
    sums = answer.sums[tally].reshape(m, -1)
    middles = (np.arange(m) + 0.5) / m
    for start, stop in _seen(2.0 * sums[:, 0], 2.0 * answer.noise.sigma):
        half, *values, moved = sums[start:stop].sum(axis=0).tolist()
        number, sigma = 2.0 * half, answer.noise.sigma * math.sqrt(stop - start)
        place = 2.0 * float(middles[start:stop] @ sums[start:stop, 0]) + moved
        place = place / number if number > 0.0 else 0.5 * (start + stop) / m
        about = {
            "target": tally.reading.names[tally.target],
            "low": origin + span * start / m,
            "high": origin + span * stop / m,
            "count": max(number, 0.0),
            "count_error": 2.0 * sigma,
            "prediction": origin + span * min(max(place, start / m), stop / m),
        }
        yield about, number, values, sigma


def _seen(counts: npt.NDArray[np.float64], error: float) -> list[tuple[int, int]]:
    """Bins [start, stop) that show records, from noisy counts alone: those that noise hides are joined with the next until some are seen, and the
    first of them left out where the others show more without them; all are one where none are seen."""
    found, start = [], 0
    for stop in range(1, len(counts) + 1):
        strength = np.cumsum(counts[start:stop][::-1]) / np.sqrt(np.arange(1, stop - start + 1))
        if np.max(strength) > SEEN * error:
            found.append((stop - 1 - int(np.argmax(strength)), stop))
            start = stop
    return found or [(0, len(counts))]
