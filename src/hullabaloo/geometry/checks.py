"""Validation shared by the sets and penalties: public numbers once, at construction; vectors at the door."""

import math
from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hullabaloo.errors import InvalidParameter, as_whole

Vector = NDArray[np.float64]


def finite_number(value: object, what: str) -> float:
    """Give `value` as a float; refuse booleans, text, NaN and infinities."""
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool | np.bool_) else math.nan
    except OverflowError:  # a whole number beyond doubles
        number = math.inf
    if not math.isfinite(number):
        raise InvalidParameter(f"{what} must be a finite number, but it is {value!r}; give a plain number such as 1.0.")
    return number


def positive_number(value: object, what: str) -> float:
    """Give `value` as a float above zero."""
    number = finite_number(value, what)
    if number <= 0.0:
        raise InvalidParameter(f"{what} must be above 0, but it is {number!r}; give a positive number such as 1.0.")
    return number


def nonnegative_number(value: object, what: str) -> float:
    """Give `value` as a float at or above zero."""
    number = finite_number(value, what)
    if number < 0.0:
        raise InvalidParameter(f"{what} must not be negative, but it is {number!r}; give 0 or a positive number.")
    return number


def keep_number(record: object, name: str, check: Callable[[object, str], float] = positive_number) -> None:
    """Keep a field of a frozen record as the float that `check` makes of it."""
    kind = type(record).__name__
    what = f"The {name} of {'an' if kind[0] in 'AEIL' else 'a'} {kind}"
    object.__setattr__(record, name, check(getattr(record, name), what))


def whole_number(value: object, what: str, remedy: str) -> int:
    """Give a whole number of at least 1, or refuse what is none."""
    return as_whole(value, f"{what} must be a whole number of at least 1, but it is {{!r}}; {remedy}.")


def listed(value: object) -> Sequence[Any] | None:
    """Give a list, tuple or array as a sequence when it holds something; None otherwise."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    return value if isinstance(value, Sequence) and not isinstance(value, str) and len(value) else None


def column_groups(groups: object, what: str, example: str) -> list[Sequence[int]]:
    """Give lists of column numbers, none of them empty; they may overlap."""
    lists = None if isinstance(groups, np.ndarray) else listed(groups)
    if lists is None:
        raise InvalidParameter(
            f"{what} must be a list of lists of column numbers, but they are {groups!r}; give for example {example}."
        )
    found = []
    for i, given in enumerate(lists):
        group = listed(given)
        if group is None:
            shown = given.tolist() if isinstance(given, np.ndarray) else given
            raise InvalidParameter(f"Group {i} must be a list of column numbers, but it is {shown!r}; leave it out.")
        if set(map(type, group)) != {int} or min(group) < 0:
            wrong = f"Group {i} holds {{!r}}, but columns are numbered 0, 1, 2, …; give whole numbers."
            group = [as_whole(column, wrong, least=0) for column in group]
        found.append(group)
    return found


def number_or_tuple(value: object, what: str) -> float | tuple[float, ...]:
    """Give one number for every coordinate, or a tuple with a number for each."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str):
        if not value:
            raise InvalidParameter(f"{what} is empty; give one number, or one number for each coordinate.")
        return tuple(finite_number(entry, f"{what}, coordinate {i},") for i, entry in enumerate(value))
    return finite_number(value, what)


def require_all(groups: Iterable[Sequence[int]], why: str) -> None:
    """Refuse groups without some number from 0 to the largest, however large that is; `why` each must be in one."""
    present = {column for group in groups for column in group}
    missing = next((column for column in range(len(present)) if column not in present), None)
    if missing is not None:
        raise InvalidParameter(
            f"Column {missing} is in no group, though the groups go up to column {max(present)}; {why}: add it to a group, or give it one of its own, [{missing}]."
        )


def vector(value: ArrayLike, dimension: int | None = None) -> Vector:
    """Give `value` as a one-dimensional float64 array of finite numbers (the same array when it is one already)."""
    array: Vector = np.asarray(value, dtype=np.float64)
    if array.ndim != 1:
        raise InvalidParameter(f"The vector must be one-dimensional, but its shape is {array.shape}; pass one vector.")
    if dimension is not None and array.size != dimension:
        raise InvalidParameter(f"The vector has {array.size} coordinates, but the set has {dimension}; use as many.")
    with np.errstate(over="ignore", invalid="ignore"):
        total = array.sum()
    if not np.isfinite(total) and not np.isfinite(array).all():  # the sum alone may overflow: then look at each
        raise InvalidParameter("The vector holds a NaN or an infinity, which no set holds; check what produced it.")
    return array


def dimension_number(p: int, dimension: int | None = None) -> int:
    """Give the number of coordinates p, at least 1, and equal to the set's own when it has one."""
    if p < 1 or (dimension is not None and p != dimension):
        wanted = "at least 1" if dimension is None else f"{dimension}, as the set's bounds are"
        raise InvalidParameter(f"The number of coordinates must be {wanted}, but it is {p}; pass the model's own.")
    return int(p)
