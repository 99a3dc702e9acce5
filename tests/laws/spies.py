"""Code of a user's own that passes all work on to the library's, and writes down every number that it was shown, bit for bit."""

from collections.abc import Callable
from typing import Any

import numpy as np

from hullabaloo.geometry import HasComposite
from tests.replay.exact import exact

Heard = list[Any]
_OPERATIONS = ("add", "sub", "mul", "truediv", "pow", "lt", "le", "gt", "ge", "eq", "ne")


def spied(inner: Any, heard: Heard, *bases: type, also: tuple[str, ...] = ()) -> Any:
    """An object of a class of its own with these bases: whatever they leave abstract, and `also` these, is asked of `inner`."""
    names = {name for base in bases for name in getattr(base, "__abstractmethods__", ())} | set(also)
    body: dict[str, Any] = {name: _passed_on(name, inner, heard, *bases) for name in names}
    body["__repr__"] = lambda self: f"Spied{type(inner).__name__}()"
    return type(f"Spied{type(inner).__name__}", bases, body)()


def _passed_on(name: str, inner: Any, heard: Heard, *bases: type) -> Any:
    declared = [getattr(base, name) for base in bases if hasattr(base, name)]
    if not declared or any(isinstance(one, property) for one in declared):  # no method: a value
        return property(lambda self: getattr(inner, name))

    def ask(self: Any, *given: Any, **named: Any) -> Any:
        heard.append((name, exact(given), exact(named)))
        answer = getattr(inner, name)(*given, **named)
        return spied(answer, heard, HasComposite) if isinstance(answer, HasComposite) else answer

    return ask


def listening(function: Callable[..., Any], heard: Heard) -> Callable[..., Any]:
    """The same function, heard."""

    def ask(*given: Any, **named: Any) -> Any:
        heard.append((getattr(function, "__name__", "call"), exact(given), exact(named)))
        return function(*given, **named)

    return ask


class SpyArray(np.ndarray):
    """An array that is shown whatever NumPy computes with it."""

    heard: Heard

    @classmethod
    def of(cls, values: Any, heard: Heard) -> "SpyArray":
        made = np.array(values).view(cls)
        made.heard = heard
        return made

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        self.heard.append((ufunc.__name__, exact([_plain(one) for one in inputs])))
        return getattr(ufunc, method)(*map(_plain, inputs), **named)

    def __array_function__(self, function: Any, types: Any, given: Any, named: Any) -> Any:
        self.heard.append((function.__name__, exact([_plain(one) for one in given])))
        return function(*map(_plain, given), **{name: _plain(one) for name, one in named.items()})


def _plain(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, np.ndarray) else value


class SpyNumber(float):
    """A number that is shown whatever is computed with it."""

    heard: Heard
    __array_priority__ = 1e9
    __hash__ = float.__hash__

    @classmethod
    def of(cls, value: float, heard: Heard) -> "SpyNumber":
        made = cls(value)
        made.heard = heard
        return made


def _heard(name: str) -> Callable[..., Any]:
    def operate(self: SpyNumber, other: Any) -> Any:
        self.heard.append((name, exact(_plain(other))))
        return getattr(np.float64(float(self)), name)(_plain(other))

    return operate


for _name in _OPERATIONS:
    setattr(SpyNumber, f"__{_name}__", _heard(f"__{_name}__"))
    if hasattr(float, f"__r{_name}__"):
        setattr(SpyNumber, f"__r{_name}__", _heard(f"__r{_name}__"))


class SpyCell:
    """What an object column holds: a number of its own, and no other record's."""

    def __init__(self, value: Any, heard: Heard) -> None:
        self.value, self.heard = value, heard

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        return str(self.value)

    __repr__ = __str__

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SpyCell) and other is not self:
            self.heard.append(("another cell", str(other)))
        return self is other
