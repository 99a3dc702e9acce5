"""Counts and their exposures: scaled by the declared upper bound, an offset of its own, row by row and whatever cells hold."""

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hullabaloo.data import Domain, Numeric, TargetScale
from hullabaloo.data.encoding import Encoding
from hullabaloo.errors import DomainError

FEATURES: dict[str, Any] = {"age": (0, 10), "time": (0.5, 8.0), "job": ["a", "b"]}
DOMAIN = Domain(features=FEATURES, target={"events": (0, 20)}, indicators=False)
COUNTS = {"scale": TargetScale.NONNEGATIVE, "exposure": "time"}
TABLE = pd.DataFrame(
    {
        "age": [1.0, 9.0, 5.0, 2.0],
        "time": [1.0, 100.0, np.nan, 0.1],
        "job": ["a", "b", "b", "a"],
        "events": [5, 50, -3, 20],
    }
)


def encoding(**more: Any) -> Encoding:
    return DOMAIN.encoding(**{**COUNTS, **more})


def test_counts_are_divided_by_their_upper_bound() -> None:
    for intercept in (True, False):
        rows = encoding(fit_intercept=intercept).encode(TABLE)
        assert rows.Y[:, 0].tolist() == [0.25, 1.0, 0.0, 1.0]
    least = Domain(features={"a": (0, 1)}, target=(4, 20)).encoding(scale=TargetScale.NONNEGATIVE)
    assert least.encode(np.zeros((3, 1)), [0, 10, None]).Y[:, 0].tolist() == [0.2, 0.5, 0.6]


def test_the_exposure_is_no_column_and_costs_no_norm() -> None:
    facts = encoding().facts
    assert facts.columns == ("age", "job=a", "job=b", "(intercept)")
    assert facts.norm_l2 == pytest.approx(math.sqrt(3.0))
    assert facts.norm_l1 == 3.0
    assert encoding().n_features_in == 3
    plain = DOMAIN.encoding(scale=TargetScale.NONNEGATIVE).facts
    assert (plain.norm_l2, plain.offset_bound) == (2.0, 0.0)


def test_offsets_are_as_small_as_the_intercept_allows() -> None:
    """log e around the middle of its bounds; missing is the middle, beyond the bounds is the bound."""
    offset = encoding().encode(TABLE).offset
    assert offset is not None
    middle = math.sqrt(0.5 * 8.0)
    assert offset == pytest.approx(np.log(np.array([1.0, 8.0, middle, 0.5]) / middle))
    assert encoding().facts.offset_bound == pytest.approx(math.log(4.0))
    assert np.max(np.abs(offset)) <= encoding().facts.offset_bound
    filled = Domain(features={**FEATURES, "time": Numeric(0.5, 8.0, fill=1.0)}, target={"events": (0, 20)})
    assert filled.encoding(**COUNTS).encode(TABLE).offset[2] == pytest.approx(math.log(1.0 / middle))  # type: ignore[index]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("exposed", ["time", None])
def test_predictions_and_the_users_coefficients_mean_the_same(intercept: bool, exposed: str | None) -> None:
    """e·exp(⟨coef, u⟩ + intercept), u the columns in the user's units, is hi·exp(z) of the encoded row."""
    made = encoding(fit_intercept=intercept, exposure=exposed)
    theta = np.random.default_rng(0).normal(size=(made.facts.width, 1))
    coef, constant = made.coefficients_to_user(theta)
    rows = TABLE.iloc[[0]]
    user = [1.0, 1.0, 1.0, 0.0] if exposed is None else [1.0, 1.0, 0.0]  # age, (time,) job=a, job=b
    mean = (1.0 if exposed is None else rows["time"].iloc[0]) * np.exp(coef[0] @ np.array(user) + constant[0])
    encoded = made.encode(rows)
    z = encoded.X @ theta + (0.0 if encoded.offset is None else encoded.offset[:, None])
    assert 20.0 * np.exp(z[0, 0]) == pytest.approx(mean)
    assert made.predictions(rows, theta) == pytest.approx(z)
    assert np.exp(z + made.prediction_offset)[0, 0] == pytest.approx(mean)
    if not intercept:
        assert constant[0] == 0.0


