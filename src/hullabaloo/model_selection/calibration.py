"""The calibration table: of the records with about the same prediction, how it turned out on average."""

from dataclasses import dataclass
from typing import Any, final

from hullabaloo.codec import arguments
from hullabaloo.curation.scoring import Noise
from hullabaloo.losses.scores import Bins
from hullabaloo.model_selection.fraction import Measured, quotient
from hullabaloo.model_selection.metrics import ScoreAnswer


@final
@dataclass(frozen=True, slots=True)
class Bin:
    """The records whose prediction lies in [low, high), in the user's units (of classes: chances).

    Attributes:
        target: the target's name.
        count: their noisy number, at least 0.
        count_error: its noise.
        prediction: their mean prediction, within the bin.
        outcome: the mean of what was true, with its interval: of two classes the share of the second, of more the share of records whose
            likeliest class is theirs.
    """

    target: str
    low: float
    high: float
    count: float
    count_error: float
    prediction: float
    outcome: Measured

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return arguments(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Bin":
        """Read what `to_dict` wrote."""
        return cls(**{**data, "outcome": Measured.from_dict(data["outcome"])})


@final
@dataclass(frozen=True, slots=True)
class Calibration:
    """The table of one target.

    In a bin, `T(x) = Σ w (o − ½) − x N_b` is 0 in the mean at x = E o − ½, both sums noisy; its sampling variance is at most
    `N_b (¼ − x²)` (Bhatia and Davis 2000), which is exact for outcomes of 0 and 1.
    """

    tally: Bins

    def measure(self, answer: ScoreAnswer, z: float) -> tuple[Bin, ...]:
        """The rows, from low predictions to high ones."""
        reading, m, sigma = self.tally.reading, self.tally.bins, answer.noise.sigma
        numbers = not reading.reads.classes
        origin, span = (reading.origin[self.tally.target], reading.span[self.tally.target]) if numbers else (0.0, 1.0)
        rows = []
        for b, (half, outcome, moved) in enumerate(answer.sums[self.tally].reshape(m, 3).tolist()):
            number = 2.0 * half
            middle = (b + 0.5) / m
            within = min(max(moved / number, -0.5 / m), 0.5 / m) if number > 0.0 else 0.0
            room = answer.noise.inflation * max(number, 0.0)
            noise, sampling = (sigma**2, 0.0, 4.0 * sigma**2), (0.25 * room, 0.0, -room)
            share = quotient(outcome, number, noise, sampling, z, -0.5, 0.5, 0.0).scaled(0.5, 1.0)
            rows.append(
                Bin(
                    target=reading.names[self.tally.target],
                    low=origin + span * b / m,
                    high=origin + span * (b + 1) / m,
                    count=max(number, 0.0),
                    count_error=2.0 * sigma,
                    prediction=origin + span * (middle + within),
                    outcome=share.scaled(origin, span),
                )
            )
        return tuple(rows)

    def foreseen(self, noise: Noise) -> float:
        """Of the outcome of a bin that holds its share of the records, at the end of the range, in the user's units."""
        numbers = not self.tally.reading.reads.classes
        span = self.tally.reading.span[self.tally.target] if numbers else 1.0
        return float(span * 2.0**0.5 * noise.sigma * self.tally.bins / noise.records)
