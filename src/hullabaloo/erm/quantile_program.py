"""Exact quantile regression: a linear program where set and penalty are polyhedral, else the limit of smoothed losses."""

from typing import Any

import numpy as np

from hullabaloo.data.source import Rows
from hullabaloo.erm.minimisation import Family
from hullabaloo.erm.newton import newton, with_momentum
from hullabaloo.erm.objective import ScalarObjective
from hullabaloo.erm.shape import Array, shape_of
from hullabaloo.geometry import Box, L1Ball, Simplex, WithIntercept
from hullabaloo.losses import Huber
from hullabaloo.quadratic.order_faces import elastic_weights

_SMOOTHEST, _SHARPEST, _FACTOR = 0.5, 1e-7, 0.2
_BURST = 300


def quantile_optimum(rows: Rows, family: Family, linear: Array) -> Array:
    """`argmin Σ w ρ_τ(y − o − ⟨x, θ⟩) + nψ(θ) + (λ/2)‖θ‖² + ⟨b, θ⟩` over C; NOT PRIVATE."""
    weights = elastic_weights(family.penalty, family.coordinates)
    body = family.feasible.body if isinstance(family.feasible, WithIntercept) else family.feasible
    straight = weights is not None and not weights[1].any() and family.ridge == 0.0
    if straight and (body is None or isinstance(body, L1Ball | Box | Simplex)):
        assert weights is not None
        found = _program(rows, family, linear, family.records * weights[0])
        if found is not None:
            return found
    return _smoothed(rows, family, linear)


def _program(rows: Rows, family: Family, linear: Array, kinks: Array) -> Array | None:
    """The linear program in θ, t ≥ |θ|, and the residual's positive and negative parts; None where HiGHS gives up."""
    from scipy import sparse
    from scipy.optimize import linprog

    n, p = rows.X.shape
    tau = family.loss.kernel_parameter
    weight = np.ones(n) if rows.weight is None else rows.weight
    y = rows.Y[:, 0] - (0.0 if rows.offset is None else rows.offset)
    lower, upper, slopes, body = np.full(p, -np.inf), np.full(p, np.inf), np.ones(p), family.feasible
    if isinstance(body, WithIntercept):
        lower[-1], upper[-1], slopes[-1], body = body.lower, body.upper, 0.0, body.body
    inside = slopes > 0.0
    if isinstance(body, Box):
        lower[inside], upper[inside] = body.lower, body.upper
    elif isinstance(body, Simplex):
        lower[inside] = 0.0
    cost = np.concatenate([linear, kinks, tau * weight, (1.0 - tau) * weight])
    one, zero, eye = sparse.identity(p), sparse.csr_array((p, 2 * n)), sparse.identity(n)
    fits: Any = sparse.hstack([sparse.csr_array(rows.X), sparse.csr_array((n, p)), eye, -eye])
    held: Any = sparse.vstack([sparse.hstack([one, -one, zero]), sparse.hstack([-one, -one, zero])])
    at_most = np.zeros(2 * p)
    if isinstance(body, L1Ball):
        row = sparse.csr_array(np.concatenate([np.zeros(p), slopes, np.zeros(2 * n)])[None, :])
        held, at_most = sparse.vstack([held, row]), np.append(at_most, body.radius)
    elif isinstance(body, Simplex):
        row = sparse.csr_array(np.concatenate([slopes, np.zeros(p + 2 * n)])[None, :])
        fits, y = sparse.vstack([fits, row]), np.append(y, body.radius)
    ends = np.concatenate([np.column_stack([lower, upper]), np.tile([0.0, np.inf], (p + 2 * n, 1))])
    solved = linprog(cost, A_ub=held, b_ub=at_most, A_eq=fits, b_eq=y, bounds=ends, method="highs")
    return np.asarray(solved.x[:p], dtype=np.float64) if solved.status == 0 else None


def _smoothed(rows: Rows, family: Family, linear: Array) -> Array:
    """The same with `ρ_τ` near its corner replaced by a parabola of half-width h → 0, times 2h: Huber's loss and a tilt.

    `ρ_τ' = ½ sign(r) + ½ − τ` for r = z − y, and Huber's derivative is h·sign(r) beyond h.
    """
    weight = np.ones(len(rows.Y)) if rows.weight is None else rows.weight
    tilt = (0.5 - family.loss.kernel_parameter) * np.asarray(rows.X.T @ weight) + linear
    theta, h = np.zeros(family.coordinates), _SMOOTHEST
    while h >= _SHARPEST:
        copies, ridge = 2.0 * h * family.records, 2.0 * h * family.ridge
        shape, squares = shape_of(family.feasible, family.penalty, copies, ridge, family.coordinates)
        objective = ScalarObjective(rows, Huber(h), np.inf, squares=squares, linear=2.0 * h * tilt, shape=shape)
        local, _ = newton(objective, shape.proximal(theta, 1.0))
        local, _ = newton(objective, with_momentum(objective, local, _BURST).theta)
        theta, h = local.theta, h * _FACTOR
    return theta
