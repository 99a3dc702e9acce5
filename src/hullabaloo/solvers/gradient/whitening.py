"""Records made round: the linear map that a noisy covariance gives, and momentum steps in its coordinates."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hullabaloo.geometry import NoPenalty
from hullabaloo.quadratic import QuadraticSolver
from hullabaloo.solvers.base import Answers, Problem
from hullabaloo.solvers.gradient.course import Course
from hullabaloo.solvers.gradient.survey import held

Array = npt.NDArray[np.float64]

SETTLE = 10.0
"""How many times its own memory the intercept's walk lasts."""
WEIGHT = 20.0
"""How many typical lengths the constant column weighs while the intercept alone is fitted."""


@dataclass(frozen=True, slots=True, eq=False)
class Whitening:
    """`u = Aᵀ(x_s − m)`, `A = V(Λ₊ + λI)^{-1/2}` for a noisy covariance VΛVᵀ: eigenvalue `g = Λ₊/(Λ₊ + λ)` in each direction.

    Attributes:
        slopes: A, (q, q).
        root: `(Λ₊ + λ)^{1/2}`, (q,).
        gain: g, (q,).
        centre: m, (q,).
        intercept: whether a constant column comes last.
    """

    slopes: Array
    root: Array
    gain: Array
    centre: Array
    intercept: bool

    @classmethod
    def of(cls, covariance: Array, centre: Array, floor: float, *, intercept: bool) -> "Whitening":
        """Mend the noisy covariance and whiten by it, down to the floor λ > 0."""
        values, vectors = np.linalg.eigh(covariance)
        values = np.maximum(values, 0.0)
        root = np.sqrt(values + floor)
        return cls(np.ascontiguousarray(vectors / root), root, values / root**2, centre, intercept)

    @property
    def matrix(self) -> Array:
        """W, for which `Wᵀ(x_s, 1) = (u, 1)`, or Wᵀx = u without a constant column."""
        if not self.intercept:
            return self.slopes
        size = len(self.centre) + 1
        whole = np.zeros((size, size))
        whole[:-1, :-1], whole[-1, :-1], whole[-1, -1] = self.slopes, -(self.centre @ self.slopes), 1.0
        return whole

    @property
    def metric(self) -> Array:
        """`M = A^{-T}A^{-1}`, by which distances of slopes are those of u's coefficients."""
        inverse = self.inverse
        return inverse.T @ inverse

    @property
    def inverse(self) -> Array:
        """A⁻¹."""
        return np.asarray((self.slopes * self.root**2).T)

    @property
    def covariance(self) -> Array:
        """VΛ₊Vᵀ, (q, q)."""
        axes = self.slopes * self.root
        return np.asarray((axes * (self.root**2 * self.gain)) @ axes.T, dtype=np.float64)

    @property
    def typical(self) -> float:
        """Root mean square of ‖u‖, at least half of one direction's."""
        return float(np.sqrt(max(self.gain.sum(), 0.25)))

    @property
    def intercept_weight(self) -> float:
        """Weight of the constant column."""
        return self.typical * len(self.centre) ** -0.25 if self.intercept else 1.0

    @property
    def length(self) -> float:
        """Typical length of u, the constant column included."""
        return float(np.hypot(self.typical, self.intercept_weight if self.intercept else 0.0))

    @property
    def nowhere(self) -> Array:
        """No further centre."""
        return np.zeros(len(self.centre) + self.intercept)


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """Heavy-ball steps on whitened records; points are coefficients of u and, last, the prediction at the centre."""

    problem: Problem
    path: Course
    view: Whitening
    records: Answers

    def start(self, level: float) -> Array:
        """The set's own start, or 0, and a level."""
        slopes = np.zeros(len(self.view.centre))
        if self.problem.constraint is not None:
            slopes = self.view.inverse @ self.problem.constraint.start(slopes.size)
        return np.append(slopes, [level] * self.problem.intercept)

    def coefficients(self, point: Array) -> Array:
        """θ: slopes, and the intercept within its bounds where a set needs them."""
        if not self.problem.intercept:
            return self._settled(self.view.slopes @ point)
        theta = self._settled(self.view.slopes @ point[:-1])
        last = float(point[-1]) - float(self.view.centre @ theta)
        return held(self.problem, np.append(theta, last), self.view.centre)

    def go(self, start: Array, steps: int, clip_norm: float, travel: float, burn: float) -> tuple[Array, Array, Array]:
        """The last point, the mean of all but the first share `burn`, and the mean gradient, of steps that travel so far."""
        path, view, q = self.path, self.view, len(self.view.centre)
        largest = 1.0 / (path.smoothness * max(float(view.gain.max()), 0.25) * path.room)
        memory = min(max(1.0 - largest * steps / travel, 0.0), 1.0 - 1.0 / (1.0 + steps / 8.0))
        step = min(largest, travel * (1.0 - memory) / steps)
        middle = min(1.0 / (path.smoothness * path.room), SETTLE * (1.0 - memory) / (steps * path.smoothness))
        metric = view.metric / step if self._held else np.zeros((0, 0))
        nearest = self._quadratic(metric) if self._held else None
        point, speed, total = start.copy(), np.zeros_like(start), np.zeros_like(start)
        first, gradient = int(steps * burn), np.zeros_like(start)
        for t in range(steps):
            g = self.records.answer(
                "centred_gradient",
                point,
                centre=view.nowhere,
                intercept_weight=view.intercept_weight,
                clip_norm=clip_norm,
            )
            gradient += g / steps
            speed[:q] = memory * speed[:q] - step * g[:q]
            after = point[:q] + speed[:q]
            if nearest is not None:
                after = self._proximal(nearest, metric, after)
                speed[:q] = after - point[:q]
            if self.problem.intercept:
                low, high = self.problem.loss.intercept_bounds
                speed[-1] = memory * speed[-1] - middle * g[-1]
                after = np.append(after, min(max(point[-1] + speed[-1], low), high))
            point = after
            if t >= first:
                total += point
        return point, total / (steps - first), gradient

    def levelled(self, point: Array) -> Array:
        """The level once more, by steps that cut next to no derivative: a skewed target's mean is not its median."""
        path, view, point = self.path, self.view, point.copy()
        intercept_weight, (low, high) = WEIGHT * view.length, self.problem.loss.intercept_bounds
        step, total, speed = 0.5 / path.smoothness, 0.0, 0.0
        for t in range(path.level):
            g = self.records.answer(
                "centred_gradient",
                point,
                centre=view.nowhere,
                intercept_weight=intercept_weight,
                clip_norm=1.01 * path.slope * intercept_weight,
            )
            speed = 0.5 * speed - step * float(g[-1])
            point[-1] = min(max(point[-1] + speed, low), high)
            total += float(point[-1]) if t >= path.level // 3 else 0.0
        point[-1] = total / (path.level - path.level // 3)
        return point

    @property
    def _held(self) -> bool:
        return self.problem.constraint is not None or not isinstance(self.problem.penalty, NoPenalty)

    def _quadratic(self, metric: Array) -> QuadraticSolver:
        problem = self.problem
        return QuadraticSolver(metric, feasible=problem.constraint, penalty=problem.penalty, tolerance=1e-9)

    def _proximal(self, nearest: QuadraticSolver, metric: Array, point: Array) -> Array:
        """`argmin ½‖A⁻¹θ − point‖²/step + ψ(θ)` over θ in C, as coefficients of u."""
        theta = self.view.slopes @ point
        return self.view.inverse @ nearest.minimise(metric @ theta, theta).theta

    def _settled(self, theta: Array) -> Array:
        """In the set to the last digit."""
        constraint = self.problem.constraint
        return theta if constraint is None else constraint.project(theta)  # type: ignore[attr-defined]  # the plan saw to it
