"""What a release tells of the population's coefficients: debiased estimates, intervals of anything linear in them, and of predictions."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from hullabaloo.data import BoundedTarget
from hullabaloo.errors import InvalidParameter, NotReleased
from hullabaloo.inference.debiased import Debiased, Intervals
from hullabaloo.inference.fitted import Array, FittedModel
from hullabaloo.inference.from_moments import asked_ridge, debiased
from hullabaloo.inference.from_score import NEAR, FromScore
from hullabaloo.losses import Logistic, Poisson, Squared, SquaredTargets
from hullabaloo.privacy import Neighbours
from hullabaloo.release.parameters import one_of, positive

DROWNED = "No errors are told{}: noise is as large as the curvature at the released coefficients, or nearly half of it beside a number that varies little within its bounds, or far fewer records count than were declared, too few to show how long gradients are. More budget, fewer columns, narrower bounds or more records help."
FAR = "No errors are told{}: the released coefficients are {} from their estimates, as far as noise shows it, in predictions on the scale of the link, and what is released of the curvature holds within {}. Noise, a set, a penalty or a rare class may hold them apart: fit with more budget, fewer columns or a weaker set or penalty{}."
NEAREST = "; of solvers preconditioned_gradient ends nearest to the estimates"
"""Of 48 fits of two classes (eight problems of seven tables, ε = 1 and 3, three draws) it was too far in 8, objective perturbation in 19, plain gradients in 30."""
NEITHER = "This release holds neither a score nor second moments, so errors cannot be told from it without another charge; fit with inference=True, to have them."

Estimator = Debiased | FromScore
"""Of one target's unit coefficients: estimates, their covariance, and intervals of linear functions.

The interval of `aᵀθ` at quantile q is the set of c with `(aᵀθ̃ − c)² ≤ q²V(c)`, V a quadratic in c that is the squared standard error at aᵀθ̃;
z and p rest on that (`significance.py`).
"""


@dataclass(frozen=True, slots=True, eq=False)
class TargetInference:
    """What is known of one target's coefficients on the unit domain.

    Attributes:
        estimator: gives intervals.
        basis: (p, r), the coefficients that the question is about.
        residual_variance: of the unit target around its prediction; NaN where it is not told.
        reason: why nothing is told of this target; "" where it is.
    """

    estimator: Estimator
    basis: Array
    residual_variance: float
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Inference:
    """All targets, and in words what the intervals are about; `reason` says why nothing is told, `told` being empty, or nothing of some targets.

    Attributes:
        about: what the intervals are meant to cover.
        errors: how sampling errors are reckoned, in a word.
    """

    told: tuple[TargetInference, ...]
    about: str = ""
    reason: str = ""
    errors: str = "homoskedastic"


def inference(model: FittedModel) -> Inference:
    """Everything that the release tells; a function of the release alone."""
    if reason := _reason(model):
        return Inference((), reason=reason)
    release = model.release
    if release.score is not None:
        squared, targets = isinstance(model.loss, Squared), model.encoding.facts.targets
        scores = [FromScore(model, one) for one in release.scores]
        far = [(name, one) for one, name in zip(scores, targets, strict=True) if one.far]
        why = _untold(far, len(targets), NEAREST * (release.plan["solver"] != "preconditioned_gradient"))
        if len(far) == len(scores):
            return Inference((), reason=why)
        known = [
            TargetInference(one, one.determined, one.found.residual if squared else math.nan, why if one.far else "")
            for one in scores
        ]
        return Inference(tuple(known), _about(model), why, _errors(model, release.score.errors))
    assert release.moments is not None
    found = []
    for target in range(len(model.encoding.facts.targets)):
        estimator, variance = debiased(model, release.moments, target)
        found.append(TargetInference(estimator, estimator.equations.basis, variance))
    return Inference(tuple(found), _about(model), errors=_errors(model, "homoskedastic"))


def told_of(model: FittedModel, what: str) -> Inference:
    """What the release tells; a refusal where that is nothing.

    Raises:
        NotReleased: no errors of coefficients are told, and why.
    """
    known = inference(model)
    if not known.told:
        raise NotReleased(f"{what} asked of a {model.name}. {known.reason}")
    return known


def _untold(far: list[tuple[str, FromScore]], targets: int, more: str) -> str:
    """Why no errors are told of those targets: one sentence for each reason, however many they are."""
    by = {text: [one for one in far if one[1].drowned == drowned] for text, drowned in ((DROWNED, True), (FAR, False))}
    told = [(text, [name for name, _ in of], [f"{one.away:.2g}" for _, one in of]) for text, of in by.items() if of]
    return " ".join(
        text.format(f" of {', '.join(of)}" * (targets > 1), "too far" if "inf" in away else ", ".join(away), NEAR, more)
        for text, of, away in told
    )


def _errors(model: FittedModel, kind: str) -> str:
    """How sampling errors are reckoned, in words."""
    unit, copies = model.encoding.domain.unit, model.encoding.facts.records_per_unit
    if kind == "unit":
        return f"clustered by {unit}"
    bound = kind == "bound" or model.release.score is None
    return {"bound": "robust"}.get(kind, kind) + f", × {copies} records of a {unit}" * (bound and copies > 1)


def tell(model: FittedModel, told: TargetInference, functions: Array, confidence: float, own: float = 0.0) -> Intervals:
    """Intervals of the functions (m, p) of one target's unit coefficients; NaN where they ask for columns left out.

    With `own`, a variance, of the functions' values plus a normal residual of that variance.
    """
    at = quantile(model, told, confidence)
    if math.isnan(at):
        return Intervals(*np.full((5, len(functions)), np.nan))
    found = told.estimator.intervals(functions, at, own)
    absent = functions[:, (told.basis**2).sum(axis=1) < 1e-12].any(axis=1)
    for part in (found.estimate, found.sampling_error, found.privacy_error, found.low, found.high):
        part[absent] = np.nan
    if isinstance(told.estimator, FromScore):
        ways, seen = told.estimator.separating
        along = functions @ ways[seen < at].T
        for end, sign in ((found.low, -1.0), (found.high, 1.0)):
            end[np.any(sign * along > 0.0, axis=1) & ~np.isnan(end)] = sign * math.inf
    return found


def records_of(model: FittedModel) -> float:
    """The number of records as it is publicly known, or as a stream has it by now; where it is private as it is released, in place of the declared one."""
    held, known = model.release.moments or model.release.score, model.release.statement.records
    # fewer than the statement's where a stream fits those so far, or a search holds some out
    plan = model.release.plan
    known = plan.get("records", max((query.get("records", known) for query in plan["queries"]), default=known))
    return known if held is None else released_records(model) or held.records


def released_records(model: FittedModel) -> float | None:
    """The number of records that count, of records without weights and with a constant column, as a release tells it; None where it is public, or not told."""
    release, encoding = model.release, model.encoding
    moments, public = release.moments, model.neighbours is Neighbours.REPLACE_ONE and not encoding.facts.weighted
    if public or encoding.domain.weight is not None or not encoding.facts.intercept or release.statement.horizon:
        return None
    if moments is not None and not moments.counted and len(moments.gram) == encoding.facts.width:
        return max(float(moments.gram[-1, -1]) * moments.records, 1.0)
    share = next((float(line["mean weight"]) for line in release.trace if "mean weight" in line), 0.0)
    return share * release.statement.records or None


def freedom(model: FittedModel, told: TargetInference) -> float:
    """Records, of clustered errors as many units as there are at least, less coefficients: the degrees of freedom of Student's law."""
    score = model.release.score
    copies = model.encoding.facts.records_per_unit if score is not None and score.errors == "unit" else 1
    return float(records_of(model) / copies - told.basis.shape[1])


