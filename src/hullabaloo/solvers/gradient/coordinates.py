"""Coordinates in which noisy gradients are asked for: records from a released centre, as they are or whitened by a released covariance."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from hullabaloo.quadratic import QuadraticSolver
from hullabaloo.solvers.base import Answers, Array, Problem
from hullabaloo.solvers.gradient.location_scale import PrivateLocationScale
from hullabaloo.solvers.loop import proximal


@dataclass(frozen=True, eq=False)
class Coordinates:
    """`u = Aᵀ(x_s − m)`, A = I or `V(Λ₊ + λI)^{-1/2}`; a point is the coefficients of u and, last, the prediction at the centre.

    Without a constant column the coordinate along the mean can take its place (`along_mean`): u and it are `Wᵀx`, x = θ's own columns.

    Attributes:
        centre: m, (q,).
        typical: typical length of u.
        steepest: the largest eigenvalue of u's covariance, as far as shortened records tell.
        intercept: whether a constant column comes last.
        matrix: A, (q, q); None for the identity; W, (p, p) with q = p − 1, where the coordinate along the mean comes last.
        gain: `Λ₊/(Λ₊ + λ)`, the variance of each coordinate of u, (q,); empty where A is the identity.
        mean: m, where the coordinate along it comes last in place of a constant column; the centre is 0 then.
        mean_weight: w̄, over which gradients are those of records of mean weight 1.
        counted: over which numbers of records are shares.
    """

    centre: Array
    typical: float
    steepest: float
    intercept: bool
    matrix: Array | None = None
    gain: Array = field(default_factory=lambda: np.empty(0))
    mean_weight: float = 1.0
    counted: float = 1.0
    mean: Array | None = None

    @classmethod
    def plain(cls, seen: PrivateLocationScale, *, intercept: bool) -> "Coordinates":
        """A = I; a covariance has no eigenvalue above the records' mean square."""
        weights = seen.mean_weight, seen.counted
        return cls(seen.centre, seen.typical, seen.typical**2, intercept, None, np.empty(0), *weights)

    @classmethod
    def whitened(
        cls, covariance: Array, seen: "PrivateLocationScale | Coordinates", floor: float, *, intercept: bool
    ) -> "Coordinates":
        """Whiten by a noisy covariance w̄VΛVᵀ, its negative eigenvalues taken as 0, down to the floor λ > 0."""
        values, vectors = np.linalg.eigh(covariance / seen.mean_weight)
        values = np.maximum(values, 0.0)
        gain = values / (values + floor)
        typical, steepest = float(np.sqrt(max(gain.sum(), 0.25))), max(float(gain.max()), 0.25)
        matrix = np.ascontiguousarray(vectors / np.sqrt(values + floor))
        return cls(seen.centre, typical, steepest, intercept, matrix, gain, seen.mean_weight, seen.counted)

    @classmethod
    def along_mean(
        cls, seen: "PrivateLocationScale | Coordinates", matrix: Array, typical: float, spread: float
    ) -> "Coordinates":
        """`Wᵀx = (u, s)`: y = Aᵀx turned so that its mean ν = Aᵀm lies along the last axis, `s = ⟨y, ν⟩/(‖ν‖ √(‖ν‖² + spread²))`.

        The mean of u is 0, as if records were centred, and s is about 1 where the mean is long against the records' spread along it: a constant
        column, or a sum of columns that is nearly one, lies in it. Nothing is left out: W is a matrix of full rank.
        """
        centre = seen.centre
        mean = matrix.T @ centre
        size = float(np.linalg.norm(mean))
        turned, last = matrix.copy(), np.zeros(len(centre))
        last[-1] = 1.0
        axis = last - mean / size if size > 0.0 else np.zeros(len(centre))
        if float(axis @ axis) > 0.0:  # the reflection that takes the mean's direction to the last axis
            turned -= np.outer(matrix @ axis, 2.0 / float(axis @ axis) * axis)
        turned[:, -1] /= math.hypot(size, spread)
        found = cls(np.zeros(len(centre) - 1), typical, typical**2, True, np.ascontiguousarray(turned), mean=centre)
        return replace(found, mean_weight=seen.mean_weight, counted=seen.counted)

    def along(self, seen: "PrivateLocationScale | Coordinates") -> "Coordinates":
        """Of whitened coordinates those whose last is along the mean."""
        turned = Coordinates.along_mean(seen, self.factor, self.typical, 1.0)
        return replace(turned, steepest=self.steepest, gain=self.gain)

    @property
    def linear(self) -> "Coordinates":
        """The same, the coordinate along the mean one among others; where nothing is whitened, records from their mean."""
        if self.mean is None:
            return self
        if not self.gain.size:
            return replace(self, centre=self.mean, intercept=False, matrix=None, mean=None)
        return replace(self, centre=np.zeros(len(self.mean)), intercept=False, mean=None)

    @property
    def slopes(self) -> int:
        """q."""
        return len(self.centre)

    @property
    def intercept_weight(self) -> float:
        """Weight of the constant column."""
        return self.typical * self.slopes**-0.25 if self.intercept and self.slopes else 1.0

    @property
    def length(self) -> float:
        """Typical length of (u, intercept_weight)."""
        return float(np.hypot(self.typical, self.intercept_weight if self.intercept else 0.0))

    @property
    def factor(self) -> Array:
        """A or W, of coordinates that have one."""
        assert self.matrix is not None
        return self.matrix

    @property
    def inverse(self) -> Array:
        """A⁻¹."""
        return np.asarray((self.factor / (self.factor**2).sum(axis=0)).T)

    def seen(self, curator: Answers) -> Answers:
        """The records as u; where A is the identity as they are, and every query takes the centre away."""
        if self.matrix is None:
            return curator
        return curator.projected(self.whole if self.intercept and self.mean is None else self.matrix)

    @property
    def whole(self) -> Array:
        """W, for which `Wᵀ(x_s, 1) = (u, 1)`."""
        whole = np.zeros((self.slopes + 1, self.slopes + 1))
        whole[:-1, :-1], whole[-1, :-1], whole[-1, -1] = self.factor, -(self.centre @ self.factor), 1.0
        return whole

    def asked(self, point: Array) -> Array:
        """A point as the coefficients that queries of `seen` records take."""
        return point if self.matrix is not None else self.coefficients(point)

    @cached_property
    def asked_centre(self) -> Array:
        """The centre that queries of `seen` records take."""
        centre = self.centre if self.matrix is None else np.zeros(self.slopes)
        return np.concatenate((centre, [0.0])) if self.intercept else centre

    def coefficients(self, point: Array) -> Array:
        """θ, (p,). As `A = VΛ^{-1/2}`, rounding makes of a slope 0 at most q^{3/2} units in the last place of ‖θ‖: such a one is 0 again."""
        if self.mean is not None:
            return np.asarray(self.factor @ point)
        slopes = point[: self.slopes] if self.matrix is None else self.matrix @ point[: self.slopes]
        if self.matrix is not None:
            least = 8.0 * self.slopes**1.5 * np.finfo(float).eps * float(np.linalg.norm(slopes))
            slopes[np.abs(slopes) <= least] = 0.0
        return np.concatenate((slopes, point[self.slopes :] - self.centre @ slopes))

    def inward(self, theta: Array) -> Array:
        """θ as coefficients of u, (q,), and of the coordinate along the mean where there is that."""
        if self.mean is not None:
            return np.asarray(np.linalg.solve(self.factor, theta))
        slopes = theta[: self.slopes]
        return np.asarray(slopes if self.matrix is None else self.inverse @ slopes)

    def public_slopes(self, problem: Problem, times: float) -> Array:
        """So many times the public model's, in the set if there is one, `inward`."""
        assert problem.public is not None
        theta = times * problem.public.theta[:, 0]
        if problem.constraint is not None:  # beside which no coordinate lies along the mean
            theta = problem.constraint.project(theta[: self.slopes])  # type: ignore[attr-defined]  # the plan saw to it
        return self.inward(theta)

    def start(self, problem: Problem, level: float) -> Array:
        """The set's own start, or 0, and a level."""
        slopes = np.zeros(self.slopes)
        if problem.constraint is not None:
            slopes = problem.constraint.start(slopes.size)
            slopes = slopes if self.matrix is None else self.inverse @ slopes
        return np.append(slopes, [level] * self.intercept)

    def nearest(self, problem: Problem, step: float, bend: Array | None = None) -> Callable[[Array], Array] | None:
        """`u ↦ argmin ½‖A⁻¹θ − u‖²/step + ψ(θ)/w̄` over θ in C, as coefficients of u, the length `dᵀMd` where there is an M; None without a set and a penalty."""
        step /= self.mean_weight
        if problem.free:
            return None
        if self.matrix is None:
            return (lambda u: proximal(problem, u, step)) if self.slopes else None
        matrix, inverse = self.matrix, self.inverse
        metric = inverse.T @ (inverse if bend is None else bend @ inverse) / step
        solver = QuadraticSolver(metric, feasible=problem.constraint, penalty=problem.penalty, tolerance=1e-9)

        def whitened(u: Array) -> Array:
            theta = matrix @ u
            return inverse @ solver.minimise(metric @ theta, theta).theta

        return whitened

    def within(self, problem: Problem, point: Array, step: float, bend: Array) -> Array:
        """`argmin ½(v − x)ᵀM(v − x)/step + ψ/w̄` over points v of slopes in C, at whose level nothing is held; x itself without a set and a penalty."""
        q, found = self.slopes, point.copy()
        follows = np.linalg.solve(bend[q:, q:], bend[q:, :q])  # the level, for each slope that is held
        nearest = self.nearest(problem, step, bend[:q, :q] - bend[:q, q:] @ follows)
        if nearest is not None:
            found[:q] = nearest(point[:q])
            found[q:] -= follows @ (found[:q] - point[:q])
        return found

    def feasible(self, problem: Problem, point: Array) -> Array:
        """θ, in the set to the last digit, its intercept within the loss's bounds where a set needs them.

        Of whitened records the nearest such point `(u, v)` is taken, the level v at the centre included, and then the set's: curvature is alike
        in all its directions. On others slopes along the centre make up for what is cut off, so that the prediction there stays: steps on centred
        records hardly feel these slopes, and noise may have left much in them.
        """
        theta, constraint, q = self.coefficients(point), problem.constraint, self.slopes
        if constraint is None:
            return theta
        slopes: Array = constraint.project(theta[:q]) if q else theta[:q]  # type: ignore[attr-defined]  # the plan saw to it
        if not self.intercept:
            return slopes
        last = float(point[-1] - self.centre @ slopes)
        held = float(np.clip(last, *problem.loss.intercept_bounds))
        along, level = self.centre, 0.0
        if self.matrix is not None and problem.earlier < 6:
            along, level = self.matrix @ (self.centre @ self.matrix), 1.0
        length = level + float(self.centre @ along)
        if held != last and length > 0.0:
            slopes = constraint.project(slopes + (last - held) / length * along)  # type: ignore[attr-defined]
        return np.append(slopes, held)


def symmetric(A: Array) -> Array:
    """B with `BBᵀ = AAᵀ` whose columns stay near those of the records: `B = D^{-1}(D^{-1}ΣD^{-1})^{-1/2}`, `Σ = (AAᵀ)^{-1}`, D² its diagonal."""
    inverse = np.linalg.inv(A)
    covariance = inverse.T @ inverse
    size = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(size, size))
    return np.asarray((vectors / np.sqrt(np.maximum(values, 1e-12))) @ vectors.T / size[:, None], dtype=np.float64)
