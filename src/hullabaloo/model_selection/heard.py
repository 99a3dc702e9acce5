"""What the curator answered to a score query, with the public facts that tell how noisy it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from hullabaloo.losses.tallies import Tally

Array = npt.NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True)
class Noise:
    """Public facts of an answer.

    Attributes:
        sigma: noise of each coordinate.
        records: the public number of records: n, or the declared one.
        count_weight: what the number of records is multiplied by in the answer's last coordinate; 0 where it has none.
        inflation: W m: weights and several records of a person make a sum's sampling variance at most so many times that of
            records counted one by one, `Var Σ w s ≤ W m Σ w Var s`.
    """

    sigma: float
    records: int
    count_weight: float
    inflation: float

    @property
    def number_variance(self) -> float:
        """Of the noisy number of records; 0 where it is public."""
        return (self.sigma / self.count_weight) ** 2 if self.count_weight else 0.0


@final
@dataclass(frozen=True, slots=True, eq=False)
class Heard:
    """A noisy answer, by tally.

    Attributes:
        sums: the noisy coordinates of each tally.
        number: the number of records that the means are over: public, or noisy.
        noise: how noisy all of it is.
    """

    sums: dict[Tally, Array]
    number: float
    noise: Noise

    @classmethod
    def split(cls, answer: Array, tallies: Sequence[Tally], noise: Noise) -> "Heard":
        """Cut the answer of a query about these tallies into theirs."""
        ends = np.cumsum([tally.length for tally in tallies])
        sums = dict(zip(tallies, np.split(answer[: ends[-1]], ends[:-1]), strict=True))
        number = float(answer[-1]) / noise.count_weight if noise.count_weight else float(noise.records)
        return cls(sums, number, noise)
