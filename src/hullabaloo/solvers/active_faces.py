"""Quadratics without a closed form: descend, see the face the point has come to, minimise exactly on that face.

½θᵀAθ − bᵀθ plus a set, or plus a penalty. A burst of first-order steps finds which constraints hold (or which
coordinates vanish); a linear system then gives the minimiser on that face, and a search along the way to it, brought
back by projection, accepts what lowers the objective. Every accepted point is lower than the last and faces are
finitely many, so for polyhedral problems the exact minimiser is reached; for the others the accelerated first-order
steps converge by themselves. Moré & Toraldo 1991 (faces); Beck & Teboulle 2009, O'Donoghue & Candès 2015 (bursts).
"""

import math
from abc import ABC, abstractmethod
from typing import final

import numpy as np
import numpy.typing as npt

from hullabaloo.geometry import Face, HasFaces, L1Ball, Penalty, Projectable
from hullabaloo.geometry.roots import increasing_root
from hullabaloo.solvers.interior_point import interior_point
from hullabaloo.solvers.linear_system import cholesky

Array = npt.NDArray[np.float64]


_FACES = 6  # linear systems between two bursts
_PATIENCE = 3  # bursts before another method is asked for a start


class Shape(ABC):
    """What is added to the quadratic: how to come back to it, to descend on it, and on which face a point lies."""

    @abstractmethod
    def proximal(self, point: Array, step: float) -> Array:
        """The projection, or the penalty's prox."""

    @abstractmethod
    def descend(self, quadratic: "Quadratic", theta: Array, steps: int) -> tuple[Array, int]:
        """A burst of first-order steps, and how many were made."""

    @abstractmethod
    def change(self, theta: Array, new: Array) -> float:
        """Difference of the nonsmooth part between two points."""

    @abstractmethod
    def retract(self, point: Array, theta: Array) -> Array:
        """`point` brought back to the closure of what lies around θ."""

    @abstractmethod
    def face(self, theta: Array) -> tuple[Face, Array] | None:
        """The face of θ and the slope of the nonsmooth part along it; None when there is no such structure."""

    @abstractmethod
    def jump(self, quadratic: "Quadratic", theta: Array) -> Array:
        """A better point to go on from when descent is slow; θ itself when nothing better is known."""

    @abstractmethod
    def stationarity(self, quadratic: "Quadratic", theta: Array) -> float:
        """‖v‖₂ of a subgradient v of the whole objective at θ, or next to it (one proximal step)."""


@final
class Quadratic:
    """A, b, and a bound L on the largest eigenvalue of A (kept valid by the steps that rely on it)."""

    def __init__(self, gram: Array, cross: Array, largest: float) -> None:
        self.gram, self.cross = gram, cross
        self.largest = largest if largest > 0.0 else (float(np.linalg.norm(cross)) or 1.0)

    def slope(self, theta: Array) -> Array:
        """Aθ − b."""
        slope: Array = self.gram @ theta - self.cross
        return slope


@final
class OnSet(Shape):
    """θ in a set that can be projected onto."""

    def __init__(self, body: Projectable) -> None:
        self.body = body

    def proximal(self, point: Array, step: float) -> Array:  # noqa: D102
        return self.body.project(point)

    def descend(self, quadratic: Quadratic, theta: Array, steps: int) -> tuple[Array, int]:  # noqa: D102
        return accelerated(quadratic, self, theta, steps)

    def change(self, theta: Array, new: Array) -> float:  # noqa: D102
        return 0.0

    def retract(self, point: Array, theta: Array) -> Array:  # noqa: D102
        return self.body.project(point)

    def face(self, theta: Array) -> tuple[Face, Array] | None:  # noqa: D102
        if not isinstance(self.body, HasFaces):
            return None
        return self.body.face(theta), np.zeros_like(theta)

    def jump(self, quadratic: Quadratic, theta: Array) -> Array:  # noqa: D102
        return through_the_penalty(quadratic, self.body, theta) if isinstance(self.body, L1Ball) else theta

    def stationarity(self, quadratic: Quadratic, theta: Array) -> float:  # noqa: D102
        return gradient_mapping(quadratic, self, theta)


