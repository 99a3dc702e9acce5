"""Apply a rule to cells once per distinct cell, so that text columns are read at the speed of a dictionary."""

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def memo(cells: list[Any], rule: Callable[[Any], T]) -> list[T]:
    """Apply a rule to each cell, once per distinct (type, value); cells that cannot be hashed are done one by one.

    Cells of different types may be equal (True == 1 == 1.0), so a mixed column is remembered by type and value: what a
    cell becomes never depends on the other cells.
    """
    try:
        kinds = set(map(type, cells))
        if len(kinds - {type(None)}) <= 1:
            known = {cell: rule(cell) for cell in set(cells)}
            return [known[cell] for cell in cells]
        mixed = {pair: rule(pair[1]) for pair in set(zip(map(type, cells), cells, strict=True))}
        return [mixed[pair] for pair in zip(map(type, cells), cells, strict=True)]
    except Exception:
        return [rule(cell) for cell in cells]
