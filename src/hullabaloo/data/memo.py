"""Apply a rule to cells once per distinct cell, so that text columns are read at the speed of a dictionary."""

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

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
