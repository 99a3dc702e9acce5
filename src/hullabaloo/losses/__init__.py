"""Per-record losses of a linear prediction, with their constants over a declared domain."""

from hullabaloo.losses.base import AnyLoss, KernelCode, Loss, LossConstants, VectorLoss
from hullabaloo.losses.serialise import loss_from_dict
from hullabaloo.losses.several import MultinomialLogistic, SquaredTargets
from hullabaloo.losses.single import Huber, Logistic, Pinball, Poisson, SmoothedHinge, Squared
from hullabaloo.losses.tabulated import MarginLoss, ResidualLoss, custom_loss

__all__ = [
    "AnyLoss", "Huber", "KernelCode", "Logistic", "Loss", "LossConstants", "MarginLoss",
    "MultinomialLogistic", "Pinball", "Poisson", "ResidualLoss", "SmoothedHinge", "Squared", "SquaredTargets",
    "VectorLoss", "custom_loss", "loss_from_dict",
]  # fmt: skip
