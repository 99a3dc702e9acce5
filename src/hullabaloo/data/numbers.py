r"""The grammar of numbers: how a cell of text, or a Python object, becomes a float64.

A text is a number when, blanks at both ends removed, it is ``[+-]? (digits [. digits?] | . digits) ([eE] [+-]? digits)?``
with ASCII digits, or ``[+-]? (inf | infinity)`` in any case. A number too large for float64, and an infinite one, is
±infinity: *out of range*, which bounds then clip. Everything else (``n/a``, ``1,000``, ``1_000``, ``nan``, ``true``, a
date) is missing, written NaN. No cell raises.
"""

import math
import re
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.memo import memo

_NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf|infinity))")


def parse_number(text: str) -> float:
    """Read a text by the grammar above; NaN when it is none."""
    text = text.strip()
    return float(text) if _NUMBER.fullmatch(text) else math.nan


def number_of(cell: object) -> float:
    """The number in any Python object; NaN when there is none."""
    try:
        if isinstance(cell, str):
            return parse_number(cell)
        if isinstance(cell, bytes):
            return parse_number(cell.decode("utf-8", "replace"))
        if isinstance(cell, Real | Decimal | np.bool_):
            return _real(cell)
    except Exception:
        return math.nan
    return math.nan


def _real(cell: Any) -> float:
    try:
        return float(cell)
    except OverflowError:  # an integer or fraction beyond float64 is out of range, on the side of its sign
        return math.inf if cell > 0 else -math.inf


def numbers_of(cells: list[Any]) -> NDArray[np.float64]:
    """``number_of`` each cell, as a float64 array."""
    return np.array(memo(cells, number_of), dtype=np.float64).reshape(len(cells))
