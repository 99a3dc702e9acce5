"""Per-record losses of a linear prediction, with their constants over a declared domain."""

from hullabaloo.losses.base import AnyLoss as AnyLoss
from hullabaloo.losses.base import KernelCode as KernelCode
from hullabaloo.losses.base import Loss as Loss
from hullabaloo.losses.base import LossConstants as LossConstants
from hullabaloo.losses.base import VectorLoss as VectorLoss
from hullabaloo.losses.clipped import ClippedLoss as ClippedLoss
from hullabaloo.losses.clipped import clipped_at as clipped_at
from hullabaloo.losses.serialise import loss_from_dict as loss_from_dict
from hullabaloo.losses.several import MultinomialLogistic as MultinomialLogistic
from hullabaloo.losses.several import SquaredTargets as SquaredTargets
from hullabaloo.losses.single import Huber as Huber
from hullabaloo.losses.single import Logistic as Logistic
from hullabaloo.losses.single import Pinball as Pinball
from hullabaloo.losses.single import Poisson as Poisson
from hullabaloo.losses.single import SmoothedHinge as SmoothedHinge
from hullabaloo.losses.single import Squared as Squared
from hullabaloo.losses.tabulated import MarginLoss as MarginLoss
from hullabaloo.losses.tabulated import ResidualLoss as ResidualLoss
from hullabaloo.losses.tabulated import custom_loss as custom_loss
