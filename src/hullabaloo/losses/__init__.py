"""Per-record losses of a linear prediction, with their constants over a declared domain."""

from hullabaloo.losses.base import AnyLoss, KernelCode, Loss, LossConstants, VectorLoss
from hullabaloo.losses.clipped import ClippedLoss, clipped_at
from hullabaloo.losses.margins import Logistic, SmoothedHinge
from hullabaloo.losses.poisson import Poisson
from hullabaloo.losses.residuals import Huber, Pinball, Squared
from hullabaloo.losses.serialise import loss_from_dict
from hullabaloo.losses.several import MultinomialLogistic, SquaredTargets

__all__ = [
    "AnyLoss",
    "ClippedLoss",
    "Huber",
    "KernelCode",
    "Logistic",
    "Loss",
    "LossConstants",
    "MultinomialLogistic",
    "Pinball",
    "Poisson",
    "SmoothedHinge",
    "Squared",
    "SquaredTargets",
    "VectorLoss",
    "clipped_at",
    "loss_from_dict",
]
