"""How linear predictions are read: as numbers within declared bounds, as means of counts, as classes with or without chances."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from hullabaloo.losses.base import Array

_LARGEST = 1e300


class Reads(StrEnum):
    """What z stands for.

    ``NUMBERS``: the prediction itself. ``COUNTS``: the logarithm of a mean. ``DECISIONS``: the class of the largest z (of two
    classes: the second where z > 0). ``OVR``: logistic chances, each class's own, brought to sum 1. ``MULTINOMIAL``: multinomial
    chances.
    """

    NUMBERS = "numbers"
    COUNTS = "counts"
    DECISIONS = "decisions"
    OVR = "chances"
    MULTINOMIAL = "multinomial chances"

    @property
    def classes(self) -> bool:
        """Whether the target is a class."""
        return self not in (Reads.NUMBERS, Reads.COUNTS)

    @property
    def chances(self) -> bool:
        """Whether classes have chances."""
        return self in (Reads.OVR, Reads.MULTINOMIAL)


def unit(numbers: Array) -> Array:
    """The same within [0, 1]; what is no number is 0."""
    return np.asarray(np.clip(np.where(np.isnan(numbers), 0.0, numbers), 0.0, 1.0), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Records as a metric sees them; PRIVATE. Every number is finite and in [0, 1], whatever the record and θ are.

    Attributes:
        forecast: (n, m): each target's prediction, 0 and 1 its declared bounds; of classes their chances, or 1 for the decision.
        truth: (n, m): each target, likewise; of classes 1 for the record's own.
        guess: (n,): the number of the class decided for; empty for numbers.
        actual: (n,): the number of the record's class; empty for numbers.
    """

    forecast: Array
    truth: Array
    guess: Any
    actual: Any

    def __post_init__(self) -> None:
        for name in ("forecast", "truth"):
            object.__setattr__(self, name, unit(getattr(self, name)))


@dataclass(frozen=True, slots=True)
class Reading:
    """The public facts that turn z = θᵀx + o, (n, k), and encoded targets, (n, k), into what metrics compare.

    A prediction outside a target's declared bounds counts as the bound: no target lies beyond, so that is never further away.

    Attributes:
        reads: what z stands for.
        low, high: of numbers and counts: the bounds of each target on the unit domain; empty for classes.
        names: of the targets; of classes the one target's.
        span, origin: hi − lo and lo of each target in the user's units; empty for classes.
        classes: how many classes, 0 for numbers.
    """

    reads: Reads
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    span: tuple[float, ...] = ()
    origin: tuple[float, ...] = ()
    classes: int = 0

    def seen(self, z: Array, Y: Array) -> Scored:
        """The records as metrics see them; a row of the result is a function of the row alone, bit for bit. PRIVATE.

        z may hold anything: what is no number counts as 0. Y may hold any finite numbers.
        """
        z = np.ascontiguousarray(np.clip(np.where(np.isnan(z), 0.0, z), -_LARGEST, _LARGEST))
        return self._classes(z, Y) if self.reads.classes else self._numbers(z, Y)

    def _numbers(self, z: Array, Y: Array) -> Scored:
        from hullabaloo.losses.reading_kernels import exponentials

        if self.reads is Reads.COUNTS:
            z = exponentials(z)
        low, high = np.asarray(self.low), np.asarray(self.high)
        nothing = np.zeros(0, dtype=np.intp)
        forecast, truth = ((values - low) / (high - low) for values in (z, Y))
        return Scored(forecast, truth, nothing, nothing)

    def _classes(self, z: Array, Y: Array) -> Scored:
        from hullabaloo.losses.reading_kernels import chances_apart, chances_of_two, chances_together

        two = self.classes == 2
        guess, actual = ((v[:, 0] > 0.0).astype(np.intp) if two else np.argmax(v, axis=1) for v in (z, Y))
        every = np.arange(self.classes)
        truth = (actual[:, None] == every).astype(np.float64)
        if not self.reads.chances:
            return Scored((guess[:, None] == every).astype(np.float64), truth, guess, actual)
        chances = chances_apart if self.reads is Reads.OVR else chances_together
        return Scored(chances_of_two(z) if two else chances(z), truth, guess, actual)
