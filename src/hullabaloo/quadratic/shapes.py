"""What is added to a quadratic, a set or a penalty, as the methods that minimise the sum see it."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from hullabaloo.geometry import Face, HasFaces, L1Ball, Penalty, Projectable, prox_within
from hullabaloo.geometry.numerics import increasing_root
from hullabaloo.quadratic.interior_point import interior_point
from hullabaloo.quadratic.kernels import coordinate_sweeps
from hullabaloo.quadratic.linear_system import Array, Quadratic

Minimise = Callable[[Quadratic, "Shape", Array], Array]


class Shape(ABC):
    """What is added to the quadratic: how to come back to it, to descend on it, and on which face a point lies.

    Unless a kind says otherwise it is known by its projection or prox alone, without faces.
    """

    @abstractmethod
    def proximal(self, point: Array, step: float) -> Array:
        """The projection, or the penalty's prox."""

    def descend(self, quadratic: Quadratic, theta: Array, steps: int) -> tuple[Array, int]:
        """A burst of first-order steps, and how many were made."""
        return accelerated(quadratic, self, theta, steps)

    def change(self, theta: Array, new: Array) -> float:
        """Difference of the nonsmooth part between two points."""
        return 0.0

    def retract(self, point: Array, theta: Array) -> Array:
        """`point` brought back to the closure of what lies around θ."""
        return point

    def face(self, theta: Array) -> tuple[Face, Array] | None:
        """The face of θ and the slope of the nonsmooth part along it; None when there is no such structure."""
        return None

    def jump(self, quadratic: Quadratic, theta: Array, minimise: Minimise) -> Array:
        """A better point to go on from when descent is slow, perhaps by solving related problems with `minimise`."""
        return theta

    def stationarity(self, quadratic: Quadratic, theta: Array) -> float:
        """‖v‖₂ of a subgradient v of the whole objective at θ, or next to it: L‖θ − θ⁺‖ for the proximal point θ⁺ of θ.

        That is no less than ‖v‖ of the subgradient v = (L − A)(θ − θ⁺) at θ⁺.
        """
        new = self.proximal(theta - quadratic.slope(theta) / quadratic.largest, 1.0 / quadratic.largest)
        return quadratic.largest * float(np.linalg.norm(theta - new))


class OnSet(Shape):
    """θ in a set that can be projected onto."""

    def __init__(self, body: Projectable) -> None:
        self.body = body

    def proximal(self, point: Array, step: float) -> Array:  # noqa: D102
        return self.body.project(point)

    def retract(self, point: Array, theta: Array) -> Array:  # noqa: D102
        return self.body.project(point)

    def face(self, theta: Array) -> tuple[Face, Array] | None:  # noqa: D102
        return (self.body.face(theta), np.zeros_like(theta)) if isinstance(self.body, HasFaces) else None

    def jump(self, quadratic: Quadratic, theta: Array, minimise: Minimise) -> Array:  # noqa: D102
        return _through_the_penalty(quadratic, self.body, theta, minimise) if isinstance(self.body, L1Ball) else theta


class WithPenalty(Shape):
    """Any penalty, through its prox alone, or one with corners over a set, through the prox of both."""

    def __init__(self, penalty: Penalty, body: Projectable | None = None) -> None:
        self.penalty, self.body = penalty, body

    def proximal(self, point: Array, step: float) -> Array:  # noqa: D102
        free = self.body is None
        return self.penalty.prox(point, step) if free else prox_within(self.penalty, self.body, point, step)

    def change(self, theta: Array, new: Array) -> float:  # noqa: D102
        return self.penalty.value(new) - self.penalty.value(theta)


