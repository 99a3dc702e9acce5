"""Set functions from plain data and from the short text of a command line."""

from collections.abc import Callable, Mapping
from typing import Any

from hullabaloo.codec import made, table
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.submodular.base import SetFunction
from hullabaloo.geometry.submodular.bounded_cardinality import BoundedCardinality
from hullabaloo.geometry.submodular.cardinality import Cardinality
from hullabaloo.geometry.submodular.concave_cardinality import ConcaveCardinality
from hullabaloo.geometry.submodular.group_cover import GroupCover
from hullabaloo.geometry.submodular.intervals import Intervals
from hullabaloo.geometry.submodular.tree_cover import TreeCover

SET_FUNCTIONS = table(Cardinality, BoundedCardinality, ConcaveCardinality, GroupCover, TreeCover, Intervals)

_WORDS: dict[str, Callable[[str], SetFunction]] = {
    "cardinality": lambda rest: Cardinality(*rest),
    "top": lambda rest: BoundedCardinality(int(rest)),
    "sorted": lambda rest: ConcaveCardinality(tuple(float(part) for part in rest.split(","))),
    "intervals": lambda rest: Intervals(int(rest) if rest else None),
    "cover": lambda rest: GroupCover(tuple(tuple(columns_from_text(group)) for group in rest.split(";"))),
    "tree": lambda rest: GroupCover.tree([int(part) for part in rest.split(",")]),
    "grid": lambda rest: GroupCover.grid(*(int(part) for part in rest.split(","))),
}


def set_function_from_dict(data: Mapping[str, Any]) -> SetFunction:
    """The set function that `to_dict` described; `InvalidParameter` when the description is not one."""
    if not isinstance(data, Mapping):
        raise InvalidParameter(f"A set function is described by what its to_dict() gives, but {data!r} was given.")
    return made(SET_FUNCTIONS, data, "set function")


def set_function_from_text(text: str) -> SetFunction:
    """The set function of a command line.

    `cardinality`, `top;BOUND` (min(|A|, bound)), `sorted;WEIGHT,WEIGHT…` (a weight for each column, falling),
    `intervals`, `cover;GROUP;GROUP…` with columns such as `0-2` or `3,5` in a group, `tree;PARENT,PARENT…` (the column
    above each, −1 at the top), `grid;ROWS,COLUMNS` or `grid;ROWS,COLUMNS,WINDOW`.

    >>> set_function_from_text("top;3")
    BoundedCardinality(bound=3)
    """
    word, _, rest = text.strip().partition(";")
    if word not in _WORDS:
        raise InvalidParameter(
            f"{text!r} names no set function, as {word!r} is none of {', '.join(_WORDS)}; write intervals, "
            "cover;0-2;2,3, top;3 or grid;8,8."
        )
    try:
        return _WORDS[word](rest)
    except InvalidParameter:
        raise
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            f"{text!r} names no set function, as {rest!r} cannot be read; write intervals, cover;0-2;2,3, top;3, "
            "sorted;3,2,1, tree;-1,0,0 or grid;8,8."
        ) from error


def columns_from_text(text: str) -> list[int]:
    """The columns of `0-2,5`; `ValueError` when it cannot be read."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        found += range(int(first), int(last) + 1) if dash else [int(first)]
    return found
