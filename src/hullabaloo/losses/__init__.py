"""Per-record losses of a linear prediction, with their constants over a declared domain."""

from hullabaloo.losses.base import AnyLoss, KernelCode, Loss, LossConstants, VectorLoss
from hullabaloo.losses.clipped import ClippedLoss, clipped_at
from hullabaloo.losses.huber import Huber
from hullabaloo.losses.logistic import Logistic
from hullabaloo.losses.multinomial_logistic import MultinomialLogistic
from hullabaloo.losses.pinball import Pinball
from hullabaloo.losses.poisson import Poisson
from hullabaloo.losses.serialise import loss_from_dict
from hullabaloo.losses.smoothed_hinge import SmoothedHinge
from hullabaloo.losses.squared import Squared
from hullabaloo.losses.squared_targets import SquaredTargets

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