@final
class WithPenalty(Shape):
    """Any penalty, through its prox alone."""

    def __init__(self, penalty: Penalty) -> None:
        self.penalty = penalty

    def proximal(self, point: Array, step: float) -> Array:  # noqa: D102
        return self.penalty.prox(point, step)

    def descend(self, quadratic: Quadratic, theta: Array, steps: int) -> tuple[Array, int]:  # noqa: D102
        return accelerated(quadratic, self, theta, steps)

    def change(self, theta: Array, new: Array) -> float:  # noqa: D102
        return self.penalty.value(new) - self.penalty.value(theta)

    def retract(self, point: Array, theta: Array) -> Array:  # noqa: D102
        return point

    def face(self, theta: Array) -> tuple[Face, Array] | None:  # noqa: D102
        return None

    def jump(self, quadratic: Quadratic, theta: Array) -> Array:  # noqa: D102
        return theta

    def stationarity(self, quadratic: Quadratic, theta: Array) -> float:  # noqa: D102
        return gradient_mapping(quadratic, self, theta)


@final
class WithWeights(Shape):
    """The penalty Σ weight_j|θ_j|, by coordinate descent."""

    def __init__(self, weight: Array) -> None:
        self.weight = weight

    def proximal(self, point: Array, step: float) -> Array:  # noqa: D102
        softened: Array = np.maximum(point - step * self.weight, 0.0) + np.minimum(point + step * self.weight, 0.0)
        return softened

    def descend(self, quadratic: Quadratic, theta: Array, steps: int) -> tuple[Array, int]:  # noqa: D102
        from hullabaloo.solvers.kernels import coordinate_sweeps

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

    def jump(self, quadratic: Quadratic, theta: Array) -> Array:  # noqa: D102
        return interior_point(quadratic.gram, quadratic.cross, self.weight, quadratic.largest)

    def stationarity(self, quadratic: Quadratic, theta: Array) -> float:  # noqa: D102
        slope = quadratic.slope(theta)
        at_zero = np.sign(slope) * np.maximum(np.abs(slope) - self.weight, 0.0)
        return float(np.linalg.norm(np.where(theta != 0.0, slope + self.weight * np.sign(theta), at_zero)))


def minimise(
    quadratic: Quadratic, shape: Shape, start: Array, *, tolerance: float, limit: int
) -> tuple[Array, float, int]:
    """Give the minimiser, its relative stationarity ‖v‖/(‖b‖ + L‖θ‖), and the first-order steps used.

    Stops when the stationarity is within `tolerance`, or `limit` first-order steps were made; deterministic.
    """
    theta = shape.proximal(start, 1.0 / quadratic.largest)
    used, burst = 0, 10 + len(theta) // 20  # so that bursts and linear systems take about as long
    best, best_relative = theta, math.inf
    rounds = 0
    while used < limit:
        rounds += 1
        if rounds == _PATIENCE:
            theta = shape.jump(quadratic, best)
            theta, _ = _down_to_a_face(quadratic, shape, theta)
        theta, made = shape.descend(quadratic, theta, min(burst, limit - used))
        used += made
        theta, settled = _down_to_a_face(quadratic, shape, theta)
        relative = _relative(quadratic, shape, theta)
        if relative < best_relative:
            best, best_relative = theta, relative
        if relative <= tolerance:
            break
        burst = burst if settled else min(2 * burst, 2000)
    return best, best_relative, used


def through_the_penalty(quadratic: Quadratic, body: L1Ball, theta: Array) -> Array:
    """The minimiser on the l1 ball as that of the penalty strength‖θ‖₁, at the root of ‖θ(strength)‖₁ = radius."""
    last = theta

    def room(strength: float) -> float:
        nonlocal last
        shape = WithWeights(np.full(last.size, strength))
        last, _, _ = minimise(quadratic, shape, last, tolerance=1e-13, limit=5000)
        return body.radius - float(np.abs(last).sum())

    room(increasing_root(room, 0.0, float(np.abs(quadratic.cross).max())))
    return body.project(last)


def _relative(quadratic: Quadratic, shape: Shape, theta: Array) -> float:
    scale = float(np.linalg.norm(quadratic.cross)) + quadratic.largest * float(np.linalg.norm(theta))
    return shape.stationarity(quadratic, theta) / scale if scale > 0.0 else 0.0


def _down_to_a_face(quadratic: Quadratic, shape: Shape, theta: Array) -> tuple[Array, bool]:
    """Exact minimisation on the face of θ, again and again while that leads to a smaller face; whether it settled."""
    for _ in range(_FACES):
        found = shape.face(theta)
        if found is None:
            return theta, False
        face, extra = found
        system = FaceSystem(quadratic, face)
        move = system.solve(quadratic.slope(theta) + extra)
        new = _search(quadratic, shape, theta, move)
        if new is None:
            return _refined(quadratic, shape, theta, system), True
        after = shape.face(new)
        theta = new
        if _same(after, face):
            return _refined(quadratic, shape, theta, system), True
    return theta, False