def quantile(model: FittedModel, told: TargetInference, confidence: float) -> float:
    """Of Student's law, for intervals of that level; NaN where there is no degree of freedom."""
    left = freedom(model, told)
    return float(stdtrit(left, 0.5 + confidence / 2.0)) if left >= 1.0 else math.nan


def check_confidence(confidence: float) -> float:
    """The level, a number strictly between 0 and 1.

    Raises:
        InvalidParameter: it is none.
    """
    return positive("confidence", confidence, "the confidence level of intervals, such as 0.95", 1.0)


def _about(model: FittedModel) -> str:
    if asked_ridge(model).any() and model.release.score is None:
        return "the optimum of the quadratic penalty that was asked for, over the population"
    if isinstance(model.loss, Squared | SquaredTargets):
        return "the least-squares coefficients of the population"
    return f"the coefficients of least {model.loss.name} loss over the population"


def _reason(model: FittedModel) -> str:
    """Why the release tells no intervals, and what to do; "" where it tells them."""
    release, moments = model.release, model.release.moments
    if release.plan.get("starts from the model before") and not release.scores:
        return "This model corrects an earlier one, and its release is about what that one left: no intervals are told."
    whole = moments is not None and moments.gram.shape[0] == model.encoding.facts.width
    if release.score is not None or (whole and isinstance(model.loss, Squared | SquaredTargets)):
        return ""
    return str(release.plan.get("without inference", "")) or NEITHER


def predict_interval(model: FittedModel, X: Any, *, confidence: float, kind: str) -> Array:
    """See `CoefficientInference.predict_interval`."""
    level, asked = check_confidence(confidence), one_of("kind", kind, ("mean", "observation"))
    known = told_of(model, "Intervals of predictions were")
    if asked == "observation" and any(np.isnan(told.residual_variance) for told in known.told):
        raise InvalidParameter(
            f"Intervals of single observations were asked of a {model.name}, and they are told for squared losses alone: a class or a count is no normal residual away from its mean. Ask for kind='mean'."
        )
    encoding, rows = model.encoding, model.encoding.features(X)
    functions = np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float64)
    found = [
        tell(model, told, functions, level, own=told.residual_variance if asked == "observation" else 0.0)
        for told in known.told
    ]
    ends = np.stack([np.stack([one.low, one.high], axis=1) for one in found], axis=1)
    ends[np.isinf(ends).all(axis=2)] = np.nan
    ends += encoding.predictions(X, np.zeros((functions.shape[1], ends.shape[1])))[:, :, None]
    ends = ends * encoding.target_scale[:, None] + encoding.prediction_offset[:, None]
    if isinstance(model.loss, Logistic):
        with np.errstate(over="ignore"):
            ends = 1.0 / (1.0 + np.exp(-ends))
    if isinstance(model.loss, Poisson):
        ends = np.exp(np.minimum(ends, 700.0))
    if bounds := [(one.lo, one.hi) for one in encoding.targets if isinstance(one, BoundedTarget)]:
        ends = np.clip(ends, *np.array(bounds).T[:, :, None])
    return ends[:, 0].copy() if ends.shape[1] == 1 else ends
