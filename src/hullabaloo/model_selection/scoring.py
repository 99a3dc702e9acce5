"""How a model's predictions are read, and one private number about its coefficients, for searches: the same query as an evaluation's, its answer read without an interval."""

from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from hullabaloo.curation.scoring import Noise
from hullabaloo.data import ClassTarget, Encoding, TargetScale
from hullabaloo.data.targets import BoundedTarget
from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import AnyLoss, Logistic, MultinomialLogistic
from hullabaloo.losses.readings import Reading, Reads
from hullabaloo.model_selection.catalogue import CALIBRATION, Chosen, choose
from hullabaloo.model_selection.metrics import Mean, Metric, ScoreAnswer


@final
@dataclass(frozen=True, slots=True)
class SearchMetric:
    """The one metric by which candidates are compared, made from public facts.

    Attributes:
        chosen: the metric; of several targets one each, whose mean counts.
    """

    chosen: Chosen

    @classmethod
    def of(cls, encoding: Encoding, loss: AnyLoss, metric: str | None = None) -> "SearchMetric":
        """The metric of that name, None for what such a model is fitted to be good at.

        Raises:
            InvalidParameter: there is no such metric for these models, or it is no single number.
        """
        if metric == CALIBRATION:
            raise InvalidParameter(
                "A search compares candidates by one number, and calibration is a table. Name another metric, such as 'log_loss' or "
                "'squared_error'."
            )
        return cls(choose(reading_of(encoding, loss), loss, metric))

    @property
    def name(self) -> str:
        """Of the metric."""
        return self.chosen.metrics[0].name.partition("[")[0]

    @property
    def higher_is_better(self) -> bool:
        """Whether more of the metric itself is better; `oriented` numbers always are."""
        return self.chosen.metrics[0].higher_is_better

    @property
    def _sign(self) -> float:
        return 1.0 if self.higher_is_better else -1.0

    def _unit(self, metric: Metric) -> float:
        return metric.size if len(self.chosen.metrics) > 1 else 1.0

    def read(self, answer: npt.NDArray[np.float64], noise: Noise) -> float:
        """The metric in the user's units, of several targets the mean in units of their ranges; larger may be worse.

        Not cut off at the metric's range, which noise may leave: cut-off numbers of several candidates would be equal.
        """
        found = ScoreAnswer.split(answer, self.chosen.tallies, noise)
        return float(np.mean([_plain(metric, found) / self._unit(metric) for metric in self.chosen.metrics]))

    def oriented(self, answer: npt.NDArray[np.float64], noise: Noise) -> float:
        """The same with the sign by which larger is better."""
        return self._sign * self.read(answer, noise)

    def error(self, noise: Noise) -> float:
        """The privacy error of such a number, as far as public facts tell it."""
        errors = [metric.foreseen(noise) / self._unit(metric) for metric in self.chosen.metrics]
        return float(np.linalg.norm(errors)) / len(errors)


def _plain(metric: Metric, answer: ScoreAnswer) -> float:
    """A mean of scores as the noisy sums give it; other metrics as they are measured."""
    if not isinstance(metric, Mean) or not answer.number > 0.0:
        return metric.measure(answer, 1.0).value
    low, high = metric.score.bounds
    centred = 2.0 * float(answer.sums[metric.tallies[0]][0]) / answer.number
    return 0.5 * (low + high) + 0.5 * (high - low) * centred


def reading_of(encoding: Encoding, loss: AnyLoss) -> Reading:
    """Numbers for bounded targets, means for counts; classes with chances where the loss is a likelihood, else decisions."""
    first = encoding.targets[0]
    if isinstance(first, ClassTarget):
        reads = Reads.DECISIONS
        if isinstance(loss, MultinomialLogistic):
            reads = Reads.TOGETHER
        elif isinstance(loss, Logistic):
            reads = Reads.APART
        return Reading(reads, names=(first.column or "target",), classes=len(first.classes))
    targets = [target for target in encoding.targets if isinstance(target, BoundedTarget)]
    scales = [target.scale(encoding.fit_intercept, encoding.scale) for target in targets]
    return Reading(
        Reads.COUNTS if encoding.scale is TargetScale.NONNEGATIVE else Reads.NUMBERS,
        low=tuple((target.lo - mid) / half for target, (mid, half) in zip(targets, scales, strict=True)),
        high=tuple((target.hi - mid) / half for target, (mid, half) in zip(targets, scales, strict=True)),
        names=tuple(target.names[0] for target in targets),
        span=tuple(target.hi - target.lo for target in targets),
        origin=tuple(target.lo for target in targets),
    )
