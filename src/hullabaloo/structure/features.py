"""The features that a user speaks of, each with the encoded columns that it became."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hullabaloo.data import Encoding
from hullabaloo.data.reference import columns_of
from hullabaloo.errors import InvalidParameter

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
        made: list[tuple[str, tuple[int, ...]]] = [
            (n.feature, (n.column, n.indicator) if n.indicator >= 0 else (n.column,)) for n in layout.numeric
        ]
        made += [(g.feature, (*g.columns, g.missing) if g.missing >= 0 else g.columns) for g in layout.onehot]
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
        place = feature if isinstance(feature, int) and not isinstance(feature, bool) else -1
        if 0 <= place < len(self.places) and self.places[place] >= 0:
            return self.places[place]
        shown = ", ".join(map(repr, self.keys[:20])) + (" and others" if len(self.keys) > 20 else "")
        raise InvalidParameter(
            f"{what} names {feature!r}, which is no feature of the domain. Nothing was read or charged. Name features ({shown}), or "
            f"give the place of a feature, 0 to {len(self.places) - 1}."
        )


def columns_of_feature(encoding: Encoding, name: str) -> list[int]:
    """Places of the columns of a feature, of an interaction "a*b" with all its products, or of one encoded column."""
    if encoding.layout is not None:
        for products in encoding.layout.products:
            if "*".join(products.features) == name:
                return list(products.columns)
    return columns_of(encoding, name)
