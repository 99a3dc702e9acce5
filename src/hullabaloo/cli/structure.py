"""A structure of features from the text of a command line."""

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from hullabaloo.errors import InvalidParameter

if TYPE_CHECKING:
    from hullabaloo.data import Domain
    from hullabaloo.structure.features import Name
    from hullabaloo.structure.structure import Structure

FORMS = (
    "'features', 'intervals', 'cover;0-2;2,3' or 'cover;age,ward;ward,dose' (groups, which may overlap), 'tree;dose:age;ward:age' "
    "(child:parent), 'grid;8,8' or 'grid;8,8,3' (rows, columns, window), or a set function such as 'top;3'"
)


def structure_from_text(text: str, domain: "Domain | None") -> "Structure":
    """The structure of `--structure`; features by the domain's names or by their places from 0.

    >>> structure_from_text("cover;0-2;2,3", None)
    [[0, 1, 2], [2, 3]]
    >>> structure_from_text("tree;2:0,1", None)
    FeatureTree({2: [0, 1]})

    Raises:
        InvalidParameter: it cannot be read.
    """
    from hullabaloo.geometry import set_function_from_text
    from hullabaloo.linear_model import FeatureGrid, FeatureTree

    word, *parts = (part.strip() for part in text.split(";"))
    known = () if domain is None else (*domain.feature_names, *("*".join(pair) for pair in domain.interactions))
    if word in ("features", "intervals") and not parts:
        return None if word == "features" else word
    if word == "cover" and parts:
        return [_features(part, known) for part in parts]
    if word == "tree" and parts:
        pairs = [_pair(part, text) for part in parts]
        children = [_feature(child, known) for child, _ in pairs]
        if len(set(children)) < len(children):
            twice = next(child for child in children if children.count(child) > 1)
            raise InvalidParameter(
                f"The structure {text!r} names {twice!r} twice as a child. Name each child once; several parents have commas between "
                "them, child:parent,parent."
            )
        return FeatureTree(dict(zip(children, (_features(above, known) for _, above in pairs), strict=True)))
    if word == "grid" and len(parts) == 1:
        numbers = [part.strip() for part in parts[0].split(",")]
        if len(numbers) in (2, 3) and all(map(str.isdecimal, numbers)):
            return FeatureGrid(*map(int, numbers))
    elif word in ("cardinality", "top", "sorted"):
        return set_function_from_text(text)
    raise InvalidParameter(f"The structure {text!r} cannot be read. Nothing was read or charged. Write {FORMS}.")


def _features(text: str, known: Collection[str]) -> "list[Name]":
    found: list[Name] = []
    for part in (part.strip() for part in text.split(",")):
        run = re.fullmatch(r"(\d+)-(\d+)", part)
        if run is None or part in known:
            found.append(_feature(part, known))
            continue
        first, last = map(int, run.groups())
        if last < first:
            raise InvalidParameter(
                f"The structure names the places {part!r}, which run backwards. Nothing was read or charged. Write '{last}-{first}'."
            )
        found += range(first, last + 1)
    return found


def _feature(text: str, known: Collection[str]) -> "Name":
    """A name where the domain knows it, else a place where it is a whole number."""
    return int(text) if text not in known and text.isdecimal() else text


def _pair(part: str, text: str) -> tuple[str, str]:
    child, colon, parents = part.rpartition(":")
    if not colon or not child.strip() or not parents.strip():
        raise InvalidParameter(
            f"The structure {text!r} has {part!r}, which is no child:parent. Nothing was read or charged. Write for example "
            "'tree;dose:age;ward:age', several parents with commas between them."
        )
    return child.strip(), parents
