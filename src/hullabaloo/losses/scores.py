"""Scores: what one record says about a model, as a number in [0, 1]; a metric is a mean of scores, or made of such means.

Tallies: what a record adds to a few coordinates of a private answer, with the proof of how far one record can move them.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from hullabaloo.losses.base import Array
from hullabaloo.losses.readings import Reading, Scored, unit


@dataclass(frozen=True, slots=True)
class Score(ABC):
    """A number in [0, 1] of every record, whatever the record and the coefficients are; a mean s̄ stands for `least + (largest − least) s̄` in the user's units."""

    two_valued: ClassVar[bool] = False  # whether it is always 0 or 1, so that its mean tells its variance

    @abstractmethod
    def of(self, seen: Scored) -> Array:
        """(n,) numbers in [0, 1], each a function of its record alone, bit for bit; PRIVATE."""

    @final
    def within(self, seen: Scored) -> Array:
        """`of`, held within [0, 1] whatever public numbers the score was made of: sensitivities rest on it; PRIVATE."""
        return unit(self.of(seen))

    @property
    @abstractmethod
    def bounds(self) -> tuple[float, float]:
        """(least, largest): what 0 and 1 stand for in the user's units."""


@dataclass(frozen=True, slots=True)
class Outcome(Score):
    """The target itself, 0 and 1 its declared bounds."""

    target: int
    bounds = 0.0, 1.0

    def of(self, seen: Scored) -> Array:
        """o."""
        return seen.truth[:, self.target]


@dataclass(frozen=True, slots=True)
class Error(Score):
    """|f − o| to a power, f the prediction cut off at the declared bounds, of which f − o is at most `span` = hi − lo; `reach` is the largest error that counts, as a share of that; larger ones count as it."""

    target: int
    span: float
    reach: float = 1.0

    @property
    @abstractmethod
    def power(self) -> int:
        """Of the error."""

    def of(self, seen: Scored) -> Array:
        """|f − o| over reach, to the power."""
        apart = np.abs(seen.forecast[:, self.target] - seen.truth[:, self.target])
        return np.asarray(np.minimum(apart / self.reach, 1.0) ** self.power)

    @property
    def bounds(self) -> tuple[float, float]:
        """At most reach (hi − lo), to the power."""
        return 0.0, (self.reach * self.span) ** self.power


@dataclass(frozen=True, slots=True)
class SquaredError(Error):
    """(f − o)²."""

    power = 2


@dataclass(frozen=True, slots=True)
class AbsoluteError(Error):
    """|f − o|."""

    power = 1


@dataclass(frozen=True, slots=True)
class PinballError(Score):
    """τ(o − f) where the outcome is above, (1 − τ)(f − o) where it is below: least for the quantile τ."""

    target: int
    span: float
    quantile: float

    def of(self, seen: Scored) -> Array:
        """The loss over max(τ, 1 − τ)."""
        above = seen.truth[:, self.target] - seen.forecast[:, self.target]
        return np.clip(np.where(above > 0.0, self.quantile, self.quantile - 1.0) * above / self._steepest, 0.0, 1.0)

    @property
    def _steepest(self) -> float:
        return max(self.quantile, 1.0 - self.quantile)

    @property
    def bounds(self) -> tuple[float, float]:
        """At most max(τ, 1 − τ)(hi − lo)."""
        return 0.0, self._steepest * self.span


@dataclass(frozen=True, slots=True)
class PoissonDeviance(Score):
    """`2 (y log(y/m) − y + m)` of a count y and its predicted mean m, both over hi, m held at `floor` and above.

    Convex in y for each m, and in m falling up to y and rising from there on: largest in a corner of `y ∈ [low, 1], m ∈ [max(low, floor), 1]`.
    """

    target: int
    top: float
    low: float
    floor: float

    def of(self, seen: Scored) -> Array:
        """The deviance over its bound."""
        from hullabaloo.losses.reading_kernels import logarithms

        y = self.low + (1.0 - self.low) * seen.truth[:, self.target]
        m = np.clip(self.low + (1.0 - self.low) * seen.forecast[:, self.target], self._least, 1.0)
        log_ratio = logarithms(y, 1e-300) - logarithms(m, self._least)
        return np.asarray(np.clip(2.0 * (y * log_ratio - (y - m)) / self._largest, 0.0, 1.0))

    @property
    def _least(self) -> float:
        return max(self.low, self.floor)

    @property
    def _largest(self) -> float:
        corners = [(y, m) for y in (self.low, 1.0) for m in (self._least, 1.0)]
        return max(2.0 * ((y * math.log(y / m) if y > 0.0 else 0.0) - y + m) for y, m in corners)

    @property
    def bounds(self) -> tuple[float, float]:
        """In counts: deviances are multiplied by hi."""
        return 0.0, self.top * self._largest


