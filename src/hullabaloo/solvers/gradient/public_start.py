"""How much of a public model the records confirm: a few noisy derivatives along the way to it."""

import math

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from hullabaloo.losses import Loss
from hullabaloo.solvers.base import Answers, Problem
from hullabaloo.solvers.gradient.coordinates import Coordinates
from hullabaloo.solvers.gradient.schedule import is_residual

Array = npt.NDArray[np.float64]

LEVELS, PARTS = 2, 4
"""How many derivatives are asked for to find the level, and the part."""
PLACES = np.append(0.0, 2.0 ** np.arange(-6.0, 0.25, 0.25))
"""Parts of the public model that are weighed."""
RIGHT, WORTHLESS = 0.5, 0.3
"""What is believed of all and of nothing of it beforehand; the parts between share the rest."""
FAR = 30.0
"""Predictions beyond it count as it, so that no hostile public table makes a number that is not finite."""
FAINT = 1e-3
"""Standard deviation of a public model's predictions below which it says nothing; least lengths and noise that are reckoned with."""


def confirmed_share(
    problem: Problem, curator: Answers, view: Coordinates, noise: float, smoothness: float, steep: float
) -> float:
    """The part t of the public slopes w to start from, in [0, 1]: the posterior mean or median, whichever is less, of where `F(t w)` is least.

    F is convex along the line, so that the sign of a derivative g(t) tells the side. Its contributions `φ' ⟨w, x − m⟩` are shortened to a
    length c, of residuals what half of the public ones exceed, of classes and counts their longest, as short ones are many and all point outwards: `g(t) ~ N(0, σ²)` at the least point itself, `N(U(0, r), σ²)` below it, `N(U(−r, 0), σ²)` above, r twice
    what g(1) would be were the public targets in any other order.

    Args:
        problem, curator: as in a solver's run; the curator is asked `LEVELS + PARTS` centred gradients of rows of one column.
        view: whose centre is m.
        noise: s of all answers together.
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
        return 0.0
    low, high = loss.intercept_bounds
    level, z = min(max(last + middle, low), high), along + last + (0.0 if public.offset is None else public.offset)
    z = np.clip(z, -FAR, FAR)
    matrix = np.zeros((problem.dimension, 1 + problem.intercept))
    matrix[:q, 0] = slopes / ruler
    if problem.intercept:
        matrix[-1] = -float(view.centre @ slopes) / ruler, 1.0
    lengths = np.hypot((along - middle) / ruler, problem.intercept)
    clip = steep * float(np.sqrt(np.mean(lengths**2)))
    if is_residual(loss):
        clip = max(float(np.median(np.abs(loss.derivative(z, y)) * lengths)), FAINT)
    other = loss.derivative(z, np.roll(y, len(y) // 2))
    shortened = other * np.minimum(1.0, clip / np.maximum(np.abs(other) * lengths, FAINT))
    worthless = float(np.mean(shortened * (along - middle))) / (ruler * clip)
    believed = np.full(PLACES.size, (1.0 - RIGHT - WORTHLESS) / (PLACES.size - 2))
    believed[0], believed[-1] = WORTHLESS, RIGHT
    records, t = curator.projected(matrix), 1.0
    s = max(noise * math.sqrt(LEVELS + PARTS) / view.mean_weight, FAINT)
    reach = min(max(2.0 * abs(worthless), 3.0 * s), 1.0)
    nowhere = np.zeros(matrix.shape[1])
    for step in range(LEVELS + PARTS):
        point = np.array([t * ruler, level][: nowhere.size])
        answer = records.answer("centred_gradient", point, centre=nowhere, intercept_weight=1.0, clip_norm=clip)
        if problem.intercept:
            level = min(max(level - float(answer[-1]) / view.mean_weight / smoothness, low), high)
        if step < LEVELS:
            continue
        g = -min(max(float(answer[0]) / view.mean_weight / clip, -reach), reach)
        here = math.exp(-0.5 * (g / s) ** 2) / (s * math.sqrt(2.0 * math.pi))
        below = (ndtr(g / s) - ndtr((g - reach) / s)) / reach
        above = (ndtr((g + reach) / s) - ndtr(g / s)) / reach
        believed *= np.where(t < PLACES, below, np.where(t > PLACES, above, here)) + 1e-12
        believed /= believed.sum()
        t = float(PLACES[max(int(np.argmin(np.abs(PLACES - believed @ PLACES))), 1)])
    return min(float(believed @ PLACES), float(PLACES[int(np.searchsorted(np.cumsum(believed), 0.5))]))
