"""How a model's predictions are read, which metrics it can be asked for, by name, and which one is taken by default."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from numbers import Real
from typing import Any

from scipy.special import wrightomega

from hullabaloo.curation.scoring import Noise
from hullabaloo.data import BoundedTarget, ClassTarget, Encoding, TargetScale, names_of
from hullabaloo.errors import InvalidParameter, as_whole
from hullabaloo.losses import AnyLoss, Logistic, MultinomialLogistic, Pinball, scores
from hullabaloo.losses.ranks import Ranks
from hullabaloo.losses.readings import Reading, Reads
from hullabaloo.model_selection.area import Area
from hullabaloo.model_selection.metrics import Calibration, Mean, Metric, Residuals, RSquared

CALIBRATION, RESIDUALS = TABLES = Calibration.name, Residuals.name
CUT = ("squared_error", "absolute_error", "r2")
"""Metrics of errors, which may be cut off at a largest one."""
AREA = "roc_auc"
FLOOR = 0.01
BINS = 10
LargestError = float | Mapping[str, float] | None
"""In the target's units; of several targets by their names."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is asked about a model: metrics, tables by bins of the prediction (one a target) if any, and whose errors are cut off within the range."""

    reading: Reading
    metrics: tuple[Metric, ...]
    tables: tuple[Calibration | Residuals, ...]
    cut: tuple[str, ...]

    @property
    def tallies(self) -> tuple[scores.Statistic, ...]:
        """Everything that has to be added up, once each."""
        needed = [tally for metric in self.metrics for tally in metric.tallies]
        return tuple(dict.fromkeys([*needed, *(table.tally for table in self.tables)]))

    @property
    def question(self) -> dict[str, Any]:
        """What the one query about all of it is made of."""
        return {"reading": self.reading, "tallies": self.tallies}


def reading_of(encoding: Encoding, loss: AnyLoss) -> Reading:
    """Numbers for bounded targets, means for counts; classes with chances where the loss is a likelihood, else decisions."""
    first = encoding.targets[0]
    if isinstance(first, ClassTarget):
        reads = Reads.DECISIONS
        if isinstance(loss, MultinomialLogistic):
            reads = Reads.MULTINOMIAL
        elif isinstance(loss, Logistic):
            reads = Reads.OVR
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


def choose(
    reading: Reading,
    loss: AnyLoss,
    names: str | Iterable[str] | None,
    *,
    floor: float = FLOOR,
    bins: int = BINS,
    largest_error: LargestError = None,
    window: tuple[float, ...] = (),
) -> Chosen:
    """The metrics of these names; None for the model's default. `largest_error` is in the target's units; None for hi − lo. `window` is that of `Ranks`.

    Raises:
        InvalidParameter: a name that this kind of model has no metric for, a name twice, or none at all; or a floor, largest
            error or number of bins that is none.
    """
    _check(floor, bins)
    known = available(reading, loss)
    if names is None:
        names = default_of(reading, loss)
    asked = list(names_of(names, "metrics")) if isinstance(names, Iterable) else [names]
    if not asked or len(set(map(str, asked))) != len(asked):
        raise InvalidParameter(
            f"metrics={asked!r} was asked. Name each metric once, and at least one: {', '.join(map(repr, known))}; or leave metrics out."
        )
    for name in asked:
        if name not in known:
            raise InvalidParameter(
                f"The metric {name!r} was asked of a model that predicts {_predicts(reading)}, and there are {', '.join(map(repr, known))}. "
                "Nothing was read or charged. Name some of these."
            )
    targets = range(max(len(reading.names), 1))
    reaches = _reaches(reading, largest_error)
    metrics: list[Metric] = []
    cut = []
    tables: list[Calibration | Residuals] = []
    for name, j in product([name for name in asked if name not in TABLES], targets):
        full = f"{name}[{reading.names[j]}]" if len(targets) > 1 else name
        area = Area(full, True, Ranks(*window)) if name == AREA else None
        metrics.append(area or _MAKERS[name](full, reading, j, loss, reaches[j] if name in CUT else float(floor)))
        cut += [full] * (name in CUT and reaches[j] < 1.0)
    if CALIBRATION in asked:
        tables += [Calibration(scores.Bins(reading, int(bins), j)) for j in targets]
    if RESIDUALS in asked:
        tables += [Residuals(scores.BinnedResiduals(reading, int(bins), j, reaches[j])) for j in targets]
        cut += [RESIDUALS] * (min(reaches) < 1.0)
    return Chosen(reading, tuple(metrics), tuple(tables), tuple(cut))


