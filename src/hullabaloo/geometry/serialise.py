"""All sets, penalties and set functions: from plain data, from the short text of a command line, and by what they can do."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from hullabaloo.codec import made, table
from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.geometry import penalty
from hullabaloo.geometry.base import ConvexSet, HasFaces, HasGauge, HasMirrorMap, HasVertices, Projectable
from hullabaloo.geometry.box import Box, Simplex
from hullabaloo.geometry.elastic_ball import ElasticBall
from hullabaloo.geometry.intercept import PenaltyWithFreeIntercept, WithIntercept, with_intercept
from hullabaloo.geometry.norm_balls import L1Ball, L2Ball, LpBall
from hullabaloo.geometry.polytope import Polytope
from hullabaloo.geometry.size_balls import GroupBall, NuclearBall
from hullabaloo.geometry.submodular.base import SetFunction
from hullabaloo.geometry.submodular.cardinality import BoundedCardinality, Cardinality, ConcaveCardinality
from hullabaloo.geometry.submodular.group_cover import GroupCover, Intervals
from hullabaloo.geometry.submodular.shapes import SubmodularBall, SubmodularPenalty, SubmodularPolyhedron
from hullabaloo.geometry.submodular.tree_cover import TreeCover

SET_FUNCTIONS = table(Cardinality, BoundedCardinality, ConcaveCardinality, GroupCover, TreeCover, Intervals)

_WORDS: dict[str, Callable[[str], SetFunction]] = {
    "cardinality": lambda rest: Cardinality(*rest),
    "top": lambda rest: BoundedCardinality(int(rest)),
    "sorted": lambda rest: ConcaveCardinality(tuple(float(part) for part in rest.split(","))),
    "intervals": lambda rest: Intervals(int(rest) if rest else None),
    "cover": lambda rest: GroupCover(_groups(rest)),  # type: ignore[arg-type]  # lists are made tuples
    "tree": lambda rest: GroupCover.tree([int(part) for part in rest.split(",")]),
    "grid": lambda rest: GroupCover.grid(*(int(part) for part in rest.split(","))),
}


def set_function_from_dict(data: Mapping[str, Any]) -> SetFunction:
    """The set function that `to_dict` described; `InvalidParameter` when the description is not one."""
    if not isinstance(data, Mapping):
        raise InvalidParameter(f"A set function is described by what its to_dict() gives, but {data!r} was given.")
    return made(SET_FUNCTIONS, data, "set function")


def set_function_from_text(text: str) -> SetFunction:
    """The set function of a command line.

    `cardinality`, `top;BOUND` (min(|A|, bound)), `sorted;WEIGHT,WEIGHT…` (a weight for each column, falling),
    `intervals`, `cover;GROUP;GROUP…` with columns such as `0-2` or `3,5` in a group, `tree;PARENT,PARENT…` (the column
    above each, −1 at the top), `grid;ROWS,COLUMNS` or `grid;ROWS,COLUMNS,WINDOW`.

    >>> set_function_from_text("top;3")
    BoundedCardinality(bound=3)
    """
    return from_text(_WORDS, text, "set function", "intervals, cover;0-2;2,3, top;3 or grid;8,8", ";")


def columns_from_text(text: str) -> list[int]:
    """The columns of `0-2,5`; `ValueError` when it cannot be read."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        found += range(int(first), int(last) + 1) if dash else [int(first)]
    return found


# Sets and penalties from plain data and from the short text of a command line.


T = TypeVar("T")

_BALLS = L1Ball, L2Ball, LpBall, GroupBall, ElasticBall, NuclearBall, SubmodularBall
SETS = table(*_BALLS, Box, Simplex, Polytope, SubmodularPolyhedron)
_ELASTIC = penalty.NoPenalty, penalty.L1Penalty, penalty.SquaredL2Penalty, penalty.ElasticNetPenalty
PENALTIES = table(*_ELASTIC, penalty.GroupPenalty, penalty.NuclearPenalty, SubmodularPenalty)


