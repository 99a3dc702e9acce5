"""A tree over features: a child enters a model only where its parent does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from hullabaloo.errors import InvalidParameter
from hullabaloo.structure.features import Features, Name

SHOWN = 6


@final
@dataclass(frozen=True, slots=True, repr=False)
class FeatureTree:
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

    def __init__(self, parents: Mapping[Name, Name | Sequence[Name]]) -> None:
        if not isinstance(parents, Mapping):
            raise InvalidParameter(
                f"A tree is a mapping from each child to its parent, such as hb.FeatureTree({{'left': 'top'}}), but {parents!r} "
                "was given."
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

    def to_dict(self) -> dict[str, Any]:
        """{"kind": "feature-tree", "parents": [[child, [parent, …]], …]}."""
        return {"kind": "feature-tree", "parents": [[child, list(above)] for child, above in self.parents]}


def _falling(above: Sequence[tuple[int, ...]], features: Features) -> list[int]:
    """Every feature after all its parents; refuses circles."""
    waiting = [len(parents) for parents in above]
    children: list[list[int]] = [[] for _ in above]
    for number, parents in enumerate(above):
        for parent in parents:
            children[parent].append(number)
    order = [number for number, left in enumerate(waiting) if not left]
    for number in order:  # grows while it is read
        for child in children[number]:
            waiting[child] -= 1
            if not waiting[child]:
                order.append(child)
    if len(order) < len(above):
        names = " under ".join(repr(features.keys[number]) for number in _circle(above, waiting)[:SHOWN])
        raise InvalidParameter(
            f"The tree goes in a circle: {names}. Nothing was read or charged. Leave one of these out of the parents, so that it is "
            "a root."
        )
    return order


def _circle(above: Sequence[tuple[int, ...]], waiting: Sequence[int]) -> list[int]:
    """A circle, its first member again at the end; what waits for ever has a parent that does."""
    path = [next(number for number, left in enumerate(waiting) if left)]
    while True:
        following = next(parent for parent in above[path[-1]] if waiting[parent])
        if following in path:
            return [*path[path.index(following) :], following]
        path.append(following)


def _name(value: object) -> Name:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise InvalidParameter(
        f"A tree names features by their names or places, such as hb.FeatureTree({{'left': 'top'}}), but {value!r} was given."
    )


def _names(value: object) -> tuple[Name, ...]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        if not value:
            raise InvalidParameter(
                "A tree gives a feature an empty list of parents. A root is no key of it: leave the feature out."
            )
        return tuple(map(_name, value))
    return (_name(value),)


def _plain(above: tuple[Name, ...]) -> Any:
    return above[0] if len(above) == 1 else list(above)
