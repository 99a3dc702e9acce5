"""Every exported loss with sample instances; a class that is exported without samples fails in test_loss_laws.py."""

import math

import numpy as np

from hullabaloo import losses
from hullabaloo.losses import (
    Huber,
    Logistic,
    Loss,
    MarginLoss,
    MultinomialLogistic,
    Pinball,
    Poisson,
    ResidualLoss,
    SmoothedHinge,
    Squared,
    SquaredTargets,
    VectorLoss,
    custom_loss,
)
from tests.laws.zoo import exported

LOG_COSH = custom_loss(lambda r: math.log(math.cosh(r)), of="residual", name="log-cosh")
SKEWED = custom_loss(lambda r: math.exp(r) - r, of="residual", name="linex", reach=3.0, step=2.0**-5)
EXPONENTIAL = custom_loss(derivative=lambda m: -math.exp(-m), of="margin", name="exponential", reach=4.0)
SOFTPLUS = custom_loss(lambda m: math.log1p(math.exp(-m)), of="margin", name="softplus", step=2.0**-4)
SAMPLES: dict[type[Loss], list[Loss]] = {
    Squared: [Squared()],
    Logistic: [Logistic()],
    Huber: [Huber(0.3), Huber(1.0), Huber(50.0)],
    SmoothedHinge: [SmoothedHinge(), SmoothedHinge(0.1), SmoothedHinge(1.0)],
    Poisson: [Poisson()],
    Pinball: [Pinball(), Pinball(0.9), Pinball(0.05)],
    ResidualLoss: [LOG_COSH, SKEWED],
    MarginLoss: [EXPONENTIAL, SOFTPLUS],
}
VECTOR_SAMPLES: dict[type[VectorLoss], list[VectorLoss]] = {
    MultinomialLogistic: [MultinomialLogistic()],
    SquaredTargets: [SquaredTargets()],
}


def scalar_losses() -> list[Loss]:
    return [loss for kind in exported(losses, Loss) for loss in SAMPLES[kind]]


def vector_losses() -> list[VectorLoss]:
    return [loss for kind in exported(losses, VectorLoss) for loss in VECTOR_SAMPLES[kind]]


def lowest_target(loss: Loss, bound: float) -> float:
    """The smallest target of the loss's domain: counts are not negative."""
    return 0.0 if isinstance(loss, Poisson) else -bound


def targets(loss: Loss, bound: float, size: int, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(lowest_target(loss, bound), bound, size)


def vector_targets(loss: VectorLoss, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Classes where the loss is of classes, numbers in [−1, 1] otherwise."""
    if isinstance(loss, MultinomialLogistic):
        return 2.0 * np.eye(shape[1])[rng.integers(0, shape[1], shape[0])] - 1.0
    return rng.uniform(-1.0, 1.0, shape)
