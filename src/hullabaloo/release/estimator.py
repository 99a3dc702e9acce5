"""scikit-learn's base of estimators: parameters are declared once, as fields, and shown without the passwords that one may hold."""

import inspect
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeVar, dataclass_transform

from sklearn.exceptions import DataConversionWarning

from hullabaloo.errors import UnknownParameter, without_passwords

if TYPE_CHECKING:  # scikit-learn publishes no types, and any keyword would do for a class with a base of no type

    class BaseEstimator:  # noqa: D101
        def __getattr__(self, name: str) -> Any: ...
        def __repr__(self, N_CHAR_MAX: int = 700) -> str: ...
        def __sklearn_tags__(self) -> Any: ...
        def set_params(self, **params: Any) -> Any: ...  # noqa: D102
        def _html_repr(self, *given: Any, **named: Any) -> str: ...

    class ClassifierMixin(BaseEstimator): ...  # noqa: D101

    class MultiOutputMixin(BaseEstimator): ...  # noqa: D101

    class RegressorMixin(BaseEstimator): ...  # noqa: D101
else:
    from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin  # noqa: F401


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
class Estimator(BaseEstimator):
    """An estimator whose words and pages repeat no password; its parameters stay as they were given.

    The annotated names of a class, and of the classes that it is derived from, are its parameters: `__init__` takes each by keyword and
    stores it untouched, as scikit-learn's `get_params`, `set_params` and `clone` ask. A class may write an `__init__` of its own.
    Where its description says "…: see `Family`.", `help()` shows what the description of that family says there.
    """

    key_label: ClassVar[str]
    """By which saved models, states' fingerprints and ledgers know the class. Frozen: under another they would not be found again."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        writer = next(kind for kind in cls.__mro__ if "__init__" in vars(kind))
        made = writer is object or getattr(vars(writer).get("__dataclass_params__"), "init", False)
        dataclass(kw_only=True, eq=False, repr=False, init=made)(cls)  # one that was written by hand is inherited
        if made:
            cls.__init__ = told(cls.__init__)  # type: ignore[method-assign]
        cls.__doc__ = inspect.cleandoc(cls.__doc__ or "")
        for kind in cls.__mro__[1:]:
            if found := re.search(rf"(?m)^.*: see `{kind.__name__}`\.", cls.__doc__):
                cls.__doc__ = cls.__doc__.replace(found[0], (inspect.getdoc(kind) or "").partition("\n\n")[2])

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return without_passwords(super().__repr__(N_CHAR_MAX))

    def _html_repr(self, *given: Any, **named: Any) -> str:
        return without_passwords(super()._html_repr(*given, **named))


P = ParamSpec("P")
R = TypeVar("R")
HABITS = {
    "epsilon eps delta mu rho": "a budget is one object, budget=hb.Budget(1.0, 1e-9) (the residual of hb.HuberRegressor is threshold=0.25)",
    "alpha C l1_ratio lambda_ reg": "a penalty is an object with its strength on the unit domain, such as penalty=hb.SquaredL2Penalty(0.001), hb.L1Penalty(0.01) or hb.ElasticNetPenalty(0.01, 0.5)",
    "max_iter n_iter epochs tol learning_rate batch_size eta0 warm_start": "steps follow from the budget; a solver with options of your own is passed as solver=hb.GradientSolver(...)",
    "random_state seed": "noise is never seeded; test_key=... is for tests, and marks the release as not private",
    "bounds bounds_X bounds_y data_norm": "bounds are declared, domain=hb.Domain(features={'age': (18, 90)}, target=(0, 1))",
    "budget domain": "it is the parameter of the estimator inside, such as hb.Ridge(domain=..., budget=...)",
    "class_weight": "weights are of records, fit(X, y, sample_weight), and their maximum is declared in the domain",
}
"""Parameters that other libraries' estimators have, and what is written here instead."""


def told(make: Callable[P, R], name: str = "") -> Callable[P, R]:
    """`__init__`, or a function of this name, that refuses what is no parameter with a sentence, as other libraries' habits are close at hand."""

    spec = inspect.getfullargspec(make)
    known = [one for one in (*spec.args, *spec.kwonlyargs) if one != "self"]
    needed = {*spec.kwonlyargs} - {*(spec.kwonlydefaults or ())}

    @wraps(make)
    def begin(*given: P.args, **named: P.kwargs) -> R:
        who = name or type(given[0]).__name__
        for one in named:
            if one not in known:
                habit = next((f": {said}" for words, said in HABITS.items() if one in words.split()), "")
                raise UnknownParameter(f"{who} has no parameter {one!r}{habit}. Its parameters: {', '.join(known)}.")
        if len(given) > len(spec.args):
            raise UnknownParameter(
                f"{who} takes its parameters by name, and got {len(given) - (not name)} without one. They are {', '.join(known)}."
            )
        if missing := sorted(needed - {*named}):
            raise UnknownParameter(f"{who} was not given {' and '.join(missing)}. Its parameters: {', '.join(known)}.")
        return make(*given, **named)

    return begin


def warn_of_column(targets: int, y: object, stacklevel: int) -> None:
    """Warn of a target that is a column where it could be a vector, as scikit-learn does; a table's shape is public."""
    if targets == 1 and getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:  # type: ignore[attr-defined]
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Its one column is the target.",
            DataConversionWarning,
            stacklevel=stacklevel,
        )
