"""Which coefficients of an l1 fit are meant: those that a rule of false selections keeps; the others are 0.

A lasso's own zeros are no finding: noise moves a coefficient off its corner as readily as signal. What a release tells of errors does
decide: with θ̃_j the unshrunk estimate and σ_j its standard error, privacy noise and sampling together, `z_j = θ̃_j/σ_j` is about
standard normal where the population's coefficient is 0, and `p_j = 2Φ(−|z_j|)`. Of m coefficients, all targets' slopes together,

- "fdr" keeps the k of the least p for the largest k with `p_(k) ≤ q k/m` (Benjamini & Hochberg 1995): of those selected, a share of at
  most q is false in expectation. Proved for independent tests and some dependent ones (Benjamini & Yekutieli 2001, Thm 1.2); for any
  dependence q must be divided by Σ 1/i (Thm 1.3), which two-sided tests of correlated normals were never seen to need (Reiner-Benjamini
  2007; `benchmarks/lasso_selection.py`), so it is not.
- "bound" keeps p_j ≤ q/m (Bonferroni): the chance of any false selection is at most q, whatever the dependence.

What is tested is the least-squares coefficient of all columns together (of other losses theirs), and with an elastic net the ridge's of its
quadratic part: of columns too alike to be told apart at the noise, the first is not told, and the second is where λ is near the noise of
the second moments (its spectral radius s√(2p)). Where noise hides a direction the estimate's error grows faster than the estimate, and fewer
are kept; what has no interval is not. Sampling errors are those of residuals alike for all records; where these spread with a column, it may be kept more often than q
allows. Post-processing of the release.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from hullabaloo.data import Encoding
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import ConvexSet, ElasticNetPenalty, L1Ball, L1Penalty, Penalty, SquaredL2Penalty
from hullabaloo.inference.fitted import Array, FittedModel
from hullabaloo.inference.from_moments import constants
from hullabaloo.inference.intervals import inference, tell
from hullabaloo.inference.refit import solved
from hullabaloo.losses import AnyLoss, Squared
from hullabaloo.planning.named import name_of
from hullabaloo.release import Release
from hullabaloo.release.parameters import inference_share, one_of, positive
from hullabaloo.solvers import Solver
from hullabaloo.solvers.floored import pulled
from hullabaloo.solvers.score.shares import SMOOTH

RULES = ("fdr", "bound")


@dataclass(frozen=True, slots=True)
class SelectionRule:
    """A rule of false selections.

    Attributes:
        name: "fdr" or "bound".
        level: q, between 0 and 1.
    """

    name: str
    level: float

    @classmethod
    def of(cls, asked: str | None, level: float) -> "SelectionRule | None":
        """The rule of an estimator's parameters."""
        q = positive("selection_level", level, "the share or chance of false selections", highest=1.0)
        return None if asked is None else cls(one_of("selection", asked, RULES), q)

    def keeps(self, z: Array) -> npt.NDArray[np.bool_]:
        """Which of the tests z, all of one family, are kept; NaN never is."""
        p = np.where(np.isnan(z), 1.0, 2.0 * ndtr(-np.abs(z)))
        places = np.arange(1, p.size + 1) if self.name == "fdr" else np.ones(p.size)
        ordered = np.sort(p, axis=None)
        below = ordered[ordered <= self.level * places / max(p.size, 1)]
        return np.asarray(p <= below[-1] if below.size else np.zeros(p.shape, dtype=bool))


def is_l1(constraint: ConvexSet | None, penalty: Penalty) -> bool:
    """Whether a set or penalty of the library has its corners where single coefficients are 0."""
    penalised = isinstance(penalty, L1Penalty | ElasticNetPenalty) and penalty.weights[0] > 0.0
    return penalised or isinstance(constraint, L1Ball)


def telling_solver(
    model: Any, encoding: Encoding, shape: tuple[ConvexSet | None, Penalty], loss: AnyLoss
) -> Solver | str:
    """The solver of a fit: the model's own, or where a rule of selection was asked and inference left out, of the squared loss that of the moments.

    Raises:
        InvalidParameter: nothing valid is known of the errors of such a fit, or it selects nothing.
    """
    asked: Solver | str = model.solver
    if model.selection is None:
        return asked
    by_moments, untold = isinstance(loss, Squared) and asked == "auto", inference_share(model.inference) is False
    fault = remedy = ""
    if not is_l1(*shape):
        fault = "has neither an l1 set nor an l1 penalty, and so selects nothing"
        remedy = "Pass constraint=hb.L1Ball(1.0) or penalty=hb.L1Penalty(0.01)"
    elif not isinstance(loss, SMOOTH):
        fault = f"has the loss {loss.name!r}, whose sampling errors no release tells"
        remedy = "Use hb.Lasso, or a logistic, Huber or Poisson loss"
    elif untold and name_of(asked) != "moments" and not by_moments:
        fault = "leaves inference out, so that the release would not tell how far coefficients are from the truth"
        remedy = "Pass inference=True"
    if fault:
        raise InvalidParameter(
            f"selection={model.selection!r} was asked of a {type(model).__name__} that {fault}; nothing was charged or read. {remedy}, or leave selection out."
        )
    return "moments" if by_moments and untold else asked


