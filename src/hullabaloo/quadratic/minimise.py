"""Minimise ½θᵀAθ − bᵀθ + ψ(θ) over C to the last digits: what least squares on moments comes down to.

Post-processing: arithmetic on numbers that are already private (or an inner step of a query that answers for it).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from hullabaloo import geometry
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.intercept import without_free
from hullabaloo.geometry.within import beside
from hullabaloo.quadratic.active_faces import minimise
from hullabaloo.quadratic.linear_system import Array, Quadratic, Spectrum, cholesky, factorise, solve, solve_on_ball
from hullabaloo.quadratic.order_faces import OnOrders, elastic_weights, plainer
from hullabaloo.quadratic.shapes import OnSet, Shape, WithPenalty, WithWeights


class Status(StrEnum):
    """How a minimisation ended, from best to worst."""

    EXACT = "exact"
    CONVERGED = "converged"
    LIMIT = "iteration limit"
    UNBOUNDED = "unbounded below"


@dataclass(frozen=True, slots=True, eq=False)
class QuadraticSolution:
    """The minimiser and the evidence for it.

    Attributes:
        theta: shape (p,) or (p, k), as `cross`.
        residual: ‖v‖₂/(‖b‖₂ + L‖θ‖₂) for a subgradient v of the objective and L ≥ the largest eigenvalue of A: θ is
            optimal for data changed by that relative amount. The largest over the columns of `cross`. Where the
            objective is λ-strongly convex, ‖θ − θ*‖ ≤ ‖v‖/λ.
        iterations: first-order steps, all columns together; 0 for a closed form.
        status: the worst over the columns. `UNBOUNDED`: b has a part that A does not bound and ψ, C do not hold;
            theta is then the least-squares solution of smallest norm, or the last point.
    """

    theta: Array
    residual: float
    iterations: int
    status: Status


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    theta: Array
    iterations: int
    status: Status


MOST_STEPS = 100_000
"""First-order steps for each column."""
_Solve = Callable[[Array, Array], _Column]  # (cross, start) -> column


def minimise_quadratic(
    gram: npt.ArrayLike,
    cross: npt.ArrayLike,
    *,
    feasible: geometry.ConvexSet | geometry.Projectable | None = None,
    penalty: geometry.Penalty | None = None,
    start: npt.ArrayLike | None = None,
) -> QuadraticSolution:
    """Minimise ½θᵀAθ − bᵀθ + ψ(θ) over θ in C, for a symmetric positive semidefinite A.

    Closed forms: no set and an l2 penalty or none (smallest norm when A is singular); `L2Ball`. An intercept beside a
    set or penalty is eliminated first. Otherwise first-order steps until the face of the solution is found, then a
    linear system on that face.

    Args:
        gram: A, shape (p, p).
        cross: b, shape (p,), or (p, k) for k separate problems with one A.
        feasible: C, anything that can be projected onto; None for R^p.
        penalty: ψ; with a set, one of which `prox_within` is known.
        start: where iterations start, shape of `cross`; never changes what they converge to when that is unique.

    Raises:
        InvalidParameter: A or b is not finite, has the wrong shape, or A is not symmetric positive semidefinite.
        CapabilityError: the set cannot be projected onto, or the prox of ψ over it is not known.

    Example:
        >>> minimise_quadratic([[2.0, 0.0], [0.0, 1.0]], [2.0, 3.0]).theta
        array([1., 3.])
    """
    return QuadraticSolver(gram, feasible=feasible, penalty=penalty).minimise(cross, start)


class QuadraticSolver:
    """`minimise_quadratic` of one A, ψ and C for one b after another: what depends on A alone is done once.

    Arguments and errors as there; `tolerance` is the largest `residual` that counts as converged.
    """

    __slots__ = ("_largest", "_problem", "_shape", "_solve")

    def __init__(
        self,
        gram: npt.ArrayLike,
        *,
        feasible: geometry.ConvexSet | geometry.Projectable | None = None,
        penalty: geometry.Penalty | None = None,
        tolerance: float = 1e-12,
    ) -> None:
        feasible, penalty = plainer(feasible), plainer(penalty or geometry.NoPenalty())
        a = _matrix(gram)
        weights = elastic_weights(penalty, len(a))
        weight = None if weights is None else weights[0]
        if weights is not None and weights[1].any():
            a = a + np.diag(weights[1])
        size = float(np.abs(a).max(initial=0.0))
        if size > 0.0 and cholesky(a + 1e-8 * size * np.eye(len(a)), 0.0) is None:  # even with the penalty's squares
            raise InvalidParameter(
                "The matrix of a quadratic has a negative eigenvalue, so the problem is not convex and has no certified minimiser; make it positive semidefinite first."
            )
        if feasible is not None:
            geometry.require(feasible, [geometry.Projectable], "The quadratic solver")
            geometry.require_within(penalty, feasible, len(a) - without_free(penalty)[1], "The quadratic solver")
            if weight is not None and weight.any():
                penalty = beside(weight, feasible)
        self._problem = _Problem(a, feasible, penalty, weight, tolerance)
        self._largest, self._shape = _largest_eigenvalue(a), self._problem.shape()
        self._solve = _solver(self._problem)

    def minimise(self, cross: npt.ArrayLike, start: npt.ArrayLike | None = None) -> QuadraticSolution:
        """The minimiser for b = `cross`, shape (p,) or (p, k)."""
        a, weight = self._problem.gram, self._problem.weight
        b = _vectors(cross, len(a))
        columns = b[:, None] if b.ndim == 1 else b
        starts = np.zeros_like(columns) if start is None else np.asarray(start, dtype=np.float64).reshape(columns.shape)
        solved, residual, worst = [], 0.0, Status.EXACT
        order = list(Status)
        for j in range(columns.shape[1]):
            cross_j = columns[:, j].copy()
            column = self._solve(cross_j, starts[:, j].copy())
            quadratic = Quadratic(a, cross_j, self._largest)
            size = float(np.linalg.norm(cross_j))
            absolute = self._shape.stationarity(quadratic, column.theta)
            scale = size + quadratic.largest * float(np.linalg.norm(column.theta))
            residual = max(residual, absolute / scale if scale > 0.0 else 0.0)
            status = column.status
            edge = 1e-5 * (size + (0.0 if weight is None else float(np.linalg.norm(weight))))
            if self._problem.feasible is None and absolute > edge:
                status = Status.UNBOUNDED
            worst = max(worst, status, key=order.index)
            solved.append(column)
        theta = np.stack([column.theta for column in solved], axis=1).reshape(b.shape)
        return QuadraticSolution(theta, residual, sum(column.iterations for column in solved), worst)


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """A with the l2 part of the penalty in it, and what is added: a set, or the weights of an l1 part (None: other)."""

    gram: Array
    feasible: geometry.ConvexSet | geometry.Projectable | None
    penalty: geometry.Penalty
    weight: Array | None
    tolerance: float

    @property
    def both(self) -> bool:
        """Whether there is a set, and a penalty beyond squares."""
        return self.feasible is not None and (self.weight is None or bool(self.weight.any()))

    def shape(self) -> Shape:
        if self.both:
            return WithPenalty(self.penalty, self.feasible)  # type: ignore[arg-type]  # which can be projected onto
        if isinstance(self.feasible, geometry.SubmodularBall):
            return OnOrders(self.feasible)
        if isinstance(self.feasible, geometry.Projectable):
            return OnSet(self.feasible)
        core, free = without_free(self.penalty)
        if isinstance(core, geometry.SubmodularPenalty):
            return OnOrders(core, free)
        return WithPenalty(self.penalty) if self.weight is None else WithWeights(self.weight)


def _matrix(gram: npt.ArrayLike) -> Array:
    a = np.asarray(gram, dtype=np.float64)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise InvalidParameter(
            f"A quadratic needs a square matrix, but its shape is {a.shape}; pass moments of one table."
        )
    if not np.isfinite(a).all():
        raise InvalidParameter("A quadratic was given a NaN or an infinity, so it has no minimiser; check its source.")
    size = float(np.abs(a).max(initial=0.0))
    if float(np.abs(a - a.T).max(initial=0.0)) > 1e-9 * size:
        raise InvalidParameter("The matrix of a quadratic must be symmetric, but it is not; pass (A + Aᵀ)/2.")
    return np.ascontiguousarray(0.5 * (a + a.T))


def _vectors(cross: npt.ArrayLike, p: int) -> Array:
    b = np.asarray(cross, dtype=np.float64)
    if b.ndim not in (1, 2) or len(b) != p or b.size == 0:
        raise InvalidParameter(
            f"A quadratic of a ({p}, {p}) matrix needs vectors of its size, but their shape is {b.shape}; pass moments of one table."
        )
    if not np.isfinite(b).all():
        raise InvalidParameter("A quadratic was given a NaN or an infinity, so it has no minimiser; check its source.")
    return b


def _solver(problem: _Problem) -> _Solve:
    """What solves one column: everything that depends on A alone is done here, once."""
    a, feasible, weight = problem.gram, problem.feasible, problem.weight
    if len(a) == 0:
        return lambda cross, start: _Column(np.zeros(0), 0, Status.EXACT)
    if feasible is None and weight is not None and not weight.any():
        factor = factorise(a)
        return lambda cross, start: _Column(solve(a, cross, factor), 0, Status.EXACT)
    if isinstance(feasible, geometry.L2Ball) and not problem.both:
        radius, spectrum = feasible.radius, Spectrum.of(a)
        return lambda cross, start: _Column(solve_on_ball(a, cross, radius, spectrum), 0, Status.EXACT)
    if isinstance(feasible, geometry.WithIntercept) and feasible.columns == 1:
        inner = replace(problem, feasible=feasible.body, weight=None if weight is None else weight[:-1])
        if problem.both:
            inner = replace(inner, penalty=without_free(problem.penalty)[0])
        return _Eliminated(inner, feasible.lower, feasible.upper)
    penalty = problem.penalty if feasible is None else None
    free = penalty if isinstance(penalty, geometry.PenaltyWithFreeIntercept) and penalty.columns == 1 else None
    if free is not None and (weight is not None or isinstance(free.penalty, geometry.SubmodularPenalty)):
        inner = replace(problem, penalty=free.penalty, weight=None if weight is None else weight[:-1])
        return _Eliminated(inner, -math.inf, math.inf)
    largest, shape = _largest_eigenvalue(a), problem.shape()

    def iterated(cross: Array, start: Array) -> _Column:
        quadratic, tolerance = Quadratic(a, cross, largest), problem.tolerance
        theta, residual, used = minimise(quadratic, shape, start, tolerance=tolerance, limit=MOST_STEPS)
        return _Column(theta, used, Status.CONVERGED if residual <= tolerance else Status.LIMIT)

    return iterated


class _Eliminated:
    """A problem whose last coordinate t is held by the interval [lower, upper] alone.

    The minimum over the others is convex in t. Without the interval t = (b_t − aᵀθ)/α, which leaves a quadratic in θ
    with the Schur complement of α; when that t is outside, the nearer end of the interval is optimal and the others
    are solved for with t fixed there.
    """

    def __init__(self, problem: _Problem, lower: float, upper: float) -> None:
        gram = problem.gram
        self.lower, self.upper = lower, upper
        self.column, self.alpha = gram[:-1, -1].copy(), float(gram[-1, -1])
        self.rest = replace(problem, gram=np.ascontiguousarray(gram[:-1, :-1]))
        self.solve_fixed: _Solve | None = None
        self.solve_free: _Solve | None = None
        if self.alpha > 0.0:
            schur = self.rest.gram - np.outer(self.column, self.column) / self.alpha
            self.solve_free = _solver(replace(problem, gram=schur))

    def __call__(self, cross: Array, start: Array) -> _Column:
        b, last = cross[:-1], float(cross[-1])
        if self.solve_free is not None:
            head = self.solve_free(b - self.column * (last / self.alpha), start[:-1])
            t = (last - float(self.column @ head.theta)) / self.alpha
            if self.lower <= t <= self.upper:
                return _Column(np.append(head.theta, t), head.iterations, head.status)
        else:  # the row of A is zero, and only b_t pulls at t
            t = math.copysign(math.inf, last) if last else 0.0
        t = min(max(t, self.lower), self.upper)
        if math.isinf(t):
            return _Column(np.zeros_like(cross), 0, Status.UNBOUNDED)
        if self.solve_fixed is None:
            self.solve_fixed = _solver(self.rest)
        head = self.solve_fixed(b - self.column * t, start[:-1])
        return _Column(np.append(head.theta, t), head.iterations, head.status)


def _largest_eigenvalue(a: Array) -> float:
    """A bound a little above the largest eigenvalue of A; exact for few columns, by Lanczos for many."""
    if len(a) <= 300:
        return float(np.linalg.eigvalsh(a)[-1]) * (1.0 + 1e-9) if len(a) else 0.0
    bound = min(float(np.linalg.norm(a)), float(np.abs(a).sum(axis=0).max()))
    from scipy.sparse.linalg import ArpackError, eigsh

    try:
        estimate = eigsh(a, k=1, tol=1e-3, v0=np.cos(np.arange(len(a))), maxiter=50, return_eigenvectors=False)
    except ArpackError:  # no convergence, or a start at which A vanishes
        return bound
    return min(bound, 1.02 * float(estimate[0]))
