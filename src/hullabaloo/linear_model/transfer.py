"""From a private release to plain scikit-learn objects."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline

from hullabaloo.data import Encoding

Array = npt.NDArray[np.float64]


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
        """Encoded rows without the intercept column; an exposure's logarithm is a column of its own, the last."""
        encoding = self.encoding
        rows = encoding.features(X)
        rows = rows[:, :-1] if encoding.facts.intercept else rows
        if encoding.offset is None or encoding.offset.exposure is None:
            return rows
        return np.column_stack([rows, encoding.predictions(X, np.zeros((encoding.facts.width, 1)))])


def to_sklearn(encoding: Encoding, theta: Array, linear: Callable[[Array, Array], Any]) -> Pipeline:
    """A fitted pipeline with the predictions of θ, (p, k); its parameters are the released numbers and nothing else.

    `linear` makes a fitted scikit-learn estimator of encoded rows from coefficients, (k, q), and intercepts, (k,).
    """
    weights, shift = (theta * encoding.target_scale).T, encoding.prediction_offset
    coef = weights[:, :-1] if encoding.facts.intercept else weights
    intercept = shift + (weights[:, -1] if encoding.facts.intercept else 0.0)
    if encoding.offset is not None and encoding.offset.exposure is None:
        intercept = intercept - encoding.offset.centre
    elif encoding.offset is not None:
        coef = np.column_stack([coef, np.ones(len(coef))])
    plain = linear(np.ascontiguousarray(coef), np.asarray(intercept, dtype=np.float64))
    plain.n_features_in_ = coef.shape[1]
    return Pipeline([("domain", DomainEncoder(encoding)), ("model", plain)])
