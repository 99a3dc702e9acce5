"""Sets and penalties from plain data and from the short text of a command line."""

from collections.abc import Mapping
from typing import Any, TypeVar

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.base import ConvexSet
from hullabaloo.geometry.box import Box
from hullabaloo.geometry.elastic_ball import ElasticBall
from hullabaloo.geometry.group_ball import GroupBall
from hullabaloo.geometry.intercept import PenaltyWithFreeIntercept, WithIntercept, with_free_intercept, with_intercept
from hullabaloo.geometry.l1_ball import L1Ball
from hullabaloo.geometry.l2_ball import L2Ball
from hullabaloo.geometry.lp_ball import LpBall
from hullabaloo.geometry.nuclear_ball import NuclearBall
from hullabaloo.geometry.penalty import ElasticNetPenalty, L1Penalty, NoPenalty, Penalty, SquaredL2Penalty
from hullabaloo.geometry.polytope import Polytope
from hullabaloo.geometry.simplex import Simplex

T = TypeVar("T")

SETS: dict[str, type[ConvexSet]] = {
    "l1-ball": L1Ball,
    "l2-ball": L2Ball,
    "lp-ball": LpBall,
    "box": Box,
    "simplex": Simplex,
    "polytope": Polytope,
    "group-ball": GroupBall,
    "elastic-ball": ElasticBall,
    "nuclear-ball": NuclearBall,
}
PENALTIES: dict[str, type[Penalty]] = {
    "none": NoPenalty,
    "l1": L1Penalty,
    "squared-l2": SquaredL2Penalty,
    "elastic-net": ElasticNetPenalty,
}
_SET_WORDS: dict[str, tuple[type[ConvexSet], tuple[int, ...]]] = {
    "l1": (L1Ball, (1,)),
    "l2": (L2Ball, (1,)),
    "box": (Box, (2,)),
    "simplex": (Simplex, (0, 1)),
}
_PENALTY_WORDS: dict[str, tuple[type[Penalty], tuple[int, ...]]] = {
    "none": (NoPenalty, (0,)),
    "l1": (L1Penalty, (1,)),
    "l2": (SquaredL2Penalty, (1,)),
    "elastic": (ElasticNetPenalty, (2,)),
}


def set_from_dict(data: Mapping[str, Any]) -> ConvexSet:
    """The set that `to_dict` described; `InvalidParameter` when the description is not one of a set."""
    if data.get("kind") == WithIntercept.KIND:
        return with_intercept(set_from_dict(data["body"]), *WithIntercept.interval_from(data))
    return _made(SETS, data, "set")


def penalty_from_dict(data: Mapping[str, Any]) -> Penalty:
    """The penalty that `to_dict` described; `InvalidParameter` when the description is not one of a penalty."""
    if data.get("kind") == PenaltyWithFreeIntercept.KIND:
        return with_free_intercept(penalty_from_dict(data["penalty"]))
    return _made(PENALTIES, data, "penalty")


def set_from_text(text: str) -> ConvexSet:
    """The set of a command line: `l1:RADIUS`, `l2:RADIUS`, `box:LOWER,UPPER`, `simplex` or `simplex:RADIUS`.

    >>> set_from_text("l1:2")
    L1Ball(radius=2.0)
    """
    kind, numbers = _parsed(_SET_WORDS, text, "set", "l1:2, l2:1, box:-1,1 or simplex")
    return kind(*numbers)


def penalty_from_text(text: str) -> Penalty:
    """The penalty of a command line: `none`, `l1:STRENGTH`, `l2:STRENGTH`, `elastic:STRENGTH,L1_RATIO`.

    >>> penalty_from_text("l2:0.1")
    SquaredL2Penalty(strength=0.1)
    """
    kind, numbers = _parsed(_PENALTY_WORDS, text, "penalty", "none, l1:0.1, l2:0.1 or elastic:0.1,0.5")
    return kind(*numbers)


def _made(kinds: Mapping[str, type[T]], data: Mapping[str, Any], what: str) -> T:
    arguments = dict(data)
    kind = arguments.pop("kind", None)
    if kind not in kinds:
        raise InvalidParameter(f"{kind!r} is not the kind of a {what}; the kinds are {', '.join(sorted(kinds))}.")
    try:
        return kinds[kind](**arguments)
    except TypeError as error:
        raise InvalidParameter(
            f"A {what} of kind {kind!r} cannot be made from {sorted(arguments)}; use what its to_dict() gives."
        ) from error


def _parsed(
    words: Mapping[str, tuple[type[T], tuple[int, ...]]], text: str, what: str, examples: str
) -> tuple[type[T], list[float]]:
    word, _, rest = text.strip().partition(":")
    if word not in words:
        raise InvalidParameter(f"{text!r} names no {what}, as {word!r} is not known; write {examples}.")
    kind, counts = words[word]
    try:
        numbers = [float(part) for part in rest.split(",")] if rest.strip() else []
    except ValueError as error:
        raise InvalidParameter(f"{text!r} names no {what}, as {rest!r} is not numbers; write {examples}.") from error
    if len(numbers) not in counts:
        wanted = " or ".join(str(count) for count in counts)
        raise InvalidParameter(f"{text!r} gives {len(numbers)} numbers, but {word!r} takes {wanted}; write {examples}.")
    return kind, numbers