def numbers(kind: type[T], *counts: int) -> Callable[[str], T]:
    """Read a comma-separated list of so many numbers, the arguments of `kind`; whole ones are given as such."""

    def read(rest: str) -> T:
        found = [float(part) for part in rest.split(",")] if rest.strip() else []
        if len(found) not in counts:
            raise _Count(f"{len(found)} numbers, but {{word}} takes {' or '.join(map(str, counts))}")
        return kind(*(int(number) if number.is_integer() else number for number in found))

    return read


def _sized(kind: Callable[[Any, float], T], read: Callable[[str], Any]) -> Callable[[str], T]:
    """Read a number, a semicolon, and what `read` makes of the rest."""

    def both(rest: str) -> T:
        number, _, more = rest.partition(";")
        return kind(read(more), float(number))

    return both


def _groups(rest: str) -> list[list[int]]:
    """Read groups of columns such as `0-2;3,5;4`."""
    return [columns_from_text(group) for group in rest.split(";")]


def _points(rest: str) -> Polytope:
    """Read points separated by semicolons, their coordinates by commas."""
    return Polytope(np.array([[float(part) for part in point.split(",")] for point in rest.split(";")]))


_EXAMPLES = {
    "lp": "lp:1.5,2 (exponent, radius)",
    "box": "box:-1,1",
    "simplex": "simplex or simplex:2",
    "polytope": "polytope:0,0;1,0;0,1 (its vertices)",
    "group": "group:1;0-2;3,4 (a number, then the columns of each group)",
    "elastic": "elastic:0.5,2",
    "nuclear": "nuclear:1,3 (a number, then how many targets)",
    "structure": "structure:1;intervals (a number, then a set function)",
    "none": "none",
    "cardinality": "cardinality",
    "sorted": "sorted;3,2,1",
    "intervals": "intervals",
    "cover": "cover;0-2;2,3",
    "tree": "tree;-1,0,0",
    "grid": "grid;8,8",
}
"""How a kind is written, by its word."""


class _Count(ValueError):
    """A list of numbers of the wrong length."""


_SET_WORDS: dict[str, Callable[[str], ConvexSet]] = {
    "l1": numbers(L1Ball, 1),
    "l2": numbers(L2Ball, 1),
    "lp": numbers(LpBall, 2),
    "box": numbers(Box, 2),
    "simplex": numbers(Simplex, 0, 1),
    "polytope": _points,
    "group": _sized(GroupBall, _groups),
    "elastic": numbers(ElasticBall, 2),
    "nuclear": numbers(NuclearBall, 2),
    "structure": _sized(SubmodularBall, set_function_from_text),
}
_PENALTY_WORDS: dict[str, Callable[[str], penalty.Penalty]] = {
    "none": numbers(penalty.NoPenalty, 0),
    "l1": numbers(penalty.L1Penalty, 1),
    "l2": numbers(penalty.SquaredL2Penalty, 1),
    "elastic": numbers(penalty.ElasticNetPenalty, 2),
    "group": _sized(penalty.GroupPenalty, _groups),
    "nuclear": numbers(penalty.NuclearPenalty, 2),
    "structure": _sized(SubmodularPenalty, set_function_from_text),
}


def set_from_dict(data: Mapping[str, Any]) -> ConvexSet:
    """The set that `to_dict` described; `InvalidParameter` when the description is not one of a set."""
    if data.get("kind") == WithIntercept.kind:
        lower, upper = data.get("lower"), data.get("upper")
        low, high = -math.inf if lower is None else float(lower), math.inf if upper is None else float(upper)
        return with_intercept(set_from_dict(data["body"]), low, high, int(data.get("columns", 1)))
    return made(SETS, data, "set", function=set_function_from_dict)


def penalty_from_dict(data: Mapping[str, Any]) -> penalty.Penalty:
    """The penalty that `to_dict` described; `InvalidParameter` when the description is not one of a penalty."""
    if data.get("kind") == PenaltyWithFreeIntercept.kind:
        return PenaltyWithFreeIntercept(penalty_from_dict(data["penalty"]), int(data.get("columns", 1)))
    return made(PENALTIES, data, "penalty", function=set_function_from_dict)


