"""Tallies: what a record adds to a few coordinates of a private answer, with the proof of how far one record can move them."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from hullabaloo.losses.base import Array
from hullabaloo.losses.readings import Reading, Seen
from hullabaloo.losses.scores import Outcome, Score, SquaredError


@dataclass(frozen=True, slots=True)
class Tally(ABC):
    """A vector c(record) with coordinates in [−½, ½], whatever the record is.

    `radius` bounds ‖c‖₂: what adding or removing a record moves the sum by. `diameter` bounds ‖c − c'‖₂: what replacing one does.
    Both are proved in the class. c is of order 1: so tallies share the noise as equals, which makes `Σ (noise/range)²` least.
    """

    counts: ClassVar[bool] = False
    """Whether it tells the number of records itself."""

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
    def of(self, seen: Seen) -> Array:
        """(n, length), each row a function of its record alone, bit for bit; PRIVATE."""


@final
@dataclass(frozen=True, slots=True)
class Moments(Tally):
    """`(v, v² − 1)/2` with v = 2s − 1 ∈ [−1, 1], s a score: its mean and its mean square, from which its variance.

    **Guarantee.** *Radius ½*: `v² + (1 − v²)² = 1 − v² + v⁴ ≤ 1`. *Diameter 1*: with `d = |v − v'|` and `t = |v + v'|`,
    `d + t ≤ 2`, so `d²(1 + t²) ≤ d²(1 + (2 − d)²)`, and this is at most 4 on [0, 2]: with `t = 2 − d` the difference
    `4 − (2 − t)²(1 + t²) = t(4 − 5t + 4t² − t³)`, whose bracket is at least 2 on [0, 2]. Both are what v/2 alone has: the
    mean square comes at no price. A score that is 0 or 1 has v² = 1 always, and its second coordinate is left out.
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

    def of(self, seen: Seen) -> Array:
        """(n, 2) or (n, 1)."""
        v = 2.0 * self.score.within(seen) - 1.0
        if self.score.two_valued:
            return 0.5 * v[:, None]
        return np.column_stack([0.5 * v, 0.5 * (np.square(v) - 1.0)])


MIXED = 0.25
"""What mixed moments weigh: they tell only how exact an answer is, and are to cost a tenth of it."""


@final
@dataclass(frozen=True, slots=True)
class Mixed(Tally):
    """`κ(vy, vy², y³, y⁴ − ½)/2`, κ = ¼, v = 2s − 1 of the squared error, y = 2o − 1 of the target: what R²'s sampling variance needs.

    **Guarantee.** *Radius* `κ√13/4`: three coordinates within `κ/2`, one within `κ/4`. *Diameter*: twice that.
    """

    error: SquaredError
    outcome: Outcome
    name = "MixedMoments"
    length = 4
    radius = MIXED * math.sqrt(13.0) / 4.0

    def of(self, seen: Seen) -> Array:
        """(n, 4)."""
        v, y = 2.0 * self.error.within(seen) - 1.0, 2.0 * self.outcome.within(seen) - 1.0
        square = np.square(y)
        return (0.5 * MIXED) * np.column_stack([v * y, v * square, y * square, np.square(square) - 0.5])


@final
@dataclass(frozen=True, slots=True)
class Bins(Tally):
    """How predictions f ∈ [0, 1] turn out: in the bin b of f, of m equal ones, `(½, o − ½, f − mid_b)`; zeros in all others.

    f and o are a target's prediction and value between its bounds; of two classes the chance and the outcome of the second; of more the
    largest chance and whether its class is the record's.

    **Guarantee.** *Radius*: `‖c‖² ≤ ¼ + ¼ + 1/(4m²)`. *Diameter*: in different bins `‖c − c'‖² = ‖c‖² + ‖c'‖² ≤ 1 + 1/(2m²)`, in
    the same one `(o − o')² + (f − f')² ≤ 1 + 1/m²`. (Count and outcome are the two counts of a bin, turned by 45 degrees.)
    """

    counts: ClassVar[bool] = True

    reading: Reading
    bins: int
    target: int = 0
    name = "Calibration"
    counts = True

    @property
    def length(self) -> int:
        """3m: bin by bin."""
        return 3 * self.bins

    @property
    def radius(self) -> float:
        """√(½ + 1/(4m²))."""
        return math.sqrt(0.5 + 0.25 / self.bins**2)

    @property
    def diameter(self) -> float:
        """√(1 + 1/m²)."""
        return math.sqrt(1.0 + 1.0 / self.bins**2)

    def of(self, seen: Seen) -> Array:
        """(n, 3m)."""
        forecast, outcome = self._pair(seen)
        place = np.minimum((forecast * self.bins).astype(np.intp), self.bins - 1)
        half = 0.5 / self.bins
        out = np.zeros((forecast.size, self.bins, 3))
        every = np.arange(forecast.size)
        out[every, place, 0] = 0.5
        out[every, place, 1] = outcome - 0.5
        out[every, place, 2] = np.clip(forecast - (place + 0.5) / self.bins, -half, half)
        return out.reshape(forecast.size, self.length)

    def _pair(self, seen: Seen) -> tuple[Array, Array]:
        if not self.reading.reads.classes:
            return seen.forecast[:, self.target], seen.truth[:, self.target]
        if self.reading.classes == 2:
            return seen.forecast[:, 1], seen.truth[:, 1]
        largest = np.max(seen.forecast, axis=1)
        return largest, np.asarray(seen.guess == seen.actual, dtype=np.float64)
