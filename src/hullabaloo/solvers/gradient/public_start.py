"""Whether the records confirm a public model: a few noisy derivatives along the way to it add up to what it gains."""

import math

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from hullabaloo.losses import Loss
from hullabaloo.solvers.base import Answers, Problem
from hullabaloo.solvers.gradient.coordinates import Coordinates
from hullabaloo.solvers.gradient.schedule import is_residual

Array = npt.NDArray[np.float64]

LEVELS, PARTS = 1, 5
"""How many derivatives are asked for to find the level without the public model, and on the way to it."""
ENOUGH = 0.5
"""Share of the gain on the public rows that private ones have to show: half-way between a right model and a worthless one, where either error is as likely."""
UNSURE, SURE = 1.0 / 2.0, 1.0 / 6.0
"""Standard deviation of the noise over the promised gain: beyond the first a model is refused unasked; up to the second the clip is doubled."""
LONGEST = 6
"""How often at most."""
FAR = 30.0
"""Predictions beyond it count as it, so that no hostile public table makes a number that is not finite."""
FAINT = 1e-3
"""Standard deviation of a public model's predictions below which it says nothing; least lengths and noise that are reckoned with."""


def confirmed_level(
    problem: Problem, curator: Answers, view: Coordinates, noise: float, smoothness: float, steep: float
) -> float | None:
    """The level to start from beside the public slopes w, or None where the records do not show that w gains.

    From the best level b alone to w at b + δ, δ the public difference of the two, the loss falls by the integral of its derivative, which is asked for at
    `PARTS` midpoints of the way. Contributions are shortened to a length c: what is compared is another convex loss, whose slopes end at c. It is what
    half of the public residuals exceed, of classes and counts the longest slope at a usual length, and longer where noise leaves room: a short one does not see that a model is too sure of
    few records. The public model stands if the private records gain `ENOUGH` of what the public ones do, measured alike.

    Args:
        problem, curator: as in a solver's run; the curator is asked `LEVELS + PARTS` centred gradients of rows of one column.
        view: whose centre is m.
        noise: s of all answers together, over the mean weight.
        smoothness, steep: the greatest curvature and derivative of the loss that rules go by.
    """
    public, loss, q = problem.public, problem.loss, problem.dimension - problem.intercept
    assert public is not None
    assert isinstance(loss, Loss)
    slopes, last, y = public.theta[:q, 0], float(public.theta[q:, 0].sum()), public.Y[:, 0]
    along = public.X[:, :q] @ slopes
    middle = float(along.mean()) if problem.intercept else 0.0
    ruler = float(np.sqrt(np.mean((along - middle) ** 2)))
    if not FAINT < ruler < math.inf:
        return None
    known, (low, high) = 0.0 if public.offset is None else public.offset, loss.intercept_bounds
    level = shift = 0.0
    if problem.intercept:
        level = float(
            minimize_scalar(lambda b: np.mean(loss.value(b + known, y)), bounds=(low, high), method="bounded").x
        )
        shift = min(max(last + middle, low), high) - level
    way = along - middle + shift
    lengths = np.hypot(way / ruler, problem.intercept)
    matrix = np.zeros((problem.dimension, 1 + problem.intercept))
    matrix[:q, 0] = slopes / ruler
    if problem.intercept:
        matrix[-1] = (shift - middle) / ruler, 1.0

    def derivative(t: float) -> Array:
        return np.asarray(loss.derivative(np.clip(t * way + level + known, -FAR, FAR), y))

    clip = steep * float(np.sqrt(np.mean(lengths**2)))
    if is_residual(loss):
        clip = max(float(np.median(np.abs(derivative(1.0)) * lengths)), FAINT)
    parts = (np.arange(PARTS) + 0.5) / PARTS

    def promise(clip: float) -> float:
        slopes = [derivative(float(t)) for t in parts]
        short = [slope * np.minimum(1.0, clip / np.maximum(np.abs(slope) * lengths, FAINT)) for slope in slopes]
        return float(np.mean(np.array(short) @ way)) / len(way)

    s = noise * math.sqrt((LEVELS + PARTS) / PARTS) * ruler
    if not s * clip <= -UNSURE * promise(clip):
        return None
    for _ in range(LONGEST):
        clip *= 2.0 if 2.0 * s * clip <= -SURE * promise(2.0 * clip) else 1.0
    promised = promise(clip)
    records, gained, nowhere = curator.projected(matrix), 0.0, np.zeros(matrix.shape[1])
    for t in (*[0.0] * LEVELS, *parts):
        point = np.array([t * ruler, level][: nowhere.size])
        answer = records.answer("centred_gradient", point, centre=nowhere, intercept_weight=1.0, clip_norm=clip)
        if t:
            gained += float(answer[0]) * ruler / view.mean_weight / PARTS
        if problem.intercept:
            level = min(max(level - float(answer[-1]) / view.mean_weight / smoothness, low), high)
    if not gained <= ENOUGH * promised < 0.0:
        return None
    return level + shift - middle + float(view.centre @ slopes) if problem.intercept else 0.0
