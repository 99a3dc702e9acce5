"""Parameters are declared once, as fields: what `__init__` takes, stores and shows follows from the class."""

import inspect
from typing import Any

import pytest
from sklearn.base import clone

import hullabaloo as hb
from hullabaloo import linear_model, streaming
from hullabaloo.linear_model.regression import LeastSquares

CLASSES = [
    *(getattr(linear_model, name) for name in linear_model.ESTIMATORS),
    streaming.IncrementalRegression,
    streaming.SketchedRegression,
    hb.PrivateSearchCV,
]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_what_is_declared_is_taken_stored_and_cloned(kind: Any) -> None:
    parameters = inspect.signature(kind).parameters
    assert set(kind().get_params(deep=False)) == set(parameters)
    given = {name: object() for name in parameters}
    made = kind(**given)
    assert all(getattr(made, name) is value for name, value in given.items()), "stored untouched"
    assert all(value == parameters[name].default for name, value in kind().get_params(deep=False).items())
    by_position = [name for name, one in parameters.items() if one.kind is not one.KEYWORD_ONLY]
    assert by_position == (["estimator", "candidates"] if kind is hb.PrivateSearchCV else [])
    assert set(parameters) == set(clone(kind()).get_params(deep=False))
    with pytest.raises(TypeError, match="nosuch"):
        kind(nosuch=1)


def test_a_class_of_a_users_own_declares_more_or_writes_its_own() -> None:
    class Declared(LeastSquares):
        threshold: float = 0.5

    class Written(LeastSquares):
        def __init__(self, *, budget: Any = None) -> None:
            self.budget = budget

    class Inherits(Written):
        pass

    assert {*inspect.signature(Declared).parameters} == {*inspect.signature(hb.Lasso).parameters, "threshold"}
    assert [*inspect.signature(Inherits).parameters] == ["budget"], "an __init__ that was written is not replaced"
