"""Whether an object is made of the library's own code alone, so that its methods may meet numbers that are not released.

A prox, a projection or a derivative that somebody else wrote may do anything with its argument: keep it, print it, raise for some values and
not for others. Where the argument is an exact, unreleased number, whatever it does is a release that nobody paid for. So objects that are
handed to code inside the privacy boundary are looked through first, before anything is charged.
"""

import enum
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

_PACKAGE = __name__.partition(".")[0]
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range)
_MANY = (tuple, list, set, frozenset)


def foreign(*values: object) -> str | None:
    """What in these objects is not the library's own: the name of the first such type or function; None where everything is.

    Looked through: attributes and slots of the library's own objects, and plain containers. Numbers, texts and NumPy arrays of them are
    no code. A subclass of a library's class is foreign, whatever its methods are, and so is one that only says that it lies in the library.
    """
    seen: set[int] = set()
    waiting: list[object] = list(reversed(values))
    while waiting:
        value = waiting.pop()
        if type(value) in _PLAIN or id(value) in seen:
            continue
        seen.add(id(value))
        parts = _parts(value)
        if parts is None:
            return _name(value)
        waiting.extend(parts)
    return None


def _parts(value: object) -> Iterable[object] | None:  # noqa: PLR0911 - a table of kinds, one line each
    """What an object is made of; None of a foreign one."""
    kind = type(value)
    if kind in _MANY:
        return value  # type: ignore[return-value]
    if kind is dict:
        return [*value.keys(), *value.values()]  # type: ignore[attr-defined]
    if kind.__module__.partition(".")[0] == "numpy":
        return _of_numpy(value)
    if kind is partial:
        return [value.func, value.args, value.keywords]  # type: ignore[attr-defined]
    if kind is MethodType:
        return [value.__func__, value.__self__]  # type: ignore[attr-defined]
    if kind is FunctionType or kind is BuiltinFunctionType or isinstance(value, type):
        return [] if _lies_in_the_library(value) else None
    if not _lies_in_the_library(kind):
        return None
    return [] if isinstance(value, enum.Enum) else list(_held(value))


def _of_numpy(value: object) -> Iterable[object] | None:
    import numpy as np

    if type(value) is np.ndarray:
        return [] if value.dtype.kind in "biufcSU" else None
    return [] if isinstance(value, np.generic | np.dtype) and type(value).__module__ == "numpy" else None


def _lies_in_the_library(thing: Any) -> bool:
    """Whether a class or function is found under its own name in a module of this package."""
    module = getattr(thing, "__module__", None) or ""
    if module.partition(".")[0] != _PACKAGE:
        return False
    found: Any = sys.modules.get(module)
    for word in thing.__qualname__.split("."):
        found = getattr(found, word, None)
    return found is thing


def _held(value: object) -> Iterator[object]:
    """The attributes and slots of an object, without asking its methods."""
    yield from getattr(value, "__dict__", {}).values()
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            found = kind.__dict__.get(name)
            if found is not None and hasattr(found, "__get__"):
                try:
                    yield found.__get__(value, kind)
                except AttributeError:  # a slot that was never filled
                    continue


def _name(value: object) -> str:
    thing = value if isinstance(value, type | FunctionType) else type(value)
    return str(thing.__name__)
