"""Columns that are encoded where they lie: the bits of rows encoded one by one."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from hullabaloo.data import Categorical, Domain, Numeric
from hullabaloo.data.columns import encoded_by_columns
from hullabaloo.data.readers.arrow import ArrowTable
from hullabaloo.data.readers.opening import open_table
from hullabaloo.data.table import TornTable

HOSTILE = [-0.0, 0.0, math.inf, -math.inf, math.nan, -math.nan, 5e-324, 1e308, -1e308, 2.0, math.nextafter(2.0, 3.0)]
NAMES = ["plain", "single", "whole", "nulls", "y", "w"]


def table() -> tuple[pa.Table, np.ndarray]:
    """A thousand hostile records, and the same as an array."""
    rng = np.random.default_rng(0)
    made = {
        name: np.where(rng.random(1_000) < 0.3, rng.choice(HOSTILE, 1_000), rng.normal(1, 2, 1_000)) for name in NAMES
    }
    with np.errstate(all="ignore"):
        made["single"], made["whole"] = made["single"].astype(np.float32), rng.integers(-5, 5, 1_000)
    null = np.arange(1_000) % 3 == 0
    arrow = pa.table({**made, "nulls": pa.array(made["nulls"], mask=null)})
    made["nulls"] = np.where(null, np.nan, made["nulls"])
    return arrow, np.rec.fromarrays(list(made.values()), names=NAMES)


@pytest.mark.parametrize("indicators", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("fill", [None, 0.7])
def test_columns_are_encoded_to_the_bits_of_rows(indicators: bool, intercept: bool, fill: float | None) -> None:
    features = {name: Numeric(0.5, 2.0, fill=fill) for name in NAMES[:4]}
    domain = Domain(features, indicators=indicators, target={"y": (-1, 2)}, weight=("w", 2), missing_target="drop")
    encoding = domain.encoding(fit_intercept=intercept)
    arrow, array = table()
    expected = encoding.encode(array)
    for part, first in ((arrow, 0), (arrow.slice(3), 3), (arrow.slice(3, 1), 3), (arrow.slice(0, 0), 0)):
        found = encoded_by_columns(encoding, open_table(part), None)
        assert found is not None
        assert found.X.flags.f_contiguous
        for name in ("X", "Y", "weight"):
            given, whole = getattr(found, name), getattr(expected, name)
            assert np.ascontiguousarray(given).tobytes() == whole[first : first + part.num_rows].tobytes()


def test_a_column_of_another_length_than_its_part_is_refused() -> None:
    encoding = Domain({"plain": (0, 1)}, indicators=False).encoding()
    for n in (0, 1, 999, 1_001):
        part = ArrowTable(table()[0].select(["plain"]))
        part.arrow = lambda _, n=n: pa.array(np.ones(n))  # as a broken producer of batches may give
        with pytest.raises(TornTable):
            encoded_by_columns(encoding, part, None)


def test_what_is_not_plain_is_left_to_rows() -> None:
    arrow, array = table()
    plain = Domain({"plain": (0, 1)}, indicators=False)
    others = (
        Domain({"plain": Numeric(1, 2, transform="log")}),
        Domain({"plain": (0, 1), "single": (0, 1)}, interactions=[("plain", "single")]),
        Domain({"plain": (0, 1), "whole": Categorical([1, 2])}),
        Domain({"plain": (0, 1)}, row_norm=("l2", 0.5)),
    )
    assert encoded_by_columns(plain.encoding(), open_table(arrow), None) is not None
    assert encoded_by_columns(plain.encoding(), open_table(array), None) is None
    assert [encoded_by_columns(one.encoding(), open_table(arrow), None) for one in others] == [None] * 4
    assert encoded_by_columns(replace(plain.encoding(), layout=None), open_table(arrow), None) is None
