"""Losses from plain data."""

from collections.abc import Mapping
from typing import Any

from hullabaloo.codec import made, table
from hullabaloo.losses.base import AnyLoss
from hullabaloo.losses.several import MultinomialLogistic, SquaredTargets
from hullabaloo.losses.single import Huber, Logistic, Pinball, Poisson, SmoothedHinge, Squared
from hullabaloo.losses.tabulated import MarginLoss, ResidualLoss

_OWN = Huber, Logistic, Pinball, Poisson, SmoothedHinge, Squared, MultinomialLogistic, SquaredTargets
KINDS: dict[str, Any] = table(*_OWN, MarginLoss, ResidualLoss)


def loss_from_dict(data: Mapping[str, Any]) -> AnyLoss:
    """The loss that `to_dict` described; `InvalidParameter` when the description is not one of a loss."""
    return made(KINDS, data, "loss")  # type: ignore[no-any-return]
