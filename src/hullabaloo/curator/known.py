"""What may meet numbers that are not released: a closed list of shapes and losses, as there is one of queries, and plain numbers.

A minimiser, a choice of a vertex and a score call methods of what they are made of on exact numbers, and rest on what it says of itself:
bounds of norms, of curvature, of a prox's error. Both are proved and tested for what is listed here, and for nothing else.

An array of a subclass, or a number with arithmetic of its own, has its say in every sum that it takes part in: it would be shown the other
summand, exact as it is, and could give any result. So whatever a solver hands to the curator is copied into plain arrays and floats first.
"""

from copy import deepcopy
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from hullabaloo import geometry, losses
from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.foreign import is_foreign, name_of, parts
from hullabaloo.losses.base import PerRecordLoss

Array = npt.NDArray[np.float64]

SHAPES: tuple[type, ...] = (
    geometry.Box, geometry.ElasticBall, geometry.ElasticNetPenalty, geometry.GroupBall, geometry.GroupPenalty,
    geometry.L1Ball, geometry.L1Penalty, geometry.L2Ball, geometry.LpBall, geometry.NoPenalty, geometry.NuclearBall,
    geometry.NuclearPenalty, geometry.PenaltyWithFreeIntercept, geometry.Polytope, geometry.Simplex,
    geometry.SquaredL2Penalty, geometry.SubmodularBall, geometry.SubmodularPenalty, geometry.SubmodularPolyhedron,
    geometry.VerticesWithIntercept, geometry.WithIntercept,
)  # fmt: skip
"""Sets and penalties."""

STRUCTURES: tuple[type, ...] = (
    geometry.BoundedCardinality, geometry.Cardinality, geometry.ConcaveCardinality, geometry.GroupCover,
    geometry.Intervals, geometry.TreeCover,
)  # fmt: skip
"""Set functions; one made of a callable is not among them."""

LOSSES: tuple[type, ...] = (
    losses.Huber, losses.Logistic, losses.MarginLoss, losses.MultinomialLogistic, losses.Pinball,
    losses.Poisson, losses.ResidualLoss, losses.SmoothedHinge, losses.Squared, losses.SquaredTargets,
)  # fmt: skip

_KNOWN = (*SHAPES, *STRUCTURES, *LOSSES)
PLAIN = (type(None), bool, int, float, str)
_OPEN = (geometry.ConvexSet, geometry.Penalty, geometry.SetFunction, PerRecordLoss)
"""What anybody may write a class of."""


def stranger(*values: object) -> str | None:
    """The name of a part that is not on the list, or is not the library's own; None where there is none."""
    for part in parts(*values):
        if is_foreign(part) or (issubclass(type(part), _OPEN) and type(part) not in _KNOWN):
            return name_of(part)
    return None


def plain(value: Any, declared: object = None) -> Any:
    """A field of a query as Python's own value: a number by its declared type, exactly; NumPy's scalars as what they hold, also in tuples.

    A number of another kind rounds, wraps around or compares as it likes, and so would the price that is worked out from it.

    Raises:
        TypeError: something else than a number where one is declared.
    """
    found = value.item() if isinstance(value, np.generic) else value
    if type(found) in (tuple, list):
        return tuple(plain(one) for one in found)
    if declared is float and type(found) in (int, float):
        return float(found)
    if declared in (int, float, bool) and type(found) is not declared:
        raise TypeError(f"a number of type {type(found).__name__}")
    return found


def single(value: Any, declared: object = None) -> bool:
    """Whether a record of the library's holds single numbers, texts and tuples of them as declared: an array in place of a number tells records apart by their place, and fails by how many there are."""
    if is_dataclass(value):
        return all(single(getattr(value, one.name), one.type) for one in fields(value))
    if type(value) is tuple and str(declared).startswith("tuple"):
        return all(isinstance(one, (*PLAIN, np.generic)) for one in value)
    kind = type(value.item() if isinstance(value, np.generic) else value)
    return kind in ((int, float) if declared is float else (declared,)) or isinstance(value, Enum)


def copied(value: Any) -> Any:
    """A shape, loss or tuple of them, made anew from its fields: arrays and all, so that nobody else can write to it."""
    if type(value) is tuple:
        return tuple(map(copied, value))
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Enum) or type(value) in PLAIN:
        return value
    if not is_dataclass(value) or isinstance(value, type):
        return deepcopy(value)
    return replace(value, **{one.name: plain(copied(getattr(value, one.name))) for one in fields(value) if one.init})


def refuse_strangers(what: str, remedy: str, *values: object) -> None:
    """Refuse, before anything is charged, a question that would call somebody's own code on exact numbers.

    Raises:
        CapabilityError: a part is not on the list, or holds code of somebody's own.
    """
    found = stranger(*values)
    if found is not None:
        raise CapabilityError(
            f"The query {what!r} was made with {found}, which is not the library's own code. It would be called on exact numbers before any "
            f"noise is added, and what it raises, keeps or prints would be a release that nobody paid for. Nothing was charged or read. {remedy}"
        )


def kernel_of(loss: PerRecordLoss) -> tuple[int, Array]:
    """What kernels read of a loss: its code, and its one parameter or its table."""
    return int(loss.kernel_code), np.array(loss.kernel_parameter, dtype=np.float64, ndmin=1)


def numbers(value: npt.ArrayLike) -> Array:
    """A plain array of doubles, copied: NumPy takes what `__array__` gives as a copy, whoever else holds it."""
    found = np.array(value, dtype=np.float64, order="C")
    return found if type(value) is np.ndarray else found.copy()


def coefficients(value: npt.ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    """The coefficients that a query is asked at.

    Raises:
        InvalidParameter: an array of another shape.
    """
    found = numbers(value)
    if found.shape != shape:
        raise InvalidParameter(
            f"Coefficients of shape {found.shape} were given to {what}, and its records have {shape[0]} encoded columns: pass an array of shape {shape}, "
            "made for the encoding."
        )
    return found


def anything(value: npt.ArrayLike) -> npt.NDArray[Any]:
    """A plain array of its own type, copied."""
    found = np.array(value)
    return found if type(value) is np.ndarray else found.copy()


def number(value: Any) -> float:
    """A plain float."""
    return float(value)
