"""scikit-learn's own estimator checks, without noise and with it; every expected deviation has its reason."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import check_regressors_train, estimator_checks_generator

import hullabaloo as hb
from hullabaloo.linear_model import ESTIMATORS
from hullabaloo.noise import TestKey
from tests.linear_model.examples import CLASSIFIERS, LEAST_SQUARES
from tests.sampling import sampled

pytestmark = pytest.mark.filterwarnings("ignore:score compares predictions:hullabaloo.errors.NotPrivateWarning")

KEY = TestKey(bytes(range(32)))
PREPARED: dict[str, Any] = {"row_norm": 5.0, "weight": ("weight", 10.0)}
NUMBERS = hb.Domain(**PREPARED, target=(-3, 3))
COUNTS = hb.Domain(**PREPARED, target=(0, 10))
LABELS = [hb.Domain(**PREPARED, classes=classes) for classes in ([0, 1], [0, 1, 2, 3])]


SEPARATING = [name for name in CLASSIFIERS if name != "StructuredSparseClassifier"]  # whose default is a ball


def estimators(budget: hb.Budget, *, named: bool = False) -> list[BaseEstimator]:
    """Each estimator on prepared matrices: the checks make up tables of any width. Classifiers of two and of four classes.

    Where solvers are named, no planner looks for one at every fit of a check.
    """
    made = []
    for name in ESTIMATORS:
        domains = LABELS if name in CLASSIFIERS else [COUNTS if name == "PoissonRegressor" else NUMBERS]
        more = {"penalty": hb.SquaredL2Penalty(0.001)} if name in SEPARATING else {}  # fifteen records are separable
        if named:
            more["solver"] = "moments" if name in LEAST_SQUARES else "gradient"
            more |= {"multi_class": "one-vs-rest"} if name == "LogisticRegression" else {}
        made += [getattr(hb, name)(budget=budget, domain=domain, test_key=KEY, **more) for domain in domains]
    return made


VALUES = "faults of values never raise: an error would reveal that some record holds one"
EXPECTED: dict[str, str] = {
    "check_dtype_object": VALUES,
    "check_supervised_y_no_nan": VALUES,
    "check_all_zero_sample_weights_error": VALUES,
}
NOISE = "R² above 0.5 is asked of 200 records at epsilon 1, where the noise of ten columns exceeds the signal"
WEIGHTS = "means divide by the public number of records, never by the private sum of weights, so a penalty weighs more"
DECLARED = (
    "one estimator is fitted to two classes and to three; classes are declared, and those declared are the model's"
)
LISTS = "a list of rows declares no width, and neither does a domain of prepared matrices: counting a row's cells would tell of it"
RANKS = "one estimator of four classes is asked for the decisions of two"
FOUR = "four classes are asked for of one estimator of two"
LOOSE = "fifteen records determine no single optimum of ten columns without a penalty"
PENALISED = ("Ridge", "ElasticNet", *SEPARATING)
LOGISTIC = ("LogisticRegression", "StructuredSparseClassifier")
UNDETERMINED = ("QuantileRegressor",)


def expected(estimator: Any) -> dict[str, str]:
    name = type(estimator).__name__
    checks = dict(EXPECTED)
    if name in CLASSIFIERS:
        checks["check_classifiers_regression_target"] = VALUES
        checks["check_classifiers_classes"] = checks["check_classifiers_train"] = DECLARED
    else:
        checks["check_regressors_train"] = NOISE if estimator.budget.is_private else LISTS
    if name in LOGISTIC and len(estimator.domain.targets[0].classes) > 2:
        checks["check_decision_proba_consistency"] = RANKS
    elif name in LOGISTIC:
        checks["check_estimator_sparse_array"] = checks["check_estimator_sparse_matrix"] = FOUR
    if name in PENALISED or name in UNDETERMINED:
        reason = WEIGHTS if name in PENALISED else LOOSE
        checks["check_sample_weight_equivalence_on_dense_data"] = reason
        checks["check_sample_weight_equivalence_on_sparse_data"] = reason
    return checks


# Two tables of different public sizes get different noise, and what a model of ten records predicts under noise is chance.
NOT_UNDER_NOISE = {
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_classifiers_one_label",
}
PRIVATE = hb.Budget(1.0, 1e-6)


DEAR = ("check_sample_weight_equivalence_on_sparse_data", "check_classifiers_one_label_sample_weights")
"""Checks that take seconds; of the first, that of dense data says the same."""


def checks(made: list[BaseEstimator]) -> list[Any]:
    """A case for each estimator and check; under noise, those of `NOT_UNDER_NOISE` apart."""
    cases = []
    for estimator in made:
        failing = expected(estimator)
        for number, (asked, check) in enumerate(estimator_checks_generator(estimator)):
            name = name_of(check)
            if estimator.budget.is_private and name in NOT_UNDER_NOISE:
                continue
            marks = [pytest.mark.xfail(reason=failing[name], strict=True)] if name in failing else []
            marks += [pytest.mark.slow] * (name in DEAR)
            cases.append(pytest.param(asked, check, marks=marks, id=f"{type(estimator).__name__}-{number}-{name}"))
    return cases


def name_of(check: Any) -> str:
    return str(check.func.__name__ if isinstance(check, partial) else check.__name__)


def of_check(case: Any) -> str:
    """Each check is made of one estimator without noise and of another with it every time, of the others in the long tests."""
    return name_of(case.values[1])


@pytest.mark.few(14)
@sampled("estimator, check", checks(estimators(hb.Budget(math.inf))), of_check)
def test_without_noise(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.few(14)
@sampled("estimator, check", checks(estimators(PRIVATE, named=True)), of_check)
def test_with_noise_under_a_test_key(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "check"), checks(estimators(PRIVATE)))
def test_with_noise_and_a_planner(estimator: Any, check: Any) -> None:
    check(estimator)


REGRESSORS = [one for one in estimators(hb.Budget(math.inf)) if type(one).__name__ not in CLASSIFIERS]


@pytest.mark.parametrize("estimator", REGRESSORS, ids=lambda estimator: type(estimator).__name__)
def test_regressors_learn_where_rows_are_arrays(estimator: Any) -> None:
    """scikit-learn's check, its rows as arrays of a shape; its targets stay lists."""

    class OfArrays(type(estimator)):  # type: ignore[misc]
        def fit(self, X: Any, y: Any) -> Any:
            return super().fit(np.asarray(X), y)

    check_regressors_train(type(estimator).__name__, OfArrays(**estimator.get_params(deep=False)))


def test_the_checks_run_on_every_estimator() -> None:
    assert {type(e).__name__ for e in estimators(hb.Budget(math.inf))} == set(ESTIMATORS)
