"""Matching cells to declared levels: one fixed rule for a cell, whatever type its column has.

A cell's *label* is its text: blanks at both ends removed, a number written shortest ("1" for 1, 1.0 and Decimal("1")),
a bool as "True" or "False". Whole numbers, decimals and bytes that differ have different labels, however long they are:
labels name people too, and two people under one label would share a unit. None, NaN, NA, NaT and a blank text are missing. A number level also matches texts that
read as that number ("1.0"), 1 and 0 also match true and false, and the other way round. Anything else is unknown.
"""

import math
from collections.abc import Callable, Iterable
from datetime import date, time
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.numbers import parse_number
from hullabaloo.errors import DomainError

MISSING = -2
UNKNOWN = -1
T = TypeVar("T")
_TRUTH = {1.0: ("True", "true", "TRUE"), 0.0: ("False", "false", "FALSE")}


# Types of which equal values are the same value to every rule. (0.0 and −0.0 have one label and one number.)
_PLAIN = frozenset({str, int, float, bool, bytes, type(None)})


def memo(cells: list[Any], rule: Callable[[Any], T]) -> list[T]:
    """Apply a rule to each cell, once per distinct plain cell; cells of other types are done one by one.

    **Guarantee.** What a cell becomes never depends on the other cells. Cells of different types may be equal
    (True == 1 == 1.0), so a mixed column is remembered by type and value. Cells of one type may be equal and yet have
    different labels (the same instant in two time zones), so that whichever came first would decide for all: only
    the types of `_PLAIN`, where that cannot happen, are remembered.
    """
    try:
        kinds = set(map(type, cells))
        if not kinds <= _PLAIN:
            return [rule(cell) for cell in cells]
        if len(kinds - {type(None)}) <= 1:
            known = {cell: rule(cell) for cell in set(cells)}
            return [known[cell] for cell in cells]
        mixed = {pair: rule(pair[1]) for pair in set(zip(map(type, cells), cells, strict=True))}
        return [mixed[pair] for pair in zip(map(type, cells), cells, strict=True)]
    except Exception:  # reason: a hostile cell's own hash or comparison may raise anything
        return [rule(cell) for cell in cells]


def label_of(cell: object) -> str | None:
    """The label of a cell; None when it is missing. Never raises: what cannot be read is missing."""
    try:
        return _label(cell)
    except Exception:  # reason: a hostile cell's own methods may raise anything
        return None


def unit_of(cell: object) -> str | None:
    """Whose a record is: the label of the cell; nobody's where two persons may have been made one.

    Such is a float from 2^53 on (a shorter one from 2^24 or 2^11), which may be a whole number rounded, and a text with U+FFFD, as which bytes that are no
    UTF-8 are read.
    """
    label, bits = label_of(cell), min(np.finfo(cell).nmant, 52) if isinstance(cell, np.floating) else 52
    number = isinstance(cell, Real) and not isinstance(cell, int | np.integer)
    return None if label and ("\ufffd" in label or (number and not abs(float(label)) < 2 << bits)) else label


def _label(cell: object) -> str | None:  # noqa: PLR0911 - a table of types, one line each
    if isinstance(cell, str):
        return cell.strip() or None
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "surrogateescape").strip() or None
    if isinstance(cell, bool | np.bool_):
        return "True" if cell else "False"
    if isinstance(cell, int | np.integer):
        number = int(cell)
        return str(number) if abs(number) < 1 << 128 else hex(number)  # Python refuses to write long ones in decimal
    if isinstance(cell, Decimal):
        return _decimal_label(cell)
    if isinstance(cell, Real):
        return _number_label(float(cell))
    if isinstance(cell, date | time) and cell == cell:  # NaT is a date that differs from itself  # noqa: PLR0124
        return str(cell)
    return None


def _number_label(value: float) -> str | None:
    if math.isnan(value):
        return None
    return str(int(value)) if abs(value) < 1 << 53 and value == int(value) else repr(value)


def _decimal_label(value: Decimal) -> str | None:
    """Of a whole number the int's, else as the float that is written with the same digits, else all digits."""
    if value.is_finite() and abs(value) < 1 << 256 and value == int(value):
        return _label(int(value))
    text = _number_label(float(value))
    if text is None or not value.is_finite() or Decimal(text) == value:
        return text
    exact = Context(prec=len(value.as_tuple().digits), Emax=MAX_EMAX, Emin=MIN_EMIN)
    return str(value.normalize(exact))


class LevelIndex:
    """The declared levels, and for each cell which of them it is."""

    __slots__ = ("_index", "_numbers")

    def __init__(self, levels: Iterable[Any]) -> None:
        self._index: dict[str, int] = {}
        self._numbers = False
        for place, level in enumerate(levels):
            for key in self._keys(level):
                if key in self._index:
                    raise DomainError(
                        f"The level {level!r} is declared twice (or cannot be told apart from an earlier one when cells are compared as text). Each level must be declared once."
                    )
                self._index[key] = place

    def _keys(self, level: object) -> set[str]:
        if isinstance(level, str):
            return {level.strip()}
        if isinstance(level, bool):
            return {*_TRUTH[float(level)], str(int(level))}
        self._numbers = True
        label = label_of(level)
        assert label is not None
        return {label, *_TRUTH.get(float(level), ())}  # type: ignore[arg-type]

    def place(self, cell: object) -> int:
        """The place of the cell's level among the declared ones, ``UNKNOWN`` or ``MISSING``."""
        label = label_of(cell)
        if label is None:
            return self._index.get("", MISSING)
        place = self._index.get(label, UNKNOWN)
        if place == UNKNOWN and self._numbers:
            number = _number_label(parse_number(label))
            return UNKNOWN if number is None else self._index.get(number, UNKNOWN)
        return place

    def places(self, cells: list[Any]) -> NDArray[np.int64]:
        """``place`` of each cell."""
        return np.array(memo(cells, self.place), dtype=np.int64).reshape(len(cells))
