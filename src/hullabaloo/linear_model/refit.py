"""Further models from one release of noisy moments: post-processing, so they cost nothing more."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import clone

from hullabaloo.data import Encoding
from hullabaloo.data.reference import columns_of
from hullabaloo.errors import InvalidParameter, NotReleased
from hullabaloo.geometry import ConvexSet, Penalty
from hullabaloo.linear_model.regularisation import chosen
from hullabaloo.losses import Squared
from hullabaloo.privacy.answers import NoisyMoments
from hullabaloo.release.fit import check_dimension
from hullabaloo.solvers import Problem, solve_moments

if TYPE_CHECKING:
    from hullabaloo.linear_model.base import PrivateLinearModel

M = TypeVar("M", bound="PrivateLinearModel")


def refit(model: M, *, features: list[str] | None, constraint: ConvexSet | None, penalty: Penalty | None) -> M:
    """A sibling of `model` on some of its columns, or under another constraint or penalty."""
    moments, release, encoding = released_moments(model), model.release_, model.encoding_
    sibling: M = clone(model)
    if constraint is not None or penalty is not None:
        sibling.set_params(constraint=constraint, penalty=penalty)
    chosen_set, chosen_penalty = chosen(sibling, encoding)
    keep = kept_columns(encoding, features)
    facts = encoding.facts
    names = [facts.columns[place] for place in keep]
    check_dimension(chosen_set, chosen_penalty, names[:-1] if facts.intercept else names)
    problem = Problem(
        loss=model._loss(encoding),
        dimension=len(keep),
        intercept=facts.intercept,
        norm_l1=facts.norm_l1,
        norm_l2=facts.norm_l2,
        norm_linf=facts.norm_linf,
        targets=len(facts.targets),
        records=release.statement.records,
        neighbours=release.statement.neighbours,
        constraint=chosen_set,
        penalty=chosen_penalty,
    )
    solution = solve_moments(moments.subset(keep), problem)
    theta = np.zeros((facts.width, len(facts.targets)))
    theta[keep] = solution.theta
    sibling._adopt(
        replace(
            release,
            theta=theta,
            plan={**release.plan, "refit": {"features": features}},
            privacy_covariance=_spread(solution.privacy_covariance, keep, facts.width),
            sampling_covariance=_spread(solution.sampling_covariance, keep, facts.width),
            trace=solution.trace,
        ),
        encoding,
        hasattr(model, "feature_names_in_"),
    )
    return sibling


def released_moments(model: "PrivateLinearModel") -> NoisyMoments:
    """The moments of a fitted model's release, or a refusal that says what to do."""
    moments: NoisyMoments | None = model.release_.moments
    if not isinstance(model._loss(model.encoding_), Squared):
        raise NotReleased(
            f"A {type(model).__name__} cannot be computed from second moments, which is all that further models at no cost are "
            "computed from: its loss is not the squared one. Fit it again, within the budget; LinearRegression, Ridge, Lasso, "
            "ElasticNet, GroupLasso and StructuredSparseRegression with solver='moments' can be refitted."
        )
    if moments is None:
        raise NotReleased(
            f"This {type(model).__name__} was fitted by the solver {model.release_.plan['solver']!r}, whose release does "
            "not contain the noisy moments that other models are computed from. Fit with solver='moments'; one such "
            "release serves any number of models."
        )
    return moments


def kept_columns(encoding: Encoding, features: list[str] | None) -> list[int]:
    """Places of the encoded columns that belong to the named features, the intercept always among them."""
    facts = encoding.facts
    width = facts.width - (1 if facts.intercept else 0)
    if features is None:
        return list(range(facts.width))
    if isinstance(features, str):
        raise InvalidParameter(f"The features of a sub-model are a list of names, but the text {features!r} was given.")
    outside = [name for name in features if not columns_of(encoding, name)]
    if outside:
        raise InvalidParameter(
            f"The release has no feature {outside[0]!r}. A sub-model can use features that were in the fit: "
            f"{', '.join(encoding.feature_names_in or ())}; or single encoded columns: {', '.join(encoding.feature_names_out)}."
        )
    if not features and not facts.intercept:
        raise InvalidParameter(
            "A sub-model without features was asked of a fit without an intercept: nothing is left of it. Name at least one."
        )
    chosen = sorted({place for name in features for place in columns_of(encoding, name)})
    return [*chosen, *([width] if facts.intercept else [])]


def _spread(covariance: Any, keep: list[int], width: int) -> Any:
    if covariance is None:
        return None
    full = np.zeros((covariance.shape[0], width, width))
    full[np.ix_(range(covariance.shape[0]), keep, keep)] = covariance
    return full
