"""Per-record losses of a linear prediction, with their constants over a declared domain."""

from hullabaloo.losses.base import AnyLoss, KernelCode, Loss, LossConstants, VectorLoss
from hullabaloo.losses.serialise import loss_from_dict
from hullabaloo.losses.squared import Squared

__all__ = ["AnyLoss", "KernelCode", "Loss", "LossConstants", "Squared", "VectorLoss", "loss_from_dict"]
