"""Parameters are declared once, as fields: what `__init__` takes, stores and shows follows from the class."""

import inspect
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import hullabaloo as hb
from hullabaloo import linear_model, streaming
from hullabaloo.errors import HullabalooError
from hullabaloo.linear_model.regression import LeastSquares

CLASSES = [
    *(getattr(linear_model, name) for name in linear_model.ESTIMATORS),
    streaming.IncrementalRegression,
    streaming.SketchedRegression,
    hb.PrivateSearchCV,
]


@pytest.mark.few(8)
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


@pytest.mark.parametrize(
    ("kind", "given", "says"),
    [
        (hb.Ridge, {"alpha": 1.0}, r"no parameter 'alpha': .*penalty=hb\.SquaredL2Penalty\(0\.001\)"),
        (hb.LogisticRegression, {"C": 1.0}, r"penalty=hb\.SquaredL2Penalty"),
        (hb.Lasso, {"epsilon": 1.0}, r"budget=hb\.Budget\(1\.0, 1e-9\)"),
        (hb.HuberRegressor, {"epsilon": 1.35}, r"threshold=0\.25"),
        (hb.streaming.IncrementalRegression, {"max_iter": 100}, "steps follow from the budget"),
        (
            hb.streaming.PeriodicERM,
            {"estimator": hb.Ridge(), "budget": hb.Budget(1.0, 1e-9)},
            "parameter of the estimator inside",
        ),
        (hb.PrivateSearchCV, {"random_state": 0}, "noise is never seeded"),
        (hb.LinearSVC, {"nosuch": 0}, "has no parameter 'nosuch'. Its parameters: budget, domain"),
    ],
)
def test_habits_of_other_libraries_are_answered_with_what_to_write(kind: Any, given: dict[str, Any], says: str) -> None:
    with pytest.raises(HullabalooError, match=says):
        kind(**given)


def test_parameters_without_a_name_are_answered_with_a_sentence() -> None:
    with pytest.raises(HullabalooError, match="Lasso takes its parameters by name, and got 1 without one"):
        hb.Lasso(0.1)  # type: ignore[misc]


@pytest.mark.parametrize("who", ["plan", "streaming.plan"])
@pytest.mark.parametrize(
    ("given", "named", "says"),
    [
        (
            [],
            {"epsilon": 1.0},
            r"has no parameter 'epsilon': a budget is one object, budget=hb\.Budget.* Its parameters: ",
        ),
        ([], {"solver": "moments"}, "has no parameter 'solver'. Its parameters: "),
        ([hb.Ridge()], {}, "takes its parameters by name, and got 1 without one. They are "),
        ([], {"p": 3}, "was not given budget and (n|horizon). Its parameters: "),
    ],
)
def test_plans_are_asked_for_by_the_names_that_they_have(
    who: str, given: list[Any], named: dict[str, Any], says: str
) -> None:
    with pytest.raises(HullabalooError, match=rf"^hb\.{who} {says}") as told:
        attrgetter(who)(hb)(*given, **named)
    assert isinstance(told.value, TypeError)


def switches(made: object) -> list[str]:
    """Public methods that take a yes or no, with its name."""
    methods = [(name, getattr(type(made), name, None)) for name in dir(made) if not name.startswith("_")]
    return [
        f"{name} {one.name}"
        for name, method in methods
        if callable(method) and method.__module__.startswith("hullabaloo")
        for one in inspect.signature(method).parameters.values()
        if isinstance(one.default, bool)
    ]


@pytest.mark.parametrize("kind", ["estimator", "stream"])
def test_what_is_neither_yes_nor_no_is_refused(kind: str) -> None:
    """A text counted as True, so that clip="no" clipped and exponentiate="no" showed ratios."""
    X, y = np.full((40, 1), 0.5), np.full(40, 0.5)
    domain = hb.Domain(features={"a": (0, 1)}, target=(0, 1), indicators=False)
    common: dict[str, Any] = {"domain": domain, "budget": hb.Budget(1.0, 1e-6)}
    if kind == "stream":
        made: Any = hb.streaming.IncrementalRegression(horizon=40, every=40, **common).fit(X, y).model_at()
    else:
        made = hb.LinearRegression(solver="moments", **common).fit(X, y)
    positional = {"predict": [X], "contrast": [{"a": 1.0}]}
    found = [one.split() for one in switches(made)]
    assert {name for name, _ in found} >= {"predict", "summary", "tidy", "contrast"}
    for method, name in found:
        ask = partial(getattr(made, method), *positional.get(method, []))
        ask(**{name: np.False_})
        for value in ("no", 1, None):
            with pytest.raises(HullabalooError, match=f"parameter {name} is True or False, but {value!r} was given"):
                ask(**{name: value})


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
