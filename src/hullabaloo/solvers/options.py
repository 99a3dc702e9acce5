"""Options of solvers: checked where they are written, and kept as Python's own numbers, which a saved model can hold."""

import sys
from numbers import Integral, Real
from typing import Any

import numpy as np

from hullabaloo.errors import InvalidParameter
from hullabaloo.solvers.base import Solver

MOST = 1_000_000
"""Updates or choices that are asked for at once: more would be planned, and run, for hours."""


def whole(solver: Solver, option: str) -> None:
    """See that the option is None or a whole number up to `MOST`; NumPy's become int.

    Raises:
        InvalidParameter: it is anything else.
    """
    value = getattr(solver, option)
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= int(value) <= MOST:
        raise InvalidParameter(
            _refused(solver, option, f"pass a whole number from 1 to {MOST:,}, or None for the public rule")
        )
    object.__setattr__(solver, option, int(value))


def positive(solver: Solver, option: str) -> None:
    """See that the option is None or a positive, finite number; NumPy's become float.

    Raises:
        InvalidParameter: it is anything else.
    """
    value = getattr(solver, option)
    if value is None:
        return
    size: Any = value.item() if isinstance(value, np.generic) else value  # compared exactly, however large
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < size <= sys.float_info.max:
        raise InvalidParameter(_refused(solver, option, "pass a positive number, or None for the public rule"))
    object.__setattr__(solver, option, float(value))


def yes_or_no(solver: Solver, option: str) -> None:
    """See that the option is None, True or False; NumPy's become bool.

    Raises:
        InvalidParameter: it is anything else.
    """
    value = getattr(solver, option)
    if value is None:
        return
    if not isinstance(value, bool | np.bool_):
        raise InvalidParameter(_refused(solver, option, "pass True or False, or None for the public rule"))
    object.__setattr__(solver, option, bool(value))


def _refused(solver: Solver, option: str, remedy: str) -> str:
    return f"{type(solver).__name__} was asked with {option}={getattr(solver, option)!r}; {remedy}."
