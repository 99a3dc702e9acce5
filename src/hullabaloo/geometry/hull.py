"""Least squares and linear programs over the convex hull of points: what a polytope given by vertices needs."""

import math

import numpy as np

from hullabaloo.geometry.checks import Vector, euclidean_norm

_FAR = 1e13  # a target this many times the hull's size away projects where its direction says, up to rounding


def nearest_in_hull(points: Vector, target: Vector) -> Vector:
    """The point of conv(rows of `points`) nearest to `target`, as its weights on the rows.

    **Guarantee.** Wolfe's algorithm (1976): a corral (affinely independent rows whose affine minimiser has positive
    weights) gains the row of smallest score, and loses rows until it is a corral again. The distance falls strictly
    from corral to corral and there are finitely many, so that it ends at the minimiser, where no row scores below
    the point itself; it converges linearly on the way (Lacoste-Julien, Jaggi 2015, Theorem 1). In floating point it
    ends when that gap, which bounds half the squared error of the point, is within rounding, or where rounding brings a
    corral back.
    """
    centre = points.mean(axis=0)
    rows = points - centre
    aim = target - centre
    size = float(np.sqrt(np.einsum("ij,ij->i", rows, rows).max()))
    if size == 0.0 or len(rows) == 1:
        return np.eye(1, len(rows)).ravel()
    distance = euclidean_norm(aim)
    if distance > _FAR * size:
        aim = aim / distance * (_FAR * size)
    corral = [int((rows @ aim).argmax())]
    weight = np.ones(1)
    seen: set[frozenset[int]] = set()
    while frozenset(corral) not in seen:
        seen.add(frozenset(corral))
        point = weight @ rows[corral]
        apart = point - aim
        length = euclidean_norm(apart)
        scores = rows @ apart
        best = int(scores.argmin())
        gap = float(point @ apart) - float(scores[best])
        if gap <= 1e-15 * size * (length + size) or best in corral:
            break
        corral.append(best)
        weight = np.append(weight, 0.0)
        corral, weight = _shrunk_to_corral(rows, aim, corral, weight)
    full = np.zeros(len(rows))
    full[corral] = weight / float(weight.sum())
    return full


def _shrunk_to_corral(rows: Vector, aim: Vector, corral: list[int], weight: Vector) -> tuple[list[int], Vector]:
    """Move towards the minimiser over the affine hull; where a weight reaches zero its row leaves, and again."""
    from scipy.linalg import lstsq

    while len(corral) > 1:
        base = rows[corral[0]]
        moved = lstsq((rows[corral[1:]] - base).T, aim - base, lapack_driver="gelsy", check_finite=False)[0]
        wanted = np.append(1.0 - moved.sum(), moved)
        if (wanted > 0.0).all():
            return corral, wanted
        falling = np.flatnonzero((wanted <= 0.0) & (wanted < weight))
        if falling.size == 0:
            return corral, weight
        steps = weight[falling] / (weight[falling] - wanted[falling])
        weight = np.maximum(0.0, weight + float(steps.min()) * (wanted - weight))
        weight[falling[int(steps.argmin())]] = 0.0
        corral = [index for index, w in zip(corral, weight, strict=True) if w > 0.0]
        weight = weight[weight > 0.0]
    return corral, np.ones(1)


def least_weight(points: Vector, target: Vector) -> float:
    """min{Σw : w ≥ 0, Σ w_i points_i = target} by linear programming; infinity when no weights give the target.

    The rows are first turned into an orthonormal basis of their span; the target may leave it by 1e-9 relative. The
    weights of the optimal basis are solved for again by least squares, to the last digits.
    """
    from scipy.optimize import linprog

    largest = float(np.abs(target).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    unit = target / largest
    left, values, _ = np.linalg.svd(points.T, full_matrices=False)
    basis = left[:, values > 1e-12 * values.max(initial=0.0)]
    aim = basis.T @ unit
    if basis.shape[1] == 0 or float(np.linalg.norm(unit - basis @ aim)) > 1e-9 * float(np.linalg.norm(unit)):
        return math.inf
    scale = float(values[0])
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    system = (points @ basis).T / scale
    found = linprog(np.ones(len(points)), A_eq=system, b_eq=aim, method="highs", options=tight)
    if found.x is None:
        return math.inf
    used = np.flatnonzero(found.x > 1e-9 * found.x.max(initial=0.0))
    exact, *_ = np.linalg.lstsq(system[:, used], aim, rcond=None)
    better = exact.min(initial=0.0) >= 0.0 and np.allclose(system[:, used] @ exact, aim, rtol=0.0, atol=1e-12)
    return largest / scale * float((exact if better else found.x).sum())
