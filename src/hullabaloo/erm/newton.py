"""Damped proximal Newton steps, and proximal steps with momentum: the fast ways to a minimiser, in plain doubles."""

import math

import numpy as np

from hullabaloo.erm.objective import Local, Objective
from hullabaloo.erm.shape import Array
from hullabaloo.geometry.numerics import euclidean_norm
from hullabaloo.geometry.within import Kinks
from hullabaloo.quadratic import minimise_quadratic
from hullabaloo.quadratic.linear_system import factorise

_NEWTON = 60
_DENSE = 1500  # columns up to which a Hessian is formed
_CONJUGATE = 500
_ROUGH = 1e-3
_WARM = 60


def newton(objective: Objective, start: Array, least: float = 0.0) -> tuple[Local, Array | None]:
    """Damped proximal Newton steps until they no longer help: the last point, and its Hessian when one was formed.

    They end, too, where F would fall at a rate of at most `least` along the step, for each record.
    """
    local = objective.at(start, objective.predictions(start))
    hessian: Array | None = None
    for _ in range(_NEWTON):
        if objective.dimension <= _DENSE:
            hessian = objective.hessian(local)
        target = _model_minimiser(objective, local, hessian)
        move = target - local.theta
        size = euclidean_norm(move)
        if not (size > 0.0 and math.isfinite(size)):
            break
        length, image = _line(objective, local, target, least * local.z.shape[0])
        if length == 0.0:
            break
        theta = target if length == 1.0 else local.theta + length * move
        local = objective.at(theta, objective.predictions(theta) if length == 1.0 else local.z + length * image)
        if size * length <= 1e-14 * euclidean_norm(theta):
            break
    return local, hessian


def _model_minimiser(objective: Objective, local: Local, hessian: Array | None) -> Array:
    """The minimiser of the second-order model of S, with ψ and C."""
    if hessian is not None:
        return model_minimiser(objective, local.theta, local.gradient, hessian)
    if objective.shape.kinks is None or objective.shape.kinks.any():
        return with_momentum(objective, local, _WARM).theta
    everywhere = np.ones(local.theta.size)
    return local.theta + conjugate_gradients(objective, local, -local.gradient, everywhere, _ROUGH)


def model_minimiser(objective: Objective, theta: Array, gradient: Array, hessian: Array) -> Array:
    """`argmin ⟨g, u − θ⟩ + ½(u − θ)ᵀH(u − θ) + ψ(u)` over u in C."""
    shape = objective.shape
    if shape.kinks is not None and not shape.kinks.any():
        return theta + factorise(hessian).solve(-gradient)
    cross, penalty = hessian @ theta - gradient, shape.penalty if shape.kinks is None else Kinks(shape.kinks)
    hessian, cross = hessian / shape.copies, cross / shape.copies  # of copies · ψ beside it: the same minimiser
    return minimise_quadratic(hessian, cross, feasible=shape.body, penalty=penalty, start=theta).theta


def _line(objective: Objective, local: Local, target: Array, least: float) -> tuple[float, Array]:
    """A step towards `target` in (0, 1] that minimises a convex majorant of F along it; 0 where F falls by no more than `least`."""
    move = target - local.theta
    image = objective.image(move)
    rise = objective.shape.change(local.theta, target)

    def slope(length: float) -> float:
        return objective.slope_along(local, move, length, image) + rise

    first, last = slope(0.0), slope(1.0)
    if not first < -least:
        return 0.0, image
    if last <= 0.0 or last <= -0.1 * first:
        return 1.0, image
    low, high, at_low, at_high = 0.0, 1.0, first, last
    for _ in range(30):
        middle = low + (high - low) * min(max(at_low / (at_low - at_high), 0.05), 0.95)
        value = slope(middle)
        if abs(value) <= 0.1 * -first:
            return middle, image
        if value < 0.0:
            low, at_low, at_high = middle, value, 0.5 * at_high
        else:
            high, at_high, at_low = middle, value, 0.5 * at_low
    return low, image


def conjugate_gradients(objective: Objective, local: Local, right: Array, support: Array, precision: float) -> Array:
    """`H⁻¹ right` on the support, to a relative precision of the residual, without forming H."""
    held = np.where(support, 1.0, 0.0)
    move, residual = np.zeros_like(right), right * held
    direction, size = residual.copy(), float(residual @ residual)
    goal = precision**2 * size
    for _ in range(_CONJUGATE):
        if not size > goal:
            break
        image = held * objective.curve(local, direction)
        bend = float(direction @ image)
        if not bend > 0.0:  # a direction without curvature, where the loss is straight
            break
        length = size / bend
        move += length * direction
        residual -= length * image
        new = float(residual @ residual)
        direction, size = residual + (new / size) * direction, new
    return move


def with_momentum(objective: Objective, local: Local, steps: int) -> Local:
    """Proximal gradient steps with momentum, restarted when it points uphill; the step adapts (Beck & Teboulle 2009)."""
    largest = _largest(objective, local)
    here, ahead, momentum = local, local, 1.0
    for _ in range(steps):
        while True:
            theta = objective.shape.proximal(ahead.theta - ahead.gradient / largest, 1.0 / largest)
            move = theta - ahead.theta
            size = float(move @ move)
            new = objective.at(theta, objective.predictions(theta))
            if float((new.gradient - ahead.gradient) @ move) <= largest * size * (1.0 + 1e-6) or not size > 0.0:
                break
            largest *= 1.5
        if size == 0.0 and ahead is here:
            return new
        if float((ahead.theta - new.theta) @ (new.theta - here.theta)) > 0.0:
            if ahead is here:
                return new
            ahead, momentum = here, 1.0
            continue
        following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum**2))
        point = new.theta + ((momentum - 1.0) / following) * (new.theta - here.theta)
        here, momentum = new, following
        ahead = here if np.array_equal(point, here.theta) else objective.at(point, objective.predictions(point))
    return here


def _largest(objective: Objective, local: Local) -> float:
    """An estimate of the Hessian's largest eigenvalue, from a few powers; 1 where the Hessian is 0 (a hinge's straight part)."""
    direction = np.cos(np.arange(local.theta.size)) + 1e-3
    value = 1.0
    for _ in range(8):
        direction = objective.curve(local, direction / euclidean_norm(direction))
        value = euclidean_norm(direction)
        if value == 0.0:
            return 1.0
    return 1.1 * value
