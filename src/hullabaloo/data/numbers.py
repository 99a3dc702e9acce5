"""The grammar of numbers: how a cell of text, or a Python object, becomes a float64.

A text is a number when, blanks at both ends removed, it is an optional sign, then ASCII digits with at most one
decimal point, then optionally ``e`` or ``E``, a sign and digits; or ``inf`` or ``infinity`` in any case. A number too
large for float64, and an infinite one, is ±infinity: *out of range*, which bounds then clip. Everything else (``n/a``,
``1,000``, ``1_000``, ``nan``, ``true``, a date) is missing, written NaN. No cell raises.
"""

import math
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray


def parse_number(text: str) -> float:
    """Read a text by the grammar above; NaN when it is none.

    Python's ``float`` reads this grammar and, besides, "nan", underscores and digits of other alphabets.
    """
    if not text.isascii():
        text = text.strip()
    if "_" in text or not text.isascii():
        return math.nan
    try:
        return float(text)
    except ValueError:
        return math.nan


def number_of(cell: object) -> float:
    """The number in any Python object; NaN when there is none."""
    if type(cell) is float:
        return cell
    try:
        if isinstance(cell, str):
            return parse_number(cell)
        if isinstance(cell, bytes):
            return parse_number(cell.decode("utf-8", "replace"))
        if isinstance(cell, Real | Decimal | np.bool_):
            return _real(cell)
    except Exception:  # reason: a hostile cell's own methods may raise anything
        return math.nan
    return math.nan


def _real(cell: Any) -> float:
    try:
        return float(cell)
    except OverflowError:  # an integer or fraction beyond float64 is out of range, on the side of its sign
        return math.inf if cell > 0 else -math.inf


def numbers_of(cells: list[Any]) -> NDArray[np.float64]:
    """``number_of`` each cell, as a float64 array."""
    return np.fromiter(map(number_of, cells), dtype=np.float64, count=len(cells))
