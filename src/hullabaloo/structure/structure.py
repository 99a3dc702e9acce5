"""What a user knows about which features belong together, as a set function on the encoded columns."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from hullabaloo import geometry
from hullabaloo.codec import Written
from hullabaloo.data import Encoding
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.submodular.norm import singletons
from hullabaloo.release.parameters import found, positive
from hullabaloo.structure.features import FeatureGrid, Features, FeatureTree, Name

Group = Sequence[str | int]
Groups = Mapping[str, Group] | Sequence[Group] | None
Members = frozenset[Any]
Structure = str | FeatureTree | FeatureGrid | geometry.SetFunction | Callable[[Members], float] | Groups
"""What `structure` may be; see `StructuredSparseRegression`."""

INTERVALS = "intervals"


def set_function(structure: Structure, encoding: Encoding) -> geometry.SetFunction:
    """F on the encoded columns, the intercept apart; all columns of a feature count as the feature.

    Raises:
        InvalidParameter: no structure, or one that does not fit the domain.
    """
    if isinstance(structure, geometry.SetFunction):
        return _fitting(structure, encoding)
    features = Features.of(encoding)
    if isinstance(structure, FeatureTree | FeatureGrid):
        return _tree(structure, features) if isinstance(structure, FeatureTree) else _grid(structure, features)
    if isinstance(structure, str) and structure == INTERVALS:
        return _intervals(features)
    if structure is None and features.plain:
        return geometry.Cardinality()
    if structure is None or (isinstance(structure, Mapping | Sequence) and not isinstance(structure, str)):
        return geometry.GroupCover(overlapping_groups(encoding, structure))
    if callable(structure) and not isinstance(structure, type):
        return _custom(OfFeatures(structure, _keys(features)), encoding)
    given = repr(structure) if isinstance(structure, str) else found(structure).rstrip(",")
    raise InvalidParameter(
        f"The structure was given as {given}. It is a list of groups of features, such as [['age', 'sex'], ['sex', 'dose']], which may "
        "overlap; 'intervals'; hb.FeatureTree({'child': 'parent'}); hb.FeatureGrid(8, 8); a set function such as "
        "hb.Cardinality(); a function of a frozenset of features; or None, for features that enter one by one."
    )


def least(function: geometry.SetFunction, columns: int) -> float:
    """min_j F({j}): the norm of the cheapest column's unit vector."""
    if isinstance(function, NotInFile):
        return function.least
    return float(singletons(function, columns).min())


def shape_of(
    structure: Structure, radius: float, strength: float | None, encoding: Encoding
) -> tuple[geometry.ConvexSet | None, geometry.Penalty]:
    """The default ball of a structure, {Ω(θ) ≤ radius · min_j F({j})}, or with a strength its penalty, strength · Ω / min_j F({j}).

    One coefficient alone may then be as large as the radius, or costs its size times the strength, if its column is among
    the cheapest; others may be less, or cost more.

    Raises:
        InvalidParameter: no structure of these features; or no radius or strength above 0.
    """
    function, columns = set_function(structure, encoding), len(encoding.feature_names_out)
    one = least(function, columns)
    if strength is not None:
        weight = positive("strength", strength, "what one coefficient alone costs for its size")
        return None, geometry.SubmodularPenalty(function, weight / one)
    size = positive("radius", radius, "the largest that one coefficient alone may be")
    return geometry.SubmodularBall(function, size * one), geometry.NoPenalty()


