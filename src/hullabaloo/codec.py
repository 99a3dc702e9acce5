"""Frozen records as plain data and back: one writer, one reader.

The words that stand for classes are written down in the classes (`kind`), so that what was saved opens whatever a class is called.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, ClassVar, TypeVar

from hullabaloo.errors import InvalidParameter

T = TypeVar("T")


class Written:
    """A frozen dataclass that is written under a word of its own, `kind`, which is never given again."""

    __slots__ = ()
    kind: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """The word and the arguments that make an equal record, as values of strict JSON: `made` reads it."""
        return {"kind": self.kind} | arguments(self)


def arguments(record: Any) -> dict[str, Any]:
    """The fields that a frozen dataclass is made from, each `plain`; what is declared a float is written as one."""
    given = {one.name: (one.type, getattr(record, one.name)) for one in fields(record) if one.init}
    return {name: plain(float(value) if declared is float else value) for name, (declared, value) in given.items()}


def settle(record: object, **values: Any) -> None:
    """Store fields of a frozen record while it is made."""
    for name, value in values.items():
        object.__setattr__(record, name, value)


def as_kept(found: Any, like: Any) -> Any:
    """An array of a saved state; raises ValueError where it has not the shape and type of `like`, or holds numbers that no sum is: kernels rely on these."""
    if found.shape != like.shape or found.dtype != like.dtype or not (abs(found) < 1e150).all():
        raise ValueError("an array of another state")
    return found


def plain(value: Any) -> Any:  # noqa: PLR0911 - a table of types, one line each
    """A value of strict JSON: records by their `to_dict` or fields, enumerations by word, arrays and tuples as lists, what is not finite as null."""
    if type(value) in (str, int, bool):  # most of them
        return value
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if is_dataclass(value):
        return arguments(value)
    return {name: plain(one) for name, one in value.items()} if isinstance(value, Mapping) else value


def table(*kinds: type[T]) -> dict[str, type[T]]:
    """The classes by their words."""
    return {kind.kind: kind for kind in kinds}  # type: ignore[attr-defined]  # Written's


def made(
    kinds: Mapping[str, Callable[..., T]],
    data: Mapping[str, Any],
    what: str,
    **inner: Callable[[Mapping[str, Any]], Any],
) -> T:
    """The record that `to_dict` described; `inner` reads arguments that are records themselves.

    Raises:
        InvalidParameter: an unknown word, or arguments that its class has not.
    """
    given = dict(data)
    kind = given.pop("kind", None)
    if not isinstance(kind, str) or kind not in kinds:
        raise InvalidParameter(f"{kind!r} is not the kind of a {what}; the kinds are {', '.join(sorted(kinds))}.")
    given |= {name: read(given[name]) for name, read in inner.items() if isinstance(given.get(name), Mapping)}
    try:
        return kinds[kind](**given)
    except TypeError as error:
        raise InvalidParameter(
            f"A {what} of kind {kind!r} cannot be made from {sorted(given)}; use what its to_dict() gives."
        ) from error
