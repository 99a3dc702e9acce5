"""The features that a user speaks of, each with the encoded columns that it became; trees and grids of features."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any

from hullabaloo.codec import Written, settle
from hullabaloo.data import Encoding
from hullabaloo.errors import InvalidParameter, as_whole, is_whole

Name = str | int
"""A feature by its name, or by its place in the declaration, from 0."""


@dataclass(frozen=True, slots=True)
class Features:
    """Features and interactions in the order of their encoded columns; one that became no column is none.

    `keys[i]`: the name of number i, "a*b" of an interaction, the place where a prepared matrix has no names. `blocks[i]`:
    its columns, in turn and together all of them. `declared`: how many of the first are features; the rest are
    interactions. `places[j]`: the number of declared feature j, or −1.
    """

    keys: tuple[Name, ...]
    blocks: tuple[tuple[int, ...], ...]
    declared: int
    places: tuple[int, ...]
    numbers: Mapping[Name, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", {key: number for number, key in enumerate(self.keys)})

    @staticmethod
    def of(encoding: Encoding) -> "Features":
        """Those of an encoding."""
        layout, names = encoding.layout, encoding.feature_names_in
        if layout is None:
            width = encoding.n_features_in
            numbers = tuple(range(width))
            return Features(names if names is not None else numbers, tuple((j,) for j in numbers), width, numbers)
        assert names is not None
        made = [(one.feature, one.places) for one in layout.features]
        kept = sorted(((name, block) for name, block in made if block), key=lambda pair: pair[1])
        crossed = [("*".join(products.features), products.columns) for products in layout.products]
        both = [*kept, *((name, block) for name, block in crossed if block)]
        number = {name: place for place, (name, _) in enumerate(kept)}
        return Features(
            tuple(name for name, _ in both),
            tuple(block for _, block in both),
            len(kept),
            tuple(number.get(name, -1) for name in names),
        )

    @property
    def plain(self) -> bool:
        """Whether each feature is one column, so that numbers of features are numbers of columns."""
        return all(len(block) == 1 for block in self.blocks)

    def columns(self, numbers: Iterable[int]) -> tuple[int, ...]:
        """The columns of these features, rising."""
        return tuple(sorted(column for number in numbers for column in self.blocks[number]))

    def find(self, feature: object, what: str) -> int:
        """The number of a feature by name or place; `what` begins the refusal, such as "The tree".

        Raises:
            InvalidParameter: there is no such feature.
        """
        if isinstance(feature, str) and feature in self.numbers:
            return self.numbers[feature]
        place = feature if is_whole(feature, 0) else -1
        if 0 <= place < len(self.places) and self.places[place] >= 0:
            return self.places[place]
        shown = ", ".join(map(repr, self.keys[:20])) + (" and others" if len(self.keys) > 20 else "")
        raise InvalidParameter(
            f"{what} names {feature!r}, which is no feature of the domain. Nothing was read or charged. Name features ({shown}), or "
            f"give the place of a feature, 0 to {len(self.places) - 1}."
        )


@dataclass(frozen=True, slots=True)
class FeatureGrid(Written):
    """The declared features are pixels of `rows` × `columns`, row by row: `FeatureGrid(8, 8)`.

    Without a window, supports are rectangles: groups are the half-planes from the four sides, as intervals are made from
    two. `window=k`: groups are all k × k windows, cut off at the border, and where a window is zero, all of it is;
    in a grid of one row they are stretches of k neighbours.

    Raises:
        InvalidParameter: no whole numbers above 0, or a window larger than the grid.
    """

    rows: int
    columns: int
    window: int | None = None
    kind = "feature-grid"

    def __post_init__(self) -> None:
        for name in ("rows", "columns", *(["window"] if self.window is not None else [])):
            said = f"A grid is given by whole numbers above 0, such as hb.FeatureGrid(8, 8) or hb.FeatureGrid(8, 8, window=3), but {name}={{!r}} was given."
            settle(self, **{name: as_whole(getattr(self, name), said)})
        if self.window is not None and self.window > max(self.rows, self.columns):
            raise InvalidParameter(
                f"A window of {self.window} × {self.window} pixels does not fit a grid of {self.rows} × {self.columns}. Give less."
            )

    def in_words(self) -> str:
        """The grid in a few words."""
        left = "rectangles" if self.window is None else f"what windows of {self.window} × {self.window} leave"
        return f"pixels of a grid of {self.rows} × {self.columns}: {left}"


# A tree over features: a child enters a model only where its parent does.


SHOWN = 6


@dataclass(frozen=True, slots=True, repr=False)
class FeatureTree(Written):
    """Which feature hangs under which: `FeatureTree({"child": "parent"})`, features by name or by their place.

    A feature that is no key is a root. A child may have several parents, `{"age*dose": ["age", "dose"]}`, and then enters
    only with all of them. Interactions of the domain are named as they are there, "age*dose".

    The group of a feature is itself with everything below it, `F(A) = Σ_G 1[A ∩ G ≠ ∅]` counts A with everything above
    it, and `Ω(w) = Σ_G max_{j ∈ G} |w_j|`. Ω sets whole groups to zero: a feature with all below it. So what is left holds the
    parents of all its members: interactions only with their main effects, fine wavelets only under coarse ones
    (Jenatton, Mairal, Obozinski, Bach 2011).

    >>> FeatureTree({"dose*age": ["dose", "age"]})
    FeatureTree({'dose*age': ['dose', 'age']})

    Raises:
        InvalidParameter: no mapping from a feature to a feature or a list of them. Unknown features and circles are
            refused when the tree meets a domain, before anything is charged.
    """

    parents: tuple[tuple[Name, tuple[Name, ...]], ...]
    kind = "feature-tree"

    def __init__(self, parents: Mapping[Name, Name | Sequence[Name]]) -> None:
        if not isinstance(parents, Mapping):
            raise InvalidParameter(
                f"A tree maps each child to its parent, such as hb.FeatureTree({{'left': 'top'}}), and is not {parents!r}."
            )
        object.__setattr__(self, "parents", tuple((_name(child), _names(above)) for child, above in parents.items()))

    def __repr__(self) -> str:
        shown = [f"{child!r}: {_plain(above)!r}" for child, above in self.parents[:SHOWN]]
        more = len(self.parents) - SHOWN
        return f"FeatureTree({{{', '.join(shown)}{f', and {more} more' if more > 0 else ''}}})"

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return FeatureTree, (dict(self.parents),)

    def above(self, features: Features) -> list[tuple[int, ...]]:
        """The parents of each feature, as numbers of features; none of a root.

        Raises:
            InvalidParameter: an unknown feature, one named twice, or a circle.
        """
        above: list[tuple[int, ...]] = [()] * len(features.keys)
        for child, parents in self.parents:
            number = features.find(child, "The tree")
            if above[number]:
                raise InvalidParameter(
                    f"The tree names {features.keys[number]!r} twice as a child, by name and by place. Nothing was read or charged. "
                    "Name each child once, with the list of its parents."
                )
            above[number] = tuple(dict.fromkeys(features.find(parent, "The tree") for parent in parents))
        _falling(above, features)
        return above

    def groups(self, features: Features) -> list[set[int]]:
        """For each feature, in order: itself and all below it, as numbers of features; raises as `above` does."""
        above = self.above(features)
        below = [{number} for number in range(len(above))]
        for number in reversed(_falling(above, features)):
            for parent in above[number]:
                below[parent] |= below[number]
        return below

    def in_words(self) -> str:
        """The tree in a few words."""
        count = len(self.parents)
        return f"a tree, {count:,} feature{'' if count == 1 else 's'} below others: each enters only with its parents"


def _falling(above: Sequence[tuple[int, ...]], features: Features) -> list[int]:
    """Every feature after all its parents; refuses circles."""
    try:
        return list(TopologicalSorter(dict(enumerate(above))).static_order())
    except CycleError as error:
        circle = error.args[1][::-1]  # each member before its parent, the first again at the end
    names = " under ".join(repr(features.keys[number]) for number in circle[:SHOWN])
    raise InvalidParameter(
        f"The tree goes in a circle: {names}. Nothing was read or charged. Leave one of these out of the parents, so that it is a root."
    )


def _name(value: object) -> Name:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise InvalidParameter(
        f"A tree names features by their names or places, such as hb.FeatureTree({{'left': 'top'}}), but {value!r} was given."
    )


def _names(value: object) -> tuple[Name, ...]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        if not value:
            raise InvalidParameter("A tree gives a feature no parents. A root is no key of it: leave it out.")
        return tuple(map(_name, value))
    return (_name(value),)


def _plain(above: tuple[Name, ...]) -> Any:
    return above[0] if len(above) == 1 else list(above)