@dataclass(frozen=True, slots=True)
class OfFeatures:
    """A user's function of a set of features, as one of a set of encoded columns."""

    function: Callable[[Members], float]
    keys: tuple[Name, ...]  # of the feature that a column belongs to

    def __call__(self, columns: frozenset[int]) -> float:
        """F of the features that these columns belong to."""
        chosen = frozenset(self.keys[column] for column in columns)
        try:
            return self.function(chosen)
        except Exception as error:  # reason: a user's function may raise anything, of which only the kind is told
            shown = f"{len(chosen)} features, such as {sorted(chosen, key=str)[:3]!r}" if chosen else "the empty set"
            raise InvalidParameter(
                f"The structure is a function, and it raised {type(error).__name__} for {shown}. It must give a number for every set of features, 0 for the empty one."
            ) from error

    @property
    def __name__(self) -> str:
        """The function's own."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))


def _custom(function: "OfFeatures", encoding: Encoding) -> geometry.SetFunction:
    columns = encoding.feature_names_out
    try:
        return geometry.CustomSetFunction(function, len(columns))
    except InvalidParameter as error:
        shown = ", ".join(f"{place} is {name!r}" for place, name in enumerate(columns[:6]))
        raise InvalidParameter(
            f"{error} Columns are numbered here as they are encoded: {shown}{', and so on' if len(columns) > 6 else ''}. Nothing was read or charged."
        ) from error


def _keys(features: Features) -> tuple[Name, ...]:
    owner = {column: key for key, block in zip(features.keys, features.blocks, strict=True) for column in block}
    return tuple(owner[column] for column in sorted(owner))


def _fitting(function: geometry.SetFunction, encoding: Encoding) -> geometry.SetFunction:
    columns = encoding.feature_names_out
    if function.dimension not in (None, len(columns)):
        shown = ", ".join(columns[:10]) + (", and so on" if len(columns) > 10 else "")
        raise InvalidParameter(
            f"The structure is {found(function)} of {function.dimension} columns, but {len(columns)} encoded columns get a "
            f"coefficient ({shown}). Nothing was read or charged. Make it of as many, in this order; or give the structure in terms "
            "of features: groups, 'intervals', hb.FeatureTree, hb.FeatureGrid."
        )
    return function


def _lifted(
    groups: Iterable[Iterable[int]], features: Features, weights: tuple[float, ...] | None = None
) -> geometry.GroupCover:
    """A cover of features as one of columns."""
    return geometry.GroupCover(tuple(features.columns(group) for group in groups), weights)


def _tree(tree: FeatureTree, features: Features) -> geometry.SetFunction:
    above = tree.above(features)
    if features.plain and all(len(parents) < 2 for parents in above):
        return geometry.GroupCover.tree([parents[0] if parents else -1 for parents in above])
    return _lifted(tree.groups(features), features)


def _intervals(features: Features) -> geometry.SetFunction:
    """Of features of one column each, the family itself; else the cover that it equals, of whole features."""
    count = _ordered(features, "The structure 'intervals' is over features in their declared order")
    if features.plain:
        return geometry.Intervals(count)
    ends = [range(stop) for stop in range(1, count)] + [range(start, count) for start in range(1, count)]
    return _lifted([*ends, range(count)], features)


def _grid(grid: FeatureGrid, features: Features) -> geometry.SetFunction:
    count = _ordered(features, "The structure is a grid of features")
    if grid.rows * grid.columns != count:
        raise InvalidParameter(
            f"The grid has {grid.rows} × {grid.columns} = {grid.rows * grid.columns} pixels, but the domain has {count} features. "
            "Nothing was read or charged. Give a grid of as many, row by row."
        )
    made = geometry.GroupCover.grid(grid.rows, grid.columns, grid.window)
    return made if features.plain else _lifted(made.groups, features, made.weights)


def _ordered(features: Features, what: str) -> int:
    """The number of features; interactions have no place among them."""
    if len(features.keys) > features.declared:
        raise InvalidParameter(
            f"{what}, and the domain declares interactions ({features.keys[features.declared]!r}), which have no place among them. "
            "Nothing was read or charged. Leave the interactions out, or give groups or an hb.FeatureTree."
        )
    return features.declared


# Groups of a user's features as groups of encoded columns.


def column_groups(encoding: Encoding, groups: Groups) -> tuple[tuple[int, ...], ...]:
    """A partition of the encoded columns (the intercept apart) that keeps the named features together.

    Raises:
        InvalidParameter: no lists of names and places, an unknown one, or a column in two groups.
    """
    features, made = Features.of(encoding), list[tuple[int, ...]]()
    where: dict[int, str | int] = {}
    for group in _lists(groups):
        columns: list[int] = []
        for feature in group:
            places = _places(features, encoding, feature)
            taken = [place for place in places if place in where]
            if taken:
                before = where[taken[0]]
                names = f"twice by {feature!r}" if before == feature else f"by {before!r} and by {feature!r}"
                raise InvalidParameter(
                    f"The groups overlap: the column {encoding.feature_names_out[taken[0]]!r} is named {names}. Nothing was read or "
                    "charged. A column belongs to one group here: name each feature once. Groups may overlap as the structure of "
                    "hb.StructuredSparseRegression or hb.StructuredSparseClassifier, structure=[['age', 'sex'], ['sex', 'dose']]."
                )
            where.update(dict.fromkeys(places, feature))
            columns += places
        made.append(tuple(columns))
    rest = [tuple(place for place in block if place not in where) for block in sorted(features.blocks)]
    return (*made, *(block for block in rest if block))


def overlapping_groups(encoding: Encoding, groups: Groups) -> tuple[tuple[int, ...], ...]:
    """Groups of encoded columns that may overlap, and each feature that none of them names as a group of its own.

    Raises:
        InvalidParameter: no lists of names and places, or an unknown one.
    """
    features = Features.of(encoding)
    made = [
        tuple(sorted({place for one in group for place in _places(features, encoding, one)}))
        for group in _lists(groups)
    ]
    named = {place for group in made for place in group}
    rest = [tuple(place for place in block if place not in named) for block in sorted(features.blocks)]
    return tuple(group for group in (*made, *rest) if group)


def _lists(groups: Groups) -> Sequence[Group]:
    named = list(groups.values()) if isinstance(groups, Mapping) else [] if groups is None else groups
    if isinstance(named, str) or not isinstance(named, Sequence):
        raise InvalidParameter(
            f"The groups are lists of features, such as groups=[['age', 'sex'], ['dose']], but {groups!r} was given."
        )
    for group in named:
        if isinstance(group, str | int) or not isinstance(group, Sequence) or not group:
            hint = ""
            if isinstance(group, str):
                hint = " One group alone is a list in a list, [['age', 'sex']]."
                if isinstance(groups, Mapping):
                    hint = " A child and its parent are hb.FeatureTree({'child': 'parent'})."
            raise InvalidParameter(
                f"Each group is a list of at least one feature, such as ['age', 'sex'], but {group!r} was given among the groups.{hint}"
            )
    return named


def _places(features: Features, encoding: Encoding, feature: object) -> Sequence[int]:
    """The columns of a feature or interaction, or one encoded column by its name."""
    columns = encoding.feature_names_out
    if isinstance(feature, str) and feature in columns and feature not in features.numbers:
        return [columns.index(feature)]
    return features.blocks[features.find(feature, "A group")]


# What a file keeps of a set function that it cannot hold.


@dataclass(frozen=True, slots=True)
class NotInFile(Written, geometry.SetFunction):
    """What a saved model keeps of a function that only its program knows: name, number of columns, and `least`.

    A model that was loaded predicts and is described as before; to fit it again it needs the function.
    """

    name: str
    columns: int
    least: float
    kind = "not-in-file"

    @property
    def dimension(self) -> int | None:
        """The number of encoded columns."""
        return self.columns

    def refuse(self, *_: Any, **__: Any) -> NoReturn:
        """Say why nothing can be computed of it."""
        raise InvalidParameter(
            f"This model was saved, and its structure was the function {self.name!r} of a program, which a file cannot hold. What was "
            "released is all there, but to fit again the function is needed: model.set_params(structure=...), or constraint=... or "
            "penalty=... where it was given there. Nothing was read or charged."
        )

    value = gains = gaussian_width = refuse
