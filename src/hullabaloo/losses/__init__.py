"""Per-record losses of a linear prediction, with their constants over a declared domain."""

from hullabaloo.losses.base import KernelCode, Loss, LossConstants
from hullabaloo.losses.serialise import loss_from_dict
from hullabaloo.losses.squared import Squared

__all__ = ["KernelCode", "Loss", "LossConstants", "Squared", "loss_from_dict"]
