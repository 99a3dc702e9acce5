"""Structures in files, what of them a saved model holds; and in words, however many groups they have."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from hullabaloo import geometry
from hullabaloo.data import Encoding
from hullabaloo.geometry.submodular.tree_cover import TreeCover
from hullabaloo.structure.features import FeatureGrid, FeatureTree
from hullabaloo.structure.structure import NotInFile, Structure, least, set_function

T = TypeVar("T")
SHOWN = 4


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
    if isinstance(structure, geometry.SetFunction):
        return function_to_dict(structure, columns)
    return function_to_dict(set_function(structure, encoding), columns)


def function_to_dict(function: geometry.SetFunction, columns: int) -> dict[str, Any]:
    """A set function as JSON-ready values; what `NotInFile` keeps, where these would not give it back."""
    try:
        data: dict[str, Any] = json.loads(json.dumps(function.to_dict(), allow_nan=False))
        if isinstance(function, NotInFile) or geometry.set_function_from_dict(data) == function:
            return data
    except Exception:  # reason: a family of the user's own may raise anything, and the release was paid for
        pass
    return NotInFile(name_of(function), columns, least(function, columns)).to_dict()


def function_from_dict(data: Mapping[str, Any]) -> geometry.SetFunction:
    """What `function_to_dict` described."""
    if data["kind"] == NotInFile.kind:
        return NotInFile(data["name"], data["columns"], data["least"])
    return geometry.set_function_from_dict(data)


def shape_to_dict(shape: geometry.ConvexSet | geometry.Penalty | None, encoding: Encoding) -> dict[str, Any] | None:
    """A set or penalty as JSON-ready values, whatever function it is of."""
    if isinstance(shape, geometry.SubmodularBall | geometry.SubmodularPenalty):
        function = function_to_dict(shape.function, len(encoding.feature_names_out))
        if function["kind"] == NotInFile.kind:
            size = shape.radius if isinstance(shape, geometry.SubmodularBall) else shape.strength
            return {"kind": NotInFile.kind, "function": function, "size": size}
    return None if shape is None else shape.to_dict()


def set_in_file(data: Mapping[str, Any] | None) -> geometry.ConvexSet | None:
    """The set that `shape_to_dict` described."""
    return _in_file(data, geometry.SubmodularBall, geometry.set_from_dict)


def penalty_in_file(data: Mapping[str, Any] | None) -> geometry.Penalty | None:
    """The penalty that `shape_to_dict` described."""
    return _in_file(data, geometry.SubmodularPenalty, geometry.penalty_from_dict)


def _in_file(
    data: Mapping[str, Any] | None, of: Callable[[geometry.SetFunction, float], T], read: Callable[..., T]
) -> T | None:
    if data is not None and data["kind"] == NotInFile.kind:
        return of(function_from_dict(data["function"]), data["size"])
    return None if data is None else read(data)


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


# Structures in words.


def structure_in_words(structure: Structure) -> str:
    """A structure in a few words."""
    if isinstance(structure, FeatureTree | FeatureGrid):
        return structure.in_words()
    if isinstance(structure, geometry.SetFunction):
        return function_in_words(structure)
    if structure is None or isinstance(structure, str):
        return "each feature by itself" if structure is None else "contiguous runs of features, in their declared order"
    if isinstance(structure, Mapping):
        return _groups([str(name) for name in structure], "of features")
    if isinstance(structure, Sequence):
        return _groups(["+".join(map(str, group)) for group in structure], "of features")
    return f"a function of the program's own ({name_of(structure)})"


def function_in_words(function: geometry.SetFunction) -> str:
    """A set function in a few words."""
    if isinstance(function, NotInFile):
        return f"a function of the program's own ({function.name}), which the file does not hold"
    if isinstance(function, geometry.CustomSetFunction):
        return f"a function of the program's own ({name_of(function)})"
    if isinstance(function, geometry.GroupCover):
        return _groups(["+".join(map(str, group)) for group in function.groups], "of encoded columns")
    if isinstance(function, TreeCover):
        below = sum(parent >= 0 for parent in function.parents)
        return f"a tree, {_count(below, 'encoded column')} below others: each enters only with its parent"
    try:
        data = function.to_dict()
    except Exception:  # reason: a family of the user's own may raise anything, and the release was paid for
        data = {}
    inside = ", ".join(f"{key} {value:g}" for key, value in data.items() if isinstance(value, int | float))
    return type(function).__name__ + (f" ({inside})" if inside else "")


def _groups(names: Sequence[str], what: str) -> str:
    short = [name if len(name) <= 40 else f"{name[:37]}..." for name in names[:SHOWN]]
    more = ", ..." if len(names) > SHOWN else ""
    return f"{_count(len(names), 'group')} {what} ({', '.join(short)}{more})"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def name_of(structure: object) -> str:
    """The name of a function, or of what is callable."""
    named = structure.function if isinstance(structure, geometry.CustomSetFunction) else structure
    return str(getattr(named, "__name__", type(named).__name__))
