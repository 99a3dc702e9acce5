"""The pace of a heavy-ball walk, how far noise in its gradients moves what it ends at, and how much is kept of slopes that may be noise alone."""

import math

import numpy as np

from hullabaloo.solvers.base import Array
from hullabaloo.solvers.gradient.schedule import GradientSchedule

RESTARTED = 0.9, 4.0 / 3.0
"""Memory, and length of steps over the longest that need none, of a walk that forgets its speed: stable at any curvature that `ROOM` allows for."""
EVIDENT, UNBENT = 3.0, 0.5
"""Standard deviations above the mean of pure noise from which a gradient speaks for the second phase's walk, or slopes of classes for themselves: chance alone does in one fit of a hundred. And the share
of the constant's curvature that is left where the first phase's walk of classes ends, as its length has it."""


def pace(path: GradientSchedule, steps: int, travel: float, steepest: float, swift: bool) -> tuple[float, float, float]:
    """The length of a walk's steps, their memory, and the longest step that needs none, for records whose covariance has no larger eigenvalue."""
    largest = 1.0 / (path.smoothness * steepest * path.room)
    memory = min(max(1.0 - largest * steps / travel, 0.0), 1.0 - 1.0 / (1.0 + steps / path.memory))
    stretch = (1.0 + math.sqrt(memory)) ** 2 if path.late and not path.ridge and swift else 1.0
    memory, stretch = RESTARTED if path.bend_noise else (memory, stretch)
    return min(stretch * largest, travel * (1.0 - memory) / steps), memory, largest


def noise_moves(steps: int, burn: float, step: float, memory: float, curvature: float) -> tuple[float, float, float]:
    """What noise of variance 1 in each of a walk's gradients adds, in each coordinate, to the variance of its last point and of the mean of all but its first points, and how far that mean moves with the start.

    Steps are `s' = m s − a(h x + noise)`, `x' = x + s'`, and linear: k of them later noise has moved the point as it would in any other place.
    """
    first, walked = int(steps * burn), []
    speeds, points = np.array([step, -step * curvature]), np.array([0.0, 1.0])
    for _ in range(steps):  # of noise 1 in the first gradient, and from a start at 1
        points = points + speeds
        walked.append(points)
        speeds = memory * speeds - step * curvature * points
    moved, far = np.array(walked).T
    after = np.append(0.0, np.cumsum(moved))
    mean = (after[:0:-1] - after[np.maximum(first - np.arange(steps), 0)]) / (steps - first)
    return float(moved @ moved), float(mean @ mean), float(far[first:].mean())


Pair = tuple[float, float]


def credible(slopes: Array, path: GradientSchedule, steepest: float, curvature: float, cuts: Pair, far: Pair) -> float:
    """How much of the slopes is kept that the first phase's two walks end at, of travels `far`, gradients cut at `cuts`; the constant's curvature is known.

    All, but where they are no farther from 0 than noise alone goes: where `‖θ‖²` is not `EVIDENT` deviations above the mean of `Vχ²_q`, V the variance of the noise in each, what is nearest to the truth on
    average, `(1 − (q − 2)V/‖θ‖²)₊` (James & Stein 1961). A class of 1 to 3 % without a signal so loses 0.04 in place of 0.10 of the constant's loss (20 000 records of 10 columns, ε = 0.3), 0.09 in place of 0.16 (16 000 of 20).
    """
    q, size, h = slopes.size, float(slopes @ slopes), UNBENT * curvature
    paces = [pace(path, *walk, steepest, False)[:2] for walk in zip((path.first, path.second), far, strict=True)]
    last, _, _ = noise_moves(path.first, path.burn_first, *paces[0], h)
    _, mean, start = noise_moves(path.second, path.burn, *paces[1], h)
    variance = path.noise**2 * path.steps * (cuts[1] ** 2 * mean + (cuts[0] * start) ** 2 * last)
    if q < 3 or size > (q + EVIDENT * math.sqrt(2.0 * q)) * variance:
        return 1.0
    return max(1.0 - (q - 2) * variance / size, 0.0) if size else 1.0
