"""Set functions from plain data and from the short text of a command line."""

from collections.abc import Mapping
from typing import Any

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.submodular.base import SetFunction
from hullabaloo.geometry.submodular.bounded_cardinality import BoundedCardinality
from hullabaloo.geometry.submodular.cardinality import Cardinality
from hullabaloo.geometry.submodular.concave_cardinality import ConcaveCardinality

SET_FUNCTIONS: dict[str, type[SetFunction]] = {
    "cardinality": Cardinality,
    "bounded-cardinality": BoundedCardinality,
    "concave-cardinality": ConcaveCardinality,
}


def set_function_from_dict(data: Mapping[str, Any]) -> SetFunction:
    """The set function that `to_dict` described; `InvalidParameter` when the description is not one."""
    arguments = dict(data)
    kind = arguments.pop("kind", None)
    if kind not in SET_FUNCTIONS:
        raise InvalidParameter(
            f"{kind!r} is not the kind of a set function; the kinds are {', '.join(sorted(SET_FUNCTIONS))}."
        )
    try:
        return SET_FUNCTIONS[kind](**arguments)
    except TypeError as error:
        raise InvalidParameter(
            f"A set function of kind {kind!r} cannot be made from {sorted(arguments)}; use what its to_dict() gives."
        ) from error


def set_function_from_text(text: str) -> SetFunction:
    """The set function of a command line: `cardinality`, `top;BOUND`, `sorted;WEIGHT,WEIGHT…`."""
    word, _, rest = text.strip().partition(";")
    try:
        if word == "cardinality" and not rest:
            return Cardinality()
        if word == "top":
            return BoundedCardinality(int(rest))
        if word == "sorted":
            return ConcaveCardinality(tuple(float(part) for part in rest.split(",")))
    except InvalidParameter:
        raise
    except ValueError as error:
        raise InvalidParameter(f"{text!r} names no set function, as {rest!r} cannot be read.") from error
    raise InvalidParameter(f"{text!r} names no set function; write cardinality, top;3 or sorted;3,2,1.")
