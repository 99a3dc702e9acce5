"""What NumPy and pandas keep as numbers (characters, categories, places) is a cell's: a number that stands for nothing never raises.

Each of these ended a fit after its charge, and which record held it decided whether.
"""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hullabaloo.data import Domain, open_table

NO_CHARACTER = np.array([0x110000, 0x41, 0xFFFFFFFF], dtype="<u4").view("<U1")


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("hidden", [None, [False, False, True]])
def test_memory_that_is_no_character_is_the_replacement_character(order: str, hidden: Any) -> None:
    texts: Any = NO_CHARACTER.astype(f"{order}U1")
    if hidden is not None:
        texts = np.ma.array(texts, mask=hidden)
    before = texts.tobytes()
    found = open_table(texts[:, None]).cells(0)
    assert found == ["\ufffd", "A", "\ufffd" if hidden is None else None]
    assert texts.tobytes() == before


def test_a_target_of_such_texts_is_missing() -> None:
    domain = Domain(row_norm=1.0, target=(0, 1))
    X, y = np.ones((3, 1)), NO_CHARACTER
    rows = domain.encoding_for(X, y).encode(X, y)
    np.testing.assert_array_equal(rows.Y, np.zeros((3, 1)))


@pytest.mark.parametrize("code", [2, 99, -2, -7])
@pytest.mark.parametrize("levels", [["x", "y"], [1, 2], pd.array(["x", "y"], dtype="string[pyarrow]")])
def test_a_code_without_a_category_is_missing(code: int, levels: Any) -> None:
    codes = np.array([0, code, 1, -1], dtype=np.int8)
    column = pd.Categorical.from_codes(codes, levels, validate=False)
    assert open_table(pd.DataFrame({"a": column})).cells(0) == [levels[0], None, levels[1], None]


def sparse_column(index: Any, values: list[float], fill: float) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas means to take this argument away
        return pd.DataFrame({"a": pd.arrays.SparseArray(np.array(values), sparse_index=index, fill_value=fill)})


@pytest.mark.parametrize("place", [3, 2**31 - 1, -1, -(2**31)])
@pytest.mark.parametrize("fill", [0.0, np.nan])
def test_an_entry_of_a_sparse_column_at_no_record_is_absent(place: int, fill: float) -> None:
    from pandas._libs.sparse import IntIndex

    index = IntIndex(3, np.array([1, place], dtype=np.int32), check_integrity=False)
    found = open_table(sparse_column(index, [5.0, 7.0], fill)).numbers([0])[:, 0]
    np.testing.assert_array_equal(found, [fill, 5.0, fill])


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", ["integer", "block"])
@pytest.mark.parametrize("dtype", ["float64", "int64", "bool", "uint8"])
def test_a_sound_sparse_column_is_read_as_pandas_reads_it(kind: Any, dtype: str) -> None:
    values = np.array([0, 1, 0, 0, 1, 1], dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        column = pd.arrays.SparseArray(values, kind=kind)
    found = open_table(pd.DataFrame({"a": column})).numbers([0])[:, 0]
    np.testing.assert_array_equal(found, values.astype(float))
