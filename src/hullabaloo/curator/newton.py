"""Damped proximal Newton steps, and proximal steps with momentum: the fast ways to a minimiser, in plain doubles."""

import math

import numpy as np
import numpy.typing as npt

from hullabaloo.curator.objective import Local, Objective, euclidean
from hullabaloo.curator.shape import Copies, Kinks
from hullabaloo.quadratic import minimise_quadratic

Array = npt.NDArray[np.float64]

_NEWTON = 60
_DENSE = 1500  # columns up to which a Hessian is formed
_CONJUGATE = 200
_WARM = 60


def newton(objective: Objective, start: Array, tolerance: float) -> tuple[Local, Array | None]:
    """Damped proximal Newton steps until they no longer help: the last point, and its Hessian when one was formed."""
    local = objective.at(start, objective.predictions(start))
    hessian: Array | None = None
    for _ in range(_NEWTON):
        if objective.dimension <= _DENSE:
            hessian = objective.hessian(local)
        target = _model_minimiser(objective, local, hessian)
        move = target - local.theta
        size = euclidean(move)
        if not (size > 0.0 and math.isfinite(size)):
            break
        length, image = _line(objective, local, target)
        if length == 0.0:
            break
        theta = target if length == 1.0 else local.theta + length * move
        local = objective.at(theta, objective.predictions(theta) if length == 1.0 else local.z + length * image)
        if size * length <= tolerance + 1e-14 * euclidean(theta):
            break
    return local, hessian


def _model_minimiser(objective: Objective, local: Local, hessian: Array | None) -> Array:
    """The minimiser of the second-order model of S, with ψ and C."""
    shape = objective.shape
    smooth = shape.kinks is not None and not shape.kinks.any()
    if hessian is None:
        return _by_conjugate_gradients(objective, local) if smooth else with_momentum(objective, local, _WARM).theta
    if smooth:
        return local.theta + solve(hessian, -local.gradient)
    cross = hessian @ local.theta - local.gradient
    if shape.kinks is not None:
        solved = minimise_quadratic(hessian, cross, penalty=Kinks(shape.kinks), start=local.theta)
    elif shape.body is not None:
        solved = minimise_quadratic(hessian, cross, feasible=shape.body, start=local.theta)
    else:
        assert shape.penalty is not None
        solved = minimise_quadratic(hessian, cross, penalty=Copies(shape.penalty, shape.copies), start=local.theta)
    return solved.theta


def _line(objective: Objective, local: Local, target: Array) -> tuple[float, Array]:
    """A step towards `target` in (0, 1] that minimises a convex majorant of F along it; 0 where none descends."""
    move = target - local.theta
    image: Array = objective.X @ move
    rise = objective.shape.change(local.theta, target)

    def slope(length: float) -> float:
        return objective.slope_along(local, move, length, image) + rise

    first, last = slope(0.0), slope(1.0)
    if not first < 0.0:
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


def solve(hessian: Array, right: Array) -> Array:
    """`H⁻¹ right`, by Cholesky; a matrix that rounding made indefinite is lifted until it is definite."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    lift = 0.0
    while True:
        try:
            shifted = hessian if lift == 0.0 else hessian + lift * np.eye(len(hessian))
            solution: Array = cho_solve(cho_factor(shifted, lower=True, check_finite=False), right, check_finite=False)
            return solution
        except LinAlgError:
            lift = max(100.0 * lift, 1e-14 * float(np.abs(hessian).max()))


def _by_conjugate_gradients(objective: Objective, local: Local) -> Array:
    """The Newton point where the Hessian is too wide to be formed."""
    move = np.zeros_like(local.theta)
    residual = -local.gradient
    direction, size = residual.copy(), float(residual @ residual)
    goal = min(0.01, size**0.5) ** 2 * size
    for _ in range(_CONJUGATE):
        if size <= goal or size == 0.0:
            break
        image = objective.curve(local, direction)
        length = size / float(direction @ image)
        move += length * direction
        residual -= length * image
        new = float(residual @ residual)
        direction, size = residual + (new / size) * direction, new
    return local.theta + move


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
            if float((new.gradient - ahead.gradient) @ move) <= largest * size * (1.0 + 1e-6) or size == 0.0:
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
    """An estimate of the Hessian's largest eigenvalue, from a few powers."""
    direction = np.cos(np.arange(local.theta.size)) + 1e-3
    value = 1.0
    for _ in range(8):
        direction = direction / euclidean(direction)
        direction = objective.curve(local, direction)
        value = euclidean(direction)
    return 1.1 * value
