"""Losses from plain data."""

from collections.abc import Mapping
from typing import Any

from hullabaloo.codec import made, table
from hullabaloo.errors import InvalidParameter
from hullabaloo.losses.base import AnyLoss, Loss
from hullabaloo.losses.clipped import ClippedLoss
from hullabaloo.losses.several import MultinomialLogistic, SquaredTargets
from hullabaloo.losses.single import Huber, Logistic, Pinball, Poisson, SmoothedHinge, Squared
from hullabaloo.losses.tabulated import MarginLoss, ResidualLoss


def _clipped(loss: Mapping[str, Any], clip: float) -> ClippedLoss:
    inner = loss_from_dict(loss) if isinstance(loss, Mapping) else None
    if not isinstance(inner, Loss):
        raise InvalidParameter(f"Only a loss of one prediction can be clipped by itself, but {loss!r} was given.")
    return ClippedLoss(inner, clip)


_OWN = Huber, Logistic, Pinball, Poisson, SmoothedHinge, Squared, MultinomialLogistic, SquaredTargets
KINDS: dict[str, Any] = {**table(*_OWN, MarginLoss, ResidualLoss), "clipped": _clipped}


def loss_from_dict(data: Mapping[str, Any]) -> AnyLoss:
    """The loss that `to_dict` described; `InvalidParameter` when the description is not one of a loss."""
    return made(KINDS, data, "loss")  # type: ignore[no-any-return]
