"""What private logistic models share: probabilities of classes learned together or apart, and scikit-learn's equal of the model."""

from abc import ABC
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression as PlainLogistic

from hullabaloo.data import Encoding
from hullabaloo.linear_model.classification import PrivateClassifier
from hullabaloo.losses import AnyLoss, Logistic, MultinomialLogistic

Array = npt.NDArray[np.float64]


class LogisticClassifier(PrivateClassifier, ABC):
    """A private classifier that gives probabilities; classes are learned together where `_multinomial` says so, else each against the rest."""

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, (n, k), in the order of `classes_`."""
        values = self._linear(X)
        if values.shape[1] > 1 and self._multinomial():
            return np.asarray(softmax(values, axis=1), dtype=np.float64)
        return probabilities_apart(values)

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of `predict_proba`."""
        return np.log(np.maximum(self.predict_proba(X), 1e-300))

    def _multinomial(self) -> bool:
        return False

    def _loss(self, encoding: Encoding) -> AnyLoss:
        together = self._multinomial()
        return MultinomialLogistic() if self._columns(encoding) > 1 and together else Logistic()

    def _unit(self) -> str:
        return "the log-odds" if not self._multinomial() or len(self.classes_) == 2 else "the log-probability"

    def _plain(self, coef: Array, intercept: Array) -> Any:
        plain = PlainLogistic(fit_intercept=self.encoding_.facts.intercept)
        if coef.shape[0] > 1 and not self._multinomial():
            from sklearn.multiclass import OneVsRestClassifier

            return _apart(OneVsRestClassifier(plain), coef, intercept, self.classes_)
        plain.classes_, plain.coef_, plain.intercept_ = self.classes_, coef, intercept
        return plain


def probabilities_apart(values: Array) -> Array:
    """(n, k) probabilities of k ≥ 2 classes from decisions, (n, 1) for two; of more, each class's own, brought to sum 1."""
    if values.shape[1] == 1:
        return np.column_stack([expit(-values[:, 0]), expit(values[:, 0])])
    apart = expit(values)
    return np.asarray(apart / np.maximum(apart.sum(axis=1, keepdims=True), 1e-300), dtype=np.float64)


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
