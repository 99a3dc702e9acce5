"""Matching cells to levels: one rule for every type of column."""

from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hullabaloo.data.labels import MISSING, UNKNOWN, LevelIndex, unit_of
from hullabaloo.errors import DomainError

TEXTS = st.sampled_from(["1", "1.0", "True", "a", " a ", "", "b"])
CELLS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | TEXTS


@pytest.mark.parametrize("cell", ["a", " a\n", b"a", np.str_("a")])
def test_text_levels(cell: object) -> None:
    assert LevelIndex(["b", "a"]).place(cell) == 1


@pytest.mark.parametrize("cell", [1, 1.0, "1", " 1.0 ", True, "true", Decimal("1.00"), np.int8(1), np.float32(1)])
def test_number_levels(cell: object) -> None:
    assert LevelIndex([0, 1, 2]).place(cell) == 1


@pytest.mark.parametrize("cell", [True, np.True_, "True", "true", "TRUE", 1, 1.0, "1"])
def test_bool_levels(cell: object) -> None:
    assert LevelIndex([False, True]).place(cell) == 1


@pytest.mark.parametrize("cell", [None, float("nan"), np.nan, pd.NA, pd.NaT, "", "  ", Decimal("NaN"), [1], object()])
def test_missing(cell: object) -> None:
    assert LevelIndex(["a", 1]).place(cell) == MISSING


@pytest.mark.parametrize("cell", ["c", "n/a", 7, 10**4000, float("inf"), "9" * 10_000, date(2020, 1, 1), True])
def test_unknown(cell: object) -> None:
    assert LevelIndex(["a", "b", 3]).place(cell) == UNKNOWN


def test_a_date_is_its_text_and_a_blank_level_catches_blanks() -> None:
    assert LevelIndex(["2020-01-01"]).place(date(2020, 1, 1)) == 0
    assert LevelIndex(["a", ""]).place("  ") == 1


def test_levels_that_cells_cannot_tell_apart_are_refused() -> None:
    for levels in (["a", "a"], ["a", " a"], [1, 1.0], [1, True], [1, "1"]):
        with pytest.raises(DomainError, match="declared twice"):
            LevelIndex(levels)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.lists(CELLS, max_size=12))
def test_a_cell_is_matched_alone(cells: list[object]) -> None:
    """True == 1 == 1.0 in Python, but what one cell becomes must not depend on which of them came first."""
    for levels in (["1", "True", "a"], [0, 1], [False, True]):
        index = LevelIndex(levels)
        assert index.places(cells).tolist() == [index.place(cell) for cell in cells]


EXACT = {np.float32: 2**24, np.float16: 2**11}
"""From where floats that are shorter than most skip whole numbers."""


@pytest.mark.few(4)
@given(st.one_of(st.integers(-(2**64), 2**64), *(st.integers(one - 3, one + 3) for one in (2**53, *EXACT.values()))))
@pytest.mark.parametrize(
    "kind", [int, float, np.float64, np.longdouble, np.float32, np.float16, Fraction, Decimal, str]
)
@np.errstate(over="ignore")
def test_a_person_has_one_name_or_none_whatever_type_a_batch_has(kind: type, number: int) -> None:
    """A column of whole numbers is of floats in batches where some are missing, and rounded: one who had two names would count twice."""
    assert unit_of(kind(number)) in (str(number), None)
    assert unit_of(kind(number)) is not None or abs(number) >= EXACT.get(kind, 2**53)
    assert unit_of(float("inf")) is unit_of(float("nan")) is unit_of(None) is None
