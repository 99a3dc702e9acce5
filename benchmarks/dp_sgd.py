"""DP-SGD, our baseline for the coordinate descent paper: Poisson batches, per-record clipping, accounted by `dp_accounting`.

Each step takes every record with probability q, shortens its gradient of the loss to l2 norm at most c, adds
`N(0, (sc)² I)` to the sum, divides by the public qn and takes a proximal step for the penalty. Between tables that differ in one
record, added or removed, a step is `PoissonSampled(q, Gaussian(s))`; s is the least for which the composition of all steps,
as a privacy loss distribution rounded up, is (ε, δ)-DP.
"""

import functools
import math

import numpy as np

from benchmarks.composite_problems import CompositeProblem
from hullabaloo.losses import Logistic

Array = np.ndarray
FEW_STEPS = 1000
PRECISION = 2e-3  # of ε, downwards


def epsilon_of(rate: float, steps: int, multiplier: float, delta: float) -> float:
    """The ε of `steps` Poisson-sampled Gaussian releases under add-or-remove.

    Privacy losses are rounded up to a lattice, once a step: a coarse one costs noise, never privacy, and next to nothing for few steps.
    """
    from dp_accounting import GaussianDpEvent, NeighboringRelation, PoissonSampledDpEvent
    from dp_accounting.pld import PLDAccountant

    interval = 1e-3 if steps <= FEW_STEPS else 1e-4
    accountant = PLDAccountant(NeighboringRelation.ADD_OR_REMOVE_ONE, value_discretization_interval=interval)
    release = GaussianDpEvent(multiplier)
    accountant.compose(release if rate >= 1.0 else PoissonSampledDpEvent(rate, release), steps)
    return float(accountant.get_epsilon(delta))


@functools.cache
def noise_multiplier(rate: float, steps: int, epsilon: float, delta: float) -> float:
    """A noise multiplier whose ε is at most the one asked for, not by more than 0.2 % below it: secants of log ε by log s."""
    aim = math.log(epsilon * (1.0 - PRECISION / 2.0))

    def excess(point: float) -> float:
        return math.log(epsilon_of(rate, steps, math.exp(point), delta)) - aim

    point, slope = math.log(max(0.7, 5.0 * rate * math.sqrt(steps) / epsilon)), -1.0
    found = excess(point)
    while abs(found) > PRECISION / 2.0:
        after = point + max(-0.7, min(0.7, -found / slope))
        now = excess(after)
        slope = min((now - found) / (after - point), -0.3)
        point, found = after, now
    return math.exp(point)


def steps_of(problem: CompositeProblem, batch: int, passes: int) -> int:
    """How many steps of this batch size make so many passes over the data."""
    return max(1, round(passes * len(problem.y) / batch))


def fit(
    problem: CompositeProblem, *, batch: int, passes: int, step: float, clip: float, seed: int, multiplier: float
) -> tuple[Array, Array]:
    """The last iterate and the mean of the second half's. `step` is in units of 1/β, `clip` an l2 norm; multiplier 0: no noise."""
    from benchmarks.dp_sgd_kernels import descend

    rate = min(1.0, batch / len(problem.y))
    logistic = isinstance(problem.loss, Logistic)
    lengths = np.linalg.norm(problem.X, axis=1)
    penalty = (problem.l1, problem.l2)
    loop = (rate, steps_of(problem, batch, passes), step / problem.smoothness(), clip, multiplier)
    return descend(problem.X, problem.y, lengths, logistic, *penalty, *loop, np.random.default_rng(seed))  # type: ignore[no-any-return]