def set_from_text(text: str) -> ConvexSet:
    """The set of a command line.

    `l1:RADIUS`, `l2:RADIUS`, `lp:EXPONENT,RADIUS`, `box:LOWER,UPPER`, `simplex` or `simplex:RADIUS`,
    `elastic:ALPHA,RADIUS`, `nuclear:RADIUS,COLUMNS`, `group:RADIUS;GROUP;GROUP…` with columns such as `0-2` or `3,5` in a
    group, `polytope:POINT;POINT…` with coordinates such as `0,1.5`, `structure:RADIUS;FUNCTION` with a set function such
    as `intervals`, `cover;0-2;2,3` or `top;3` (`set_function_from_text`).

    >>> set_from_text("l1:2")
    L1Ball(radius=2.0)
    >>> set_from_text("group:1.5;0-2;3,5;4")
    GroupBall(groups=((0, 1, 2), (3, 5), (4,)), radius=1.5)
    """
    return from_text(_SET_WORDS, text, "set", "l1:2, l2:1, box:-1,1, simplex, group:1;0-2;3,4 or structure:1;intervals")


def penalty_from_text(text: str) -> penalty.Penalty:
    """The penalty of a command line.

    `none`, `l1:STRENGTH`, `l2:STRENGTH`, `elastic:STRENGTH,L1_RATIO`, `nuclear:STRENGTH,COLUMNS`,
    `group:STRENGTH;GROUP;GROUP…` with columns such as `0-2` or `3,5` in a group, `structure:STRENGTH;FUNCTION` with a set
    function such as `intervals`, `cover;0-2;2,3` or `top;3` (`set_function_from_text`).

    >>> penalty_from_text("l2:0.1")
    SquaredL2Penalty(strength=0.1)
    """
    return from_text(_PENALTY_WORDS, text, "penalty", "none, l1:0.1, l2:0.1, elastic:0.1,0.5 or group:0.1;0-2;3,4")


def from_text(words: Mapping[str, Callable[[str], T]], text: str, what: str, examples: str, end: str = ":") -> T:
    """What a word of a command line names, made of the text behind it by `words`; `InvalidParameter` says how it is written."""
    word, _, rest = text.strip().partition(end)
    if word not in words:
        known = ", ".join(words)
        raise InvalidParameter(f"{text!r} names no {what}, as {word!r} is none of {known}; write {examples}.")
    examples = _EXAMPLES.get(word, examples)
    try:
        return words[word](rest)
    except InvalidParameter:
        raise
    except _Count as error:
        raise InvalidParameter(f"{text!r} gives {str(error).format(word=repr(word))}; write {examples}.") from error
    except (TypeError, ValueError) as error:
        raise InvalidParameter(f"{text!r} names no {what}, as {rest!r} cannot be read; write {examples}.") from error


# What a solver needs, compared with what a set or penalty can do.


_ABILITIES: dict[type, str] = {
    HasVertices: "a list of finitely many vertices",
    Projectable: "a Euclidean projection",
    HasFaces: "the faces of a polyhedron",
    HasGauge: "a gauge",
    HasMirrorMap: "a mirror map",
    penalty.HasElasticForm: "the form Σ a|θ_j| + (b/2)θ_j²",
}


def require(what: object, needs: Sequence[type], who: str = "This solver") -> None:
    """Refuse what lacks some of the abstract classes in `needs`, in one sentence that names them, with the remedy.

    Raises:
        CapabilityError: it lacks one.
    """
    missing = [need for need in needs if not isinstance(what, need)]
    if not missing:
        return
    lacking = " and ".join(_ABILITIES.get(need, need.__name__) for need in missing)
    family = PENALTIES if isinstance(what, penalty.Penalty) else SETS
    suitable = sorted(kind.__name__ for kind in family.values() if all(issubclass(kind, need) for need in needs))
    remedy = f"use {' or '.join(suitable)}, or another solver" if suitable else "use another solver"
    raise CapabilityError(f"{who} was given {what!r}, which lacks {lacking}, and its steps rely on that; {remedy}.")
