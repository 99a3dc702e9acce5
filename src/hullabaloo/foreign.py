"""Whether an object is made of the library's own code alone, so that its methods may meet numbers that are not released.

A prox, a projection or a derivative that somebody else wrote may do anything with its argument: keep it, print it, raise for some values and
not for others. Where the argument is an exact, unreleased number, whatever it does is a release that nobody paid for. So objects that are
handed to code inside the privacy boundary are looked through first, before anything is charged.
"""

import enum
import gc
import sys
from collections.abc import Iterator
from functools import partial
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType
from typing import Any

_PACKAGE = __name__.partition(".")[0]
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range)
_HOLDERS = (tuple, list, set, frozenset, dict, MappingProxyType, partial, MethodType)
_FUNCTIONS = (FunctionType, BuiltinFunctionType)
_NUMBERS = "biufcSU"


def foreign(*values: object) -> str | None:
    """What in these objects is not the library's own: the name of one such type or function; None where everything is.

    Numbers, texts and NumPy arrays of them are no code. A subclass of a library's class is foreign, whatever its methods are, and so is one
    that only says that it lies in the library.
    """
    return next((name_of(part) for part in parts(*values) if is_foreign(part)), None)


def parts(*values: object) -> Iterator[object]:
    """These objects and all that they hold: attributes, slots and items of the library's own objects and of plain containers.

    Numbers and texts are left out, and what is foreign is not looked into.
    """
    seen: dict[int, object] = {}  # the objects too, so that none gives its id to another meanwhile
    waiting: list[object] = list(reversed(values))
    while waiting:
        value = waiting.pop()
        if type(value) in _PLAIN or id(value) in seen:
            continue
        seen[id(value)] = value
        yield value
        if not (is_foreign(value) or _is_code(value)):
            waiting.extend(_held(value))


def name_of(value: object) -> str:
    """The name of a class or function, of anything else that of its class."""
    return str(value.__name__ if _is_code(value) else type(value).__name__)  # type: ignore[attr-defined]


def is_foreign(value: object) -> bool:
    """Whether an object itself, whatever it holds, is not the library's own."""
    kind = type(value)
    if kind in _HOLDERS:
        return False
    if _lies_in("numpy", kind):
        return not _is_numbers(value)
    return not _lies_in(_PACKAGE, value if _is_code(value) else kind)


def _is_numbers(value: Any) -> bool:
    """Whether an object of NumPy's is an array or a scalar of numbers or texts."""
    import numpy as np

    return (type(value) is np.ndarray or isinstance(value, np.generic)) and value.dtype.kind in _NUMBERS


def _is_code(value: object) -> bool:
    """Whether it is a class or a function: what it refers to are modules, not what somebody handed over."""
    return issubclass(type(value), type) or type(value) in _FUNCTIONS


def _lies_in(package: str, thing: Any) -> bool:
    """Whether a class or function is found under its own name in a module of this package."""
    module, path = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(path, str) or module.partition(".")[0] != package:
        return False
    found: Any = sys.modules.get(module)
    for word in path.split("."):
        found = getattr(found, word, None)
    return found is thing


def _held(value: object) -> list[object]:
    """The attributes, slots and items of an object, as the garbage collector sees them: none of its methods is asked."""
    if isinstance(value, enum.Enum):
        return []
    return [part for part in gc.get_referents(value) if part is not type(value)]
