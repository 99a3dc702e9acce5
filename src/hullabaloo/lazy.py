"""Imports on first use (PEP 562): of the names that the stub beside a package's `__init__`, read by type checkers, imports, and of large libraries."""

import ast
import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pkgutil import get_data
from threading import Lock
from types import ModuleType
from typing import Any


def recalled(cached: Any, *facts: object) -> Any:
    """What a function under `lru_cache` gives of these; worked out anew where they are no key, such as a set that holds an array."""
    try:
        hash(facts)
    except TypeError:
        return cached.__wrapped__(*facts)
    return cached(*facts)


def lazily(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package."""
    body = ast.parse(get_data(package, "__init__.pyi") or b"").body
    found = [(str(node.module), one) for node in body if isinstance(node, ast.ImportFrom) for one in node.names]
    homes = {one.asname or one.name: (home, one.name) for home, one in found}
    names = sorted(homes)

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}; public names are {', '.join(names)}")
        home, there = homes[name]  # of a room that is public itself, the package
        value = import_module(f"{package}.{name}") if home == package else getattr(import_module(home), there)
        setattr(sys.modules[package], name, value)
        return value

    return find, lambda: list(names), names


_TURN = Lock()


class Later(ModuleType):
    """What stands in a library's place until something of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        with _TURN:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def later(*libraries: str) -> None:
    """Have libraries imported when they are first used rather than when others import them; for a program of one's own, not inside another's."""
    for name in libraries:
        if name not in sys.modules and (spec := find_spec(name.partition(".")[0])):
            sys.modules[name] = Later(name)
            sys.modules[name].__spec__ = spec


def callable_as(package: str, run: Callable[..., Any]) -> None:
    """Let a package that is named like its function be called as the function, once it is imported."""
    room: Any = sys.modules[package]
    room.__class__ = type("Room", (ModuleType,), {"__call__": staticmethod(run)})
    room.__signature__ = inspect.signature(run)  # else that of a method, without its first parameter
