"""From a private release to plain scikit-learn objects."""

from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline

from hullabaloo.data import Encoding

if TYPE_CHECKING:
    from hullabaloo.linear_model.base import PrivateLinearModel


class DomainEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """Rows to the unit domain by a declared encoding: a function of one row at a time, nothing is learned."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> "DomainEncoder":
        """Nothing to learn."""
        return self

    def transform(self, X: Any) -> Any:
        """Encoded rows without the intercept column."""
        rows = self.encoding.features(X)
        return rows[:, :-1] if self.encoding.facts.intercept else rows


def to_sklearn(model: "PrivateLinearModel") -> Pipeline:
    """A fitted pipeline with the same predictions; its parameters are the released numbers and nothing else."""
    encoding: Encoding = model.encoding_
    theta = model.release_.theta
    plain = LinearRegression(fit_intercept=encoding.facts.intercept)
    weights, shift = (theta * encoding.target_scale).T, encoding.target_offset
    coef = weights[:, :-1] if encoding.facts.intercept else weights
    intercept = shift + (weights[:, -1] if encoding.facts.intercept else 0.0)
    single = theta.shape[1] == 1
    plain.coef_ = coef[0] if single else coef
    plain.intercept_ = float(intercept[0]) if single else intercept
    plain.n_features_in_ = coef.shape[1]
    return Pipeline([("domain", DomainEncoder(encoding)), ("model", plain)])
