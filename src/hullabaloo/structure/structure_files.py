"""Structures in files: what of them a saved model holds."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hullabaloo.data import Encoding
from hullabaloo.geometry import (
    ConvexSet,
    Penalty,
    SetFunction,
    SubmodularBall,
    SubmodularPenalty,
    penalty_from_dict,
    set_from_dict,
    set_function_from_dict,
)
from hullabaloo.structure.feature_grid import FeatureGrid
from hullabaloo.structure.feature_tree import FeatureTree
from hullabaloo.structure.not_in_file import NotInFile
from hullabaloo.structure.structure import Structure, least, set_function
from hullabaloo.structure.structure_words import name_of


def structure_to_dict(structure: Structure, encoding: Encoding) -> Any:
    """A structure as JSON-ready values; of a function that has no text form, what `NotInFile` keeps."""
    if structure is None or isinstance(structure, str):
        return structure
    if isinstance(structure, FeatureTree | FeatureGrid):
        return structure.to_dict()
    if isinstance(structure, Mapping):
        return {"kind": "groups", "groups": {str(name): list(group) for name, group in structure.items()}}
    if isinstance(structure, Sequence):
        return [list(group) for group in structure]
    columns = len(encoding.feature_names_out)
    if isinstance(structure, SetFunction):
        return function_to_dict(structure, columns)
    return function_to_dict(set_function(structure, encoding), columns)


def function_to_dict(function: SetFunction, columns: int) -> dict[str, Any]:
    """A set function as JSON-ready values; what `NotInFile` keeps, where these would not give it back."""
    try:
        data: dict[str, Any] = json.loads(json.dumps(function.to_dict(), allow_nan=False))
        if isinstance(function, NotInFile) or set_function_from_dict(data) == function:
            return data
    except Exception:  # reason: a family of the user's own may raise anything, and the release was paid for
        pass
    return NotInFile(name_of(function), columns, least(function, columns)).to_dict()


def function_from_dict(data: Mapping[str, Any]) -> SetFunction:
    """What `function_to_dict` described."""
    if data["kind"] == NotInFile.KIND:
        return NotInFile(data["name"], data["columns"], data["least"])
    return set_function_from_dict(data)


def shape_to_dict(shape: ConvexSet | Penalty | None, encoding: Encoding) -> dict[str, Any] | None:
    """A set or penalty as JSON-ready values, whatever function it is of."""
    if isinstance(shape, SubmodularBall | SubmodularPenalty):
        function = function_to_dict(shape.function, len(encoding.feature_names_out))
        if function["kind"] == NotInFile.KIND:
            size = shape.radius if isinstance(shape, SubmodularBall) else shape.strength
            return {"kind": NotInFile.KIND, "function": function, "size": size}
    return None if shape is None else shape.to_dict()


def set_in_file(data: Mapping[str, Any] | None) -> ConvexSet | None:
    """The set that `shape_to_dict` described."""
    if data is not None and data["kind"] == NotInFile.KIND:
        return SubmodularBall(function_from_dict(data["function"]), data["size"])
    return None if data is None else set_from_dict(data)


def penalty_in_file(data: Mapping[str, Any] | None) -> Penalty | None:
    """The penalty that `shape_to_dict` described."""
    if data is not None and data["kind"] == NotInFile.KIND:
        return SubmodularPenalty(function_from_dict(data["function"]), data["size"])
    return None if data is None else penalty_from_dict(data)


def structure_from_dict(data: Any) -> Structure:
    """What `structure_to_dict` described."""
    if not isinstance(data, Mapping):
        return data  # type: ignore[no-any-return]
    kinds: dict[str, Callable[[Mapping[str, Any]], Structure]] = {
        "groups": lambda one: one["groups"],
        "feature-tree": lambda one: FeatureTree(dict(one["parents"])),
        "feature-grid": lambda one: FeatureGrid(one["rows"], one["columns"], one["window"]),
    }
    return kinds.get(data["kind"], function_from_dict)(data)
