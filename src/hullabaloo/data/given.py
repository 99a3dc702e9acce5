"""What callers pass, as the type that it must have: paths and lists of names."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from hullabaloo.errors import InvalidParameter, without_passwords

LONGEST = 255
"""Bytes of a file's name; no file system of today takes more."""


def path_of(value: object) -> Path:
    """A path that can name a file or folder.

    Raises:
        InvalidParameter: it is none.
    """
    if isinstance(value, str | os.PathLike) and not isinstance(value, bytes):
        try:
            name = os.fsencode(value)
            place = Path(os.fsdecode(name))
        except (TypeError, ValueError):
            name, place = b"", Path()
        if name and b"\0" not in name and place.name and max(map(len, name.split(b"/"))) <= LONGEST:
            return place
    shown = (
        f"{without_passwords(repr(value)):.60}" if isinstance(value, str) else f"an object of {type(value).__name__}"
    )
    raise InvalidParameter(
        f"The path of a file was to be given, and {shown} is none that a file can have. Pass a path such as 'model.json'."
    )


def names_of(value: object, what: str) -> tuple[str, ...]:
    """A list of names, or one name alone; `what` they name, in the plural.

    Raises:
        InvalidParameter: it is none.
    """
    if isinstance(value, str):
        return (value,)
    try:
        found = None if isinstance(value, Mapping) or not isinstance(value, Iterable) else tuple(value)
    except TypeError:  # an array of no dimension says that it is iterable
        found = None
    if found is None or not all(isinstance(name, str) for name in found):
        raise InvalidParameter(
            f"Names of {what} were to be given, and an object of {type(value).__name__} is no list of texts. Pass a list such as ['age']."
        )
    return tuple(map(str, found))