class WithWeights(Shape):
    """The penalty Σ weight_j|θ_j|, by coordinate descent."""

    def __init__(self, weight: Array) -> None:
        self.weight = weight

    def proximal(self, point: Array, step: float) -> Array:  # noqa: D102
        return np.maximum(point - step * self.weight, 0.0) + np.minimum(point + step * self.weight, 0.0)

    def descend(self, quadratic: Quadratic, theta: Array, steps: int) -> tuple[Array, int]:  # noqa: D102
        moved = theta.copy()
        coordinate_sweeps(quadratic.gram, quadratic.slope(theta), self.weight, moved, steps)
        return moved, steps

    def change(self, theta: Array, new: Array) -> float:  # noqa: D102
        same = theta * new > 0.0  # there |new| − |θ| = ±(new − θ) without cancellation
        return float(self.weight @ np.where(same, np.sign(theta) * (new - theta), np.abs(new) - np.abs(theta)))

    def retract(self, point: Array, theta: Array) -> Array:  # noqa: D102
        return np.where((self.weight > 0.0) & (point * theta <= 0.0), 0.0, point)

    def face(self, theta: Array) -> tuple[Face, Array] | None:  # noqa: D102
        return Face((theta != 0.0) | (self.weight == 0.0), None), self.weight * np.sign(theta)

    def jump(self, quadratic: Quadratic, theta: Array, minimise: Minimise) -> Array:  # noqa: D102
        return interior_point(quadratic.gram, quadratic.cross, self.weight, quadratic.largest)

    def stationarity(self, quadratic: Quadratic, theta: Array) -> float:  # noqa: D102
        slope = quadratic.slope(theta)
        at_zero = np.sign(slope) * np.maximum(np.abs(slope) - self.weight, 0.0)
        return float(np.linalg.norm(np.where(theta != 0.0, slope + self.weight * np.sign(theta), at_zero)))


def _through_the_penalty(quadratic: Quadratic, body: L1Ball, theta: Array, minimise: Minimise) -> Array:
    """The minimiser on the l1 ball as that of the penalty strength‖θ‖₁, at the root of ‖θ(strength)‖₁ = radius."""
    last = theta

    def room(strength: float) -> float:
        nonlocal last
        last = minimise(quadratic, WithWeights(np.full(last.size, strength)), last)
        return body.radius - float(np.abs(last).sum())

    room(increasing_root(room, 0.0, float(np.abs(quadratic.cross).max())))
    return body.project(last)


def accelerated(
    quadratic: Quadratic, shape: Shape, theta: Array, steps: int, tolerance: float = 0.0
) -> tuple[Array, int]:
    """Accelerated proximal gradient steps, restarted whenever the momentum points uphill (O'Donoghue, Candès 2015).

    Stops at a fixed point, or where a step moves θ by less than `tolerance` times its length.
    """
    image = quadratic.gram @ theta
    ahead, ahead_image, momentum = theta, image, 1.0
    for count in range(steps):
        while True:
            new = shape.proximal(ahead - (ahead_image - quadratic.cross) / quadratic.largest, 1.0 / quadratic.largest)
            new_image = quadratic.gram @ new
            step, bend = new - ahead, new_image - ahead_image
            if float(step @ bend) <= quadratic.largest * float(step @ step) * (1.0 + 1e-6):
                break
            quadratic.largest *= 2.0
        if np.array_equal(new, theta) and ahead is theta:
            return new, count + 1
        if float((ahead - new) @ (new - theta)) > 0.0:
            ahead, ahead_image, momentum = theta, image, 1.0  # restart from the last point, not from the overshoot
            continue
        following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum**2))
        factor = (momentum - 1.0) / following
        ahead, ahead_image = new + factor * (new - theta), new_image + factor * (new_image - image)
        theta, last, image, momentum = new, theta, new_image, following
        if float(np.linalg.norm(theta - last)) < tolerance * float(np.linalg.norm(theta)):
            break
    return theta, steps


def search(quadratic: Quadratic, shape: Shape, theta: Array, move: Array) -> Array | None:
    """The longest of the halved moves that, brought back, lowers the objective; None when none does."""
    slope = quadratic.slope(theta)
    for _ in range(40):
        new = shape.retract(theta + move, theta)
        step = new - theta
        if float(slope @ step) + 0.5 * float(step @ (quadratic.gram @ step)) + shape.change(theta, new) < 0.0:
            return new
        move = 0.5 * move
    return None