def _search(quadratic: Quadratic, shape: Shape, theta: Array, move: Array) -> Array | None:
    """The longest of the halved moves that, brought back, lowers the objective; None when none does."""
    slope = quadratic.slope(theta)
    for _ in range(40):
        new = shape.retract(theta + move, theta)
        step = new - theta
        gain = float(slope @ step) + 0.5 * float(step @ (quadratic.gram @ step)) + shape.change(theta, new)
        if gain < 0.0:
            return new
        move = 0.5 * move
    return None


def _refined(quadratic: Quadratic, shape: Shape, theta: Array, system: "FaceSystem") -> Array:
    """Correct θ on its face with slopes of doubled precision, while the corrections shrink and the face is kept."""
    from hullabaloo.solvers.kernels import careful_slope

    found = shape.face(theta)
    last = math.inf
    for _ in range(4):
        if found is None or not _same(found, system.face):
            break
        move = system.solve(careful_slope(quadratic.gram, theta, quadratic.cross) + found[1])
        size = float(np.abs(move).max(initial=0.0))
        new = shape.retract(theta + move, theta)
        after = shape.face(new)
        if not _same(after, system.face) or not 0.0 < size < 0.5 * last:
            break
        if not math.isfinite(last) and size > 1e-3 * (1e-300 + float(np.abs(theta).max())):
            break  # not at the minimiser of the face: no refinement, but a step of its own
        theta, found, last = new, after, size
    return theta


def _same(found: tuple[Face, Array] | None, face: Face) -> bool:
    if found is None or not np.array_equal(found[0].free, face.free):
        return False
    other = found[0].normal
    if other is None or face.normal is None:
        return other is face.normal
    return np.array_equal(other, face.normal)


@final
class FaceSystem:
    """The linear system of a face: moves δ with δ_j = 0 off the free coordinates and ⟨normal, δ⟩ = 0.

    The direction across the face is removed by a Householder reflection. A system singular to working precision gets
    1e-12·L on its diagonal: a proximal-point step, which also travels far along flat directions that still descend.
    """

    def __init__(self, quadratic: Quadratic, face: Face) -> None:
        self.face = face
        self.index = np.flatnonzero(face.free)
        whole = self.index.size == len(quadratic.gram)
        matrix = quadratic.gram if whole else quadratic.gram[np.ix_(self.index, self.index)]
        self.mirror: Array | None = None
        if face.normal is not None and self.index.size:
            axis = face.normal[self.index] / np.linalg.norm(face.normal[self.index])
            axis[0] += 1.0 if axis[0] >= 0.0 else -1.0
            axis /= np.linalg.norm(axis)
            image = matrix @ axis
            image -= axis * float(axis @ image)
            matrix = (matrix - 2.0 * np.outer(axis, image) - 2.0 * np.outer(image, axis))[1:, 1:]
            self.mirror = axis
            # with u the axis: HAH = A − 2u(Au)ᵀ − 2(Au)uᵀ + 4(uᵀAu)uuᵀ = A − 2u wᵀ − 2w uᵀ, w = Au − (uᵀAu)u
        self.factor = None
        if len(matrix):
            self.factor = cholesky(matrix, 1e-13)
            shift = 1e-12 * quadratic.largest
            while self.factor is None and math.isfinite(shift):
                self.factor = cholesky(matrix + shift * np.eye(len(matrix)), 0.0)
                shift *= 100.0

    def solve(self, slope: Array) -> Array:
        """The move δ within the face from a point with that slope to the minimiser."""
        move = np.zeros_like(slope)
        if self.factor is None:
            return move
        right = -slope[self.index]
        if self.mirror is None:
            move[self.index] = self.factor.solve(right)
            return move
        right = right - 2.0 * self.mirror * float(self.mirror @ right)
        inner = np.concatenate([[0.0], self.factor.solve(right[1:])])
        move[self.index] = inner - 2.0 * self.mirror * float(self.mirror @ inner)
        return move


def accelerated(quadratic: Quadratic, shape: Shape, theta: Array, steps: int) -> tuple[Array, int]:
    """Accelerated proximal gradient steps, restarted whenever the momentum points uphill; stops at a fixed point."""
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
        theta, image, momentum = new, new_image, following
    return theta, steps


def gradient_mapping(quadratic: Quadratic, shape: Shape, theta: Array) -> float:
    """L‖θ − θ⁺‖ for the proximal point θ⁺ of θ: no less than ‖v‖ of the subgradient v = (L − A)(θ − θ⁺) at θ⁺."""
    new = shape.proximal(theta - quadratic.slope(theta) / quadratic.largest, 1.0 / quadratic.largest)
    return quadratic.largest * float(np.linalg.norm(theta - new))
