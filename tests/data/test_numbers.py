"""The grammar of numbers, against the regular expression that it stands for."""

import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hullabaloo.data.numbers import number_of, numbers_of, parse_number

GRAMMAR = re.compile(r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf|infinity))")

NO_NUMBERS = "n/a|nan|NA|1,000|1_000|0x10|true|1 2|१२|２|--1|1e|e5|.|2020-01-01|½|| |1\n2|1\x00".split("|")  # noqa: SIM905


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        (" +1.5e3\t", 1500.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("\u00a07\u2003", 7.0),
        ("1e999", math.inf),
        ("-1e999", -math.inf),
        ("1" * 10_000, math.inf),
        ("-Infinity", -math.inf),
        ("0." + "3" * 10_000, 1 / 3),
    ],
)
def test_numbers_are_read(text: str, value: float) -> None:
    assert parse_number(text) == value


@pytest.mark.few(10)
@pytest.mark.parametrize("text", NO_NUMBERS)
def test_everything_else_is_missing(text: str) -> None:
    assert math.isnan(parse_number(text))


@settings(derandomize=True, max_examples=250, deadline=None)
@given(st.text(max_size=12) | st.text(alphabet="0123456789.eE+-_ inftyaN", max_size=10) | st.floats().map(repr))
def test_agrees_with_the_grammar(text: str) -> None:
    read = parse_number(text)
    if GRAMMAR.fullmatch(text.strip()):
        assert read == float(text.strip())
    else:
        assert math.isnan(read)


class Hostile(float):
    def __float__(self) -> float:
        raise RuntimeError("a value's own code")


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        (True, 1.0),
        (np.bool_(False), 0.0),
        (np.float32(0.5), 0.5),
        (10**400, math.inf),
        (-(10**4000), -math.inf),
        (Decimal("1e999999"), math.inf),
        (Decimal("2.5"), 2.5),
        (Fraction(1, 4), 0.25),
        (b" 3 ", 3.0),
        (np.longdouble("1e4000"), math.inf),
    ],
)
def test_objects(cell: object, value: float) -> None:
    assert number_of(cell) == value
    assert numbers_of([cell, "x"])[0] == value


@pytest.mark.parametrize("cell", [None, 1j, object(), [1], {}, np.nan, Decimal("NaN"), Decimal("sNaN"), Hostile(1)])
def test_objects_without_a_number_are_missing(cell: object) -> None:
    assert math.isnan(number_of(cell))