def test_predictions_need_no_count() -> None:
    made = encoding()
    theta = np.ones((made.facts.width, 1))
    assert made.predictions(TABLE.drop(columns="events"), theta).tobytes() == made.predictions(TABLE, theta).tobytes()


REFUSED = [
    ({"features": FEATURES, "target": (-1, 5)}, "never below 0"),
    ({"features": FEATURES, "classes": ["no", "yes"]}, "declares classes"),
    ({"features": {"age": (0, 1)}, "target": (0, 5)}, "'time', which the domain does not declare.*0 < lo"),
    ({"features": {"time": ["long", "short"]}, "target": (0, 5)}, "declares as Categorical"),
    ({"features": {"time": (0, 8)}, "target": (0, 5)}, r"declares as Numeric\(lo=0.*0 < lo"),
    (
        {"features": {"time": (1, 8), "a": (0, 1)}, "target": (0, 5), "interactions": [("a", "time")]},
        "leave the interaction",
    ),
    ({"features": {"time": (1, 8)}, "target": (0, 5), "transforms": {"time": "log"}}, "without a transform"),
    ({"row_norm": 1.0, "target": (0, 5)}, "does not declare"),
]


@pytest.mark.parametrize(("declared", "words"), REFUSED, ids=[words[:20] for _, words in REFUSED])
def test_what_cannot_be_an_exposure_or_a_count_is_refused(declared: dict[str, Any], words: str) -> None:
    with pytest.raises(DomainError, match=words):
        Domain(**declared).encoding(**COUNTS, n_features=None if "features" in declared else 2)


CELLS = [
    None,
    np.nan,
    np.inf,
    -np.inf,
    "n/a",
    "3",
    pd.NA,
    Decimal("sNaN"),
    10**5000,
    -1,
    0,
    object(),
    [1],
    1j,
    True,
    b"\xff",
]


@pytest.mark.parametrize("column", ["time", "events"])
def test_no_cell_raises_warns_or_touches_another_record(column: str) -> None:
    clean = pd.DataFrame({"age": [1.0] * 3, "time": [2.0] * 3, "job": ["a"] * 3, "events": [4] * 3}, dtype=object)
    made = DOMAIN.encoding_for(clean, **COUNTS)
    wanted = made.encode(clean)
    for cell in CELLS:
        faulty = clean.copy()
        faulty.at[1, column] = cell
        rows = DOMAIN.encoding_for(faulty, **COUNTS).encode(faulty)
        assert rows.offset is not None
        assert wanted.offset is not None
        assert np.all(np.abs(rows.offset) <= made.facts.offset_bound)
        assert np.all((rows.Y >= 0.0) & (rows.Y <= 1.0))
        for found, clear in ((rows.X, wanted.X), (rows.Y, wanted.Y), (rows.offset, wanted.offset)):
            assert found[[0, 2]].tobytes() == clear[[0, 2]].tobytes()


def test_an_offset_does_not_depend_on_where_its_record_stands() -> None:
    rng = np.random.default_rng(3)
    n = 1001
    frame = pd.DataFrame(
        {
            "age": rng.uniform(0, 10, n),
            "time": np.exp(rng.normal(size=n)),
            "job": ["a"] * n,
            "events": rng.integers(0, 9, n),
        }
    )
    order = rng.permutation(n)
    rows, moved = encoding().encode(frame), encoding().encode(frame.iloc[order])
    assert rows.offset is not None
    assert moved.offset is not None
    assert rows.offset[order].tobytes() == moved.offset.tobytes()
    assert rows.Y[order].tobytes() == moved.Y.tobytes()


def test_classes_are_encoded_in_their_natural_order() -> None:
    """The higher of two is +1, whatever the order of declaration; the fill is the class that was declared first."""
    two = Domain(row_norm=1.0, classes=["yes", "no"]).encoding(n_features=1)
    assert two.encode(np.zeros((3, 1)), ["yes", "no", "?"]).Y[:, 0].tolist() == [1, -1, 1]
    numbers = Domain(row_norm=1.0, classes={"g": [10, 9, 2]}).encoding(n_features=1)
    assert numbers.facts.targets == ("g=2", "g=9", "g=10")
    mixed = Domain(row_norm=1.0, classes=["b", 1]).encoding(n_features=1)
    assert mixed.encode(np.zeros((2, 1)), ["b", 1]).Y[:, 0].tolist() == [-1, 1]
