"""The coordinates in which steps are taken: centred records as they are, or made round by a noisy covariance."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hullabaloo.geometry import NoPenalty
from hullabaloo.quadratic import QuadraticSolver
from hullabaloo.solvers.base import Answers, Problem
from hullabaloo.solvers.loop import proximal

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """`u = Aᵀ(x_s − m)`. With a noisy covariance VΛVᵀ, `A = V(Λ₊ + λI)^{-1/2}`: variance `g = Λ₊/(Λ₊ + λ)` in each direction; else A = I.

    A point is the coefficients of u and, last, the prediction at the centre.

    Attributes:
        records: the answers about the table; of whitened records, about u.
        centre: m, (q,).
        intercept: whether a constant column comes last.
        typical: usual length of u.
        gain: g, (q,); of A = I, typical²/q.
        slopes: A, (q, q), or None for I.
        root: `(Λ₊ + λ)^{1/2}`, (q,), of a whitening.
    """

    records: Answers
    centre: Array
    intercept: bool
    typical: float
    gain: Array
    slopes: Array | None = None
    root: Array | None = None

    @classmethod
    def plain(cls, records: Answers, centre: Array, typical: float, *, intercept: bool) -> "Coordinates":
        """Records as they are, from m."""
        return cls(records, centre, intercept, typical, np.full(centre.size, typical**2 / max(centre.size, 1)))

    @classmethod
    def whitened(
        cls, records: Answers, covariance: Array, centre: Array, floor: float, *, intercept: bool
    ) -> "Coordinates":
        """Mend the noisy covariance and whiten by it, down to the floor λ > 0."""
        values, vectors = np.linalg.eigh(covariance)
        values = np.maximum(values, 0.0)
        root = np.sqrt(values + floor)
        slopes, gain = np.ascontiguousarray(vectors / root), values / root**2
        matrix = slopes
        if intercept:
            matrix = np.zeros((centre.size + 1, centre.size + 1))
            matrix[:-1, :-1], matrix[-1, :-1], matrix[-1, -1] = slopes, -(centre @ slopes), 1.0
        typical = float(np.sqrt(max(gain.sum(), 0.25)))
        return cls(records.turned(matrix), centre, intercept, typical, gain, slopes, root)

    @property
    def intercept_weight(self) -> float:
        """Length of the constant column beside u: its noise is then that of all slopes together, to the power of a half."""
        return self.typical * max(self.centre.size, 1) ** -0.25 if self.intercept and self.centre.size else 1.0

    @property
    def length(self) -> float:
        """Usual length of u, the constant column included."""
        return float(np.hypot(self.typical, self.intercept_weight if self.intercept else 0.0))

    @property
    def steepest(self) -> float:
        """Bound of the largest eigenvalue of E uuᵀ, for records of usual length."""
        return self.typical**2 if self.slopes is None else max(float(self.gain.max()), 0.25)

    @property
    def stretch(self) -> float:
        """‖A‖₂."""
        return 1.0 if self.root is None else float(1.0 / self.root.min())

    @property
    def covariance(self) -> Array:
        """VΛ₊Vᵀ, (q, q), of a whitening."""
        assert self.slopes is not None
        assert self.root is not None
        axes = self.slopes * self.root
        return np.asarray((axes * (self.root**2 * self.gain)) @ axes.T, dtype=np.float64)

    @property
    def inverse(self) -> Array:
        """A⁻¹, of a whitening."""
        assert self.slopes is not None
        assert self.root is not None
        return np.asarray((self.slopes * self.root**2).T)

    def gradient(self, point: Array, clip: float, weight: float | None = None) -> Array:
        """One noisy mean gradient at a point, each record's shortened to `clip` with the constant column `weight` long."""
        where = {"lift": self.intercept_weight if weight is None else weight, "reach": clip}
        return np.asarray(self.records.answer("step", self._asked(point), centre=self._middle, **where))

    def lengths(self, point: Array, edges: Array) -> Array:
        """The noisy histogram of the lengths of gradients at a point."""
        where = {"centre": self._middle, "lift": self.intercept_weight, "edges": edges}
        return np.asarray(self.records.answer("scales", self._asked(point), **where))

    def reaches(self, edges: Array) -> Array:
        """The noisy histogram of the lengths of u."""
        return np.asarray(
            self.records.answer("scales", None, centre=self._middle, lift=1e-9 if self.intercept else 1.0, edges=edges)
        )

    def start(self, problem: Problem, level: float) -> Array:
        """The set's own start, or 0, and a level."""
        slopes = np.zeros(self.centre.size)
        if problem.constraint is not None:
            slopes = problem.constraint.start(slopes.size)
            slopes = slopes if self.slopes is None else self.inverse @ slopes
        return np.append(slopes, [level] * self.intercept)

    def coefficients(self, point: Array) -> Array:
        """θ of a point, (p,)."""
        slopes = point[: self.centre.size] if self.slopes is None else self.slopes @ point[: self.centre.size]
        return np.append(slopes, point[-1:] - self.centre @ slopes) if self.intercept else slopes

    def nearest(self, problem: Problem, step: float) -> "Nearest | None":
        """The proximal step, where a set or penalty needs one."""
        if problem.constraint is None and isinstance(problem.penalty, NoPenalty):
            return None
        return Nearest(self, problem, step)

    @property
    def _middle(self) -> Array:
        """Where the curator is told that the centre is: whitened records are centred already."""
        centre = self.centre if self.slopes is None else np.zeros_like(self.centre)
        return np.append(centre, [0.0] * self.intercept)

    def _asked(self, point: Array) -> Array:
        return self.coefficients(point) if self.slopes is None else point


class Nearest:
    """`argmin ½‖A⁻¹θ − point‖²/step + ψ(θ)` over θ in C, as coefficients of u."""

    def __init__(self, view: Coordinates, problem: Problem, step: float) -> None:
        self._view, self._problem, self._step = view, problem, step
        if view.slopes is not None:
            self._metric = view.inverse.T @ view.inverse / step
            self._quadratic = QuadraticSolver(
                self._metric, feasible=problem.constraint, penalty=problem.penalty, tolerance=1e-9
            )

    def __call__(self, point: Array) -> Array:
        if self._view.slopes is None:
            return proximal(self._problem, point, self._step)
        theta = self._view.slopes @ point
        return self._view.inverse @ self._quadratic.minimise(self._metric @ theta, theta).theta
