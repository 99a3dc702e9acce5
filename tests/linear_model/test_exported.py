"""A model of classes apart, as scikit-learn's: made of released numbers, and kept by pickle as scikit-learn's models are."""

import pickle

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression

from hullabaloo.linear_model.exported import one_vs_rest
from hullabaloo.linear_model.shared import probabilities_apart


def test_classes_apart_decide_and_predict_by_the_coefficients_that_they_are_given() -> None:
    rng = np.random.default_rng(3)
    coef, intercept, X = rng.normal(size=(3, 2)), rng.normal(size=3), rng.normal(size=(50, 2))
    classes = np.array(["a", "b", "c"])
    made = one_vs_rest(LogisticRegression(), classes, coef, intercept)
    for plain in (made, pickle.loads(pickle.dumps(made))):
        decisions = X @ coef.T + intercept
        assert is_classifier(plain)
        assert plain.decision_function(X) == pytest.approx(decisions)
        assert plain.predict(X).tolist() == classes[np.argmax(decisions, axis=1)].tolist()
        assert plain.predict_proba(X) == pytest.approx(probabilities_apart(decisions))
