"""Losses from plain data."""

from collections.abc import Mapping
from typing import Any

from hullabaloo.errors import InvalidParameter
from hullabaloo.losses.base import AnyLoss, Loss
from hullabaloo.losses.clipped import ClippedLoss
from hullabaloo.losses.huber import Huber
from hullabaloo.losses.logistic import Logistic
from hullabaloo.losses.multinomial_logistic import MultinomialLogistic
from hullabaloo.losses.pinball import Pinball
from hullabaloo.losses.poisson import Poisson
from hullabaloo.losses.smoothed_hinge import SmoothedHinge
from hullabaloo.losses.squared import Squared
from hullabaloo.losses.squared_targets import SquaredTargets


def _clipped(loss: Mapping[str, Any], clip: float) -> ClippedLoss:
    inner = loss_from_dict(loss) if isinstance(loss, Mapping) else None
    if not isinstance(inner, Loss):
        raise InvalidParameter(f"Only a loss of one prediction can be clipped by itself, but {loss!r} was given.")
    return ClippedLoss(inner, clip)


_KINDS: dict[str, Any] = {
    "clipped": _clipped,
    "huber": Huber,
    "logistic": Logistic,
    "multinomial_logistic": MultinomialLogistic,
    "pinball": Pinball,
    "poisson": Poisson,
    "smoothed_hinge": SmoothedHinge,
    "squared": Squared,
    "squared_targets": SquaredTargets,
}


def loss_from_dict(data: Mapping[str, Any]) -> AnyLoss:
    """The loss that `to_dict` described; `InvalidParameter` when the description is not one of a loss."""
    arguments = dict(data)
    kind = arguments.pop("kind", None)
    if not isinstance(kind, str) or kind not in _KINDS:
        raise InvalidParameter(f"{kind!r} is not the kind of a loss; the kinds are {', '.join(sorted(_KINDS))}.")
    try:
        loss: AnyLoss = _KINDS[kind](**arguments)
    except TypeError as error:
        raise InvalidParameter(
            f"A loss of kind {kind!r} cannot be made from {sorted(arguments)}; use what its to_dict() gives."
        ) from error
    return loss
