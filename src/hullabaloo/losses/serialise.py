"""Losses from plain data."""

from collections.abc import Mapping
from typing import Any

from hullabaloo.errors import InvalidParameter
from hullabaloo.losses.base import Loss
from hullabaloo.losses.squared import Squared

_KINDS: dict[str, type[Loss]] = {"squared": Squared}


def loss_from_dict(data: Mapping[str, Any]) -> Loss:
    """The loss that `to_dict` described; `InvalidParameter` when the description is not one of a loss."""
    arguments = dict(data)
    kind = arguments.pop("kind", None)
    if kind not in _KINDS:
        raise InvalidParameter(f"{kind!r} is not the kind of a loss; the kinds are {', '.join(sorted(_KINDS))}.")
    try:
        return _KINDS[kind](**arguments)
    except TypeError as error:
        raise InvalidParameter(
            f"A loss of kind {kind!r} cannot be made from {sorted(arguments)}; use what its to_dict() gives."
        ) from error
