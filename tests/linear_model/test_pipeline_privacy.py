"""Row-wise steps leave no trace of records: no warning, no error, no special case for a table without rows."""

from typing import Any

import numpy as np
import pytest
from sklearn.preprocessing import Binarizer, FunctionTransformer, Normalizer, PolynomialFeatures

import hullabaloo as hb
from hullabaloo.data import open_table
from hullabaloo.errors import InvalidParameter
from hullabaloo.linear_model.pipeline import RowWise

STEPS = [
    PolynomialFeatures(2),
    Normalizer(),
    Binarizer(),
    FunctionTransformer(np.log, validate=True),
    FunctionTransformer(np.sqrt, inverse_func=np.square, check_inverse=True),
]


def model() -> hb.LinearRegression:
    domain = hb.Domain(row_norm=1.0, target=(0, 1), records=10)
    return hb.LinearRegression(budget=hb.Budget(1.0, 1e-6), domain=domain, solver="moments", neighbours="add-or-remove")


@pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
@pytest.mark.parametrize("X", [np.empty((0, 2)), np.ones((1, 2)), np.array([[-4.0, np.nan], [np.inf, 1e308]])])
def test_neither_values_nor_the_number_of_rows_decide_the_outcome(step: Any, X: np.ndarray) -> None:
    """pytest turns warnings into errors: the check of an inverse would warn about -4."""
    fitted = hb.private_pipeline(step, model()).fit(X, np.zeros(len(X)))
    assert np.isfinite(fitted.model.coef_).all()


@pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
def test_a_row_is_transformed_alone(step: Any) -> None:
    rows = np.random.default_rng(0).uniform(0.1, 3.0, (23, 2))
    whole = RowWise(open_table(rows), (step,))
    together = whole.numbers(range(whole.schema.width))
    for i in range(len(rows)):
        alone = RowWise(open_table(rows[i : i + 1]), (step,))
        assert alone.numbers(range(alone.schema.width)).tobytes() == together[i : i + 1].tobytes()


def test_subclasses_and_arguments_that_may_hold_records_are_refused() -> None:
    class Learns(PolynomialFeatures):
        def fit_transform(self, X: Any, y: Any = None) -> Any:
            return X - X.mean(0)

    with pytest.raises(InvalidParameter, match="Learns was refused"):
        hb.private_pipeline(Learns(), model())
    with pytest.raises(InvalidParameter, match="kw_args"):
        hb.private_pipeline(FunctionTransformer(np.log, kw_args={"where": np.array([[True]])}), model())
