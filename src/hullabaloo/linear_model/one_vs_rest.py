"""Logistic models of classes, each learned against the rest: their probabilities, and scikit-learn's equal of them."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.linear_model import LogisticRegression as PlainLogistic

from hullabaloo.linear_model.classification import PrivateClassifier

Array = npt.NDArray[np.float64]


def probabilities_apart(values: Array) -> Array:
    """(n, k) probabilities of k ≥ 2 classes from decisions, (n, 1) for two; of more, each class's own, brought to sum 1."""
    if values.shape[1] == 1:
        return np.column_stack([expit(-values[:, 0]), expit(values[:, 0])])
    apart = expit(values)
    return np.asarray(apart / np.maximum(apart.sum(axis=1, keepdims=True), 1e-300), dtype=np.float64)


def plain_logistic(model: PrivateClassifier, coef: Array, intercept: Array, *, together: bool = False) -> Any:
    """A fitted scikit-learn classifier with these coefficients, (k, q) and (k,); `together` where they are multinomial."""
    plain = PlainLogistic(fit_intercept=model.encoding_.facts.intercept)
    if coef.shape[0] > 1 and not together:
        from sklearn.multiclass import OneVsRestClassifier

        return _apart(OneVsRestClassifier(plain), coef, intercept, model.classes_)
    plain.classes_, plain.coef_, plain.intercept_ = model.classes_, coef, intercept
    return plain


def _apart(plain: Any, coef: Array, intercept: Array, classes: npt.NDArray[Any]) -> Any:
    """scikit-learn's one-vs-rest with these coefficients."""
    from sklearn.base import clone
    from sklearn.preprocessing import LabelBinarizer

    plain.estimators_ = []
    for row, constant in zip(coef, intercept, strict=True):
        one = clone(plain.estimator)
        one.classes_, one.coef_, one.intercept_ = np.array([0, 1]), row[None, :], np.array([constant])
        one.n_features_in_ = coef.shape[1]
        plain.estimators_.append(one)
    plain.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(classes)
    plain.classes_ = plain.label_binarizer_.classes_
    return plain
