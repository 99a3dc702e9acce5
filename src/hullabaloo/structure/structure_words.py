"""Structures in words, however many groups they have."""

from collections.abc import Mapping, Sequence

from hullabaloo.geometry import CustomSetFunction, GroupCover, SetFunction
from hullabaloo.geometry.submodular.tree_cover import TreeCover
from hullabaloo.structure.feature_grid import FeatureGrid
from hullabaloo.structure.feature_tree import FeatureTree
from hullabaloo.structure.not_in_file import NotInFile
from hullabaloo.structure.structure import Structure

SHOWN = 4


def structure_in_words(structure: Structure) -> str:
    """A structure in a few words."""
    if isinstance(structure, FeatureTree | FeatureGrid):
        return structure.in_words()
    if isinstance(structure, SetFunction):
        return function_in_words(structure)
    if structure is None or isinstance(structure, str):
        return "each feature by itself" if structure is None else "contiguous runs of features, in their declared order"
    if isinstance(structure, Mapping):
        return _groups([str(name) for name in structure], "of features")
    if isinstance(structure, Sequence):
        return _groups(["+".join(map(str, group)) for group in structure], "of features")
    return f"a function of the program's own ({name_of(structure)})"


def function_in_words(function: SetFunction) -> str:
    """A set function in a few words."""
    if isinstance(function, NotInFile):
        return f"a function of the program's own ({function.name}), which the file does not hold"
    if isinstance(function, CustomSetFunction):
        return f"a function of the program's own ({name_of(function)})"
    if isinstance(function, GroupCover):
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
    named = structure.function if isinstance(structure, CustomSetFunction) else structure
    return str(getattr(named, "__name__", type(named).__name__))