@dataclass(frozen=True, slots=True)
class LogLoss(Score):
    """−log of the chance given to the record's class, which is held within [floor, 1 − floor]."""

    floor: float

    def of(self, seen: Scored) -> Array:
        """The loss between its bounds."""
        from hullabaloo.losses.reading_kernels import logarithms

        least, largest = self.bounds
        given = seen.forecast[np.arange(seen.actual.size), seen.actual]
        logs = logarithms(np.clip(given, self.floor, 1.0 - self.floor), self.floor)
        return np.asarray(np.clip((-logs - least) / (largest - least), 0.0, 1.0))

    @property
    def bounds(self) -> tuple[float, float]:
        """[−log(1 − floor), −log floor]."""
        return -math.log1p(-self.floor), -math.log(self.floor)


@dataclass(frozen=True, slots=True)
class Correct(Score):
    """Whether the class decided for is the record's."""

    bounds = 0.0, 1.0
    two_valued = True

    def of(self, seen: Scored) -> Array:
        """1 or 0."""
        return np.asarray(seen.guess == seen.actual, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Brier(Score):
    """(chance of the second class − outcome)² for two classes; for more, the sum over classes, at most 2."""

    classes: int

    def of(self, seen: Scored) -> Array:
        """The score over its bound; added up class by class."""
        columns = range(1, 2) if self.classes == 2 else range(self.classes)
        total = np.zeros(seen.truth.shape[0])
        for column in columns:
            total += np.square(seen.forecast[:, column] - seen.truth[:, column])
        return np.asarray(np.clip(total / self.bounds[1], 0.0, 1.0))

    @property
    def bounds(self) -> tuple[float, float]:
        """At most 1 for two classes, 2 for more."""
        return 0.0, 1.0 if self.classes == 2 else 2.0


@dataclass(frozen=True, slots=True)
class Statistic(ABC):
    """A vector c(record) with coordinates in [−½, ½], whatever the record is.

    `radius` bounds ‖c‖₂: what adding or removing a record moves the sum by. `diameter` bounds ‖c − c'‖₂: what replacing one does.
    Both are proved in the class. c is of order 1: so tallies share the noise as equals, which makes `Σ (noise/range)²` least.
    """

    counts: ClassVar[bool] = False  # whether it tells the number of records itself

    @property
    def name(self) -> str:
        """For plans and cards."""
        return type(self).__name__

    @property
    @abstractmethod
    def length(self) -> int:
        """Number of coordinates."""

    @property
    @abstractmethod
    def radius(self) -> float:
        """Bound of ‖c‖₂."""

    @property
    def diameter(self) -> float:
        """Bound of ‖c − c'‖₂."""
        return 2.0 * self.radius

    @abstractmethod
    def of(self, seen: Scored) -> Array:
        """(n, length), each row a function of its record alone, bit for bit; PRIVATE."""


@dataclass(frozen=True, slots=True)
class Moments(Statistic):
    """`(v, v² − 1)/2` with v = 2s − 1 ∈ [−1, 1], s a score: its mean and its mean square, from which its variance.

    **Guarantee.** *Radius ½*: `v² + (1 − v²)² = 1 − v² + v⁴ ≤ 1`. *Diameter 1*: with `d = |v − v'|` and `t = |v + v'|`, `d + t ≤ 2`, so `d²(1 + t²) ≤ d²(1 + (2 − d)²)`, and this is
    at most 4 on [0, 2]: with `t = 2 − d` the difference `4 − (2 − t)²(1 + t²) = t(4 − 5t + 4t² − t³)`, whose bracket is at least 2 on [0, 2]. Both are what v/2 alone
    has: the mean square comes at no price. A score that is 0 or 1 has v² = 1 always, and its second coordinate is left out.
    """

    score: Score
    radius = 0.5
    diameter = 1.0

    @property
    def name(self) -> str:
        """The score's."""
        return type(self.score).__name__

    @property
    def length(self) -> int:
        """2, or 1 for scores of two values."""
        return 1 if self.score.two_valued else 2

    def of(self, seen: Scored) -> Array:
        """(n, 2) or (n, 1)."""
        v = 2.0 * self.score.within(seen) - 1.0
        if self.score.two_valued:
            return 0.5 * v[:, None]
        return np.column_stack([0.5 * v, 0.5 * (np.square(v) - 1.0)])


MIXED = 0.25  # what mixed moments weigh: they tell only how exact an answer is, and are to cost a tenth of it


@dataclass(frozen=True, slots=True)
class Mixed(Statistic):
    """`κ(vy, vy², y³, y⁴ − ½)/2`, κ = ¼, v = 2s − 1 of the squared error, y = 2o − 1 of the target: what R²'s sampling variance needs.

    **Guarantee.** *Radius* `κ√13/4`: three coordinates within `κ/2`, one within `κ/4`. *Diameter*: twice that.
    """

    error: SquaredError
    outcome: Outcome
    name = "MixedMoments"
    length = 4
    radius = MIXED * math.sqrt(13.0) / 4.0

    def of(self, seen: Scored) -> Array:
        """(n, 4)."""
        v, y = 2.0 * self.error.within(seen) - 1.0, 2.0 * self.outcome.within(seen) - 1.0
        square = np.square(y)
        return (0.5 * MIXED) * np.column_stack([v * y, v * square, y * square, np.square(square) - 0.5])


@dataclass(frozen=True, slots=True)
class Binned(Statistic):
    """What depends on the bin b of a prediction f ∈ [0, 1], of m equal ones: `(½, values, f − mid_b)` there, zeros in all others.

    f and the outcome o are a target's prediction and value between its bounds; of two classes the chance and the outcome of the second; of more the largest chance and whether its class is the record's.

    **Guarantee.** Precondition: values are within ½ of 0, and within 1 of each other (l2). *Radius*: `‖c‖² ≤ ¼ + ¼ + 1/(4m²)`. *Diameter*: in different
    bins `‖c − c'‖² = ‖c‖² + ‖c'‖² ≤ 1 + 1/(2m²)`, in the same one at most 1 and `(f − f')² ≤ 1/m²`.
    """

    counts: ClassVar[bool] = True
    size: ClassVar[int]

    reading: Reading
    bins: int
    target: int = 0

    @property
    def length(self) -> int:
        """Bin by bin."""
        return self.size * self.bins

    @property
    def radius(self) -> float:
        """√(½ + 1/(4m²))."""
        return math.sqrt(0.5 + 0.25 / self.bins**2)

    @property
    def diameter(self) -> float:
        """√(1 + 1/m²)."""
        return math.sqrt(1.0 + 1.0 / self.bins**2)

    def _binned(self, forecast: Array, values: Array) -> Array:
        """(n, (k + 2)m): in a forecast's bin ½, its values (n, k), and how far it is from the bin's middle."""
        place = np.minimum((forecast * self.bins).astype(np.intp), self.bins - 1)
        half, every = 0.5 / self.bins, np.arange(forecast.size)
        out = np.zeros((forecast.size, self.bins, values.shape[1] + 2))
        out[every, place, 0] = 0.5
        out[every, place, 1:-1] = values
        out[every, place, -1] = np.clip(forecast - (place + 0.5) / self.bins, -half, half)
        return out.reshape(forecast.size, -1)

    def _pair(self, seen: Scored) -> tuple[Array, Array]:
        """A target's predictions and outcomes within [0, 1]; of two classes those of the second, of more whether the likeliest class was it. PRIVATE."""
        if not self.reading.reads.classes:
            return seen.forecast[:, self.target], seen.truth[:, self.target]
        if self.reading.classes == 2:
            return seen.forecast[:, 1], seen.truth[:, 1]
        return np.max(seen.forecast, axis=1), np.asarray(seen.guess == seen.actual, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Bins(Binned):
    """How predictions turn out: `o − ½`, within ½ of 0. (Count and outcome are the two counts of a bin, turned by 45 degrees.)"""

    name = "Calibration"
    size = 3

    def of(self, seen: Scored) -> Array:
        """(n, 3m)."""
        forecast, outcome = self._pair(seen)
        return self._binned(forecast, (outcome - 0.5)[:, None])


@dataclass(frozen=True, slots=True)
class BinnedResiduals(Binned):
    """Residuals: `(v, v² − 1)/2`, `v = (o − f)/reach` cut off at ±1; as near to 0 and to each other as `Moments` proves, so that the mean square comes at no price.

    Attributes:
        reach: the largest residual that counts as itself, as a share of the target's range.
    """

    reach: float = 1.0
    name = "Residuals"
    size = 4

    def of(self, seen: Scored) -> Array:
        """(n, 4m)."""
        forecast, outcome = self._pair(seen)
        v = np.clip(np.nan_to_num((outcome - forecast) / self.reach), -1.0, 1.0)  # whatever the reach is
        return self._binned(forecast, np.column_stack([0.5 * v, 0.5 * (np.square(v) - 1.0)]))


@dataclass(frozen=True, slots=True)
class ClassTotals(Statistic):
    """`½(q − y, √3 q(1 − q))` of k > 2 classes: their chances q less the record's class y, and how far a shift of the log-odds moves each.

    **Guarantee.** *Radius* `√½`, the diameter twice that: with a the chance of the record's own class `4‖c‖² = (1 − a)²(1 + 3a²) + Σ f(q_j)` over all others, `f(q) = q²(1 + 3(1 − q)²)`. As `f(q)/q`
    grows (its slope is `(3q − 2)²`), they add up to at most `f(1 − a) = (1 − a)²(1 + 3a²)`, which falls in a from 1. Two records, each taken for the other's class, are `√2` apart: so the shifts come
    at no price. Chances are quotients by their own sum, so that they add up to 1, or are all 0, up to rounding by a factor `1 + ku`: charged as `1 + 10⁻⁹`.
    """

    classes: int
    counts: ClassVar[bool] = True  # sums are wanted, and no mean
    radius = math.sqrt(0.5) * (1.0 + 1e-9)

    @property
    def length(self) -> int:
        """2k."""
        return 2 * self.classes

    def of(self, seen: Scored) -> Array:
        """(n, 2k)."""
        return 0.5 * np.hstack([seen.forecast - seen.truth, math.sqrt(3.0) * seen.forecast * (1.0 - seen.forecast)])
