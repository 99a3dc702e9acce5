"""One record's prediction is that of a table of one row, bit for bit, whatever the record holds."""

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.data.records import RecordTable, table_of
from hullabaloo.streaming.model import encoder_of

FEATURES: dict[str, Any] = {
    "age": (17, 90),
    "pay": hb.Numeric(0, 1e5, transform="log1p", fill=100.0),
    "job": hb.Categorical(["clerk", "nurse", "cook"], baseline="clerk"),
    "flag": hb.Categorical([True, False], indicator=False),
    "size": hb.Numeric(1, 9, transform="sqrt", indicator=False),
}
DOMAINS = {
    "plain": {"features": FEATURES},
    "interactions": {"features": FEATURES, "interactions": [("age", "job"), ("age", "size"), ("job", "flag")]},
    "clipped": {"features": FEATURES, "row_norm": ("l1", 1.5), "interactions": [("pay", "size")]},
    "without indicators": {"features": FEATURES, "indicators": False},
    "one": {"features": {"age": (17, 90)}},
    "levels only": {"features": {"job": FEATURES["job"]}},
    "prepared": {"row_norm": 2.0},
}
CELLS = [
    17, 90.5, -3, 1e9, 0.0, -0.0, math.nan, math.inf, -math.inf, None, "", "44", " 1e2 ", "n/a", "clerk", "nurse", " cook ", "chef",
    True, False, "true", "0", 1, np.float32(3.3), np.int8(4), np.bool_(False), Decimal("12.75"), Decimal("NaN"), 10**400, b"nurse",
    object(), [1, 2], {"a": 1}, pd.NA, pd.NaT, np.array(3.0), complex(1, 1),
]  # fmt: skip


@pytest.mark.few(6)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", DOMAINS)
def test_one_record_is_predicted_as_a_table_of_one_row(name: str, intercept: bool) -> None:
    domain = hb.Domain(**DOMAINS[name], target={"u": (0, 1), "v": (-3, 9)})
    names = None if domain.features else ["age", "pay", "size"]
    encoding = domain.encoding(names, fit_intercept=intercept)
    rng = np.random.default_rng(3)
    theta = rng.normal(size=(encoding.facts.width, 2))
    encoded = encoder_of(encoding)
    columns = encoding.feature_names_in
    assert columns is not None
    for number in range(300):
        cells = tuple(CELLS[i] for i in rng.integers(len(CELLS), size=len(columns)))
        if number >= 200:
            cells = tuple(float(value) for value in rng.uniform(-10, 100, size=len(columns)))
        record = dict(zip(columns, cells, strict=True))
        absent = columns[int(rng.integers(len(columns)))]
        if number % 3 == 0:
            record.pop(absent)
        row = RecordTable([[record.get(column)] for column in columns], columns, 1)
        expected = encoding.predictions(row, theta)[0]
        assert np.array_equal((encoded({**record, "unknown": 7}) @ theta)[0], expected)
        assert np.isfinite(expected).all()


def test_plain_numbers_are_read_as_every_cell_is() -> None:
    cells = [1, 2.5, True, np.float64(3.25), 10**300, -0.0, math.nan, math.inf]
    mixed = [*cells, "7"]
    fast = RecordTable([cells], None, len(cells)).numbers([0])[:, 0]
    slow = RecordTable([mixed], None, len(mixed)).numbers([0])[:-1, 0]
    assert np.array_equal(fast, slow, equal_nan=True)
    huge = RecordTable([[1.0, 10**400, -(10**400)]], None, 3).numbers([0])[:, 0]
    assert huge.tolist() == [1.0, math.inf, -math.inf]


def test_an_empty_table_keeps_its_columns() -> None:
    table = table_of([], ("a", "b"), 2)
    assert table.schema.width == 2
    assert table.numbers([0, 1]).shape == (0, 2)