def floor_of(noise: Noise) -> float:
    """The largest floor f that takes no more of the losses of calibrated predictions than the standard deviation of their noise, within what may be asked.

    A chance p below f loses `KL(p‖f) ≤ −log(1 − f)` of two classes, a mean m `2(f − m + m log(m/f)) ≤ 2f` of its bound; the deviations are `s log(1/f − 1)` and `2s(log(1/f) − 1 + f)`
    or more, s the noise of a score in [0, 1]: so `f = s(log(1/f) − 1)`, by Wright's omega.
    """
    s = max(math.hypot(noise.sigma, 0.5 * math.sqrt(noise.number_variance)) / noise.records, 1e-9)
    return min(max(s * float(wrightomega(-1.0 - math.log(s))), 1e-6), 0.25)


def available(reading: Reading, loss: AnyLoss) -> tuple[str, ...]:
    """The names of the metrics that a model can be asked for."""
    if reading.reads.classes:
        return (*_OF_CLASSES, *[AREA] * (reading.classes == 2)) if reading.reads.chances else ("accuracy",)
    own = ("poisson_deviance",) * (reading.reads is Reads.COUNTS) + ("pinball_loss",) * isinstance(loss, Pinball)
    return (*CUT, *own, *TABLES)


def default_of(reading: Reading, loss: AnyLoss) -> str:
    """What a model is measured by if nothing else is asked: what it was fitted to be good at."""
    if reading.reads.classes:
        return available(reading, loss)[0]
    if reading.reads is Reads.COUNTS:
        return "poisson_deviance"
    return "pinball_loss" if isinstance(loss, Pinball) else "squared_error"


Maker = Callable[[str, Reading, int, Any, float], Metric]
"""From a full name, a reading, a target's number, a loss, and the largest error or least chance."""
_OF_CLASSES = ("log_loss", "accuracy", "brier_score", *TABLES)
_MAKERS: dict[str, Maker] = {
    "squared_error": lambda name, of, j, loss, reach: Mean(name, False, scores.SquaredError(j, of.span[j], reach)),
    "absolute_error": lambda name, of, j, loss, reach: Mean(name, False, scores.AbsoluteError(j, of.span[j], reach)),
    "r2": lambda name, of, j, loss, reach: RSquared(
        name, True, scores.SquaredError(j, of.span[j], reach), scores.Outcome(j)
    ),
    "pinball_loss": lambda name, of, j, loss, floor: Mean(name, False, scores.PinballError(j, of.span[j], loss.tau)),
    "poisson_deviance": lambda name, of, j, loss, floor: Mean(
        name, False, scores.PoissonDeviance(j, of.origin[j] + of.span[j], of.low[j], floor)
    ),
    "log_loss": lambda name, of, j, loss, floor: Mean(name, False, scores.LogLoss(floor)),
    "accuracy": lambda name, of, j, loss, floor: Mean(name, True, scores.Correct()),
    "brier_score": lambda name, of, j, loss, floor: Mean(name, False, scores.Brier(of.classes)),
}


def _reaches(reading: Reading, largest: object) -> list[float]:
    """The largest error of each target as a share of its range."""
    if largest is None:
        return [1.0] * max(len(reading.names), 1)
    if reading.reads.classes:
        raise InvalidParameter(
            f"largest_error={largest!r} was given, and this model predicts {_predicts(reading)}, whose metrics are not of errors. Leave it out."
        )
    spans = dict(zip(reading.names, reading.span, strict=True))
    alone = {reading.names[0]: largest} if len(spans) == 1 else {}
    given: Mapping[Any, Any] = largest if isinstance(largest, Mapping) else alone
    if not given or not all(name in spans and _within(value, spans[name]) for name, value in given.items()):
        raise InvalidParameter(
            f"largest_error={largest!r} was given. Errors beyond it count as it, so it lies above 0 and at most at hi − lo of the target: "
            "pass a number in the target's units that is known without looking at the records, or, of several targets, a number for each by its name."
        )
    return [float(given.get(name, span)) / span for name, span in spans.items()]


def _within(value: Any, span: float) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and 0.0 < value <= span  # type: ignore[operator]


def _check(floor: float, bins: int) -> None:
    if isinstance(floor, bool) or not isinstance(floor, Real) or not 1e-6 <= floor <= 0.25:
        raise InvalidParameter(
            f"probability_floor={floor!r} was asked. It is the least chance that a loss takes a class to have been given, and bounds what "
            "one record can say: pass a number between 1e-6 and 0.25, such as 0.01."
        )
    said = "bins={!r} was asked. It is the number of rows of a table by bins of the prediction: pass a whole number from 1 to 1000."
    as_whole(bins, said, 1, 1000)


def _predicts(reading: Reading) -> str:
    if reading.reads.classes:
        return "chances of classes" if reading.reads.chances else "classes without chances"
    return "counts" if reading.reads is Reads.COUNTS else "numbers"