def tested(encoding: Encoding, basis: Array) -> Array:
    """The functions of one target's coefficients that are tested, (slopes, p): each slope; of levels that always add up to the constant
    each less their mean, as what they share cannot be told from the intercept.
    """
    kept = (basis**2).sum(axis=1) > 0.0
    functions, shared = np.eye(kept.size - encoding.facts.intercept, kept.size), constants(encoding, kept)
    for block in shared[int(encoding.facts.intercept) :] if len(shared) > 1 else ():
        levels = np.where(kept, block, 0.0)
        functions[levels[: len(functions)] > 0.0] -= levels / levels.sum()
    return functions


def asked_of(model: FittedModel) -> FittedModel:
    """What is tested: the coefficients of an elastic net's quadratic part alone, of other sets and penalties the unpenalised ones."""
    square = model.penalty.weights[1] if isinstance(model.penalty, ElasticNetPenalty) else 0.0
    return replace(model, penalty=SquaredL2Penalty(square)) if square else model


def selected(model: FittedModel, rule: SelectionRule) -> Release:
    """The release with what the rule does not keep at 0; as it is where it tells no errors.

    From moments, the others are those of the same set or penalty on the columns kept, as of a refit. Of another solver they stay as released, and the
    intercept takes over what the columns left out add to predictions on average.
    """
    release = model.release
    known = inference(asked_of(model))
    if not known.told:
        return release
    found = [tell(model, told, tested(model.encoding, told.basis), 0.95) for told in known.told]
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.stack([one.estimate / np.hypot(one.sampling_error, one.privacy_error) for one in found], axis=1)
    z[np.isnan(np.stack([one.low for one in found], axis=1))] = np.nan  # what is not told is not selected
    keep = rule.keeps(z)
    again = isinstance(model.loss, Squared) and release.moments is not None
    again &= "refit" in release.plan or release.plan["solver"] == "moments"
    of_target = _solved if again else _zeroed
    theta = np.column_stack([of_target(model, keep[:, k], k) for k in range(keep.shape[1])])
    told = {"rule": rule.name, "level": rule.level, "tested": keep.size, "selected": int(keep.sum())}
    return replace(release, theta=theta, plan={**release.plan, "selection": told})


def _solved(model: FittedModel, keep: npt.NDArray[np.bool_], target: int) -> Array:
    """The optimum on the columns kept, by the released moments and the rule of the fit, held up by the private constant as far as the release is."""
    facts = model.encoding.facts
    places, theta = [*np.flatnonzero(keep), *([facts.width - 1] * facts.intercept)], np.zeros(facts.width)
    if places:
        held = replace(model, constraint=model.constraint if keep.any() else None)
        theta[places] = solved(held, places, [target]).theta[:, 0]
    return pulled(theta, model.release.trace)


def _zeroed(model: FittedModel, keep: npt.NDArray[np.bool_], target: int) -> Array:
    """The released coefficients of the columns kept."""
    theta, scores = model.release.theta[:, target].copy(), model.release.scores
    dropped = np.where(keep, 0.0, theta[: keep.size])
    theta[: keep.size] -= dropped
    if model.encoding.facts.intercept and scores:
        theta[-1] += dropped @ scores[target].centre
    return theta


def in_words(model: FittedModel) -> str:
    """What the zeros of a fit over an l1 set or with an l1 penalty mean; "" for any other."""
    told = model.release.plan.get("selection")
    if told is None:
        unasked = "Which coefficients are not 0 is no finding: no rule of false selections was applied, as selection='fdr' does."
        return unasked if is_l1(model.constraint, model.penalty) and model.release.statement.budget.is_private else ""
    where = "the population" if asked_of(model) is model else "the population's optimum of the penalty's quadratic part"
    what = {
        "fdr": "the false discovery rule of Benjamini and Hochberg: of those selected at most {0:.3g} % are expected to be 0 in {1}",
        "bound": "Bonferroni's bound: the chance that any of those selected is 0 in {1} is at most {0:.3g} %",
    }[told["rule"]].format(100.0 * told["level"], where)
    return f"Of {told['tested']} coefficients {told['selected']} are selected by {what}; the others are set to 0."
