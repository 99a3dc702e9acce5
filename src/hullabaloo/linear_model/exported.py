"""scikit-learn's model of several classes, each against the rest, with released coefficients; imported where one is exported."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import LabelBinarizer

from hullabaloo.linear_model.classification import probabilities_apart
from hullabaloo.losses.base import Array


class PlainOneVsRest(OneVsRestClassifier):  # type: ignore[misc]  # scikit-learn has no types
    """scikit-learn's one-vs-rest, whose own probabilities are divided by their sum, with those of `LogisticClassifier`."""

    def predict_proba(self, X: Any) -> Array:
        """As `LogisticClassifier.predict_proba`."""
        return probabilities_apart(np.asarray(self.decision_function(X), dtype=np.float64))


def one_vs_rest(one: Any, coef: Array, intercept: Array, classes: npt.NDArray[Any]) -> PlainOneVsRest:
    """scikit-learn's one-vs-rest of classifiers like `one`, with coefficients (k, q) and intercepts (k,)."""
    plain = PlainOneVsRest(one)
    plain.estimators_ = []
    for row, constant in zip(coef, intercept, strict=True):
        single = clone(one)
        single.classes_, single.coef_, single.intercept_ = np.array([0, 1]), row[None, :], np.array([constant])
        single.n_features_in_ = coef.shape[1]
        plain.estimators_.append(single)
    plain.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(classes)
    plain.classes_ = plain.label_binarizer_.classes_
    return plain
