"""The shapes and losses that may meet numbers that are not released: a closed list, as there is one of queries.

A minimiser, a choice of a vertex and a score call methods of what they are made of on exact numbers, and rest on what it says of itself:
bounds of norms, of curvature, of a prox's error. Both are proved and tested for what is listed here, and for nothing else.
"""

from hullabaloo import geometry, losses
from hullabaloo.errors import CapabilityError
from hullabaloo.foreign import is_foreign, name_of, parts
from hullabaloo.losses.base import PerRecordLoss

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
    losses.ClippedLoss, losses.Huber, losses.Logistic, losses.MultinomialLogistic, losses.Pinball, losses.Poisson,
    losses.SmoothedHinge, losses.Squared, losses.SquaredTargets,
)  # fmt: skip

_KNOWN = (*SHAPES, *STRUCTURES, *LOSSES)
_OPEN = (geometry.ConvexSet, geometry.Penalty, geometry.SetFunction, PerRecordLoss)
"""What anybody may write a class of."""


def stranger(*values: object) -> str | None:
    """The name of a part that is not on the list, or is not the library's own; None where there is none."""
    for part in parts(*values):
        if is_foreign(part) or (issubclass(type(part), _OPEN) and type(part) not in _KNOWN):
            return name_of(part)
    return None


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
