"""scikit-learn's own estimator checks, without noise and with it; every expected deviation has its reason."""

import math
from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import hullabaloo as hb
from hullabaloo.linear_model import ESTIMATORS
from hullabaloo.noise import TestKey

KEY = TestKey(bytes(range(32)))


def estimators(budget: hb.Budget) -> list[BaseEstimator]:
    """Each estimator on prepared matrices: the checks make up tables of any width."""
    domain = hb.Domain(row_norm=100.0, target=(-100, 100))
    return [getattr(hb, name)(budget=budget, domain=domain, test_key=KEY) for name in ESTIMATORS]


VALUES = "faults of values never raise: an error would reveal that some record holds one"
EXPECTED: dict[str, str] = {
    "check_estimators_nan_inf": VALUES,
}


def expected(estimator: Any) -> dict[str, str]:
    return EXPECTED


@parametrize_with_checks(estimators(hb.Budget(math.inf)), expected_failed_checks=expected, xfail_strict=True)
def test_without_noise(estimator: Any, check: Any) -> None:
    check(estimator)


@parametrize_with_checks(estimators(hb.Budget(1.0, 1e-6)), expected_failed_checks=expected, xfail_strict=True)
def test_with_noise_under_a_test_key(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_checks_run_on_every_estimator() -> None:
    assert {type(e).__name__ for e in estimators(hb.Budget(math.inf))} == set(ESTIMATORS)
    assert pytest is not None
