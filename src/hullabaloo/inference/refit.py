"""Further models from one release of noisy moments: post-processing, so they cost nothing more."""

from dataclasses import replace

import numpy as np

from hullabaloo.data import Encoding, columns_of
from hullabaloo.errors import InvalidParameter, NotReleased
from hullabaloo.inference.fitted import FittedModel
from hullabaloo.losses import Squared
from hullabaloo.privacy.answers import NoisyMoments
from hullabaloo.release import Release
from hullabaloo.release.planned import check_dimension, check_matrix, problem_of
from hullabaloo.solvers import Solution, solve_moments
from hullabaloo.solvers.floored import pulled


def refit(model: FittedModel, features: list[str] | None = None) -> Release:
    """The release of a model of the same moments on some of the columns, held by this one's constraint and penalty, and by the private constant as far as this one is, unless the set holds no constant."""
    released_moments(model)
    release, encoding, body = model.release, model.encoding, model.constraint
    keep = kept_columns(encoding, features)
    facts = encoding.facts
    names = [facts.columns[place] for place in keep]
    slopes = names[:-1] if facts.intercept else names
    left = 0 if len(keep) == facts.width else 1  # of a matrix of slopes a part is none
    check_matrix(model.loss, (body, model.penalty), len(facts.targets), left or len(slopes))
    check_dimension(body, model.penalty, slopes)
    solution, held = solved(model, keep), tuple(line for line in release.trace if "held up" in line)
    if held and slopes and body is not None and not body.contains(np.zeros(len(slopes))):
        held = ()
    theta = np.zeros((facts.width, len(facts.targets)))
    theta[keep] = solution.theta
    scores = release.scores if features is None else ()  # of all columns
    lost = {} if release.score is None or features is None else {"errors of all columns": release.score.errors}
    unselected = {name: part for name, part in release.plan.items() if name != "selection"}
    return replace(
        release,
        theta=pulled(theta, held),
        plan=unselected | {"refit": {"features": features, **lost}},
        scores=scores,
        trace=(*solution.trace, *held),
    )


def solved(model: FittedModel, places: list[int], targets: list[int] | None = None) -> Solution:
    """Of the released moments of the columns at these places, by the rule of the fit; not yet held up."""
    problem = replace(problem_of(model, model.encoding, model.release.statement.records), dimension=len(places))
    above_mean = bool(model.release.plan["settings"].get("above_mean", False))
    return solve_moments(released_moments(model).subset(places, targets), problem, above_mean=above_mean)


def released_moments(model: FittedModel) -> NoisyMoments:
    """The moments of a fitted model's release, or a refusal that says what to do."""
    moments: NoisyMoments | None = model.release.moments
    if not isinstance(model.loss, Squared):
        raise NotReleased(
            f"A {model.name} cannot be computed from second moments, as its loss is not the squared one. Fit it again, within the budget; LinearRegression, Ridge, Lasso, ElasticNet, GroupLasso and StructuredSparseRegression with solver='moments' can be refitted."
        )
    if moments is None:
        raise NotReleased(
            f"The release of this {model.name} does not contain the noisy moments that other models are computed from: only solver='moments', asked for by name, always keeps them. Fit with solver='moments'; one such release serves any number of models."
        )
    return moments


def kept_columns(encoding: Encoding, features: list[str] | None) -> list[int]:
    """Places of the encoded columns that belong to the named features, the intercept always among them."""
    facts = encoding.facts
    if features is None:
        return list(range(facts.width))
    if isinstance(features, str):
        raise InvalidParameter(f"The features of a sub-model are a list of names, but the text {features!r} was given.")
    outside = [name for name in features if not columns_of(encoding, name)]
    if outside:
        raise InvalidParameter(
            f"The release has no feature {outside[0]!r}. A sub-model can use features that were in the fit: {', '.join(encoding.feature_names_in or ())}; or single encoded columns: {', '.join(encoding.feature_names_out)}."
        )
    if not features and not facts.intercept:
        raise InvalidParameter(
            "A sub-model without features was asked of a fit without an intercept: nothing is left of it. Name at least one."
        )
    chosen = sorted({place for name in features for place in columns_of(encoding, name)})
    return [*chosen, *([facts.width - 1] * facts.intercept)]
