"""Any value as nested tuples that are equal exactly when nobody could tell the values apart, bit for bit."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from types import FunctionType, MethodType
from typing import Any

import numpy as np


def exact(value: Any) -> Any:  # noqa: PLR0911 - a table of types, one line each
    """Shapes, dtypes, the bits of floats, the order of mappings and the names of classes included."""
    if value is None or isinstance(value, bool | int | str | bytes):
        return value if type(value).__module__ == "builtins" else (type(value).__name__, str(value))
    if isinstance(value, float):
        return ("float", type(value).__name__, value.hex())
    if isinstance(value, np.ndarray):
        cells = tuple(map(exact, value.ravel().tolist())) if value.dtype.hasobject else value.tobytes()
        return ("array", value.dtype.str, value.shape, cells)
    if isinstance(value, np.generic):
        return ("scalar", value.dtype.str, value.tobytes())
    if isinstance(value, Mapping):
        return ("mapping", *((exact(key), exact(one)) for key, one in value.items()))
    if isinstance(value, list | tuple | range):
        return (type(value).__name__, *map(exact, value))
    if isinstance(value, set | frozenset):
        return (type(value).__name__, *sorted(map(repr, map(exact, value))))
    if isinstance(value, Enum):
        return (type(value).__name__, value.name)
    if is_dataclass(value) and not isinstance(value, type):
        return (type(value).__name__, *((one.name, exact(getattr(value, one.name))) for one in fields(value)))
    if isinstance(value, type | FunctionType | MethodType):
        return f"{value.__module__}.{value.__qualname__}"
    held = vars(value) if hasattr(value, "__dict__") else {}
    return (type(value).__qualname__, exact(held) if held else str(type(value)))
