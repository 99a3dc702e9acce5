"""What coordinate descent measures before its rounds: where columns are seen from, M_j, and the level of the predictions."""

import math

import numpy as np
import numpy.typing as npt

from hullabaloo.geometry import SeparableForm
from hullabaloo.losses import Loss
from hullabaloo.privacy import Neighbours
from hullabaloo.solvers.base import Answers, Problem
from hullabaloo.solvers.by_hand import descend
from hullabaloo.solvers.coordinate import coordinate_rule as rule
from hullabaloo.solvers.coordinate.coordinate_rule import Schedule
from hullabaloo.solvers.ordinary import within_reach

Array = npt.NDArray[np.float64]

LEAST = 1e-9
"""Without noise, M_j over the mean square of the column at least: rounding of the difference from the squared mean."""


def measured(problem: Problem, schedule: Schedule, curator: Answers) -> tuple[Array, Array]:
    """Where columns are seen from, and M_j: released and at least their noise, or declared."""
    p, load = problem.dimension, problem.max_weight * problem.records_per_unit
    means, centre = np.zeros(p), np.zeros(p)
    if schedule.centred:
        means = curator.answer("means")
        means[-1] = 0.0  # the constant column stays
        size = float(means @ means)
        kept = max(0.0, 1.0 - (p - 1) * schedule.mean_noise**2 / size) if size > 0.0 else 0.0
        centre = np.clip(kept * means, -problem.norm_linf, problem.norm_linf)
    known = problem.neighbours is Neighbours.REPLACE_ONE and load == 1.0 and not schedule.exact
    if schedule.constants == "declared":
        square = np.full(p, load * problem.norm_linf**2)
        weight = load
    else:
        square = (
            curator.answer("second_moments_laplace")
            if schedule.constants == "laplace"
            else curator.answer("second_moments")
        )
        weight = (
            1.0 if known else _weight(problem, float(square[-1]) if problem.intercept else load, schedule.moment_noise)
        )
        least = np.hypot(schedule.moment_noise, 2.0 * np.abs(centre) * schedule.mean_noise)
        least = np.maximum(least, LEAST * np.maximum(np.abs(square), problem.norm_linf**2 * LEAST))
        square = np.maximum(square - 2.0 * centre * means + weight * centre**2, least)
    if problem.intercept:
        square[-1] = weight
    return centre, np.asarray(schedule.smoothness * square, dtype=np.float64)


def warmed(
    problem: Problem, schedule: Schedule, constants: Array, form: SeparableForm, theta: Array, view: Answers
) -> tuple[Array, float]:
    """The intercept alone, `warm` times; and curvature over β, where β bounds φ'' only near zero.

    Rare counts bend far less than that: along the intercept b the mean slope is `E e^b − ȳ`, E the mean of e^offset, so that two
    released slopes tell E, and `E e^b` is the curvature. Once the rounds begin, twice that, as predictions differ.
    """
    loss, last = problem.loss, np.array([problem.dimension - 1])
    assert isinstance(loss, Loss)  # the plan saw to it
    known = rule.is_smooth(loss)
    bend, mean, first = 1.0, 1.0, (0.0, 0.0)
    for number in range(schedule.warm):
        clips, steps = schedule.clips(constants, problem.intercept), within_reach(1.0 / (bend * constants))
        before = float(theta[-1])
        made = descend(view, theta, order=last, clips=clips, steps=steps, form=form)
        theta, slope = made.theta, float(made.partials[0])
        if known:
            continue
        if number == 0:
            first = before, slope
        elif before != first[0]:
            mean = (first[1] - slope) / (_curvature(loss, first[0]) - _curvature(loss, before))
            mean = min(max(mean, math.exp(-problem.offset_bound)), math.exp(problem.offset_bound))
        bend = schedule.bend(mean * _curvature(loss, float(theta[-1])))
    return theta, bend if known or not schedule.warm else min(2.0 * bend, 1.0)


def _curvature(loss: Loss, level: float) -> float:
    """φ'' at a prediction, of the target 0."""
    return float(loss.second_derivative(np.array([level]), np.zeros(1))[0])


def _weight(problem: Problem, released: float, noise: float) -> float:
    """Σ w over the declared number of records: as declared, or as released where that is less noisy than a quarter."""
    declared = problem.max_weight * problem.records_per_unit
    found = declared + (released - declared) / (1.0 + (noise / 0.25) ** 2)
    return min(max(found, 0.25), 4.0 * declared)
