"""Groups of a user's features as groups of encoded columns."""

from collections.abc import Mapping, Sequence

from hullabaloo.data import Encoding
from hullabaloo.data.reference import blocks
from hullabaloo.errors import InvalidParameter
from hullabaloo.structure.features import columns_of_feature

Group = Sequence[str | int]
Groups = Mapping[str, Group] | Sequence[Group] | None


def column_groups(encoding: Encoding, groups: Groups) -> tuple[tuple[int, ...], ...]:
    """A partition of the encoded columns (the intercept apart) that keeps the named features together.

    Raises:
        InvalidParameter: no lists of names and places, an unknown one, or a column in two groups.
    """
    made: list[tuple[int, ...]] = []
    where: dict[int, str | int] = {}
    for group in _lists(groups):
        columns: list[int] = []
        for feature in group:
            places = _places(encoding, feature)
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
    rest = [tuple(place for place in block if place not in where) for block in blocks(encoding)]
    return (*made, *(block for block in rest if block))


def overlapping_groups(encoding: Encoding, groups: Groups) -> tuple[tuple[int, ...], ...]:
    """Groups of encoded columns that may overlap, and each feature that none of them names as a group of its own.

    Raises:
        InvalidParameter: no lists of names and places, or an unknown one.
    """
    made = [tuple(sorted({place for one in group for place in _places(encoding, one)})) for group in _lists(groups)]
    named = {place for group in made for place in group}
    rest = [tuple(place for place in block if place not in named) for block in blocks(encoding)]
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


def _places(encoding: Encoding, feature: object) -> list[int]:
    names = encoding.feature_names_in
    if isinstance(feature, int) and not isinstance(feature, bool):
        if 0 <= feature < encoding.n_features_in:
            if encoding.layout is None:
                return [feature]
            assert names is not None
            return columns_of_feature(encoding, names[feature])
    elif isinstance(feature, str):
        places = columns_of_feature(encoding, feature)
        if places:
            return places
    every = names or encoding.feature_names_out
    known = ", ".join(map(repr, every[:20])) + (" and others" if len(every) > 20 else "")
    raise InvalidParameter(
        f"A group names {feature!r}, which is no feature of the domain. Name features ({known}) or encoded columns, or give the "
        f"place of a feature, 0 to {encoding.n_features_in - 1}."
    )
