"""scikit-learn's model of several classes, each against the rest, with released coefficients; imported where one is exported."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import LabelBinarizer

from hullabaloo.linear_model.shared import probabilities_apart
from hullabaloo.losses.base import Array


class PlainOneVsRest(OneVsRestClassifier):  # type: ignore[misc]  # scikit-learn has no types
    """scikit-learn's one-vs-rest, whose own probabilities are divided by their sum, with those of `LogisticClassifier`."""

    def predict_proba(self, X: Any) -> Array:
        """As `LogisticClassifier.predict_proba`."""
        return probabilities_apart(np.asarray(self.decision_function(X), dtype=np.float64))


def holding(plain: Any, classes: Any, coef: Array, intercept: Array) -> Any:
    """A classifier of scikit-learn's as if it had been fitted to these."""
    plain.classes_, plain.coef_, plain.intercept_, plain.n_features_in_ = classes, coef, intercept, coef.shape[1]
    return plain


def one_vs_rest(one: Any, classes: Any, coef: Array, intercept: Array) -> PlainOneVsRest:
    """scikit-learn's one-vs-rest of classifiers like `one`, with coefficients (k, q) and intercepts (k,)."""
    plain, either = PlainOneVsRest(one), np.array([0, 1])
    plain.estimators_ = [holding(clone(one), either, *at) for at in zip(coef[:, None], intercept[:, None], strict=True)]
    plain.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(classes)
    plain.classes_ = plain.label_binarizer_.classes_
    return plain
